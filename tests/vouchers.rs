//! Vouchers: amounts to the centavo, external ids, dry runs, and lists that show each row once.

mod ids;
mod lists;
mod reversals;

use std::collections::BTreeSet;

use crate::support::client::fresh;
use crate::support::{Answer, Client, TestService, json, named};

const LARGEST: &str = "999999999999999.99";

fn of(cvu: &str) -> String {
    format!("/v1/accounts/{cvu}/comprobantes")
}

/// Posts with the amount as this raw JSON text.
async fn raw(client: &Client, cvu: &str, amount: &str) -> Answer {
    let id = format!("raw-{}", fresh());
    let body = format!(r#"{{"voucherTypeCode":"IN","idExterno":"{id}","amount":{amount}}}"#);
    client.call("POST", &of(cvu)).text(body).await
}

#[actix_web::test]
async fn amounts_are_read_exactly_or_not_at_all() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    for (amount, shown) in [
        ("1", "1.00"),
        ("0.01", "0.01"),
        ("1.5", "1.50"),
        ("10.500", "10.50"),
        ("1.10000000000000000000", "1.10"),
        ("\"1\"", "1.00"),
        ("\"0.01\"", "0.01"),
        ("\"1234.50\"", "1234.50"),
        ("\"10.500\"", "10.50"),
        // Above 2^53 centavos binary floating point would be inexact.
        ("90071992547409.93", "90071992547409.93"),
        ("\"90071992547409.93\"", "90071992547409.93"),
        ("70368744177664.07", "70368744177664.07"),
        ("0.1", "0.10"),
        ("\"0.3\"", "0.30"),
    ] {
        let posted = raw(&service.a, &cvu, amount).await.is(201);
        assert_eq!(posted["amount"], shown, "{amount}");
    }
    let before = service.a.balance(&cvu).await;
    let thousand = format!("1{}", "0".repeat(1000));
    let long = format!("\"{}\"", "9".repeat(60_000));
    for amount in [
        "0",
        "0.00",
        "-1",
        "-0",
        "-0.01",
        "0.001",
        "1.005",
        "1.001",
        "1e2",
        "1E2",
        "1e-2",
        "1e400",
        "1e999999999",
        "0e1",
        "1000000000000000",
        "999999999999999.991",
        "79228162514264337593543950335",
        "1e-999999999",
        "0.00000000000000000000000000001",
        thousand.as_str(),
        long.as_str(),
        "\"0\"",
        "\"-1\"",
        "\"+1\"",
        "\"1e2\"",
        "\"1_000\"",
        "\"1,5\"",
        "\"1.\"",
        "\".5\"",
        "\" 1\"",
        "\"1 \"",
        "\"01\"",
        "\"0x1\"",
        "\"NaN\"",
        "\"Infinity\"",
        "\"\"",
        "\"١\"",
        "\"1\\u0000\"",
        "\"1\\n\"",
        "null",
        "true",
        "[]",
        "[1]",
        "{}",
        "{\"$numberDecimal\":\"1\"}",
        "\"1000000000000000\"",
        "\"$1\"",
        "\"1.2.3\"",
        "\"１\"",
    ] {
        let refused = raw(&service.a, &cvu, amount)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["amount"], "{amount}");
        assert!(
            refused.text.len() < 1000,
            "it does not repeat what was sent"
        );
    }
    for amount in [
        "NaN", "Infinity", "01", "+1", ".5", "1.", "0x1", "1_000", "--1", "1 2",
    ] {
        raw(&service.a, &cvu, amount)
            .await
            .refused(400, "malformed_body");
    }
    let after = service.a.balance(&cvu).await;
    assert_eq!(
        (&before["total"], &before["sequence"]),
        (&after["total"], &after["sequence"])
    );
}

