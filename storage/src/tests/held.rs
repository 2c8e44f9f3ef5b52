//! A store whose folder another process changes while it is in use.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::support::{HANG, History, Rng, contents, copy_dir, open, segments};
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::{DurableStore, Faults, Index, OpenError, Store, StoreError, StoreOptions};

/// Waits until the watch has poisoned the store; returns the reason.
fn poisoned(store: &dyn Store) -> String {
    let start = Instant::now();
    loop {
        match store.ready() {
            Err(StoreError::Poisoned(why)) => return why.to_string(),
            other => assert!(start.elapsed() < HANG, "{other:?}"),
        }
        std::thread::yield_now();
    }
}

/// Removes the folder of an open store, whose threads may make another file in a folder that has just been emptied.
fn remove_dir(dir: &Path) {
    let start = Instant::now();
    while let Err(e) = fs::remove_dir_all(dir) {
        let again = e.kind() == std::io::ErrorKind::DirectoryNotEmpty && start.elapsed() < HANG;
        assert!(again, "{e}");
    }
}

fn one(store: &dyn Store) -> Result<crate::CommitNo, StoreError> {
    let seq = store.head(stream(77))?.map_or(0, |h| h.seq) + 1;
    submit(store, commit(vec![entry(stream(77), seq, b"+w1=x")]))
}

#[test]
fn removing_the_lock_file_does_not_unlock_the_folder() {
    let base = tempfile::tempdir().unwrap();
    let store = open(base.path()).unwrap();
    one(store.as_ref()).unwrap();
    fs::remove_file(base.path().join("LOCK")).unwrap();
    for _ in 0..2 {
        let second = open(base.path());
        assert!(matches!(second, Err(OpenError::Busy(_))), "{second:?}");
    }
    let why = poisoned(store.as_ref());
    assert!(why.contains("LOCK was removed"), "{why}");
    drop(store);
    assert_eq!(
        open(base.path())
            .unwrap()
            .head(stream(77))
            .unwrap()
            .unwrap()
            .seq,
        1
    );
}

#[test]
fn names_that_lead_elsewhere_poison_the_store() {
    type Change = Box<dyn Fn(&Path)>;
    let changes: Vec<(&str, Change)> = vec![
        (
            "LOCK was replaced",
            Box::new(|d| {
                fs::remove_file(d.join("LOCK")).unwrap();
                fs::write(d.join("LOCK"), "").unwrap();
            }),
        ),
        (
            "IDENTITY was replaced",
            Box::new(|d| {
                fs::copy(d.join("IDENTITY"), d.join("copy")).unwrap();
                fs::rename(d.join("copy"), d.join("IDENTITY")).unwrap();
            }),
        ),
        (
            "WITNESS was removed",
            Box::new(|d| fs::remove_file(d.join("WITNESS")).unwrap()),
        ),
        (
            "segment was removed",
            Box::new(|d| fs::remove_file(&segments(d)[0]).unwrap()),
        ),
        (
            "journal was removed or moved",
            Box::new(|d| {
                fs::rename(d.join("journal"), d.join("elsewhere")).unwrap();
            }),
        ),
    ];
    for (what, change) in changes {
        let base = tempfile::tempdir().unwrap();
        let store = open(base.path()).unwrap();
        let mut history = History::default();
        history.write(store.as_ref(), 400, &mut Rng(3));
        change(base.path());
        let why = poisoned(store.as_ref());
        assert!(why.contains(what), "{what}: {why}");
    }
}

#[test]
fn nothing_is_acknowledged_once_the_name_leads_elsewhere() {
    type Change = Box<dyn Fn(&Path, &Path)>;
    let changes: Vec<(&str, Change)> = vec![
        ("folder deleted", Box::new(|d, _| remove_dir(d))),
        (
            "folder moved",
            Box::new(|d, away| fs::rename(d, away).unwrap()),
        ),
        (
            "folder replaced by a copy",
            Box::new(|d, away| {
                fs::rename(d, away).unwrap();
                copy_dir(away, d);
            }),
        ),
        (
            "active segment removed",
            Box::new(|d, _| {
                for segment in segments(d) {
                    fs::remove_file(segment).unwrap();
                }
            }),
        ),
        (
            "active segment replaced",
            Box::new(|d, _| {
                for segment in segments(d) {
                    fs::copy(&segment, d.join("copy")).unwrap();
                    fs::rename(d.join("copy"), segment).unwrap();
                }
            }),
        ),
    ];
    for (what, change) in changes {
        let base = tempfile::tempdir().unwrap();
        let (dir, away) = (base.path().join("store"), base.path().join("away"));
        let store = open(&dir).unwrap();
        one(store.as_ref()).unwrap();
        change(&dir, &away);
        let answer = one(store.as_ref());
        assert!(
            matches!(answer, Err(StoreError::Poisoned(_))),
            "{what}: {answer:?}"
        );
    }
}

