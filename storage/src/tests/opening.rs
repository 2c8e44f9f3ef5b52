//! Files that are missing, swapped, cut or foreign, and stores that are already open.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::support::{History, Rng, contents, copy_dir, open, segments, wait_until};
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::{DurableStore, Index, OpenError, Store, StoreError, StoreOptions};

fn filled(dir: &Path, commits: u64) -> History {
    let mut history = History::default();
    let store = open(dir).unwrap();
    history.write(store.as_ref(), commits, &mut Rng(21));
    store.close().unwrap();
    history
}

#[test]
fn reopening_finds_everything_closed_or_not() {
    let base = tempfile::tempdir().unwrap();
    let mut history = History::default();
    let mut rng = Rng(1);
    for round in 0..8 {
        let store = open(base.path()).unwrap();
        history.check(store.as_ref());
        history.write(store.as_ref(), 300, &mut rng);
        history.check(store.as_ref());
        if round % 2 == 0 {
            store.close().unwrap();
        }
    }
    assert!(segments(base.path()).len() > 3, "segments roll");
    history.check(open(base.path()).unwrap().as_ref());
}

#[test]
fn two_owners_are_refused() {
    let base = tempfile::tempdir().unwrap();
    let store = open(base.path()).unwrap();
    assert!(matches!(open(base.path()), Err(OpenError::Busy(_))));
    drop(store);
    open(base.path()).unwrap();
}

#[test]
fn a_folder_with_other_things_is_refused() {
    let base = tempfile::tempdir().unwrap();
    fs::write(base.path().join("letter.txt"), "dear").unwrap();
    let error = open(base.path()).unwrap_err();
    assert!(matches!(error, OpenError::NotAStore(_)), "{error}");
    assert_eq!(contents(base.path()).len(), 1);
}

