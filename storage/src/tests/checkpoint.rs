//! The checkpoint saves reads at a start: how many, and how a wrong checkpoint is handled.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::support::{History, Rng, contents, copy_dir, folder, segments};
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::context::StoreContext;
use crate::durable::checkpoint::{
    self, CHECKPOINT, Checkpoint, TrustedCheckpoint, parse, place_of,
};
use crate::files::{Faults, Files};
use crate::folder::Stamp;
use crate::journal::format::{Record, SegmentHeader, StoreId};
use crate::journal::seal::{Attested, ROW};
use crate::{DurableStore, OpenError, Store, StoreOptions};

pub(super) const SEGMENT: u64 = 64 << 10;

pub(super) fn options() -> StoreOptions {
    StoreOptions {
        segment_bytes: 64 << 10,
        table_bytes: 20_000,
        frozen_max: 1,
        ..StoreOptions::small()
    }
}

pub(super) fn open_with(dir: &Path, options: StoreOptions) -> Result<Arc<DurableStore>, OpenError> {
    DurableStore::open(dir, options, Arc::new(Words))
}

pub(super) fn open(dir: &Path) -> Arc<DurableStore> {
    open_with(dir, options()).unwrap()
}

fn whole(dir: &Path) -> StoreOptions {
    assert!(dir.is_dir());
    StoreOptions {
        check_all: true,
        ..options()
    }
}

pub(super) fn filled(dir: &Path, commits: u64) -> History {
    let mut history = History::default();
    let store = open(dir);
    history.write(store.as_ref(), commits, &mut Rng(5));
    store.close().unwrap();
    history
}

/// Runs the check to the end of the round.
pub(super) fn round(store: &DurableStore) {
    while store.check_step() {}
}

fn id_of(dir: &Path) -> StoreId {
    let data = fs::read(&segments(dir)[0]).unwrap();
    SegmentHeader::parse(&data[..4096]).unwrap().id
}

fn journal_bytes(dir: &Path) -> u64 {
    let sizes = segments(dir).into_iter();
    sizes.map(|s| fs::metadata(s).unwrap().len()).sum()
}

