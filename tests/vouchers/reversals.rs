//! Reversals: tied to the voucher that they give back, never more than it, with its fee in proportion, in both families.

use futures_util::future::join_all;

use crate::support::client::fresh;
use crate::support::{Call, Client, TestService, Value, json};

fn id(voucher: &Value) -> String {
    voucher["id"].as_str().unwrap().to_owned()
}

/// A reversal of a voucher; `more` has its other fields.
fn reverse(client: &Client, voucher: &str, more: &Value) -> Call {
    let mut body = json!({"idExterno": format!("rev-{}", fresh())});
    let all = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(all);
    client.post(&format!("/v1/comprobantes/{voucher}/reverse"), &body)
}

/// What of a voucher is reversed, and what can still be; nulls while nothing is.
async fn left(client: &Client, voucher: &str) -> (Value, Value) {
    let read = client.get(&format!("/v1/comprobantes/{voucher}")).await;
    let read = read.is(200);
    (read["reversed"].clone(), read["remaining"].clone())
}

/// The newest movements of an account, newest last: type, direction, amount, and the voucher that it reverses.
async fn moved(client: &Client, cvu: &str, count: usize) -> Vec<[String; 3]> {
    let path = format!("/v1/accounts/{cvu}/movements?limit={count}");
    let movements = client.get(&path).await.is(200).json;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let each = movements.as_array().unwrap().iter().rev();
    each.map(|it| ["voucherTypeCode", "ledgerType", "amount"].map(|name| text(&it[name])))
        .collect()
}

/// A service with an account of 10,000.00 whose debits cost a fee with its tax.
async fn charged() -> (TestService, String) {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "10000.00").await;
    let fees = json!({"feeSchedule": [{"voucherTypeCode": "OUT", "percentage": "1", "fixed": "0",
        "minimum": null, "maximum": null, "charge": true, "taxRate": "21"}]});
    service.tenant(&fees).await;
    (service, cvu)
}

#[actix_web::test]
async fn a_voucher_is_reversed_in_parts_with_its_charges_and_never_beyond_its_amount() {
    let (mut service, cvu) = charged().await;
    let purchase = id(&service.a.debit(&cvu, "1000.05").await);
    // 10.00 of fee and 2.10 of tax.
    assert_eq!(service.a.available(&cvu).await, "8987.85");
    let nothing = (Value::Null, Value::Null);
    assert_eq!(left(&service.a, &purchase).await, nothing);
    let dry = json!({"amount": "400", "refundFees": true});
    let path = format!("/v1/comprobantes/{purchase}/reverse?dryRun=true");
    let mut body = dry.clone();
    body["idExterno"] = json!("dry");
    let shown = service.a.post(&path, &body).await.is(200);
    assert_eq!(shown["reverses"], purchase.as_str());
    assert_eq!(left(&service.a, &purchase).await, nothing);

    let first = reverse(&service.a, &purchase, &dry).await.is(201);
    for (field, value) in [
        ("reverses", purchase.as_str()),
        ("ledgerType", "credit"),
        ("voucherTypeCode", "OUT"),
        ("referenceType", "adjustment"),
        ("amount", "400.00"),
    ] {
        assert_eq!(first[field], value, "{first:?}");
    }
    let refunded = [
        ["OUT", "credit", "400.00"],
        ["FEE", "credit", "4.00"],
        ["FEE_TAX", "credit", "0.84"],
    ];
    assert_eq!(moved(&service.a, &cvu, 3).await, refunded);
    // The same again changes nothing; the same id for another reversal is refused.
    let again = json!({"idExterno": first["idExterno"], "amount": "400", "refundFees": true});
    let replayed = reverse(&service.a, &purchase, &again).await.is(201);
    assert!(replayed.replayed());
    assert_eq!(replayed["id"], first["id"]);
    let other = json!({"idExterno": first["idExterno"], "amount": "401"});
    reverse(&service.a, &purchase, &other)
        .await
        .refused(409, "id_externo_reused");

    service.crash().await;
    let beyond = reverse(&service.a, &purchase, &json!({"amount": "600.06"})).await;
    let beyond = beyond.refused(400, "reversal_exceeds");
    assert_eq!(
        beyond["details"],
        json!({"original": "1000.05", "reversed": "400.00", "remaining": "600.05"})
    );
    let rest = reverse(&service.a, &purchase, &json!({"refundFees": true})).await;
    assert_eq!(rest.is(201)["amount"], "600.05");
    let refunded = [
        ["OUT", "credit", "600.05"],
        ["FEE", "credit", "6.00"],
        ["FEE_TAX", "credit", "1.26"],
    ];
    assert_eq!(moved(&service.a, &cvu, 3).await, refunded);
    // The account has what it had before the purchase, and so have the books.
    assert_eq!(service.a.available(&cvu).await, "10000.00");
    let books = service.a.get("/v1/books/trial-balance").await.is(200);
    for line in books["items"].as_array().unwrap() {
        let name = line["account"].as_str().unwrap();
        if name.starts_with("fee") || name == "adjustments:OUT" {
            assert_eq!(line["balance"], "0.00", "{line}");
        }
    }
    let nothing = reverse(&service.a, &purchase, &json!({})).await;
    nothing.refused(400, "reversal_exceeds");
    let verified = service.admin("POST", "/admin/verify", &json!({})).await;
    assert_eq!(verified.is(200)["ok"], true);
}

