//! The interface above the engines: what every storage engine guarantees to the crates above it.

mod figures;

use std::any::Any;
use std::fmt;
use std::sync::Arc;

pub use figures::{Checks, Differing, Finding, Stats};

/// One gapless, append-only sequence of entries with a single writer.
///
/// Ordered by realm, then kind, then number, which is also the order of its key on disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StreamId {
    /// The number of the realm that owns the stream; 0 is the platform's own.
    pub realm: u32,
    /// The kind of the stream; the layer above assigns the numbers and never reuses them.
    pub kind: u8,
    /// The number of the stream within its kind, for instance the number of an account.
    pub number: u64,
}

/// One fact as bytes, with its place in its stream and its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Its sequence number in that stream, from 1 without gaps.
    pub seq: u64,
    /// When the fact happened, in milliseconds since 1970 UTC; never goes back within a stream.
    pub at: u64,
    /// The fact, encoded by the layer above; at most [`ENTRY_BYTES_MAX`].
    pub body: Vec<u8>,
    /// The same fact as the writer's in-memory value, if the writer passed it along.
    pub fact: Fact,
}

/// The content of an entry as the writer's in-memory value, so that the projection need not decode bytes that were
/// encoded a moment before. It is never on disk: an entry that was read has none. Entries are equal when their bytes are.
#[derive(Clone, Default)]
pub struct Fact(Option<Arc<dyn Any + Send + Sync>>);

impl Fact {
    /// The fact that the entry's `body` encodes.
    pub fn of<T: Any + Send + Sync>(fact: Arc<T>) -> Self {
        Self(Some(fact))
    }

    /// The fact, if it was passed along and is a `T`; `None` for an entry that was read from disk.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.as_ref()?.downcast_ref()
    }
}

impl PartialEq for Fact {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Fact {}

impl fmt::Debug for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "given" } else { "none" })
    }
}

/// The largest body of one entry, in bytes.
pub const ENTRY_BYTES_MAX: usize = 1 << 20;
/// How many entries one commit may hold at most.
pub const COMMIT_ENTRIES_MAX: usize = 65_536;
/// The most bytes that the entries and hints of one commit may have together.
pub const COMMIT_BYTES_MAX: u64 = 32 << 20;
/// The largest value of an index row, in bytes.
pub const VALUE_BYTES_MAX: usize = 1 << 20;
/// The largest key of an index row, in bytes.
pub const KEY_BYTES_MAX: usize = 256;

/// Entries that become durable together or not at all.
#[derive(Clone, Default, Debug)]
pub struct Commit {
    /// The entries, in the order in which they are applied.
    pub entries: Vec<Entry>,
    /// Rows that go to the index with this commit but not to the journal: caches (snapshots) whose loss does no harm.
    /// Their keys should have a first byte of their own.
    pub hints: Vec<Row>,
    /// The entries that the decision rests on, besides the ends of the commit's own streams: for each of these streams
    /// the entry that was its last one at that time, submitted before and perhaps not durable yet. The commit is
    /// accepted only if all of them exist; entries of this commit count, too. So a commit that was decided on a refused
    /// one is refused. At most as many as entries.
    pub decided_on: Vec<(StreamId, u64)>,
}

/// A key and its value (`None` removes the key).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// The key, at most [`KEY_BYTES_MAX`] bytes.
    pub key: Vec<u8>,
    /// The value, at most [`VALUE_BYTES_MAX`] bytes, or `None` to remove the key.
    pub value: Option<Vec<u8>>,
}

/// The key and the value of a row that a scan found.
pub type Pair = (Vec<u8>, Vec<u8>);

/// The last entry of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The sequence number of the entry, from 1.
    pub seq: u64,
    /// Its time in milliseconds since 1970 UTC.
    pub at: u64,
}

/// The number of a commit in the journal, from 1 without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct CommitNo(pub u64);

/// The place of an entry in the journal: opaque to the layers above, stable for the journal's life.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Position(pub u64);

