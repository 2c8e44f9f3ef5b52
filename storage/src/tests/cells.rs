//! Logs of every engine, and nodes that own or follow a cell whose log is elsewhere.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::api::CommitNo;
use crate::conformance::log::{Handle, Logs, all, sealed};
use crate::conformance::{Words, commit, entry, stream, submit};
use crate::durable::disk_log;
use crate::journal::format::{RECORD_HEADER, RecordBuilder, TRAILER};
use crate::log::memory::MemoryLog;
use crate::log::{Log, LogError, Sealed, Tail};
use crate::tests::support::{HANG, History, Rng, open};
use crate::{
    DurableStore, Entry, Head, Index, IndexWriter, NodePart, OpenError, Position, Projection,
    Store, StoreError, StoreOptions, StreamId,
};

const LEASE: Duration = Duration::from_secs(5);

struct Shared(MemoryLog);

impl Logs for Shared {
    fn open(&self) -> Result<Handle, LogError> {
        Ok((Box::new(self.0.handle()), Box::new(())))
    }
}

struct OnDisk(tempfile::TempDir);

impl Logs for OnDisk {
    fn open(&self) -> Result<Handle, LogError> {
        match disk_log(self.0.path(), StoreOptions::small(), Arc::new(Words)) {
            Ok((log, kept)) => Ok((Box::new(log), Box::new(kept))),
            Err(OpenError::Busy(_)) => Err(LogError::Held { address: None }),
            Err(e) => Err(LogError::Lost(Arc::from(e.to_string()))),
        }
    }
}

#[test]
fn a_log_in_memory() {
    all(&|| Box::new(Shared(MemoryLog::new([7; 16]))));
}

#[test]
fn the_log_on_disk() {
    all(&|| Box::new(OnDisk(tempfile::tempdir().unwrap())));
}

fn join(path: &Path, log: &MemoryLog, part: &NodePart) -> Result<Arc<DurableStore>, OpenError> {
    let log = Box::new(log.handle());
    DurableStore::join(path, StoreOptions::small(), Arc::new(Words), log, part)
}

fn owner(name: &str) -> NodePart {
    NodePart::Owner {
        name: name.to_owned(),
        lease: LEASE,
        patience: Duration::ZERO,
    }
}

/// A node that never takes the cell, under a name that no other one has.
fn a_follower() -> NodePart {
    static NAMES: AtomicU64 = AtomicU64::new(0);
    let name = NAMES.fetch_add(1, Ordering::Relaxed);
    NodePart::Node {
        name: Arc::from(format!("follower {name}")),
        url: Arc::from("http://follower"),
        lease: LEASE,
    }
}

fn end(store: Arc<DurableStore>) {
    store.close().unwrap();
    drop(store);
}

fn wait_applied(store: &dyn Index, commit: CommitNo) {
    let began = Instant::now();
    while store.applied() < commit {
        assert!(began.elapsed() < HANG, "{commit:?} is not applied");
        std::thread::yield_now();
    }
}

#[test]
fn a_follower_reads_what_the_owner_has_written() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([3; 16]);
    let (mut history, mut rng) = (History::default(), Rng(11));
    let first = join(&dir.path().join("owner"), &log, &owner("one")).unwrap();
    history.write(first.as_ref(), 60, &mut rng);
    let place = dir.path().join("follower");
    let follower = join(&place, &log, &a_follower()).unwrap();
    wait_applied(follower.as_ref(), CommitNo(history.commits));
    history.check(follower.as_ref());
    history.write(first.as_ref(), 300, &mut rng);
    wait_applied(follower.as_ref(), CommitNo(history.commits));
    history.check(follower.as_ref());
    // The follower accepts nothing, and says so before it does anything.
    let refused = submit(follower.as_ref(), history.make(&mut rng));
    assert!(matches!(refused, Err(StoreError::NotOwner { .. })));
    assert!(matches!(follower.ready(), Err(StoreError::NotOwner { .. })));
    end(follower);
    history.write(first.as_ref(), 40, &mut rng);
    // A folder that was offline catches up before it answers, and its journal is a store of its
    // own.
    end(first);
    let follower = join(&place, &log, &a_follower()).unwrap();
    assert_eq!(follower.applied(), CommitNo(history.commits));
    history.check(follower.as_ref());
    end(follower);
    history.check(open(&place).unwrap().as_ref());
}

