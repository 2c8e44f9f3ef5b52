//! Three processes on a replicated log whose primary server stands still for longer than anybody waits for it, as a
//! paused machine does, and resumes when a standby has been promoted.
//!
//! The old primary does not know that it was replaced, and accepts writes as before, from any client that connects.
//! It acknowledges none, because each commit waits for a standby and none listens to it: neither the promoted one
//! nor, from before the promotion on, the other one. After that the owner is killed in every other round: the node
//! that takes the cell connects anew, and both servers say that they take writes.
//!
//! `CAUDAL_NODE_FREEZES` sets how often this happens, once by default. The figures go to standard output.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use caudal_postgres::local::{Server, USER};
use caudal_postgres::server::installed;

use super::promotions::Servers;
use super::site::{EPOCHS_BACK, LONG, Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::processes::{runs, signal, stat};
use crate::support::wait_until;

/// The processes of a server, all of which it starts itself.
fn children(of: i32) -> Vec<i32> {
    let all = fs::read_dir("/proc").unwrap();
    let ids = all.filter_map(|one| one.unwrap().file_name().to_str()?.parse().ok());
    ids.filter(|id| stat(*id).is_some_and(|(parent, _)| parent == of))
        .collect()
}

/// Sends a signal.
fn send(name: &str, id: i32) {
    // A process that has ended in the meantime needs no signal.
    assert!(signal(id, name) || !runs(id));
}

async fn stands(id: i32) {
    wait_until("it stands still", LONG, async || {
        stat(id)
            .is_none_or(|(_, state)| matches!(state, 'T' | 'Z'))
            .then_some(())
    })
    .await;
}

/// A server that stands still, with all its processes, until this guard is dropped, however the test ends: a stopped
/// server could not be shut down.
struct Frozen(i32);

impl Frozen {
    async fn from_now_on(server: &Server) -> Self {
        let frozen = Self(server.id().unwrap());
        send("STOP", frozen.0);
        // Once it stands still it starts no more processes.
        stands(frozen.0).await;
        for id in children(frozen.0) {
            send("STOP", id);
            stands(id).await;
        }
        frozen
    }
}

impl Drop for Frozen {
    /// The server resumes where it was.
    fn drop(&mut self) {
        for id in children(self.0).into_iter().chain([self.0]) {
            // A panic here would hide why the test ends; a later request shows whether the server resumed.
            signal(id, "CONT");
        }
    }
}

#[actix_web::test]
async fn a_server_that_stood_still_while_another_was_promoted_acknowledges_nothing_more() {
    if !installed() {
        return;
    }
    let mut servers = Servers::start();
    let mut site = Site::start(servers.url(), Bank::start(), loopback()).await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..number("CAUDAL_NODE_FREEZES", 1) {
        site.whole().await;
        site.more(64).await;
        let since = Instant::now();
        let old = servers.primary;
        let frozen = Frozen::from_now_on(&servers.all[old]).await;
        for n in servers.others() {
            // it follows no server, and acknowledges nothing to any
            servers.all[n].set("primary_conninfo", "").unwrap();
        }
        servers.promote().await;
        site.more(64).await;
        let what = "server that stands still, and another is promoted";
        pauses.entry(what).or_default().push(site.pause(since));
        let since = Instant::now();
        drop(frozen);
        let takes = servers.all[old]
            .sql(USER, "SHOW transaction_read_only")
            .unwrap();
        assert_eq!(takes, "off", "it does not know");
        let owner = site.owner_but(usize::MAX).await;
        let what = match round % 2 {
            0 => {
                site.kill(owner);
                site.owner_but(owner).await;
                "the server goes on, and the owner is killed"
            }
            _ => "the server goes on",
        };
        site.more(64).await;
        if round % 2 == 0 {
            site.begin(owner).await;
        }
        site.more(64).await;
        pauses.entry(what).or_default().push(site.pause(since));
        servers.mend(old);
    }
    let counts = site.end().await;
    let back = servers.all[servers.primary].sql(USER, EPOCHS_BACK).unwrap();
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
