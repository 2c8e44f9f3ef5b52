//! Connections, servers and owners that end in the middle of appends: every acknowledged record is there once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use caudal_storage::conformance::{Words, commit, entry, stream, submit};
use caudal_storage::log::{Log, LogError, Sealed};
use caudal_storage::{
    CommitNo, DurableStore, Index as _, NodePart, SortOrder, Store as _, StoreError, StoreOptions,
};

use super::proxy::{Lost, Proxy};
use super::suite::next;
use crate::server::{Server, cell, limits, own, shared};
use crate::{PostgresLog, Settings};

const LONG: Duration = Duration::from_secs(3600);
/// Ends the connections of all logs.
const CUT: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
                   WHERE application_name = 'caudal'";

fn join(dir: &Path, settings: Settings, part: &NodePart) -> Arc<DurableStore> {
    let log = Box::new(PostgresLog::open(settings).unwrap());
    let options = StoreOptions::small();
    DurableStore::join(dir, options, Arc::new(Words), log, part).unwrap()
}

fn owner() -> NodePart {
    NodePart::Owner {
        name: "one".to_owned(),
        lease: LONG,
        patience: Duration::ZERO,
    }
}

/// Writes to a stream of its own until told to stop; returns how many commits were acknowledged.
fn write(store: &DurableStore, number: u64, stop: &AtomicBool) -> u64 {
    let mut done = 0;
    while !stop.load(Ordering::Acquire) {
        let one = entry(stream(number), done + 1, &done.to_be_bytes());
        submit(store, commit(vec![one])).unwrap();
        done += 1;
    }
    done
}

/// A new node that follows the log has each stream's commits once and in order.
fn check(settings: Settings, acknowledged: &[u64]) {
    let dir = tempfile::tempdir().unwrap();
    let part = NodePart::Node {
        name: Arc::from("a new one"),
        url: Arc::from("http://here"),
        lease: LONG,
    };
    let follower = join(dir.path(), settings, &part);
    assert_eq!(follower.applied(), CommitNo(acknowledged.iter().sum()));
    for (n, count) in (0..).zip(acknowledged) {
        let order = SortOrder::Ascending;
        let found = follower
            .read(stream(n), 1, u64::MAX, order, 1 << 20)
            .unwrap();
        let bodies: Vec<_> = found.iter().map(|e| e.body.clone()).collect();
        let expected: Vec<_> = (0..*count).map(|n: u64| n.to_be_bytes().to_vec()).collect();
        assert!(bodies == expected, "stream {n}");
    }
    follower.close().unwrap();
}

/// Four clients write while `breaks` goes on.
fn under_load(server: &Server, breaks: impl FnOnce()) -> Vec<u64> {
    let (dir, cell) = (tempfile::tempdir().unwrap(), cell());
    let settings = server.settings(server.port, cell);
    let store = join(dir.path(), settings.clone(), &owner());
    let stop = AtomicBool::new(false);
    let acknowledged: Vec<u64> = thread::scope(|scope| {
        let store = &store;
        let stop = &stop;
        let clients: Vec<_> = (0..4)
            .map(|n| scope.spawn(move || write(store, n, stop)))
            .collect();
        breaks();
        stop.store(true, Ordering::Release);
        clients.into_iter().map(|c| c.join().unwrap()).collect()
    });
    store.close().unwrap();
    check(settings, &acknowledged);
    acknowledged
}

#[test]
fn connections_that_are_ended_lose_and_double_nothing() {
    // A server of its own, because the test ends all connections.
    let Some(server) = own() else { return };
    let mut ended = 0;
    let acknowledged = under_load(&server, || {
        for _ in 0..30 {
            ended += server.sql("postgres", CUT).parse::<u32>().unwrap();
        }
    });
    println!("{ended} connections ended, {acknowledged:?} commits acknowledged, 0 lost");
    assert!(ended >= 10, "{ended} connections were ended");
}