pub(super) fn name(segment: &Path) -> String {
    segment.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Where the n-th record of a segment begins.
pub(super) fn record(segment: &Path, nth: usize) -> usize {
    let data = fs::read(segment).unwrap();
    (0..nth).fold(4096, |at, _| {
        at + Record::parse(&data[at..]).unwrap().bytes.len()
    })
}

pub(super) fn flip(file: &Path, at: usize) {
    let file = fs::OpenOptions::new().read(true).write(true).open(file);
    let (file, mut byte) = (file.unwrap(), [0]);
    file.read_exact_at(&mut byte, at as u64).unwrap();
    file.write_all_at(&[byte[0] ^ 8], at as u64).unwrap();
}

/// Makes the checkpoint accept the file of a segment as it is, as if its bytes had changed on the
/// disk without a write.
pub(super) fn as_if_rotten(dir: &Path, number: u32) {
    let path = dir.join(CHECKPOINT);
    let file = fs::OpenOptions::new().read(true).write(true).open(path);
    let file = file.unwrap();
    let mut row = vec![0; ROW];
    file.read_exact_at(&mut row, place_of(number)).unwrap();
    let mut row = Attested::decode(&row, &id_of(dir)).unwrap();
    let segment = fs::File::open(&segments(dir)[number as usize - 1]).unwrap();
    row.stamp = Stamp::of(&segment).unwrap();
    file.write_all_at(&row.encode(&id_of(dir)), place_of(number))
        .unwrap();
}

#[test]
fn opening_reads_what_is_behind_the_checkpoint_however_much_there_is() {
    let base = tempfile::tempdir().unwrap();
    let body = vec![7; 600];
    let mut seq = 0;
    for segments_wanted in [30, 90] {
        let store = open(base.path());
        let mut write = || {
            let entries = (0..16).map(|n| entry(stream(n), seq + 1, &body));
            submit(store.as_ref(), commit(entries.collect())).unwrap();
            seq += 1;
        };
        while segments(base.path()).len() < segments_wanted {
            write();
        }
        // killed: the last note is on disk
        store.check_step();
        drop(store);
        let store = open(base.path());
        let read = store.checks();
        assert!(
            read.opening_journal_bytes <= 20 * SEGMENT,
            "{segments_wanted} segments, killed: {read:?}"
        );
        store.close().unwrap();
        drop(store);
        let store = open(base.path());
        let read = store.checks();
        // the segment being written, and those that were prepared
        assert!(
            read.opening_journal_bytes <= 3 * SEGMENT,
            "{segments_wanted} segments, closed: {read:?}"
        );
        drop(store);
        let all = open_with(base.path(), whole(base.path())).unwrap().checks();
        assert!(all.opening_journal_bytes >= journal_bytes(base.path()));
        // of the smallest runs, which none was merged with yet, three blocks in five are fences, a filter and the rows
        // before them
        let index = (read.opening_index_bytes, all.opening_index_bytes);
        assert!(2 * index.1 > 3 * index.0, "{index:?}");
    }
}

#[test]
fn what_was_written_before_there_were_checkpoints_is_checked_once() {
    let base = tempfile::tempdir().unwrap();
    let history = filled(base.path(), 800);
    fs::remove_file(base.path().join(CHECKPOINT)).unwrap();
    let store = open(base.path());
    assert_eq!(
        store.checks().opening_journal_bytes,
        journal_bytes(base.path())
    );
    history.check(store.as_ref());
    store.close().unwrap();
    drop(store);
    let store = open(base.path());
    assert!(store.checks().opening_journal_bytes <= 3 * SEGMENT);
    history.check(store.as_ref());
}

/// Everything that is trusted is as it was written.
fn no_more_than(found: &TrustedCheckpoint, truth: &[TrustedCheckpoint], what: &str) {
    for (n, row) in found.attested.iter().enumerate() {
        let same = truth.iter().any(|t| t.attested.get(n) == Some(row));
        assert!(row.is_none() || same, "{what}: row {n}");
    }
    let same = truth.iter().any(|t| t.slot == found.slot);
    assert!(found.slot.is_none() || same, "{what}: the slot");
}

#[test]
fn every_byte_of_the_checkpoint_counts_and_every_length_costs_reading_alone() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    let history = filled(dir, 600);
    let file = dir.join(CHECKPOINT);
    let (bytes, id) = (fs::read(&file).unwrap(), id_of(dir));
    let count = segments(dir).len() as u32;
    let truth = parse(&bytes, &id, count);
    let rows = truth.attested.iter().flatten().count();
    assert!(truth.slot.is_some() && rows >= 4, "{rows} rows");
    // the slot before the last, which is just as true
    let second = [0, 8192].map(|at| {
        let mut one = bytes.clone();
        one[at..at + 8192].fill(0);
        parse(&one, &id, count)
    });
    let truth = [vec![truth], second.to_vec()].concat();
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << (at % 8);
        let found = parse(&wrong, &id, count);
        no_more_than(&found, &truth, &format!("byte {at}"));
        let all = found.attested == truth[0].attested && found.slot == truth[0].slot;
        let older = at < 16384 && truth[1..].iter().any(|t| t.slot == found.slot);
        assert!(!all || older, "byte {at} does not count");
        let cut = parse(&bytes[..at], &id, count);
        no_more_than(&cut, &truth, &format!("cut at {at}"));
    }
    // and the full check for some of them
    let mut rng = Rng(8);
    for n in 0..24 {
        let at = match n % 3 {
            0 => rng.below(2 * 8192),
            _ => 16384 + rng.below(bytes.len() as u64 - 16384),
        } as usize;
        let mut wrong = bytes.clone();
        if n % 2 == 0 {
            wrong[at] ^= 1 << (at % 8);
        } else {
            wrong.truncate(at);
        }
        fs::write(&file, &wrong).unwrap();
        let store = open_with(dir, options()).unwrap_or_else(|e| panic!("{at}: {e}"));
        history.check(store.as_ref());
        round(&store);
        assert_eq!(store.checks().found, 0, "{at}");
        drop(store);
    }
}

