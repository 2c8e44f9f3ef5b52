//! The sandbox bank through the API: what a test key orders is done for its realm alone.

use caudal_ledger::time::{BusinessDay, Timestamp};

use crate::problems::codes;
use crate::support::{Client, SOON, TestService, Value, json, wait_until};

const SIMULATIONS: [&str; 5] = [
    "cash-in",
    "transfer-outcome",
    "reversal",
    "bank-behaviour",
    "clock",
];
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn path(of: &str) -> String {
    format!("/v1/simulations/{of}")
}

#[actix_web::test]
async fn a_live_key_knows_no_simulations() {
    let service = TestService::start().await;
    let live = service.keyed(&json!({"mode": "live"})).await;
    for of in SIMULATIONS {
        let refused = live.post(&path(of), &json!({})).await;
        refused.refused(404, "route_not_found");
        let without_key = service.a.with_key(None).post(&path(of), &json!({})).await;
        without_key.refused(401, "unauthorized");
    }
    let read = service
        .keyed(&json!({"mode": "test", "scopes": ["read"]}))
        .await;
    let refused = read.post(&path("cash-in"), &json!({})).await;
    refused.refused(403, "scope_missing");
}

#[actix_web::test]
async fn money_arrives_once_by_its_id_and_only_for_an_account_of_the_realm() {
    let service = TestService::start().await;
    service.hear().await;
    let (own, other) = (service.a.cvu().await, service.b.cvu().await);
    let order = json!({"cvu": own, "amount": "12.50", "fromName": "Ana Remitente"});
    let arrived = service.a.post(&path("cash-in"), &order).await.is(200);
    let id = arrived["coelsaId"].clone();
    assert_eq!(id.as_str().unwrap().len(), 22);
    let again = json!({"cvu": own, "amount": "12.50", "coelsaId": id});
    let again = service.a.post(&path("cash-in"), &again).await.is(200);
    assert_eq!(again["coelsaId"], id);
    wait_until("the money arrives", SOON, async || {
        (service.a.available(&own).await == "12.50").then_some(())
    })
    .await;
    let order = json!({"cvu": other, "amount": "1.00"});
    let refused = service.a.post(&path("cash-in"), &order).await;
    let refused = refused.refused(400, "bank_refused");
    assert_eq!(refused["bankBody"]["code"], "VW005");
    for (wrong, field) in [
        (json!({"cvu": own, "amount": "0"}), "amount"),
        (json!({"cvu": "1", "amount": "1"}), "cvu"),
        (
            json!({"cvu": own, "amount": "1", "coelsaId": "short"}),
            "coelsaId",
        ),
        (json!({"cvu": own, "amount": "1", "x": 1}), "x"),
    ] {
        let refused = service.a.post(&path("cash-in"), &wrong).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(refused["errors"][0]["field"], field);
    }
    assert_eq!(service.a.available(&own).await, "12.50");
    assert_eq!(service.b.available(&other).await, "0.00");
}

#[actix_web::test]
async fn transfers_end_as_they_are_told_and_come_back() {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    for (outcome, status) in [
        ("completed", "completed"),
        ("rejected", "rejected"),
        ("audit", "audit"),
    ] {
        let sent = service
            .a
            .transfer(&cvu, json!({"alias": "DESTINO.2"}), "10.00")
            .await
            .is(201);
        let sent = service.a.settled(&sent.json, "in_progress").await;
        let order =
            json!({"transferId": sent["id"], "outcome": outcome, "reason": "Cuenta cerrada"});
        // Another realm does not know it.
        let foreign = service.b.post(&path("transfer-outcome"), &order).await;
        foreign.refused(404, "transfer_not_found");
        let ended = service.a.post(&path("transfer-outcome"), &order).await;
        assert_eq!(ended.status, 204, "{}", ended.text);
        let sent = service.a.settled(&sent, status).await;
        let rejected = outcome == "rejected";
        let right =
            rejected.then(|| json!({"code": "destination_closed", "message": "Cuenta cerrada"}));
        assert_eq!(sent["rejection"], right.unwrap_or(Value::Null));
        if outcome == "completed" {
            let back = json!({"transferId": sent["id"], "amount": "4.00"});
            let back = service.a.post(&path("reversal"), &back).await;
            assert_eq!(back.status, 204, "{}", back.text);
            let sent = service.a.settled(&sent, "reversed").await;
            assert_eq!(sent["reversed"], "4.00");
        }
        let late = service.a.post(&path("transfer-outcome"), &order).await;
        let expected = if outcome == "audit" { 204 } else { 400 };
        assert_eq!(late.status, expected, "{}", late.text);
    }
    let p2p = service
        .a
        .transfer(&cvu, json!({"cvu": service.a.cvu().await}), "1.00");
    let order = json!({"transferId": p2p.await.is(201)["id"], "outcome": "completed"});
    let refused = service.a.post(&path("transfer-outcome"), &order).await;
    let refused = refused.refused(400, "invalid_request");
    assert_eq!(refused["errors"][0]["field"], "transferId");
}

