//! The engine for tests and simulations: memory, with faults that a seed or a test decides.
//!
//! **Shape.** A submission waits until [`FaultyStore::step`] makes it durable, unless the store is automatic. A crash
//! keeps everything durable and any prefix of the waiting submissions, as a power cut may, and returns the store that
//! the restarted process finds.
//!
//! **Order.** There are no threads, and no locks are held while a callback runs; everything happens inside the call
//! that causes it, so the same calls give the same history.

mod state;

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::api::{
    Commit, CommitNo, Differing, Done, Entry, EntryPlace, Head, Index, Pair, Position, Projection,
    Row, SortOrder, Stats, Store, StoreError, StreamId,
};
use crate::num::{u64_of, usize_of};
use crate::rows::check_row;
use crate::sync::lock;
use state::MemoryState;

enum Pending {
    Commit(Commit, Done),
    Barrier(Done),
}

#[derive(Default)]
struct Inner {
    durable: MemoryState,
    pending: VecDeque<Pending>,
    automatic: bool,
    closed: bool,
    poisoned: Option<StoreError>,
    full: bool,
    /// Errors for the next submissions.
    refuse: VecDeque<StoreError>,
    seed: u64,
}

/// A store in memory that fails on command.
pub struct FaultyStore {
    projection: Arc<dyn Projection>,
    inner: Mutex<Inner>,
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = lock(&self.inner);
        f.debug_struct("FaultyStore")
            .field("last", &inner.durable.last)
            .field("pending", &inner.pending.len())
            .finish_non_exhaustive()
    }
}

impl FaultyStore {
    /// An empty store whose random choices come from `seed`; nothing becomes durable before [`Self::step`].
    pub fn new(projection: Arc<dyn Projection>, seed: u64) -> Arc<Self> {
        let inner = Inner {
            seed,
            ..Inner::default()
        };
        Arc::new(Self {
            projection,
            inner: Mutex::new(inner),
        })
    }

    /// Makes every submission durable at once, or (`false`) waits for steps again.
    pub fn set_automatic(&self, automatic: bool) {
        lock(&self.inner).automatic = automatic;
        if automatic {
            self.step_all();
        }
    }

    /// How many commits and barriers wait.
    pub fn pending(&self) -> usize {
        lock(&self.inner).pending.len()
    }

    /// Processes the next commit or barrier; false when none waits.
    pub fn step(&self) -> bool {
        let (done, result) = {
            let mut inner = lock(&self.inner);
            let Some(next) = inner.pending.pop_front() else {
                return false;
            };
            let lost = inner.poisoned.clone();
            match (next, lost) {
                (Pending::Commit(_, done) | Pending::Barrier(done), Some(e)) => (done, Err(e)),
                (Pending::Commit(commit, done), None) => (
                    done,
                    commit_to(&mut inner.durable, commit, self.projection.as_ref()),
                ),
                (Pending::Barrier(done), None) => (done, Ok(CommitNo(inner.durable.last))),
            }
        };
        done(result);
        true
    }

    /// Processes everything that waits; returns how many items there were.
    pub fn step_all(&self) -> usize {
        std::iter::repeat_with(|| self.step())
            .take_while(|more| *more)
            .count()
    }

    /// Processes a number of waiting items that the seed decides, from none to all.
    pub fn step_some(&self) -> usize {
        let n = self.choose(self.pending() + 1);
        (0..n).filter(|_| self.step()).count()
    }