#[test]
fn missing_parts_are_refused_and_never_started_empty() {
    let base = tempfile::tempdir().unwrap();
    let origin = base.path().join("a");
    filled(&origin, 1500);
    let all = segments(&origin);
    assert!(all.len() >= 4);
    let damage: Vec<(&str, Box<dyn Fn(&Path)>)> = vec![
        (
            "identity",
            Box::new(|d| fs::remove_file(d.join("IDENTITY")).unwrap()),
        ),
        (
            "journal",
            Box::new(|d| fs::remove_dir_all(d.join("journal")).unwrap()),
        ),
        (
            "first segment",
            Box::new(|d| fs::remove_file(&segments(d)[0]).unwrap()),
        ),
        (
            "middle segment",
            Box::new(|d| fs::remove_file(&segments(d)[1]).unwrap()),
        ),
        (
            "last segments",
            Box::new(|d| {
                segments(d)
                    .iter()
                    .rev()
                    .take(2)
                    .for_each(|s| fs::remove_file(s).unwrap());
            }),
        ),
        (
            "all segments",
            Box::new(|d| {
                segments(d).iter().for_each(|s| fs::remove_file(s).unwrap());
            }),
        ),
        (
            "swapped segments",
            Box::new(|d| {
                let s = segments(d);
                fs::rename(&s[0], d.join("t")).unwrap();
                fs::rename(&s[1], &s[0]).unwrap();
                fs::rename(d.join("t"), &s[1]).unwrap();
            }),
        ),
        (
            "cut segment",
            Box::new(|d| {
                let file = fs::OpenOptions::new()
                    .write(true)
                    .open(&segments(d)[1])
                    .unwrap();
                file.set_len(100_000).unwrap();
            }),
        ),
        (
            "emptied segment",
            Box::new(|d| {
                let mut data = fs::read(&segments(d)[1]).unwrap();
                data[4096..].fill(0);
                fs::write(&segments(d)[1], data).unwrap();
            }),
        ),
        (
            "flipped identity",
            Box::new(|d| {
                let mut data = fs::read(d.join("IDENTITY")).unwrap();
                data[30] ^= 1;
                fs::write(d.join("IDENTITY"), data).unwrap();
            }),
        ),
    ];
    for (what, harm) in damage {
        let dir = base.path().join("b");
        copy_dir(&origin, &dir);
        harm(&dir);
        let journal = dir.join("journal");
        let before = journal.is_dir().then(|| contents(&journal));
        let error = open(&dir).map(drop).expect_err(what);
        let refused = matches!(error, OpenError::Corrupt(_) | OpenError::NotAStore(_));
        assert!(refused, "{what}: {error}");
        assert!(
            before == journal.is_dir().then(|| contents(&journal)),
            "{what}: changed"
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_folder_of_another_disk_format_is_refused_with_its_number() {
    let base = tempfile::tempdir().unwrap();
    filled(base.path(), 5);
    let file = base.path().join("IDENTITY");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.starts_with("caudal store, format 1\n"), "{text}");
    fs::write(&file, text.replacen("format 1", "format 2", 1)).unwrap();
    let before = contents(base.path());
    let refused = open(base.path()).unwrap_err();
    assert!(matches!(refused, OpenError::NotAStore(_)), "{refused}");
    let why = refused.to_string();
    assert!(
        why.contains("disk format 2") && why.contains("format 1"),
        "{why}"
    );
    assert!(before == contents(base.path()), "it was changed");
}

#[test]
fn another_stores_segment_is_refused() {
    let base = tempfile::tempdir().unwrap();
    filled(&base.path().join("a"), 300);
    filled(&base.path().join("b"), 300);
    let (a, b) = (
        segments(&base.path().join("a")),
        segments(&base.path().join("b")),
    );
    fs::copy(&b[0], &a[0]).unwrap();
    let error = open(&base.path().join("a")).unwrap_err().to_string();
    assert!(error.contains("another store"), "{error}");
}

#[test]
fn an_index_that_is_lost_or_cut_is_rebuilt() {
    let base = tempfile::tempdir().unwrap();
    let origin = base.path().join("a");
    let history = filled(&origin, 600);
    let damage: Vec<(&str, Box<dyn Fn(&Path)>)> = vec![
        (
            "folder removed",
            Box::new(|d| fs::remove_dir_all(d.join("index")).unwrap()),
        ),
        (
            "db removed",
            Box::new(|d| fs::remove_file(d.join("index/db")).unwrap()),
        ),
        (
            "db emptied",
            Box::new(|d| fs::write(d.join("index/db"), b"").unwrap()),
        ),
        (
            "db cut",
            Box::new(|d| {
                let file = fs::OpenOptions::new()
                    .write(true)
                    .open(d.join("index/db"))
                    .unwrap();
                let length = file.metadata().unwrap().len();
                file.set_len(length / 2).unwrap();
            }),
        ),
        (
            "conf removed",
            Box::new(|d| fs::remove_file(d.join("index/conf")).unwrap()),
        ),
        (
            "marked",
            Box::new(|d| fs::write(d.join("INDEX-DAMAGED"), b"x").unwrap()),
        ),
        (
            "snapshots removed",
            Box::new(|d| {
                for item in fs::read_dir(d.join("index")).unwrap() {
                    let path = item.unwrap().path();
                    if path
                        .file_name()
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .starts_with("snap.")
                    {
                        fs::remove_file(path).unwrap();
                    }
                }
            }),
        ),
        (
            "unfinished snapshot",
            Box::new(|d| {
                fs::write(d.join("index/snap.0000.generating"), b"half").unwrap();
            }),
        ),
    ];
    for (what, harm) in damage {
        let dir = base.path().join("b");
        copy_dir(&origin, &dir);
        for _ in 0..2 {
            harm(&dir);
            let store = open(&dir).unwrap_or_else(|e| panic!("{what}: {e}"));
            history.check(store.as_ref());
            assert!(!dir.join("INDEX-DAMAGED").exists());
            store.close().unwrap();
        }
        let aside = fs::read_dir(&dir).unwrap().filter(|i| {
            i.as_ref()
                .unwrap()
                .file_name()
                .to_str()
                .unwrap()
                .starts_with("index.damaged")
        });
        assert_eq!(aside.count(), 0, "{what}: the old one is kept");
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn another_projection_rebuilds_the_index() {
    struct Nothing;
    impl crate::Projection for Nothing {
        fn version(&self) -> u32 {
            8
        }
        fn project(
            &self,
            _: &crate::Entry,
            _: crate::Position,
            _: &mut dyn crate::IndexWriter,
        ) -> Result<(), StoreError> {
            Ok(())
        }
    }
    let base = tempfile::tempdir().unwrap();
    let history = filled(base.path(), 100);
    let store = DurableStore::open(base.path(), StoreOptions::small(), Arc::new(Nothing)).unwrap();
    let rows = store
        .scan(&[2], &[0xFF], crate::SortOrder::Ascending, 9)
        .unwrap();
    assert!(rows.is_empty());
    drop(store);
    history.check(open(base.path()).unwrap().as_ref());
}

#[test]
fn below_the_floor_writes_are_refused_and_reads_go_on() {
    let base = tempfile::tempdir().unwrap();
    let history = filled(base.path(), 10);
    let options = StoreOptions {
        free_space_floor: u64::MAX,
        ..StoreOptions::small()
    };
    let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
    history.check(store.as_ref());
    assert!(matches!(store.ready(), Err(StoreError::Full(_))));
    let refused = submit(store.as_ref(), commit(vec![entry(stream(77), 1, b"")]));
    assert!(matches!(refused, Err(StoreError::Full(_))));
}

#[test]
fn a_creation_that_was_cut_short_is_begun_anew() {
    let base = tempfile::tempdir().unwrap();
    for n in 1..200 {
        let dir = base.path().join(format!("{n}"));
        let faults = crate::Faults::at(n, u64::MAX);
        let options = StoreOptions {
            faults: Some(Arc::clone(&faults)),
            ..StoreOptions::small()
        };
        let opened = DurableStore::open(&dir, options, Arc::new(Words));
        let done = opened.is_ok();
        drop(opened);
        let store = open(&dir).unwrap_or_else(|e| panic!("after failure {n}: {e}"));
        submit(store.as_ref(), commit(vec![entry(stream(1), 1, b"")])).unwrap();
        if done && n > 30 {
            return;
        }
    }
}

#[test]
fn files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let base = tempfile::tempdir().unwrap();
    let dir = base.path().join("deep/store");
    filled(&dir, 5);
    let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir), mode(&dir.join("journal"))), (0o700, 0o700));
    assert_eq!(mode(&dir.join("index")), 0o700);
    for file in [
        "IDENTITY",
        "LOCK",
        "WITNESS",
        "index/db",
        "journal/0000000001.segment",
    ] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}

