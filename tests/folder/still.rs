//! Changes to a folder that no process uses.

use std::fs;
use std::path::{Path, PathBuf};

use super::Tally;
use super::site::{Opened, Site, copy};

/// The right result of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Right {
    /// Exit code 3, with an explanation.
    Refused,
    /// Everything is still there.
    Whole,
    /// Either of the two.
    Any,
}

/// A change to a folder; the second folder is an older copy of it.
type Change = fn(&Path, &Path);

/// A change, and the folder that it is made to.
#[derive(Debug)]
pub struct Case {
    name: &'static str,
    change: Change,
    right: Right,
    killed: bool,
    without_index: bool,
}

/// The segments of a folder, ascending.
pub fn segments(data: &Path) -> Vec<PathBuf> {
    let items = fs::read_dir(data.join("store/journal")).unwrap();
    let mut all: Vec<_> = items.map(|item| item.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|e| e == "segment"));
    all.sort();
    all
}

/// The offsets of a segment's records, and the end of the last one.
fn records(data: &[u8]) -> Vec<usize> {
    let (mut places, mut at) = (vec![4096], 4096);
    while data.get(at..at + 4) == Some(b"CdR1") {
        let length = u32::from_be_bytes(data[at + 4..at + 8].try_into().unwrap());
        at += 72 + usize::try_from(length).unwrap();
        places.push(at);
    }
    places
}

/// Segments that contain records, ascending, with their contents.
fn written(data: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let bytes = fs::read(&path).unwrap();
        (path, bytes)
    };
    let mut all: Vec<_> = segments(data).into_iter().map(read).collect();
    all.retain(|(_, bytes)| records(bytes).len() > 1);
    all
}

fn zero_tail(data: &Path, mut count: usize) {
    for (path, mut bytes) in written(data).into_iter().rev() {
        let places = records(&bytes);
        let here = count.min(places.len() - 1);
        bytes[places[places.len() - 1 - here]..].fill(0);
        fs::write(path, bytes).unwrap();
        count -= here;
    }
}

fn delete_newest(data: &Path, with_records: usize) {
    let keep = written(data).len() - with_records;
    for path in segments(data).into_iter().skip(keep) {
        fs::remove_file(path).unwrap();
    }
}

fn replace(name: &str, data: &Path, older: &Path) {
    let to = data.join(name);
    if to.is_dir() {
        fs::remove_dir_all(&to).unwrap();
    } else {
        fs::remove_file(&to).unwrap();
    }
    copy(&older.join(name), &to);
}