#[test]
fn a_server_that_is_killed_loses_and_doubles_nothing() {
    let Some(server) = own() else { return };
    let acknowledged = under_load(&server, || {
        for _ in 0..4 {
            let before = server.sql("postgres", "SELECT sum(last_commit) FROM caudal_cell");
            while server.sql("postgres", "SELECT sum(last_commit) FROM caudal_cell") == before {}
            server.kill();
            server.start(&[]);
        }
    });
    println!("4 kills, {acknowledged:?} commits acknowledged, 0 lost");
    assert!(acknowledged.iter().all(|n| *n > 0));
}

#[test]
fn requests_and_answers_that_are_lost_or_late_lose_and_double_nothing() {
    let Some(server) = shared() else { return };
    let proxy = Proxy::new(server.port);
    let (dir, cell) = (tempfile::tempdir().unwrap(), cell());
    let store = join(dir.path(), server.settings(proxy.port, cell), &owner());
    let mut late = 0;
    for n in 0..60_u64 {
        match n % 4 {
            0 => proxy.lose(Lost::Answer),
            1 => proxy.lose(Lost::Request),
            2 => proxy.lose(Lost::Late),
            _ => late += proxy.deliver(),
        }
        let one = entry(stream(0), n + 1, &n.to_be_bytes());
        assert_eq!(
            submit(store.as_ref(), commit(vec![one])).unwrap(),
            CommitNo(n + 1)
        );
    }
    assert_eq!((proxy.losses(), late), (45, 15));
    store.close().unwrap();
    check(server.settings(server.port, cell), &[60]);
}

#[test]
fn an_append_that_comes_late_does_nothing_under_a_later_epoch() {
    let Some(server) = shared() else { return };
    let (proxy, cell) = (Proxy::new(server.port), cell());
    let mut first = PostgresLog::open(server.settings(proxy.port, cell)).unwrap();
    let mut second = server.open(cell);
    let epoch = first.acquire("first", Duration::from_millis(100)).unwrap();
    let bytes = next(&first, b"late");
    let record = Sealed::parse(&bytes).unwrap();
    proxy.lose(Lost::Late);
    let unknown = first.append(epoch, &record);
    assert!(matches!(unknown, Err(LogError::Unknown(_))), "{unknown:?}");
    let begin = second.tail().unwrap();
    let later = loop {
        if let Ok(epoch) = second.acquire("second", LONG) {
            break epoch;
        }
    };
    assert_eq!(proxy.deliver(), 1);
    assert_eq!(second.tail().unwrap(), begin, "it does not count");
    let deposed = first.append(epoch, &record);
    assert!(
        matches!(deposed, Err(LogError::Deposed { .. })),
        "{deposed:?}"
    );
    let other = next(&second, b"the second's");
    second
        .append(later, &Sealed::parse(&other).unwrap())
        .unwrap();
    // Under the same epoch the append is a gap, which shows that the record is there.
    proxy.lose(Lost::Late);
    let mut third = PostgresLog::open(server.settings(proxy.port, cell)).unwrap();
    let bytes = next(&third, b"again");
    let record = Sealed::parse(&bytes).unwrap();
    let unknown = third.append(later, &record);
    assert!(matches!(unknown, Err(LogError::Unknown(_))), "{unknown:?}");
    assert_eq!(proxy.deliver(), 1);
    let there = third.append(later, &record);
    assert!(matches!(there, Err(LogError::Gap { tail, .. }) if tail == record.tail()));
}