#[test]
fn a_node_that_follows_takes_in_only_what_the_owner_has_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([4; 16]);
    let mut owns = log.handle();
    let epoch = owns.acquire("one", LEASE).unwrap();
    let mut append = |n: u64| {
        let bytes = sealed(
            &owns.tail().unwrap(),
            &[commit(vec![entry(stream(1), n, b"x")])],
        );
        owns.append(epoch, &Sealed::parse(&bytes).unwrap()).unwrap();
    };
    append(1);
    append(2);
    // The second record is visible. A server that fails now may lose it: nobody has acknowledged it.
    let follower = join(&dir.path().join("two"), &log, &a_follower()).unwrap();
    assert_eq!(follower.applied(), CommitNo(1));
    append(3);
    wait_applied(follower.as_ref(), CommitNo(2));
    let mut owns = log.handle();
    owns.renew(epoch, LEASE, CommitNo(3)).unwrap();
    wait_applied(follower.as_ref(), CommitNo(3));
    end(follower);
}

/// A record of one entry whose own checksums hold, but not the entry's.
fn unreadable(tail: &Tail) -> Vec<u8> {
    let mut record = RecordBuilder::default();
    record.clear();
    record.push(&commit(vec![entry(stream(1), 2, b"two")]));
    let (sealed, places) = Sealed::seal(&mut record, tail);
    let (mut bytes, place) = (sealed.bytes().to_vec(), places[0] as usize);
    bytes[place + 4] ^= 1;
    let payload = crc32c::crc32c(&bytes[RECORD_HEADER..bytes.len() - TRAILER]);
    bytes[56..60].copy_from_slice(&payload.to_be_bytes());
    let header = crc32c::crc32c(&bytes[..60]);
    bytes[60..64].copy_from_slice(&header.to_be_bytes());
    bytes
}

#[test]
fn a_record_with_an_entry_that_cannot_be_read_gets_into_no_journal() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([6; 16]);
    let first = join(&dir.path().join("owner"), &log, &owner("one")).unwrap();
    let one = commit(vec![entry(stream(1), 1, b"one")]);
    submit(first.as_ref(), one).unwrap();
    end(first);
    let mut newer = log.handle();
    let epoch = newer.acquire("newer", LEASE).unwrap();
    let tail = newer.tail().unwrap();
    let bytes = unreadable(&tail);
    newer
        .append(epoch, &Sealed::parse(&bytes).unwrap())
        .unwrap();
    newer.renew(epoch, LEASE, CommitNo(2)).unwrap();
    let place = dir.path().join("follower");
    for _ in 0..2 {
        let refused = join(&place, &log, &a_follower());
        assert!(
            matches!(
                &refused,
                Err(OpenError::Log(LogError::Read(StoreError::Corrupt(why))))
                    if why.contains("record of commit 2")
            ),
            "{refused:?}"
        );
        let kept = open(&place).unwrap();
        assert_eq!(kept.applied(), CommitNo(1));
        end(kept);
    }
}

/// [`Words`] of a version that knows streams up to kind 8.
struct Older;

impl Projection for Older {
    fn version(&self) -> u32 {
        Words.version()
    }

    fn single(&self) -> &[u8] {
        Words.single()
    }

    fn rest_key(&self, stream: StreamId) -> Option<Vec<u8>> {
        Words.rest_key(stream)
    }

    fn rests(&self, key: &[u8], value: &[u8]) -> Option<(StreamId, Head)> {
        Words.rests(key, value)
    }

    fn project(
        &self,
        entry: &Entry,
        position: Position,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        self.knows(entry)?;
        Words.project(entry, position, index)
    }

    fn knows(&self, entry: &Entry) -> Result<(), StoreError> {
        match entry.stream.kind {
            0..=8 => Ok(()),
            kind => Err(StoreError::Corrupt(
                format!("the unknown kind {kind}").into(),
            )),
        }
    }
}

