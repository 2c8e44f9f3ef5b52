//! Compressed segments hold the same records, wherever the process was stopped, and any damage in one is always
//! noticed.

use std::fs;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::checkpoint::{SEGMENT, flip, name, open_with, options, round};
use super::support::{APART, History, Rng, contents, copy_dir, files, runs_apart, segments};
use crate::conformance;
use crate::durable::checkpoint::{CHECKPOINT, place_of};
use crate::folder::Stamp;
use crate::journal::format::SEGMENT_HEADER;
use crate::journal::names::packed_name;
use crate::journal::packed::{FRAME, PACKED_HEADER, Packed};
use crate::journal::seal::{Attested, ROW};
use crate::{DurableStore, Faults, OpenError, Store, StoreError, StoreOptions};

pub(super) fn packing() -> StoreOptions {
    StoreOptions {
        compress_after_segments: 1,
        ..options()
    }
}

pub(super) fn open(dir: &Path) -> Arc<DurableStore> {
    open_with(dir, packing()).unwrap()
}

/// Lets the checker finish all of its work.
pub(super) fn settle(store: &DurableStore) {
    for _ in 0..1_000 {
        let before = store.stats().compressed_segments;
        store.check_step();
        round(store);
        if store.stats().compressed_segments == before {
            return;
        }
    }
}

/// The files of compressed segments.
pub(super) fn packed(dir: &Path) -> Vec<PathBuf> {
    files(dir, "packed")
}

/// Whether a segment has any record.
fn holds(segment: &Path) -> bool {
    let file = fs::File::open(segment).unwrap();
    let mut first = [0; 8];
    let behind = u64::from(SEGMENT_HEADER);
    file.read_exact_at(&mut first, behind).unwrap();
    first != [0; 8]
}

/// A closed store whose old segments are compressed, with its folder and history.
pub(super) fn filled(base: &Path, commits: u64) -> (PathBuf, History) {
    let dir = base.join("origin");
    let mut history = History::default();
    let store = open_with(&dir, options()).unwrap();
    history.write(store.as_ref(), commits, &mut Rng(5));
    store.close().unwrap();
    drop(store);
    copy_dir(&dir, &base.join("plain"));
    let store = open(&dir);
    settle(&store);
    store.close().unwrap();
    assert!(packed(&dir).len() > 3, "{:?}", packed(&dir));
    (dir, history)
}

/// Makes the checkpoint accept the file of a segment as it is.
fn as_if_rotten(dir: &Path, number: u32) {
    let path = dir.join(CHECKPOINT);
    let file = fs::OpenOptions::new().read(true).write(true).open(path);
    let file = file.unwrap();
    let mut row = vec![0; ROW];
    file.read_exact_at(&mut row, place_of(number)).unwrap();
    let id = row[4..20].try_into().unwrap();
    let mut row = Attested::decode(&row, &id).unwrap();
    let segment = fs::File::open(dir.join("journal").join(packed_name(number))).unwrap();
    row.stamp = Stamp::of(&segment).unwrap();
    file.write_all_at(&row.encode(&id), place_of(number))
        .unwrap();
}

