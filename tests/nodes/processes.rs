//! Three processes on one log, whose owner is killed, stopped for longer than its lease, or told to hand over, under
//! clients that retry.
//!
//! `CAUDAL_NODE_ROUNDS` sets how often something happens to the owner, 3 by default; `CAUDAL_NODE_CLIENTS` sets the
//! number of clients, 16 by default. The figures go to standard output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use caudal_postgres::server::own;

use super::site::{EPOCHS_BACK, Site, loopback, number, tell};
use crate::support::bank::Bank;

/// Does something to the owner; returns how long nothing was acknowledged.
async fn event(site: &mut Site, what: &str) -> Duration {
    site.whole().await;
    site.more(64).await;
    let owner = site.owner_but(usize::MAX).await;
    let since = Instant::now();
    match what {
        "kill" => {
            site.kill(owner);
            site.owner_but(owner).await;
            site.begin(owner).await;
        }
        "stop" => {
            site.signal(owner, "STOP");
            site.owner_but(owner).await;
            site.signal(owner, "CONT");
        }
        _ => site.hand_over(None).await,
    }
    site.more(64).await;
    site.pause(since)
}

#[actix_web::test]
async fn whatever_happens_to_owners_nothing_acknowledged_is_lost_or_there_twice() {
    let Some(server) = own() else { return };
    let log = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let mut site = Site::start(log, Bank::start(), loopback()).await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for round in 0..number("CAUDAL_NODE_ROUNDS", 3) {
        let what = ["kill", "stop", "hand-over"][round % 3];
        let pause = event(&mut site, what).await;
        pauses.entry(what).or_default().push(pause);
    }
    let counts = site.end().await;
    let back = server.sql("postgres", EPOCHS_BACK);
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}
