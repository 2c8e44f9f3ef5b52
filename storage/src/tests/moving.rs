//! Compares a journal with a log, and fills the log, however often that is interrupted.

use std::sync::Arc;
use std::time::Duration;

use crate::api::CommitNo;
use crate::conformance::log::sealed;
use crate::conformance::{commit, entry, stream};
use crate::log::memory::MemoryLog;
use crate::log::{Log as _, LogError, Sealed, Tail};
use crate::moving::{Compared, Difference, Keeper, MovingError, compare, fill};
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

fn compared(records: &Records, log: &MemoryLog) -> (Compared, Vec<u64>) {
    let mut longer = Vec::new();
    let found = compare(
        records,
        log,
        &mut |row, record| {
            assert_eq!(row.tail, record.tail());
            assert_eq!(row.entries, record.entries());
            longer.push(row.number);
        },
        &mut |_| {},
    );
    (found.unwrap(), longer)
}

/// Fills a log with the first `count` records.
fn begin(records: &Records, log: &mut MemoryLog, count: usize) {
    let epoch = log.acquire("one", LEASE).unwrap().epoch;
    let mut left = count;
    let mut put = |record: &Sealed<'_>| {
        let more = left > 0;
        if more {
            log.append(epoch, record).unwrap();
            left -= 1;
        }
        more
    };
    records.read(&records.beginning(), &mut put).unwrap();
    log.release(epoch).unwrap();
}

#[test]
fn a_log_is_filled_whatever_becomes_of_its_answers() {
    let (_dir, _store, records) = store(120);
    let mut log = MemoryLog::new(records.log());
    let control = log.handle();
    let name = Keeper::Folder("a mark".to_owned()).name();
    let mut epoch = log.reserve(&name).unwrap();
    let (mut told, mut all, mut cuts) = (0, 0, 0);
    loop {
        // Lost answers, late appends and refusals are survived; more of them than there are tries
        // end it.
        let outcome = fill(&mut log, epoch, &records, &mut |length| {
            assert!(length > 0);
            told += 1;
            match told % 5 {
                0 => control.lose_answers(1),
                1 => control.hold_back(2),
                2 => control.refuse(4),
                3 if cuts < 10 => control.refuse(5),
                _ => {}
            }
        });
        match outcome {
            Ok(_) => break,
            Err(MovingError::Log(LogError::Yet(_))) => cuts += 1,
            Err(why) => panic!("{why}"),
        }
        control.refuse(0);
        // No node starts on an incomplete log, and whoever continues does so under a new epoch.
        let taken = log.handle().acquire("a node", LEASE);
        assert!(matches!(taken, Err(LogError::Held { .. })));
        log.pass(Duration::from_secs(1 << 20));
        epoch = log.reserve(&name).unwrap();
        let part = compared(&records, &log).0;
        assert!(matches!(part.difference, Difference::Longer(_)), "{part:?}");
    }
    assert_eq!(cuts, 10);
    records
        .read(&records.beginning(), &mut |_| {
            all += 1;
            true
        })
        .unwrap();
    let (found, longer) = compared(&records, &log);
    assert_eq!((found.records, found.tail), (all, end(&records)));
    assert_eq!((found.difference, longer.len()), (Difference::None, 0));
    assert_eq!(log.tail().unwrap(), found.tail);
    assert_eq!(fill(&mut log, epoch, &records, &mut |_| {}).unwrap(), 0);
}

#[test]
fn a_comparison_says_who_has_more_and_where_they_part() {
    let (_dir, _store, records) = store(30);
    // The log is shorter, and then begins later.
    let mut log = MemoryLog::new(records.log());
    begin(&records, &mut log, 20);
    for _ in 0..2 {
        let (found, longer) = compared(&records, &log);
        assert_eq!(
            (found.records, found.difference),
            (20, Difference::Longer(10))
        );
        assert_eq!(longer, (21..=30).collect::<Vec<_>>());
        log.trim(CommitNo(9)).unwrap();
    }
    // The journal is shorter.
    let (_other, _kept, shorter) = store(12);
    let mut log = MemoryLog::new(records.log());
    begin(&records, &mut log, 30);
    let mut same = MemoryLog::new(shorter.log());
    begin(&shorter, &mut same, 12);
    let epoch = same.acquire("one", LEASE).unwrap().epoch;
    for _ in 0..3 {
        let tail = same.tail().unwrap();
        let next = [commit(vec![entry(stream(7), tail.commit.0, b"+x=y")])];
        let bytes = sealed(&tail, &next);
        same.append(epoch, &Sealed::parse(&bytes).unwrap()).unwrap();
    }
    let (found, longer) = compared(&shorter, &same);
    assert_eq!(
        (found.records, found.difference),
        (12, Difference::Behind(3))
    );
    assert!(longer.is_empty());
    // One of the two has branched off.
    let mut other = MemoryLog::new(records.log());
    begin(&records, &mut other, 11);
    let epoch = other.acquire("one", LEASE).unwrap().epoch;
    for _ in 0..3 {
        let tail = other.tail().unwrap();
        let next = [commit(vec![entry(stream(8), tail.commit.0, b"+x=y")])];
        let bytes = sealed(&tail, &next);
        other
            .append(epoch, &Sealed::parse(&bytes).unwrap())
            .unwrap();
    }
    let (found, longer) = compared(&records, &other);
    assert_eq!(found.records, 11);
    let Difference::Differs {
        journal,
        log: there,
    } = found.difference
    else {
        panic!("{found:?}");
    };
    assert_eq!((journal.number, there.number), (12, 12));
    assert_eq!(journal.first, there.first);
    assert_ne!(journal.tail.hash, there.tail.hash);
    assert!(longer.is_empty());
    // Nothing is appended to it.
    let before = other.tail().unwrap();
    let refused = fill(&mut other, epoch, &records, &mut |_| {});
    assert!(matches!(refused, Err(MovingError::Apart(tail)) if tail == before));
    assert_eq!(other.tail().unwrap(), before);
}

#[test]
fn who_keeps_a_cell_is_known_by_the_name() {
    let mut log = MemoryLog::new([9; 16]);
    let tail = Tail {
        commit: CommitNo(77),
        hash: [0xab; 32],
    };
    for keeper in [Keeper::Folder("m".to_owned()), Keeper::Healing(tail)] {
        let epoch = log.reserve(&keeper.name()).unwrap();
        assert_eq!(Keeper::of(&log.standing().unwrap()), Some(keeper));
        log.release(epoch).unwrap();
        assert_eq!(Keeper::of(&log.standing().unwrap()), None);
    }
    let epoch = log.acquire("one", LEASE).unwrap().epoch;
    assert_eq!(Keeper::of(&log.standing().unwrap()), None);
    log.offer(epoch, "two").unwrap();
    assert_eq!(Keeper::of(&log.standing().unwrap()), None);
}
