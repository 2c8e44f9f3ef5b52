//! Parts of a store from different moments: an index that knows more than its journal is never trusted, so that nothing
//! is ever written after a missing entry.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::support::{Rng, contents, copy_dir, open_apart};
use crate::conformance::{commit, entry, rest_row, stream, submit};
use crate::{OpenError, Store, StoreError};

/// How many streams the store has.
const STREAMS: u64 = 12;

/// A store at one moment: a copy of its folder, and the entries acknowledged by then.
struct Instant {
    dir: PathBuf,
    entries: Vec<(u64, u64, Vec<u8>)>,
}

/// A sequence of commits, each with the row at rest of its stream.
#[derive(Default)]
struct Story {
    last: BTreeMap<u64, u64>,
    entries: Vec<(u64, u64, Vec<u8>)>,
}

impl Story {
    fn write(&mut self, store: &dyn Store, commits: u64, rng: &mut Rng) {
        for _ in 0..commits {
            let number = rng.below(STREAMS);
            let seq = self.last.get(&number).map_or(1, |last| last + 1);
            let body = format!("+k{number}={:016x}", rng.next()).into_bytes();
            submit(store, commit(vec![entry(stream(number), seq, &body)])).unwrap();
            store.note(vec![rest_row(stream(number), seq, seq * 10)]);
            self.last.insert(number, seq);
            self.entries.push((number, seq, body));
        }
    }

    fn at(entries: &[(u64, u64, Vec<u8>)]) -> Self {
        Self {
            last: entries.iter().map(|(n, seq, _)| (*n, *seq)).collect(),
            entries: entries.to_vec(),
        }
    }

    /// The store has exactly these entries, and each stream continues where it ends.
    fn check(&self, store: &dyn Store) {
        let mut seen = Vec::new();
        let walked = store.replay(crate::CommitNo(1), &mut |_, e| {
            seen.push((e.stream.number, e.seq, e.body.clone()));
            true
        });
        walked.unwrap();
        assert!(seen == self.entries, "the journal differs");
        for (n, last) in &self.last {
            assert_eq!(store.head(stream(*n)).unwrap().map(|h| h.seq), Some(*last));
            let said = store.get(&rest_row(stream(*n), 0, 0).key).unwrap();
            let said = said.map(|row| u64::from_be_bytes(row[..8].try_into().unwrap()));
            assert!(said.is_none_or(|said| said <= *last), "{said:?} of {last}");
            for ahead in 2..5 {
                let gap = submit(store, commit(vec![entry(stream(*n), last + ahead, b"+a=")]));
                let right =
                    matches!(gap, Err(StoreError::OutOfSequence { found, .. }) if found == *last);
                assert!(right, "{gap:?} behind {last}");
            }
            submit(store, commit(vec![entry(stream(*n), last + 1, b"+a=")])).unwrap();
        }
    }
}

/// A store that is written to and then closed or abandoned in turns, with a copy from each moment.
fn instants(base: &Path, apart: u64) -> Vec<Instant> {
    let (work, mut rng, mut story) = (base.join("work"), Rng(46), Story::default());
    let mut all = Vec::new();
    for round in 0..5 {
        let store = open_apart(&work, apart).unwrap();
        story.write(store.as_ref(), 150 + 400 * (round % 2), &mut rng);
        match round % 3 {
            // Left as after a kill.
            1 => drop(store),
            _ => {
                store.close().unwrap();
                drop(store);
            }
        }
        let dir = base.join(format!("at-{round}"));
        copy_dir(&work, &dir);
        all.push(Instant {
            dir,
            entries: story.entries.clone(),
        });
    }
    all
}

/// Opens a folder of mixed parts: either everything is right, or it is refused and not changed. Returns whether it was
/// opened.
fn judge(dir: &Path, entries: &[(u64, u64, Vec<u8>)], apart: u64, what: &str) -> bool {
    let journal = contents(&dir.join("journal"));
    match open_apart(dir, apart) {
        Ok(store) => {
            Story::at(entries).check(store.as_ref());
            true
        }
        Err(OpenError::Corrupt(_)) => {
            assert!(journal == contents(&dir.join("journal")), "{what}: changed");
            // Without the index that was refused, the journal is as good as it was.
            fs::remove_dir_all(dir.join("index")).unwrap();
            let store = open_apart(dir, apart).unwrap_or_else(|e| panic!("{what}: {e}"));
            Story::at(entries).check(store.as_ref());
            false
        }
        Err(e) => panic!("{what}: {e}"),
    }
}

fn replaced(dir: &Path, name: &str, from: &Path) {
    let own = dir.join(name);
    if own.is_dir() {
        fs::remove_dir_all(&own).unwrap()
    } else {
        fs::remove_file(&own).unwrap()
    }
    if from.join(name).is_dir() {
        copy_dir(&from.join(name), &own);
    } else {
        fs::copy(from.join(name), &own).unwrap();
    }
}

#[test]
fn an_index_of_another_instant_than_the_journal_is_right_or_refused() {
    for apart in [1 << 17, 1] {
        let base = tempfile::tempdir().unwrap();
        let all = instants(base.path(), apart);
        let (mut opened, mut refused) = (0, 0);
        for (j, journal) in all.iter().enumerate() {
            for (i, index) in all.iter().enumerate() {
                let what =
                    format!("the journal of {j} and the index of {i}, apart from {apart} keys");
                // The older part next to the whole newer one, or the newer index next to the whole older one.
                for (kept, names, from) in [
                    (index, &["journal", "WITNESS"][..], journal),
                    (journal, &["index"][..], index),
                ] {
                    let dir = base.path().join("mixed");
                    copy_dir(&kept.dir, &dir);
                    names
                        .iter()
                        .for_each(|name| replaced(&dir, name, &from.dir));
                    let good = judge(&dir, &journal.entries, apart, &what);
                    assert!(good || i > j, "{what}: nothing was ahead");
                    if good {
                        opened += 1
                    } else {
                        refused += 1
                    }
                    fs::remove_dir_all(&dir).unwrap();
                }
            }
        }
        assert!(
            opened >= 30 && refused >= 8,
            "{opened} opened, {refused} refused"
        );
    }
}

#[test]
fn an_index_of_a_history_that_went_on_otherwise_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let all = instants(base.path(), 1 << 17);
    let (first, last) = (&all[0], &all[4]);
    let dir = base.path().join("other");
    copy_dir(&first.dir, &dir);
    let mut story = Story::at(&first.entries);
    let store = open_apart(&dir, 1 << 17).unwrap();
    let more = u64::try_from(last.entries.len()).unwrap();
    story.write(store.as_ref(), more, &mut Rng(47));
    store.close().unwrap();
    drop(store);
    replaced(&dir, "index", &last.dir);
    assert!(!judge(&dir, &story.entries, 1 << 17, "another history"));
}
