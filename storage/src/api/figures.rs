//! What an engine tells of itself: its figures, and what was found wrong in it.

/// Figures that operators and the bench read.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Stats {
    /// How many commits were made durable since the start of this process.
    pub commits: u64,
    /// How many entries were made durable since the start of this process.
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
    /// Segments that are compressed.
    pub compressed_segments: u64,
    /// Bytes by which they are smaller than they were.
    pub compressed_saved_bytes: u64,
    /// Bytes that their frames take which are kept unpacked, at most.
    pub frame_cache_bytes_max: u64,
    /// Bytes that they take.
    pub frame_cache_bytes: u64,
    /// Bytes of the index on disk.
    pub index_disk_bytes: u64,
    /// How many runs the index has.
    pub index_runs: u64,
    /// Blocks of the index that were read from its files since the start of this process.
    pub index_blocks_read: u64,
    /// Blocks of the index that were found in the cache since the start of this process.
    pub index_blocks_cached: u64,
    /// Blocks of the index that were looked into for a key that they do not have, because a filter errs now and then,
    /// since the start of this process.
    pub index_blocks_vain: u64,
    /// How many runs scans and heads of streams have opened since the start of this process.
    pub index_runs_opened: u64,
    /// How many rows were looked for by their key since the start of this process.
    pub index_gets: u64,
    /// Bytes that the cache of blocks takes at most now ([`Store::keep_cached`](super::Store::keep_cached)).
    pub block_cache_bytes_max: u64,
    /// Bytes that the cache of blocks takes.
    pub block_cache_bytes: u64,
    /// Bytes of rows in memory that are in no run yet, roughly.
    pub index_table_bytes: u64,
    /// Bytes of fences and filters of all runs, which stay in memory.
    pub index_filter_bytes: u64,
    /// How many commits wait in the queue.
    pub queued: u64,
    /// How long the last flush took, in microseconds.
    pub last_flush_us: u64,
    /// How long all flushes took together, in microseconds.
    pub flush_us: u64,
    /// The number of the last commit that the witness beside the journal names; 0 for engines
    /// without one.
    pub witness_commit: u64,
    /// The SHA-256 hash of the record that holds that commit.
    pub witness_chain: [u8; 32],
    /// Whether the index was rebuilt from the journal when this process opened the store.
    pub index_rebuilt: bool,
}

impl Stats {
    /// How many durable commits the index on disk does not hold yet.
    pub fn index_lag(&self) -> u64 {
        // The two are not read in one instant.
        self.last_commit.max(self.indexed_commit) - self.indexed_commit
    }
}

/// What the background check of journal and index does and found, for operators.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Checks {
    /// How much it reads in a second at most, in bytes; 0 is off.
    pub bytes_per_second: u64,
    /// The number of the last round that was begun.
    pub round: u64,
    /// The number of the last round that ended.
    pub rounds: u64,
    /// When that was, in milliseconds since 1970 UTC; 0 when none ended.
    pub ended_at: u64,
    /// How much of what is kept was read in the last round that was begun, in bytes; what was
    /// written since counts as read.
    pub done_bytes: u64,
    /// How much is kept that takes no more changes, in bytes: full segments and runs of the index.
    pub total_bytes: u64,
    /// What was found since the start of this process; at most a hundred.
    pub findings: Vec<Finding>,
    /// How many findings there are in all.
    pub found: u64,
    /// Bytes of the journal that were read to open the store.
    pub opening_journal_bytes: u64,
    /// Bytes of the index that were read to open it, besides what sled reads for itself.
    pub opening_index_bytes: u64,
}

/// Something that is not what was written, or cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file of the segment, or `index`.
    pub place: String,
    /// Where in the segment, in bytes from its beginning; `None` in the index.
    pub offset: Option<u64>,
    /// What is wrong there, for operators.
    pub why: String,
    /// When it was found, in milliseconds since 1970 UTC.
    pub at: u64,
}

/// What differs, for operators.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Differing {
    /// The first of them, in words; at most a hundred.
    pub named: Vec<String>,
    /// How many there are in all.
    pub count: u64,
}

impl Differing {
    /// At most so many are named.
    pub const NAMED_MAX: usize = 100;

    /// One more.
    pub fn add(&mut self, what: impl FnOnce() -> String) {
        self.count += 1;
        if self.named.len() < Self::NAMED_MAX {
            self.named.push(what());
        }
    }
}
