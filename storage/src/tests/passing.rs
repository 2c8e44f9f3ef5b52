//! Temporary errors: reads that the system refuses, an index that cannot be opened now, no room.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::support::{HANG, History, Rng, contents, open, segments};
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::index::error::IndexError;
use crate::{DurableStore, Index, OpenError, SortOrder, Store, StoreError, StoreOptions};

fn filled(dir: &Path, commits: u64) -> History {
    let mut history = History::default();
    let store = open(dir).unwrap();
    history.write(store.as_ref(), commits, &mut Rng(33));
    store.close().unwrap();
    history
}

fn with_floor(dir: &Path, floor: u64) -> Result<Arc<DurableStore>, OpenError> {
    let options = StoreOptions {
        free_space_floor: floor,
        ..StoreOptions::small()
    };
    DurableStore::open(dir, options, Arc::new(Words))
}

/// A symlink to itself: the system refuses to open it.
pub(super) fn loop_at(path: &Path) {
    symlink(path.file_name().unwrap(), path).unwrap();
}

#[test]
fn errors_of_sled_are_classified() {
    use std::io::{Error, ErrorKind};
    let os = Error::from_raw_os_error;
    for code in [5, 12, 23, 24, 28, 30] {
        let first = sled::Error::Io(os(code));
        assert!(
            matches!(IndexError::reading(&first), IndexError::Read(_)),
            "{code}"
        );
        // sled copies its errors as text
        let copy = first.clone();
        assert!(
            matches!(IndexError::reading(&copy), IndexError::Read(_)),
            "{code}"
        );
        let panic: Box<dyn std::any::Any + Send> = Box::new(format!(
            "called `Result::unwrap()` on an `Err` value: Io({:?})",
            os(code)
        ));
        assert!(
            matches!(IndexError::panicked(panic.as_ref()), IndexError::Read(_)),
            "{code}"
        );
        assert_eq!(IndexError::from(os(code)).no_room(), code == 28);
        assert_eq!(
            IndexError::from(os(code)).no_means(),
            [12, 23, 24].contains(&code)
        );
    }
    let damage = [
        sled::Error::Corruption { at: None, bt: () },
        sled::Error::Io(Error::new(ErrorKind::UnexpectedEof, "it ends early")),
        sled::Error::Io(os(2)),
    ];
    for e in damage {
        assert!(
            matches!(IndexError::reading(&e), IndexError::Damaged(_)),
            "{e}"
        );
    }
    let panic: Box<dyn std::any::Any + Send> = Box::new("index out of bounds");
    assert!(matches!(
        IndexError::panicked(panic.as_ref()),
        IndexError::Damaged(_)
    ));
}

#[test]
fn reads_that_are_refused_make_it_not_ready_until_they_succeed() {
    let base = tempfile::tempdir().unwrap();
    let history = filled(base.path(), 900);
    let store = open(base.path()).unwrap();
    assert!(segments(base.path()).len() > 2);
    // the very first entry is in the first segment
    let of = history.entries[0].1.stream;
    let first = base.path().join("journal/0000000001.segment");
    let aside = base.path().join("aside");
    let all = || store.read(of, 1, 1, SortOrder::Ascending, 1);
    fs::rename(&first, &aside).unwrap();
    loop_at(&first);
    let error = all().unwrap_err();
    assert!(matches!(error, StoreError::Unreadable(_)), "{error}");
    let why = store.ready().unwrap_err().to_string();
    assert!(why.contains("0000000001.segment"), "{why}");
    fs::remove_file(&first).unwrap();
    fs::rename(&aside, &first).unwrap();
    let start = Instant::now();
    while let Err(e) = store.ready() {
        assert!(matches!(e, StoreError::Unreadable(_)), "{e}");
        assert!(start.elapsed() < HANG);
        std::thread::yield_now();
    }
    all().unwrap();
}

#[test]
fn an_index_that_cannot_be_opened_now_is_kept() {
    let base = tempfile::tempdir().unwrap();
    let history = filled(base.path(), 300);
    let (db, aside) = (base.path().join("index/db"), base.path().join("aside"));
    fs::rename(&db, &aside).unwrap();
    loop_at(&db);
    for _ in 0..2 {
        let error = open(base.path()).unwrap_err();
        assert!(
            matches!(error, OpenError::Io { .. }) && error.passes(),
            "{error}"
        );
        assert!(error.to_string().contains("kept as it is"), "{error}");
    }
    fs::remove_file(&db).unwrap();
    fs::rename(&aside, &db).unwrap();
    let store = open(base.path()).unwrap();
    assert!(!store.stats().index_rebuilt);
    history.check(store.as_ref());
}

#[test]
fn a_rebuild_that_does_not_fit_is_not_begun() {
    let base = tempfile::tempdir().unwrap();
    let history = filled(base.path(), 300);
    fs::write(base.path().join("INDEX-DAMAGED"), b"").unwrap();
    let before = contents(base.path());
    let error = with_floor(base.path(), 1 << 60).unwrap_err();
    assert!(
        matches!(error, OpenError::NoRoom(_)) && error.passes(),
        "{error}"
    );
    assert!(error.to_string().contains("make room"), "{error}");
    assert!(before == contents(base.path()), "something was changed");
    let store = open(base.path()).unwrap();
    assert!(store.stats().index_rebuilt);
    history.check(store.as_ref());
}

#[test]
fn below_the_floor_a_start_writes_nothing_to_the_index_and_serves_reads() {
    let base = tempfile::tempdir().unwrap();
    let mut history = filled(base.path(), 200);
    let store = open(base.path()).unwrap();
    history.write(store.as_ref(), 40, &mut Rng(7));
    drop(store);
    let store = with_floor(base.path(), 1 << 60).unwrap();
    let indexed = store.stats().indexed_commit;
    history.check(store.as_ref());
    assert!(matches!(store.ready(), Err(StoreError::Full(_))));
    let refused = submit(store.as_ref(), commit(vec![entry(stream(77), 1, b"")]));
    assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
    store.close().unwrap();
    assert_eq!(store.stats().indexed_commit, indexed);
    drop(store);
    let store = open(base.path()).unwrap();
    assert!(!store.stats().index_rebuilt);
    history.check(store.as_ref());
    history.write(store.as_ref(), 10, &mut Rng(8));
    store.close().unwrap();
}

#[test]
fn room_is_kept_back_for_a_start_on_a_full_disk() {
    let base = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        reserve_bytes: 100_000,
        ..StoreOptions::small()
    };
    drop(DurableStore::open(base.path(), options, Arc::new(Words)).unwrap());
    let reserve = fs::metadata(base.path().join("RESERVE")).unwrap();
    assert_eq!(reserve.len(), 100_000);
}