fn change_byte(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn remove(data: &Path, name: &str) {
    fs::remove_file(data.join(name)).unwrap();
}

const CHANGES: [(&str, Change, Right); 30] = [
    ("nothing", |_, _| {}, Right::Whole),
    ("LOCK removed", |d, _| remove(d, "store/LOCK"), Right::Whole),
    (
        "IDENTITY removed",
        |d, _| remove(d, "store/IDENTITY"),
        Right::Refused,
    ),
    (
        "IDENTITY emptied",
        |d, _| fs::write(d.join("store/IDENTITY"), "").unwrap(),
        Right::Refused,
    ),
    (
        "WITNESS removed",
        |d, _| remove(d, "store/WITNESS"),
        Right::Refused,
    ),
    (
        "WITNESS emptied",
        |d, _| fs::write(d.join("store/WITNESS"), "").unwrap(),
        Right::Refused,
    ),
    (
        "WITNESS of an older copy",
        |d, o| replace("store/WITNESS", d, o),
        Right::Whole,
    ),
    (
        "store.id removed",
        |d, _| remove(d, "store.id"),
        Right::Whole,
    ),
    (
        "store.id of another",
        |d, _| {
            fs::write(d.join("store.id"), format!("store {}\n", "ab".repeat(16))).unwrap();
        },
        Right::Refused,
    ),
    (
        "store removed",
        |d, _| fs::remove_dir_all(d.join("store")).unwrap(),
        Right::Refused,
    ),
    (
        "store emptied",
        |d, _| {
            fs::remove_dir_all(d.join("store")).unwrap();
            fs::create_dir(d.join("store")).unwrap();
        },
        Right::Refused,
    ),
    (
        "store and store.id removed",
        |d, _| {
            fs::remove_dir_all(d.join("store")).unwrap();
            remove(d, "store.id");
        },
        Right::Refused,
    ),
    (
        "journal removed",
        |d, _| fs::remove_dir_all(d.join("store/journal")).unwrap(),
        Right::Refused,
    ),
    (
        "journal emptied",
        |d, _| {
            segments(d)
                .iter()
                .for_each(|path| fs::remove_file(path).unwrap());
        },
        Right::Refused,
    ),
    (
        "journal of an older copy",
        |d, o| replace("store/journal", d, o),
        Right::Refused,
    ),
    (
        "index of an older copy",
        |d, o| replace("store/index", d, o),
        Right::Whole,
    ),
    (
        "first segment removed",
        |d, _| fs::remove_file(&segments(d)[0]).unwrap(),
        Right::Refused,
    ),
    (
        "middle segment removed",
        |d, _| fs::remove_file(&segments(d)[1]).unwrap(),
        Right::Refused,
    ),
    (
        "newest segment removed",
        |d, _| delete_newest(d, 1),
        Right::Refused,
    ),
    (
        "newest two segments removed",
        |d, _| delete_newest(d, 2),
        Right::Refused,
    ),
    ("last record zeroed", |d, _| zero_tail(d, 1), Right::Refused),
    (
        "last 10 records zeroed",
        |d, _| zero_tail(d, 10),
        Right::Refused,
    ),
    (
        "last 40 records zeroed",
        |d, _| zero_tail(d, 40),
        Right::Refused,
    ),
    (
        "last segment cut",
        |d, _| {
            let (path, bytes) = written(d).pop().unwrap();
            let length = records(&bytes).pop().unwrap() - 100;
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(u64::try_from(length).unwrap()).unwrap();
        },
        Right::Refused,
    ),
    (
        "last segment emptied",
        |d, _| {
            let (path, mut bytes) = written(d).pop().unwrap();
            bytes[4096..].fill(0);
            fs::write(path, bytes).unwrap();
        },
        Right::Refused,
    ),
    (
        "segments swapped",
        |d, _| {
            let all = segments(d);
            fs::rename(&all[0], d.join("t")).unwrap();
            fs::rename(&all[1], &all[0]).unwrap();
            fs::rename(d.join("t"), &all[1]).unwrap();
        },
        Right::Refused,
    ),
    (
        "a bit in the middle",
        |d, _| change_byte(&segments(d)[1], 200_000),
        Right::Refused,
    ),
    (
        "a bit in the last record",
        |d, _| {
            let (path, bytes) = written(d).pop().unwrap();
            let places = records(&bytes);
            change_byte(&path, places[places.len() - 2] + 90);
        },
        Right::Refused,
    ),
    (
        "noise behind the last record",
        |d, _| {
            let (path, mut bytes) = written(d).pop().unwrap();
            let end = records(&bytes).pop().unwrap();
            bytes[end..end + 700].fill(0x5A);
            fs::write(path, bytes).unwrap();
        },
        Right::Any,
    ),
    (
        "index cut in half",
        |d, _| {
            let Ok(file) = fs::OpenOptions::new()
                .write(true)
                .open(d.join("store/index/db"))
            else {
                return;
            };
            file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        },
        Right::Whole,
    ),
];

/// All changes, on stopped and killed folders, with and without the index.
pub fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, change, right) in CHANGES {
        for killed in [false, true] {
            for without_index in [false, true] {
                all.push(Case {
                    name,
                    change,
                    right,
                    killed,
                    without_index,
                });
            }
        }
    }
    all
}

impl Site {
    /// Makes one change and judges how the binary reacts.
    pub async fn still(&self, case: &Case, tally: &mut Tally) {
        let base = if case.killed {
            &self.killed
        } else {
            &self.stopped
        };
        let what = format!(
            "{} ({}, index {})",
            case.name,
            if case.killed { "killed" } else { "stopped" },
            if case.without_index { "gone" } else { "kept" }
        );
        let data = self.fresh();
        copy(&base.data, &data);
        (case.change)(&data, &self.older);
        let index = data.join("store/index");
        if case.without_index && index.is_dir() {
            fs::remove_dir_all(index).unwrap();
        }
        let seen = match self.open(&data).await {
            Opened::Refused(code, why) => {
                tally.refused += 1;
                let verified = self.verify(&data);
                if code != Some(3) || why.trim().is_empty() || verified != Some(3) {
                    let answer = format!("{what}: exit {code:?}, verify {verified:?}: {why}");
                    tally.wrong.push(answer);
                }
                Right::Refused
            }
            Opened::Serves(process) => {
                let lacks = process.lacks(self, &base.acked).await;
                tally.vouchers += base.acked.len();
                if lacks > 0 {
                    tally
                        .wrong
                        .push(format!("{what}: {lacks} lost without a word"));
                }
                tally.whole += 1;
                Right::Whole
            }
        };
        if case.right != Right::Any && case.right != seen {
            tally
                .wrong
                .push(format!("{what}: {seen:?} instead of {:?}", case.right));
        }
        fs::remove_dir_all(&data).unwrap();
    }
}
