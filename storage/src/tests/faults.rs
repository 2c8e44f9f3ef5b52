//! The n-th write, sync or rename fails: clean errors, a poisoned store, and nothing acknowledged
//! is lost.
//!
//! `CAUDAL_FAULT_STEP` sets the stride over n (17 without it, 1 for every one).

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::support::{APART, HANG, open, runs_apart};
use crate::conformance::{Words, barrier, commit, entry, stream, submit};
use crate::{DurableStore, Faults, Index, OpenError, SortOrder, Store, StoreError, StoreOptions};

/// Submits 600 commits, which fail once the store is lost; returns the last sequences acknowledged
/// on 4 streams.
fn work(options: &StoreOptions, path: &std::path::Path) -> Result<[u64; 4], OpenError> {
    let store = DurableStore::open(path, options.clone(), Arc::new(Words))?;
    let mut acked = [0; 4];
    let (give, take) = channel();
    for n in 0..600u64 {
        let (lane, seq) = (n % 4, n / 4 + 1);
        let body = format!("+w{}={n} {}", n % 50, "x".repeat(400));
        let give = give.clone();
        let c = commit(vec![entry(stream(lane), seq, body.as_bytes())]);
        store.submit(c, Box::new(move |r| give.send((lane, seq, r)).unwrap()));
        if n % 16 == 15 {
            for _ in 0..16 {
                let (lane, seq, result) = take.recv_timeout(HANG).expect("done is called");
                match result {
                    Ok(_) => acked[lane as usize] = seq,
                    Err(StoreError::Poisoned(_) | StoreError::OutOfSequence { .. }) => {}
                    Err(e) => panic!("{e}"),
                }
            }
        }
    }
    if store.stats().indexed_commit > 0 || store.ready().is_err() {
        drop(store.close());
    }
    if let Err(e) = store.ready()
        && !matches!(e, StoreError::Closed)
    {
        assert!(matches!(e, StoreError::Poisoned(_)), "{e}");
        assert!(matches!(
            store.head(stream(1)),
            Err(StoreError::Poisoned(_))
        ));
        assert!(matches!(
            barrier(store.as_ref()),
            Err(StoreError::Poisoned(_))
        ));
    }
    Ok(acked)
}

#[test]
fn every_nth_failure_is_clean_and_loses_nothing() {
    let step: u64 = std::env::var("CAUDAL_FAULT_STEP").map_or(17, |v| v.parse().unwrap());
    let small = StoreOptions {
        segment_bytes: 64 << 10,
        table_bytes: 20_000,
        ..StoreOptions::small()
    };
    let (mut failures, mut apart) = (0, 0);
    let ways = APART.map(|keys| [(1, keys), (u64::MAX, keys)]).concat();
    for (turn, (count, file_keys)) in (0u64..).zip(ways) {
        let mut n = 1 + step * turn / 4;
        loop {
            let base = tempfile::tempdir().unwrap();
            let faults = Faults::at(n, count);
            let usual = StoreOptions {
                file_keys,
                ..small.clone()
            };
            let options = StoreOptions {
                faults: Some(Arc::clone(&faults)),
                ..usual.clone()
            };
            let acked = work(&options, base.path()).unwrap_or_default();
            let hit = faults.seen() >= n;
            apart += usize::from(!runs_apart(base.path()).is_empty());
            let store = DurableStore::open(base.path(), usual, Arc::new(Words))
                .unwrap_or_else(|e| panic!("after failure {n}: {e}"));
            for (lane, seq) in (0u64..).zip(acked) {
                let read = store
                    .read(stream(lane), 1, u64::MAX, SortOrder::Ascending, 9999)
                    .unwrap();
                assert!(
                    read.len() as u64 >= seq,
                    "failure {n}: {seq} acknowledged on {lane}"
                );
            }
            let next = store.head(stream(0)).unwrap().map_or(0, |h| h.seq) + 1;
            submit(store.as_ref(), commit(vec![entry(stream(0), next, b"")])).unwrap();
            if !hit {
                break;
            }
            failures += 1;
            n += step;
        }
    }
    assert!(apart > 0, "no run had files of its own");
    println!("{failures} failures, 0 lost; after {apart} of them runs had files of their own");
}

