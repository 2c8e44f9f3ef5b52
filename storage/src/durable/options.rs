//! The named limits of the durable engine.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::files::Faults;
use crate::log::Epoch;
use crate::times::Times;

/// The least bytes of a segment.
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

/// What a node is to a cell whose log is elsewhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// It appends, once it has the lease.
    Owner {
        /// Who it is, for operators.
        name: String,
        /// How long the lease lasts; engines round up to what they can keep.
        lease: Duration,
        /// How long another owner's lease is waited for to end.
        patience: Duration,
    },
    /// It follows what the owner appends, and takes no commits.
    Follower,
    /// It follows, and owns the cell whenever nobody else does and it is told that it may
    /// ([`super::Member`]).
    Node {
        /// Who it is: no other node of the cell has the name.
        name: Arc<str>,
        /// Where other nodes reach it.
        address: Arc<str>,
        /// How long the lease lasts; engines round up to what they can keep.
        lease: Duration,
    },
}

/// What became of a node's part in its cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It owns the cell: the log is applied to its end, and commits are taken.
    Owns(Epoch),
    /// It only follows from now on: it was deposed, or has handed the cell over.
    Follows,
}

/// Called while a store opens, on the thread that opens it.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// Called once, on a thread of the store, when another node has taken the cell.
pub type OnDeposed = Arc<dyn Fn() + Send + Sync>;

/// Called on a thread of the store whenever a [`Part::Node`] begins to own its cell, or ends.
pub type OnTurn = Arc<dyn Fn(Turn) + Send + Sync>;

/// The limits of a durable store. The defaults suit production; tests make them small.
#[derive(Clone)]
pub struct StoreOptions {
    /// Bytes of a journal segment; a record that is larger gets one of its own size. At least
    /// 64 KiB, below 4 GiB.
    pub segment_bytes: u32,
    /// How many commits may wait; one more gets `Overloaded`.
    pub queue_commits: usize,
    /// How many bytes of entries may wait; a commit beyond them gets `Overloaded`.
    pub queue_bytes: u64,
    /// How many commits one record holds at most.
    pub group_commits: usize,
    /// A record takes no further commit when it has this many bytes.
    pub group_bytes: u64,
    /// Bytes of rows in memory before they are written out as a run.
    pub table_bytes: usize,
    /// How many full tables may wait to be written; beyond it the committer waits.
    pub frozen_max: usize,
    /// How many runs of one level make one of the next.
    pub merge_fan_in: usize,
    /// Bytes of sled's own caches, about: a quarter of them for what all small runs share, and a part in 32 for each large
    /// run, of which there are 24 at rest.
    pub index_cache_bytes: u64,
    /// From this many keys on a run has files of its own, which are removed as a whole when it is merged away.
    pub apart_keys: u64,
    /// Bytes of the cache of the index's blocks as they are searched; 0 keeps none.
    pub block_cache_bytes: u64,
    /// How many segments behind the one in which the index ends stay as they were written; older ones are
    /// compressed in the background, at the rate of the check. 0 compresses none.
    pub compress_after_segments: u32,
    /// Bytes of frames of compressed segments that are kept unpacked; one frame (32 KiB) is always kept.
    pub frame_cache_bytes: u64,
    /// How many heads of streams the committer keeps in memory, and how many counters.
    pub heads_max: usize,
    /// Free bytes on the disk below which writes are refused (`Full`); 0 is off.
    pub free_space_floor: u64,
    /// Bytes kept in a file for opening the index on a full disk; 0 is off.
    pub reserve_bytes: u64,
    /// How long a write or flush may take; a longer one poisons the store.
    pub stuck_after: Duration,
    /// Ends the process when the store is poisoned, so that a supervisor starts it anew.
    pub abort_on_poison: bool,
    /// Makes a store where there is none. Without it, a folder that is empty or missing is refused.
    pub create: bool,
    /// It is known that the store had a witness of the end of its journal: one that lacks it is
    /// refused. Without it, a store of an older version gets one.
    pub witnessed: bool,
    /// How many bytes of journal and index the background check reads in a second; 0 is off.
    pub check_bytes_per_second: u64,
    /// How long after the end of a round of the background check the next one begins; a day by
    /// default.
    pub check_every: Duration,
    /// Reads all of journal and index before the store is opened, whatever the checkpoint says.
    pub check_all: bool,
    /// Called while the store opens.
    pub progress: Option<OnProgress>,
    /// Called when another node has taken the cell: the store appends nothing more.
    pub deposed: Option<OnDeposed>,
    /// Called when a node begins to own the cell, or ends.
    pub turned: Option<OnTurn>,
    /// Where it is counted how long commits and flushes take.
    pub times: Times,
    /// Makes the n-th change to files fail: for tests.
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
            index_cache_bytes: 64 << 20,
            apart_keys: 1 << 17,
            block_cache_bytes: 64 << 20,
            compress_after_segments: 0,
            frame_cache_bytes: 8 << 20,
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
            deposed: None,
            turned: None,
            times: Times::default(),
            faults: None,
        }
    }
}

impl StoreOptions {
    /// Small limits, so that a short test sees segments roll, tables freeze, runs merge, and large ones have files of their
    /// own.
    pub fn small() -> Self {
        Self {
            segment_bytes: 256 << 10,
            table_bytes: 64 << 10,
            merge_fan_in: 3,
            index_cache_bytes: 4 << 20,
            apart_keys: 1 << 10,
            block_cache_bytes: 1 << 20,
            frame_cache_bytes: 256 << 10,
            heads_max: 64,
            free_space_floor: 0,
            reserve_bytes: 0,
            // tests step through the check themselves, round after round
            check_bytes_per_second: 0,
            check_every: Duration::ZERO,
            ..Self::default()
        }
    }

    /// Tells whoever opens the store how far it has come, if they asked.
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