    /// A number below `n` from the seed (splitmix64).
    pub fn choose(&self, n: usize) -> usize {
        let mut inner = lock(&self.inner);
        inner.seed = inner.seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (inner.seed ^ inner.seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize_of((z ^ z >> 31) % u64_of(n.max(1)))
    }

    /// Fails the next submission with this error and without effect; may be called several times.
    pub fn refuse_next(&self, error: StoreError) {
        lock(&self.inner).refuse.push_back(error);
    }

    /// How many submissions are still to be refused.
    pub fn refusals(&self) -> usize {
        lock(&self.inner).refuse.len()
    }

    /// Refuses the next waiting commit or barrier without effect, like a group that finds no room; the items after it
    /// keep waiting. False when none waits.
    pub fn refuse_waiting(&self, error: StoreError) -> bool {
        let next = lock(&self.inner).pending.pop_front();
        match next {
            Some(Pending::Commit(_, done) | Pending::Barrier(done)) => {
                done(Err(error));
                true
            }
            None => false,
        }
    }

    /// Sets whether writes are refused for lack of space.
    pub fn set_full(&self, full: bool) {
        lock(&self.inner).full = full;
    }

    /// Makes the disk fail: everything that waits or comes later gets `Poisoned`, but the first `keep` waiting items
    /// have reached the disk all the same, as the next [`Self::crash`] will show.
    pub fn poison(&self, why: &str, keep: usize) {
        let lost = StoreError::Poisoned(Arc::from(why));
        let waiting: Vec<Pending> = {
            let mut inner = lock(&self.inner);
            inner.poisoned = Some(lost.clone());
            inner.pending.drain(..).collect()
        };
        for (n, item) in waiting.into_iter().enumerate() {
            let done = match item {
                Pending::Commit(commit, done) => {
                    if n < keep {
                        let durable = &mut lock(&self.inner).durable;
                        drop(commit_to(durable, commit, self.projection.as_ref()));
                    }
                    done
                }
                Pending::Barrier(done) => done,
            };
            done(Err(lost.clone()));
        }
    }

    /// Cuts the power: the new store has everything durable and the first `keep` waiting items; callbacks of waiting
    /// items are never called, and this store is closed.
    pub fn crash(&self, keep: usize) -> Arc<Self> {
        let (mut durable, waiting, seed) = {
            let mut inner = lock(&self.inner);
            inner.closed = true;
            let waiting: Vec<Pending> = inner.pending.drain(..).collect();
            (inner.durable.clone(), waiting, inner.seed.wrapping_add(1))
        };
        for item in waiting.into_iter().take(keep) {
            if let Pending::Commit(commit, _) = item {
                drop(commit_to(&mut durable, commit, self.projection.as_ref()));
            }
        }
        let inner = Inner {
            durable,
            seed,
            ..Inner::default()
        };
        Arc::new(Self {
            projection: Arc::clone(&self.projection),
            inner: Mutex::new(inner),
        })
    }

    /// A crash that keeps a number of waiting items that the seed decides.
    pub fn crash_somewhere(&self) -> Arc<Self> {
        self.crash(self.choose(self.pending() + 1))
    }

    fn add(&self, item: Pending) {
        let automatic = {
            let mut inner = lock(&self.inner);
            inner.pending.push_back(item);
            inner.automatic
        };
        if automatic {
            self.step_all();
        }
    }

    fn state<T>(&self, look: impl FnOnce(&MemoryState) -> T) -> Result<T, StoreError> {
        let inner = lock(&self.inner);
        if inner.closed {
            return Err(StoreError::Closed);
        }
        inner.poisoned.clone().map_or(Ok(()), Err)?;
        Ok(look(&inner.durable))
    }
}

fn commit_to(
    state: &mut MemoryState,
    commit: Commit,
    projection: &dyn Projection,
) -> Result<CommitNo, StoreError> {
    state.check(&commit)?;
    state.apply(commit, projection)
}

impl Index for FaultyStore {
    fn applied(&self) -> CommitNo {
        CommitNo(lock(&self.inner).durable.last)
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.state(|s| s.head(stream))
    }

    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.state(|s| s.read(stream, (from, to), order, limit))
    }

    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.state(|s| s.seq_at(stream, at))
    }

    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.state(|s| s.entry(position))?
    }

    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError> {
        let entries = entries.iter();
        self.state(|s| entries.map(|(stream, seq)| s.find(*stream, *seq)).collect())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.state(|s| s.get(key))
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.state(|s| s.scan(from, to, order, limit))
    }

    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        let state = self.state(Clone::clone)?;
        Ok(state.replay(from, visit))
    }

    fn streams_differ(
        &self,
        _: (CommitNo, CommitNo),
        _: Option<u32>,
        _: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        Ok(Differing::default())
    }
}

impl Store for FaultyStore {
    fn submit(&self, commit: Commit, done: Done) {
        let refused = self
            .ready()
            .err()
            .or_else(|| lock(&self.inner).refuse.pop_front());
        match refused {
            Some(e) => done(Err(e)),
            None => self.add(Pending::Commit(commit, done)),
        }
    }

    fn barrier(&self, done: Done) {
        match self.state(|_| ()) {
            Err(e) => done(Err(e)),
            Ok(()) => self.add(Pending::Barrier(done)),
        }
    }

    fn note(&self, hints: Vec<Row>) {
        if self.ready().is_ok() && hints.iter().all(|row| check_row(row).is_ok()) {
            let rows = self.projection.as_ref();
            lock(&self.inner).durable.note(hints, rows);
        }
    }

    fn stats(&self) -> Stats {
        let inner = lock(&self.inner);
        Stats {
            commits: inner.durable.last,
            entries: u64_of(inner.durable.len()),
            last_commit: inner.durable.last,
            indexed_commit: inner.durable.last,
            queued: u64_of(inner.pending.len()),
            ..Stats::default()
        }
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.state(|_| ())?;
        if lock(&self.inner).full {
            return Err(StoreError::Full(
                "no room is left, says the test".to_owned(),
            ));
        }
        Ok(())
    }

    fn close(&self) -> Result<(), StoreError> {
        self.state(|_| ())?;
        self.step_all();
        lock(&self.inner).closed = true;
        Ok(())
    }
}