#[test]
fn what_a_newer_version_has_written_gets_into_no_journal_of_an_older_one() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([12; 16]);
    let first = join(&dir.path().join("owner"), &log, &owner("one")).unwrap();
    let place = dir.path().join("follower");
    let older = || {
        let log = Box::new(log.handle());
        let options = StoreOptions::small();
        DurableStore::join(&place, options, Arc::new(Older), log, &a_follower())
    };
    submit(first.as_ref(), commit(vec![entry(stream(1), 1, b"+a=1")])).unwrap();
    let follower = older().unwrap();
    let newer = StreamId {
        kind: 9,
        ..stream(1)
    };
    submit(first.as_ref(), commit(vec![entry(newer, 1, b"+b=2")])).unwrap();
    let why = wait_until_lost(follower.as_ref());
    assert!(why.contains("commit 2") && why.contains("kind 9"), "{why}");
    drop(follower);
    let refused = older();
    let named = |why: &str| why.contains("commit 2") && why.contains("kind 9");
    assert!(
        matches!(&refused, Err(OpenError::Log(LogError::Read(StoreError::Corrupt(why)))) if named(why)),
        "{refused:?}"
    );
    let kept = open(&place).unwrap();
    assert_eq!(kept.applied(), CommitNo(1));
    end(kept);
    // a program of that version reads on in the same folder
    let follower = join(&place, &log, &a_follower()).unwrap();
    assert_eq!(follower.applied(), CommitNo(2));
}

/// Waits until the store is lost; returns why.
fn wait_until_lost(store: &DurableStore) -> String {
    let began = Instant::now();
    loop {
        if let Err(StoreError::Poisoned(why)) = store.ready() {
            return why.to_string();
        }
        assert!(began.elapsed() < HANG, "it is not lost");
        std::thread::yield_now();
    }
}

#[test]
fn a_follower_takes_over_and_the_owner_before_it_appends_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([4; 16]);
    let (mut history, mut rng) = (History::default(), Rng(12));
    let first = join(&dir.path().join("one"), &log, &owner("one")).unwrap();
    history.write(first.as_ref(), 100, &mut rng);
    let place = dir.path().join("two");
    end(join(&place, &log, &a_follower()).unwrap());
    let refused = join(&place, &log, &owner("two"));
    assert!(matches!(
        refused,
        Err(OpenError::Log(LogError::Held { .. }))
    ));
    // The first owner has renewed its lease a moment ago, and does not do so again soon.
    let began = Instant::now();
    while log.cluster_view().unwrap().acknowledged < CommitNo(history.commits) {
        assert!(began.elapsed() < HANG, "it is acknowledged");
        std::thread::yield_now();
    }
    log.pass(LEASE);
    let second = join(&place, &log, &owner("two")).unwrap();
    history.check(second.as_ref());
    history.write(second.as_ref(), 100, &mut rng);
    let late = commit(vec![entry(stream(9_999), 1, b"late")]);
    let deposed = submit(first.as_ref(), late.clone());
    let told = matches!(
        deposed,
        Err(StoreError::Deposed | StoreError::NotOwner { .. })
    );
    assert!(told, "{deposed:?}");
    let after = submit(first.as_ref(), late);
    assert!(
        matches!(after, Err(StoreError::NotOwner { .. })),
        "{after:?}"
    );
    history.write(second.as_ref(), 10, &mut rng);
    history.check(second.as_ref());
    end(second);
    drop(first);
    // A lease that was released need not be waited for; the deposed node's folder catches up.
    let again = join(&dir.path().join("one"), &log, &owner("one")).unwrap();
    history.write(again.as_ref(), 10, &mut rng);
    history.check(again.as_ref());
}

#[test]
fn an_append_whose_answer_is_lost_is_made_once() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([5; 16]);
    let (mut history, mut rng) = (History::default(), Rng(13));
    let store = join(dir.path(), &log, &owner("one")).unwrap();
    for _ in 0..20 {
        log.lose_answers(1);
        history.write(store.as_ref(), 3, &mut rng);
    }
    history.check(store.as_ref());
    let mut commits = 0;
    log.read(CommitNo(1), &mut |record| {
        commits += u64::from(record.commits());
        true
    })
    .unwrap();
    assert_eq!(commits, history.commits);
}

