//! The end of the journal: the states that a power cut can leave there, and those that it cannot.

use std::fs;
use std::os::unix::fs::FileExt;

use super::support::{History, Rng, contents, copy_dir, folder, open, segments};
use crate::journal::check::{Checked, Trust, check};
use crate::journal::format::{RECORD_MAGIC, Record};
use crate::{OpenError, Store};

/// A store whose last record is not in the index, with the place and length of that record.
fn with_last_record(dir: &std::path::Path) -> (History, History, usize, usize) {
    let mut rng = Rng(11);
    let mut history = History::default();
    let store = open(dir).unwrap();
    history.write(store.as_ref(), 20, &mut rng);
    let mut shorter = History::default();
    let mut rng2 = Rng(11);
    for _ in 0..20 {
        let c = shorter.make(&mut rng2);
        shorter.took(crate::CommitNo(shorter.commits + 1), c);
    }
    // a body with all kinds of bytes, so that no sector is all zeros by chance
    let mut c = history.make(&mut rng);
    c.entries[0].body = (0..1800u32).map(|n| (n % 255 + 1) as u8).collect();
    let number = crate::conformance::submit(store.as_ref(), c.clone()).unwrap();
    history.took(number, c);
    drop(store);
    // the record cut below counts as never acknowledged, so no witness may know it
    fs::remove_file(dir.join("WITNESS")).unwrap();
    let data = fs::read(&segments(dir)[0]).unwrap();
    let mut at = 4096;
    let mut last = (0, 0);
    while let Some(record) = Record::parse(&data[at..]) {
        last = (at, record.bytes.len());
        at += record.bytes.len();
    }
    assert!(data[last.0..].starts_with(&RECORD_MAGIC));
    (history, shorter, last.0, last.1)
}

fn checked(folder: &crate::folder::Folder, id: &[u8; 16]) -> Result<Checked, OpenError> {
    check(folder, id, &Trust::default(), &|_| {})
}

#[test]
fn a_record_torn_at_every_byte_is_cut() {
    let base = tempfile::tempdir().unwrap();
    let (_, shorter, at, length) = with_last_record(&base.path().join("a"));
    let segment = segments(&base.path().join("a"))[0].clone();
    let whole = fs::read(&segment).unwrap();
    let check = |keep: usize| {
        let mut torn = whole.clone();
        torn[at + keep..at + length].fill(0);
        fs::write(&segment, torn).unwrap();
        let journal = base.path().join("a/journal");
        let id = crate::journal::format::SegmentHeader::parse(&whole[..4096])
            .unwrap()
            .id;
        let found = checked(&folder(&journal), &id).unwrap();
        assert_eq!(found.last_commit, 20, "torn after {keep} of {length} bytes");
        assert_eq!(found.offset as usize, at);
        assert_eq!(found.torn.is_some(), keep > 0);
    };
    (0..length).for_each(check);
    // and the full check for some of them
    for keep in [0, 1, 67, 68, 69, 511, 700, 1024, length - 4, length - 1] {
        let dir = base.path().join(format!("b{keep}"));
        check(keep);
        copy_dir(&base.path().join("a"), &dir);
        let store = open(&dir).unwrap();
        shorter.check(store.as_ref());
        let mut again = History {
            ..shorter_again(&shorter)
        };
        again.write(store.as_ref(), 3, &mut Rng(5));
        drop(store);
        again.check(open(&dir).unwrap().as_ref());
    }
}

fn shorter_again(h: &History) -> History {
    History {
        streams: h.streams.clone(),
        entries: h.entries.clone(),
        commits: h.commits,
    }
}

#[test]
fn a_record_with_missing_sectors_is_cut() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("a");
    let (_, shorter, at, length) = with_last_record(&dir);
    let segment = segments(&dir)[0].clone();
    let whole = fs::read(&segment).unwrap();
    let first = at / 512 * 512;
    let sectors: Vec<usize> = (first..at + length).step_by(512).collect();
    // every subset of the sectors except the full one
    for lost in 1u32..1 << sectors.len() {
        let mut torn = whole.clone();
        for (n, sector) in sectors.iter().enumerate() {
            if lost & 1 << n != 0 {
                let (from, to) = (at.max(*sector), (at + length).min(sector + 512));
                torn[from..to].fill(0);
            }
        }
        fs::write(&segment, torn).unwrap();
        let copy = base.path().join(format!("c{lost}"));
        copy_dir(&dir, &copy);
        let store = open(&copy).unwrap();
        shorter.check(store.as_ref());
        drop(store);
        fs::remove_dir_all(copy).unwrap();
    }
}

#[test]
fn a_flipped_bit_in_the_last_record_is_not_taken_for_a_torn_one() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("a");
    let (_, _, at, length) = with_last_record(&dir);
    let segment = segments(&dir)[0].clone();
    let whole = fs::read(&segment).unwrap();
    let mut rng = Rng(3);
    for _ in 0..400 {
        let (byte, bit) = (at + rng.below(length as u64) as usize, rng.below(8));
        let file = fs::OpenOptions::new().write(true).open(&segment).unwrap();
        file.write_at(&[whole[byte] ^ 1 << bit], byte as u64)
            .unwrap();
        let id = crate::journal::format::SegmentHeader::parse(&whole[..4096])
            .unwrap()
            .id;
        let found = checked(&folder(&dir.join("journal")), &id);
        let text = found.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(
            text.contains(&format!("offset {at}")),
            "byte {byte}, bit {bit}: {text}"
        );
        file.write_at(&[whole[byte]], byte as u64).unwrap();
    }
}

#[test]
fn a_broken_record_before_the_last_is_refused_and_nothing_is_changed() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("a");
    let (_, _, at, _) = with_last_record(&dir);
    let segment = segments(&dir)[0].clone();
    let mut data = fs::read(&segment).unwrap();
    // zeros in place of the second last record: neither torn nor the end of the journal
    let mut place = 4096;
    let mut previous = place;
    while place < at {
        previous = place;
        place += Record::parse(&data[place..]).unwrap().bytes.len();
    }
    data[previous..at].fill(0);
    fs::write(&segment, &data).unwrap();
    let before = contents(&dir);
    let error = open(&dir).unwrap_err();
    assert!(matches!(error, OpenError::Corrupt(_)), "{error}");
    assert!(
        error.to_string().contains(&format!("offset {previous}")),
        "{error}"
    );
    assert!(
        before == contents(&dir),
        "a refused store is left as it was"
    );
}

#[test]
fn the_index_proves_what_the_journal_lost() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("a");
    let mut history = History::default();
    let store = open(&dir).unwrap();
    history.write(store.as_ref(), 30, &mut Rng(4));
    store.close().unwrap();
    drop(store);
    fs::remove_file(dir.join("WITNESS")).unwrap();
    // after a clean close, even a last record that vanished without a trace is noticed
    let segment = segments(&dir)[0].clone();
    let mut data = fs::read(&segment).unwrap();
    let (mut at, mut last) = (4096, 4096);
    while let Some(record) = Record::parse(&data[at..]) {
        last = at;
        at += record.bytes.len();
    }
    data[last..at].fill(0);
    fs::write(&segment, &data).unwrap();
    let error = open(&dir).unwrap_err().to_string();
    assert!(error.contains("the index proves that commit 30"), "{error}");
    assert!(
        fs::read(&segment).unwrap() == data,
        "a refused journal is left as it was"
    );
}
