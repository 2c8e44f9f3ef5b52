//! The bank's notices: believed if they are signed, applied once, and never lost.

use crate::support::{Answer, SOON, TestService, json, wait_until};

async fn notify(service: &TestService, headers: &[(&str, &str)], body: &str) -> Answer {
    let client = service.a.with_key(None);
    let mut call = client
        .call("POST", caudal_bank::notices::route::PATH)
        .text(body.to_owned());
    for (name, value) in headers {
        call = call.header(name, value);
    }
    call.await
}

#[actix_web::test]
async fn nothing_is_believed_without_a_signature() {
    let service = TestService::start().await;
    let stamp = (caudal_http::clock::now().millis() / 1_000).to_string();
    let signature = format!("v1,{}", "A".repeat(43) + "=");
    let id = ("webhook-id", "ntc_1");
    let at = ("webhook-timestamp", stamp.as_str());
    let signed = ("webhook-signature", signature.as_str());
    let body = r#"{"id":"ntc_1","object":"event","type":"endpoint.created","data":{}}"#;
    for headers in [
        &[][..],
        &[id],
        &[id, at],
        &[id, at, signed],
        &[id, at, ("webhook-signature", "v1,")],
        &[id, at, ("webhook-signature", "")],
        &[id, ("webhook-timestamp", "x"), signed],
        &[id, id, at, signed],
    ] {
        let refused = notify(&service, headers, body).await;
        refused.refused(401, "unauthorized");
    }
    let large = "x".repeat(64 * 1024 + 1);
    let refused = notify(&service, &[], &large).await;
    refused.refused(413, "body_too_large");
    let refused = service.a.get(caudal_bank::notices::route::PATH).await;
    let refused = refused.refused(405, "method_not_allowed");
    assert_eq!(refused.header("allow"), "POST");
}

#[actix_web::test]
async fn money_that_arrives_is_credited_once() {
    let mut service = TestService::start().await;
    service.hear().await;
    let cvu = service.a.cvu().await;
    service
        .bank
        .behave(json!({"operation": "cash_in", "mode": "duplicate_notice", "count": 1}))
        .await;
    service.bank.cash_in(&cvu, "12.50").await;
    service.bank.cash_in(&cvu, "1.00").await;
    let arrived = async |service: &TestService, amount: &str| {
        wait_until("the money arrives", SOON, async || {
            (service.a.available(&cvu).await == amount).then_some(())
        })
        .await;
    };
    arrived(&service, "13.50").await;
    let path = format!("/v1/accounts/{cvu}/movements?referenceType=cash_in");
    let movements = service.a.get(&path).await.is(200);
    assert_eq!(movements.header("x-total-count"), "2");
    assert_eq!(movements.json[0]["voucherTypeCode"], "TRANSFER_IN");
    // Money that arrives while the service is away is reported again.
    service.end(true).await;
    service.bank.cash_in(&cvu, "2.00").await;
    service.begin().await;
    service.hear().await;
    service.bank.cash_in(&cvu, "4.00").await;
    wait_until("what was told meanwhile arrives", SOON, async || {
        let now = service.a.available(&cvu).await;
        ["17.50", "19.50"].contains(&now.as_str()).then_some(())
    })
    .await;
    service.verified().await;
}
