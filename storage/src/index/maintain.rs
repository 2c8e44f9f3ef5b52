//! Keeps the index small and on disk by freezing tables, flushing and merging.
//!
//! **Shape.** A flush makes a run of level 0; [`StoreOptions::merge_fan_in`](crate::StoreOptions) neighbours of one
//! level are merged into one run of the next, the lowest level first. A long merge lets merges of lower levels go
//! first, so that small runs do not pile up behind it.
//!
//! **Bounds.** At most [`StoreOptions::frozen_max`](crate::StoreOptions) tables that accept no more rows: freezing another
//! one waits. At most [`RUNS_REST`](crate::index::compaction_picker::RUNS_REST) runs once nothing is written, whatever their
//! age and the fan-in: while there are more, fewer neighbours than the fan-in are merged, too. Never more than
//! [`RUNS_WAIT`]: at that number the flusher waits for the merger, and commits wait for the flusher. At most as many
//! merges are under way at once as there are levels.
//!
//! Every [`LOOK_EVERY`] rows, flusher and merger let the threads that serve have the processor, unless they are behind:
//! commits would soon wait for them, and reads look into every run.
//!
//! **Order.** A flush: blocks, sync, manifest, sync, then the table leaves memory. A merge: the same, then the merged
//! runs leave the list, and their blocks are removed when the last reader has released them, as are those of a merge
//! that a failed read has ended. One manifest is written at a time.
//!
//! **Failure.** An error while writing poisons the store: what is on disk is unknown. A merge that the disk refuses
//! to read is tried again after [`REFUSED_REST`]. If commits wait for it after [`REFUSED_MAX`] tries, the index counts as
//! damaged, so that it is rebuilt from the journal and nothing waits for that merge any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::api::{SortOrder, StoreError};
use crate::background::yield_to_requests;
use crate::index::SortedRows;
use crate::index::block::Stored;
use crate::index::build::RunBuilder;
use crate::index::compaction_picker::pick_merge;
use crate::index::error::IndexError;
use crate::index::manifest::{JournalMark, Manifest, RUNS_MAX};
use crate::index::merge::{MergeSource, RunCursor, ScanWay, merge};
use crate::index::run::{Run, RunInfo};
use crate::index::table::{Frozen, slice};
use crate::num::u64_of;
use crate::sync::{lock, read, wait_for, write};

/// At this many runs the flusher waits for the merger.
pub(crate) const RUNS_WAIT: usize = RUNS_MAX - 8;
/// After this many rows, a fraction of a millisecond, flusher and merger check whether they must stop or let others go
/// first.
const LOOK_EVERY: u64 = 256;
/// After so many reads that the disk refused, each of another try to merge the same runs, the index counts as damaged as
/// soon as commits wait for that merge: they would wait for ever.
const REFUSED_MAX: u32 = 5;
/// How long the merger rests after the disk has refused it a read.
const REFUSED_REST: Duration = Duration::from_secs(2);
/// How long a thread sleeps before it looks again, unless it is woken.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// With this many tables, the one that is being written included, or with as many as may wait, the flusher is behind.
const TABLES_BEHIND: usize = 2;
/// With this many runs of level 0 more than are merged at once, the merger is behind.
const RUNS_BEHIND: usize = 2;

impl SortedRows {
    /// Makes the threads end at the next opportunity.
    pub(crate) fn stop(&self) {
        lock(&self.signals).stop = true;
        self.changed.notify_all();
    }

    /// Whether the disk has room for writes and can be read.
    fn healthy(&self) -> bool {
        self.health.full().is_none() && self.health.reads_fail().is_none()
    }

    /// Whether the flusher waits for the merger.
    fn too_many_runs(&self) -> bool {
        self.runs() >= RUNS_WAIT
    }

    /// Whether a merge may begin: also while other reads fail if the flusher waits for it, because commits then wait
    /// for both.
    fn may_merge(&self) -> bool {
        self.healthy() || self.too_many_runs() && self.health.full().is_none()
    }

