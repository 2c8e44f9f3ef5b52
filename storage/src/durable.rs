//! The production engine: the journal is the source of truth; the index on sled is derived from it.
//!
//! **Shape.** `<store>/IDENTITY`, `LOCK`, `WITNESS`, `CHECKPOINT`, `journal/`, `index/`. Seven threads:
//! the committer (a node among others follows its cell on it), one that prepares segments, one
//! that writes the witness, the index's flusher and merger, a watch, and the background check.
//!
//! **Bounds.** All in [`StoreOptions`].
//!
//! **Order.** See [`Store`] and the committer: on disk first, then visible, then acknowledged.
//!
//! **Failure.** The first failed write ends the store until a restart. Dropping a store without
//! [`Store::close`] is like a crash: everything acknowledged is in the journal, and the next open adds to the index
//! whatever it lacks.

mod applier;
mod cell;
pub(crate) mod checker;
pub(crate) mod checkpoint;
mod committer;
mod counters;
mod examine;
mod heads;
mod heartbeat;
pub(crate) mod held;
mod identity;
mod member;
mod node;
mod obsolete_indexes;
mod open;
pub(crate) mod options;
pub(crate) mod project;
pub(crate) mod queue;
mod records;
mod recount;
mod restore;
mod role;
pub(crate) mod seals;
mod space;
mod start;
mod watch;
pub(crate) mod witness;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, ThreadId};

use crate::api::{
    Checks, Commit, CommitNo, Differing, Done, Entry, EntryPlace, Head, Index, Pair, Position,
    Projection, Row, SortOrder, Stats, Store, StoreError, StreamId,
};
use crate::codec::hex;
use crate::context::StoreContext;
use crate::durable::checker::Checker;
use crate::durable::counters::Counters;
use crate::durable::held::HeldFolder;
use crate::durable::identity::Identity;
use crate::durable::queue::{CommitQueue, QueueItem};
use crate::durable::role::Role;
use crate::durable::watch::Watch;
use crate::durable::witness::Witness;
use crate::health::Health;
use crate::index::SortedRows;
use crate::index::manifest::JournalMark;
use crate::journal::Journal;
use crate::journal::format::commit_bytes;
use crate::num::u64_of;
use crate::rows::{FIRST_KEY, check_commit, check_row, parse_stream_value, stream_key};
use crate::sync::lock;

pub use held::exclusive;
pub use member::Member;
#[cfg(test)]
pub(crate) use open::disk_log;
pub use options::{NodePart, OnProgress, OnRoleChange, Progress, RoleChange, StoreOptions};
pub use records::{End, Records, Spot};
pub use restore::Restore;

/// The state that all threads of a store share.
struct Shared {
    options: StoreOptions,
    journal: Arc<Journal>,
    index: Arc<SortedRows>,
    projection: Arc<dyn Projection>,
    queue: CommitQueue,
    health: Arc<Health>,
    counters: Counters,
    watch: Watch,
    witness: Witness,
    checker: Checker,
    role: Role,
    /// Held as long as anything of the store lives.
    held: Arc<HeldFolder>,
    context: Arc<StoreContext>,
    index_rebuilt: bool,
}

impl Shared {
    /// Records that everything up to `mark` is durable and applied.
    fn reached(&self, mark: JournalMark) {
        self.witness.saw(mark);
        let last = &self.counters.last_commit;
        last.store(mark.commit, Ordering::Release);
    }

    /// Poisons the store; returns the error that every call gets from now on.
    fn lost(&self, why: &str) -> StoreError {
        self.health.poison(why);
        self.health.poisoned().unwrap_or(StoreError::Closed)
    }

    /// Writes everything that is in memory to the index, and the end of the journal to its witness.
    fn write_out(&self, mark: JournalMark) -> Result<(), StoreError> {
        if let Some(e) = self.health.poisoned() {
            return Err(e);
        }
        let written = self.witness.write();
        written.map_err(|e| self.lost(&format!("writing the witness: {e}")))?;
        self.witness.tell("the store is closed");
        if self.health.full().is_some() {
            tracing::warn!("the disk is nearly full: the next start reads more of the journal");
            return Ok(());
        }
        self.index.freeze(mark)?;
        self.index.wait_flushed()?;
        self.checker.note();
        Ok(())
    }

    /// Answers every waiting item with the same error and closes the queue.
    fn fail_waiting(&self, error: &StoreError) {
        for item in self.queue.shut() {
            committer::refuse(item, error);
        }
    }

