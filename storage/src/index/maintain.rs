//! Keeps the index small and on disk: freezing, flushing and merging.
//!
//! **Order.** A flush: blocks, sync, manifest, sync, then the table leaves memory. A merge: the
//! same, then the runs that were merged leave the list, and their blocks are removed when the last
//! reader has let go of them. One manifest is written at a time.
//!
//! **Failure.** An error while writing poisons the store: nobody knows what sled has on disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::api::{SortOrder, StoreError};
use crate::index::block::Stored;
use crate::index::build::RunBuilder;
use crate::index::manifest::{Manifest, Mark, RUNS_MAX};
use crate::index::merge::{RunCursor, Source, merge};
use crate::index::run::{Run, RunInfo};
use crate::index::trouble::Trouble;
use crate::index::{Frozen, SortedRows};
use crate::num::u64_of;
use crate::rows::stream_prefix;
use crate::sync::{lock, read, wait_for, write};

/// The flusher waits for the merger when there are so many runs.
const RUNS_WAIT: usize = RUNS_MAX - 8;
/// How long a thread sleeps before it looks again, if nobody wakes it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

impl SortedRows {
    /// Freezes the table when it is full; `mark` is the end of what it holds. Waits while too many
    /// tables wait for the flusher. While the disk is nearly full nothing is frozen: no commits are
    /// taken then, and what is in memory is in the journal.
    ///
    /// # Errors
    /// `Poisoned` when a write has failed, `Closed` when the store stops while this waits. The table is as it
    /// was.
    pub(crate) fn freeze_if_full(&self, mark: Mark) -> Result<(), StoreError> {
        let small = read(&self.state).active_bytes < self.tuning.table_bytes;
        if small || self.health.full().is_some() {
            return Ok(());
        }
        self.freeze(mark)
    }