    fn stopped(&self) -> bool {
        lock(&self.signals).stop || self.health.poisoned().is_some()
    }

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

    /// The loop of the flusher's thread.
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
            if full || self.too_many_runs() {
                drop(wait_for(&self.changed, lock(&self.signals), LOOK_AGAIN));
                continue;
            }
            match self.flush(&oldest) {
                Ok(true) => {}
                Ok(false) => return,
                Err(why) => self.health.poison(&why.to_string()),
            }
            self.changed.notify_all();
            self.free(oldest);
        }
        self.changed.notify_all();
    }

    fn take_run_id(&self) -> u64 {
        let mut manifest = lock(&self.manifest);
        let id = manifest.next_run;
        manifest.next_run += 1;
        id
    }

    /// Writes a frozen table as a run; false when it was told to stop before the end.
    fn flush(&self, frozen: &Arc<Frozen>) -> Result<bool, IndexError> {
        let mut run = None;
        if !frozen.rows.is_empty() {
            let scopes = self.tuning.scopes;
            let mut last = None;
            let scope_prefixes = frozen.rows.keys().enumerate().filter_map(|(n, key)| {
                self.flusher_yield(n);
                scopes.scope_prefix(key.as_slice())
            });
            let scope_prefixes = scope_prefixes
                .filter(|it| last.replace(*it) != Some(*it))
                .count();
            let keys = u64_of(frozen.rows.len() + scope_prefixes);
            let mut builder =
                RunBuilder::new(&self.store, self.take_run_id(), 0, keys, &self.tuning)?;
            for (n, (key, value)) in frozen.rows.iter().enumerate() {
                if u64_of(n).is_multiple_of(LOOK_EVERY) && self.stopped() {
                    return Ok(false);
                }
                self.flusher_yield(n);
                builder.add(key.as_slice(), slice(value))?;
            }
            let written = builder.finish()?;
            self.store.sync_run(written.info.id)?;
            run = Some(written);
        }
        self.install(Some(frozen), |runs, mark| {
            *mark = frozen.mark;
            runs.splice(0..0, run.iter().cloned());
        })?;
        Ok(true)
    }

    /// Changes the list of runs, on disk first. `written` is the table whose rows the runs now contain: its mark does
    /// not identify it, since another table has the same mark when only notes came between them.
    fn install(
        &self,
        written: Option<&Arc<Frozen>>,
        change: impl FnOnce(&mut Vec<Arc<Run>>, &mut JournalMark),
    ) -> Result<(), IndexError> {
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
        let is = |table: &Arc<Frozen>| written.is_some_and(|written| Arc::ptr_eq(written, table));
        state.frozen.retain(|table| !is(table));
        drop(state);
        *manifest = next;
        self.indexed.store(mark.commit, Ordering::Release);
        Ok(())
    }

    /// The loop of the merger's thread.
    pub(crate) fn merge_loop(&self) {
        let mut refused: Option<Instant> = None;
        while !self.stopped() {
            let rests = refused.is_some_and(|at| at.elapsed() < REFUSED_REST);
            // a merge needs disk space for its runs twice, and must be able to read whole runs
            let merged = if !rests && self.may_merge() {
                self.merge_next()
            } else {
                Ok(false)
            };
            match merged {
                Ok(true) => {}
                Ok(false) => {
                    let signals = lock(&self.signals);
                    if !signals.stop {
                        drop(wait_for(&self.changed, signals, LOOK_AGAIN));
                    }
                    continue;
                }
                // the input runs are still there; the merge is tried again
                Err(IndexError::Read(why)) => {
                    refused = Some(Instant::now());
                    drop(self.health.unreadable(&why, None));
                }
                Err(why) => self.health.poison(&why.to_string()),
            }
            self.changed.notify_all();
        }
    }

    /// Removes runs that are no longer needed, and does the next merge; false when there is none, or it was told to
    /// stop.
    fn merge_next(&self) -> Result<bool, IndexError> {
        self.remove_obsolete()?;
        let inputs = self.to_merge(None);
        inputs.map_or(Ok(false), |inputs| self.merge_runs(&inputs))
    }

    /// The runs to merge next; only of levels below the given one, if any. A damaged index, which is rebuilt, merges no
    /// runs that the disk has refused to read too often.
    fn to_merge(&self, below: Option<u8>) -> Option<Vec<Arc<Run>>> {
        let runs = Arc::clone(&read(&self.state).runs);
        let levels: Vec<u8> = runs.iter().map(|run| run.info.level).collect();
        let next = runs.get(pick_merge(&levels, self.tuning.fan_in, below)?)?;
        let refused = lock(&self.signals).refused.get(&oldest(next)).copied();
        let given_up = refused >= Some(REFUSED_MAX) && self.health.index_damaged().is_some();
        (!given_up).then(|| next.to_vec())
    }

    /// Does the merges that wait at lower levels; false when it was told to stop before the end.
    fn let_pass(&self, level: u8) -> Result<bool, IndexError> {
        while self.healthy()
            && let Some(inputs) = self.to_merge(Some(level))
        {
            if !self.merge_runs(&inputs)? {
                return Ok(false);
            }
            drop(inputs);
            self.remove_obsolete()?;
            self.changed.notify_all();
        }
        Ok(true)
    }

    /// Merges several neighbours into one run; false when it was told to stop before the end.
    fn merge_runs(&self, inputs: &[Arc<Run>]) -> Result<bool, IndexError> {
        let ids: Vec<u64> = inputs.iter().map(|r| r.info.id).collect();
        let bottom = oldest(&read(&self.state).runs) == oldest(inputs);
        let level = inputs.iter().map(|r| r.info.level).max().unwrap_or(0);
        let keys = inputs.iter().map(|r| r.info.keys).sum();
        let mut sources = Vec::with_capacity(inputs.len());
        for run in inputs {
            let cursor = RunCursor::new(&self.store, run, (&[], None), ScanWay::PASSING);
            sources.push(MergeSource::Run(Box::new(
                cursor.map_err(|e| self.unreadable(inputs, e))?,
            )));
        }
        let (id, above) = (self.take_run_id(), level.saturating_add(1));
        let mut builder = RunBuilder::new(&self.store, id, above, keys, &self.tuning)?;
        let (mut stopped, mut below) = (false, None);
        let mut rows = 0u64;
        let merged = merge(
            &mut sources,
            SortOrder::Ascending,
            &mut |key, value, found| {
                rows += 1;
                if rows.is_multiple_of(LOOK_EVERY) {
                    self.merger_yield();
                    if self.stopped() {
                        stopped = true
                    } else {
                        match self.let_pass(level) {
                            Ok(passed) => stopped = !passed,
                            Err(e) => below = Some(e),
                        }
                    }
                    if stopped || below.is_some() {
                        return Ok(false);
                    }
                }
                match (value, found) {
                    (Stored::Gone, _) if bottom => {}
                    (Stored::Gone, _) => builder.add(key, None)?,
                    (Stored::Here(bytes), _) => builder.add(key, Some(bytes))?,
                    (far, Some(found)) => {
                        builder.add(key, found.run.value(&self.store, far)?.as_deref())?
                    }
                    (_, None) => return Err("a large value outside a run".into()),
                }
                Ok(true)
            },
        );
        if stopped || below.is_some() || merged.is_err() {
            // the blocks are not removed now: nothing is written while reads fail
            lock(&self.signals).obsolete_runs.push(builder.unfinished());
            merged.map_err(|e| self.unreadable(inputs, e))?;
            // what failed below was other runs' merge, and is counted there
            return below.map_or(Ok(false), Err);
        }
        let run = builder.finish()?;
        self.store.sync_run(id)?;
        self.install(None, |runs, _| {
            if let Some(at) = runs.iter().position(|r| Some(&r.info.id) == ids.first()) {
                runs.splice(at..at + ids.len(), [run]);
            }
        })?;
        let mut signals = lock(&self.signals);
        signals.refused.remove(&oldest(inputs));
        signals.obsolete_runs.extend(inputs.iter().cloned());
        Ok(true)
    }

    /// Marks the index when a merge of these runs meets damage, or has been refused too often, so that the next open
    /// rebuilds it.
    fn unreadable(&self, inputs: &[Arc<Run>], why: IndexError) -> IndexError {
        match why {
            IndexError::Damaged(why) => IndexError::Damaged(self.health.damage(&why).to_string()),
            IndexError::Read(_) if why.no_means() => why,
            IndexError::Read(why) => {
                let mut signals = lock(&self.signals);
                let times = signals.refused.entry(oldest(inputs)).or_default();
                *times += 1;
                let often = *times >= REFUSED_MAX;
                drop(signals);
                if often && self.too_many_runs() {
                    let why = format!("the disk refuses to read it, {REFUSED_MAX} times: {why}");
                    self.health.damage(&why);
                }
                IndexError::Read(why)
            }
            IndexError::Write(_) => why,
        }
    }

    /// Removes the blocks of runs that no reader holds any more.
    fn remove_obsolete(&self) -> Result<(), IndexError> {
        let free: Vec<Arc<Run>> = {
            let mut signals = lock(&self.signals);
            // the caller's own list of inputs counts too, so they go one round later
            let (free, held) = signals
                .obsolete_runs
                .drain(..)
                .partition(|run| Arc::strong_count(run) == 1);
            signals.obsolete_runs = held;
            free
        };
        for run in free {
            let RunInfo { id, blocks, .. } = run.info;
            self.store.remove(id, blocks)?;
        }
        Ok(())
    }

    /// Lets others have the processor when the flusher is at this row.
    fn flusher_yield(&self, row: usize) {
        let look = u64_of(row).is_multiple_of(LOOK_EVERY);
        let behind = TABLES_BEHIND.min(self.tuning.frozen_max);
        if look && read(&self.state).frozen.len() < behind {
            yield_to_requests();
        }
    }

    /// Lets others have the processor; the merger calls this every [`LOOK_EVERY`] rows.
    fn merger_yield(&self) {
        let runs = Arc::clone(&read(&self.state).runs);
        let flushed = runs.iter().take_while(|run| run.info.level == 0).count();
        if flushed < self.tuning.fan_in + RUNS_BEHIND {
            yield_to_requests();
        }
    }

    /// Frees the memory of a table that was written, which takes milliseconds, unless somebody still reads it.
    fn free(&self, written: Arc<Frozen>) {
        let Some(Frozen { rows: table, .. }) = Arc::into_inner(written) else {
            return;
        };
        for (n, row) in table.into_iter().enumerate() {
            drop(row);
            self.flusher_yield(n);
        }
    }
}

