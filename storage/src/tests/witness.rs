//! Journals whose end was taken away: cut, zeroed, deleted, or replaced by an older one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::support::{HANG, History, Rng, contents, copy_dir, open, segments};
use crate::api::Position;
use crate::conformance::Words;
use crate::durable::witness::{decode, encode};
use crate::index::manifest::JournalMark;
use crate::journal::format::Record;
use crate::{DurableStore, OpenError, Store, StoreOptions};

/// Writes, and waits until the witness names the last commit, without a clean stop.
fn crashed(dir: &Path, history: &mut History, commits: u64) {
    let store = open(dir).unwrap();
    history.write(store.as_ref(), commits, &mut Rng(commits));
    let start = std::time::Instant::now();
    while store.stats().witness_commit < history.commits {
        assert!(start.elapsed() < HANG);
        std::thread::yield_now();
    }
}

/// Zeroes the last `records` records.
fn zero(dir: &Path, mut records: usize) {
    for segment in segments(dir).into_iter().rev() {
        let mut data = fs::read(&segment).unwrap();
        let (mut places, mut at) = (Vec::new(), 4096);
        while let Some(record) = Record::parse(&data[at..]) {
            places.push(at);
            at += record.bytes.len();
        }
        let here = records.min(places.len());
        if let Some(from) = places.iter().rev().take(here).next_back() {
            data[*from..].fill(0);
            fs::write(&segment, data).unwrap();
        }
        records -= here;
    }
}

fn replace(from: &Path, to: &Path) {
    fs::remove_dir_all(to).unwrap();
    copy_dir(from, to);
}

#[test]
fn a_journal_that_lost_its_end_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let origin = base.path().join("origin");
    let older = base.path().join("older");
    let mut history = History::default();
    crashed(&origin, &mut history, 300);
    copy_dir(&origin, &older);
    crashed(&origin, &mut history, 500);
    let last = format!("commit {} was written", history.commits);
    let older_journal: PathBuf = older.join("journal");
    type Change<'a> = Box<dyn Fn(&Path) + 'a>;
    let changes: Vec<(&str, Change<'_>)> = vec![
        ("last record zeroed", Box::new(|d| zero(d, 1))),
        ("ten records zeroed", Box::new(|d| zero(d, 10))),
        (
            "newest segments deleted",
            Box::new(|d| {
                for segment in segments(d).iter().rev().take(2) {
                    fs::remove_file(segment).unwrap();
                }
            }),
        ),
        (
            "older journal",
            Box::new(|d| replace(&older_journal, &d.join("journal"))),
        ),
    ];
    for (what, change) in changes {
        for index in ["kept", "gone"] {
            let dir = base.path().join("copy");
            copy_dir(&origin, &dir);
            change(&dir);
            if index == "gone" {
                fs::remove_dir_all(dir.join("index")).unwrap();
            }
            let before = contents(&dir);
            let error = open(&dir).expect_err(what);
            assert!(matches!(error, OpenError::Corrupt(_)), "{what}: {error}");
            let text = error.to_string();
            assert!(
                text.contains(&last) && text.contains("ends with commit"),
                "{what}: {text}"
            );
            assert!(before == contents(&dir), "{what}: changed");
            fs::remove_dir_all(&dir).unwrap();
        }
    }
    history.check(open(&origin).unwrap().as_ref());
}

#[test]
fn another_history_of_the_same_length_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let (one, two) = (base.path().join("one"), base.path().join("two"));
    let mut history = History::default();
    crashed(&one, &mut history, 50);
    copy_dir(&one, &two);
    let again = |dir: &Path, seed: u64| {
        let mut history = History {
            streams: history.streams.clone(),
            entries: history.entries.clone(),
            commits: history.commits,
        };
        let store = open(dir).unwrap();
        history.write(store.as_ref(), 50, &mut Rng(seed));
        store.close().unwrap();
    };
    again(&one, 1);
    again(&two, 2);
    fs::remove_dir_all(one.join("index")).unwrap();
    replace(&two.join("journal"), &one.join("journal"));
    let text = open(&one).unwrap_err().to_string();
    assert!(text.contains("one of the two was replaced"), "{text}");
}

#[test]
fn a_torn_record_behind_the_witness_still_opens() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("a");
    let mut history = History::default();
    crashed(&dir, &mut history, 40);
    let segment = segments(&dir)[0].clone();
    let mut data = fs::read(&segment).unwrap();
    let mut at = 4096;
    while let Some(record) = Record::parse(&data[at..]) {
        at += record.bytes.len();
    }
    // the first half of a sector of a record that was never finished
    let begun = data[4096..4096 + 100].to_vec();
    data[at..at + 100].copy_from_slice(&begun);
    fs::write(&segment, data).unwrap();
    history.check(open(&dir).unwrap().as_ref());
}

#[test]
fn a_witness_that_is_missing_is_made_or_missed() {
    let base = tempfile::tempdir().unwrap();
    let mut history = History::default();
    crashed(base.path(), &mut history, 30);
    let file = base.path().join("WITNESS");
    fs::remove_file(&file).unwrap();
    let known = StoreOptions {
        witnessed: true,
        ..StoreOptions::small()
    };
    let error = DurableStore::open(base.path(), known.clone(), Arc::new(Words)).unwrap_err();
    assert!(
        error.to_string().contains("WITNESS: it is missing"),
        "{error}"
    );
    // a restored store gets a witness
    history.check(open(base.path()).unwrap().as_ref());
    assert!(file.is_file());
    DurableStore::open(base.path(), known, Arc::new(Words)).unwrap();
}

#[test]
fn one_slot_of_the_witness_is_enough() {
    let base = tempfile::tempdir().unwrap();
    let mut history = History::default();
    crashed(base.path(), &mut history, 30);
    crashed(base.path(), &mut history, 30);
    let file = base.path().join("WITNESS");
    let whole = fs::read(&file).unwrap();
    for slot in [0, 4096] {
        let mut torn = whole.clone();
        torn[slot + 20..slot + 60].fill(0x55);
        fs::write(&file, torn).unwrap();
        drop(open(base.path()).unwrap());
    }
    fs::write(&file, vec![0; whole.len()]).unwrap();
    let text = open(base.path()).unwrap_err().to_string();
    assert!(text.contains("not what was written"), "{text}");
    fs::write(&file, &whole).unwrap();
    history.check(open(base.path()).unwrap().as_ref());
}

#[test]
fn the_bytes_of_a_witness_are_these_for_ever() {
    let mark = JournalMark {
        commit: 0x0102,
        chain: [9; 32],
        end: Position(0x0000_0003_0000_1000),
    };
    let slot = encode(&[7; 16], 5, &mark);
    let expected = include_str!("witness.hex").trim();
    assert_eq!(crate::codec::hex(&slot[..88]), expected);
    assert!(slot.len() == 512 && slot[88..].iter().all(|b| *b == 0));
    assert_eq!(decode(&slot), Some(([7; 16], 5, mark)));
    for bit in 0..88 * 8 {
        let mut wrong = slot.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(decode(&wrong), None, "bit {bit}");
    }
}
