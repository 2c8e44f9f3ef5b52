//! How flusher and merger let the threads that serve have the processor in between.
//!
//! **Bounds.** Every [`LOOK_EVERY`] rows, a fraction of a millisecond, as long as the thread is not behind. One that is
//! behind keeps its share of the processor: commits would soon wait for it, and reads look into every run.

use std::sync::Arc;

use crate::background::yield_to_requests;
use crate::index::SortedRows;
use crate::index::maintain::LOOK_EVERY;
use crate::index::table::Frozen;
use crate::num::u64_of;
use crate::sync::read;

/// With this many tables, the one that is being written included, or with as many as may wait, the flusher is behind.
const TABLES_BEHIND: usize = 2;
/// With this many runs of level 0 more than are merged at once, the merger is behind.
const RUNS_BEHIND: usize = 2;

impl SortedRows {
    /// Lets others have the processor when the flusher is at this row.
    pub(super) fn flusher_yield(&self, row: usize) {
        let look = u64_of(row).is_multiple_of(LOOK_EVERY);
        let behind = TABLES_BEHIND.min(self.tuning.frozen_max);
        if look && read(&self.state).frozen.len() < behind {
            yield_to_requests();
        }
    }

    /// Lets others have the processor; the merger calls this every [`LOOK_EVERY`] rows.
    pub(super) fn merger_yield(&self) {
        let runs = Arc::clone(&read(&self.state).runs);
        let flushed = runs.iter().take_while(|run| run.info.level == 0).count();
        if flushed < self.tuning.fan_in + RUNS_BEHIND {
            yield_to_requests();
        }
    }

    /// Frees the memory of a table that was written, which takes milliseconds, unless somebody still reads it.
    pub(super) fn free(&self, written: Arc<Frozen>) {
        let Some(Frozen { rows: table, .. }) = Arc::into_inner(written) else {
            return;
        };
        for (n, row) in table.into_iter().enumerate() {
            drop(row);
            self.flusher_yield(n);
        }
    }
}
