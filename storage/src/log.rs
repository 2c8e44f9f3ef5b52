//! The interface below the store: where the records of a cell become durable, and who may append them.
//!
//! **Shape.** A cell is one chain of [`Sealed`] records. A [`Log`] keeps it: the disk of this
//! machine ([`disk`]), memory that several handles share (`memory`, for tests), or a
//! replicated database (the crate `caudal-postgres`). Everything else of a node (its journal, its
//! index) is a copy that is derived from the log, by the same loop on the owner, at recovery and on
//! a follower.
//!
//! **Order.** Sealing is pure: a record names its predecessor's hash, so its bytes and its own hash are fixed before it
//! goes anywhere. An append is one conditional write: *this record, if the chain ends with its predecessor and the
//! epoch is still the last*. That alone makes appends safe; the lease exists so that another node can take over when an
//! owner dies, and for fresh reads.
//!
//! **Failure.** [`LogError`] distinguishes records that were not appended, records that may have been, and logs that
//! are lost for good. An owner that does not know the outcome of its append looks the record up by its hash.

pub mod disk;
#[cfg(any(test, feature = "testing"))]
pub mod memory;
pub mod nodes;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::api::{CommitNo, StoreError, StreamId};
use crate::journal::format::{Record, RecordBuilder, genesis};

pub use crate::journal::format::Hash;
pub use nodes::{ClusterView, OFFER, Presence, RESERVED, SeenNode};

/// The id of a log: 16 random bytes, unique, unchanged for its life and the same in every copy.
pub type LogId = [u8; 16];

/// Numbers the owners of a cell, from 1; 0 is before the first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Epoch(pub u64);

/// The end of a log.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tail {
    /// The last commit of the last record; 0 while there is none.
    pub commit: CommitNo,
    /// The hash that the next record names as its predecessor's.
    pub hash: Hash,
}

impl Tail {
    /// The end of a log that has no record yet.
    pub fn none(id: &LogId) -> Self {
        Self {
            commit: CommitNo(0),
            hash: genesis(id),
        }
    }
}

/// An entry as it is stored in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredEntry<'a> {
    /// The commit to which it belongs.
    pub commit: CommitNo,
    /// The stream to which it belongs.
    pub stream: StreamId,
    /// Its sequence number in that stream, from 1.
    pub seq: u64,
    /// Its time, in milliseconds since 1970 UTC.
    pub at: u64,
    /// The fact, as the layer above encoded it.
    pub body: &'a [u8],
}

/// A record that was sealed: commits under their numbers, the predecessor's hash, checksums, and
/// its own hash. Its bytes are the same in every log and in every node's journal.
#[derive(Clone, Copy, Debug)]
pub struct Sealed<'a> {
    record: Record<'a>,
    hash: Hash,
}

impl<'a> Sealed<'a> {
    /// The record in `bytes`; `None` unless it is whole and every checksum holds.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let record = Record::parse(bytes)?;
        (record.bytes.len() == bytes.len()).then(|| Self::of(record))
    }

    /// The record at the beginning of `bytes`, whatever follows it; `None` unless the record is whole and every
    /// checksum holds.
    pub fn first(bytes: &'a [u8]) -> Option<Self> {
        Record::parse(bytes).map(Self::of)
    }

    /// Completes a record after `tail`: from then on its bytes and its hash are fixed. Also returns the offsets of its
    /// frames, in the order of the entries.
    pub(crate) fn seal(record: &'a mut RecordBuilder, tail: &Tail) -> (Self, &'a [u32]) {
        let (record, places) = record.complete(tail.commit.0, tail.hash);
        (Self::of(record), places)
    }

    /// Wraps a record that was read or has just been made.
    pub(crate) fn of(record: Record<'a>) -> Self {
        let hash = record.hash();
        Self { record, hash }
    }

    /// The parsed record.
    pub(crate) fn record(&self) -> &Record<'a> {
        &self.record
    }

    /// The number of its first commit.
    pub fn first_commit(&self) -> CommitNo {
        CommitNo(self.record.header.first_commit)
    }

    /// How many commits it holds, at least one.
    pub fn commits(&self) -> u32 {
        self.record.header.commits
    }

    /// How many entries it holds.
    pub fn entries(&self) -> u32 {
        self.record.header.entries
    }

    /// Visits its entries in order until `visit` returns `false`. Returns false when an entry fails its checksum; the
    /// entries before it have been visited then.
    pub fn visit(&self, visit: &mut dyn FnMut(StoredEntry<'a>) -> bool) -> bool {
        self.record.visit(&mut |commit, _, entry| {
            visit(StoredEntry {
                commit: CommitNo(commit),
                stream: entry.stream,
                seq: entry.seq,
                at: entry.at,
                body: entry.body,
            })
        })
    }

    /// The end of the log once this record is appended.
    pub fn tail(&self) -> Tail {
        Tail {
            commit: CommitNo(self.record.header.last_commit()),
            hash: self.hash,
        }
    }

    /// The hash of the record before it.
    pub fn previous(&self) -> Hash {
        self.record.header.previous
    }

    /// Its hash, which the next record repeats.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// All its bytes, as they are in every log and journal.
    pub fn bytes(&self) -> &'a [u8] {
        self.record.bytes
    }

    /// Whether it is the next record of a log that ends at `tail`.
    pub fn follows(&self, tail: &Tail) -> bool {
        self.record.header.previous == tail.hash
            && tail.commit.0.checked_add(1) == Some(self.record.header.first_commit)
    }
}