/// Where an entry is, and when it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryPlace {
    /// Its place in the journal.
    pub position: Position,
    /// Its time, in milliseconds since 1970 UTC.
    pub at: u64,
}

/// Why an operation of the store failed. After a commit, only [`Self::Poisoned`] and [`Self::Deposed`] leave its
/// outcome unknown; after any other error nothing of the commit was written.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The queue of commits is full, or the index is too far behind: try again shortly.
    #[error("the store is overloaded; try again")]
    Overloaded,
    /// Free space is below the floor: reads continue, writes are refused.
    #[error("the disk is nearly full: {0}")]
    Full(String),
    /// A commit does not follow its stream, or was decided on an entry that the stream does not have.
    #[error("stream {stream:?} is at {found}, the commit brings {offered}")]
    OutOfSequence {
        /// The stream that the commit does not fit.
        stream: StreamId,
        /// The last sequence number that the stream holds; 0 when it is empty.
        found: u64,
        /// The sequence number that the commit brought, or on which it was decided.
        offered: u64,
    },
    /// A commit, key or value breaks a named limit or rule; the text says which.
    #[error("{0}")]
    Invalid(String),
    /// An earlier write or flush failed; what is on disk is unknown until a restart.
    #[error("storage lost: {0}")]
    Poisoned(Arc<str>),
    /// The system refused a read. That says nothing about the bytes on disk, and may be temporary.
    #[error("the disk refuses reads: {0}")]
    Unreadable(Arc<str>),
    /// The log of the cell cannot be reached, or accepts nothing: nothing was done, try again shortly.
    #[error("the log cannot be reached: {0}")]
    Unreachable(Arc<str>),
    /// Bytes on disk differ from those that were written.
    #[error("{0}")]
    Corrupt(Arc<str>),
    /// The store is closing.
    #[error("the store is closing")]
    Closed,
    /// This node does not own the cell: nothing was done, ask the owner.
    #[error("this node does not own the cell{}", .address.as_ref().map_or(String::new(), |a| format!("; the owner is at {a}")))]
    NotOwner {
        /// Where the owner is reached, if it is known.
        address: Option<Arc<str>>,
    },
    /// Another node took the cell while the commit was under way: this node does not know the outcome.
    #[error("another node took the cell; whether the commit became durable is known there")]
    Deposed,
}

/// Called once, on the store's own thread, when the commit is durable or has failed. If a commit is refused at once
/// (overloaded, full, invalid, poisoned, closed), it is called on the caller's thread, inside [`Store::submit`].
///
/// It must be short and must not block or call back into [`Store::submit`].
pub type Done = Box<dyn FnOnce(Result<CommitNo, StoreError>) + Send>;

/// The operations on the index that a [`Projection`] may use while it processes one entry.
pub trait IndexWriter {
    /// The value of `key` as of all earlier entries.
    ///
    /// # Errors
    /// When the index cannot be read; `Invalid` for a row of a kind that is [`unread`](Projection::unread).
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// Sets `key` to `value`. A key or value that breaks a limit makes the projection of the entry fail.
    fn put(&mut self, key: &[u8], value: &[u8]);
    /// Removes `key`; does nothing when it does not exist.
    fn delete(&mut self, key: &[u8]);
    /// Adds one to the counter under `key` (8 bytes, big-endian, 0 when absent) and returns the sum.
    ///
    /// # Errors
    /// When the row is not a counter or of a kind that is [`unread`](Projection::unread), the counter is at its
    /// maximum, the key breaks a limit, or the index cannot be read.
    fn next(&mut self, key: &[u8]) -> Result<u64, StoreError>;
    /// The last sequence number of a stream as of this entry, this entry included; 0 when there is none.
    ///
    /// # Errors
    /// When the index cannot be read.
    fn head(&mut self, stream: StreamId) -> Result<u64, StoreError>;
}

