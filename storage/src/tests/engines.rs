//! The conformance suite against each engine.

use std::sync::{Arc, Mutex};

use crate::conformance::{self, Words, commit, entry, stream, submit};
use crate::{DurableStore, FaultyStore, Index, Store, StoreError, StoreOptions};

#[test]
fn faulty_when_told_nothing() {
    conformance::all(&|p| {
        let store = FaultyStore::new(p, 1);
        store.set_automatic(true);
        store
    });
}

#[test]
fn durable() {
    let folders = Mutex::new(Vec::new());
    conformance::all(&|p| {
        let folder = tempfile::tempdir().unwrap();
        let store = DurableStore::open(folder.path().join("s"), StoreOptions::small(), p).unwrap();
        folders.lock().unwrap().push(folder);
        store
    });
}

#[test]
fn durable_with_tables_of_a_few_rows() {
    let folders = Mutex::new(Vec::new());
    let options = StoreOptions {
        table_bytes: 600,
        merge_fan_in: 2,
        heads_max: 1,
        ..StoreOptions::small()
    };
    conformance::all(&|p| {
        let folder = tempfile::tempdir().unwrap();
        let store = DurableStore::open(folder.path(), options.clone(), p).unwrap();
        folders.lock().unwrap().push(folder);
        store
    });
}

#[test]
fn faulty_crash_keeps_a_prefix() {
    for keep in 0..=5 {
        let store = FaultyStore::new(Arc::new(Words), 3);
        submit_all(&store, 1..=3);
        assert_eq!(store.step_all(), 3);
        submit_all(&store, 4..=8);
        assert_eq!(store.pending(), 5);
        let found = store.crash(keep);
        let head = found.head(stream(1)).unwrap().unwrap();
        assert_eq!(head.seq, 3 + keep as u64);
        assert!(matches!(store.ready(), Err(StoreError::Closed)));
    }
}

#[test]
fn faulty_poison_and_refusals() {
    let store = FaultyStore::new(Arc::new(Words), 3);
    store.refuse_next(StoreError::Overloaded);
    let refused = submit(store.as_ref(), commit(vec![entry(stream(1), 1, b"")]));
    assert!(matches!(refused, Err(StoreError::Overloaded)));
    submit_all(&store, 1..=4);
    store.poison("the test says so", 2);
    assert!(matches!(store.ready(), Err(StoreError::Poisoned(_))));
    assert_eq!(store.crash(0).head(stream(1)).unwrap().unwrap().seq, 2);
}

fn submit_all(store: &Arc<FaultyStore>, seqs: std::ops::RangeInclusive<u64>) {
    for seq in seqs {
        store.submit(commit(vec![entry(stream(1), seq, b"x")]), Box::new(|_| {}));
    }
}
