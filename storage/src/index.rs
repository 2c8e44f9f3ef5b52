//! The index: rows in memory, then in sorted runs kept in sled or, large ones, in files next to it, behind the journal.
//!
//! **Shape.** A small log-structured merge tree. Rows of durable commits go to a table in memory;
//! when it is full it is frozen, and the flusher writes it to disk as an immutable sorted run with
//! a Bloom filter; the merger joins runs of one level into one of the next. sled only ever sees
//! blocks of up to 4 KB in the order of their keys, because one sled put costs 12 to 20 µs; a run
//! of many keys is a file of such blocks (see `blocks::run_files`).
//!
//! **Bounds.** [`StoreOptions`](crate::StoreOptions) names the size of a table, how many may wait, and the fan-in of a
//! merge. Reads take one lock for a moment and look at the tables, then at the runs from new to old, skipping runs that
//! cannot have the key or the common prefix of a scan's keys (`scope`). `maintain` bounds the number of runs.
//!
//! **Order.** A table is frozen between groups of commits only, so the manifest's mark is always
//! the end of a record.
//!
//! **Failure.** A missing or broken block is never used for an answer: the read fails, the store is
//! marked, and the next open rebuilds the index from the journal. A read that the operating system
//! refuses proves nothing about the data: it fails, and the store is not ready until reads succeed.

pub(crate) mod block;
pub(crate) mod blocks;
pub(crate) mod bloom;
pub(crate) mod build;
pub(crate) mod bytes;
pub(crate) mod cache;
pub(crate) mod compaction_picker;
pub(crate) mod compression;
pub(crate) mod error;
pub(crate) mod maintain;
pub(crate) mod manifest;
pub(crate) mod merge;
pub(crate) mod open;
pub(crate) mod proof;
pub(crate) mod run;
pub(crate) mod scope;
pub(crate) mod scrub;
pub(crate) mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, RwLock};

use crate::api::{Head, Pair, Projection, SortOrder, Stats, StoreError, StreamId};
use crate::health::Health;
use crate::index::block::Stored;
use crate::index::blocks::BlockStore;
use crate::index::bloom::hash;
use crate::index::bytes::Bytes;
use crate::index::error::IndexError;
use crate::index::manifest::{JournalMark, Manifest};
use crate::index::merge::{MergeSource, RunCursor, ScanWay, merge};
use crate::index::run::Run;
use crate::index::scope::{Scopes, common};
use crate::index::scrub::BlocksRead;
use crate::index::table::{Frozen, Table, copy_rows, get_each_in_table, range, row_bytes, slice};
use crate::num::u64_of;
use crate::rows::{STREAM_PREFIX, parse_head, stream_key};
use crate::sync::{lock, read, write};

/// How many of the keys that are looked up together make a run's block worth reading; a filter is asked about fewer.
const WALK_KEYS: usize = 32;
/// The most rows copied from the table that is being written in one step of a scan.
const COPY_MAX: usize = 1024;

#[derive(Debug, Default)]
struct IndexState {
    active: Table,
    active_bytes: usize,
    /// Tables that wait to become runs, newest first.
    frozen: Vec<Arc<Frozen>>,
    /// The runs on disk, newest first.
    runs: Arc<Vec<Arc<Run>>>,
}

/// How the index grows; see [`StoreOptions`](crate::StoreOptions) for what each value means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuning {
    /// Bytes of rows in memory before a table is frozen.
    pub(crate) table_bytes: usize,
    /// How many frozen tables may wait for the flusher.
    pub(crate) frozen_max: usize,
    /// How many runs of one level are merged into one of the next.
    pub(crate) fan_in: usize,
    /// Bytes of sled's own caches.
    pub(crate) sled_cache: u64,
    /// Bytes of the cache of blocks.
    pub(crate) block_cache: u64,
    /// A run with at least this many keys has a file of its own.
    pub(crate) file_keys: u64,
    /// The kinds of rows whose prefixes go into the filters of new runs.
    pub(crate) scopes: Scopes,
    /// The kinds of rows that are stored in small blocks.
    pub(crate) single: Scopes,
}

/// Signals between the committer, the flusher and the merger.
#[derive(Debug, Default)]
struct Signals {
    stop: bool,
    /// Runs that were merged away or could not be finished; they are removed when no reader holds them.
    obsolete_runs: Vec<Arc<Run>>,
    /// How often in a row the disk has refused to read runs that were to be merged, by the oldest of them.
    refused: BTreeMap<u64, u32>,
}

