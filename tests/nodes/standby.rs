//! A node that does not own the log: what it returns, and that it does nothing.

use std::time::Duration;

use caudal_actors::engine::EngineOptions;
use caudal_service::ServiceOptions;
use serde_json::json;

use super::cluster::Cluster;
use super::made;
use crate::support::{Answer, Client, SOON, wait_until};
use crate::unauthenticated::Line;

/// Checks that an answer is the one of a standby that knows this owner.
fn refused(answer: Answer, owner: &Client) -> Answer {
    let answer = answer.refused(503, "not_owner");
    let header = |name: &str| answer.headers[name].to_str().unwrap();
    assert_eq!(header("caudal-owner"), owner.url);
    assert_eq!(header("retry-after"), "0");
    answer
}

#[actix_web::test]
async fn a_standby_does_nothing_and_says_whom_to_ask() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    let owner = nodes.owner().await;
    let own = nodes.client(owner);
    let cvu = own.cvu().await;
    own.get("/readyz").await.is(200);
    for n in (0..3).filter(|n| *n != owner) {
        let client = nodes.client(n);
        let path = format!("/v1/accounts/{cvu}/comprobantes");
        let body = json!({"voucherTypeCode": "IN", "amount": "1.00", "idExterno": "one"});
        refused(client.post(&path, &body).await, &own);
        for path in [
            "/v1/accounts",
            "/v1/nothing",
            "/%761/accounts",
            "/v1/events/stream",
            "/readyz",
        ] {
            refused(client.get(path).await, &own);
        }
        // The language is that of the family, and whose key it is makes no difference.
        let wallet = client.with_key(None).get("/wallet/v1/Cuentas").await;
        let wallet = refused(wallet, &own);
        assert!(wallet.text.contains("no es el dueño"), "{}", wallet.text);
        let notice = client.post("/bank/v1/notifications", &json!({})).await;
        refused(notice, &own);
        client.get("/livez").await.is(200);
        client.get("/docs/").await.is(200);
        client.get("/openapi.json").await.is(200);
    }
    assert_eq!(own.available(&cvu).await, "0.00");
    nodes.stop().await;
}

#[actix_web::test]
async fn operators_see_every_node_and_act_at_the_owner() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    let owner = nodes.owner().await;
    let follower = (owner + 1) % 3;
    for n in 0..3 {
        for path in [
            "/admin/node",
            "/admin/status",
            "/admin/clock",
            "/admin/log",
            "/admin/journal",
            "/admin/memory",
            "/admin/backup",
        ] {
            let (status, body) = nodes.admin(n, "GET", path, None).await;
            assert_eq!(status, 200, "{path}: {body}");
        }
        let known = nodes.admin(n, "GET", "/admin/node", None).await.1;
        assert_eq!(known["owns"], n == owner, "{known}");
        assert_eq!(known["owner"], nodes.name(owner), "{known}");
        assert_eq!(known["ownerUrl"], nodes.client(owner).url, "{known}");
        let status = nodes.admin(n, "GET", "/admin/status", None).await.1;
        assert_eq!(status["ready"], true, "{status}");
        assert_eq!(status["owner"], n == owner, "{status}");
        let (verified, report) = nodes.admin(n, "POST", "/admin/verify", None).await;
        assert_eq!((verified, &report["count"]), (200, &json!(0)), "{report}");
        let ready = nodes.admin(n, "GET", "/readyz", None).await.0;
        assert_eq!(ready, if n == owner { 200 } else { 503 });
        assert_eq!(nodes.measured(n, "caudal_ready").await, "1", "at {n}");
        let owns = nodes.measured(n, "caudal_node_owner").await;
        assert_eq!(owns, if n == owner { "1" } else { "0" });
    }
    let body = json!({"name": "dos"});
    let empty = json!({});
    for (method, path, body) in [
        ("POST", "/admin/tenants", Some(&body)),
        ("GET", "/admin/tenants", None),
        ("GET", "/admin/cases", None),
        ("POST", "/admin/node/hand-over", Some(&empty)),
        ("POST", "/admin/backup", Some(&empty)),
    ] {
        let (status, refused) = nodes.admin(follower, method, path, body).await;
        assert_eq!(status, 503, "{path}: {refused}");
        assert_eq!(refused["code"], "not_owner", "{path}: {refused}");
    }
    let made = nodes.admin(owner, "POST", "/admin/tenants", Some(&body));
    let made = made.await;
    assert_eq!(made.0, 201, "{}", made.1);
    assert_ne!(
        nodes
            .measured(follower, "caudal_node_not_owner_total")
            .await,
        "0"
    );
    nodes.stop().await;
}