/// Why a log did not do an operation.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LogError {
    /// Another owner holds the lease: nothing was done.
    #[error("the cell has an owner{}", .address.as_ref().map_or(String::new(), |a| format!(" at {a}")))]
    Held {
        /// The address of the owner, if it is known.
        address: Option<Arc<str>>,
    },
    /// A later epoch has begun: nothing was appended, and nothing more can be under this epoch.
    #[error("epoch {epoch:?} has begun: this owner was deposed")]
    Deposed {
        /// The epoch of the log.
        epoch: Epoch,
    },
    /// The record does not follow the end of the log: nothing was appended.
    #[error("the log ends with commit {found}, the record begins with {offered}", found = .tail.commit.0, offered = .offered.0)]
    Gap {
        /// The end of the log.
        tail: Tail,
        /// The first commit that was offered.
        offered: CommitNo,
    },
    /// Nothing was appended; the same call may be repeated later.
    #[error(transparent)]
    Yet(StoreError),
    /// It is unknown whether the record was appended: look it up by its hash.
    #[error("nobody knows whether the record was appended: {0}")]
    Unknown(Arc<str>),
    /// The log is lost for this handle; only a new start can tell what it holds.
    #[error("the log is lost: {0}")]
    Lost(Arc<str>),
    /// Another process reports under the name of this node.
    #[error(
        "another node reports under the name {name}: give each node a name of its own (cell.node)"
    )]
    NameTaken {
        /// The name.
        name: Arc<str>,
    },
    /// The bytes read differ from what was appended, or the system refuses to read.
    #[error(transparent)]
    Read(StoreError),
}

/// A failed write or flush of this machine's own: what is on its disk is unknown.
impl From<io::Error> for LogError {
    fn from(why: io::Error) -> Self {
        Self::Lost(Arc::from(why.to_string()))
    }
}

/// The source of truth of one cell. All methods block; the committer calls them on its own thread. Each fails when the log
/// cannot be reached.
pub trait Log: Send + fmt::Debug + 'static {
    /// The id of the log.
    fn id(&self) -> LogId;

    /// Takes the right to append, the lease, under an epoch later than all before. It lasts for `length` from the moment
    /// of this call; in a log that only this process can open, as long as the handle. Another handle's lease has ended
    /// when this handle has seen it unchanged for its length, by the steady clock of this process.
    ///
    /// # Errors
    /// [`LogError::Held`] while another handle's lease lasts.
    fn acquire(&mut self, owner: &str, length: Duration) -> Result<Epoch, LogError>;

    /// Takes the right to append permanently, under an epoch later than all before: until it is released
    /// ([`Self::release`]), only a call that reserves it under the same name gets it, however much time passes. It
    /// needs no renewal. A cell that an owner holds, or that is reserved under another name, is `Held`.
    ///
    /// # Errors
    /// [`LogError::Held`] while another handle's lease or reservation lasts.
    fn reserve(&mut self, name: &str) -> Result<Epoch, LogError>;

    /// Extends the lease of an epoch to `length` from now, and tells followers that the owner has acknowledged the records
    /// up to `acknowledged`.
    ///
    /// # Errors
    /// [`LogError::Deposed`] when there is another owner.
    fn renew(
        &mut self,
        epoch: Epoch,
        length: Duration,
        acknowledged: CommitNo,
    ) -> Result<(), LogError>;

    /// Releases the right to append, so that nobody has to wait until it expires. Does nothing for an epoch that is
    /// over.
    fn release(&mut self, epoch: Epoch) -> Result<(), LogError>;

    /// Releases the right to append in favour of one node: for [`nodes::OFFER`] no other node can take it. Does nothing
    /// for an epoch that is over.
    fn offer(&mut self, epoch: Epoch, to: &str) -> Result<(), LogError>;

    /// Reports that a node is present, and how far its rows reach.
    ///
    /// # Errors
    /// [`LogError::NameTaken`] while another process has reported under this name within [`nodes::NAME_KEPT`]; when the
    /// log cannot be reached.
    fn report(&mut self, node: &Presence) -> Result<(), LogError>;

    /// The owner of the cell, and the nodes that are present.
    fn cluster_view(&self) -> Result<ClusterView, LogError>;

    /// Makes a record durable after the last one, as a whole or not at all. An owner appends a record only after it has
    /// acknowledged the one before it, so followers may take that one in.
    ///
    /// # Errors
    /// [`LogError::Deposed`] and [`LogError::Gap`] when the condition does not hold,
    /// [`LogError::Yet`] when nothing was written, [`LogError::Unknown`] when the answer was lost.
    fn append(&mut self, epoch: Epoch, record: &Sealed<'_>) -> Result<(), LogError>;

    /// The end of the log.
    fn tail(&self) -> Result<Tail, LogError>;

    /// Visits each record whose last commit is `from` or later, in order, until `visit` returns `false`.
    ///
    /// # Errors
    /// When the log cannot be reached, or a record differs from what was appended.
    fn read(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<(), LogError>;
}