#[actix_web::test]
async fn the_bank_misbehaves_for_one_realm_alone() {
    let service = TestService::start().await;
    let (one, two) = (service.a.cvu().await, service.b.cvu().await);
    service.a.in_and_out().await;
    service.b.in_and_out().await;
    service.a.credit(&one, "10.00").await;
    service.b.credit(&two, "10.00").await;
    let order = json!({"operation": "transfer", "mode": "reject", "code": "TX046"});
    let set = service.a.post(&path("bank-behaviour"), &order).await;
    assert_eq!(set.status, 204, "{}", set.text);
    let to = || json!({"alias": "DESTINO.0"});
    let sent = service.a.transfer(&one, to(), "1.00").await.is(201).json;
    let sent = service.a.settled(&sent, "rejected").await;
    let why = &sent["rejection"];
    assert_eq!(
        (&why["code"], &why["bankCode"], &why["bankStatus"]),
        (&json!("limit_exceeded"), &json!("TX046"), &json!(409))
    );
    let other = service.b.transfer(&two, to(), "1.00").await.is(201).json;
    service.b.settled(&other, "completed").await;
    let order = json!({"operation": "transfer", "mode": "ok"});
    let set = service.a.post(&path("bank-behaviour"), &order).await;
    assert_eq!(set.status, 204, "{}", set.text);
    let sent = service.a.transfer(&one, to(), "1.00").await.is(201).json;
    service.a.settled(&sent, "completed").await;
    for order in [
        json!({"operation": "nothing", "mode": "ok"}),
        json!({"operation": "transfer", "mode": "nothing"}),
        json!({"operation": "lookup", "mode": "error"}),
    ] {
        let refused = service.a.post(&path("bank-behaviour"), &order).await;
        let refused = refused.refused(400, "bank_refused");
        assert!(
            refused["bankBody"]["allowed"].is_array(),
            "{}",
            refused.text
        );
    }
}

/// Puts the clock of a realm ahead; returns what it shows then.
async fn ahead(client: &Client, days: u64) -> Timestamp {
    let clock = client.post(&path("clock"), &json!({"daysAhead": days}));
    let clock = clock.await.is(200);
    assert_eq!(clock["daysAhead"], days);
    Timestamp::parse(clock["now"].as_str().unwrap()).unwrap()
}

/// The reconciled movements of a day, each with how it was judged.
async fn reconciled(client: &Client, day: BusinessDay) -> Vec<(Value, Value)> {
    let found = client.get(&format!("/v1/bank/conciliacion?date={day}"));
    let found = found.await.is(200);
    let items = found["items"].as_array().unwrap().iter();
    items
        .map(|it| (it["amount"].clone(), it["result"].clone()))
        .collect()
}

