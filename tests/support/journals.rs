//! Puts journals that are recorded as text on a disk.

use std::path::Path;
use std::sync::Arc;

use caudal_actors::records::projection::ServiceProjection;
use caudal_storage::{Commit, DurableStore, Entry, Fact, Store as _, StoreOptions, StreamId};

/// One entry a line: commit, realm, kind and number of the stream, sequence, milliseconds, bytes.
fn entry(line: &str) -> (u64, Entry) {
    let words: Vec<_> = line.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    let (bytes, _) = words[6].as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    let entry = Entry {
        stream: StreamId {
            realm: u32::try_from(number(1)).unwrap(),
            kind: u8::try_from(number(2)).unwrap(),
            number: number(3),
        },
        seq: number(4),
        at: number(5),
        body: bytes.iter().map(byte).collect(),
        fact: Fact::default(),
    };
    (number(0), entry)
}

/// Makes a store of a journal; returns the time of its newest entry in milliseconds.
pub fn put(journal: &str, path: &Path) -> u64 {
    let store =
        DurableStore::open(path, StoreOptions::small(), Arc::new(ServiceProjection)).unwrap();
    let entries: Vec<_> = journal.lines().map(entry).collect();
    for commit in entries.chunk_by(|(one, _), (other, _)| one == other) {
        let entries = commit.iter().map(|(_, entry)| entry.clone()).collect();
        let hints = Vec::new();
        let done = Box::new(|done: Result<_, _>| assert!(done.is_ok(), "{done:?}"));
        store.submit(
            Commit {
                entries,
                hints,
                ..Commit::default()
            },
            done,
        );
    }
    store.close().unwrap();
    entries.iter().map(|(_, entry)| entry.at).max().unwrap()
}