#[test]
fn a_checkpoint_of_another_folder_or_time_costs_a_full_check() {
    let base = tempfile::tempdir().unwrap();
    let (dir, other) = (base.path().join("a"), base.path().join("b"));
    let mut history = filled(&dir, 500);
    filled(&other, 500);
    let early = fs::read(dir.join(CHECKPOINT)).unwrap();
    let (copy, again) = (base.path().join("copy"), base.path().join("again"));
    copy_dir(&dir, &copy);
    // the checkpoint of another store
    fs::copy(other.join(CHECKPOINT), dir.join(CHECKPOINT)).unwrap();
    let store = open(&dir);
    assert_eq!(store.checks().opening_journal_bytes, journal_bytes(&dir));
    history.check(store.as_ref());
    drop(store);
    // a copy of the folder
    copy_dir(&copy, &again);
    let store = open(&copy);
    let read = store.checks();
    assert_eq!(read.opening_journal_bytes, journal_bytes(&copy));
    history.check(store.as_ref());
    drop(store);
    // an older checkpoint: whatever it does not name is read
    let store = open(&dir);
    history.write(store.as_ref(), 300, &mut Rng(6));
    store.close().unwrap();
    drop(store);
    let late = fs::read(dir.join(CHECKPOINT)).unwrap();
    fs::write(dir.join(CHECKPOINT), early).unwrap();
    let store = open(&dir);
    assert!(store.checks().opening_journal_bytes > 4 * SEGMENT);
    history.check(store.as_ref());
    drop(store);
    // a newer checkpoint of the same store: the journal from before is intact, and is not called
    // damaged
    fs::write(again.join(CHECKPOINT), late).unwrap();
    let store = open(&again);
    assert!(store.checks().opening_journal_bytes >= journal_bytes(&again));
    assert_eq!(store.stats().last_commit, 500);
}

#[test]
fn a_journal_that_was_changed_is_refused_as_before() {
    type Harm = fn(&Path) -> Option<String>;
    let harms: [(&str, Harm); 7] = [
        ("a bit of a full segment", |d| {
            let at = record(&segments(d)[1], 2);
            flip(&segments(d)[1], at + 100);
            Some(format!("{} at offset {at}", name(&segments(d)[1])))
        }),
        ("a full segment removed", |d| {
            let gone = name(&segments(d)[1]);
            fs::remove_file(&segments(d)[1]).unwrap();
            Some(gone)
        }),
        ("a full segment cut", |d| {
            let file = fs::OpenOptions::new().write(true).open(&segments(d)[1]);
            file.unwrap().set_len(20_000).unwrap();
            Some(name(&segments(d)[1]))
        }),
        ("full segments swapped", |d| {
            let s = segments(d);
            fs::rename(&s[1], d.join("t")).unwrap();
            fs::rename(&s[2], &s[1]).unwrap();
            fs::rename(d.join("t"), &s[2]).unwrap();
            Some(name(&s[1]))
        }),
        ("the end removed", |d| {
            let s = segments(d);
            s.iter().skip(3).for_each(|s| fs::remove_file(s).unwrap());
            None
        }),
        ("the end emptied", |d| {
            let s = segments(d);
            for segment in s.iter().skip(3) {
                let mut data = fs::read(segment).unwrap();
                data[4096..].fill(0);
                fs::write(segment, data).unwrap();
            }
            None
        }),
        ("the last record emptied, and index and witness gone", |d| {
            // nothing but the checkpoint proves it any more, and the checkpoint is not asked
            fs::remove_dir_all(d.join("index")).unwrap();
            fs::remove_file(d.join("WITNESS")).unwrap();
            let at = record(&segments(d)[1], 1);
            flip(&segments(d)[1], at + 100);
            Some(format!("{} at offset {at}", name(&segments(d)[1])))
        }),
    ];
    for (what, harm) in harms {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path();
        filled(dir, 500);
        let place = harm(dir);
        let before = contents(&dir.join("journal"));
        let error = open_with(dir, options()).map(drop).expect_err(what);
        assert!(matches!(error, OpenError::Corrupt(_)), "{what}: {error}");
        let text = error.to_string();
        assert!(place.is_none_or(|p| text.contains(&p)), "{what}: {text}");
        assert!(before == contents(&dir.join("journal")), "{what}: changed");
    }
}

#[test]
fn a_failed_checkpoint_costs_only_reading() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    // a refused checkpoint blocks nothing else
    fs::create_dir_all(dir).unwrap();
    let store = open(dir);
    fs::remove_file(dir.join(CHECKPOINT)).ok();
    store.close().unwrap();
    drop(store);
    fs::remove_file(dir.join(CHECKPOINT)).ok();
    fs::create_dir(dir.join(CHECKPOINT)).unwrap();
    let mut history = History::default();
    let store = open(dir);
    history.write(store.as_ref(), 300, &mut Rng(4));
    store.ready().unwrap();
    store.close().unwrap();
    drop(store);
    let store = open(dir);
    assert_eq!(store.checks().opening_journal_bytes, journal_bytes(dir));
    history.check(store.as_ref());
}