#[actix_web::test]
async fn balances_never_leave_the_range_of_money() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, LARGEST).await;
    let mut sum = 99_999_999_999_999_999_i128;
    let mut refused = None;
    for _ in 0..200 {
        let answer = service
            .a
            .voucher(&cvu, "IN", LARGEST, &format!("more-{}", fresh()))
            .await;
        if answer.status != 201 {
            refused = Some(answer.refused(400, "amount_overflow"));
            break;
        }
        sum += 99_999_999_999_999_999;
    }
    assert!(refused.is_some(), "it ends somewhere");
    let shown = format!("{}.{:02}", sum / 100, sum % 100);
    assert_eq!(service.a.available(&cvu).await, shown);
    service.a.debit(&cvu, "0.01").await;
    service.a.voucher(&cvu, "OUT", LARGEST, "out").await.is(201);
    service.verified().await;
}

#[actix_web::test]
async fn each_voucher_tells_the_balance_after_it() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let body = json!({"voucherTypeCode": "in", "amount": "100.10", "idExterno": "a:b#1", "description": " Carga inicial "});
    let first = service.a.post(&of(&cvu), &body).await.is(201);
    for (name, value) in [
        ("cvu", json!(cvu)),
        ("sequence", json!(1)),
        ("ledgerType", json!("credit")),
        ("amount", json!("100.10")),
        ("availableAfter", json!("100.10")),
        ("heldAfter", json!("0.00")),
        ("totalAfter", json!("100.10")),
        ("voucherTypeCode", json!("IN")),
        ("voucherTypeName", json!("Type IN")),
        ("idExterno", json!("a:b#1")),
        ("referenceType", json!("adjustment")),
        ("description", json!("Carga inicial")),
    ] {
        assert_eq!(first[name], value, "{name}");
    }
    let second = service.a.debit(&cvu, "30.05").await;
    assert_eq!(
        (
            &second["sequence"],
            &second["ledgerType"],
            &second["availableAfter"]
        ),
        (&json!(2), &json!("debit"), &json!("70.05"))
    );
    let refused = service
        .a
        .voucher(&cvu, "OUT", "70.06", "too-much")
        .await
        .refused(400, "insufficient_funds");
    assert_eq!(
        refused["details"],
        json!({"available": "70.05", "requested": "70.06"})
    );
    service
        .a
        .voucher(&cvu, "OUT", "70.05", "too-much")
        .await
        .is(201);
    let balance = service.a.balance(&cvu).await;
    assert_eq!(
        (&balance["available"], &balance["held"], &balance["total"]),
        (&json!("0.00"), &json!("0.00"), &json!("0.00"))
    );
    assert_eq!(
        (&balance["sequence"], &balance["currency"]),
        (&json!(3), &json!("ARS"))
    );
    service.verified().await;
}

#[actix_web::test]
async fn vouchers_that_cannot_be_read_name_every_field() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let good = json!({"voucherTypeCode": "IN", "amount": 1, "idExterno": "good"});
    for (change, fields) in [
        (
            json!({"voucherTypeCode": null, "amount": null, "idExterno": null}),
            vec!["voucherTypeCode", "amount", "idExterno"],
        ),
        (json!({"voucherTypeCode": 1}), vec!["voucherTypeCode"]),
        (json!({"voucherTypeCode": "a b"}), vec!["voucherTypeCode"]),
        (json!({"idExterno": ""}), vec!["idExterno"]),
        (json!({"idExterno": "x".repeat(65)}), vec!["idExterno"]),
        (json!({"idExterno": " a"}), vec!["idExterno"]),
        (json!({"idExterno": "a\u{a0}"}), vec!["idExterno"]),
        (json!({"idExterno": "a\u{200b}b"}), vec!["idExterno"]),
        (json!({"idExterno": "ñ".repeat(65)}), vec!["idExterno"]),
        (json!({"idExterno": "a\u{0}"}), vec!["idExterno"]),
        (json!({"idExterno": 7}), vec!["idExterno"]),
        (json!({"description": "x".repeat(201)}), vec!["description"]),
        (json!({"description": "a\u{7}b"}), vec!["description"]),
        (json!({"description": 5}), vec!["description"]),
        (
            json!({"currency": "USD", "ledgerType": "debit"}),
            vec!["currency", "ledgerType"],
        ),
    ] {
        let mut body = good.clone();
        body.as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let refused = service
            .a
            .post(&of(&cvu), &body)
            .await
            .refused(400, "invalid_request");
        let (found, wanted): (BTreeSet<_>, BTreeSet<_>) = (
            named(&refused.json).into_iter().collect(),
            fields.into_iter().collect(),
        );
        assert_eq!(found, wanted, "{body}");
    }
    service
        .a
        .voucher(&cvu, "NADA", "1.00", "x")
        .await
        .refused(400, "voucher_type_unknown");
    service
        .a
        .post(&format!("{}?dryRun=yes", of(&cvu)), &good)
        .await
        .refused(400, "invalid_request");
    let longest = json!({"voucherTypeCode": "IN", "amount": "1", "idExterno": "~".repeat(64), "description": "ñ".repeat(200)});
    service.a.post(&of(&cvu), &longest).await.is(201);
    let found = service
        .a
        .get(&format!("/v1/comprobantes/by-external/{}", "~".repeat(64)))
        .await
        .is(200);
    assert_eq!(found["description"], "ñ".repeat(200));
}