/// The index of a store: tables in memory, runs on disk, and the threads' signals.
#[derive(Debug)]
pub(crate) struct SortedRows {
    state: RwLock<IndexState>,
    store: BlockStore,
    manifest: Mutex<Manifest>,
    signals: Mutex<Signals>,
    changed: Condvar,
    tuning: Tuning,
    health: Arc<Health>,
    /// The last commit that the runs hold.
    pub(crate) indexed: AtomicU64,
    /// The number of runs opened for walking; `gets` is the number of keys looked up.
    opened: AtomicU64,
    gets: AtomicU64,
    /// The blocks that were read to open the index.
    pub(crate) loaded: BlocksRead,
}

/// Receives a row of a scan; returns whether to go on.
type ScanVisitor<'a> = &'a mut dyn FnMut(&[u8], Cow<'_, [u8]>) -> bool;

/// What is known of a key: the outer `None` means nothing so far, the inner one that the key was removed.
type FoundValue = Option<Option<Vec<u8>>>;

/// A consistent view for one read of what is not in the table that is being written.
struct View {
    frozen: Vec<Arc<Frozen>>,
    runs: Arc<Vec<Arc<Run>>>,
}

impl IndexState {
    fn view(&self) -> View {
        View {
            frozen: self.frozen.clone(),
            runs: Arc::clone(&self.runs),
        }
    }
}

impl SortedRows {
    fn broken(&self, why: &IndexError) -> StoreError {
        match why {
            IndexError::Read(why) => self.health.unreadable(why, None),
            IndexError::Write(why) | IndexError::Damaged(why) => self.health.damage(why),
        }
    }

    /// The value under `key`; `None` when there is none.
    ///
    /// # Errors
    /// When a block is broken, or the system refuses to read it.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        let view = {
            let state = read(&self.state);
            if let Some(found) = state.active.get(key) {
                return Ok(found.as_ref().map(|v| v.as_slice().to_vec()));
            }
            state.view()
        };
        for frozen in &view.frozen {
            if let Some(found) = frozen.rows.get(key) {
                return Ok(slice(found).map(<[u8]>::to_vec));
            }
        }
        if view.runs.is_empty() {
            return Ok(None);
        }
        let hash = hash(key);
        for run in view.runs.iter() {
            if let Some(found) = run
                .get(&self.store, key, hash)
                .map_err(|e| self.broken(&e))?
            {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The values under many ascending keys, which costs less than as many calls of [`Self::get`] if they are neighbours.
    pub(crate) fn get_each(
        &self,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.gets.fetch_add(u64_of(keys.len()), Ordering::Relaxed);
        let keys: Vec<_> = keys.iter().map(AsRef::as_ref).collect();
        debug_assert!(keys.is_sorted(), "keys are looked up in ascending order");
        let mut found = vec![None; keys.len()];
        let view = {
            let state = read(&self.state);
            get_each_in_table(&state.active, &keys, &mut found);
            state.view()
        };
        for frozen in &view.frozen {
            get_each_in_table(&frozen.rows, &keys, &mut found);
        }
        for run in view.runs.iter() {
            let looked = self.get_each_in(run, &keys, &mut found);
            looked.map_err(|e| self.broken(&e))?;
        }
        Ok(found.into_iter().map(Option::flatten).collect())
    }

    /// Looks for ascending keys that newer rows do not have in a run. If the run has few blocks from the first to the last
    /// of them, these are read one after the other; else its filter is asked about each key.
    fn get_each_in(
        &self,
        run: &Arc<Run>,
        keys: &[&[u8]],
        found: &mut [FoundValue],
    ) -> Result<(), IndexError> {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
            return Ok(());
        };
        let keys = keys.iter().zip(found);
        let few = keys.len() < WALK_KEYS;
        if few || run.fences.between(first, last) * WALK_KEYS > keys.len() {
            for (key, found) in keys.filter(|(_, found)| found.is_none()) {
                *found = run.get(&self.store, key, hash(key))?;
            }
            return Ok(());
        }
        self.opened.fetch_add(1, Ordering::Relaxed);
        let to = [last, [0].as_slice()].concat();
        let mut cursor = RunCursor::new(&self.store, run, (first, Some(&to)), ScanWay::PASSING)?;
        for (key, found) in keys {
            while cursor.key().is_some_and(|at| at < *key) {
                cursor.advance()?;
            }
            let here = cursor.value().filter(|_| cursor.key() == Some(key));
            if let Some(stored) = here.filter(|_| found.is_none()) {
                *found = Some(run.value(&self.store, stored)?);
            }
        }
        Ok(())
    }

    /// The last row of a stream that is expected at `seq`. Two rows are looked up, one of which usually does not exist;
    /// the other one is the row at rest, if there is one, because it has just been read. If the expectation is wrong it
    /// costs as much as [`Self::head`].
    ///
    /// # Errors
    /// As [`Self::get`]; `Corrupt` when the row at rest claims more than the stream has.
    pub(crate) fn head_near(
        &self,
        stream: StreamId,
        seq: u64,
        rows: &dyn Projection,
    ) -> Result<Option<Head>, StoreError> {
        if let Some(next) = seq.checked_add(1).filter(|_| seq > 0)
            && self.get(&stream_key(stream, next))?.is_none()
        {
            if let Some(key) = rows.rest_key(stream)
                && let Some(value) = self.get(&key)?
                && let Some((of, head)) = rows.rests(&key, &value)
                && (of, head.seq) == (stream, seq)
            {
                return self.borne_out(stream, head).map(Some);
            }
            let key = stream_key(stream, seq);
            if let Some(value) = self.get(&key)? {
                return Ok(parse_head(&key, &value));
            }
        }
        self.head(stream)
    }

    /// The last row of a stream. Sequences only grow, so the newest source that knows the stream has the last row.
    pub(crate) fn head(&self, stream: StreamId) -> Result<Option<Head>, StoreError> {
        let (from, to) = (stream_key(stream, 0), stream_key(stream, u64::MAX));
        let in_table = |table: &Table| {
            let (key, value) = range(table, &from, &to)?.next_back()?;
            parse_head(key.as_slice(), value.as_ref()?.as_slice())
        };
        let name = from.get(..STREAM_PREFIX).unwrap_or_default();
        let view = {
            let state = read(&self.state);
            if let Some(head) = in_table(&state.active) {
                return Ok(Some(head));
            }
            state.view()
        };
        if let Some(head) = view.frozen.iter().find_map(|it| in_table(&it.rows)) {
            return Ok(Some(head));
        }
        let prefix = hash(name);
        let way = ScanWay {
            order: SortOrder::Descending,
            ..ScanWay::default()
        };
        for run in view.runs.iter().filter(|r| r.bloom.may_have(prefix)) {
            self.opened.fetch_add(1, Ordering::Relaxed);
            let cursor = RunCursor::new(&self.store, run, (&from, Some(&to)), way);
            let cursor = cursor.map_err(|e| self.broken(&e))?;
            if let (Some(key), Some(Stored::Here(value))) = (cursor.key(), cursor.value())
                && let Some(head) = parse_head(key, value)
            {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Rows with `from <= key < to`, at most `limit`.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        to: &[u8],
        order: SortOrder,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let way = ScanWay {
            order,
            ..ScanWay::default()
        };
        self.gather(from, to, way, limit)
    }

    /// Visits the rows with `from <= key < to`, smallest key first, until `visit` returns `false`. Blocks that it reads
    /// are not cached.
    pub(crate) fn visit(
        &self,
        from: &[u8],
        to: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.scan_steps(from, to, ScanWay::PASSING, COPY_MAX, &mut |key, value| {
            visit(key, &value)
        })
    }

    /// Rows with `from <= key < to`, at most `limit`.
    fn gather(
        &self,
        from: &[u8],
        to: &[u8],
        way: ScanWay,
        limit: usize,
    ) -> Result<Vec<Pair>, StoreError> {
        let mut rows = Vec::new();
        if limit > 0 {
            self.scan_steps(
                from,
                to,
                way,
                limit.clamp(16, COPY_MAX),
                &mut |key, value| {
                    rows.push((key.to_vec(), value.into_owned()));
                    rows.len() < limit
                },
            )?;
        }
        Ok(rows)
    }

    /// Visits rows step by step, and copies up to `copy` rows of the active table for each step.
    fn scan_steps(
        &self,
        from: &[u8],
        to: &[u8],
        way: ScanWay,
        copy: usize,
        visit: ScanVisitor<'_>,
    ) -> Result<(), StoreError> {
        let (mut from, mut to) = (from.to_vec(), to.to_vec());
        while from < to {
            let Some(bound) = self.scan_step(&from, &to, way, copy, visit)? else {
                break;
            };
            match way.order {
                SortOrder::Ascending => {
                    from = bound;
                    from.push(0);
                }
                SortOrder::Descending => to = bound,
            }
        }
        Ok(())
    }

    /// One step of a scan: it reaches as far as the copied part of the active table. Returns the last key reached when
    /// there may be more rows that are wanted.
    fn scan_step(
        &self,
        from: &[u8],
        to: &[u8],
        way: ScanWay,
        copy: usize,
        visit: ScanVisitor<'_>,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let order = way.order;
        let (copied, view) = {
            let state = read(&self.state);
            let copied = copy_rows(&state.active, from, to, order, copy);
            (copied, state.view())
        };
        let bound = (copied.len() == copy)
            .then(|| copied.last().map(|r| r.0.clone()))
            .flatten();
        let mut sources = vec![MergeSource::copied(&copied)];
        for frozen in &view.frozen {
            if let Some(rows) = range(&frozen.rows, from, to) {
                sources.push(MergeSource::frozen(rows, order));
            }
        }
        let under = common(from, to).map(|part| (part, hash(part)));
        for run in view.runs.iter() {
            if way.proves || under.is_none_or(|(part, hash)| run.may_have_under(part, hash)) {
                self.opened.fetch_add(1, Ordering::Relaxed);
                let cursor = RunCursor::new(&self.store, run, (from, Some(to)), way);
                let cursor = cursor.map_err(|e| self.broken(&e))?;
                sources.push(MergeSource::Run(Box::new(cursor)));
            }
        }
        let (mut past, mut enough, mut last) = (false, false, None);
        let walked = merge(&mut sources, order, &mut |key, value, found| {
            past = bound.as_ref().is_some_and(|b| match order {
                SortOrder::Ascending => key > b.as_slice(),
                SortOrder::Descending => key < b.as_slice(),
            });
            if past {
                return Ok(false);
            }
            let mut value = match (value, found) {
                (Stored::Gone, _) => None,
                (Stored::Here(bytes), _) => Some(Cow::Borrowed(bytes)),
                (far, Some(found)) => found.run.value(&self.store, far)?.map(Cow::Owned),
                (_, None) => return Err("a large value outside a run".into()),
            };
            if let Some(found) = found.filter(|_| way.proves) {
                let walked = value.map(Cow::into_owned);
                let proven = self.proven(found, &view.runs, last.as_deref(), key, walked)?;
                last = Some(key.to_vec());
                value = proven.map(Cow::Owned);
            }
            enough = value.is_some_and(|value| !visit(key, value));
            Ok(!enough)
        });
        walked.map_err(|e| self.broken(&e))?;
        let bound = bound.filter(|_| !enough);
        Ok(bound.map(|b| b.as_slice().to_vec()))
    }

    /// Adds the rows of one group; readers see all of them or none.
    pub(crate) fn apply(&self, rows: impl Iterator<Item = (Bytes, Option<Bytes>)>) {
        let mut state = write(&self.state);
        let state = &mut *state;
        for (key, value) in rows {
            // a replaced row is counted twice: the table freezes a little early, which does no harm
            state.active_bytes += row_bytes(&key, value.as_ref());
            state.active.insert(key, value);
        }
    }

    /// Adds the counts of blocks read, blocks cached and runs opened to the figures.
    pub(crate) fn figures(&self, stats: Stats) -> Stats {
        let count = |n: &AtomicU64| n.load(Ordering::Relaxed);
        let (index_blocks_read, index_blocks_cached) = self.store.cache.counts();
        let (block_cache_bytes_max, block_cache_bytes) = self.store.cache.bytes();
        let (index_table_bytes, index_filter_bytes) = self.memory();
        Stats {
            index_disk_bytes: self.disk_bytes(),
            index_runs: u64_of(self.runs()),
            index_blocks_read,
            index_blocks_cached,
            index_blocks_vain: count(&self.store.vain),
            index_runs_opened: count(&self.opened),
            index_gets: count(&self.gets),
            block_cache_bytes_max,
            block_cache_bytes,
            index_table_bytes,
            index_filter_bytes,
            ..stats
        }
    }

    /// Bytes in memory: of rows that are in no run yet, and of the fences and filters of each run.
    fn memory(&self) -> (u64, u64) {
        let (tables, runs) = {
            let state = read(&self.state);
            // a table is frozen as soon as it is full
            let frozen = state.frozen.len() * self.tuning.table_bytes;
            (state.active_bytes + frozen, Arc::clone(&state.runs))
        };
        let kept = runs
            .iter()
            .map(|run| run.fences.memory() + run.info.bloom_bytes);
        (u64_of(tables), kept.sum())
    }

    /// Limits the cache of blocks to this many bytes.
    pub(crate) fn keep_cached(&self, bytes: u64) {
        self.store.cache.set_most(bytes);
    }

    /// How many runs there are.
    pub(crate) fn runs(&self) -> usize {
        read(&self.state).runs.len()
    }

    /// Bytes of sled's files.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.store.disk_bytes()
    }

    /// How far the runs cover the journal.
    pub(crate) fn mark(&self) -> JournalMark {
        lock(&self.manifest).mark
    }
}
