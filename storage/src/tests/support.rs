//! Shared by the tests: stores in temporary folders, a seeded sequence of commits, a full comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::conformance::{Words, commit, entry, submit};
use crate::folder::Folder;
use crate::{
    Commit, CommitNo, DurableStore, Entry, OpenError, SortOrder, Store, StoreOptions, StreamId,
};

/// After this time a test counts as hung.
pub(super) const HANG: Duration = Duration::from_secs(120);

/// Values for `file_keys`, used in turns: no run of a test has as many keys as the first, every run as the second.
pub(super) const APART: [u64; 2] = [1 << 15, 1];

/// splitmix64.
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

pub(super) fn open(path: &Path) -> Result<Arc<DurableStore>, OpenError> {
    DurableStore::open(path, StoreOptions::small(), Arc::new(Words))
}

/// Opens a store whose runs have a file of their own from this many keys on.
pub(super) fn open_apart(path: &Path, file_keys: u64) -> Result<Arc<DurableStore>, OpenError> {
    let options = StoreOptions {
        file_keys,
        ..StoreOptions::small()
    };
    DurableStore::open(path, options, Arc::new(Words))
}

/// The names of the files of runs that have one of their own; none where there is no index.
pub(super) fn runs_apart(dir: &Path) -> BTreeSet<String> {
    let Ok(names) = fs::read_dir(dir.join("index")) else {
        return BTreeSet::new();
    };
    let names = names.map(|item| item.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("run-")).collect()
}

/// A folder, open.
pub(super) fn folder(path: &Path) -> Folder {
    Folder::open(path).unwrap()
}

pub(super) fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for item in fs::read_dir(from).unwrap() {
        let item = item.unwrap();
        let target = to.join(item.file_name());
        if item.path().is_dir() {
            copy_dir(&item.path(), &target);
        } else {
            fs::copy(item.path(), target).unwrap();
        }
    }
}