#[test]
fn a_commit_whose_standby_is_not_waited_for_is_not_acknowledged() {
    let Some(server) = own() else { return };
    let cell = cell();
    let mut log = server.open(cell);
    let epoch = log.acquire("one", LONG).unwrap();
    let bytes = next(&log, b"x");
    assert_eq!(log.status().figures().copies(), 1);
    // From now on the server waits for a standby that never comes.
    let file = server.data().join("postgresql.auto.conf");
    std::fs::write(&file, "synchronous_standby_names = 'ANY 1 (elsewhere)'\n").unwrap();
    server.give(&file);
    server.sql("postgres", "SELECT pg_reload_conf()");
    while server
        .sql("postgres", "SHOW synchronous_standby_names")
        .is_empty()
    {}
    for end in ["pg_cancel_backend", "pg_terminate_backend"] {
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let unknown = log.append(epoch, &Sealed::parse(&bytes).unwrap());
                assert!(
                    matches!(unknown, Err(LogError::Unknown(_))),
                    "{end}: {unknown:?}"
                );
            });
            let query = format!(
                "SELECT count({end}(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            );
            while server.sql("postgres", &query) == "0" {
                assert!(!waits.is_finished(), "it waits for the standby");
            }
            waits.join().unwrap();
        });
        // The record is there, and it is unknown whether there is a second copy.
        server.sql("postgres", &format!("SET synchronous_commit = local; \
            UPDATE caudal_cell SET last_commit = 0, hash = (SELECT previous FROM caudal_log WHERE cell = {cell}) \
            WHERE cell = {cell}; DELETE FROM caudal_log WHERE cell = {cell}"));
    }
    server.stop();
    std::fs::write(&file, "").unwrap();
    server.start(&["synchronous_standby_names=*"]);
    let Err(LogError::Yet(_)) = ({
        let mut settings = server.settings(server.port, cell);
        settings.limits.answer = Duration::from_millis(300);
        settings.limits.patience = Duration::from_secs(2);
        let mut log = PostgresLog::open(settings).unwrap();
        assert_eq!(log.status().figures().copies(), 2);
        log.renew(epoch, limits().answer, CommitNo(0))
    }) else {
        panic!("nothing is acknowledged without the standby")
    };
}

/// Refuses changes of a table for a cell with an error code, a number of times or always, and counts the attempts.
struct Refusing<'a> {
    server: &'a Server,
    name: String,
}

impl<'a> Refusing<'a> {
    fn new(
        server: &'a Server,
        cell: u32,
        (when, table): (&str, &str),
        code: &str,
        times: u64,
    ) -> Self {
        let name = format!("short_{cell}_{when}_{table}_{code}");
        // A sequence keeps counting even if the transaction is rolled back.
        server.sql(
            "postgres",
            &format!(
                "CREATE SEQUENCE {name}; CREATE FUNCTION {name}() RETURNS trigger AS $$ BEGIN \
                 IF nextval('{name}') <= {times} THEN RAISE EXCEPTION 'short' USING ERRCODE = '{code}'; END IF; \
                 RETURN NEW; END $$ LANGUAGE plpgsql; CREATE TRIGGER {name} BEFORE {when} ON {table} \
                 FOR EACH ROW WHEN (NEW.cell = {cell}) EXECUTE FUNCTION {name}()"
            ),
        );
        Self { server, name }
    }

    /// How often the change was attempted.
    fn asked(&self) -> u64 {
        let query = format!(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}",
            self.name
        );
        self.server.sql("postgres", &query).parse().unwrap()
    }

    fn end(self) -> u64 {
        let asked = self.asked();
        let sql = format!("DROP FUNCTION {0}() CASCADE; DROP SEQUENCE {0}", self.name);
        self.server.sql("postgres", &sql);
        asked
    }
}

/// A new cell, where the name `cell` is taken.
fn another() -> u32 {
    cell()
}

/// Much longer than a lease, on any machine.
const PATIENT: Duration = Duration::from_secs(120);
/// Asks until it is so; fails when it has not come within [`PATIENT`].
fn soon(what: &str, is: impl Fn() -> bool) {
    let began = Instant::now();
    while !is() {
        assert!(began.elapsed() < PATIENT, "{what} did not come");
        std::thread::yield_now();
    }
}

/// Refuses permanently.
const ALWAYS: u64 = u64::MAX >> 1;
const APPENDED: (&str, &str) = ("INSERT", "caudal_log");
const OWNED: (&str, &str) = ("UPDATE", "caudal_cell");

