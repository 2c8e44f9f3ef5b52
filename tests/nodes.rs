//! Several nodes on one log: any of them accepts requests, one serves them, and another takes over when that
//! one stops.

mod cluster;
mod dev;
mod elsewhere;
mod encrypted;
mod frozen;
mod full;
mod growth;
mod owners;
mod partitions;
mod processes;
mod promotions;
mod site;
mod slow;

use caudal_ledger::tenants::Mode;
use serde_json::{Value, json};

use crate::support::client::fresh;
use crate::support::{Client, SOON, cuit, wait_until};
use cluster::{Cluster, Load, SHORT};

/// Creates something and returns its body, however often the cell moves in the meantime.
async fn made(client: &Client, path: &str, body: &Value) -> Value {
    let key = format!("made-{}", fresh());
    wait_until(path, SOON, async || {
        let answer = client.post(path, body).key(&key).answer().await?;
        match answer.status {
            201 => Some(answer.json),
            503 => None,
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
async fn any_node_takes_requests_and_the_owner_judges_them() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    let owner = nodes.owner().await;
    let mut cvus = Vec::new();
    for n in 0..3 {
        let client = nodes.client(n);
        let cvu = client.cvu().await;
        let id = format!("one-{n}");
        client.voucher(&cvu, "IN", "12.50", &id).await.is(201);
        client.voucher(&cvu, "IN", "12.51", &id).await.is(409);
        cvus.push(cvu);
        let bare = client.with_key(None);
        bare.get("/v1/voucher-types")
            .await
            .refused(401, "unauthorized");
        client.get("/v1/nothing").await.is(404);
        // This path goes to the owner as well, even though it is escaped.
        let number = fresh();
        let body = json!({"cuit": cuit(number), "holderName": "Otra Grafía"});
        let call = client.post("/%761/accounts", &body);
        call.key(&format!("made-{number}")).await.is(201);
    }
    for n in 0..3 {
        for cvu in &cvus {
            assert_eq!(nodes.client(n).available(cvu).await, "12.50");
        }
        let ready = nodes.admin(n, "GET", "/readyz", None).await;
        assert_eq!(ready.0, 200, "{}", ready.1);
        assert_eq!(ready.1["part"] == "follower", n != owner, "{}", ready.1);
        assert_eq!(nodes.measured(n, "caudal_ready").await, "1", "at {n}");
    }
    // Operators may ask any node, too: the owner carries the order out, the node that was asked shows it at
    // once, and the others soon.
    let body = json!({"name": "dos"});
    let follower = (owner + 1) % 3;
    let made = nodes.admin(follower, "POST", "/admin/tenants", Some(&body));
    let made = made.await;
    assert_eq!(made.0, 201, "{}", made.1);
    let path = format!("/admin/tenants/{}", made.1["id"].as_str().unwrap());
    let shown = nodes.admin(follower, "GET", &path, None).await;
    assert_eq!(shown.1["name"], "dos", "{}", shown.1);
    for n in 0..3 {
        wait_until("the node knows of the tenant", SOON, async || {
            let shown = nodes.admin(n, "GET", &path, None).await;
            (shown.0 == 200 && shown.1["name"] == "dos").then_some(())
        })
        .await;
    }
    nodes.stop().await;
}

#[actix_web::test]
async fn notices_streams_and_revoked_keys_are_the_owners_at_every_node() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    let owner = nodes.owner().await;
    let key = nodes.key.clone();
    let cvus = [nodes.client(owner).cvu().await];
    let client = nodes.client((owner + 2) % 3);
    client.voucher(&cvus[0], "IN", "12.50", "one").await.is(201);
    let mut stream = client.get("/v1/events/stream").raw().send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut heard = String::new();
    // The bank may notify any node; the owner books the money.
    let other = (owner + 1) % 3;
    nodes.bank_tells(other);
    nodes.bank.cash_in(&cvus[0], "7.50").await;
    wait_until("it arrives", SOON, async || {
        (nodes.client(other).available(&cvus[0]).await == "20.00").then_some(())
    })
    .await;
    let listen = async {
        while !heard.contains("20.00") {
            let piece = stream.chunk().await.unwrap().unwrap();
            heard += &String::from_utf8_lossy(&piece);
        }
    };
    tokio::time::timeout(SOON, listen).await.unwrap();
    // A revoked key works at no node from then on.
    let id = key.split('_').nth(2).unwrap();
    let path = format!("/admin/keys/{id}");
    assert_eq!(nodes.admin(owner, "DELETE", &path, None).await.0, 204);
    for n in 0..3 {
        let client = nodes.client(n);
        client.get("/v1/voucher-types").await.is(401);
    }
    nodes.stop().await;
}

#[actix_web::test]
async fn the_listener_of_nodes_serves_nobody_else() {
    let Some(mut nodes) = Cluster::start(1).await else {
        return;
    };
    let cells = nodes.admin(0, "GET", "/admin/cells", None).await.1;
    let address = cells[0]["nodes"][0]["address"].as_str().unwrap();
    let stranger = Client::new(&format!("http://{address}"), Some(&nodes.key));
    for path in [
        "/v1/voucher-types",
        "/livez",
        "/readyz",
        "/docs/",
        "/openapi.json",
    ] {
        stranger.get(path).await.is(404);
        for wrong in ["", "wrong", cluster::SECRET] {
            let call = stranger.get(path).header("x-caudal-node", wrong);
            call.await.is(404);
        }
    }
    nodes.stop().await;
}

#[actix_web::test]
async fn a_hand_over_under_load_shows_as_slow_requests_and_no_error() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    let load = Load::begin(&nodes, 8).await;
    for _ in 0..4 {
        load.more(40).await;
        let owner = nodes.owner().await;
        let before = nodes.epoch(owner).await;
        nodes.hand_over(owner).await;
        // The node that was named takes the cell, or any other if that one is too slow.
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
    // By force; no node takes the cell before the previous owner's lease must have ended.
    nodes.usurp(SHORT);
    // The next owner's epoch is the one after the ghost's.
    let next = nodes.epoch_from(before + 2).await;
    let client = nodes.client(1 - next);
    client
        .voucher(&cvu, "IN", "1.00", "one")
        .key("one")
        .await
        .is(201);
    assert_eq!(nodes.client(next).available(&cvu).await, "1.00");
    nodes.stop().await;
}

#[actix_web::test]
async fn who_stops_hands_over_first_and_the_last_one_lets_go() {
    let Some(mut nodes) = Cluster::start(2).await else {
        return;
    };
    let load = Load::begin(&nodes, 4).await;
    load.more(20).await;
    let owner = nodes.owner().await;
    nodes.seen(1 - owner).await;
    load.avoids(owner);
    load.more(20).await;
    nodes.end(owner).await;
    nodes.owner_but(owner).await;
    load.more(20).await;
    let done = load.end().await;
    assert_eq!(done.errors, Vec::<String>::new());
    let other = 1 - owner;
    nodes.end(other).await;
    // Nobody has to wait for the end of a lease here.
    nodes.begin(owner);
    nodes.owner().await;
    nodes.agree(&done).await;
    nodes.stop().await;
}

#[actix_web::test]
async fn a_key_speaks_for_its_mode_at_every_node() {
    let Some(mut nodes) = Cluster::start(2).await else {
        return;
    };
    let owner = nodes.owner().await;
    let live = nodes.issue(owner, Mode::Live).await;
    let other = nodes.client(1 - owner).with_key(Some(&live));
    other.create_type("LIVE_ONLY", "credit").await;
    let types = other.get("/v1/voucher-types").await.is(200);
    let test = nodes.client(owner).get("/v1/voucher-types").await.is(200);
    assert!(types.text.contains("LIVE_ONLY") && !test.text.contains("LIVE_ONLY"));
    nodes.stop().await;
}