#[actix_web::test]
async fn an_external_id_is_one_voucher_per_direction() {
    let mut service = TestService::start().await;
    service.a.in_and_out().await;
    service.a.create_type("IN2", "credit").await;
    let (cvu, other) = (service.a.cvu().await, service.a.cvu().await);
    let first = service
        .a
        .voucher(&cvu, "IN", "10.00", "order-1")
        .await
        .is(201);
    assert!(!first.replayed());
    for amount in ["10.00", "10", "10.000"] {
        let again = service
            .a
            .voucher(&cvu, "IN", amount, "order-1")
            .await
            .is(201);
        assert!(again.replayed() && again.text == first.text, "{amount}");
    }
    // A repeat may have another description.
    let body = json!({"voucherTypeCode": "IN", "amount": 10, "idExterno": "order-1", "description": "other"});
    assert!(service.a.post(&of(&cvu), &body).await.is(201).replayed());
    for (cvu_given, code, amount, fields) in [
        (&cvu, "IN", "10.01", vec!["amount"]),
        (&cvu, "IN2", "10.00", vec!["voucherTypeCode"]),
        (&other, "IN", "10.00", vec!["cvu"]),
        (
            &other,
            "IN2",
            "9.00",
            vec!["cvu", "amount", "voucherTypeCode"],
        ),
    ] {
        let refused = service
            .a
            .voucher(cvu_given, code, amount, "order-1")
            .await
            .refused(409, "id_externo_reused");
        assert_eq!(named(&refused.json), fields);
        assert_eq!(
            refused["details"],
            json!({"voucherId": first["id"], "cvu": cvu})
        );
    }
    // The other direction is another voucher; the newer of the two is shown unless a direction is
    // given.
    let debit = service
        .a
        .voucher(&cvu, "OUT", "4.00", "order-1")
        .await
        .is(201);
    assert!(!debit.replayed());
    for _ in 0..2 {
        for (query, expected) in [
            ("", &debit),
            ("?direction=credit", &first),
            ("?direction=debit", &debit),
        ] {
            let found = service
                .a
                .get(&format!("/v1/comprobantes/by-external/order-1{query}"))
                .await
                .is(200);
            assert_eq!(found.json, expected.json);
        }
        let again = service
            .a
            .voucher(&cvu, "OUT", "4.00", "order-1")
            .await
            .is(201);
        assert!(again.replayed() && again.text == debit.text);
        service.crash().await;
    }
    // A repeat gets its voucher even if it could not be posted any more.
    service
        .a
        .delete(&format!("/v1/accounts/{cvu}"))
        .await
        .is(200);
    assert!(
        service
            .a
            .voucher(&cvu, "IN", "10.00", "order-1")
            .await
            .is(201)
            .replayed()
    );
    service
        .a
        .get("/v1/comprobantes/by-external/nobody")
        .await
        .refused(404, "voucher_not_found");
    service
        .a
        .get("/v1/comprobantes/by-external/order-1?direction=hold")
        .await
        .refused(400, "invalid_request");
    // External ids are case-sensitive.
    service
        .a
        .get("/v1/comprobantes/by-external/ORDER-1")
        .await
        .refused(404, "voucher_not_found");
    assert_eq!(service.verified().await, 2);
}