#[test]
fn compressed_segments_hold_the_same_in_every_way_of_reading() {
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("s");
    let (mut history, mut rng) = (History::default(), Rng(5));
    let store = open(&dir);
    history.write(store.as_ref(), 800, &mut rng);
    history.check(store.as_ref());
    let before = store.stats();
    settle(&store);
    let stats = store.stats();
    assert!(stats.compressed_segments > 3, "{stats:?}");
    assert_eq!(stats.compressed_segments, packed(&dir).len() as u64);
    // handles of uncompressed files are dropped in favour of the compressed ones
    history.check(store.as_ref());
    let saved = before.journal_disk_bytes - stats.journal_disk_bytes;
    assert_eq!(saved, stats.compressed_saved_bytes);
    // the next segment, if it exists, has no record yet
    let all = [segments(&dir), packed(&dir)].concat();
    let bytes = |path: &PathBuf| fs::metadata(path).unwrap().len();
    let all: u64 = all.iter().map(bytes).sum();
    let prepared = all - store.stats().journal_disk_bytes;
    assert!([0, SEGMENT].contains(&prepared), "{prepared}");
    let held = store.stats().frame_cache_bytes;
    assert!(held > 0 && held <= packing().frame_cache_bytes, "{held}");
    history.write(store.as_ref(), 300, &mut rng);
    history.check(store.as_ref());
    drop(store);
    // reopened as it was left, after a close, reading everything, without a checkpoint, with a new index
    history.check(open(&dir).as_ref());
    open(&dir).close().unwrap();
    let store = open(&dir);
    let read = store.checks();
    assert!(read.opening_journal_bytes <= 3 * SEGMENT, "{read:?}");
    history.check(store.as_ref());
    drop(store);
    let everything = StoreOptions {
        check_all: true,
        ..packing()
    };
    history.check(open_with(&dir, everything).unwrap().as_ref());
    fs::remove_file(dir.join(CHECKPOINT)).unwrap();
    history.check(open(&dir).as_ref());
    fs::remove_dir_all(dir.join("index")).unwrap();
    let store = open(&dir);
    assert!(store.stats().index_rebuilt);
    history.check(store.as_ref());
    settle(&store);
    assert_eq!(store.checks().found, 0);
    drop(store);
    // a copy, opened without compression
    copy_dir(&dir, &base.path().join("copy"));
    let store = open_with(&base.path().join("copy"), options()).unwrap();
    history.check(store.as_ref());
    history.write(store.as_ref(), 50, &mut rng);
    history.check(store.as_ref());
}

#[test]
fn it_conforms_while_its_segments_are_compressed() {
    let folders = Mutex::new(Vec::new());
    let busy = StoreOptions {
        check_bytes_per_second: 1 << 30,
        table_bytes: 600,
        frame_cache_bytes: 0,
        ..packing()
    };
    conformance::all(&|p| {
        let folder = tempfile::tempdir().unwrap();
        let store = DurableStore::open(folder.path(), busy.clone(), p).unwrap();
        folders.lock().unwrap().push(folder);
        store
    });
}

#[test]
fn one_that_is_off_compresses_nothing_and_the_last_ones_stay() {
    let base = tempfile::tempdir().unwrap();
    for (after, some) in [(0, false), (1, true), (4, true), (1_000_000, false)] {
        let dir = base.path().join(after.to_string());
        let options = StoreOptions {
            compress_after_segments: after,
            ..options()
        };
        let store = open_with(&dir, options).unwrap();
        let mut history = History::default();
        history.write(store.as_ref(), 700, &mut Rng(9));
        settle(&store);
        // The segment after the last may exist by now or not: it holds nothing.
        let plain = segments(&dir).iter().filter(|path| holds(path)).count();
        assert_eq!(!packed(&dir).is_empty(), some, "after {after}");
        // and the segment being written
        assert!(plain > after.min(7) as usize, "after {after}: {plain}");
        history.check(store.as_ref());
    }
}

#[test]
fn every_nth_failure_while_segments_are_compressed_loses_nothing() {
    let step: u64 = std::env::var("CAUDAL_FAULT_STEP").map_or(11, |v| v.parse().unwrap());
    let base = tempfile::tempdir().unwrap();
    let (_, history) = filled(base.path(), 600);
    let plain = base.path().join("plain");
    let (mut failures, mut finished, mut apart) = (0, 0, 0);
    let ways = APART.map(|keys| [(1, keys), (u64::MAX, keys)]).concat();
    for (turn, (count, apart_keys)) in (0u64..).zip(ways) {
        let mut n = 1 + step * turn / 4;
        let usual = StoreOptions {
            apart_keys,
            ..packing()
        };
        loop {
            let what = format!("change {n}, {count} failures, apart from {apart_keys} keys");
            let dir = base.path().join("work");
            copy_dir(&plain, &dir);
            let faults = Faults::at(n, count);
            let options = StoreOptions {
                faults: Some(Arc::clone(&faults)),
                ..usual.clone()
            };
            if let Ok(store) = open_with(&dir, options) {
                settle(&store);
                finished += store.stats().compressed_segments;
                // Runs are merged meanwhile, and a merge may meet the failure, too.
                let looked = AssertUnwindSafe(|| history.check(store.as_ref()));
                let right = store.ready().is_err() || catch_unwind(looked).is_ok();
                assert!(right || store.ready().is_err(), "{what}");
            }
            let store = open_with(&dir, usual.clone()).unwrap_or_else(|e| panic!("{what}: {e}"));
            history.check(store.as_ref());
            settle(&store);
            assert!(store.stats().compressed_segments > 3, "{what}");
            history.check(store.as_ref());
            drop(store);
            apart += usize::from(!runs_apart(&dir).is_empty());
            let twice: Vec<_> = segments(&dir)
                .iter()
                .map(|s| s.with_extension("packed"))
                .collect();
            assert!(
                twice.iter().all(|path| !path.exists()),
                "{what}: both are left"
            );
            history.check(open(&dir).as_ref());
            fs::remove_dir_all(&dir).unwrap();
            if faults.seen() < n {
                break;
            }
            failures += 1;
            n += step;
        }
    }
    assert!(finished > 0);
    println!(
        "{failures} failures while segments were compressed, 0 lost; {apart} with runs that had files of their own"
    );
}

