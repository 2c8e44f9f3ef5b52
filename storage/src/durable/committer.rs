//! The committer: one thread that makes groups of commits durable and then visible.
//!
//! **Order.** The committer takes the waiting items; refuses commits that do not follow their streams; seals the rest
//! as one record and appends it to the log of the cell; then makes the rows visible; then calls the `done`s in the
//! order of submission. So nobody hears of a commit, and no read shows it, before it is durable.
//!
//! **Failure.** Any error after the record was begun poisons the store. A group for which there is no next segment is
//! refused, and nothing of it was written. A commit that is out of sequence, or was decided on a refused one, fails
//! alone. While the index is damaged no further commits are taken, but what waits is answered, and the store can be
//! closed. A panic in a `done` is contained: the callback belongs to the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::{Commit, CommitNo, Done, StoreError};
use crate::durable::Shared;
use crate::durable::applier::Applier;
use crate::durable::cell::Cell;
use crate::durable::heads::Heads;
use crate::durable::heartbeat::Heartbeat;
use crate::durable::queue::{Group, QueueItem};
use crate::journal::format::RecordBuilder;
use crate::journal::writer::AppendedAt;
use crate::log::{LogError, Sealed, Tail};
use crate::num::u64_of;

/// The callback of a commit, its result, and when it was submitted (`None` for a barrier).
type Outcome = (Done, Result<CommitNo, StoreError>, Option<Instant>);

/// The state of the committer's thread.
pub(crate) struct Committer {
    shared: Arc<Shared>,
    cell: Cell,
    record: RecordBuilder,
    heads: Heads,
    applier: Applier,
    /// How this node announces itself to other nodes, if there are any.
    heartbeat: Option<Heartbeat>,
}

impl Committer {
    /// A committer for a cell that this node owns and whose log is applied to its end; `heartbeat` announces this node to
    /// the others, if there are any.
    pub(crate) fn new(
        shared: Arc<Shared>,
        cell: Cell,
        applier: Applier,
        heartbeat: Option<Heartbeat>,
    ) -> Self {
        Self {
            shared,
            cell,
            heartbeat,
            record: RecordBuilder::default(),
            heads: Heads::default(),
            applier,
        }
    }

    /// Works until the store closes or is lost, or, on a node among others, until it no longer owns the cell; then
    /// returns cell, rows and sign, with which the node follows.
    pub(crate) fn run(mut self) -> Option<(Cell, Applier, Heartbeat)> {
        let options = self.shared.options.clone();
        while let Some(group) =
            self.shared
                .queue
                .take(options.group_commits, options.group_bytes, self.rests())
        {
            let mut outcomes = Vec::with_capacity(group.items.len());
            let last = self.group(group, &mut outcomes);
            self.shared.options.times.ended(&outcomes);
            for (done, result, _) in outcomes {
                finish(done, result);
            }
            // only after the callbacks: this waits when the flusher is behind
            match self.applier.settle() {
                // the rows stay in memory: no commits come any more, and the next open rebuilds the index
                Ok(()) | Err(StoreError::Corrupt(_)) => {}
                Err(e) => {
                    self.shared.fail_waiting(&e);
                    return None;
                }
            }
            match last {
                Some(Last::Close(reply)) => {
                    let written = self.shared.write_out(self.applier.mark());
                    self.cell.release();
                    self.shared.fail_waiting(&StoreError::Closed);
                    tell(&reply, written);
                    return None;
                }
                Some(Last::Yield(to, reply)) => self.hand_over(&to, &reply),
                None => {}
            }
            self.renew();
            if let Some(e) = self.shared.health.poisoned() {
                self.shared.fail_waiting(&e);
                return None;
            }
            if let Some(e) = self.shared.role.refusing() {
                let Some(heartbeat) = self.heartbeat else {
                    self.shared.fail_waiting(&e);
                    return None;
                };
                self.cell.forget();
                return Some((self.cell, self.applier, heartbeat));
            }
            self.heads.trim(options.heads_max);
        }
        None
    }

    /// How long this thread may sleep.
    fn rests(&self) -> Option<Duration> {
        match (self.cell.rests(), &self.heartbeat) {
            (Some(rests), Some(heartbeat)) => Some(rests.min(heartbeat.rests())),
            (rests, _) => rests,
        }
    }

    /// Hands the cell over to the named node. Everything that waited has been written; whatever is submitted from now
    /// on is refused. This node follows even if telling the log failed: the log may have taken the change and its
    /// answer been lost.
    fn hand_over(&mut self, to: &str, reply: &Reply) {
        if self.heartbeat.is_none() {
            let alone = "this store has no other nodes";
            return tell(reply, Err(StoreError::Invalid(alone.to_owned())));
        }
        if let Some(e) = self.shared.role.refusing() {
            return tell(reply, Err(e));
        }
        let given = self.cell.offer(to);
        self.cell.forget();
        self.shared.role.follow();
        let failed = |e: LogError| StoreError::Unreachable(Arc::from(e.to_string()));
        tell(reply, given.map_err(failed));
    }

