//! Treasury: the snapshot next to the bank, and the positions of clients.

mod bodies;
pub mod books;
mod collector;
mod coverage;
mod cuts;
mod days;
mod past;
mod random;
mod relations;
mod two;
mod under_load;
mod wallet;

use std::time::Duration;

use crate::support::{
    Answer, Client, SOON, Setup, TestClock, TestService, Value, json, named, wait_until,
};

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(3600);
const PATH: &str = "/v1/treasury";
const POSITIONS: &str = "/v1/treasury/positions";

/// The snapshot, once it is as wanted.
async fn snapshot(client: &Client, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait_until(what, SOON, async || {
        let taken = client.get(PATH).await.is(200).json;
        wanted(&taken).then_some(taken)
    })
    .await
}

/// The CVUs of a list of positions.
fn cvus(listed: &Answer) -> Vec<&str> {
    let items = listed["items"].as_array().unwrap().iter();
    items.map(|item| item["cvu"].as_str().unwrap()).collect()
}

/// Checks a body whose instant comes from the bank's clock.
#[track_caller]
fn is_golden(taken: &Answer, golden: &str) {
    let golden: String = golden.lines().map(str::trim_start).collect();
    let spanish = taken["fecha"]
        .as_str()
        .filter(|_| taken["saldoBanco"] != Value::Null);
    let text = match taken["bankAsOf"].as_str().or(spanish) {
        Some(at) => taken.text.replace(at, "<bank>"),
        None => taken.text.clone(),
    };
    assert_eq!(text, golden);
}

#[actix_web::test]
async fn the_snapshot_holds_the_bank_beside_what_is_owed() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    snapshot(&service.a, "the bank's balance", |taken| {
        taken["bankBalance"].is_string()
    })
    .await;
    is_golden(&service.a.get(PATH).await.is(200), bodies::NOTHING);
    let wallet = service.a.get("/wallet/v1/Tesoreria").await.is(200);
    is_golden(&wallet, bodies::NADA);
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    service.a.hold(&cvu, "30.00").await;
    service.a.debit(&cvu, "0.01").await;
    // Clients are owed more than the collector account has: this is reported, and stops nobody.
    is_golden(&service.a.get(PATH).await.is(200), bodies::SHORT);
    let wallet = service.a.get("/wallet/v1/Tesoreria").await.is(200);
    is_golden(&wallet, bodies::CORTO);
    service.a.debit(&cvu, "1.00").await;
}

#[actix_web::test]
async fn money_that_arrives_covers_itself_and_what_waits_is_in_transit() {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let fees = json!({"feeSchedule": [
        {"voucherTypeCode": "TRANSFER_OUT", "percentage": "1", "fixed": "0.00", "charge": true}]});
    service.tenant(&fees).await;
    let cvu = service.a.cvu().await;
    service.bank.cash_in(&cvu, "100.00").await;
    let covered = snapshot(&service.a, "covered", |taken| {
        taken["clientFunds"]["total"] == "100.00" && taken["bankBalance"] == "100.00"
    })
    .await;
    assert_eq!(
        (&covered["freeBalance"], &covered["coverageRatio"]),
        (&json!("0.00"), &json!("1.0000"))
    );
    assert_eq!(covered["covered"], true);
    let sent = service
        .a
        .transfer(&cvu, json!({"alias": "DESTINO.2"}), "40.00")
        .await;
    let sent = sent.is(201).json;
    let taken = service.a.get(PATH).await.is(200);
    assert_eq!(taken["inTransit"]["outgoing"], "40.00");
    assert_eq!(taken["clientFunds"]["held"], "40.48");
    assert_eq!(taken["pspFees"], "0.00");
    service.a.settled(&sent, "in_progress").await;
    service.bank.settle(&sent["originId"], "COMPLETED").await;
    let settled = service.a.settled(&sent, "completed").await;
    assert_eq!(settled["amount"], "40.00");
    let taken = snapshot(&service.a, "the bank's word", |taken| {
        taken["bankBalance"] == "60.00"
    })
    .await;
    assert_eq!(taken["inTransit"]["outgoing"], "0.00");
    assert_eq!(taken["clientFunds"]["total"], "59.52");
    // The fee and its tax stay on the collector account.
    assert_eq!(
        (&taken["pspFees"], &taken["freeBalance"]),
        (&json!("0.48"), &json!("0.48"))
    );
    service
        .a
        .delete(&format!("/v1/accounts/{cvu}"))
        .await
        .is(200);
    service.bank.cash_in(&cvu, "7.00").await;
    let taken = snapshot(&service.a, "suspense", |taken| {
        taken["inTransit"]["incoming"] == "7.00"
    })
    .await;
    assert_eq!(
        taken["accounts"],
        json!({"active": 0, "suspended": 0, "closed": 1})
    );
    assert_eq!(taken["clientFunds"]["total"], "59.52");
    service.verified().await;
}

