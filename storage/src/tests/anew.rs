//! Indexes that are rebuilt from the journal when a store opens: each entry is projected once, in order.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::conformance::Words;
use crate::tests::support::{History, Rng};
use crate::{
    DurableStore, Entry, Head, Index as _, IndexWriter, Pair, Position, Projection, SortOrder,
    Store as _, StoreError, StoreOptions, StreamId,
};

/// The kind of rows that name the last entry in each [`PIECE`] of the journal: written several times one after the other. It
/// is behind those that [`History::check`] compares.
const LAST: u8 = 0xff;
/// Bytes of the journal that share a row.
const PIECE: u64 = 2048;

/// Records the entries it is given, and lets [`Words`] make the rows, and one of the kind [`LAST`].
#[derive(Default)]
struct Noted(Mutex<Vec<Entry>>);

impl Projection for Noted {
    fn version(&self) -> u32 {
        Words.version()
    }

    fn scoped(&self) -> &[u8] {
        Words.scoped()
    }

    fn single(&self) -> &[u8] {
        Words.single()
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        Words.rest_key(stream)
    }

    fn rests(&self, key: &[u8], value: &[u8]) -> Option<(StreamId, Head)> {
        Words.rests(key, value)
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        self.0.lock().unwrap().push(entry.clone());
        let row = [&[LAST], &(position.0 / PIECE).to_be_bytes()[..]].concat();
        match entry.seq % 9 {
            8 => index.delete(&row),
            _ => index.put(&row, &position.0.to_be_bytes()),
        }
        Words.project(entry, position, index)
    }
}

fn rows(store: &DurableStore) -> Vec<Pair> {
    let all = store.scan(&[2], &[0xff; 16], SortOrder::Ascending, 1_000_000);
    all.unwrap()
}

/// Opens a store, and returns the entries that were projected for that.
fn opened(path: &Path) -> (Arc<DurableStore>, Vec<Entry>) {
    let noted = Arc::new(Noted::default());
    let rows = Arc::<Noted>::clone(&noted);
    let store = DurableStore::open(path, StoreOptions::small(), rows).unwrap();
    let projected = std::mem::take(&mut *noted.0.lock().unwrap());
    (store, projected)
}

#[test]
fn an_index_that_is_made_anew_has_the_rows_that_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let (store, nothing) = opened(dir.path());
    assert!(nothing.is_empty());
    let (mut history, mut rng) = (History::default(), Rng(3));
    history.write(store.as_ref(), 4000, &mut rng);
    let there = rows(&store);
    assert!(there.len() > 4000, "{}", there.len());
    assert!(there.iter().any(|(key, _)| key[0] == LAST));
    store.close().unwrap();
    drop(store);
    // only the entries that are in no run yet
    let (store, projected) = opened(dir.path());
    let written: Vec<_> = history.entries.iter().map(|(_, e)| e.clone()).collect();
    assert!(written.ends_with(&projected));
    assert!(rows(&store) == there);
    store.close().unwrap();
    drop(store);
    // and all entries
    fs::remove_dir_all(dir.path().join("index")).unwrap();
    let (store, projected) = opened(dir.path());
    assert!(projected == written);
    assert!(rows(&store) == there);
    store.close().unwrap();
    drop(store);
    // after which none is left, the last ones included
    let (store, projected) = opened(dir.path());
    assert!(projected.is_empty(), "{} entries", projected.len());
    assert!(rows(&store) == there);
    history.check(store.as_ref());
    history.write(store.as_ref(), 100, &mut rng);
    history.check(store.as_ref());
}
