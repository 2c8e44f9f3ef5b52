//! The named limits of the durable engine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::files::Faults;
use crate::log::Epoch;
use crate::times::Times;

/// The smallest segment, in bytes.
pub(super) const SEGMENT_MIN: u32 = 64 << 10;

/// How far the opening of a store has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A segment of the journal has been checked.
    Checking {
        /// The number of the segment, from 1.
        segment: u32,
        /// How many segments there are.
        of: u32,
    },
    /// Commits are being put into the index.
    Indexing {
        /// The number of the last commit that is in the index.
        commit: u64,
        /// The number of the last commit of the journal.
        of: u64,
    },
}

/// A node's part in a cell whose log is elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodePart {
    /// It appends once it has the lease.
    Owner {
        /// The node's name, for operators.
        name: String,
        /// How long the lease lasts; engines round up to what they can keep.
        lease: Duration,
        /// How long to wait for another owner's lease to end.
        patience: Duration,
    },
    /// It follows, and takes the cell whenever nobody owns it and the node has been told that it may
    /// ([`super::Member`]).
    Node {
        /// The node's name, unique among the nodes of the cell.
        name: Arc<str>,
        /// The URL at which clients reach it.
        url: Arc<str>,
        /// How long the lease lasts; engines round up to what they can keep.
        lease: Duration,
    },
}

/// A change of a node's part in its cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoleChange {
    /// It owns the cell: the log is applied to its end, and the node takes commits.
    Owns(Epoch),
    /// From now on it only follows: it was deposed, or has handed the cell over.
    Follows,
}

/// Called while a store opens, on the thread that opens it.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Called on a thread of the store whenever the node begins or ceases to own its cell; not when it opens.
pub type OnRoleChange = Arc<dyn Fn(RoleChange) + Send + Sync>;

/// The limits of a durable store. The defaults suit production; tests make them small.
#[derive(Clone)]
pub struct StoreOptions {
    /// Bytes of a journal segment; a larger record gets a segment of its own size. At least 64 KiB, below 4 GiB.
    pub segment_bytes: u32,
    /// How many commits may wait; the next one gets `Overloaded`.
    pub queue_commits: usize,
    /// How many bytes of entries may wait; a commit beyond them gets `Overloaded`.
    pub queue_bytes: u64,
    /// How many commits one record holds at most.
    pub group_commits: usize,
    /// A record takes no further commits once it has this many bytes.
    pub group_bytes: u64,
    /// Bytes of rows in memory before they are written out as a run.
    pub table_bytes: usize,
    /// How many full tables may wait to be written; when more would wait, the committer waits.
    pub frozen_max: usize,
    /// How many runs of one level are merged into one of the next.
    pub merge_fan_in: usize,
    /// Bytes of sled's own cache, roughly.
    pub index_cache_bytes: u64,
    /// A run with at least this many keys has a file of its own, which is removed as a whole when it is merged away;
    /// smaller ones are in sled.
    pub file_keys: u64,
    /// Bytes of the cache of index blocks in their searchable form; 0 keeps none.
    pub block_cache_bytes: u64,
    /// How many heads of streams the committer keeps in memory; also how many counters.
    pub heads_max: usize,
    /// Free bytes on the disk below which writes are refused (`Full`); 0 is off.
    pub free_space_floor: u64,
    /// Bytes kept in a file for opening the index on a full disk; 0 is off.
    pub reserve_bytes: u64,
    /// How long a write or flush may take; one that takes longer poisons the store.
    pub stuck_after: Duration,
    /// Ends the process when the store is poisoned, so that a supervisor restarts it.
    pub abort_on_poison: bool,
    /// Creates a store where there is none. Without it, an empty or missing folder is refused.
    pub create: bool,
    /// Says that the store had a witness of the end of its journal: a store without one is refused. If false, a store
    /// without one gets one, as after a restore.
    pub witnessed: bool,
    /// How many bytes of journal and index the background check reads per second; 0 turns it off.
    pub check_bytes_per_second: u64,
    /// How long after the end of a round of the background check the next one begins; a day by
    /// default.
    pub check_every: Duration,
    /// Reads all of journal and index before the store opens, whatever the checkpoint attests.
    pub check_all: bool,
    /// Called while the store opens.
    pub progress: Option<OnProgress>,
    /// Called when a node begins or ceases to own the cell.
    pub turned: Option<OnRoleChange>,
    /// Where the durations of commits and flushes are recorded.
    pub times: Times,
    /// Makes the n-th change to files fail, for tests.
    pub faults: Option<Arc<Faults>>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            segment_bytes: 64 << 20,
            queue_commits: 8192,
            queue_bytes: 128 << 20,
            group_commits: 512,
            group_bytes: 1 << 20,
            table_bytes: 32 << 20,
            frozen_max: 3,
            merge_fan_in: 6,
            index_cache_bytes: 16 << 20,
            file_keys: 1 << 15,
            block_cache_bytes: 64 << 20,
            heads_max: 1_000_000,
            free_space_floor: 256 << 20,
            reserve_bytes: 16 << 20,
            stuck_after: Duration::from_secs(10),
            abort_on_poison: false,
            create: true,
            witnessed: false,
            check_bytes_per_second: 8 << 20,
            check_every: Duration::from_secs(24 * 60 * 60),
            check_all: false,
            progress: None,
            turned: None,
            times: Times::default(),
            faults: None,
        }
    }
}

impl StoreOptions {
    /// Small limits, so that in a short test segments roll, tables freeze, runs merge, and large runs get files of
    /// their own.
    pub fn small() -> Self {
        Self {
            segment_bytes: 256 << 10,
            table_bytes: 64 << 10,
            merge_fan_in: 3,
            index_cache_bytes: 4 << 20,
            file_keys: 1 << 10,
            block_cache_bytes: 1 << 20,
            heads_max: 64,
            free_space_floor: 0,
            reserve_bytes: 0,
            // tests step through the check themselves, round after round
            check_bytes_per_second: 0,
            check_every: Duration::ZERO,
            ..Self::default()
        }
    }

    /// Reports progress to the opener, if it asked for it.
    pub(crate) fn report(&self, progress: Progress) {
        if let Some(report) = &self.progress {
            report(progress);
        }
    }
}

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreOptions")
            .field("segment_bytes", &self.segment_bytes)
            .field("queue_commits", &self.queue_commits)
            .field("group_commits", &self.group_commits)
            .field("table_bytes", &self.table_bytes)
            .field("free_space_floor", &self.free_space_floor)
            .finish_non_exhaustive()
    }
}
