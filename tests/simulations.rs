//! The sandbox bank through the API: what a test key orders is done for its realm alone.

use crate::support::{SOON, TestService, Value, json, wait_until};

const SIMULATIONS: [&str; 4] = ["cash-in", "transfer-outcome", "reversal", "bank-behaviour"];

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
        let stranger = service.a.with_key(None).post(&path(of), &json!({})).await;
        stranger.refused(401, "unauthorized");
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