#[actix_web::test]
async fn only_adjustments_and_confirmed_holds_of_the_tenant_are_reversed_and_no_reversals() {
    let (service, cvu) = charged().await;
    let a = &service.a;
    let hold = a.hold(&cvu, "50").await;
    a.step(&hold, "confirm", "30").await.is(200);
    let movements = a
        .get(&format!("/v1/accounts/{cvu}/movements?limit=3"))
        .await
        .is(200)
        .json;
    let confirmed = movements.as_array().unwrap().iter();
    let mut confirmed = confirmed.filter(|it| it["ledgerType"] == "confirm_hold");
    let confirmed = id(confirmed.next().unwrap());
    let back = reverse(a, &confirmed, &json!({"amount": "10"}))
        .await
        .is(201);
    assert_eq!(
        (&back["ledgerType"], &back["voucherTypeCode"]),
        (&json!("credit"), &json!("CONFIRM_HOLD"))
    );
    assert_eq!(left(a, &confirmed).await, (json!("10.00"), json!("20.00")));
    // A hold that is open, a fee, and a reversal are not reversed.
    let purchase = id(&a.debit(&cvu, "100").await);
    let fee = a
        .get(&format!("/v1/accounts/{cvu}/movements?type=FEE&limit=1"))
        .await
        .is(200)
        .json;
    for voucher in [id(&back.json), id(&fee[0])] {
        let refused = reverse(a, &voucher, &json!({"amount": "0.01"})).await;
        refused.refused(400, "voucher_not_reversible");
        assert_eq!(left(a, &voucher).await, (Value::Null, Value::Null));
    }
    // A credit is taken back only if it is there.
    let credit = id(&a.credit(&cvu, "5").await);
    assert_eq!(
        reverse(a, &credit, &json!({})).await.is(201)["ledgerType"],
        "debit"
    );
    reverse(&service.b, &purchase, &json!({}))
        .await
        .refused(404, "voucher_not_found");
    service
        .live
        .post(
            &format!("/v1/comprobantes/{purchase}/reverse"),
            &json!({"idExterno": "x"}),
        )
        .await
        .refused(404, "voucher_not_found");
    for body in [
        json!({"amount": "0"}),
        json!({"metadata": {"a": 1}}),
        json!({"other": 1}),
    ] {
        reverse(a, &purchase, &body)
            .await
            .refused(400, "invalid_request");
    }
    // A suspended account takes money back; a closed one does not.
    let reason = json!({"reason": "a test", "code": "other"});
    a.post(&format!("/v1/accounts/{cvu}/suspend"), &reason)
        .await
        .is(200);
    reverse(a, &purchase, &json!({"amount": "1"})).await.is(201);
    a.post(&format!("/v1/accounts/{cvu}/reactivate"), &json!({}))
        .await
        .is(200);
    a.delete(&format!("/v1/accounts/{cvu}")).await.is(200);
    reverse(a, &purchase, &json!({"amount": "1"}))
        .await
        .refused(400, "account_closed");
}