/// The number of the oldest of these runs, 0 when there are none. Runs are numbered from 1.
fn oldest(runs: &[Arc<Run>]) -> u64 {
    runs.last().map_or(0, |run| run.info.id)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::api::Position;
    use crate::context::StoreContext;
    use crate::files::{Faults, Files};
    use crate::folder::Folder;
    use crate::index::Tuning;
    use crate::index::blocks::parse_key;
    use crate::index::bytes::Bytes;
    use crate::index::open::Wanted;
    use crate::index::scope::Scopes;

    fn mark(commit: u64) -> JournalMark {
        JournalMark {
            commit,
            chain: [0; 32],
            end: Position(0),
        }
    }

    /// An empty index without threads, all of whose runs are in sled.
    fn index(dir: &Path, faults: &Arc<Faults>) -> SortedRows {
        let context = StoreContext {
            path: dir.to_owned(),
            folder: Arc::new(Folder::open(dir).unwrap()),
            journal: Folder::open(dir).unwrap(),
            files: Files::with(Some(Arc::clone(faults))),
            id: [1; 16],
            health: Arc::default(),
        };
        let wanted = Wanted {
            context: Arc::new(context),
            projection: 1,
            tuning: Tuning {
                table_bytes: 64 << 10,
                frozen_max: 3,
                fan_in: 2,
                sled_cache: 4 << 20,
                block_cache: 0,
                file_keys: u64::MAX,
                scopes: Scopes::NONE,
                single: Scopes::NONE,
            },
            known: None,
            nothing: mark(0),
        };
        SortedRows::open(&wanted, true).unwrap()
    }

    /// A run with every other one of eight keys, with values of 128 blocks.
    fn add_run(index: &SortedRows, commit: u8) {
        let keys = (commit..8 + commit).step_by(2);
        index.apply(keys.map(|key| (Bytes::new(&[key]), Some(Bytes::new(&vec![key; 512 << 10])))));
        index.freeze(mark(commit.into())).unwrap();
        let frozen = read(&index.state).frozen.last().cloned();
        assert!(index.flush(&frozen.unwrap()).unwrap());
    }

    /// The runs that the index names, and the runs that have blocks.
    fn runs(index: &SortedRows) -> [BTreeSet<u64>; 2] {
        let named = read(&index.state).runs.iter().map(|r| r.info.id).collect();
        let (mut there, mut at) = (BTreeSet::new(), Vec::new());
        while let Some((key, _)) = index.store.after(&at).unwrap() {
            there.extend(parse_key(&key).map(|(run, _)| run));
            at = key.to_vec();
        }
        [named, there]
    }

    #[test]
    fn an_aborted_merge_leaves_no_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let faults = Arc::new(Faults::default());
        let index = index(dir.path(), &faults);
        add_run(&index, 1);
        add_run(&index, 2);
        for _ in 0..3 {
            // after six of the values, so that a part of the run is written
            faults.refuse_reads(Some(800));
            let merged = index.merge_next();
            assert!(matches!(merged, Err(IndexError::Read(_))), "{merged:?}");
            faults.refuse_reads(None);
            let [named, there] = runs(&index);
            // the blocks of earlier tries are gone
            assert_eq!((named.len(), there.difference(&named).count()), (2, 1));
        }
        assert!(index.merge_next().unwrap());
        assert!(!index.merge_next().unwrap());
        let [named, there] = runs(&index);
        assert_eq!((named.len(), there), (1, named));
        for key in 1..9 {
            let value = index.get(&[key]).unwrap();
            assert!(value == Some(vec![key; 512 << 10]), "{key}");
        }
    }

    #[test]
    fn a_merge_that_the_disk_refuses_is_given_up_once_commits_wait_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let faults = Arc::new(Faults::default());
        let index = index(dir.path(), &faults);
        (1..3).for_each(|commit| add_run(&index, commit));
        let refused = || assert!(matches!(index.merge_next(), Err(IndexError::Read(_))));
        faults.refuse_reads(Some(0));
        for _ in 0..2 * REFUSED_MAX {
            refused();
            assert!(index.health.index_damaged().is_none(), "nobody waits yet");
        }
        faults.refuse_reads(None);
        while !index.too_many_runs() {
            index.apply(std::iter::once((Bytes::new(&[9]), Some(Bytes::new(&[9])))));
            index.freeze(mark(3)).unwrap();
            let frozen = read(&index.state).frozen.last().cloned();
            assert!(index.flush(&frozen.unwrap()).unwrap());
        }
        faults.refuse_reads(Some(0));
        refused();
        assert!(index.health.index_damaged().is_some());
        assert_eq!(index.merge_next(), Ok(false));
    }
}