#[actix_web::test]
async fn the_clock_of_a_test_realm_goes_ahead_with_its_bank() {
    let mut service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let arrives = async |service: &TestService, amount: &str, all: &str| {
        let order = json!({"cvu": cvu, "amount": amount});
        service.a.post(&path("cash-in"), &order).await.is(200);
        wait_until("the money arrives", SOON, async || {
            (service.a.available(&cvu).await == all).then_some(())
        })
        .await;
    };
    arrives(&service, "100.00", "100.00").await;
    let began = ahead(&service.a, 0).await;
    let first = began.business_day();
    let ends = began.plus_millis(36 * HOUR).to_string();
    let hold = json!({"amount": "60.00", "idExterno": "held", "expiresAt": ends});
    let holds = format!("/v1/accounts/{cvu}/holds");
    service.a.post(&holds, &hold).await.is(201);
    assert_eq!(service.a.available(&cvu).await, "40.00");

    let now = ahead(&service.a, 2).await;
    let passed = now.millis() - began.millis();
    assert!((2 * DAY..2 * DAY + HOUR).contains(&passed), "{began} {now}");
    wait_until("the hold ends", SOON, async || {
        (service.a.available(&cvu).await == "100.00").then_some(())
    })
    .await;
    // The bank's day is the realm's.
    arrives(&service, "5.00", "105.00").await;
    let matched = |amount: &str| vec![(json!(amount), json!("matched"))];
    assert_eq!(
        reconciled(&service.a, now.business_day()).await,
        matched("5.00")
    );
    assert_eq!(reconciled(&service.a, first).await, matched("100.00"));
    service.close_days().await;
    let closed = service.a.get("/v1/days").await.is(200);
    let closed = closed["items"].as_array().unwrap().iter();
    let closed: Vec<_> = closed
        .map(|day| (day["date"].clone(), day["bank"]["status"].clone()))
        .collect();
    let known = |day: BusinessDay| (json!(day.to_string()), json!("known"));
    assert_eq!(closed, [known(first.next()), known(first)]);

    // A clock never goes back, and a crash loses nothing of it.
    service.crash().await;
    let refused = service
        .a
        .post(&path("clock"), &json!({"daysAhead": 1}))
        .await;
    let refused = refused.refused(400, "invalid_request");
    assert_eq!(refused["errors"][0]["field"], "daysAhead");
    assert!(ahead(&service.a, 2).await >= now);
    service.a.credit(&cvu, "1.00").await;
    // Nobody else's clock has moved.
    let other = ahead(&service.b, 0).await;
    assert!(other < began.plus_millis(HOUR), "{other}");
    let live = service.live.get("/v1/treasury").await.is(200);
    let live = Timestamp::parse(live["asOf"].as_str().unwrap()).unwrap();
    assert!(live < began.plus_millis(HOUR), "{live}");
}

#[actix_web::test]
async fn what_waits_in_a_realm_that_is_ahead_grows_old_by_its_clock() {
    let service = TestService::start().await;
    service.hear().await;
    let cvu = service.a.cvu().await;
    ahead(&service.a, 30).await;
    let account = format!("/v1/accounts/{cvu}");
    service.a.delete(&account).await.is(200);
    let order = json!({"cvu": cvu, "amount": "5.00"});
    service.a.post(&path("cash-in"), &order).await.is(200);
    let age = async || {
        let found = service.admin_get("/admin/cases").await.is(200).json.clone();
        found["items"][0]["ageSeconds"].as_u64()
    };
    let young = wait_until("the money waits", SOON, &age).await;
    assert!(young < 3_600, "{young} s");
    assert!(!codes(&service).await.contains(&"case_old".to_owned()));
    ahead(&service.a, 31).await;
    let old = age().await.unwrap();
    assert!((86_400..90_000).contains(&old), "{old} s");
    assert!(codes(&service).await.contains(&"case_old".to_owned()));
    let tenant = service.admin_get("/admin/tenants/tnt_first").await.is(200);
    assert_eq!(tenant["realms"]["testDaysAhead"], 31);
    // The day that is due next is due by the machine's clock.
    service.close_days().await;
    let engine = service.engine();
    for (realm, due) in engine.operators().days_due() {
        let off = due.millis().abs_diff(engine.now().millis());
        assert!(off < 2 * DAY, "{} {due}", realm.0);
    }
}
