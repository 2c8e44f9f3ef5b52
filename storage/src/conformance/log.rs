//! The required behaviour of every log: one suite, run against each of them.
//!
//! A new engine passes [`all`] with a function that makes empty logs.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use super::{commit, entry, stream};
use crate::api::{Commit, CommitNo};
use crate::journal::format::RecordBuilder;
use crate::log::{Epoch, Log, LogError, Presence, Sealed, Tail};

/// A lease that does not end while a test runs.
const LONG: Duration = Duration::from_secs(3600);

/// A handle, and the objects that must live as long.
pub type Handle = (Box<dyn Log>, Box<dyn Any>);

/// A log to which several handles can be opened.
pub trait Logs {
    /// Opens another handle, as another process would.
    ///
    /// # Errors
    /// `Held`, if only one process at a time can have the log open.
    fn open(&self) -> Result<Handle, LogError>;
}

/// Makes an empty log.
pub type MakeLog<'a> = &'a dyn Fn() -> Box<dyn Logs>;

/// The bytes of a record after `tail`.
pub fn sealed(tail: &Tail, commits: &[Commit]) -> Vec<u8> {
    let mut record = RecordBuilder::default();
    record.clear();
    commits.iter().for_each(|commit| record.push(commit));
    Sealed::seal(&mut record, tail).0.bytes().to_vec()
}

/// Runs every check, each on a new log; panics at the first difference.
pub fn all(make: MakeLog<'_>) {
    chain(make().as_ref());
    conditions(make().as_ref());
    owners(make().as_ref());
    acknowledging(make().as_ref());
    offers(make().as_ref());
    reservations(make().as_ref());
}

fn append(log: &mut dyn Log, epoch: Epoch, bytes: &[u8]) -> Result<Tail, LogError> {
    let record = Sealed::parse(bytes).expect("a record that was sealed");
    log.append(epoch, &record).map(|()| record.tail())
}

/// Appends records of one to three commits; returns their bytes.
fn fill(log: &mut dyn Log, epoch: Epoch, records: u64) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for n in 0..records {
        let tail = log.tail().expect("reachable");
        let commits: Vec<_> = (0..=n % 3)
            .map(|i| {
                let next = tail.commit.0 + 1 + i;
                commit(vec![entry(stream(1), next, &next.to_be_bytes())])
            })
            .collect();
        let bytes = sealed(&tail, &commits);
        let after = append(log, epoch, &bytes).expect("it follows");
        assert_eq!(log.tail().expect("reachable"), after);
        all.push(bytes);
    }
    all
}

fn read(log: &dyn Log, from: u64) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    log.read(CommitNo(from), &mut |record| {
        seen.push(record.bytes().to_vec());
        true
    })
    .expect("reads");
    seen
}

fn chain(logs: &dyn Logs) {
    let (mut log, _kept) = logs.open().expect("opens");
    let begin = log.tail().expect("reachable");
    assert_eq!(begin.commit, CommitNo(0));
    assert!(read(log.as_ref(), 1).is_empty());
    let epoch = log.acquire("one", LONG).expect("nobody has it");
    assert!(epoch > Epoch(0));
    let all = fill(log.as_mut(), epoch, 20);
    let mut tail = begin;
    for bytes in &all {
        let record = Sealed::parse(bytes).expect("a record");
        assert!(record.follows(&tail));
        tail = record.tail();
    }
    for from in 0..=tail.commit.0 + 1 {
        let ends_behind = |bytes: &&Vec<u8>| {
            Sealed::parse(bytes).expect("a record").tail().commit >= CommitNo(from)
        };
        let expected: Vec<_> = all.iter().filter(ends_behind).cloned().collect();
        assert_eq!(read(log.as_ref(), from), expected, "from {from}");
    }
    let mut first = 0;
    log.read(CommitNo(1), &mut |_| {
        first += 1;
        false
    })
    .expect("reads");
    assert_eq!(first, 1, "a visitor stops it");
    let id = log.id();
    drop((log, _kept));
    let (log, _kept) = logs.open().expect("opens again");
    assert_eq!((log.id(), log.tail().expect("reachable")), (id, tail));
    assert_eq!(read(log.as_ref(), 0), all, "the same in another handle");
}