#[test]
fn an_append_that_arrives_late_is_made_once_and_is_not_refused() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([9; 16]);
    let (mut history, mut rng) = (History::default(), Rng(17));
    let store = join(dir.path(), &log, &owner("one")).unwrap();
    for _ in 0..10 {
        // The append arrives between the question and the second try,
        log.hold_back(1);
        history.write(store.as_ref(), 1, &mut rng);
        // or while that one is refused,
        log.hold_back(1);
        log.refuse(1);
        history.write(store.as_ref(), 1, &mut rng);
        // or twice.
        log.hold_back(2);
        history.write(store.as_ref(), 1, &mut rng);
        // A first append that was refused is certainly not in the log.
        log.refuse(1);
        let refused = submit(store.as_ref(), history.make(&mut rng));
        assert!(matches!(refused, Err(StoreError::Unreachable(_))));
    }
    history.check(store.as_ref());
    end(store);
    let place = tempfile::tempdir().unwrap();
    history.check(join(place.path(), &log, &a_follower()).unwrap().as_ref());
}

#[test]
fn a_lease_is_renewed_while_nobody_writes() {
    let dir = tempfile::tempdir().unwrap();
    let log = MemoryLog::new([10; 16]);
    let short = Duration::from_millis(60);
    let part = NodePart::Owner {
        name: "one".to_owned(),
        lease: short,
        patience: Duration::ZERO,
    };
    let store = join(&dir.path().join("one"), &log, &part).unwrap();
    // The log's clock stalls, so the node makes each renewal on its own.
    for _ in 0..5 {
        log.pass(short.mul_f32(0.9));
        let began = Instant::now();
        while log.left() != Some(short) {
            assert!(began.elapsed() < HANG, "the lease is not renewed");
            std::thread::yield_now();
        }
    }
    store.ready().unwrap();
    // A deposed owner learns of it without writing.
    log.pass(short);
    let mut other = log.handle();
    let began = Instant::now();
    while other.acquire("two", LEASE).is_err() {
        log.pass(short);
        assert!(began.elapsed() < HANG, "the lease does not end");
    }
    while !matches!(store.ready(), Err(StoreError::NotOwner { .. })) {
        assert!(began.elapsed() < HANG, "it does not hear of it");
        std::thread::yield_now();
    }
}

#[test]
fn a_journal_that_is_not_the_logs_is_refused_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let (log, other) = (MemoryLog::new([6; 16]), MemoryLog::new([8; 16]));
    let (mut history, mut rng) = (History::default(), Rng(14));
    let store = join(dir.path(), &log, &owner("one")).unwrap();
    history.write(store.as_ref(), 30, &mut rng);
    end(store);
    let files = super::support::contents(&dir.path().join("journal"));
    let refused = join(dir.path(), &other, &a_follower());
    assert!(matches!(refused, Err(OpenError::NotAStore(_))));
    // A log with the same id that has lost records this node has seen.
    let shorter = MemoryLog::new([6; 16]);
    for part in [owner("one"), a_follower()] {
        let refused = join(dir.path(), &shorter, &part);
        assert!(matches!(refused, Err(OpenError::Corrupt(_))));
    }
    // A log that has grown into another history.
    let (mut another, mut rng) = (History::default(), Rng(15));
    let elsewhere = tempfile::tempdir().unwrap();
    let store = join(elsewhere.path(), &shorter, &owner("two")).unwrap();
    another.write(store.as_ref(), 50, &mut rng);
    let refused = join(dir.path(), &shorter, &a_follower());
    assert!(matches!(refused, Err(OpenError::Corrupt(_))), "{refused:?}");
    assert!(files == super::support::contents(&dir.path().join("journal")));
    history.check(open(dir.path()).unwrap().as_ref());
}

#[test]
fn records_read_the_same_in_every_log() {
    let dir = tempfile::tempdir().unwrap();
    let (mut history, mut rng) = (History::default(), Rng(16));
    let store = open(dir.path()).unwrap();
    history.write(store.as_ref(), 200, &mut rng);
    end(store);
    let (disk, _kept) = disk_log(dir.path(), StoreOptions::small(), Arc::new(Words)).unwrap();
    let mut moved = MemoryLog::new(disk.id());
    let epoch = moved.acquire("one", LEASE).unwrap();
    disk.read(CommitNo(1), &mut |record| {
        let again = Sealed::parse(record.bytes()).unwrap();
        moved.append(epoch, &again).unwrap();
        true
    })
    .unwrap();
    let tail = moved.tail().unwrap();
    assert_eq!(tail, disk.tail().unwrap());
    moved.renew(epoch, LEASE, tail.commit).unwrap();
    let place = tempfile::tempdir().unwrap();
    history.check(join(place.path(), &moved, &a_follower()).unwrap().as_ref());
}