/// Derives index rows from entries. Pure and deterministic: the same entries in the same order give the same rows,
/// live, at recovery and at rebuild.
pub trait Projection: Send + Sync + 'static {
    /// Changes whenever the derived rows change; if the version on disk differs, the store rebuilds its index.
    fn version(&self) -> u32;
    /// Adds the rows of one entry, which is at `position` in the journal.
    ///
    /// # Errors
    /// When the entry cannot be parsed or `index` fails. The entry is durable by then, so the store is poisoned or does
    /// not open.
    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError>;
    /// Whether [`Self::project`] can read the entry. A follower asks this about each entry of
    /// the log before it writes the entry to its own journal. True of every entry by default; a projection that wraps
    /// another one passes the question on.
    ///
    /// # Errors
    /// When a newer version has written the entry, or it cannot be decoded.
    fn knows(&self, _entry: &Entry) -> Result<(), StoreError> {
        Ok(())
    }
    /// The first bytes of keys whose rows are scanned by their next twelve bytes, such as a realm and the number
    /// of an account: such a scan opens only the parts of the index that may have it. The list changes no row, so
    /// it may change without a new version. Empty by default.
    fn scoped(&self) -> &[u8] {
        &[]
    }
    /// The first bytes of keys whose rows are looked up one by one: such rows are stored in small blocks, so that a
    /// lookup reads little. This list changes no row either. Empty by default; a projection that wraps another one passes
    /// on its list.
    fn single(&self) -> &[u8] {
        &[]
    }
    /// The first bytes of keys whose rows [`Self::project`] writes and never reads, which makes them cheaper. This list
    /// changes no row either. Empty by default; a projection that wraps another one passes on its list.
    fn unread(&self) -> &[u8] {
        &[]
    }
    /// The key of the row at rest, which the writer of a stream leaves when it is unloaded; `None` for a stream whose
    /// writer leaves none, as by default. See [`Self::rests`].
    fn rest_key(&self, _stream: StreamId) -> Option<Vec<u8>> {
        None
    }
    /// The claim of a row at rest about a stream: its last entry when the row was written. `None` for any other row. The
    /// store rejects a hint that names an entry which the stream does not have, so a reader of such a row knows that the
    /// entry exists.
    fn rests(&self, _key: &[u8], _value: &[u8]) -> Option<(StreamId, Head)> {
        None
    }
}

/// The order in which a read returns its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SortOrder {
    /// The smallest key or sequence first.
    #[default]
    Ascending,
    /// The largest key or sequence first.
    Descending,
}

