//! Rows that can be lost: a group looks up only a limited number of them, and none is lost without
//! need.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use super::support::{open, wait_until};
use crate::api::{Entry, Head, Index, IndexWriter, Position, Projection, StreamId};
use crate::conformance::{Words, commit, entry, rest_row, stream, submit};
use crate::durable::queue::NOTES_MAX;
use crate::{DurableStore, Store, StoreError, StoreOptions};

/// More notes than a few groups take.
const FLOOD: u64 = 1_000;

/// Counts how often the projection is asked about a row at rest.
#[derive(Default)]
struct Asked(Arc<AtomicUsize>);

impl Projection for Asked {
    fn single(&self) -> &[u8] {
        Words.single()
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        Words.rest_key(stream)
    }

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

    fn rests(&self, key: &[u8], value: &[u8]) -> Option<(StreamId, Head)> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Words.rests(key, value)
    }
}

/// Each of the streams gets its first entry.
fn begin(store: &dyn Store) {
    let entries = (0..FLOOD).map(|n| entry(stream(n), 1, b"")).collect();
    submit(store, commit(entries)).unwrap();
}

fn has_all(store: &dyn Index) -> bool {
    let has = |n| {
        store
            .get(&rest_row(stream(n), 1, 10).key)
            .unwrap()
            .is_some()
    };
    (0..FLOOD).all(has)
}

#[test]
fn a_flood_of_notes_goes_into_many_groups_and_is_not_waited_for() {
    let base = tempfile::tempdir().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let projection = Arc::new(Asked(Arc::clone(&asked)));
    let store = DurableStore::open(base.path(), StoreOptions::small(), projection).unwrap();
    begin(store.as_ref());
    let (hold, held) = channel::<()>();
    let (reach, reached) = channel();
    store.barrier(Box::new(move |_| {
        reach.send(()).unwrap();
        assert!(held.recv().is_ok());
    }));
    // The committer has taken the barrier, and is held there while all of these come.
    reached.recv().unwrap();
    for n in 0..FLOOD {
        store.note(vec![rest_row(stream(n), 1, 10)]);
    }
    let (give, taken) = channel();
    let seen = Arc::clone(&asked);
    let done = Box::new(move |outcome: Result<_, _>| {
        give.send(outcome.map(|_| seen.load(Ordering::SeqCst)))
            .unwrap();
    });
    store.submit(commit(vec![entry(stream(0), 2, b"")]), done);
    hold.send(()).unwrap();
    let looked = taken.recv().unwrap().unwrap();
    assert_eq!(looked, NOTES_MAX, "rows that its group looked up");
    // The rest follows without further submissions.
    wait_until("all of them are there", || has_all(store.as_ref()));
    assert_eq!(asked.load(Ordering::SeqCst), 1_000);
}

#[test]
fn a_store_that_closes_takes_all_notes_that_came_before() {
    let base = tempfile::tempdir().unwrap();
    let store = open(base.path()).unwrap();
    begin(store.as_ref());
    for n in 0..FLOOD {
        store.note(vec![rest_row(stream(n), 1, 10)]);
    }
    store.close().unwrap();
    drop(store);
    assert!(has_all(open(base.path()).unwrap().as_ref()));
}

#[test]
fn notes_beyond_the_queue_are_lost_and_nothing_else_is() {
    let base = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        queue_commits: 4,
        ..StoreOptions::small()
    };
    let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
    begin(store.as_ref());
    let (hold, held) = channel::<()>();
    let (reach, reached) = channel();
    store.barrier(Box::new(move |_| {
        reach.send(()).unwrap();
        assert!(held.recv().is_ok());
    }));
    reached.recv().unwrap();
    for n in 0..6 {
        store.note(vec![rest_row(stream(n), 1, 10)]);
    }
    hold.send(()).unwrap();
    submit(store.as_ref(), commit(vec![entry(stream(0), 2, b"")])).unwrap();
    let has = |n| {
        store
            .get(&rest_row(stream(n), 1, 10).key)
            .unwrap()
            .is_some()
    };
    let found: Vec<_> = (0..6).map(has).collect();
    assert_eq!(found, [true, true, true, true, false, false]);
}