fn conditions(logs: &dyn Logs) {
    let (mut log, _kept) = logs.open().expect("opens");
    let begin = log.tail().expect("reachable");
    let one = sealed(&begin, &[commit(vec![entry(stream(1), 1, b"x")])]);
    let refused = |done: Result<Tail, LogError>| match done {
        Err(LogError::Deposed { .. }) => "deposed",
        Err(LogError::Gap { .. }) => "gap",
        Err(_) => "other",
        Ok(_) => "appended",
    };
    let none = append(log.as_mut(), Epoch(0), &one);
    assert_eq!(refused(none), "deposed", "nobody owns it");
    let epoch = log.acquire("one", LONG).expect("nobody has it");
    let later = append(log.as_mut(), Epoch(epoch.0 + 1), &one);
    assert_eq!(refused(later), "deposed", "an epoch that never began");
    assert_eq!(log.tail().expect("reachable"), begin, "nothing was done");
    append(log.as_mut(), epoch, &one).expect("it follows");
    let tail = log.tail().expect("reachable");
    assert_eq!(refused(append(log.as_mut(), epoch, &one)), "gap", "twice");
    let wrong = [
        Tail {
            commit: CommitNo(tail.commit.0 + 1),
            ..tail
        },
        Tail {
            hash: begin.hash,
            ..tail
        },
        Tail {
            commit: begin.commit,
            ..tail
        },
    ];
    for before in wrong {
        let bytes = sealed(&before, &[commit(vec![])]);
        assert_eq!(refused(append(log.as_mut(), epoch, &bytes)), "gap");
    }
    assert_eq!(log.tail().expect("reachable"), tail, "nothing was done");
    let empty = sealed(&tail, &[commit(vec![])]);
    append(log.as_mut(), epoch, &empty).expect("a commit of nothing is one");
}

fn owners(logs: &dyn Logs) {
    let (mut first, kept) = logs.open().expect("opens");
    let epoch = first.acquire("one", LONG).expect("nobody has it");
    fill(first.as_mut(), epoch, 3);
    let second = logs.open();
    let held = match second {
        // Only one process at a time can have the log open.
        Err(e) => matches!(e, LogError::Held { .. }),
        Ok((mut second, _kept)) => {
            let taken = second.acquire("two", LONG);
            assert_eq!(
                second.tail().expect("reachable"),
                first.tail().expect("reachable")
            );
            matches!(taken, Err(LogError::Held { .. }))
        }
    };
    assert!(held, "there is an owner");
    let end = first.tail().expect("reachable").commit;
    first.renew(epoch, LONG, end).expect("still the owner");
    let never = first.renew(Epoch(epoch.0 + 1), LONG, end);
    assert!(matches!(never, Err(LogError::Deposed { .. })));
    first.release(epoch).expect("reachable");
    match logs.open() {
        Ok((mut second, _kept)) => {
            let next = second.acquire("two", LONG).expect("it was released");
            assert!(next > epoch, "each owner has an epoch of its own");
            let tail = first.tail().expect("reachable");
            let late = sealed(&tail, &[commit(vec![entry(stream(9), 1, b"late")])]);
            let deposed = append(first.as_mut(), epoch, &late);
            assert!(matches!(deposed, Err(LogError::Deposed { .. })));
            let deposed = first.renew(epoch, LONG, end);
            assert!(matches!(deposed, Err(LogError::Deposed { .. })));
            first.release(epoch).expect("does nothing");
            fill(second.as_mut(), next, 3);
            assert_eq!(read(first.as_ref(), 1), read(second.as_ref(), 1));
        }
        Err(_) => {
            drop((first, kept));
            let (mut second, _kept) = logs.open().expect("the first is gone");
            let next = second.acquire("two", LONG).expect("nobody has it");
            fill(second.as_mut(), next, 3);
        }
    }
}

fn acknowledging(logs: &dyn Logs) {
    let (mut log, _kept) = logs.open().expect("opens");
    let epoch = log.acquire("one", LONG).expect("nobody has it");
    let acknowledged = |log: &dyn Log| log.cluster_view().expect("reachable").acknowledged;
    assert_eq!(acknowledged(log.as_ref()), CommitNo(0), "nothing came");
    fill(log.as_mut(), epoch, 4);
    let tail = log.tail().expect("reachable").commit;
    log.renew(epoch, LONG, tail).expect("still the owner");
    assert_eq!(acknowledged(log.as_ref()), tail);
    let Ok((other, _other_kept)) = logs.open() else {
        return;
    };
    fill(log.as_mut(), epoch, 1);
    let last = log.tail().expect("reachable").commit;
    assert_eq!(
        acknowledged(other.as_ref()),
        tail,
        "the owner may not have acknowledged the last record"
    );
    fill(log.as_mut(), epoch, 1);
    assert_eq!(
        acknowledged(other.as_ref()),
        last,
        "a further record acknowledges the one before it"
    );
}

