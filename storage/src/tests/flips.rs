//! One flipped bit anywhere is found, and the part rebuilt or refused; there is never a silent
//! difference.
//!
//! `CAUDAL_FLIPS` sets how many bits are flipped (default 60), `CAUDAL_SEED` where.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::support::{
    APART, History, Rng, contents, copy_dir, open, open_apart, runs_apart, segments, wait_until,
};
use crate::conformance::{commit, entry, place_key, stream, submit};
use crate::journal::format::Record;
use crate::{Index, OpenError, Position, Store, StoreError};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(default)
}

fn filled(dir: &Path, close: bool, file_keys: u64) -> History {
    let mut history = History::default();
    let store = open_apart(dir, file_keys).unwrap();
    history.write(store.as_ref(), 500, &mut Rng(31));
    if close {
        store.close().unwrap();
    }
    history
}

fn flip(file: &Path, byte: u64, bit: u64) {
    let handle = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(file)
        .unwrap();
    let mut one = [0];
    handle.read_exact_at(&mut one, byte).unwrap();
    handle.write_all_at(&[one[0] ^ 1 << bit], byte).unwrap();
}

#[test]
fn a_flipped_bit_in_the_index_loses_nothing() {
    let base = tempfile::tempdir().unwrap();
    let seed = number("CAUDAL_SEED", 1);
    println!("CAUDAL_SEED={seed}");
    let mut rng = Rng(seed);
    let (mut harmless, mut rebuilt, mut apart) = (0, 0, 0);
    let ways = APART.map(|keys| [(true, keys), (false, keys)]).concat();
    for (close, file_keys) in ways {
        let origin = base.path().join(format!("origin-{close}-{file_keys}"));
        let history = filled(&origin, close, file_keys);
        assert_eq!(runs_apart(&origin).is_empty(), file_keys == APART[0]);
        for n in 0..number("CAUDAL_FLIPS", 60) / 4 {
            let dir = base.path().join("copy");
            copy_dir(&origin, &dir);
            let mut files: Vec<PathBuf> = contents(&dir.join("index")).into_keys().collect();
            files.retain(|f| fs::metadata(f).unwrap().len() > 0);
            // mostly the files of blocks; most used bytes of sled's are at the front
            let run = |file: &PathBuf| file.extension().is_some_and(|e| e == "blocks");
            if rng.below(5) != 0 {
                files.retain(|f| f.ends_with("db") || run(f));
            }
            let file = files[rng.below(files.len() as u64) as usize].clone();
            apart += u64::from(run(&file));
            let length = fs::metadata(&file).unwrap().len();
            let used = fs::read(&file).unwrap().iter().rposition(|b| *b != 0);
            let used = used.map_or(length, |u| u as u64 + 1);
            let (byte, bit) = (rng.below(used), rng.below(8));
            flip(&file, byte, bit);
            let place = format!("flip {n}: {} byte {byte} bit {bit}", file.display());
            let store = open_apart(&dir, file_keys).unwrap_or_else(|e| panic!("{place}: {e}"));
            let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                history.check(store.as_ref());
            }));
            assert!(again.is_ok(), "{place}: what was acknowledged differs");
            let anew = store.stats().index_rebuilt;
            drop(store);
            if anew {
                rebuilt += 1
            } else {
                harmless += 1
            }
            fs::remove_dir_all(&dir).unwrap();
        }
    }
    println!(
        "index: {rebuilt} rebuilt, {harmless} harmless, 0 lost; {apart} of them in the files of one run"
    );
}

#[test]
fn a_flipped_bit_in_the_journal_is_named_and_refused() {
    let base = tempfile::tempdir().unwrap();
    let seed = number("CAUDAL_SEED", 1);
    println!("CAUDAL_SEED={seed}");
    let mut rng = Rng(seed + 1);
    let origin = base.path().join("origin");
    let history = filled(&origin, true, APART[1]);
    let all = segments(&origin);
    let (mut refused, mut harmless) = (0, 0);
    for n in 0..number("CAUDAL_FLIPS", 60) {
        let name = all[rng.below(all.len() as u64) as usize].clone();
        let data = fs::read(&name).unwrap();
        let mut end = 4096;
        while let Some(record) = Record::parse(&data[end..]) {
            end += record.bytes.len();
        }
        let inside = end > 4096 && rng.below(4) != 0;
        let byte = rng.below(if inside { end } else { data.len() } as u64);
        let bit = rng.below(8);
        let place = format!("flip {n}: {} byte {byte} bit {bit}", name.display());
        flip(&name, byte, bit);
        let before = contents(&origin);
        match open(&origin) {
            Err(error) => {
                assert!(matches!(error, OpenError::Corrupt(_)), "{place}: {error}");
                let text = error.to_string();
                let segment = name.file_name().unwrap().to_str().unwrap();
                assert!(
                    text.contains(segment) && text.contains("offset"),
                    "{place}: {text}"
                );
                assert!(
                    before == contents(&origin),
                    "{place}: the folder was changed"
                );
                flip(&name, byte, bit);
                refused += 1;
            }
            Ok(store) => {
                // after the last record, a flipped bit looks like the rest of a torn record: it is
                // zeroed
                assert!(byte >= end as u64, "{place}: not seen");
                history.check(store.as_ref());
                drop(store);
                assert!(fs::read(&name).unwrap() == data, "{place}: not mended");
                harmless += 1;
            }
        }
    }
    println!("journal: {refused} refused, {harmless} mended behind the end, 0 unseen");
    history.check(open(&origin).unwrap().as_ref());
}

#[test]
fn a_row_that_leads_to_no_entry_damages_the_index_and_not_the_journal() {
    let base = tempfile::tempdir().unwrap();
    let store = open(base.path()).unwrap();
    for seq in 1..4 {
        submit(store.as_ref(), commit(vec![entry(stream(1), seq, b"+a=1")])).unwrap();
    }
    let row = store.get(&place_key(stream(1), 2)).unwrap().unwrap();
    let place = u64::from_be_bytes(row.try_into().unwrap());
    let wrong = store.entry(Position(place + 1)).unwrap_err();
    assert!(matches!(wrong, StoreError::Corrupt(_)), "{wrong}");
    wait_until("the check has looked", || store.ready().is_err());
    let why = store.ready().unwrap_err().to_string();
    assert!(why.contains("the index is damaged"), "{why}");
    assert_eq!(store.checks().findings[0].place, "index");
    drop(store);
    let store = open(base.path()).unwrap();
    assert!(store.stats().index_rebuilt);
    submit(store.as_ref(), commit(vec![entry(stream(1), 4, b"+a=1")])).unwrap();
    // an entry in the same segment that was changed on disk is damage of the journal
    let segment = base.path().join("journal/0000000001.segment");
    let at = (place & u64::from(u32::MAX)) + 5;
    let file = fs::OpenOptions::new().read(true).write(true).open(segment);
    let (file, mut byte) = (file.unwrap(), [0]);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
    store.entry(Position(place)).unwrap_err();
    wait_until("the check has looked", || store.ready().is_err());
    let why = store.ready().unwrap_err().to_string();
    assert!(why.contains("the journal is damaged"), "{why}");
}
