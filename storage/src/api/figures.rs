//! An engine's report about itself: its figures, and the findings of its checks.

/// Figures for operators and the bench.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Stats {
    /// How many commits became durable since this process started.
    pub commits: u64,
    /// How many entries became durable since this process started.
    pub entries: u64,
    /// How many device flushes the journal made since the start of this process.
    pub flushes: u64,
    /// Bytes of records appended since the start of this process.
    pub journal_bytes: u64,
    /// The number of the last durable commit.
    pub last_commit: u64,
    /// The number of the last commit that the index on disk holds.
    pub indexed_commit: u64,
    /// Bytes of all journal segments on disk.
    pub journal_disk_bytes: u64,
    /// Bytes of the index on disk.
    pub index_disk_bytes: u64,
    /// Bytes that are free for the store on the volume of its folder; 0 for engines without one.
    pub disk_free_bytes: u64,
    /// Below this many free bytes the store refuses writes; 0 if it never does for that reason.
    pub disk_floor_bytes: u64,
    /// How many runs the index has.
    pub index_runs: u64,
    /// Blocks of the index that were read from its files since the start of this process.
    pub index_blocks_read: u64,
    /// Blocks of the index that were found in the cache since the start of this process.
    pub index_blocks_cached: u64,
    /// Index blocks that were searched for a key they do not have, because of a filter's false positive, since the
    /// start of this process.
    pub index_blocks_vain: u64,
    /// How many runs scans and heads of streams have opened since the start of this process.
    pub index_runs_opened: u64,
    /// How many rows were looked up by their key since the start of this process.
    pub index_gets: u64,
    /// The current limit of the block cache, in bytes ([`Store::keep_cached`](super::Store::keep_cached)).
    pub block_cache_bytes_max: u64,
    /// Bytes that the block cache takes now.
    pub block_cache_bytes: u64,
    /// Rough size of rows in memory that are in no run yet, in bytes.
    pub index_table_bytes: u64,
    /// Bytes of the fences and filters of all runs, which stay in memory.
    pub index_filter_bytes: u64,
    /// How many commits wait in the queue.
    pub queued: u64,
    /// How long the last flush took, in microseconds.
    pub last_flush_us: u64,
    /// How long all flushes took together, in microseconds.
    pub flush_us: u64,
    /// The number of the last commit that the witness next to the journal names; 0 for engines
    /// without one.
    pub witness_commit: u64,
    /// The SHA-256 hash of the record that holds that commit.
    pub witness_chain: [u8; 32],
    /// Whether the index was rebuilt from the journal when this process opened the store.
    pub index_rebuilt: bool,
}

impl Stats {
    /// Bytes of journal and index on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.journal_disk_bytes + self.index_disk_bytes
    }

    /// How many durable commits the index on disk does not hold yet.
    pub fn index_lag(&self) -> u64 {
        // The two values are not read at the same instant.
        self.last_commit.max(self.indexed_commit) - self.indexed_commit
    }
}

/// Progress and findings of the background check of journal and index, for operators.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Checks {
    /// The most bytes that it reads per second; 0 means off.
    pub bytes_per_second: u64,
    /// The number of the last round that was begun.
    pub round: u64,
    /// The number of the last round that ended.
    pub rounds: u64,
    /// When that round ended, in milliseconds since 1970 UTC; 0 when none has ended.
    pub ended_at: u64,
    /// How many bytes of the stored data were read in the last round that was begun; data written since then counts as
    /// read.
    pub done_bytes: u64,
    /// Bytes of stored data that no longer change: full segments and runs of the index.
    pub total_bytes: u64,
    /// Findings since the start of this process; at most a hundred are kept.
    pub findings: Vec<Finding>,
    /// The total number of findings.
    pub found: u64,
    /// Bytes of the journal that were read to open the store.
    pub opening_journal_bytes: u64,
    /// Bytes of the index that were read to open it, not counting sled's own reads.
    pub opening_index_bytes: u64,
}

/// A place whose bytes differ from those written, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file of the segment, or `index`.
    pub place: String,
    /// The offset in the segment, in bytes from its beginning; `None` in the index.
    pub offset: Option<u64>,
    /// What is wrong, for operators.
    pub why: String,
    /// When it was found, in milliseconds since 1970 UTC.
    pub at: u64,
}

/// The differences that a comparison found, for operators.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Differing {
    /// The first differences in words; at most a hundred.
    pub named: Vec<String>,
    /// The total number of differences.
    pub count: u64,
}

impl Differing {
    /// The most differences that are put into words.
    pub const NAMED_MAX: usize = 100;

    /// Adds one difference.
    pub fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < Self::NAMED_MAX {
            self.named.push(what());
        }
    }
}
