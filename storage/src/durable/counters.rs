//! What a durable store has done since the process started.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::num::u64_of;

/// Figures since the process started.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) entries: AtomicU64,
    pub(super) flushes: AtomicU64,
    pub(super) journal_bytes: AtomicU64,
    pub(super) last_commit: AtomicU64,
    pub(super) last_flush_us: AtomicU64,
    pub(super) flush_us: AtomicU64,
    pub(super) disk_free_bytes: AtomicU64,
}

impl Counters {
    pub(super) fn add(&self, commits: usize, entries: u64, bytes: u64) {
        self.commits.fetch_add(u64_of(commits), Ordering::Relaxed);
        self.entries.fetch_add(entries, Ordering::Relaxed);
        self.journal_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn flushed(&self, us: u64) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
        self.last_flush_us.store(us, Ordering::Relaxed);
        self.flush_us.fetch_add(us, Ordering::Relaxed);
    }
}