    /// Freezes the table as it is; `mark` is the end of what it holds.
    ///
    /// # Errors
    /// As [`Self::freeze_if_full`].
    pub(crate) fn freeze(&self, mark: Mark) -> Result<(), StoreError> {
        self.wait_until(|frozen| frozen < self.tuning.frozen_max)?;
        let mut state = write(&self.state);
        let table = std::mem::take(&mut state.active);
        state.active_bytes = 0;
        state.frozen.insert(0, Arc::new(Frozen { table, mark }));
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
            // the flusher waits for room, so nobody waits for the flusher
            if good(read(&self.state).frozen.len()) || self.health.full().is_some() {
                return Ok(());
            }
            if signals.stop {
                return Err(StoreError::Closed);
            }
            drop(wait_for(&self.changed, signals, LOOK_AGAIN));
        }
    }

    /// Makes the threads end at the next opportunity.
    pub(crate) fn stop(&self) {
        lock(&self.signals).stop = true;
        self.changed.notify_all();
    }

    /// Whether there is room to write, and what is there can be read.
    fn healthy(&self) -> bool {
        self.health.full().is_none() && self.health.reads_fail().is_none()
    }

    fn stopped(&self) -> bool {
        lock(&self.signals).stop || self.health.poisoned().is_some()
    }

    /// What the flusher thread does.
    pub(crate) fn flush_loop(&self) {
        while !self.stopped() {
            let oldest = read(&self.state).frozen.last().cloned();
            let Some(oldest) = oldest else {
                let signals = lock(&self.signals);
                if read(&self.state).frozen.is_empty() && !signals.stop {
                    drop(wait_for(&self.changed, signals, LOOK_AGAIN));
                }
                continue;
            };
            let full = self.health.full().is_some();
            if full || read(&self.state).runs.len() >= RUNS_WAIT {
                drop(wait_for(&self.changed, lock(&self.signals), LOOK_AGAIN));
                continue;
            }
            match self.flush(&oldest) {
                Ok(true) => {}
                Ok(false) => return,
                Err(why) => self.health.poison(&why.to_string()),
            }
            self.changed.notify_all();
        }
        self.changed.notify_all();
    }

    fn take_run_id(&self) -> u64 {
        let mut manifest = lock(&self.manifest);
        let id = manifest.next_run;
        manifest.next_run += 1;
        id
    }

    /// Writes a frozen table as a run; false when it was told to stop first.
    fn flush(&self, frozen: &Arc<Frozen>) -> Result<bool, Trouble> {
        let mut run = None;
        if !frozen.table.is_empty() {
            let streams = frozen
                .table
                .keys()
                .filter(|k| stream_prefix(k.as_slice()).is_some());
            let keys = u64_of(frozen.table.len() + streams.count());
            let mut builder = RunBuilder::new(&self.store, self.take_run_id(), 0, keys)?;
            for (n, (key, value)) in frozen.table.iter().enumerate() {
                if n % 4096 == 0 && self.stopped() {
                    return Ok(false);
                }
                builder.add(key.as_slice(), value.as_ref().map(|v| v.as_slice()))?;
            }
            run = Some(builder.finish()?);
            self.store.sync()?;
        }
        self.install(|runs, mark| {
            *mark = frozen.mark;
            runs.splice(0..0, run.iter().cloned());
        })?;
        Ok(true)
    }

    /// Changes the list of runs, on disk first.
    fn install(&self, change: impl FnOnce(&mut Vec<Arc<Run>>, &mut Mark)) -> Result<(), Trouble> {
        let mut manifest = lock(&self.manifest);
        let mut runs = read(&self.state).runs.as_ref().clone();
        let mut mark = manifest.mark;
        change(&mut runs, &mut mark);
        let next = Manifest {
            mark,
            runs: runs.iter().map(|r| r.info.clone()).collect(),
            ..manifest.clone()
        };
        if next.runs.len() > RUNS_MAX {
            return Err("the index has more runs than its manifest can name".into());
        }
        self.store.put_manifest(next.encode())?;
        self.store.sync()?;
        let mut state = write(&self.state);
        state.runs = Arc::new(runs);
        state.frozen.retain(|f| f.mark.commit > mark.commit);
        drop(state);
        *manifest = next;
        self.indexed.store(mark.commit, Ordering::Release);
        Ok(())
    }

    /// What the merger thread does.
    pub(crate) fn merge_loop(&self) {
        while !self.stopped() {
            // a merge needs room for its runs twice, and whole runs to read
            let inputs = self.healthy().then(|| self.to_merge()).flatten();
            let done = match &inputs {
                Some(inputs) => self.merge_runs(inputs),
                None => Ok(true),
            };
            let bury = |more| {
                if self.healthy() {
                    self.bury().map(|()| more)
                } else {
                    Ok(more)
                }
            };
            match done.and_then(bury) {
                Ok(true) => {}
                Ok(false) => return,
                // the runs that were to be merged are still there; it is tried again
                Err(Trouble::Read(why)) => drop(self.health.unreadable(&why, None)),
                Err(why) => self.health.poison(&why.to_string()),
            }
            if inputs.is_none() {
                let signals = lock(&self.signals);
                if !signals.stop {
                    drop(wait_for(&self.changed, signals, LOOK_AGAIN));
                }
            } else {
                self.changed.notify_all();
            }
        }
    }

    /// The oldest stretch of runs of one level that is long enough; the lowest level first.
    fn to_merge(&self) -> Option<Vec<Arc<Run>>> {
        let runs = Arc::clone(&read(&self.state).runs);
        let mut best: Option<&[Arc<Run>]> = None;
        for stretch in runs.chunk_by(|a, b| a.info.level == b.info.level) {
            if stretch.len() >= self.tuning.fan_in && best.is_none() {
                best = Some(stretch);
            }
        }
        // of a long stretch the oldest, so that the order of ages stays as it is
        best.and_then(|s| s.get(s.len() - self.tuning.fan_in..))
            .map(<[Arc<Run>]>::to_vec)
    }

    /// Makes one run of several neighbours; false when it was told to stop first.
    fn merge_runs(&self, inputs: &[Arc<Run>]) -> Result<bool, Trouble> {
        let ids: Vec<u64> = inputs.iter().map(|r| r.info.id).collect();
        let oldest = read(&self.state).runs.last().map(|r| r.info.id);
        let bottom = oldest.is_some() && oldest == ids.last().copied();
        let level = inputs
            .iter()
            .map(|r| r.info.level)
            .max()
            .unwrap_or(0)
            .saturating_add(1);
        let keys = inputs.iter().map(|r| r.info.keys).sum();
        let mut sources = Vec::with_capacity(inputs.len());
        for run in inputs {
            let cursor = RunCursor::new(&self.store, run, &[], None, SortOrder::Ascending);
            sources.push(Source::Run(Box::new(
                cursor.map_err(|e| self.unreadable(e))?,
            )));
        }
        let mut builder = RunBuilder::new(&self.store, self.take_run_id(), level, keys)?;
        let mut stopped = false;
        let mut rows = 0u64;
        merge(
            &mut sources,
            SortOrder::Ascending,
            &mut |key, value, run| {
                rows += 1;
                if rows.is_multiple_of(4096) && self.stopped() {
                    stopped = true;
                    return Ok(false);
                }
                match (value, run) {
                    (Stored::Gone, _) if bottom => {}
                    (Stored::Gone, _) => builder.add(key, None)?,
                    (Stored::Here(bytes), _) => builder.add(key, Some(bytes))?,
                    (far, Some(run)) => {
                        builder.add(key, run.value(&self.store, far)?.as_deref())?
                    }
                    (_, None) => return Err("a large value outside a run".into()),
                }
                Ok(true)
            },
        )
        .map_err(|e| self.unreadable(e))?;
        if stopped {
            return Ok(false);
        }
        let run = builder.finish()?;
        self.store.sync()?;
        self.install(|runs, _| {
            if let Some(at) = runs.iter().position(|r| Some(&r.info.id) == ids.first()) {
                runs.splice(at..at + ids.len(), [run]);
            }
        })?;
        lock(&self.signals).graves.extend(inputs.iter().cloned());
        Ok(true)
    }

    /// A merge that meets damage marks the index, so that the next open rebuilds it.
    fn unreadable(&self, why: Trouble) -> Trouble {
        match why {
            Trouble::Damaged(why) => Trouble::Damaged(self.health.damage(&why).to_string()),
            Trouble::Read(_) | Trouble::Write(_) => why,
        }
    }

    /// Removes the blocks of runs that nobody reads any more.
    fn bury(&self) -> Result<(), Trouble> {
        let free: Vec<Arc<Run>> = {
            let mut signals = lock(&self.signals);
            // the caller's own list of inputs counts too, so they go one round later
            let (free, held) = signals
                .graves
                .drain(..)
                .partition(|run| Arc::strong_count(run) == 1);
            signals.graves = held;
            free
        };
        for run in free {
            let RunInfo { id, blocks, .. } = run.info;
            self.store.remove(id, blocks)?;
        }
        Ok(())
    }
}
