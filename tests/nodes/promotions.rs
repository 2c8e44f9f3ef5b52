//! Three processes on a replicated log whose primary server is killed, under clients that retry.
//!
//! Two standbys follow the primary, and each commit waits for either of them. After a kill the standby with more of
//! the log is promoted, the other follows it, and the killed server comes back as a standby. The test does all of
//! this itself, as an operator or their program would.
//!
//! `CAUDAL_NODE_PROMOTIONS` sets how often this happens, once by default. The figures go to standard output.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use caudal_postgres::local::{Programs, Server, USER};
use caudal_postgres::server::installed;
use tempfile::TempDir;

use super::site::{EPOCHS_BACK, LONG, Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::wait_until;

const SERVERS: usize = 3;
/// A commit waits for any one standby to have it.
const ANY: &str = "ANY 1 (*)";

/// A primary server and its standbys.
pub struct Servers {
    pub all: Vec<Server>,
    pub primary: usize,
    _dir: TempDir,
}

fn name(n: usize) -> String {
    format!("db-{n}")
}

impl Servers {
    pub fn start() -> Self {
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let programs = Programs::find().unwrap();
        let place = |n: usize| dir.path().join(name(n));
        let mut all = vec![programs.make(&place(0), "").unwrap()];
        all[0].start(&[]).unwrap();
        for n in 1..SERVERS {
            let standby = all[0].standby(&place(n), &name(n)).unwrap();
            all.push(standby);
        }
        all[0].waits_for(ANY, SERVERS - 1).unwrap();
        Self {
            all,
            primary: 0,
            _dir: dir,
        }
    }

    pub fn url(&self) -> String {
        Server::url(&self.all.iter().collect::<Vec<_>>(), USER)
    }

    pub fn others(&self) -> Vec<usize> {
        (0..SERVERS).filter(|n| *n != self.primary).collect()
    }

    /// How many bytes of the log a standby has received.
    fn has(&self, n: usize) -> u64 {
        let bytes = "SELECT CAST(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0') AS BIGINT)";
        self.all[n].sql(USER, bytes).unwrap().parse().unwrap()
    }

    /// Kills the primary and promotes a standby; returns the server that was killed.
    async fn change(&mut self) -> usize {
        let killed = self.primary;
        self.all[killed].kill().unwrap();
        self.promote().await;
        killed
    }

    /// Promotes a standby, once none receives anything from the old primary any more.
    pub async fn promote(&mut self) {
        let others = self.others();
        for n in &others {
            // Until then a commit that is on its way may still arrive, and be acknowledged.
            wait_until("a standby has all that it will get", LONG, async || {
                let hears = "SELECT count(*) FROM pg_stat_wal_receiver";
                (self.all[*n].sql(USER, hears).unwrap() == "0").then_some(())
            })
            .await;
        }
        let next = *others.iter().max_by_key(|n| self.has(**n)).unwrap();
        let other = *others.iter().find(|n| **n != next).unwrap();
        // Before it takes writes, so that it acknowledges nothing that has only one copy.
        self.all[next]
            .set("synchronous_standby_names", ANY)
            .unwrap();
        self.all[next].promote().unwrap();
        self.all[other]
            .follow(&self.all[next], &name(other))
            .unwrap();
        self.primary = next;
    }

    /// Has the killed server follow the new primary.
    pub fn mend(&self, killed: usize) {
        let primary = &self.all[self.primary];
        self.all[killed].again(primary, &name(killed)).unwrap();
        primary.waits_for(ANY, SERVERS - 1).unwrap();
    }
}

#[actix_web::test]
async fn whatever_server_dies_nothing_acknowledged_is_lost_or_there_twice() {
    if !installed() {
        return;
    }
    let mut servers = Servers::start();
    let mut site = Site::start(servers.url(), Bank::start(), loopback()).await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..number("CAUDAL_NODE_PROMOTIONS", 1) {
        site.whole().await;
        site.more(64).await;
        let since = Instant::now();
        // In every other round the owner is killed as well, as when they share a machine.
        let with_owner = round % 2 == 1;
        let what = if with_owner {
            "promotion, and the owner is killed"
        } else {
            "promotion"
        };
        let owner = site.owner_but(usize::MAX).await;
        if with_owner {
            site.kill(owner);
        }
        let killed = servers.change().await;
        site.more(64).await;
        let pause = site.pause(since);
        pauses.entry(what).or_default().push(pause);
        if with_owner {
            site.begin(owner).await;
        }
        servers.mend(killed);
    }
    let counts = site.end().await;
    let back = servers.all[servers.primary].sql(USER, EPOCHS_BACK).unwrap();
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
