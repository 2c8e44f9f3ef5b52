//! A log in memory that any number of handles share. It is the reference for the behaviour of other logs, and owners
//! and followers are tested on it.
//!
//! **Shape.** [`MemoryLog::new`] makes the log, [`MemoryLog::handle`] another handle, as another node would have. Time
//! passes only by [`MemoryLog::pass`], and appends are lost, late or refused only by [`MemoryLog::lose_answers`],
//! [`MemoryLog::hold_back`] and [`MemoryLog::refuse`], so that the same calls give the same history.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::api::{CommitNo, StoreError};
use crate::log::nodes::{NAME_KEPT, NODES_MAX, OFFER, RESERVED};
use crate::log::{ClusterView, Epoch, Log, LogError, LogId, Presence, Sealed, SeenNode, Tail};
use crate::sync::lock;

#[derive(Debug, Default)]
struct MemoryLogState {
    /// Each record with its last commit.
    records: Vec<(CommitNo, Arc<[u8]>)>,
    /// The last commit that an owner has acknowledged.
    acknowledged: CommitNo,
    epoch: Epoch,
    /// Until when the lease lasts; `None` when nobody holds it.
    until: Option<Duration>,
    now: Duration,
    /// How many of the next appends lose their answers.
    lost: u32,
    /// How many of the next appends are held back.
    held_back: u32,
    /// How many of the next appends are refused.
    refused: u32,
    /// How many of the next offers lose their answers.
    lost_offers: u32,
    owner: Option<Arc<str>>,
    /// The node or name for which the cell is kept.
    offered: Option<Arc<str>>,
    /// The last report of each node, and when it came.
    nodes: BTreeMap<Arc<str>, (Presence, Duration)>,
    /// Appends that were held back, in order, with their epochs.
    late: Vec<(Epoch, Arc<[u8]>)>,
}

#[derive(Debug)]
struct MemoryLogCore {
    id: LogId,
    state: Mutex<MemoryLogState>,
    tail: Mutex<Tail>,
}

/// A handle to a log in memory.
#[derive(Clone, Debug)]
pub struct MemoryLog(Arc<MemoryLogCore>);

impl MemoryLog {
    /// An empty log of this identity, with no owner.
    pub fn new(id: LogId) -> Self {
        Self(Arc::new(MemoryLogCore {
            id,
            state: Mutex::default(),
            tail: Mutex::new(Tail::none(&id)),
        }))
    }

    /// Another handle to the same log.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// Lets time pass for the leases.
    pub fn pass(&self, time: Duration) {
        let mut state = lock(&self.0.state);
        state.now += time;
    }

    /// How much longer the lease lasts; `None` while nobody holds it.
    pub fn left(&self) -> Option<Duration> {
        let state = lock(&self.0.state);
        state.until?.checked_sub(state.now)
    }

    /// Makes the next `count` appends succeed but lose their answers.
    pub fn lose_answers(&self, count: u32) {
        lock(&self.0.state).lost = count;
    }

    /// Makes the next `count` offers succeed but lose their answers.
    pub fn lose_offers(&self, count: u32) {
        lock(&self.0.state).lost_offers = count;
    }

    /// Holds back the next `count` appends: their senders do not learn the outcome. Each arrives before the next
    /// append, or with [`Self::arrive`], and is judged as if it were sent then.
    pub fn hold_back(&self, count: u32) {
        lock(&self.0.state).held_back = count;
    }

    /// Refuses the next `count` appends that are not held back: they have no effect.
    pub fn refuse(&self, count: u32) {
        lock(&self.0.state).refused = count;
    }

    /// Delivers the appends that were held back.
    pub fn arrive(&self) {
        let mut state = lock(&self.0.state);
        for (epoch, bytes) in std::mem::take(&mut state.late) {
            #[expect(clippy::expect_used, reason = "only whole records are held back")]
            let record = Sealed::parse(&bytes).expect("a record as it was sent");
            let done = self.put(&mut state, epoch, &record);
            tracing::debug!(?done, "an append came late");
        }
    }

    /// Appends, if the condition holds.
    fn put(
        &self,
        state: &mut MemoryLogState,
        epoch: Epoch,
        record: &Sealed<'_>,
    ) -> Result<(), LogError> {
        Self::current(state, epoch)?;
        let tail = *lock(&self.0.tail);
        if !record.follows(&tail) {
            let offered = record.first_commit();
            return Err(LogError::Gap { tail, offered });
        }
        let after = record.tail();
        state.acknowledged = tail.commit;
        let bytes = Arc::from(record.bytes());
        state.records.push((after.commit, bytes));
        *lock(&self.0.tail) = after;
        Ok(())
    }

    /// Checks that nobody owns the cell, or that it is kept for this name.
    fn free(state: &MemoryLogState, name: &str) -> Result<(), LogError> {
        let offered = state.offered.as_deref() == Some(name);
        if !offered && state.until.is_some_and(|until| state.now < until) {
            return Err(LogError::Held { address: None });
        }
        Ok(())
    }