#[actix_web::test]
async fn a_standby_hears_no_bank_and_a_hand_over_ends_its_streams() {
    let Some(mut nodes) = Cluster::start(2).await else {
        return;
    };
    let owner = nodes.owner().await;
    let (own, other) = (nodes.client(owner), nodes.client(1 - owner));
    let cvu = own.cvu().await;
    let mut stream = own.get("/v1/events/stream").raw().send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    // The bank sends a notice again until the owner takes it.
    nodes.bank_tells(1 - owner);
    nodes.bank.cash_in(&cvu, "7.50").await;
    nodes.bank_tells(owner);
    nodes.bank.cash_in(&cvu, "1.00").await;
    wait_until("it arrives", SOON, async || {
        (own.available(&cvu).await != "0.00").then_some(())
    })
    .await;
    nodes.hand_over(owner).await;
    let ends = async { while let Ok(Some(_)) = stream.chunk().await {} };
    tokio::time::timeout(SOON, ends).await.unwrap();
    wait_until("the other node serves", SOON, async || {
        (other.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    refused(own.get("/v1/accounts").await, &other);
    nodes.stop().await;
}

#[actix_web::test]
async fn a_node_that_died_and_a_log_with_one_copy_are_problems_of_the_owner() {
    let Some(mut nodes) = Cluster::start(2).await else {
        return;
    };
    let owner = nodes.owner().await;
    let name = nodes.name(1 - owner);
    nodes.kill(1 - owner).await;
    let found = wait_until("the node is missed", SOON, async || {
        let status = nodes.admin(owner, "GET", "/admin/status", None).await.1;
        let all = status["problems"].as_array().unwrap().clone();
        all.iter()
            .any(|it| it["code"] == "node_absent")
            .then_some(all)
    })
    .await;
    let shown = found.iter().map(|it| {
        json!([
            it["code"],
            it["severity"],
            it["subject"],
            it["at"].is_string()
        ])
    });
    let right = [
        json!(["one_copy", "page", null, false]),
        json!(["node_absent", "ticket", name, true]),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), right);
    let absent = nodes
        .measured(owner, "caudal_problems{code=\"node_absent\"}")
        .await;
    assert_eq!(absent, "1");
    nodes.stop().await;
}

#[actix_web::test]
async fn only_the_owner_checks_collector_accounts_and_the_next_one_repeats_no_event() {
    let checking = |options: ServiceOptions| ServiceOptions {
        coverage_check: Some(Duration::from_millis(100)),
        engine: EngineOptions {
            treasury_every: Duration::ZERO,
            ..options.engine
        },
        ..options
    };
    let Some(mut nodes) = Cluster::set(2, checking).await else {
        return;
    };
    let owner = nodes.owner().await;
    let (own, other) = (nodes.client(owner), nodes.client(1 - owner));
    // A credit for which the bank has no money.
    let cvu = own.cvu().await;
    own.credit(&cvu, "5.00").await;
    let is_short = async |nodes: &Cluster, n: usize| {
        wait_until("the check finds it", SOON, async || {
            let status = nodes.admin(n, "GET", "/admin/status", None).await.1;
            let treasury = &status["treasury"];
            let checked = treasury["checked"].as_u64() > Some(0);
            (checked && treasury["uncovered"] == 1).then_some(())
        })
        .await;
    };
    let told = async |client: &Client| {
        let page = client.get("/v1/events?types=treasury.*").await.is(200);
        let items = page["items"].as_array().unwrap().clone();
        let kinds = items
            .iter()
            .map(|it| it["type"].as_str().unwrap().to_owned());
        kinds.collect::<Vec<_>>()
    };
    is_short(&nodes, owner).await;
    let standby = nodes.admin(1 - owner, "GET", "/admin/status", None).await;
    assert_eq!(standby.1["treasury"]["collectors"], 0, "{}", standby.1);
    assert_eq!(told(&own).await, ["treasury.uncovered"]);
    nodes.hand_over(owner).await;
    wait_until("the other node serves", SOON, async || {
        (other.get("/readyz").await.status == 200).then_some(())
    })
    .await;
    is_short(&nodes, 1 - owner).await;
    other.debit(&cvu, "5.00").await;
    wait_until("it ends", SOON, async || {
        let told = told(&other).await;
        (told == ["treasury.uncovered", "treasury.covered"]).then_some(())
    })
    .await;
    nodes.stop().await;
}

#[actix_web::test]
async fn a_hand_over_does_not_wait_for_a_body_that_has_not_arrived() {
    let patient = |options: ServiceOptions| ServiceOptions {
        deadlines: caudal_http::bytes::Deadlines {
            body: SOON * 100,
            ..options.deadlines
        },
        ..options
    };
    let Some(mut nodes) = Cluster::set(2, patient).await else {
        return;
    };
    let owner = nodes.owner().await;
    let (own, other) = (nodes.client(owner), nodes.client(1 - owner));
    let cvu = own.cvu().await;
    let body = r#"{"voucherTypeCode":"IN","amount":"1.00","idExterno":"slow"}"#;
    let (sent, kept) = body.split_at(body.len() - 1);
    let mut line = Line::to(&own).await;
    line.send(format!(
        "POST /v1/accounts/{cvu}/comprobantes HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\nexpect: 100-continue\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{sent}",
        nodes.key,
        body.len()
    ))
    .await;
    // The handler waits for the rest of the body.
    assert_eq!(line.answer().await.unwrap().status, 100);
    let before = nodes.epoch(owner).await;
    let to_any = json!({});
    let gives = nodes.admin(owner, "POST", "/admin/node/hand-over", Some(&to_any));
    let given = tokio::time::timeout(Duration::from_secs(20), gives);
    let given = given.await.expect("it does not wait for the body").1;
    assert_eq!(given["to"], nodes.name(1 - owner), "{given}");
    let answer = line.answer().await.unwrap();
    assert_eq!((answer.status, answer.code().as_str()), (503, "not_owner"));
    line.send(&kept).await;
    assert_eq!(nodes.epoch_from(before + 1).await, 1 - owner);
    assert_eq!(other.available(&cvu).await, "0.00");
    nodes.stop().await;
}

#[actix_web::test]
async fn the_console_of_a_standby_shows_its_nodes_and_nothing_else() {
    let Some(mut nodes) = Cluster::start(2).await else {
        return;
    };
    let owner = nodes.owner().await;
    for n in [owner, 1 - owner] {
        let operator = nodes.operator(n);
        let link = nodes.console_link(n);
        let entered = operator.get(&link).await.is(200);
        let cookie = entered.headers["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap();
        let see = async |path: &str| operator.get(path).header("cookie", cookie).await;
        let page = see("/console/node").await.is(200);
        assert!(page.text.contains(&nodes.name(owner)), "{}", page.text);
        let tenants = see("/console/tenants").await;
        if n == owner {
            assert_eq!(tenants.status, 200)
        } else {
            assert_eq!(tenants.headers["location"], "/console/node")
        }
    }
    nodes.stop().await;
}

#[actix_web::test]
async fn a_client_that_follows_the_owner_needs_to_know_one_node() {
    let Some(mut nodes) = Cluster::start(3).await else {
        return;
    };
    for n in 0..3 {
        let body = json!({"code": format!("T{n}"), "name": "Type", "sense": "credit"});
        made(&nodes.client(n), "/v1/voucher-types", &body).await;
    }
    nodes.stop().await;
}
