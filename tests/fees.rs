//! Fees: the preview equals the charge, with its tax, in the same movement.

use crate::support::{TestService, Value, json, named};

/// A service with an account that has this amount.
async fn funded(amount: &str) -> (TestService, String) {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, amount).await;
    (service, cvu)
}

async fn preview(service: &TestService, cvu: &str, amount: &str, code: &str) -> Value {
    let path = format!("/v1/fees/preview?cvu={cvu}&importe={amount}&voucherTypeCode={code}");
    service.a.get(&path).await.is(200).json
}

fn rule(code: &str, percentage: &str, charge: bool) -> Value {
    json!({"voucherTypeCode": code, "percentage": percentage, "fixed": "0", "minimum": "1.50",
        "maximum": null, "charge": charge})
}

/// The newest movements of an account, newest last, as type and amount.
async fn moved(service: &TestService, cvu: &str, count: usize) -> Vec<(String, String)> {
    let path = format!("/v1/accounts/{cvu}/movements?limit={count}");
    let movements = service.a.get(&path).await.is(200).json;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let each = movements.as_array().unwrap().iter().rev();
    each.map(|it| (text(&it["voucherTypeCode"]), text(&it["amount"])))
        .collect()
}

fn owned(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(code, amount): &(&str, &str)| ((*code).to_owned(), (*amount).to_owned());
    all.iter().map(owned).collect()
}

#[actix_web::test]
async fn without_a_schedule_everything_is_free() {
    let (service, cvu) = funded("10.00").await;
    let free = preview(&service, &cvu, "10.01", "out").await;
    let right = json!({
        "cvu": cvu, "voucherTypeCode": "OUT", "direction": "debit", "importe": "10.01",
        "currency": "ARS",
        "fee": {"percentage": "0", "fixed": "0.00", "minimum": null, "maximum": null,
            "amount": "0.00", "source": "none"},
        "tax": {"rate": "0", "base": "0.00", "amount": "0.00"},
        "totalCharges": "0.00", "netAmount": "10.01", "available": "10.00", "sufficient": false,
    });
    assert_eq!(free, right);
    let path = "/v1/fees/preview";
    let refused = service.a.get(path).await.refused(400, "invalid_request");
    assert_eq!(named(&refused.json), ["cvu", "importe", "voucherTypeCode"]);
    for (query, code) in [
        (
            format!("cvu={cvu}&importe=0&voucherTypeCode=OUT"),
            "invalid_request",
        ),
        (
            format!("cvu={cvu}&importe=1e2&voucherTypeCode=OUT"),
            "invalid_request",
        ),
        (
            format!("cvu={cvu}&importe=1&voucherTypeCode=NO_SUCH"),
            "voucher_type_unknown",
        ),
    ] {
        let refused = service.a.get(&format!("{path}?{query}")).await;
        refused.refused(400, code);
    }
    let theirs = service.b.cvu().await;
    let foreign = format!("{path}?cvu={theirs}&importe=1&voucherTypeCode=TRANSFER_OUT");
    service
        .a
        .get(&foreign)
        .await
        .refused(404, "account_not_found");
}

#[actix_web::test]
async fn the_previewed_fee_is_charged() {
    let (service, cvu) = funded("1000.00").await;
    let schedule = json!([
        rule("OUT", "0.6", true),
        rule("IN", "1", true),
        rule("INTERNAL_P2P_OUT", "1", true)
    ]);
    service.tenant(&json!({"feeSchedule": schedule})).await;
    let shown = preview(&service, &cvu, "500.00", "OUT").await;
    let fee = json!({"percentage": "0.6", "fixed": "0.00", "minimum": "1.50", "maximum": null,
        "amount": "3.00", "source": "psp"});
    let tax = json!({"rate": "21", "base": "3.00", "amount": "0.63"});
    assert_eq!((&shown["fee"], &shown["tax"]), (&fee, &tax));
    assert_eq!(
        (&shown["totalCharges"], &shown["netAmount"]),
        (&json!("3.63"), &json!("503.63"))
    );
    assert_eq!(shown["sufficient"], true);
    assert_eq!(service.a.balance(&cvu).await["sequence"], 1);
    service.a.debit(&cvu, "500.00").await;
    let right = [("OUT", "500.00"), ("FEE", "3.00"), ("FEE_TAX", "0.63")];
    assert_eq!(moved(&service, &cvu, 3).await, owned(&right));
    assert_eq!(service.a.available(&cvu).await, "496.37");
    // Credits are charged as well.
    let shown = preview(&service, &cvu, "100.00", "IN").await;
    assert_eq!(
        (&shown["totalCharges"], &shown["netAmount"]),
        (&json!("1.82"), &json!("98.18"))
    );
    service.a.credit(&cvu, "100.00").await;
    let right = [("IN", "100.00"), ("FEE", "1.50"), ("FEE_TAX", "0.32")];
    assert_eq!(moved(&service, &cvu, 3).await, owned(&right));
    // The sender pays for a transfer.
    let to = service.a.cvu().await;
    let sent = service
        .a
        .transfer(&cvu, json!({"cvu": to}), "200.00")
        .await
        .is(201);
    assert_eq!(sent["fee"], json!({"amount": "2.00", "tax": "0.42"}));
    assert_eq!(service.a.available(&cvu).await, "392.13");
    assert_eq!(service.a.available(&to).await, "200.00");
    // If the balance does not cover the charges, nothing passes.
    let shown = preview(&service, &cvu, "392.13", "OUT").await;
    assert_eq!(shown["sufficient"], false);
    let refused = service.a.voucher(&cvu, "OUT", "392.13", "all").await;
    refused.refused(400, "insufficient_funds");
    assert_eq!(service.a.available(&cvu).await, "392.13");
    service.verified().await;
}