#[actix_web::test]
async fn a_bank_that_is_away_takes_only_its_own_side_along() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "10.00").await;
    for (mode, code) in [("error", "bank_failed"), ("reject", "bank_refused")] {
        let behaviour = json!({"operation": "balance", "mode": mode});
        service.bank.behave(behaviour).await;
        let taken = snapshot(&service.a, code, |taken| taken["bankError"]["code"] == code).await;
        for name in [
            "bankBalance",
            "bankAsOf",
            "freeBalance",
            "coverageRatio",
            "covered",
        ] {
            assert_eq!(taken[name], Value::Null, "{name}");
        }
        assert_eq!(taken["clientFunds"]["total"], "10.00");
        assert_eq!(taken["collector"]["cbu"], caudal_sandbox::COLLECTOR);
    }
    service
        .bank
        .behave(json!({"operation": "balance", "mode": "ok"}))
        .await;
    let back = snapshot(&service.a, "the bank is back", |taken| {
        taken["bankBalance"].is_string()
    });
    assert_eq!(back.await["bankError"], Value::Null);
}

#[actix_web::test]
async fn a_bank_that_is_silent_holds_nobody_up_and_is_not_flooded() {
    // The gateway never gives up on the bank, so every answer here is one that did not wait for it.
    let service = TestService::with(Setup {
        patience: NEVER,
        treasury_patience: caudal_actors::treasury::PATIENCE,
        ..Setup::default()
    })
    .await;
    let silent = json!({"operation": "balance", "mode": "timeout"});
    service.bank.behave(silent).await;
    let before = service.bank.calls("balance").await;
    let many = (0..50).map(|_| std::future::IntoFuture::into_future(service.a.get(PATH)));
    for taken in futures_util::future::join_all(many).await {
        let taken = taken.is(200);
        assert_eq!(taken["bankError"]["code"], "bank_not_yet");
    }
    service.a.get(PATH).await.is(200);
    assert_eq!(service.bank.calls("balance").await, before + 1);
}

