//! The database's clock, which may jump: it has no say in who owns the log.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use caudal_storage::conformance::{Words, commit, entry, stream, submit};
use caudal_storage::{
    CommitNo, DurableStore, Index as _, NodePart, RoleChange, Store as _, StoreOptions,
};

use super::proxy::Proxy;
use crate::PostgresLog;
use crate::local::USER;
use crate::server::{Server, cell, own};

const LEASE: Duration = Duration::from_secs(3);
/// More than a busy machine needs to renew a lease, or to notice its end and read the log to its end.
const SOON: Duration = Duration::from_secs(10);
/// A clock of the database's own before the system's in the search path: what statements get from `now()`.
const CLOCK: &str = "CREATE SCHEMA clock; \
     CREATE TABLE clock.ahead (by INTERVAL NOT NULL); \
     INSERT INTO clock.ahead VALUES ('0'); \
     CREATE FUNCTION clock.now() RETURNS TIMESTAMPTZ LANGUAGE sql STABLE \
     AS 'SELECT pg_catalog.now() + by FROM clock.ahead'; \
     ALTER DATABASE postgres SET search_path = clock, pg_catalog, public";

/// A node that reaches the server through a proxy, and its turns.
struct Node {
    store: Arc<DurableStore>,
    proxy: Proxy,
    turns: Receiver<RoleChange>,
}

impl Node {
    fn join(dir: &Path, name: &str, server: &Server, cell: u32) -> Self {
        let proxy = Proxy::new(server.port);
        let (tell, turns) = channel();
        let options = StoreOptions {
            turned: Some(Arc::new(move |turn| {
                // Once the test has ended there is nobody to tell.
                tell.send(turn).ok();
            })),
            ..StoreOptions::small()
        };
        let part = NodePart::Node {
            name: Arc::from(name),
            url: Arc::from(format!("http://{name}")),
            lease: LEASE,
        };
        let mut settings = server.settings(proxy.port, cell);
        // A node that is cut off gives up with its lease, so that it ends soon.
        (settings.limits.patience, settings.limits.short) = (LEASE, LEASE);
        let log = Box::new(PostgresLog::open(settings).unwrap());
        let store = DurableStore::join(dir.join(name), options, Arc::new(Words), log, &part);
        let store = store.unwrap();
        store.member().willing(true);
        Self {
            store,
            proxy,
            turns,
        }
    }

    /// Waits until the node owns the log; returns how long that took.
    fn owns(&self, at_most: Duration) -> Duration {
        let began = Instant::now();
        let turn = self.turns.recv_timeout(at_most);
        assert!(matches!(turn, Ok(RoleChange::Owns(_))), "{turn:?}");
        began.elapsed()
    }
}

fn jump(server: &Server, by: &str) {
    let sets = format!("UPDATE clock.ahead SET by = '{by}'");
    server.sql(USER, &sets);
    let far = server.sql(USER, "SELECT now() - clock_timestamp()");
    let sign = if by.starts_with('-') { "-00:" } else { "00:" };
    assert!(by == "0" || far.starts_with(sign), "{far}");
}

#[test]
fn a_clock_that_jumps_frees_no_log_and_delays_nobody_beyond_the_lease() {
    let Some(server) = own() else { return };
    server.sql(USER, CLOCK);
    let dir = tempfile::tempdir().unwrap();
    for far in ["10 minutes", "-10 minutes"] {
        let (cell, dir) = (cell(), dir.path().join(far));
        let owner = Node::join(&dir, "owner", &server, cell);
        owner.owns(SOON);
        let follower = Node::join(&dir, "follower", &server, cell);
        jump(&server, far);
        // For longer than a lease the owner goes on, since it renews.
        let (jumped, mut done) = (Instant::now(), 0);
        while jumped.elapsed() < LEASE + LEASE / 3 {
            done += 1;
            let one = entry(stream(1), done, &done.to_be_bytes());
            let commit = submit(owner.store.as_ref(), commit(vec![one])).unwrap();
            assert_eq!(commit, CommitNo(done));
        }
        let took = follower.turns.try_recv();
        assert!(took.is_err(), "it took a log that has an owner: {took:?}");
        // Back to where the clock was: whatever the owner has written last is of another time.
        owner.proxy.end();
        jump(&server, "0");
        let took = follower.owns(LEASE + SOON);
        println!("a clock that was {far} ahead: the log had an owner again after {took:?}");
        assert_eq!(follower.store.applied(), CommitNo(done));
        let more = commit(vec![entry(stream(1), done + 1, b"of the next owner")]);
        submit(follower.store.as_ref(), more).unwrap();
        follower.store.close().unwrap();
    }
}
