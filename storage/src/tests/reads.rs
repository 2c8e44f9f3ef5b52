//! What reads cost: counted in blocks and runs, which a benchmark on a busy machine cannot judge.

use std::sync::Arc;

use super::support::Rng;
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::{DurableStore, Index as _, Row, SortOrder, Stats, Store as _, StoreOptions};

/// Streams, of which each run has a tenth.
const STREAMS: u64 = 2_000;
const RUNS: u64 = 20;

fn row_key(number: u64) -> Vec<u8> {
    [&[0xC0], &number.to_be_bytes()[..]].concat()
}

/// A store of so many runs, with the last sequence of each stream and a row at rest for it, and a
/// cache of so many bytes.
fn store_of_runs(path: &std::path::Path, cache: u64) -> (Arc<DurableStore>, Vec<u64>) {
    let options = StoreOptions {
        table_bytes: 48 << 10,
        merge_fan_in: 1_000,
        frozen_max: 1_000,
        block_cache_bytes: cache,
        ..StoreOptions::small()
    };
    let store = DurableStore::open(path, options, Arc::new(Words)).unwrap();
    let (mut rng, mut last) = (Rng(7), vec![0; usize::try_from(STREAMS).unwrap()]);
    while store.stats().index_runs < RUNS {
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
        submit(store.as_ref(), one).unwrap();
    }
    (store, last)
}

/// What some work has cost.
fn cost(store: &DurableStore, work: impl FnOnce()) -> Stats {
    let before = store.stats();
    work();
    let after = store.stats();
    Stats {
        index_gets: after.index_gets - before.index_gets,
        index_blocks_read: after.index_blocks_read - before.index_blocks_read,
        index_blocks_cached: after.index_blocks_cached - before.index_blocks_cached,
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
    // one in a hundred of the filters says "perhaps" for nothing
    let most = streams * 2 + streams * RUNS * 3 / 60;
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
    // a stream of n entries lies in n runs at most
    let entries: u64 = known().map(|(_, seq)| *seq).sum();
    assert!(
        scans.index_runs_opened <= entries + streams * RUNS / 60,
        "{scans:?}"
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
    // A table that was still to become a run is read from its blocks once; nothing is written any more.
    let mut passes = (0..RUNS).map(|_| cost(&store, read_all));
    let again = passes.find(|pass| pass.index_blocks_read == 0);
    let again = again.expect("a pass that reads no block");
    assert!(again.index_blocks_cached >= STREAMS / 2, "{again:?}");
    let stats = store.stats();
    assert_eq!(stats.block_cache_bytes_max, 8 << 20);
    assert!(stats.block_cache_bytes > 0 && stats.block_cache_bytes <= 8 << 20);
    store.close().unwrap();
}