#[test]
fn whatever_a_stop_leaves_of_both_forms_the_whole_one_is_read() {
    type Left = fn(&Path, &Path);
    let unfinished: Left = |dir, packed| {
        let bytes = fs::read(packed).unwrap();
        let name = packed.with_extension("packing");
        fs::write(
            dir.join("journal").join(name.file_name().unwrap()),
            &bytes[..bytes.len() / 2],
        )
        .unwrap();
    };
    let both: Left = |dir, packed| {
        let name = dir.join("journal").join(packed.file_name().unwrap());
        fs::copy(packed, name).unwrap();
    };
    let rotten: Left = |dir, packed| {
        let name = dir.join("journal").join(packed.file_name().unwrap());
        fs::copy(packed, &name).unwrap();
        flip(&name, 700);
    };
    let foreign: Left = |dir, packed| {
        let other = packed.with_file_name(packed_name(3));
        fs::copy(other, dir.join("journal").join(packed.file_name().unwrap())).unwrap();
    };
    let cases = [
        ("half a file", unfinished),
        ("both", both),
        ("a rotten one", rotten),
        ("another", foreign),
    ];
    let base = tempfile::tempdir().unwrap();
    let (origin, history) = filled(base.path(), 600);
    for (what, left) in cases {
        let dir = base.path().join("work");
        copy_dir(&base.path().join("plain"), &dir);
        left(&dir, &packed(&origin)[1]);
        // without compression only unfinished files are removed
        history.check(open_with(&dir, options()).unwrap().as_ref());
        // a damaged compressed file stays beside the segment until the next start
        for _ in 0..2 {
            let store = open(&dir);
            history.check(store.as_ref());
            settle(&store);
            history.check(store.as_ref());
            assert_eq!(
                (store.checks().found, store.ready().is_ok()),
                (0, true),
                "{what}"
            );
        }
        history.check(open(&dir).as_ref());
        assert_eq!(packed(&dir).len(), packed(&origin).len(), "{what}");
        let left = contents(&dir.join("journal")).into_keys();
        assert_eq!(
            left.filter(|p| p.extension().is_some_and(|e| e == "packing"))
                .count(),
            0,
            "{what}"
        );
        assert!(
            !segments(&dir).contains(&dir.join("journal/0000000002.segment")),
            "{what}"
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_compressed_segment_that_is_not_what_was_written_is_refused() {
    type Harm = fn(&Path);
    fn nth(dir: &Path, n: usize) -> PathBuf {
        packed(dir)[n].clone()
    }
    let harms: [(&str, Harm, &str); 7] = [
        (
            "gone",
            |d| fs::remove_file(nth(d, 1)).unwrap(),
            "0000000002.segment",
        ),
        (
            "cut",
            |d| {
                fs::OpenOptions::new()
                    .write(true)
                    .open(nth(d, 1))
                    .unwrap()
                    .set_len(9000)
                    .unwrap()
            },
            "0000000002.packed at offset 0",
        ),
        (
            "longer",
            |d| {
                let mut bytes = fs::read(nth(d, 1)).unwrap();
                bytes.push(0);
                fs::write(nth(d, 1), bytes).unwrap();
            },
            "0000000002.packed at offset 0",
        ),
        (
            "empty",
            |d| fs::write(nth(d, 1), b"").unwrap(),
            "0000000002.packed at offset 0",
        ),
        (
            "another's",
            |d| {
                fs::copy(nth(d, 2), nth(d, 1)).unwrap();
            },
            "0000000002.packed at offset 0",
        ),
        (
            "under another number",
            |d| {
                fs::rename(nth(d, 1), d.join("journal").join(packed_name(4_000))).unwrap();
            },
            "0000000002.segment",
        ),
        (
            "newer ones gone",
            |d| {
                segments(d).iter().for_each(|s| fs::remove_file(s).unwrap());
                fs::remove_file(d.join("WITNESS")).unwrap();
            },
            "newer records",
        ),
    ];
    let base = tempfile::tempdir().unwrap();
    let (origin, history) = filled(base.path(), 600);
    for (what, harm, told) in harms {
        let dir = base.path().join("work");
        copy_dir(&origin, &dir);
        harm(&dir);
        let before = contents(&dir);
        let error = open_with(&dir, packing()).map(drop).unwrap_err();
        assert!(matches!(error, OpenError::Corrupt(_)), "{what}: {error}");
        assert!(error.to_string().contains(told), "{what}: {error}");
        assert!(before == contents(&dir), "{what}: the folder was changed");
        fs::remove_dir_all(&dir).unwrap();
    }
    history.check(open(&origin).as_ref());
}

#[test]
fn the_check_and_readers_find_a_flipped_bit_in_a_compressed_segment() {
    let base = tempfile::tempdir().unwrap();
    let (dir, history) = filled(base.path(), 600);
    let file = packed(&dir)[2].clone();
    let frames = fs::metadata(&file).unwrap().len() as usize;
    // in the second half of the frames, so that the offset is that of a frame
    flip(&file, frames - 50);
    as_if_rotten(&dir, 3);
    let rotten = fs::read(&file).unwrap();
    let store = open(&dir);
    store.ready().unwrap();
    // unreadable entries are refused, and never served
    let refused = history.read_all(store.as_ref()).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Corrupt(why) if why.contains(&name(&file))),
        "{refused}"
    );
    settle(&store);
    let checks = store.checks();
    assert_eq!(checks.found, 1, "{checks:?}");
    let finding = &checks.findings[0];
    let begin = 4096 + (SEGMENT - 4096 - 1) / u64::from(FRAME) * u64::from(FRAME);
    assert_eq!(
        (&finding.place, finding.offset),
        (&name(&file), Some(begin))
    );
    assert!(matches!(store.ready(), Err(StoreError::Corrupt(_))));
    drop(store);
    assert!(fs::read(&file).unwrap() == rotten, "it was changed");
    let error = open_with(&dir, packing())
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(&format!("{} at offset {begin}", name(&file))),
        "{error}"
    );
    flip(&file, frames - 50);
    history.check(open(&dir).as_ref());
}

