//! The suite for every log, and tests of several handles to one log.

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use caudal_storage::conformance::log::{Handle, Logs, all, sealed};
use caudal_storage::conformance::{commit, entry, stream};
use caudal_storage::log::{Epoch, Log, LogError, Sealed};

use crate::server::{Server, cell, shared};

const LONG: Duration = Duration::from_secs(3600);

struct OnServer(Arc<Server>, u32);

impl Logs for OnServer {
    fn open(&self) -> Result<Handle, LogError> {
        Ok((Box::new(self.0.open(self.1)), Box::new(Arc::clone(&self.0))))
    }
}

/// A record of one commit after the end of a log.
pub(super) fn next(log: &dyn Log, body: &[u8]) -> Vec<u8> {
    let tail = log.tail().unwrap();
    let seq = tail.commit.0 + 1;
    sealed(&tail, &[commit(vec![entry(stream(1), seq, body)])])
}

#[test]
fn the_log_on_postgresql() {
    let Some(server) = shared() else { return };
    all(&|| Box::new(OnServer(Arc::clone(&server), cell())));
}

#[test]
fn one_of_many_contenders_owns_the_cell() {
    let Some(server) = shared() else { return };
    let cell = cell();
    let mut before = Epoch(0);
    for round in 0..10 {
        let begin = Arc::new(Barrier::new(4));
        let wants = |n: usize| {
            let (server, begin) = (Arc::clone(&server), Arc::clone(&begin));
            thread::spawn(move || {
                // One of them creates the tables and the cell while the others try the same.
                let mut log = server.open(cell);
                begin.wait();
                let taken = log.acquire(&format!("node {n}"), LONG);
                taken.map(|epoch| (log, epoch))
            })
        };
        let wanting: Vec<_> = (0..4).map(wants).collect();
        let done: Vec<_> = wanting.into_iter().map(|w| w.join().unwrap()).collect();
        let (taken, held): (Vec<_>, Vec<_>) = done.into_iter().partition(Result::is_ok);
        for refused in held {
            let address = match refused {
                Err(LogError::Held { address }) => address.unwrap(),
                other => panic!("{other:?}"),
            };
            assert!(address.starts_with("node "), "{address}");
        }
        let mut owners: Vec<_> = taken.into_iter().map(Result::unwrap).collect();
        assert_eq!(owners.len(), 1, "round {round}");
        let (mut log, epoch) = owners.pop().unwrap();
        assert!(epoch > before, "an epoch has one owner");
        before = epoch;
        log.release(epoch).unwrap();
    }
}

#[test]
fn a_lease_ends_by_the_steady_clock_of_whoever_wants_it() {
    let Some(server) = shared() else { return };
    let cell = cell();
    let (mut first, mut second) = (server.open(cell), server.open(cell));
    let short = Duration::from_millis(300);
    let epoch = first.acquire("first", short).unwrap();
    let began = Instant::now();
    let next_epoch = loop {
        match second.acquire("second", LONG) {
            Ok(epoch) => break epoch,
            Err(LogError::Held { address }) => assert_eq!(address.as_deref(), Some("first")),
            Err(e) => panic!("{e}"),
        }
    };
    assert!(next_epoch > epoch);
    assert!(
        began.elapsed() >= short,
        "it has seen the lease for its length"
    );
    let late = next(&first, b"late");
    let record = Sealed::parse(&late).unwrap();
    let deposed = first.append(epoch, &record);
    assert!(matches!(deposed, Err(LogError::Deposed { epoch }) if epoch == next_epoch));
    second.append(next_epoch, &record).unwrap();
    let end = second.tail().unwrap().commit;
    // A renewed lease goes on.
    second.renew(next_epoch, short, end).unwrap();
    second.renew(next_epoch, LONG, end).unwrap();
    let held = first.acquire("first", LONG);
    assert!(matches!(held, Err(LogError::Held { .. })));
}

#[test]
fn what_was_changed_in_the_database_is_not_believed() {
    let Some(server) = shared() else { return };
    let changes = [
        "UPDATE caudal_log SET body = set_byte(body, 9, 255 - get_byte(body, 9)) WHERE first_commit = 2 AND cell = ",
        "UPDATE caudal_log SET hash = previous WHERE first_commit = 2 AND cell = ",
        "UPDATE caudal_log SET length = 9000000000 WHERE first_commit = 2 AND cell = ",
        "UPDATE caudal_log SET commits = 7 WHERE first_commit = 2 AND cell = ",
        "DELETE FROM caudal_log WHERE first_commit = 2 AND cell = ",
        "DELETE FROM caudal_log WHERE first_commit = 3 AND cell = ",
    ];
    for change in changes {
        let cell = cell();
        let mut log = server.open(cell);
        let epoch = log.acquire("one", LONG).unwrap();
        for n in 0..3_u8 {
            let bytes = next(&log, &[n; 500]);
            log.append(epoch, &Sealed::parse(&bytes).unwrap()).unwrap();
        }
        server.sql("postgres", &format!("{change}{cell}"));
        let mut seen = 0;
        let read = log.read(caudal_storage::CommitNo(1), &mut |_| {
            seen += 1;
            true
        });
        assert!(matches!(read, Err(LogError::Read(_))), "{change}: {read:?}");
        assert!(seen < 3, "{change}");
    }
}

#[test]
fn records_of_every_size_come_back_as_they_were() {
    let Some(server) = shared() else { return };
    let mut log = server.open(cell());
    let epoch = log.acquire("one", LONG).unwrap();
    let mut all = Vec::new();
    for size in [0, 1, 1000, 1 << 20] {
        // Bytes that do not compress.
        let mut state = 1_u64;
        let body: Vec<u8> = (0..size)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state.to_be_bytes()[0]
            })
            .collect();
        let tail = log.tail().unwrap();
        let many: Vec<_> = (0..6)
            .map(|n| commit(vec![entry(stream(n), tail.commit.0 + 1, &body)]))
            .collect();
        let bytes = sealed(&tail, &many);
        log.append(epoch, &Sealed::parse(&bytes).unwrap()).unwrap();
        all.push(bytes);
    }
    let mut found = Vec::new();
    log.read(caudal_storage::CommitNo(1), &mut |record| {
        found.push(record.bytes().to_vec());
        true
    })
    .unwrap();
    assert!(found == all);
    let figures = log.status().figures();
    assert_eq!(
        (figures.appends, figures.unknown, figures.copies()),
        (4, 0, 1)
    );
    assert!(figures.packed <= figures.bytes + 1000);
}