#[test]
fn a_checkpoint_that_fails_permanently_is_removed() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    filled(dir, 400);
    let found = checkpoint::read(&folder(dir), &id_of(dir), segments(dir).len() as u32);
    assert!(found.slot.is_some());
    let faults = Faults::at(1, 1);
    let context = StoreContext {
        path: dir.to_owned(),
        folder: Arc::new(folder(dir)),
        journal: folder(&dir.join("journal")),
        files: Files::with(Some(Arc::clone(&faults))),
        id: id_of(dir),
        health: Arc::default(),
    };
    let mut checkpoint = Checkpoint::new(&Arc::new(context), &found);
    for _ in 0..2 {
        // withdraws what was attested of a segment
        checkpoint.row(2, None);
        assert!(!dir.join(CHECKPOINT).exists());
        // the write, the removal, and the sync of the folder
        assert_eq!(faults.seen(), 3);
    }
}

#[test]
fn a_row_that_attests_less_than_its_segment_holds_refuses_nothing() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    let history = filled(dir, 500);
    let path = dir.join(CHECKPOINT);
    let bytes = fs::read(&path).unwrap();
    let (at, data) = (place_of(2) as usize, fs::read(&segments(dir)[1]).unwrap());
    let mut row = Attested::decode(&bytes[at..at + ROW], &id_of(dir)).unwrap();
    let end = record(&segments(dir)[1], 5);
    let last = Record::parse(&data[record(&segments(dir)[1], 4)..]).unwrap();
    row.seal.end = end as u32;
    row.seal.after.commit.0 = last.header.last_commit();
    row.seal.after.hash = last.hash();
    let mut stale = bytes.clone();
    stale[at..at + ROW].copy_from_slice(&row.encode(&id_of(dir)));
    fs::write(&path, stale).unwrap();
    let store = open(dir);
    assert!(store.checks().opening_journal_bytes >= journal_bytes(dir));
    history.check(store.as_ref());
    round(&store);
    assert_eq!(store.checks().found, 0);
}

#[test]
fn the_parts_of_a_checkpoint_are_read_as_they_were_written() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path();
    filled(dir, 400);
    let found = checkpoint::read(&folder(dir), &id_of(dir), segments(dir).len() as u32);
    let bytes = fs::read(dir.join(CHECKPOINT)).unwrap();
    for (n, row) in (1u32..).zip(&found.attested) {
        let Some(row) = row else { continue };
        let at = place_of(n) as usize;
        assert!(row.encode(&id_of(dir)) == bytes[at..at + ROW], "row {n}");
        let segment = fs::File::open(&segments(dir)[n as usize - 1]).unwrap();
        assert_eq!(row.stamp, Stamp::of(&segment).unwrap());
    }
    assert!(
        found.known().is_some(),
        "the file system says when a file was made"
    );
}

#[derive(Clone, Debug)]
enum Step {
    Write(u8),
    Pieces(u8),
    Restart,
    Crash,
    /// Bytes of the checkpoint are lost.
    Lose(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (1u8..120).prop_map(Step::Write),
        3 => (1u8..20).prop_map(Step::Pieces),
        2 => Just(Step::Restart),
        3 => Just(Step::Crash),
        1 => any::<u16>().prop_map(Step::Lose),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn opening_with_the_checkpoint_is_opening_with_a_full_check(
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 4..24),
    ) {
        let base = tempfile::tempdir().unwrap();
        let dir = base.path();
        let (mut rng, mut history) = (Rng(seed), History::default());
        let mut store = open(dir);
        for step in &steps {
            match step {
                Step::Write(n) => history.write(store.as_ref(), u64::from(*n), &mut rng),
                Step::Pieces(n) => for _ in 0..*n { store.check_step(); },
                Step::Restart | Step::Crash | Step::Lose(_) => {
                    if matches!(step, Step::Restart) {
                        store.close().unwrap();
                    }
                    drop(store);
                    if let Step::Lose(at) = step
                        && let Ok(mut bytes) = fs::read(dir.join(CHECKPOINT))
                        && !bytes.is_empty()
                    {
                        let at = usize::from(*at) % bytes.len();
                        let end = (at + 512).min(bytes.len());
                        bytes[at..end].fill(0);
                        fs::write(dir.join(CHECKPOINT), bytes).unwrap();
                    }
                    store = open(dir);
                    history.check(store.as_ref());
                    let (last, chain) = (store.stats().last_commit, store.stats().witness_chain);
                    drop(store);
                    store = open_with(dir, whole(dir)).unwrap();
                    prop_assert_eq!(store.stats().last_commit, last);
                    prop_assert_eq!(store.stats().witness_chain, chain);
                    history.check(store.as_ref());
                    drop(store);
                    store = open(dir);
                }
            }
        }
        round(&store);
        prop_assert_eq!(store.checks().found, 0);
        history.check(store.as_ref());
    }
}