#[test]
fn a_store_that_was_moved_writes_nothing_into_the_one_in_its_place() {
    let base = tempfile::tempdir().unwrap();
    let (dir, away) = (base.path().join("store"), base.path().join("away"));
    let mut history = History::default();
    let old = open(&dir).unwrap();
    history.write(old.as_ref(), 300, &mut Rng(8));
    fs::rename(&dir, &away).unwrap();
    copy_dir(&away, &dir);
    let before = contents(&dir);
    // enough for several segments and runs of the index
    for seq in 1..200 {
        let large = entry(stream(5), seq, &vec![1; 9000]);
        if submit(old.as_ref(), commit(vec![large])).is_err() {
            break;
        }
    }
    assert!(matches!(old.ready(), Err(StoreError::Poisoned(_))));
    drop(old);
    assert!(before == contents(&dir), "the copy was changed");
    let new = open(&dir).unwrap();
    history.check(new.as_ref());
    drop(new);
    let moved = open(&away).unwrap();
    assert!(moved.stats().last_commit >= 300);
}

#[test]
fn a_segment_that_is_there_is_never_replaced() {
    let base = tempfile::tempdir().unwrap();
    let store = open(base.path()).unwrap();
    one(store.as_ref()).unwrap();
    // far enough ahead that the thread has not prepared it yet
    let ahead = base.path().join("journal/0000000004.segment");
    fs::write(&ahead, "somebody else's").unwrap();
    let mut last = Ok(crate::CommitNo(0));
    for seq in 1..400 {
        last = submit(
            store.as_ref(),
            commit(vec![entry(stream(5), seq, &vec![1; 9000])]),
        );
        if last.is_err() {
            break;
        }
    }
    assert!(matches!(last, Err(StoreError::Poisoned(_))), "{last:?}");
    assert_eq!(fs::read_to_string(&ahead).unwrap(), "somebody else's");
}

#[test]
fn a_segment_that_cannot_be_made_yet_is_waited_for() {
    // out of descriptors, out of room
    for (code, full) in [(24, false), (28, true)] {
        let base = tempfile::tempdir().unwrap();
        let faults = Faults::at(u64::MAX, 0);
        let options = StoreOptions {
            segment_bytes: 64 << 10,
            faults: Some(Arc::clone(&faults)),
            ..StoreOptions::small()
        };
        let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
        let mut seq = 0;
        let mut next = || {
            let body = entry(stream(5), seq + 1, &vec![1; 9000]);
            let answer = submit(store.as_ref(), commit(vec![body]));
            seq += u64::from(answer.is_ok());
            answer
        };
        faults.refuse_creation(code);
        let refused = loop {
            if let Err(e) = next() {
                break e;
            }
        };
        let right = match &refused {
            StoreError::Full(why) => full && why.contains("segment"),
            StoreError::Overloaded => !full,
            _ => false,
        };
        assert!(right, "{code}: {refused}");
        assert!(store.ready().is_err(), "{code}");
        store.head(stream(5)).unwrap();
        faults.refuse_creation(0);
        let start = Instant::now();
        while store.ready().is_err() {
            assert!(start.elapsed() < HANG, "{code}");
            std::thread::yield_now();
        }
        for _ in 0..30 {
            next().unwrap();
        }
        drop(store);
        assert_eq!(
            open(base.path())
                .unwrap()
                .head(stream(5))
                .unwrap()
                .unwrap()
                .seq,
            seq
        );
    }
}

#[test]
fn a_segment_is_made_with_a_descriptor_that_was_kept_back() {
    use crate::files::Files;
    let base = tempfile::tempdir().unwrap();
    let folder = super::support::folder(base.path());
    let files = Files::with(None);
    // as many files as there are reserved descriptors can be opened although the system has none
    // left
    let opened = std::cell::Cell::new(0);
    let none_left = || {
        opened.set(opened.get() + 1);
        Err(std::io::Error::from_raw_os_error(24))
    };
    let end = files.with_spares(none_left);
    assert_eq!(end.unwrap_err().raw_os_error(), Some(24));
    assert_eq!(opened.get(), 9, "each that was kept back is tried");
    files.keep_descriptors();
    files.create(&folder, "one").unwrap();
}