/// A compressed segment as this version wrote it: it must stay readable.
#[test]
fn the_bytes_of_a_compressed_segment_are_read_for_ever() {
    let base = tempfile::tempdir().unwrap();
    let text = include_str!("packed.hex").trim();
    let bytes = crate::codec::unhex(text).unwrap();
    let path = base.path().join("f");
    fs::write(&path, &bytes).unwrap();
    let open = || Packed::open(fs::File::open(&path).unwrap(), 7);
    let packed = open().unwrap();
    let mut whole = vec![0; 70_000];
    let length = packed
        .copy(&mut whole, 0, &mut |nth| packed.unpack(nth))
        .unwrap();
    assert_eq!(length, 66_000);
    let mut expected = crate::journal::format::SegmentHeader {
        number: 7,
        size: 66_000,
        id: [5; 16],
    }
    .encode();
    // more than one frame of the segment
    expected.extend((4096..65_800u32).map(|n| if n % 97 == 0 { (n / 97) as u8 } else { 7 }));
    expected.resize(66_000, 0);
    assert!(whole[..66_000] == expected);
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).unwrap();
        let read = open().and_then(|packed| {
            let mut whole = vec![0; 66_000];
            packed.copy(&mut whole, 0, &mut |nth| packed.unpack(nth))
        });
        assert!(read.is_err(), "bit {bit} of {PACKED_HEADER} and more");
    }
}
