//! The cost of reads, counted in blocks and runs, since a benchmark on a busy machine proves nothing.

use std::sync::Arc;

use super::support::{Rng, wait_until};
use crate::conformance::{Words, commit, entry, place_key, rest_row, stream, submit};
use crate::index::compaction_picker::RUNS_REST;
use crate::index::maintain::RUNS_WAIT;
use crate::{
    DurableStore, Entry, Index as _, IndexWriter, Position, Projection, Row, SortOrder, Stats,
    Store as _, StoreError, StoreOptions,
};

/// The number of streams; each run has a tenth of them.
const STREAMS: u64 = 2_000;
const RUNS: u64 = 20;

fn row_key(number: u64) -> Vec<u8> {
    [&[0xC0], &number.to_be_bytes()[..]].concat()
}

/// [`Words`] before it named the rows that are scanned by the number in their keys.
struct Plain;

impl Projection for Plain {
    fn version(&self) -> u32 {
        Words.version()
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        Words.project(entry, position, index)
    }
}

/// Tables of a few hundred rows, and no merge while the runs are few.
fn many_runs(cache: u64) -> StoreOptions {
    StoreOptions {
        table_bytes: 48 << 10,
        merge_fan_in: 1_000,
        frozen_max: 1,
        block_cache_bytes: cache,
        ..StoreOptions::small()
    }
}

/// A store with many runs, with the last sequence of each stream and a row at rest for it, and a block cache of `cache`
/// bytes.
fn store_of_runs(path: &std::path::Path, cache: u64) -> (Arc<DurableStore>, Vec<u64>) {
    let store = DurableStore::open(path, many_runs(cache), Arc::new(Words)).unwrap();
    let mut last = vec![0; usize::try_from(STREAMS).unwrap()];
    fill(&store, &mut last);
    (store, last)
}

/// Writes until there are [`RUNS`] runs; returns how many commits that took.
fn fill(store: &DurableStore, last: &mut [u64]) -> u64 {
    let (mut rng, mut commits) = (Rng(7), 0);
    while store.stats().index_runs < RUNS {
        write(store, last, &mut rng);
        commits += 1;
    }
    commits
}

/// One commit of a few entries, with the row at rest of each.
fn write(store: &DurableStore, last: &mut [u64], rng: &mut Rng) {
    let mut one = commit(Vec::new());
    for _ in 0..20 {
        let number = rng.below(STREAMS);
        let seq = &mut last[usize::try_from(number).unwrap()];
        *seq += 1;
        one.entries.push(entry(stream(number), *seq, b"x"));
        one.hints.push(Row {
            key: row_key(number),
            value: Some(seq.to_be_bytes().to_vec()),
        });
    }
    submit(store, one).unwrap();
}

/// Scans the rows under each of these numbers; each number comes with its count of rows.
fn scan_each(store: &DurableStore, rows: impl Iterator<Item = (u64, u64)>) -> Stats {
    cost(store, || {
        for (number, of) in rows {
            let (from, to) = [0, u64::MAX]
                .map(|seq| place_key(stream(number), seq))
                .into();
            for order in [SortOrder::Ascending, SortOrder::Descending] {
                let found = store.scan(&from, &to, order, 1_000).unwrap();
                assert_eq!(u64::try_from(found.len()).unwrap(), of, "{number}");
            }
        }
    })
}

#[test]
fn a_scan_under_a_number_opens_the_runs_that_have_it_and_none_for_a_number_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (mut store, last) = store_of_runs(folder.path(), 0);
    let entries: u64 = last.iter().sum();
    // fewer than one filter in a thousand gives a false positive
    let mistaken = STREAMS * RUNS / 500;
    for again in [false, true] {
        if again {
            store.close().unwrap();
            drop(store);
            let reopened = DurableStore::open(folder.path(), many_runs(0), Arc::new(Words));
            store = reopened.unwrap();
        }
        let present = scan_each(&store, (0..).zip(last.iter().copied()));
        let absent = scan_each(&store, (STREAMS..STREAMS * 2).map(|number| (number, 0)));
        assert!(
            present.index_runs_opened <= 2 * (entries + mistaken),
            "{present:?}, {entries} entries"
        );
        assert!(absent.index_runs_opened <= 2 * mistaken, "{absent:?}");
        assert!(absent.index_blocks_read <= 4 * mistaken, "{absent:?}");
    }
    store.close().unwrap();
}

