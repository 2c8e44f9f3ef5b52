//! Several nodes on one log: the owner serves, any other node says whom to ask, and another takes over when the owner
//! stops.

mod balanced;
mod balancer;
mod cluster;
mod dev;
mod elsewhere;
mod frozen;
mod full;
mod partitions;
mod processes;
mod promotions;
mod site;
mod slow;
mod standby;

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};

use crate::support::client::fresh;
use crate::support::{Client, SOON, cuit, wait_until};
use cluster::{Cluster, Load, SHORT};

/// The ports that nodes get: outside the range from which the system takes ports for connections.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// A port of the loopback that no other node of this process gets, and that is free now. A node keeps its port over
/// its starts, because the others know its address.
pub fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let room = PORTS.end - PORTS.start;
    let first = u16::try_from(std::process::id() * 97 % u32::from(room)).unwrap();
    loop {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + (first + next) % room;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Sends the same request until it is done, at whatever node owns the log by then; returns the body.
async fn made(client: &Client, path: &str, body: &Value) -> Value {
    let key = format!("made-{}", fresh());
    let mut client = client.clone();
    wait_until(path, SOON, async || {
        let answer = client.post(path, body).key(&key).answer().await?;
        match answer.status {
            201 => Some(answer.json),
            503 => {
                if let Some(owner) = answer.headers.get("caudal-owner") {
                    owner.to_str().unwrap().clone_into(&mut client.url);
                }
                None
            }
            _ => panic!("{}", answer.text),
        }
    })
    .await
}

/// Makes the types `IN` and `OUT`.
async fn types(client: &Client) {
    for (code, sense) in [("IN", "credit"), ("OUT", "debit")] {
        let body = json!({"code": code, "name": format!("Type {code}"), "sense": sense});
        made(client, "/v1/voucher-types", &body).await;
    }
}

/// Opens an account; returns its CVU.
async fn account(client: &Client) -> String {
    let number = fresh();
    let body = json!({"cuit": cuit(number), "holderName": format!("Holder Number {number}")});
    let account = made(client, "/v1/accounts", &body).await;
    account["cvu"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn a_hand_over_under_load_refuses_some_requests_and_fails_none() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    let load = Load::begin(&nodes, 8).await;
    for _ in 0..4 {
        load.more(40).await;
        let owner = nodes.owner().await;
        let before = nodes.epoch(owner).await;
        nodes.hand_over(owner).await;
        // The node that was named takes the log, or any other if that one is too slow.
        nodes.epoch_from(before + 1).await;
    }
    load.more(40).await;
    let done = load.end().await;
    assert_eq!(done.errors, Vec::<String>::new());
    nodes.agree(&done).await;
    nodes.stop().await;
}

#[actix_web::test]
async fn an_owner_that_dies_is_followed_and_nothing_acknowledged_is_lost() {
    let Some(mut nodes) = Cluster::with(3, SHORT).await else {
        return;
    };
    let load = Load::begin(&nodes, 8).await;
    for _ in 0..2 {
        load.more(40).await;
        let owner = nodes.owner().await;
        nodes.kill(owner).await;
        let next = nodes.owner_but(owner).await;
        assert_ne!(next, owner);
        load.more(40).await;
        nodes.begin(owner);
        nodes.seen(owner).await;
    }
    let done = load.end().await;
    assert!(done.acknowledged.len() > 80);
    nodes.agree(&done).await;
    nodes.stop().await;
}

#[actix_web::test]
async fn an_owner_that_is_deposed_follows_in_the_same_process() {
    let Some(mut nodes) = Cluster::with(2, SHORT).await else {
        return;
    };
    let owner = nodes.owner().await;
    let cvu = account(&nodes.client(owner)).await;
    let before = nodes.epoch(owner).await;
    // By force; no node takes the log before the previous owner's lease must have ended.
    nodes.usurp(SHORT);
    // The next owner's epoch is the one after the ghost's.
    let next = nodes.epoch_from(before + 2).await;
    let client = nodes.client(next);
    client
        .voucher(&cvu, "IN", "1.00", "one")
        .key("one")
        .await
        .is(201);
    assert_eq!(client.available(&cvu).await, "1.00");
    nodes.client(1 - next).get("/v1/events").await.is(503);
    nodes.stop().await;
}

#[actix_web::test]
async fn a_stopping_owner_hands_over_and_the_last_node_releases_the_log() {
    let Some(mut nodes) = Cluster::start(2).await else {
        return;
    };
    let load = Load::begin(&nodes, 4).await;
    load.more(20).await;
    let owner = nodes.owner().await;
    nodes.seen(1 - owner).await;
    load.more(20).await;
    nodes.end(owner).await;
    nodes.owner_but(owner).await;
    load.more(20).await;
    let done = load.end().await;
    // A client that asks the node that stopped finds nobody there.
    let broke = |why: &String| why.ends_with("broke off");
    assert!(done.errors.iter().all(broke), "{:?}", done.errors);
    let other = 1 - owner;
    nodes.end(other).await;
    // Nobody has to wait for the end of a lease here.
    nodes.begin(owner);
    nodes.owner().await;
    nodes.agree(&done).await;
    nodes.stop().await;
}