    /// Queues an item; answers it at once when the queue does not take it.
    fn enqueue(&self, item: QueueItem) {
        if let Err(refused) = self.queue.push(item) {
            let (item, e) = *refused;
            committer::refuse(item, &self.health.poisoned().unwrap_or(e));
        }
    }

    /// The error for writers while commits cannot be accepted.
    fn accepts(&self) -> Result<(), StoreError> {
        let refused = self.role.refusing().or_else(|| self.health.damaged());
        refused
            .or_else(|| self.health.refusing())
            .map_or(Ok(()), Err)
    }
}

/// A store: journal and index in one folder.
pub struct DurableStore {
    shared: Arc<Shared>,
    identity: Identity,
    closed: AtomicBool,
    threads: Mutex<Vec<JoinHandle<()>>>,
    ids: Vec<ThreadId>,
}

impl fmt::Debug for DurableStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableStore")
            .field("path", &self.shared.context.path)
            .finish_non_exhaustive()
    }
}

impl DurableStore {
    /// The id of this store as text, unique among stores. It never changes and is the same in copies, except in a copy
    /// that was made a history of its own.
    pub fn id(&self) -> String {
        hex(&self.identity.history)
    }

    /// The store's records, for copying them elsewhere.
    pub fn records(&self) -> Records {
        let journal = Arc::clone(&self.shared.journal);
        Records::new(journal, self.identity)
    }

    /// Reads and checks the next piece of the stored data regardless of the configured rate; false when the round has
    /// nothing left.
    pub fn check_step(&self) -> bool {
        let more = self.shared.checker.step() > 0;
        self.shared.checker.note();
        more
    }

    /// Returns the error that every call gets when the store is closed or lost.
    fn gate(&self) -> Result<(), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        self.shared.health.poisoned().map_or(Ok(()), Err)
    }

    fn stop_threads(&self) {
        self.shared.index.stop();
        self.shared.watch.stop();
        self.shared.witness.stop();
        self.shared.checker.stop();
        let threads: Vec<_> = lock(&self.threads).drain(..).collect();
        if self.ids.contains(&std::thread::current().id()) {
            // a callback dropped the last handle on a thread of this store: the threads end by themselves
            return;
        }
        for thread in threads {
            thread.thread().unpark();
            if thread.join().is_err() {
                tracing::error!("store thread panicked");
            }
        }
    }

    fn rows_of(&self, stream: StreamId, seq: u64) -> Result<Option<(Position, u64)>, StoreError> {
        let row = self.shared.index.get(&stream_key(stream, seq))?;
        Ok(row.and_then(|v| parse_stream_value(&v)))
    }
}

impl Drop for DurableStore {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
        self.shared.fail_waiting(&StoreError::Closed);
        self.stop_threads();
    }
}

