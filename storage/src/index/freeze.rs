//! Tables that accept no more rows and wait to become runs.
//!
//! **Bounds.** At most [`StoreOptions::frozen_max`](crate::StoreOptions) of them: freezing another one waits.

use std::sync::Arc;

use crate::api::StoreError;
use crate::index::SortedRows;
use crate::index::maintain::LOOK_AGAIN;
use crate::index::manifest::JournalMark;
use crate::index::table::Frozen;
use crate::sync::{lock, read, wait_for, write};

impl SortedRows {
    /// Freezes the table when it is full; `mark` is the end of the journal part that it covers. Waits while too many
    /// tables wait for the flusher. While the disk is nearly full nothing is frozen: no commits are accepted then, and
    /// the rows in memory can be derived from the journal.
    ///
    /// # Errors
    /// `Poisoned` when a write has failed, `Closed` when the store stops while this waits, `Corrupt` when this would wait
    /// for a merge of an index that counts as damaged. The table is unchanged then.
    pub(crate) fn freeze_if_full(&self, mark: JournalMark) -> Result<(), StoreError> {
        let small = read(&self.state).active_bytes < self.tuning.table_bytes;
        if small || self.health.full().is_some() {
            return Ok(());
        }
        self.freeze(mark)
    }

    /// Freezes the table even if it is not full; `mark` is the end of the journal part that it covers.
    ///
    /// # Errors
    /// As [`Self::freeze_if_full`].
    pub(crate) fn freeze(&self, mark: JournalMark) -> Result<(), StoreError> {
        self.wait_until(|frozen| frozen < self.tuning.frozen_max)?;
        let mut state = write(&self.state);
        let rows = std::mem::take(&mut state.active);
        state.active_bytes = 0;
        state.frozen.insert(0, Arc::new(Frozen { rows, mark }));
        drop(state);
        drop(lock(&self.signals));
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until all frozen tables are on disk, or the disk is nearly full.
    ///
    /// # Errors
    /// As [`Self::freeze_if_full`].
    pub(crate) fn wait_flushed(&self) -> Result<(), StoreError> {
        self.wait_until(|frozen| frozen == 0)
    }

    fn wait_until(&self, good: impl Fn(usize) -> bool) -> Result<(), StoreError> {
        loop {
            if let Some(e) = self.health.poisoned() {
                return Err(e);
            }
            let signals = lock(&self.signals);
            // the flusher waits for disk space then, so nothing must wait for the flusher
            if good(read(&self.state).frozen.len()) || self.health.full().is_some() {
                return Ok(());
            }
            if signals.stop {
                return Err(StoreError::Closed);
            }
            // the merger may have given up, and then the flusher waits for ever
            if self.too_many_runs()
                && let Some(e) = self.health.index_damaged()
            {
                return Err(e);
            }
            drop(wait_for(&self.changed, signals, LOOK_AGAIN));
        }
    }
}