#[actix_web::test]
async fn concurrent_reversals_of_one_voucher_are_together_at_most_its_amount() {
    let (service, cvu) = charged().await;
    let a = &service.a;
    let purchase = id(&a.debit(&cvu, "100").await);
    let parts = (0..64).map(|_| reverse(a, &purchase, &json!({"amount": "3", "refundFees": true})));
    let codes = join_all(parts.map(|call| async { call.await.status })).await;
    assert_eq!(
        codes.iter().filter(|it| **it == 201).count(),
        33,
        "{codes:?}"
    );
    assert_eq!(left(a, &purchase).await, (json!("99.00"), json!("1.00")));
    // Two at once in a batch: the second finds what the first has left.
    let item = |amount: &str, id: &str| {
        json!({"cvu": cvu, "reverses": purchase, "refundFees": true, "amount": amount, "idExterno": id,
            "metadata": {"terminal": "7"}})
    };
    let both = json!({"items": [item("0.60", "one"), item("0.60", "two"), item("0.40", "three")]});
    let done = a.post("/v1/comprobantes/batch", &both).await.is(200);
    let results = done["results"].as_array().unwrap();
    let found: Vec<_> = results.iter().map(|it| &it["status"]).collect();
    assert_eq!(found, ["recorded", "rejected", "recorded"]);
    assert_eq!(results[1]["error"]["code"], "reversal_exceeds");
    assert_eq!(results[0]["voucher"]["reverses"], purchase.as_str());
    assert_eq!(results[0]["voucher"]["metadata"], json!({"terminal": "7"}));
    assert_eq!(service.a.available(&cvu).await, "10000.00");
    let mixed = json!({"items": [{"cvu": cvu, "reverses": purchase, "voucherTypeCode": "OUT",
        "amount": "1", "idExterno": "mixed"}, {"cvu": cvu, "amount": "1", "idExterno": "none"}]});
    let mixed = a.post("/v1/comprobantes/batch", &mixed).await.is(200);
    assert_eq!(mixed["summary"]["rejected"], 2);
}

#[actix_web::test]
async fn the_wallet_family_reverses_and_shows_both_sides_and_vouchers_carry_the_tenants_data() {
    let (service, cvu) = charged().await;
    let a = &service.a;
    let order = json!({"voucherTypeCode": "OUT", "amount": "20", "idExterno": "purchase",
        "metadata": {"mcc": "5411", "terminal": "0001"}});
    let path = format!("/v1/accounts/{cvu}/comprobantes");
    let purchase = a.post(&path, &order).await.is(201);
    assert_eq!(purchase["metadata"], order["metadata"]);
    let related = json!({"voucherTypeCode": "IN", "amount": "1", "idExterno": "gift",
        "relatesTo": purchase["id"]});
    let related = a.post(&path, &related).await.is(201);
    assert_eq!(related["relatesTo"], purchase["id"]);
    let wrong =
        json!({"voucherTypeCode": "IN", "amount": "1", "idExterno": "no", "relatesTo": "cmp_1"});
    a.post(&path, &wrong).await.refused(400, "invalid_request");
    let order = json!({"idComprobante": purchase["id"], "importe": 5, "idExterno": "reversa",
        "reintegraComisiones": true});
    let made = a
        .post("/wallet/v1/ReversaComprobante", &order)
        .await
        .is(201);
    let voucher = made["id"].as_str().unwrap();
    let read = a
        .get(&format!("/wallet/v1/Comprobante/{voucher}"))
        .await
        .is(200);
    assert_eq!(
        (&read["idComprobanteRevertido"], &read["signo"]),
        (&purchase["id"], &json!(1))
    );
    assert_eq!(
        left(a, &id(&purchase.json)).await,
        (json!("5.00"), json!("15.00"))
    );
    let order =
        json!({"idComprobante": purchase["id"], "importe": 15.01, "idExterno": "demasiado"});
    let refused = a.post("/wallet/v1/ReversaComprobante", &order).await;
    refused.refused(400, "reversal_exceeds");
    // The feed has what the responses had.
    let events = a
        .get("/v1/events?types=voucher.created&limit=200")
        .await
        .is(200);
    let events = events["items"].as_array().unwrap().iter();
    let mut events = events.map(|event| &event["data"]);
    assert!(events.any(|it| it["id"] == made["id"] && it["reverses"] == purchase["id"]));
}