impl Index for DurableStore {
    fn applied(&self) -> CommitNo {
        CommitNo(self.shared.counters.last_commit.load(Ordering::Acquire))
    }

    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        self.gate()?;
        self.shared.index.head(stream)
    }

    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError> {
        self.gate()?;
        let end = stream_key(stream, to.saturating_add(1));
        let rows = self
            .shared
            .index
            .scan(&stream_key(stream, from), &end, order, limit)?;
        let mut entries = Vec::with_capacity(rows.len());
        for (key, value) in rows {
            let entry = match parse_stream_value(&value) {
                Some((position, _)) => self.shared.journal.entry(position)?,
                None => return Err(self.shared.health.damage("a row of a stream is unreadable")),
            };
            if stream_key(entry.stream, entry.seq) != *key {
                return Err(self.shared.health.damage("a row leads to another entry"));
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError> {
        self.gate()?;
        let Some(head) = self.shared.index.head(stream)? else {
            return Ok(None);
        };
        if head.at <= at {
            return Ok(Some(head.seq));
        }
        // entries up to `low` are at or before `at`; entries from `high` on are after it
        let (mut low, mut high) = (0, head.seq);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            match self.rows_of(stream, middle)? {
                Some((_, t)) if t <= at => low = middle,
                Some(_) => high = middle,
                None => return Err(self.shared.health.damage("a row of a stream is missing")),
            }
        }
        Ok((low > 0).then_some(low))
    }

    fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        self.gate()?;
        self.shared.journal.entry(position)
    }

    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError> {
        self.gate()?;
        let keys = entries
            .iter()
            .map(|(stream, seq)| stream_key(*stream, *seq));
        let rows = self.shared.index.get_each(&keys.collect::<Vec<_>>())?;
        let places = rows.iter().map(|row| {
            let (position, at) = parse_stream_value(row.as_deref()?)?;
            Some(EntryPlace { position, at })
        });
        Ok(places.collect())
    }

    fn has(&self, stream: StreamId, seq: u64) -> Result<bool, StoreError> {
        self.gate()?;
        Ok(seq > 0 && self.rows_of(stream, seq)?.is_some())
    }

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.gate()?;
        if key < FIRST_KEY.as_slice() {
            return Ok(None);
        }
        self.shared.index.get(key)
    }

    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        self.gate()?;
        self.shared
            .index
            .scan(from.max(FIRST_KEY.as_slice()), to, order, limit)
    }

    fn visit(
        &self,
        from: &[u8],
        to: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.gate()?;
        let from = from.max(FIRST_KEY.as_slice());
        self.shared.index.visit(from, to, visit)
    }

    fn walk(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.gate()?;
        let from = from.max(FIRST_KEY.as_slice());
        self.shared.index.walk(from, to, limit)
    }

    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        self.gate()?;
        self.shared.journal.replay(from, visit)
    }

    fn streams_differ(
        &self,
        (from, to): (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError> {
        self.gate()?;
        // the journal is briefly ahead of the index
        recount::streams(&self.shared, (from, to.min(self.applied())), realm, step)
    }
}

impl Store for DurableStore {
    fn submit(&self, commit: Commit, done: Done) {
        let accepted = self.gate().and_then(|()| self.shared.accepts());
        if let Err(e) = accepted.and_then(|()| check_commit(&commit)) {
            return committer::finish(done, Err(e));
        }
        let bytes = commit_bytes(&commit);
        self.shared.enqueue(QueueItem::Commit(commit, done, bytes));
    }

    fn barrier(&self, done: Done) {
        let role = &self.shared.role;
        let refused = self.gate().and(role.refusing().map_or(Ok(()), Err));
        if let Err(e) = refused {
            return committer::finish(done, Err(e));
        }
        self.shared.enqueue(QueueItem::Barrier(done));
    }

    fn note(&self, hints: Vec<Row>) {
        let refused = self.gate().and(self.ready());
        let fit = hints.iter().all(|row| check_row(row).is_ok());
        if refused.is_ok() && fit && !hints.is_empty() {
            // hints that find no room are dropped, which is allowed
            drop(self.shared.queue.note(hints));
        }
    }

    fn stats(&self) -> Stats {
        let c = &self.shared.counters;
        let witness = self.shared.witness.written();
        self.shared.index.figures(Stats {
            commits: c.commits.load(Ordering::Relaxed),
            entries: c.entries.load(Ordering::Relaxed),
            flushes: c.flushes.load(Ordering::Relaxed),
            journal_bytes: c.journal_bytes.load(Ordering::Relaxed),
            last_commit: c.last_commit.load(Ordering::Relaxed),
            indexed_commit: self.shared.index.indexed.load(Ordering::Relaxed),
            journal_disk_bytes: self.shared.journal.disk_bytes(),
            queued: u64_of(self.shared.queue.commits()),
            last_flush_us: c.last_flush_us.load(Ordering::Relaxed),
            flush_us: c.flush_us.load(Ordering::Relaxed),
            disk_free_bytes: c.disk_free_bytes.load(Ordering::Relaxed),
            disk_floor_bytes: self.shared.options.free_space_floor,
            witness_commit: witness.commit,
            witness_chain: witness.chain,
            index_rebuilt: self.shared.index_rebuilt,
            ..Stats::default()
        })
    }

    fn keep_cached(&self, bytes: u64) {
        self.shared.index.keep_cached(bytes);
    }

    fn checks(&self) -> Checks {
        self.shared.checker.shown()
    }

    fn ready(&self) -> Result<(), StoreError> {
        self.gate()?;
        self.shared.accepts()?;
        let unsure = self.shared.health.reads_fail();
        unsure
            .or_else(|| self.shared.role.lapsed())
            .map_or(Ok(()), Err)
    }

    fn close(&self) -> Result<(), StoreError> {
        self.gate()?;
        let (reply, closed) = sync_channel(1);
        if let Err(refused) = self.shared.queue.push(QueueItem::Close(reply)) {
            let (_, e) = *refused;
            return Err(self.shared.health.poisoned().unwrap_or(e));
        }
        let result = closed.recv().unwrap_or(Err(StoreError::Closed));
        self.closed.store(true, Ordering::Release);
        self.stop_threads();
        result
    }
}
