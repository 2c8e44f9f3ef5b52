//! Three processes on one log behind HAProxy, whose owner hands over again and again, is killed, told to stop, or
//! stopped for longer than its lease, under clients that know nothing but the balancer.
//!
//! `CAUDAL_NODE_HAND_OVERS` sets how often the log is handed over first, 3 by default; `CAUDAL_NODE_BALANCED` how often
//! something then happens to the owner, 3 by default; `CAUDAL_NODE_CLIENTS` sets the number of clients, 64 here by
//! default. The figures go to standard output.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use caudal_postgres::server::own;

use super::balancer::{self, Balancer, checked, program};
use super::cluster::Cluster;
use super::site::{EPOCHS_BACK, Site, loopback, number, tell};
use crate::support::bank::Bank;
use crate::support::{Client, SOON, wait_until};

/// How many clients there are.
const CLIENTS: usize = 64;

/// The addresses of the shipped configuration, and those of the nodes.
fn places(site: &Site) -> Vec<(&'static str, String)> {
    let written = ["10.0.0.1:8080", "10.0.0.2:8080", "10.0.0.3:8080"];
    let real = (0..written.len()).map(|n| site.place(n));
    written.into_iter().zip(real).collect()
}

/// Does something to the owner; returns how long nothing was acknowledged.
async fn event(site: &mut Site, what: &str) -> Duration {
    site.whole().await;
    site.more(128).await;
    let owner = site.owner_but(usize::MAX).await;
    let since = Instant::now();
    match what {
        "kill" => {
            site.kill(owner);
            site.owner_but(owner).await;
            site.begin(owner).await;
        }
        "SIGTERM" => {
            site.leave(owner).await;
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
    site.more(128).await;
    site.pause(since)
}

#[actix_web::test]
async fn clients_behind_a_balancer_lose_nothing() {
    let Some(program) = program() else { return };
    let Some(server) = own() else { return };
    let log = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let mut site = Site::start(log, Bank::start(), loopback()).await;
    let balancer = Balancer::start(program, balancer::NODES, &places(&site)).await;
    site.behind(&balancer.url, number("CAUDAL_NODE_CLIENTS", CLIENTS))
        .await;
    let mut pauses: BTreeMap<&str, Vec<Duration>> = BTreeMap::new();
    for _ in 0..number("CAUDAL_NODE_HAND_OVERS", 3) {
        let what = "hand-over behind a balancer";
        let pause = event(&mut site, what).await;
        pauses.entry(what).or_default().push(pause);
    }
    println!("{} requests were repeated in hand-overs", site.refused());
    let broken = site.broken();
    assert!(
        broken.is_empty(),
        "{} requests broke off in hand-overs: {:?}",
        broken.len(),
        broken.iter().take(5).collect::<Vec<_>>()
    );
    for round in 0..number("CAUDAL_NODE_BALANCED", 3) {
        let what = ["kill", "SIGTERM", "stop"][round % 3];
        let pause = event(&mut site, what).await;
        pauses.entry(what).or_default().push(pause);
    }
    let counts = site.end().await;
    let back = server.sql("postgres", EPOCHS_BACK);
    assert_eq!(back, "0", "an epoch ends where the next begins");
    tell(pauses, &counts);
}

#[actix_web::test]
async fn a_key_is_served_by_the_shard_that_it_begins_with() {
    let Some(program) = program() else { return };
    let dir = tempfile::tempdir().unwrap();
    for (name, config) in [("nodes", balancer::NODES), ("shards", balancer::SHARDS)] {
        let path = dir.path().join(name);
        std::fs::write(&path, config).unwrap();
        checked(program, &path);
    }
    let (Some(mut zero), Some(mut one)) = (Cluster::start(2).await, Cluster::start(2).await) else {
        return;
    };
    let places = [
        ("10.0.0.1:8080", zero.place(0)),
        ("10.0.0.2:8080", zero.place(1)),
        ("10.0.1.1:8080", one.place(0)),
        ("10.0.1.2:8080", one.place(1)),
    ];
    let balancer = Balancer::start(program, balancer::SHARDS, &places).await;
    let asked = async |prefix: &str, status: u16| {
        let client = Client::new(&balancer.url, Some(&format!("{prefix}_nobody_knows")));
        wait_until(prefix, SOON, async || {
            let answer = client.get("/v1/voucher-types").answer().await?;
            (answer.status == status).then_some(answer)
        })
        .await
    };
    // Each shard refuses keys that it does not know, and says so for itself.
    for prefix in ["cdl_test_000", "cdl_live_001", "another"] {
        asked(prefix, 401).await;
    }
    zero.stop().await;
    asked("cdl_test_000", 503).await.refused(503, "not_owner");
    asked("cdl_test_001", 401).await;
    asked("another", 503).await;
    one.stop().await;
}
