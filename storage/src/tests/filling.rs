//! Fills empty logs with the records of a journal, however often that is interrupted.

use std::sync::Arc;
use std::time::Duration;

use crate::api::CommitNo;
use crate::filling::{Closed, FillError, LogFill, may_fill, supersede};
use crate::log::memory::MemoryLog;
use crate::log::{Log as _, LogError, Sealed, Tail};
use crate::tests::support::{History, Rng, open};
use crate::{DurableStore, Records};

const LEASE: Duration = Duration::from_secs(5);

/// A store with this many commits, its folder, and its records.
fn store(commits: u64) -> (tempfile::TempDir, Arc<DurableStore>, Records) {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    History::default().write(store.as_ref(), commits, &mut Rng(21));
    let records = store.records();
    (dir, store, records)
}

fn end(records: &Records) -> Tail {
    let mut tail = records.beginning().tail();
    let mut see = |record: &Sealed<'_>| {
        tail = record.tail();
        true
    };
    records.read(&records.beginning(), &mut see).unwrap();
    tail
}

/// Puts all records after which `before` says to go on.
fn put(
    records: &Records,
    filling: &mut LogFill,
    before: &mut dyn FnMut(u64) -> bool,
) -> Result<(), FillError> {
    let (mut nth, mut failed) = (0, None);
    let mut each = |record: &Sealed<'_>| {
        nth += 1;
        failed = if before(nth) {
            filling.put(record).err()
        } else {
            return false;
        };
        failed.is_none()
    };
    records.read(&records.beginning(), &mut each).unwrap();
    failed.map_or(Ok(()), Err)
}

fn closed(log: &MemoryLog) -> Option<Closed> {
    Closed::of(&log.cluster_view().unwrap())
}

#[test]
fn a_log_is_filled_whatever_becomes_of_its_answers() {
    let (_dir, _store, records) = store(120);
    let log = MemoryLog::new(records.log());
    let control = log.handle();
    let (mut told, mut cuts) = (0, 0);
    loop {
        let mut filling = LogFill::begin(Box::new(log.handle())).unwrap();
        assert_eq!(closed(&log), Some(Closed::Filling));
        // Lost answers, late appends and refusals are survived; more of them than there are tries end it.
        let mut there = 0;
        let mut count = |_: &Sealed<'_>| {
            there += 1;
            true
        };
        log.read(CommitNo(1), &mut count).unwrap();
        let outcome = put(&records, &mut filling, &mut |nth| {
            // Records that an earlier run appended are only compared.
            if nth <= there {
                return true;
            }
            told += 1;
            match told % 5 {
                0 => control.lose_answers(1),
                1 => control.hold_back(2),
                2 => control.refuse(4),
                3 if cuts < 10 => control.refuse(5),
                _ => {}
            }
            true
        });
        control.refuse(0);
        // No node starts on an incomplete log.
        let taken = log.handle().acquire("a node", LEASE);
        assert!(matches!(taken, Err(LogError::Held { .. })));
        match outcome {
            Ok(()) => {
                assert_eq!(filling.verify().unwrap(), end(&records));
                filling.finish().unwrap();
                break;
            }
            Err(FillError::Log(LogError::Yet(_))) => cuts += 1,
            Err(why) => panic!("{why}"),
        }
    }
    assert_eq!(cuts, 10);
    assert_eq!((log.tail().unwrap(), closed(&log)), (end(&records), None));
    log.handle().acquire("a node", LEASE).unwrap();
}

#[test]
fn a_log_with_other_records_is_not_changed() {
    let (_dir, _store, records) = store(30);
    let (_other, _kept, others) = store(31);
    let log = MemoryLog::new(records.log());
    let mut filling = LogFill::begin(Box::new(log.handle())).unwrap();
    put(&records, &mut filling, &mut |nth| nth < 10).unwrap();
    // An interrupted run has fewer records than what it is asked to open.
    put(&records, &mut filling, &mut |_| true).unwrap_err();
    drop(filling);
    let begun = log.tail().unwrap();
    // A run with other records, or with fewer, does not continue.
    let mut other = LogFill::begin(Box::new(log.handle())).unwrap();
    let apart = put(&others, &mut other, &mut |_| true).unwrap_err();
    assert!(matches!(apart, FillError::Apart(_)), "{apart}");
    let mut short = LogFill::begin(Box::new(log.handle())).unwrap();
    put(&records, &mut short, &mut |nth| nth < 4).unwrap();
    let short = short.verify().unwrap_err();
    assert!(matches!(short, FillError::Differs { .. }), "{short}");
    assert_eq!(log.tail().unwrap(), begun);
    let mut again = LogFill::begin(Box::new(log.handle())).unwrap();
    put(&records, &mut again, &mut |_| true).unwrap();
    again.verify().unwrap();
    again.finish().unwrap();
    // What nobody is filling any more is somebody's log.
    let taken = LogFill::begin(Box::new(log.handle())).unwrap_err();
    assert!(matches!(taken, FillError::Taken(_)), "{taken}");
}

#[test]
fn a_superseded_log_has_no_owner_and_says_by_what() {
    let (_dir, _store, records) = store(30);
    let mut log = MemoryLog::new(records.log());
    let epoch = log.acquire("one", LEASE).unwrap();
    let owned = supersede(&mut log.handle(), "elsewhere", log.tail().unwrap()).unwrap_err();
    assert!(
        matches!(owned, FillError::Log(LogError::Held { .. })),
        "{owned}"
    );
    log.release(epoch).unwrap();
    let tail = Tail {
        commit: CommitNo(7),
        ..Tail::default()
    };
    let differs = supersede(&mut log, "elsewhere", tail).unwrap_err();
    assert!(matches!(differs, FillError::Differs { .. }), "{differs}");
    assert_eq!(closed(&log), None);
    for _ in 0..2 {
        let tail = log.tail().unwrap();
        supersede(&mut log, "elsewhere", tail).unwrap();
    }
    log.pass(Duration::from_secs(1 << 20));
    assert_eq!(
        closed(&log),
        Some(Closed::Superseded("elsewhere".to_owned()))
    );
    assert!(matches!(
        log.handle().acquire("a node", LEASE),
        Err(LogError::Held { .. })
    ));
    assert!(matches!(
        may_fill(&log),
        Err(FillError::Superseded(by)) if by == "elsewhere"
    ));
}