fn offers(logs: &dyn Logs) {
    let (mut first, _kept) = logs.open().expect("opens");
    let epoch = first.acquire("one", LONG).expect("nobody has it");
    fill(first.as_mut(), epoch, 3);
    let tail = first.tail().expect("reachable");
    assert_eq!(first.cluster_view().expect("reachable").tail, tail);
    // If only one process can have the log open, there is nobody to offer it to.
    let Ok((mut second, _second_kept)) = logs.open() else {
        return;
    };
    for (name, applied) in [("one", 2), ("two", 1), ("two", 3)] {
        let node = Presence {
            name: Arc::from(name),
            url: Arc::from(format!("http://{name}")),
            applied: CommitNo(applied),
            process: 7,
        };
        second.report(&node).expect("reachable");
        let other = Presence { process: 8, ..node };
        let taken = second.report(&other);
        assert!(
            matches!(taken, Err(LogError::NameTaken { .. })),
            "{taken:?}"
        );
    }
    let cluster_view = second.cluster_view().expect("reachable");
    assert_eq!((cluster_view.epoch, cluster_view.tail), (epoch, tail));
    assert_eq!(cluster_view.owner.as_deref(), Some("one"));
    assert_eq!(
        cluster_view.url_after(Duration::ZERO).map(AsRef::as_ref),
        Some("http://one")
    );
    assert!(cluster_view.left.is_some_and(|left| left <= LONG));
    assert!(!cluster_view.is_free_for("two"));
    let mut applied: Vec<_> = cluster_view
        .nodes
        .iter()
        .map(|it| it.node.applied.0)
        .collect();
    applied.sort_unstable();
    assert_eq!(applied, [2, 3], "each node as it was last");
    first.offer(epoch, "two").expect("reachable");
    let cluster_view = first.cluster_view().expect("reachable");
    assert_eq!(cluster_view.owner, None);
    assert_eq!(cluster_view.offered.as_deref(), Some("two"));
    assert!(cluster_view.is_free_for("two") && !cluster_view.is_free_for("three"));
    let other = first.acquire("three", LONG);
    assert!(matches!(other, Err(LogError::Held { .. })), "{other:?}");
    let next = second.acquire("two", LONG).expect("kept for it");
    assert!(next > epoch);
    first.offer(epoch, "one").expect("does nothing");
    let again = first.acquire("one", LONG);
    assert!(matches!(again, Err(LogError::Held { .. })), "{again:?}");
    fill(second.as_mut(), next, 1);
}

fn reservations(logs: &dyn Logs) {
    let (mut first, _kept) = logs.open().expect("opens");
    let epoch = first.reserve("a name").expect("nobody has it");
    assert!(epoch > Epoch(0));
    // A reservation is the right to append.
    fill(first.as_mut(), epoch, 2);
    let Ok((mut second, _second_kept)) = logs.open() else {
        return;
    };
    let cluster_view = second.cluster_view().expect("reachable");
    assert_eq!(
        (cluster_view.epoch, cluster_view.owner.as_deref()),
        (epoch, None)
    );
    assert_eq!(cluster_view.offered.as_deref(), Some("a name"));
    assert!(cluster_view.left.is_some() && !cluster_view.is_free_for("two"));
    let held = |done: Result<Epoch, LogError>| matches!(done, Err(LogError::Held { .. }));
    assert!(held(second.acquire("two", LONG)));
    assert!(held(second.reserve("another name")));
    // A call under the same name gets it at once, and the cell stays reserved.
    let next = second.reserve("a name").expect("it has the name");
    assert!(next > epoch);
    let tail = first.tail().expect("reachable");
    let late = sealed(&tail, &[commit(vec![entry(stream(9), 1, b"late")])]);
    let deposed = append(first.as_mut(), epoch, &late);
    assert!(matches!(deposed, Err(LogError::Deposed { .. })));
    first.release(epoch).expect("does nothing");
    assert!(held(first.acquire("one", LONG)));
    fill(second.as_mut(), next, 1);
    second.release(next).expect("reachable");
    let last = first.acquire("one", LONG).expect("it was given back");
    assert!(last > next);
    fill(first.as_mut(), last, 1);
    assert!(held(second.reserve("a name")), "there is an owner");
}