/// The reads of a node: rows and entries, derived from the log of the cell by one projection.
///
/// They see every record that was applied, and only durable records: on the owner every commit whose `done` was called,
/// on a follower everything up to [`Index::applied`].
///
/// Reads block on memory or disk for microseconds; callers that scan do so on another thread. Each fails as
/// [`Index::head`] says.
pub trait Index: Send + Sync + fmt::Debug + 'static {
    /// The number of the last commit that reads see.
    fn applied(&self) -> CommitNo;
    /// The last durable entry of a stream; `None` when the stream is empty.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] when the system refuses the read, [`StoreError::Corrupt`] when bytes differ from
    /// those written, [`StoreError::Poisoned`] or [`StoreError::Closed`] when the store no longer answers.
    fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError>;
    /// Entries `from..=to` of a stream in the given order, at most `limit`; missing ones are left out.
    fn read(
        &self,
        stream: StreamId,
        from: u64,
        to: u64,
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Entry>, StoreError>;
    /// The last sequence number of a stream whose time is at or before `at`, in milliseconds since 1970 UTC; `None`
    /// when there is none.
    fn seq_at(&self, stream: StreamId, at: u64) -> Result<Option<u64>, StoreError>;
    /// The entry at a position that was passed to a projection.
    ///
    /// # Errors
    /// As [`Index::head`], and [`StoreError::Invalid`] when no entry is there.
    fn entry(&self, position: Position) -> Result<Entry, StoreError>;
    /// Where these entries are, each by its stream and its sequence from 1, in ascending order; `None` for an entry that
    /// its stream does not have. It looks for those entries only, so each costs less than [`Index::head`]: a missing
    /// entry usually costs no read at all, and many neighbours at once cost less than one after the other.
    fn find(&self, entries: &[(StreamId, u64)]) -> Result<Vec<Option<EntryPlace>>, StoreError>;
    /// Whether a stream has the entry `seq`, counted from 1, at less than the cost of [`Index::find`] for one.
    fn has(&self, stream: StreamId, seq: u64) -> Result<bool, StoreError> {
        let found = self.find(&[(stream, seq)])?;
        Ok(found.iter().any(Option::is_some))
    }
    /// The value of an index row; `None` when there is no such row.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// Rows with `from <= key < to`, in the given order, at most `limit`, without the engine's own rows.
    fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError>;
    /// Visits rows with `from <= key < to`, smallest key first, without the engine's own rows, until `visit` returns
    /// `false`. For long passes whose rows nobody needs again soon: it copies no row, and what it reads takes no room
    /// from others in a cache. It may be called while the engine's rows are pinned, so `visit` has to be short.
    fn visit(
        &self,
        from: &[u8],
        to: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        let rows = self.scan(from, to, SortOrder::Ascending, usize::MAX)?;
        rows.iter().all(|(key, value)| visit(key, value));
        Ok(())
    }
    /// Rows with `from <= key < to`, smallest key first, at most `limit`, for verification: each as [`Index::get`]
    /// finds it, at hardly more than the cost of [`Index::scan`]. A scan alone would not notice a row that a lookup by
    /// key misses because a filter denies it. An engine that finds such a row treats its index as damaged from then on.
    /// By default this is the same as a scan.
    fn walk(&self, from: &[u8], to: &[u8], limit: usize) -> Result<Vec<Pair>, StoreError> {
        self.scan(from, to, SortOrder::Ascending, limit)
    }
    /// Visits every entry of the journal from commit `from` on, in order, until `visit` returns `false`; returns the
    /// number of the last commit visited, 0 when there was none. For verification, rebuilds and export.
    fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError>;
    /// Compares the engine's own rows, which map streams to their entries, with the entries of these commits in the
    /// journal, both ends included; only in the streams of one realm, if one is given. Later writes do not count.
    /// `step` is called now and then; when it returns `false` the work stops, and the result means nothing. An engine
    /// without such rows has no differences. One that finds a difference treats its index as damaged from then on.
    fn streams_differ(
        &self,
        commits: (CommitNo, CommitNo),
        realm: Option<u32>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Differing, StoreError>;
}

/// A cell on this node: its reads and, for the owner, writing to its log.
pub trait Store: Index {
    /// Queues a commit. The order of submission is the order of commit numbers. `done` is called exactly once, with the
    /// number of the commit or the reason why it did not become durable.
    fn submit(&self, commit: Commit, done: Done);
    /// Calls `done` when everything submitted before is durable (or has failed).
    ///
    /// A poisoned store refuses the barrier at once, perhaps before it has reported the failure of the last submissions
    /// before it.
    fn barrier(&self, done: Done);
    /// Puts rows into the index whose loss does no harm, like [`Commit::hints`] but without a commit: after everything
    /// that is durable by now, and before anything submitted later. Nothing waits for them and nobody is notified. A
    /// store that is busy, full or lost drops them; it may also drop rows that claim more than is durable.
    fn note(&self, hints: Vec<Row>) {
        drop(hints);
    }
    /// Limits the cache of index blocks to this many bytes from now on; engines without one ignore it.
    fn keep_cached(&self, _bytes: u64) {}
    /// Current figures for operators.
    fn stats(&self) -> Stats;
    /// Progress and findings of the background check; empty for an engine without one.
    fn checks(&self) -> Checks {
        Checks::default()
    }
    /// Whether writes are possible now.
    ///
    /// # Errors
    /// Why writes are not possible: closed, poisoned, damaged, no room, not the owner.
    fn ready(&self) -> Result<(), StoreError>;
    /// Makes everything queued durable, writes the index out and stops. Later calls answer
    /// [`StoreError::Closed`].
    ///
    /// # Errors
    /// When queued items or the index could not be written; the journal has everything that was acknowledged.
    fn close(&self) -> Result<(), StoreError>;
}