#[test]
fn the_queue_is_bounded() {
    let base = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        queue_commits: 4,
        ..StoreOptions::small()
    };
    let store = DurableStore::open(base.path(), options, Arc::new(Words)).unwrap();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let (reach, reached) = std::sync::mpsc::channel();
    store.barrier(Box::new(move |_| {
        reach.send(()).unwrap();
        assert!(held.recv().is_ok());
    }));
    // The committer has taken the barrier out of the queue, and is held there.
    reached.recv().unwrap();
    let (give, take) = std::sync::mpsc::channel();
    for seq in 1..=6 {
        let give = give.clone();
        let c = commit(vec![entry(stream(1), seq, b"")]);
        store.submit(c, Box::new(move |r| give.send((seq, r)).unwrap()));
    }
    for seq in [5, 6] {
        assert!(matches!(take.recv().unwrap(), (s, Err(StoreError::Overloaded)) if s == seq));
    }
    hold.send(()).unwrap();
    for seq in 1..=4 {
        assert!(matches!(take.recv().unwrap(), (s, Ok(_)) if s == seq));
    }
}

#[test]
fn a_child_process_that_is_being_started_does_not_keep_the_lock() {
    let base = tempfile::tempdir().unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    std::process::Command::new("true").status().unwrap();
                }
            });
        }
        let result = std::panic::catch_unwind(|| {
            let mut history = History::default();
            for _ in 0..60 {
                let store = open(base.path()).unwrap();
                let anew = store.stats().index_rebuilt;
                assert!(!anew, "the index was rebuilt for nothing");
                history.write(store.as_ref(), 2, &mut Rng(9));
                drop(store);
            }
            history.check(open(base.path()).unwrap().as_ref());
        });
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        result.unwrap();
    });
}

#[test]
fn a_first_commit_larger_than_a_segment_is_found_again() {
    let base = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        segment_bytes: 64 << 10,
        ..StoreOptions::small()
    };
    let open = || DurableStore::open(base.path(), options.clone(), Arc::new(Words)).unwrap();
    let large = entry(stream(1), 1, &vec![7; 100 << 10]);
    let store = open();
    submit(store.as_ref(), commit(vec![large.clone()])).unwrap();
    store.close().unwrap();
    drop(store);
    let found = open()
        .read(stream(1), 1, 1, crate::SortOrder::Ascending, 1)
        .unwrap();
    assert_eq!(found, [large]);
}

#[test]
fn a_segment_that_is_nearly_full_has_the_next_one_prepared_as_soon_as_it_is_opened() {
    let base = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(3));
    let store = open(base.path()).unwrap();
    let size = u64::from(StoreOptions::small().segment_bytes);
    // Each commit takes much less than the remaining quarter.
    while store.stats().journal_bytes * 4 < size * 3 {
        history.write(store.as_ref(), 1, &mut rng);
    }
    store.close().unwrap();
    drop(store);
    // As if the program had ended before the next segment was ready.
    for next in segments(base.path()).iter().skip(1) {
        fs::remove_file(next).unwrap();
    }
    let store = open(base.path()).unwrap();
    wait_until("the next segment is there", || {
        segments(base.path()).len() == 2
    });
    history.check(store.as_ref());
    history.write(store.as_ref(), 300, &mut rng);
    history.check(store.as_ref());
}
