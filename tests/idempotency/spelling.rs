//! When two bodies under one key count as the same.

use std::future::IntoFuture as _;

use super::same;
use crate::support::{TestService, cuit};

/// JSON values are compared, not their spelling.
#[actix_web::test]
async fn two_spellings_of_one_body_are_one_request() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let send = async |body: &str, key: &str| {
        service
            .a
            .call("POST", &path)
            .key(key)
            .text(body.to_owned())
            .await
    };
    let first = r#"{"voucherTypeCode":"IN","amount":1.50,"idExterno":"a\u00f1o","description":"ma\u00f1ana"}"#;
    let made = send(first, "spelled").await.is(201);
    for again in [
        first,
        r#"{ "description" : "mañana", "idExterno":"año", "amount": 1.5,"voucherTypeCode":"I\u004e"}"#,
        r#"{"amount":1.500,"voucherTypeCode":"IN","idExterno":"año","desc\u0072iption":"mañana"}"#,
    ] {
        same(&made, &send(again, "spelled").await);
    }
    for other in [
        r#"{"voucherTypeCode":"IN","amount":"1.50","idExterno":"año","description":"mañana"}"#,
        r#"{"voucherTypeCode":"IN","amount":1.51,"idExterno":"año","description":"mañana"}"#,
        r#"{"voucherTypeCode":"IN","amount":1.50,"idExterno":"an\u0303o","description":"mañana"}"#,
    ] {
        send(other, "spelled")
            .await
            .refused(409, "idempotency_key_reused");
    }
    let open = |spelling: &str| {
        let body = format!(
            r#"{{"cuit":"{}","holderName":"Juana P\u00e9rez","metadata":{spelling}}}"#,
            cuit(7)
        );
        service
            .a
            .call("POST", "/v1/accounts")
            .key("nested")
            .text(body)
            .into_future()
    };
    let opened = open(r#"{"oficio":"ni\u00f1era","calle":"A"}"#)
        .await
        .is(201);
    let again = open(r#"{ "calle":"\u0041","oficio" : "niñera" }"#).await;
    same(&opened, &again);
}
