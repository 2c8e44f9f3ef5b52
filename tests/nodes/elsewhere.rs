//! Three processes on a log that somebody else keeps, and fails over by themselves.
//!
//! `CAUDAL_NODE_LOG` is its URL, `CAUDAL_NODE_KILL` a program that ends the server that takes writes, and gets as its argument
//! how often it has done so; `tests/rigs/patroni.sh` sets both. Without them it says `not run`. `CAUDAL_NODE_FAILOVERS` sets
//! how often, once when absent. The figures go to standard output.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use super::site::{Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::wait_until;

/// How long the program may take, which may wait until the servers are whole again.
const PATIENCE: Duration = Duration::from_secs(900);

#[actix_web::test]
async fn whoever_fails_a_log_over_nothing_acknowledged_is_lost_or_there_twice() {
    let set = |name: &str| std::env::var(name).ok();
    let (Some(log), Some(kill)) = (set("CAUDAL_NODE_LOG"), set("CAUDAL_NODE_KILL")) else {
        println!("not run: CAUDAL_NODE_LOG and CAUDAL_NODE_KILL are not set");
        return;
    };
    let site = Site::start(log, Bank::start(), loopback()).await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..number("CAUDAL_NODE_FAILOVERS", 1) {
        site.whole().await;
        site.more(64).await;
        let mut kills = Command::new(&kill).arg(round.to_string()).spawn().unwrap();
        // The clients go on meanwhile, on this thread.
        let killed = wait_until("the server is killed", PATIENCE, async || {
            kills.try_wait().unwrap()
        });
        assert!(killed.await.success());
        let since = Instant::now();
        // More than were answered already.
        site.more(256).await;
        pauses
            .entry("fail-over")
            .or_default()
            .push(site.pause(since));
    }
    let counts = site.end().await;
    tell(pauses, &counts);
}