#[actix_web::test]
async fn a_dry_run_answers_what_would_happen_and_posts_nothing() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let path = format!("{}?dryRun=true", of(&cvu));
    let body = |code: &str, amount: &str, id: &str| json!({"voucherTypeCode": code, "amount": amount, "idExterno": id});
    let dry = service
        .a
        .post(&path, &body("OUT", "40.00", "dry"))
        .await
        .is(200);
    assert_eq!(
        (&dry["availableAfter"], &dry["sequence"]),
        (&json!("60.00"), &json!(2))
    );
    service
        .a
        .post(&path, &body("OUT", "100.01", "dry"))
        .await
        .refused(400, "insufficient_funds");
    service
        .a
        .post(&path, &body("NADA", "1.00", "dry"))
        .await
        .refused(400, "voucher_type_unknown");
    service
        .a
        .get("/v1/comprobantes/by-external/dry")
        .await
        .refused(404, "voucher_not_found");
    let id = dry["id"].as_str().unwrap();
    service
        .a
        .get(&format!("/v1/comprobantes/{id}"))
        .await
        .refused(404, "voucher_not_found");
    assert_eq!(service.a.available(&cvu).await, "100.00");
    assert_eq!(service.a.get("/v1/comprobantes/internal").await["total"], 1);
    // The real order gets what the dry run announced.
    let real = service
        .a
        .post(
            &format!("{}?dryRun=false", of(&cvu)),
            &body("OUT", "40.00", "dry"),
        )
        .await
        .is(201);
    let reply = |answer: &Answer| {
        let mut json = answer.json.clone();
        // Nobody can know in advance which place the voucher will take, and when.
        let fields = json.as_object_mut().unwrap();
        for name in ["createdAt", "id", "referenceId"] {
            assert!(fields.remove(name).is_some(), "{name}");
        }
        json
    };
    assert_eq!(reply(&real), reply(&dry));
    let again = service
        .a
        .post(&path, &body("OUT", "40.00", "dry"))
        .await
        .is(200);
    assert!(again.replayed() && again.json == real.json);
    service
        .a
        .post(&path, &body("OUT", "41.00", "dry"))
        .await
        .refused(409, "id_externo_reused");
    assert_eq!(service.verified().await, 2);
}

#[actix_web::test]
async fn a_voucher_is_read_by_its_id_also_after_a_crash() {
    let mut service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let mut posted = Vec::new();
    for n in 1..=300_u32 {
        // More than a snapshot holds, and more than one segment has room for.
        posted.push(if n % 3 == 0 {
            service.a.debit(&cvu, "1.00").await
        } else {
            service.a.credit(&cvu, "2.00").await
        });
    }
    for crash in [false, true] {
        if crash {
            service.crash().await;
        }
        for voucher in posted.iter().step_by(37) {
            let id = voucher["id"].as_str().unwrap();
            assert_eq!(
                service
                    .a
                    .get(&format!("/v1/comprobantes/{id}"))
                    .await
                    .is(200)
                    .json,
                *voucher
            );
        }
        assert_eq!(service.a.available(&cvu).await, "300.00");
        let deep = service
            .a
            .get(&format!("{}?order=asc&offset=298", of(&cvu)))
            .await
            .is(200);
        assert_eq!(deep.json, json!(&posted[298..]));
        assert_eq!(service.verified().await, 300);
    }
}