#[test]
fn a_writer_that_does_not_come_back_poisons_the_store() {
    let base = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        stuck_after: Duration::from_millis(1),
        ..StoreOptions::small()
    };
    let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
    // with a limit of one millisecond, some flush soon counts as stuck
    for seq in 1..200_000 {
        if let Err(e) = submit(store.as_ref(), commit(vec![entry(stream(1), seq, b"")])) {
            assert!(matches!(e, StoreError::Poisoned(_)), "{e}");
            return;
        }
    }
}

#[test]
fn a_panic_in_a_callback_or_projection_is_contained() {
    let base = tempfile::tempdir().unwrap();
    let store = open(base.path()).unwrap();
    store.submit(
        commit(vec![entry(stream(1), 1, b"")]),
        Box::new(|_| panic!("a test's")),
    );
    submit(store.as_ref(), commit(vec![entry(stream(1), 2, b"")])).unwrap();
    drop(store);

    struct Bad;
    impl crate::Projection for Bad {
        fn version(&self) -> u32 {
            7
        }
        fn project(
            &self,
            entry: &crate::Entry,
            _: crate::Position,
            _: &mut dyn crate::IndexWriter,
        ) -> Result<(), StoreError> {
            assert!(entry.seq < 4, "a test's");
            Ok(())
        }
    }
    let store = DurableStore::open(base.path(), StoreOptions::small(), Arc::new(Bad)).unwrap();
    submit(store.as_ref(), commit(vec![entry(stream(1), 3, b"")])).unwrap();
    let (give, take) = channel();
    let done = Box::new(move |r| give.send(r).unwrap());
    store.submit(commit(vec![entry(stream(1), 4, b"")]), done);
    let answer = take.recv_timeout(HANG).expect("done is called");
    assert!(matches!(answer, Err(StoreError::Poisoned(_))));
    let start = std::time::Instant::now();
    while !matches!(store.ready(), Err(StoreError::Poisoned(_))) {
        assert!(start.elapsed() < HANG);
        std::thread::yield_now();
    }
    drop(store);
    assert_eq!(
        open(base.path())
            .unwrap()
            .head(stream(1))
            .unwrap()
            .unwrap()
            .seq,
        4
    );
}

#[test]
fn reads_of_the_index_that_fail_for_good_end_commits_with_a_reason_and_nothing_waits_for_ever() {
    let base = tempfile::tempdir().unwrap();
    let faults = Arc::new(Faults::default());
    let options = StoreOptions {
        table_bytes: 4_000,
        faults: Some(Arc::clone(&faults)),
        ..StoreOptions::small()
    };
    let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
    faults.refuse_reads(Some(0));
    let mut seq = 0;
    let refused = loop {
        let (give, take) = channel();
        let body = format!("+w{seq}={}", "x".repeat(2_000));
        let c = commit(vec![entry(stream(1), seq + 1, body.as_bytes())]);
        store.submit(c, Box::new(move |r| give.send(r).unwrap()));
        match take.recv_timeout(HANG).expect("done is called") {
            Ok(_) => seq += 1,
            Err(e) => break e,
        }
    };
    assert!(matches!(refused, StoreError::Corrupt(_)), "{refused}");
    assert!(refused.to_string().contains("refuses to read"), "{refused}");
    barrier(store.as_ref()).unwrap();
    // the index cannot be written out; the next start rebuilds it
    let closed = store.close();
    assert!(matches!(closed, Err(StoreError::Corrupt(_))), "{closed:?}");
    drop(store);
    faults.refuse_reads(None);
    let store = open(base.path()).unwrap();
    assert!(store.stats().index_rebuilt);
    assert_eq!(store.head(stream(1)).unwrap().unwrap().seq, seq);
}