#[test]
fn runs_of_before_are_all_opened_until_they_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let mut last = vec![0; usize::try_from(STREAMS).unwrap()];
    let before = DurableStore::open(folder.path(), many_runs(0), Arc::new(Plain)).unwrap();
    fill(&before, &mut last);
    before.close().unwrap();
    drop(before);
    let all = || (0..).zip(last.iter().copied());
    let absent = || (STREAMS..STREAMS * 2).map(|number| (number, 0));
    let store = DurableStore::open(folder.path(), many_runs(0), Arc::new(Words)).unwrap();
    scan_each(&store, all());
    assert!(scan_each(&store, absent()).index_runs_opened >= 2 * STREAMS * RUNS);
    store.close().unwrap();
    drop(store);
    let merging = StoreOptions {
        merge_fan_in: 2,
        ..many_runs(0)
    };
    let store = DurableStore::open(folder.path(), merging, Arc::new(Words)).unwrap();
    wait_until("the runs are merged", || store.stats().index_runs <= 5);
    scan_each(&store, all());
    // one run without a neighbour may be left over
    let spared = scan_each(&store, absent());
    assert!(spared.index_runs_opened <= 3 * STREAMS, "{spared:?}");
    store.close().unwrap();
}

#[test]
fn the_number_of_runs_stays_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let store = DurableStore::open(folder.path(), many_runs(0), Arc::new(Words)).unwrap();
    let mut last = vec![0; usize::try_from(STREAMS).unwrap()];
    let commits = fill(&store, &mut last);
    let (wait, rest) = [RUNS_WAIT, RUNS_REST]
        .map(|most| u64::try_from(most).unwrap())
        .into();
    let mut rng = Rng(8);
    for _ in 0..commits * 6 {
        write(&store, &mut last, &mut rng);
        let runs = store.stats().index_runs;
        assert!(runs <= wait, "{runs} runs");
    }
    wait_until("few runs are left", || store.stats().index_runs <= rest);
    scan_each(&store, (0..).zip(last.iter().copied()));
    store.close().unwrap();
}

/// The cost of some work.
fn cost(store: &DurableStore, work: impl FnOnce()) -> Stats {
    let before = store.stats();
    work();
    let after = store.stats();
    Stats {
        index_gets: after.index_gets - before.index_gets,
        index_blocks_read: after.index_blocks_read - before.index_blocks_read,
        index_blocks_cached: after.index_blocks_cached - before.index_blocks_cached,
        index_blocks_vain: after.index_blocks_vain - before.index_blocks_vain,
        index_runs_opened: after.index_runs_opened - before.index_runs_opened,
        ..Stats::default()
    }
}

#[test]
fn a_row_and_the_look_behind_it_read_two_blocks_however_many_runs_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let (store, last) = store_of_runs(folder.path(), 0);
    let known = || (0..STREAMS).zip(&last).filter(|(_, seq)| **seq > 0);
    let streams = u64::try_from(known().count()).unwrap();
    let activations = cost(&store, || {
        for (number, seq) in known() {
            let row = store.get(&row_key(number)).unwrap();
            assert_eq!(row, Some(seq.to_be_bytes().to_vec()));
            assert!(store.has(stream(number), *seq).unwrap());
            assert!(!store.has(stream(number), seq + 1).unwrap());
        }
    });
    // fewer than one filter in a thousand gives a false positive
    let most = streams * 2 + streams * RUNS * 3 / 500;
    assert!(
        activations.index_blocks_read <= most,
        "{activations:?}, {streams} streams"
    );
    assert_eq!(
        (activations.index_runs_opened, activations.index_gets),
        (0, streams * 3)
    );
    let scans = cost(&store, || {
        for (number, seq) in known() {
            let read = store.read(stream(number), 1, u64::MAX, SortOrder::Ascending, 1_000);
            assert_eq!(u64::try_from(read.unwrap().len()).unwrap(), *seq);
        }
    });
    // a stream of n entries is in n runs at most
    let entries: u64 = known().map(|(_, seq)| *seq).sum();
    assert!(
        scans.index_runs_opened <= entries + streams * RUNS / 500,
        "{scans:?}"
    );
    store.close().unwrap();
}