#[test]
fn a_server_that_is_short_of_something_is_asked_again() {
    let Some(server) = shared() else { return };
    let cell = cell();
    let mut log = server.open(cell);
    let epoch = log.acquire("one", LONG).unwrap();
    for code in ["53100", "53200", "53300", "53400"] {
        let short = Refusing::new(&server, cell, APPENDED, code, 2);
        let bytes = next(&log, code.as_bytes());
        log.append(epoch, &Sealed::parse(&bytes).unwrap()).unwrap();
        assert_eq!(short.end(), 3, "{code}");
    }
    let short = Refusing::new(&server, cell, OWNED, "53200", 2);
    log.renew(epoch, LONG, CommitNo(4)).unwrap();
    assert_eq!(short.end(), 3);
    assert_eq!(log.tail().unwrap().commit, CommitNo(4));
    // Beginning a log is tried again, too.
    let other = another();
    let short = Refusing::new(&server, other, ("INSERT", "caudal_cell"), "53100", 2);
    assert_eq!(server.open(other).tail().unwrap().commit, CommitNo(0));
    assert_eq!(short.end(), 3);
}

#[test]
fn a_server_that_stays_short_is_not_asked_beyond_the_lease_and_nothing_was_done() {
    let Some(server) = shared() else { return };
    let cell = cell();
    let mut settings = server.settings(server.port, cell);
    (settings.limits.patience, settings.limits.short) = (PATIENT, PATIENT);
    let mut log = PostgresLog::open(settings).unwrap();
    let epoch = log.acquire("one", Duration::from_secs(2)).unwrap();
    let bytes = next(&log, b"x");
    let record = Sealed::parse(&bytes).unwrap();
    let (begin, short) = (
        log.tail().unwrap(),
        Refusing::new(&server, cell, APPENDED, "53100", ALWAYS),
    );
    let began = Instant::now();
    let refused = log.append(epoch, &record);
    // without the lease it is asked for nearly as long as the settings allow
    assert!(began.elapsed() < PATIENT / 2, "the lease ended long before");
    assert!(matches!(refused, Err(LogError::Yet(_))), "{refused:?}");
    assert!(short.end() >= 1);
    assert_eq!(log.tail().unwrap(), begin, "nothing was done");
    // Nobody has taken the cell, so the owner continues.
    log.append(epoch, &record).unwrap();
    assert_eq!(log.tail().unwrap(), record.tail());
}

#[test]
fn an_owner_whose_server_is_short_refuses_commits_and_renews_when_it_can() {
    let Some(server) = shared() else { return };
    let (dir, cell) = (tempfile::tempdir().unwrap(), cell());
    let mut settings = server.settings(server.port, cell);
    settings.limits.short = Duration::from_millis(100);
    let part = NodePart::Owner {
        name: "one".to_owned(),
        lease: Duration::from_secs(2),
        patience: Duration::ZERO,
    };
    let store = join(dir.path(), settings.clone(), &part);
    let one = |n: u64| commit(vec![entry(stream(0), n, &(n - 1).to_be_bytes())]);
    submit(store.as_ref(), one(1)).unwrap();
    for (round, code) in (1..).zip(["53100", "53200"]) {
        // Neither a record nor a renewal is accepted.
        let short = Refusing::new(&server, cell, OWNED, code, ALWAYS);
        let refused = submit(store.as_ref(), one(round + 1));
        assert!(
            matches!(refused, Err(StoreError::Unreachable(_))),
            "{refused:?}"
        );
        let asked = short.asked();
        // The owner tries to renew, though no request asks for it.
        soon("renewals", || short.asked() > asked + 3);
        let lease = format!("SELECT changes FROM caudal_cell WHERE cell = {cell}");
        let before = server.sql("postgres", &lease);
        soon("the end of the lease", || {
            matches!(store.ready(), Err(StoreError::Unreachable(_)))
        });
        assert_eq!(server.sql("postgres", &lease), before, "it was not renewed");
        short.end();
        // The refused commit was not done: its place is free.
        soon("a renewed lease", || {
            server.sql("postgres", &lease) != before
        });
        let done = loop {
            match submit(store.as_ref(), one(round + 1)) {
                // The machine may have stalled for longer than the lease.
                Err(StoreError::Unreachable(_)) => {}
                done => break done.unwrap(),
            }
        };
        assert_eq!(done, CommitNo(round + 1));
    }
    store.close().unwrap();
    check(settings, &[3]);
}
