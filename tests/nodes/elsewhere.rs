//! Three processes on a log that is run by somebody else and fails over by itself.
//!
//! `CAUDAL_NODE_LOG` is the URL of the log, and `CAUDAL_NODE_KILL` a program that ends the server that takes writes;
//! its argument is how often it has run before. `tests/rigs/patroni.sh` sets both. Without them the test prints
//! `not run`. `CAUDAL_NODE_FAILOVERS` sets how often the server is killed, once by default. The figures go to standard
//! output.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use super::site::{Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::wait_until;

/// How long the program may take; it may wait until all servers are well again.
const PATIENCE: Duration = Duration::from_secs(900);

#[actix_web::test]
async fn failover_of_the_log_loses_and_duplicates_nothing() {
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
        // The clients continue in the meantime, on this thread.
        let killed = wait_until("the server is killed", PATIENCE, async || {
            kills.try_wait().unwrap()
        });
        assert!(killed.await.success());
        let since = Instant::now();
        // More answers than can have been on their way already.
        site.more(256).await;
        pauses
            .entry("fail-over")
            .or_default()
            .push(site.pause(since));
    }
    let counts = site.end().await;
    tell(pauses, &counts);
}