#[test]
fn an_idle_account_is_reloaded_with_one_block_read() {
    let folder = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        // so that the committer has to look each of them up
        heads_max: 2,
        ..many_runs(1 << 20)
    };
    let store = DurableStore::open(folder.path(), options, Arc::new(Words)).unwrap();
    let mut last = vec![0_u64; usize::try_from(STREAMS).unwrap()];
    let mut rng = Rng(9);
    while store.stats().index_runs < RUNS {
        let number = rng.below(STREAMS);
        let seq = &mut last[usize::try_from(number).unwrap()];
        *seq += 1;
        submit(&*store, commit(vec![entry(stream(number), *seq, b"x")])).unwrap();
        store.note(vec![rest_row(stream(number), *seq, *seq * 10)]);
    }
    let known: Vec<_> = (0..STREAMS).zip(&last).filter(|it| *it.1 > 0).collect();
    let streams = u64::try_from(known.len()).unwrap();
    let spent = cost(&store, || {
        for (number, seq) in &known {
            let row = rest_row(stream(*number), **seq, **seq * 10);
            assert_eq!(store.get(&row.key).unwrap(), row.value);
            assert!(!store.has(stream(*number), *seq + 1).unwrap());
            submit(
                &*store,
                commit(vec![entry(stream(*number), *seq + 1, b"x")]),
            )
            .unwrap();
        }
    });
    // rows still in a table cost no block; filters of small runs err a little more than those of large ones
    let vain = streams * RUNS * 3 / 250;
    let most = streams + vain;
    assert!(
        spent.index_blocks_read <= most,
        "{spent:?}, {streams} streams"
    );
    assert!(spent.index_blocks_vain <= vain, "{spent:?}");
    let refused = submit(&*store, commit(vec![entry(stream(0), last[0] + 3, b"x")]));
    assert!(
        matches!(refused, Err(StoreError::OutOfSequence { .. })),
        "{refused:?}"
    );
    store.close().unwrap();
}

#[test]
fn what_is_read_again_is_read_from_the_cache_within_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (store, last) = store_of_runs(folder.path(), 8 << 20);
    let read_all = || {
        for (number, seq) in (0..STREAMS).zip(&last).filter(|(_, seq)| **seq > 0) {
            let row = store.get(&row_key(number)).unwrap();
            assert_eq!(row, Some(seq.to_be_bytes().to_vec()));
            let newest = store.read(stream(number), 1, u64::MAX, SortOrder::Descending, 1);
            assert_eq!(newest.unwrap().first().map(|e| e.seq), Some(*seq));
        }
    };
    let first = cost(&store, read_all);
    assert!(first.index_blocks_read > 0, "{first:?}");
    // A table that was still waiting to become a run is read once from its blocks; after that nothing is written.
    let mut passes = (0..RUNS).map(|_| cost(&store, read_all));
    let again = passes.find(|pass| pass.index_blocks_read == 0);
    let again = again.expect("a pass that reads no block");
    assert!(again.index_blocks_cached >= STREAMS / 2, "{again:?}");
    let stats = store.stats();
    assert_eq!(stats.block_cache_bytes_max, 8 << 20);
    assert!(stats.block_cache_bytes > 0 && stats.block_cache_bytes <= 8 << 20);
    store.close().unwrap();
}