    fn current(state: &MemoryLogState, epoch: Epoch) -> Result<(), LogError> {
        if state.epoch == epoch && epoch != Epoch(0) {
            Ok(())
        } else {
            Err(LogError::Deposed { epoch: state.epoch })
        }
    }
}

/// Counts down; returns whether there was one left.
fn one_of(left: &mut u32) -> bool {
    let Some(fewer) = left.checked_sub(1) else {
        return false;
    };
    *left = fewer;
    true
}

/// The answer to a call that was done, unless it is one of those whose answers are lost.
fn answer(lost: &mut u32) -> Result<(), LogError> {
    if one_of(lost) {
        return Err(LogError::Unknown(Arc::from("the answer was lost")));
    }
    Ok(())
}

impl Log for MemoryLog {
    fn id(&self) -> LogId {
        self.0.id
    }

    fn acquire(&mut self, owner: &str, length: Duration) -> Result<Epoch, LogError> {
        let mut state = lock(&self.0.state);
        Self::free(&state, owner)?;
        state.epoch = Epoch(state.epoch.0 + 1);
        state.until = Some(state.now + length);
        (state.owner, state.offered) = (Some(Arc::from(owner)), None);
        Ok(state.epoch)
    }

    fn reserve(&mut self, name: &str) -> Result<Epoch, LogError> {
        let mut state = lock(&self.0.state);
        Self::free(&state, name)?;
        state.epoch = Epoch(state.epoch.0 + 1);
        state.until = Some(state.now + RESERVED);
        (state.owner, state.offered) = (None, Some(Arc::from(name)));
        Ok(state.epoch)
    }

    fn renew(
        &mut self,
        epoch: Epoch,
        length: Duration,
        acknowledged: CommitNo,
    ) -> Result<(), LogError> {
        let mut state = lock(&self.0.state);
        Self::current(&state, epoch)?;
        if state.offered.is_some() {
            return Err(LogError::Deposed { epoch });
        }
        state.until = Some(state.now + length);
        state.acknowledged = acknowledged;
        Ok(())
    }

    fn release(&mut self, epoch: Epoch) -> Result<(), LogError> {
        let mut state = lock(&self.0.state);
        if state.epoch == epoch {
            (state.until, state.owner, state.offered) = (None, None, None);
        }
        Ok(())
    }

    fn offer(&mut self, epoch: Epoch, to: &str) -> Result<(), LogError> {
        let mut state = lock(&self.0.state);
        if state.epoch == epoch {
            state.until = Some(state.now + OFFER);
            (state.owner, state.offered) = (None, Some(Arc::from(to)));
        }
        answer(&mut state.lost_offers)
    }

    fn report(&mut self, node: &Presence) -> Result<(), LogError> {
        let mut state = lock(&self.0.state);
        let now = state.now;
        let before = state.nodes.get(&node.name);
        if before.is_some_and(|(it, at)| it.process != node.process && now < *at + NAME_KEPT) {
            let name = Arc::clone(&node.name);
            return Err(LogError::NameTaken { name });
        }
        state
            .nodes
            .insert(Arc::clone(&node.name), (node.clone(), now));
        Ok(())
    }

    fn cluster_view(&self) -> Result<ClusterView, LogError> {
        let state = lock(&self.0.state);
        let left = state.until.and_then(|until| until.checked_sub(state.now));
        let seen = |(node, at): &(Presence, Duration)| SeenNode {
            node: node.clone(),
            ago: state.now.abs_diff(*at),
        };
        Ok(ClusterView {
            epoch: state.epoch,
            owner: state.owner.clone(),
            offered: state.offered.clone(),
            left: left.filter(|left| !left.is_zero()),
            tail: *lock(&self.0.tail),
            acknowledged: state.acknowledged,
            nodes: state.nodes.values().take(NODES_MAX).map(seen).collect(),
        })
    }

    fn append(&mut self, epoch: Epoch, record: &Sealed<'_>) -> Result<(), LogError> {
        self.arrive();
        let mut state = lock(&self.0.state);
        if one_of(&mut state.held_back) {
            state.late.push((epoch, Arc::from(record.bytes())));
            return Err(LogError::Unknown(Arc::from("the request is late")));
        }
        if one_of(&mut state.refused) {
            let why = "the test says so";
            return Err(LogError::Yet(StoreError::Unreachable(Arc::from(why))));
        }
        self.put(&mut state, epoch, record)?;
        answer(&mut state.lost)
    }

    fn tail(&self) -> Result<Tail, LogError> {
        Ok(*lock(&self.0.tail))
    }

    fn read(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        let records: Vec<_> = {
            let state = lock(&self.0.state);
            let wanted = state.records.iter().filter(|(last, _)| *last >= from);
            wanted.map(|(_, bytes)| Arc::clone(bytes)).collect()
        };
        for bytes in records {
            #[expect(clippy::expect_used, reason = "only whole records are appended")]
            let record = Sealed::parse(&bytes).expect("a record as it was appended");
            if !visit(&record) {
                break;
            }
        }
        Ok(())
    }
}