#[actix_web::test]
async fn positions_are_what_each_client_has() {
    let clock = TestClock::at("2026-03-02T15:04:05.678Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let body = json!({"cuit": "27312547568", "holderName": "Ana Ñandú", "alias": "Mar.De.Sal"});
    let first = service.a.open_with(body).await["cvu"].clone();
    let first = first.as_str().unwrap();
    service.a.credit(first, "100.00").await;
    service.a.hold(first, "30.00").await;
    let (second, third) = (service.a.cvu().await, service.a.cvu().await);
    service.a.credit(&second, "5.00").await;
    let read = service.a.get(&format!("{POSITIONS}/{first}")).await.is(200);
    let golden: String = bodies::POSITION.lines().map(str::trim_start).collect();
    assert_eq!(read.text, golden);
    let all = service.a.get(POSITIONS).await.is(200);
    assert_eq!(cvus(&all), [&third, &second, first]);
    assert_eq!(all["items"][2], read.json);
    assert_eq!(
        (&all["total"], &all["limit"], &all["offset"]),
        (&json!(3), &json!(50), &json!(0))
    );
    assert_eq!(all.header("x-total-count"), "3");
    for (query, found) in [
        ("q=nandu", vec![first]),
        ("q=mar.de", vec![first]),
        ("q=2731254", vec![first]),
        ("q=nobody", vec![]),
        ("min=0.01", vec![second.as_str(), first]),
        ("max=99.99", vec![third.as_str(), &second]),
        ("min=5&max=5.00", vec![second.as_str()]),
        ("min=100&q=ana", vec![first]),
        ("order=asc&limit=1&offset=1", vec![second.as_str()]),
    ] {
        let listed = service.a.get(&format!("{POSITIONS}?{query}")).await;
        let listed = listed.is(200);
        assert_eq!(cvus(&listed), found, "{query}");
    }
    // Paging by cursor gives each position once, with and without a filter.
    for filter in ["", "&max=100"] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("{POSITIONS}?limit=1{filter}&cursor={cursor}");
            let page = service.a.get(&path).await.is(200);
            seen.extend(cvus(&page).iter().map(|cvu| (*cvu).to_owned()));
            assert_eq!(page["total"], 3);
            cursor = page.header("x-next-cursor").to_owned();
            if cursor.is_empty() {
                break;
            }
        }
        assert_eq!(seen, [third.as_str(), &second, first]);
    }
    for (query, field) in [
        ("min=2&max=1", "min"),
        ("min=-1", "min"),
        ("max=1e2", "max"),
        ("limit=0", "limit"),
        ("cursor=zz", "cursor"),
    ] {
        let refused = service.a.get(&format!("{POSITIONS}?{query}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
    }
}

#[actix_web::test]
async fn closed_accounts_stay_while_they_have_money() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let (open, rich, poor) = (
        service.a.cvu().await,
        service.a.cvu().await,
        service.a.cvu().await,
    );
    service.a.credit(&rich, "20.00").await;
    for cvu in [&rich, &poor] {
        let path = format!("/v1/accounts/{cvu}");
        service.a.delete(&path).await.is(200);
    }
    for query in ["", "?max=100", "?q=holder"] {
        let listed = service.a.get(&format!("{POSITIONS}{query}")).await.is(200);
        assert_eq!(cvus(&listed), [&rich, &open], "{query}");
        assert_eq!(listed["total"], 2, "{query}");
    }
    // Read by its CVU the position is there all the same.
    let read = service.a.get(&format!("{POSITIONS}/{poor}")).await.is(200);
    assert_eq!(
        (&read["status"], &read["total"]),
        (&json!("closed"), &json!("0.00"))
    );
    let taken = service.a.get(PATH).await.is(200);
    assert_eq!(taken["clientFunds"]["total"], "20.00");
    assert_eq!(
        taken["accounts"],
        json!({"active": 1, "suspended": 0, "closed": 2})
    );
    service.a.debit(&rich, "20.00").await;
    let listed = service.a.get(POSITIONS).await.is(200);
    assert_eq!(
        (cvus(&listed), &listed["total"]),
        (vec![open.as_str()], &json!(1))
    );
}

#[actix_web::test]
async fn a_clients_past_and_movements_are_the_accounts() {
    let clock = TestClock::at("2026-03-02T15:00:00Z");
    let service = TestService::at(&clock).await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "10.00").await;
    clock.set("2026-03-03T15:00:00Z");
    service.a.hold(&cvu, "4.00").await;
    let account = format!("/v1/accounts/{cvu}");
    for (position, same) in [
        (
            "movements?from=2026-03-03&limit=1",
            "movements?from=2026-03-03&limit=1",
        ),
        ("movements?to=2026-03-02", "movements?to=2026-03-02"),
        (
            "balance/historical?date=2026-03-02",
            "balance/historical?date=2026-03-02",
        ),
        (
            "balance/historical?date=2026-03-01",
            "balance/historical?date=2026-03-01",
        ),
    ] {
        let position = service
            .a
            .get(&format!("{POSITIONS}/{cvu}/{position}"))
            .await;
        let account = service.a.get(&format!("{account}/{same}")).await;
        assert_eq!(position.is(200).text, account.is(200).text);
    }
    for wrong in ["date=2026-03-04", "date=ayer", ""] {
        let path = format!("{POSITIONS}/{cvu}/balance/historical?{wrong}");
        service.a.get(&path).await.refused(400, "invalid_request");
    }
}

#[actix_web::test]
async fn a_realm_sees_its_own_treasury_and_keeps_it_over_restarts() {
    let mut service = TestService::start().await;
    for (client, amount) in [
        (&service.a, "1.00"),
        (&service.b, "2.00"),
        (&service.live, "4.00"),
    ] {
        client.in_and_out().await;
        let cvu = client.cvu().await;
        client.credit(&cvu, amount).await;
    }
    for crash in [false, true] {
        for (client, amount) in [
            (&service.a, "1.00"),
            (&service.b, "2.00"),
            (&service.live, "4.00"),
        ] {
            let taken = client.get(PATH).await.is(200);
            assert_eq!(taken["clientFunds"]["total"], amount);
            assert_eq!(
                (&taken["sequence"], &taken["accounts"]["active"]),
                (&json!(1), &json!(1))
            );
            assert_eq!(client.get(POSITIONS).await.is(200)["total"], 1);
        }
        service.verified().await;
        if crash {
            service.crash().await;
        } else {
            service.restart().await;
        }
    }
}