/// All files under a folder with their contents.
pub(super) fn contents(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for item in fs::read_dir(dir).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

/// Makes commits that follow each other, and remembers all their entries.
#[derive(Default)]
pub(super) struct History {
    pub(super) streams: BTreeMap<StreamId, Vec<Entry>>,
    pub(super) entries: Vec<(CommitNo, Entry)>,
    pub(super) commits: u64,
}

impl History {
    /// A commit of one to four entries of random streams.
    pub(super) fn make(&self, rng: &mut Rng) -> Commit {
        let mut next: BTreeMap<StreamId, u64> = BTreeMap::new();
        let entries = (0..1 + rng.below(4)).map(|_| {
            let realm = rng.below(3) as u32 + 1;
            let stream = StreamId {
                realm,
                kind: rng.below(2) as u8,
                number: rng.below(40),
            };
            let last = self.streams.get(&stream).map_or(0, |s| s.len() as u64);
            let seq = next
                .entry(stream)
                .and_modify(|s| *s += 1)
                .or_insert(last + 1);
            let size = rng.below(300) as usize + if rng.below(50) == 0 { 9000 } else { 0 };
            let word = rng.below(500);
            let mut body = match rng.below(4) {
                0 => format!("-w{word}"),
                1 => format!("#n{}", word % 10),
                _ => format!("+w{word}="),
            }
            .into_bytes();
            if body[0] == b'+' {
                body.extend((0..size).map(|_| rng.below(256) as u8));
            }
            entry(stream, *seq, &body)
        });
        commit(entries.collect())
    }

    pub(super) fn took(&mut self, number: CommitNo, commit: Commit) {
        self.commits += 1;
        assert_eq!(number.0, self.commits, "commit numbers have no gap");
        for e in commit.entries {
            self.streams.entry(e.stream).or_default().push(e.clone());
            self.entries.push((number, e));
        }
    }

    /// Writes this many commits, one at a time or many at once, and waits for all.
    pub(super) fn write(&mut self, store: &dyn Store, commits: u64, rng: &mut Rng) {
        for _ in 0..commits {
            let c = self.make(rng);
            let number = submit(store, c.clone()).unwrap();
            self.took(number, c);
        }
    }

    /// The rows that [`Words`] must have made.
    pub(super) fn rows(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut rows: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let count = |rows: &mut BTreeMap<Vec<u8>, Vec<u8>>, key: Vec<u8>| {
            let n = rows
                .get(&key)
                .map_or(0, |v| u64::from_be_bytes(v[..].try_into().unwrap()));
            rows.insert(key, (n + 1).to_be_bytes().to_vec());
        };
        for (_, e) in &self.entries {
            let named = |key: &[u8]| [&[0x40], key].concat();
            match e.body[0] {
                b'+' => {
                    let at = e.body.iter().position(|b| *b == b'=').unwrap();
                    rows.insert(named(&e.body[1..at]), e.body[at + 1..].to_vec());
                }
                b'-' => drop(rows.remove(&named(&e.body[1..]))),
                _ => count(&mut rows, named(&e.body[1..])),
            }
            count(
                &mut rows,
                [&[0x42], &e.stream.realm.to_be_bytes()[..]].concat(),
            );
        }
        rows
    }

    /// Compares everything that can be read, in several ways.
    pub(super) fn check(&self, store: &dyn Store) {
        let mut seen = Vec::new();
        store
            .replay(CommitNo(1), &mut |c, e| {
                seen.push((c, e.clone()));
                true
            })
            .unwrap();
        assert!(seen == self.entries, "the journal differs");
        self.check_index(store);
    }

    /// Reads every stream, whatever it holds; fails on damage.
    pub(super) fn read_all(&self, store: &dyn Store) -> Result<(), crate::StoreError> {
        for stream in self.streams.keys() {
            store.head(*stream)?;
            store.read(*stream, 1, u64::MAX, SortOrder::Ascending, 100_000)?;
        }
        Ok(())
    }

    pub(super) fn check_index(&self, store: &dyn Store) {
        for (stream, entries) in &self.streams {
            let head = store.head(*stream).unwrap().map(|h| h.seq);
            assert_eq!(head, Some(entries.len() as u64), "head of {stream:?}");
            let read = store
                .read(*stream, 1, u64::MAX, SortOrder::Ascending, 100_000)
                .unwrap();
            assert!(read == *entries, "stream {stream:?} differs");
        }
        let places = store
            .scan(&[0x41], &[0x42], SortOrder::Ascending, usize::MAX)
            .unwrap();
        let mut rows = store
            .scan(&[0x02], &[0x41], SortOrder::Ascending, usize::MAX)
            .unwrap();
        // kinds share place rows when realm, number and seq agree, so the last one wins
        assert!(!places.is_empty() || self.entries.is_empty());
        rows.extend(
            store
                .scan(&[0x42], &[0xFF], SortOrder::Ascending, usize::MAX)
                .unwrap(),
        );
        let expected: Vec<_> = self.rows().into_iter().collect();
        assert!(
            rows == expected,
            "rows differ: {} and {}",
            rows.len(),
            expected.len()
        );
        let mut back = store
            .scan(&[0x02], &[0x41], SortOrder::Descending, usize::MAX)
            .unwrap();
        back.reverse();
        let forward = store
            .scan(&[0x02], &[0x41], SortOrder::Ascending, usize::MAX)
            .unwrap();
        assert!(back == forward, "a scan backwards differs");
        for (key, value) in &forward {
            assert_eq!(store.get(key).unwrap().as_ref(), Some(value));
        }
    }
}

/// The journal's segments, ascending.
pub(super) fn segments(path: &Path) -> Vec<PathBuf> {
    files(path, "segment")
}

/// The journal's files with this extension, ascending. None is opened: a file being prepared may be renamed meanwhile.
pub(super) fn files(path: &Path, extension: &str) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = fs::read_dir(path.join("journal"))
        .unwrap()
        .map(|i| i.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == extension))
        .collect();
    all.sort();
    all
}

/// Waits until the store's background threads have done something.
pub(super) fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < HANG, "never: {what}");
        std::thread::park_timeout(Duration::from_millis(2));
    }
}
