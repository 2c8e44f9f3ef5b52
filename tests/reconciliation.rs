//! Reconciliation: the bank's list of a day compared with the ledger, in both directions.

mod range;

use crate::support::{Client, SOON, TestService, Value, json, named, wait_until};

const PATH: &str = "/v1/bank/conciliacion";

async fn start() -> (TestService, String) {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    (service, cvu)
}

/// The item with this id on the rail, once it is as wanted.
async fn item(client: &Client, coelsa: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait_until(coelsa, SOON, async || {
        let day = client.get(PATH).await.is(200);
        let mut items = day["items"].as_array().unwrap().iter();
        let found = items.find(|item| item["coelsaId"] == coelsa);
        found.filter(|item| wanted(item)).cloned()
    })
    .await
}

#[actix_web::test]
async fn what_arrives_and_what_leaves_agrees_with_the_bank() {
    let (service, cvu) = start().await;
    let arrived = service.bank.cash_in(&cvu, "100.00").await;
    let matched = item(&service.a, &arrived, |item| item["result"] == "matched").await;
    assert_eq!(
        (&matched["direction"], &matched["cvu"]),
        (&json!("in"), &json!(cvu))
    );
    assert_eq!(
        (&matched["amount"], &matched["status"]),
        (&json!("100.00"), &json!("completed"))
    );
    assert_eq!(matched["voucher"]["amount"], "100.00");
    assert_eq!(
        (&matched["transferId"], &matched["suspense"]),
        (&Value::Null, &Value::Null)
    );
    assert!(matched["counterparty"]["cuit"].is_string() && matched["bankAt"].is_string());
    let sent = service
        .a
        .transfer(&cvu, json!({"alias": "DESTINO.0"}), "40.00")
        .await;
    let sent = service.a.settled(&sent.is(201).json, "completed").await;
    let coelsa = sent["coelsaId"].as_str().unwrap();
    let out = item(&service.a, coelsa, |item| item["result"] == "matched").await;
    assert_eq!(
        (&out["direction"], &out["transferId"]),
        (&json!("out"), &sent["id"])
    );
    assert_eq!(out["bankTransferId"], sent["bankTransferId"]);
    assert_eq!(out["reversal"], false);
    let day = service.a.get(PATH).await.is(200);
    let summary = json!({"matched": 2, "missingInLedger": 0, "missingAtBank": 0,
        "amountDiffers": 0, "pending": 0, "decided": 0, "suspense": 0, "collector": 0, "contradicted": 0, "amountIn": "100.00", "amountOut": "40.00"});
    assert_eq!(day["summary"], summary);
    // Naming the day gives the same answer; another day has none of it.
    let today = day["fecha"].as_str().unwrap();
    let named_day = service
        .a
        .get(&format!("{PATH}?fecha={today}"))
        .await
        .is(200);
    assert_eq!(named_day["items"], day["items"]);
    let past = service
        .a
        .get(&format!("{PATH}?fecha=2020-02-29"))
        .await
        .is(200);
    assert_eq!(
        (&past["fecha"], &past["items"]),
        (&json!("2020-02-29"), &json!([]))
    );
    // Another tenant sees none of it.
    assert_eq!(service.b.get(PATH).await.is(200)["items"], json!([]));
}

#[actix_web::test]
async fn a_returned_transfer_is_reported_as_returned() {
    let (service, cvu) = start().await;
    service.a.credit(&cvu, "50.00").await;
    let sent = service
        .a
        .transfer(&cvu, json!({"alias": "DESTINO.3"}), "40.00")
        .await;
    let sent = service.a.settled(&sent.is(201).json, "reversed").await;
    let day = service.a.get(PATH).await.is(200);
    let mut items = day["items"].as_array().unwrap().iter();
    let back = items.find(|item| item["reversal"] == true).unwrap();
    assert_eq!(
        (&back["direction"], &back["transferId"]),
        (&json!("in"), &sent["id"])
    );
    assert_eq!(
        (&back["amount"], &back["result"]),
        (&json!("40.00"), &json!("matched"))
    );
}

#[actix_web::test]
async fn money_that_no_account_can_take_waits_in_sight() {
    let (service, cvu) = start().await;
    service
        .a
        .delete(&format!("/v1/accounts/{cvu}"))
        .await
        .is(200);
    let arrived = service.bank.cash_in(&cvu, "5.00").await;
    let kept = item(&service.a, &arrived, |item| item["suspense"].is_object()).await;
    assert_eq!(kept["suspense"]["reason"], "account_closed");
    assert!(kept["suspense"]["at"].is_string());
    assert_eq!(
        (&kept["voucher"], &kept["result"]),
        (&Value::Null, &json!("suspense"))
    );
    assert_eq!(service.a.available(&cvu).await, "0.00");
}

#[actix_web::test]
async fn a_day_that_is_none_or_not_yet_is_refused_and_a_bank_that_fails_is_told() {
    let (service, _) = start().await;
    for fecha in ["2999-01-01", "ayer", "2026-02-30", "01-06-2024", ""] {
        let refused = service.a.get(&format!("{PATH}?fecha={fecha}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["fecha"]);
    }
    service
        .bank
        .behave(json!({"operation": "transfer_list", "mode": "error"}))
        .await;
    let failed = service.a.get(PATH).await.refused(502, "bank_failed");
    let said = failed["message"].as_str().unwrap();
    assert!(
        said.contains("nothing was changed and nothing goes on"),
        "{said}"
    );
}