#[actix_web::test]
async fn the_nearest_schedule_counts_and_previews_alone_charge_nothing() {
    let (service, cvu) = funded("1000.00").await;
    let platform = json!({"feeSchedule": [rule("OUT", "1", true)]});
    service
        .admin("PATCH", "/admin/platform", &platform)
        .await
        .is(200);
    let source = async || {
        let shown = preview(&service, &cvu, "1000.00", "OUT").await;
        (
            shown["fee"]["source"].clone(),
            shown["fee"]["amount"].clone(),
        )
    };
    assert_eq!(source().await, (json!("platform"), json!("10.00")));
    service
        .tenant(&json!({"feeSchedule": [rule("OUT", "2", true)]}))
        .await;
    assert_eq!(source().await, (json!("psp"), json!("20.00")));
    let path = format!("/admin/accounts/{cvu}/fee-schedule");
    let own = json!({"feeSchedule": [rule("OUT", "3", false)]});
    let set = service.admin("PUT", &path, &own).await.is(200);
    assert_eq!(set["feeSchedule"][0]["percentage"], "3");
    assert_eq!(source().await, (json!("account"), json!("30.00")));
    service.a.debit(&cvu, "100.00").await;
    assert_eq!(service.a.available(&cvu).await, "900.00");
    // Without a schedule of its own it inherits again.
    let none = json!({"feeSchedule": []});
    service.admin("PUT", &path, &none).await.is(200);
    service.a.debit(&cvu, "100.00").await;
    assert_eq!(service.a.available(&cvu).await, "797.58");
    let refused = service.admin("PUT", &path, &json!({})).await;
    let refused = refused.refused(400, "invalid_request");
    assert_eq!(named(&refused.json), ["feeSchedule"]);
    let nobody = "/admin/accounts/0000532609100002749314/fee-schedule";
    let refused = service.admin("PUT", nobody, &none).await;
    refused.refused(404, "account_not_found");
}

#[actix_web::test]
async fn a_transfer_through_the_bank_is_charged_when_it_completes() {
    let (service, cvu) = funded("100.00").await;
    service
        .tenant(&json!({"feeSchedule": [rule("TRANSFER_OUT", "1", true)]}))
        .await;
    let to = |digit: u8| json!({"alias": format!("DESTINO.{digit}")});
    let sent = service.a.transfer(&cvu, to(1), "50.00").await.is(201).json;
    service.a.settled(&sent, "rejected").await;
    assert_eq!(
        service.a.funds(&cvu).await,
        ("100.00".into(), "0.00".into())
    );
    let sent = service.a.transfer(&cvu, to(0), "50.00").await.is(201).json;
    assert_eq!(sent["fee"], json!({"amount": "1.50", "tax": "0.32"}));
    service.a.settled(&sent, "completed").await;
    assert_eq!(service.a.funds(&cvu).await, ("48.18".into(), "0.00".into()));
    let much = service.a.transfer(&cvu, to(0), "48.18").await;
    much.refused(400, "insufficient_funds");
    service.verified().await;
}

#[actix_web::test]
async fn a_schedule_is_for_types_that_can_be_charged() {
    let (service, cvu) = funded("10.00").await;
    let paths = [
        ("PUT", format!("/admin/accounts/{cvu}/fee-schedule")),
        ("PATCH", "/admin/tenants/tnt_first".to_owned()),
        ("PATCH", "/admin/platform".to_owned()),
    ];
    let never = [
        "CREDIT",
        "DEBIT",
        "FEE",
        "FEE_TAX",
        "REMUNERATION",
        "NO_SUCH",
    ];
    let charged = [
        "HOLD",
        "RELEASE",
        "CONFIRM_HOLD",
        "TRANSFER_IN",
        "TRANSFER_OUT",
        "TRANSFER_REVERSAL",
        "INTERNAL_P2P_IN",
        "INTERNAL_P2P_OUT",
        "IN",
        "OUT",
    ];
    for (method, path) in paths {
        let all = charged
            .iter()
            .chain(&never)
            .map(|code| rule(code, "1", true));
        let body = json!({"feeSchedule": all.collect::<Vec<_>>()});
        let refused = service.admin(method, &path, &body).await;
        let refused = refused.refused(400, "invalid_request");
        let fields: Vec<_> = (charged.len()..charged.len() + never.len())
            .map(|at| format!("feeSchedule.{at}.voucherTypeCode"))
            .collect();
        assert_eq!(named(&refused.json), fields);
        let body = json!({"feeSchedule": charged.map(|code| rule(code, "0", false))});
        service.admin(method, &path, &body).await.is(200);
    }
    // A new tenant has no types of its own.
    let new = json!({"name": "Nueva", "feeSchedule": [rule("OUT", "1", true)]});
    let refused = service.admin("POST", "/admin/tenants", &new).await;
    let refused = refused.refused(400, "invalid_request");
    assert_eq!(named(&refused.json), ["feeSchedule.0.voucherTypeCode"]);
}