    /// Renews the lease when it is due. While the log cannot be reached, the lease may expire; if another node takes
    /// the cell then, this node's appends have no effect.
    fn renew(&mut self) {
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.show(&self.shared, &mut self.cell, self.applier.mark());
        }
        if self.cell.rests() != Some(Duration::ZERO) {
            return;
        }
        match self.cell.renew() {
            Ok(()) => self.shared.role.sure_until(self.cell.sure_until()),
            Err(LogError::Deposed { .. }) => self.shared.role.depose(),
            Err(e) => tracing::warn!(error = %e, "the lease of the cell was not renewed"),
        }
    }

    /// Makes one group durable and visible; returns the item that ends the group, if there is one.
    fn group(&mut self, group: Group, outcomes: &mut Vec<Outcome>) -> Option<Last> {
        let Group { items, mut notes } = group;
        let mut commits = Vec::with_capacity(items.len());
        let mut closing = None;
        self.record.clear();
        let shared = Arc::clone(&self.shared);
        let rows = shared.projection.as_ref();
        let look = |stream, seq| shared.index.head_near(stream, seq, rows);
        // before any commit is accepted: notes are checked against what is durable
        self.heads.sift(&mut notes, rows, &look);
        let tail = self.cell.tail();
        for (came, item) in items {
            match item {
                QueueItem::Commit(mut commit, done, _) => {
                    let accepted = self.heads.take(&commit, &look);
                    if accepted.is_ok() {
                        self.heads.sift(&mut commit.hints, rows, &look);
                    }
                    outcomes.push((
                        done,
                        accepted.map(|()| {
                            self.record.push(&commit);
                            let number = tail.commit.0 + 1 + u64_of(commits.len());
                            commits.push(commit);
                            CommitNo(number)
                        }),
                        Some(came),
                    ));
                }
                QueueItem::Barrier(done) => {
                    let last = tail.commit.0 + u64_of(commits.len());
                    outcomes.push((done, Ok(CommitNo(last)), None));
                }
                QueueItem::Yield(to, reply) => closing = Some(Last::Yield(to, reply)),
                QueueItem::Close(reply) => closing = Some(Last::Close(reply)),
            }
        }
        // before the group: a note describes rows that were durable when it was submitted
        self.applier.note(&notes);
        let made = catch_unwind(AssertUnwindSafe(|| self.make_durable(&commits, &tail)));
        if let Err(e) = made.unwrap_or_else(|_| Err(self.shared.lost("the committer panicked"))) {
            for (_, result, _) in outcomes.iter_mut().filter(|o| o.1.is_ok()) {
                *result = Err(e.clone());
            }
        }
        closing
    }

    fn make_durable(&mut self, commits: &[Commit], tail: &Tail) -> Result<(), StoreError> {
        if let Some(e) = self.shared.health.poisoned() {
            return Err(e);
        }
        if commits.is_empty() {
            return Ok(());
        }
        let (sealed, places) = Sealed::seal(&mut self.record, tail);
        let placed = match append(&self.shared, &mut self.cell, &sealed) {
            Ok(placed) => placed,
            Err(LogError::Yet(e)) => {
                self.heads.forget();
                return Err(e);
            }
            Err(LogError::Deposed { .. }) => {
                self.shared.role.depose();
                return Err(StoreError::Deposed);
            }
            Err(e) => {
                let why = format!("writing the journal: {e}");
                return Err(self.shared.lost(&why));
            }
        };
        let bytes = u64_of(sealed.bytes().len());
        let entries = u64_of(places.len());
        self.shared.counters.add(commits.len(), entries, bytes);
        self.shared.options.times.group_of(commits.len());
        if let Err(e) = self.applier.commits(commits, places, &placed, &sealed) {
            let why = format!("a durable commit cannot be indexed: {e}");
            return Err(self.shared.lost(&why));
        }
        self.shared.reached(self.applier.mark());
        Ok(())
    }
}

/// Appends a record while the watch looks for a stuck write.
fn append(shared: &Shared, cell: &mut Cell, sealed: &Sealed<'_>) -> Result<AppendedAt, LogError> {
    let start = Instant::now();
    let placed = cell.append(sealed, &shared.watch);
    if let Some(e) = shared.health.poisoned() {
        return Err(LogError::Lost(Arc::from(e.to_string())));
    }
    let took = start.elapsed();
    shared.options.times.flush.record(took);
    let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    shared.counters.flushed(us);
    placed
}

/// The item that ends a group, and with it this thread's work as the owner.
enum Last {
    Close(Reply),
    Yield(Arc<str>, Reply),
}

/// Where the result of the item that ends a group is sent.
pub(crate) type Reply = std::sync::mpsc::SyncSender<Result<(), StoreError>>;

/// Reports how the last item of a group ended.
pub(crate) fn tell(reply: &Reply, outcome: Result<(), StoreError>) {
    if reply.send(outcome).is_err() {
        tracing::error!("the caller that closed the store has gone");
    }
}

/// Answers a request with an error.
pub(crate) fn refuse(item: QueueItem, error: &StoreError) {
    match item {
        QueueItem::Commit(_, done, _) | QueueItem::Barrier(done) => {
            finish(done, Err(error.clone()));
        }
        QueueItem::Close(reply) | QueueItem::Yield(_, reply) => tell(&reply, Err(error.clone())),
    }
}

/// Calls a `done`; a panic in it does not take the store down.
pub(crate) fn finish(done: Done, result: Result<CommitNo, StoreError>) {
    if catch_unwind(AssertUnwindSafe(|| done(result))).is_err() {
        tracing::error!("commit callback panicked");
    }
}
