//! The external ids that tenants give their operations.

use std::collections::BTreeSet;

use crate::support::{TestService, Value, json};

/// Ids as PSPs choose them: with spaces, slashes and accents. An encoded slash (`%2F`) does not
/// divide the path.
#[actix_web::test]
async fn ids_of_operations_are_any_printable_text_compared_exactly() {
    let mut service = TestService::start().await;
    service.a.in_and_out().await;
    let types = service.a.get("/v1/voucher-types").await.is(200);
    let (cvu, other) = (service.a.cvu().await, service.a.cvu().await);
    let long = "🌊".repeat(64);
    let texts = [
        "pago 123",
        "OP/2026/1",
        "OP%2F2026%2F1",
        "año-1",
        "an\u{303}o-1",
        "AÑO-1",
        "a+b c?d#e&f=g;h",
        "%",
        "100%41",
        "\"'<>\\",
        "..",
        "李小龙",
        "ñ".repeat(33).as_str(),
        long.as_str(),
        "cafe\u{301} \u{a0}x",
    ]
    .map(str::to_owned);
    let mut found = BTreeSet::new();
    for id in &texts {
        let made = service.a.voucher(&cvu, "IN", "2.00", id).await.is(201);
        assert_eq!(made["idExterno"], **id);
        assert!(found.insert(made["id"].to_string()));
        assert!(
            service
                .a
                .voucher(&cvu, "IN", "2.00", id)
                .await
                .is(201)
                .replayed()
        );
        let reused = service.a.voucher(&other, "IN", "2.00", id).await;
        reused.refused(409, "id_externo_reused");
        // The id is used for the other kinds of operations as well.
        let hold = json!({"amount": "1.00", "idExterno": id});
        let path = format!("/v1/accounts/{cvu}/holds");
        assert_eq!(
            service.a.post(&path, &hold).await.is(201)["idExterno"],
            **id
        );
        let moved =
            json!({"fromCvu": cvu, "to": {"cvu": other}, "amount": "0.01", "idExterno": id});
        assert_eq!(
            service.a.post("/v1/transfers", &moved).await.is(201)["idExterno"],
            **id
        );
        let item = json!({"cvu": cvu, "voucherTypeCode": "OUT", "amount": "0.01", "idExterno": id});
        let batch = service
            .a
            .post("/v1/comprobantes/batch", &json!({"items": [item]}))
            .await
            .is(200);
        assert_eq!(
            batch["results"][0]["status"], "recorded",
            "{id}: {}",
            batch.text
        );
        let wallet = json!({"idCuenta": 1, "importe": 2, "codigo": "IN", "idExterno": id});
        assert!(
            service
                .a
                .post("/wallet/v1/Comprobante", &wallet)
                .await
                .is(201)
                .replayed()
        );
    }
    assert!(types.text.contains("IN"));
    for crash in [true, false] {
        for id in texts.iter().filter(|id| *id != "..") {
            let path: String = id.bytes().map(|b| format!("%{b:02X}")).collect();
            let native = format!("/v1/comprobantes/by-external/{path}?direction=credit");
            assert_eq!(service.a.get(&native).await.is(200)["idExterno"], **id);
            let wallet = format!("/wallet/v1/ComprobanteByIdExterno/{path}?sentido=1");
            assert_eq!(service.a.get(&wallet).await.is(200)["idExterno"], **id);
        }
        if crash {
            service.crash().await
        } else {
            service.lose_index()
        }
    }
    let q = service
        .a
        .get(&format!("/v1/accounts/{cvu}/movements?q=pago%20123"))
        .await
        .is(200);
    assert!(q.text.contains("pago 123"));
    service.verified().await;
}

#[actix_web::test]
async fn an_empty_description_is_none_in_either_family() {
    let service = TestService::start().await;
    let client = &service.a;
    client.in_and_out().await;
    let cvu = client.cvu().await;
    for (at, blank) in ["", "  "].into_iter().enumerate() {
        let body = json!({"voucherTypeCode": "IN", "amount": "9", "idExterno": format!("b{at}"), "description": blank});
        let path = format!("/v1/accounts/{cvu}/comprobantes");
        let posted = client.post(&path, &body).await.is(201);
        assert_eq!(posted["description"], Value::Null);
        let body = json!({"amount": "1", "idExterno": format!("h{at}"), "description": blank});
        let held = client
            .post(&format!("/v1/accounts/{cvu}/holds"), &body)
            .await;
        assert_eq!(held.is(201)["description"], Value::Null);
        let item = json!({"cvu": cvu, "voucherTypeCode": "IN", "amount": "1", "idExterno": format!("i{at}"), "description": blank});
        let body = json!({"mode": "independent", "items": [item]});
        let batch = client.post("/v1/comprobantes/batch", &body).await.is(200);
        assert_eq!(batch["summary"]["recorded"], 1, "{}", batch.text);
    }
}
