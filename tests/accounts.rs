//! Accounts from opening to closing: what they show, how they change, and what they refuse.

mod aliases;
mod changes;
mod cleared;
mod lists;
mod walks;

use std::future::IntoFuture as _;

use caudal_ledger::tenants::Policy;

use crate::support::client::fresh;
use crate::support::{Answer, Client, TestService, Value, cuit, json, named};

fn at(cvu: &str, rest: &str) -> String {
    format!("/v1/accounts/{cvu}{rest}")
}

async fn read(client: &Client, cvu: &str) -> Answer {
    client.get(&at(cvu, "")).await.is(200)
}

#[actix_web::test]
async fn an_account_shows_all_that_it_was_opened_with() {
    let service = TestService::start().await;
    let holder = cuit(fresh());
    let opened = service.a.open_with(json!({
        "cuit": holder, "holderName": "  Peña y Ñandú S.R.L. ", "personType": "human", "alias": "Mi.Alias-1",
        "email": "a@b.example", "phone": "+54 11 5555-5555", "externalId": "cliente/1 ñ",
        "metadata": {"plan": "oro"},
    })).await;
    let cvu = opened["cvu"].as_str().unwrap();
    assert!(caudal_ledger::cvu::Cvu::parse(cvu).is_ok());
    assert_eq!(opened["alias"], "Mi.Alias-1");
    assert_eq!(opened["status"], "active");
    let person = json!({"cuit": holder, "name": "Peña y Ñandú S.R.L.", "personType": "human"});
    assert_eq!(opened["holder"], person);
    assert_eq!(opened["titulares"], json!([person]));
    assert_eq!(opened["currency"], "ARS");
    assert_eq!(
        (&opened["externalId"], &opened["enabled"]),
        (&json!("cliente/1 ñ"), &json!(true))
    );
    assert_eq!(
        (&opened["email"], &opened["phone"]),
        (&json!("a@b.example"), &json!("+54 11 5555-5555"))
    );
    assert_eq!(opened["metadata"], json!({"plan": "oro"}));
    assert_eq!(
        (&opened["suspension"], &opened["closedAt"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(opened["balance"]["available"], "0.00");
    assert_eq!(opened["limits"]["source"]["dailyAmount"], "none");
    let seen = read(&service.a, cvu).await;
    for (name, value) in opened
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !["balance", "limits"].contains(&name.as_str()))
    {
        assert_eq!(seen[name], *value, "{name}");
    }
    // The bank knows the CVU under the same holder and alias.
    let known = &service.bank.accounts_of(&holder).await[0];
    assert_eq!(
        (&known["cvu"], &known["alias"]),
        (&json!(cvu), &json!("Mi.Alias-1"))
    );
}

#[actix_web::test]
async fn without_an_alias_the_bank_assigns_three_words() {
    let service = TestService::start().await;
    let opened = service.a.open_account().await;
    let alias = opened["alias"].as_str().unwrap();
    assert_eq!(alias.split('.').count(), 3, "{alias}");
    assert!((6..=20).contains(&alias.len()));
    let numbers: Vec<_> = [opened, service.a.open_account().await]
        .iter()
        .map(|a| a["walletAccountId"].as_u64())
        .collect();
    assert_eq!(
        numbers,
        [Some(1), Some(2)],
        "wallet accounts are counted from 1"
    );
}

#[actix_web::test]
async fn openings_that_cannot_be_read_name_every_field() {
    let service = TestService::start().await;
    let good = cuit(fresh());
    let long = "x".repeat(101);
    let longest = "x".repeat(65);
    let table = [
        (json!({}), vec!["cuit", "holderName"]),
        (
            json!({"cuit": null, "holderName": null}),
            vec!["cuit", "holderName"],
        ),
        (
            json!({"cuit": 20_267_565_393_u64, "holderName": 1}),
            vec!["cuit", "holderName"],
        ),
        (
            json!({"cuit": "20267565392", "holderName": "A"}),
            vec!["cuit"],
        ),
        (
            json!({"cuit": "20-26756539-3", "holderName": "A"}),
            vec!["cuit"],
        ),
        (
            json!({"cuit": "2026756539", "holderName": ""}),
            vec!["cuit", "holderName"],
        ),
        (
            json!({"cuit": good, "holderName": long}),
            vec!["holderName"],
        ),
        (
            json!({"cuit": good, "holderName": "a\u{0}b"}),
            vec!["holderName"],
        ),
        (
            json!({"cuit": good, "holderName": "a\u{202e}b"}),
            vec!["holderName"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "personType": "legal"}),
            vec!["personType"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "personType": "robot"}),
            vec!["personType"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "alias": "corto"}),
            vec!["alias"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "alias": "niño.azul.x"}),
            vec!["alias"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "email": "no"}),
            vec!["email"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "email": "@b"}),
            vec!["email"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "phone": "llamame"}),
            vec!["phone"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "externalId": longest}),
            vec!["externalId"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "metadata": {"a": 1}}),
            vec!["metadata"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "metadata": []}),
            vec!["metadata"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "metadata": {"": "x"}}),
            vec!["metadata"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "metadata": {"a": "\u{1b}[31m"}}),
            vec!["metadata"],
        ),
        (
            json!({"cuit": good, "holderName": "A", "CUIT": good, "extra": {}}),
            vec!["CUIT", "extra"],
        ),
    ];
    for (body, fields) in table {
        let refused = service
            .a
            .post("/v1/accounts", &body)
            .key("bad")
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), fields, "{body}");
    }
    let wrong = json!({"cuit": "20267565392", "holderName": "A"});
    let refused = service.a.post("/v1/accounts", &wrong).key("bad").await;
    assert!(
        refused["message"].as_str().unwrap().contains('3'),
        "it names the right digit: {}",
        refused.text
    );
    assert_eq!(service.a.get("/v1/accounts").await["total"], 0);
    assert_eq!(service.bank.calls("create_cvu").await, 0);
}

#[actix_web::test]
async fn the_largest_opening_is_taken_and_found_again() {
    let mut service = TestService::start().await;
    let wave = "\u{1f30a}";
    let metadata: serde_json::Map<String, Value> = (0..20)
        .map(|n| (format!("{n}{}", wave.repeat(60)), json!(wave.repeat(500))))
        .collect();
    let body = json!({
        "cuit": cuit(fresh()), "holderName": "ñ".repeat(100), "externalId": wave.repeat(64), "metadata": metadata,
    });
    let key = "~".repeat(255);
    let opened = service
        .a
        .post("/v1/accounts", &body)
        .key(&key)
        .await
        .is(201);
    assert_eq!(opened["metadata"].as_object(), Some(&metadata));
    service.crash().await;
    let again = service
        .a
        .post("/v1/accounts", &body)
        .key(&key)
        .await
        .is(201);
    assert!(again.replayed() && again.text == opened.text);
    let taken = json!({"cuit": cuit(fresh()), "holderName": "Otra", "externalId": wave.repeat(64)});
    let taken = service
        .a
        .post("/v1/accounts", &taken)
        .key("taken")
        .await
        .refused(409, "account_code_taken");
    let details = json!({"cvu": opened["cvu"], "walletAccountId": opened["walletAccountId"]});
    assert_eq!(taken["details"], details);
    assert_eq!(
        service
            .a
            .get(&format!("/v1/idempotency/{key}"))
            .await
            .is(200)["requests"][0]["body"],
        opened.json
    );
}

#[actix_web::test]
async fn the_check_digit_of_a_cuit_may_be_relaxed_for_the_test_realm_only() {
    let service = TestService::start().await;
    let body = json!({"cuit": "20123456789", "holderName": "Juana Azurduy"});
    service
        .a
        .post("/v1/accounts", &body)
        .key("strict")
        .await
        .refused(400, "invalid_request");
    service
        .policy(Policy {
            relaxed_test_cuit: true,
            ..Policy::default()
        })
        .await;
    service
        .a
        .post("/v1/accounts", &body)
        .key("relaxed")
        .await
        .is(201);
    service
        .live
        .post("/v1/accounts", &body)
        .key("live")
        .await
        .refused(400, "invalid_request");
    service
        .b
        .post("/v1/accounts", &body)
        .key("other")
        .await
        .refused(400, "invalid_request");
}

#[actix_web::test]
async fn an_external_id_is_one_accounts() {
    let service = TestService::start().await;
    let body = |name: &str| json!({"cuit": cuit(fresh()), "holderName": name, "externalId": "c-1"});
    service.a.open_with(body("Uno Solo")).await;
    service
        .a
        .post("/v1/accounts", &body("Dos Solos"))
        .key("two")
        .await
        .refused(409, "account_code_taken");
    service.b.open_with(body("Otro Tenant")).await;
    assert_eq!(service.a.get("/v1/accounts").await["total"], 1);
}

#[actix_web::test]
async fn suspended_lets_money_in_and_not_out() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "100.00").await;
    let suspend = |body: Value| service.a.post(&at(&cvu, "/suspend"), &body).into_future();
    service
        .a
        .call("POST", &at(&cvu, "/reactivate"))
        .await
        .refused(400, "account_not_suspended");
    for (body, fields) in [
        (json!({}), vec!["reason"]),
        (json!({"reason": ""}), vec!["reason"]),
        (json!({"reason": "x".repeat(501)}), vec!["reason"]),
        (json!({"reason": "x", "code": "mood"}), vec!["code"]),
    ] {
        assert_eq!(
            named(&suspend(body).await.refused(400, "invalid_request").json),
            fields
        );
    }
    let first = suspend(json!({"reason": "oficio 12/26", "code": "court_order"}))
        .await
        .is(200);
    assert_eq!(first["status"], "suspended");
    let why = first["suspension"].clone();
    assert_eq!(
        (&why["reason"], &why["code"]),
        (&json!("oficio 12/26"), &json!("court_order"))
    );
    // Suspending again changes nothing, even with another reason.
    let again = suspend(json!({"reason": "other", "code": "fraud"}))
        .await
        .is(200);
    assert_eq!(again["suspension"], why);
    assert_eq!(first.header("etag"), again.header("etag"));
    service
        .a
        .voucher(&cvu, "OUT", "1.00", "while-suspended")
        .await
        .refused(400, "account_suspended");
    service.a.credit(&cvu, "1.00").await;
    let back = service
        .a
        .call("POST", &at(&cvu, "/reactivate"))
        .await
        .is(200);
    assert_eq!(
        (&back["status"], &back["suspension"]),
        (&json!("active"), &Value::Null)
    );
    service
        .a
        .voucher(&cvu, "OUT", "1.00", "while-suspended")
        .await
        .is(201);
    service
        .a
        .call("POST", &at(&cvu, "/reactivate"))
        .await
        .refused(400, "account_not_suspended");
    let plain = suspend(json!({"reason": "sin código"})).await.is(200);
    assert_eq!(plain["suspension"]["code"], "other");
}

#[actix_web::test]
async fn a_closed_account_keeps_its_money_and_gives_it_back() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    for suspended in [false, true] {
        let opened = service.a.open_account().await;
        let cvu = opened["cvu"].as_str().unwrap();
        service.a.credit(cvu, "100.00").await;
        if suspended {
            service
                .a
                .post(&at(cvu, "/suspend"), &json!({"reason": "x"}))
                .await
                .is(200);
        }
        let closed = service.a.delete(&at(cvu, "")).await.is(200);
        assert_eq!(
            (&closed["status"], &closed["suspension"]),
            (&json!("closed"), &Value::Null)
        );
        assert!(closed["closedAt"].is_string());
        assert_eq!(closed["balance"]["total"], "100.00");
        let again = service.a.delete(&at(cvu, "")).await.is(200);
        assert_eq!(
            (again.header("etag"), &again["closedAt"]),
            (closed.header("etag"), &closed["closedAt"])
        );
        // A closed account only allows reads, and debits that return its money.
        service
            .a
            .voucher(cvu, "IN", "1.00", &format!("in-{cvu}"))
            .await
            .refused(400, "account_closed");
        service.a.debit(cvu, "60.00").await;
        service.a.debit(cvu, "40.00").await;
        service
            .a
            .voucher(cvu, "OUT", "0.01", &format!("out-{cvu}"))
            .await
            .refused(400, "insufficient_funds");
        for (method, rest, body) in [
            ("POST", "/suspend", json!({"reason": "x"})),
            ("POST", "/reactivate", Value::Null),
            ("PUT", "/alias", json!({"alias": "otro.alias"})),
            ("PATCH", "/kyc", json!({"pep": true})),
            ("PATCH", "/limits", json!({"dailyCount": 1})),
            (
                "PATCH",
                "/identidad",
                json!({"titulares": [{"cuit": opened["holder"]["cuit"], "name": "X"}]}),
            ),
        ] {
            service
                .a
                .call(method, &at(cvu, rest))
                .json(&body)
                .await
                .refused(400, "account_closed");
        }
        assert_eq!(read(&service.a, cvu).await["balance"]["available"], "0.00");
        assert_eq!(
            service
                .a
                .get(&at(cvu, "/movements"))
                .await
                .is(200)
                .header("x-total-count"),
            "3"
        );
        let known = service
            .bank
            .accounts_of(opened["holder"]["cuit"].as_str().unwrap())
            .await;
        assert_eq!(known[0]["active"], false);
    }
}

#[actix_web::test]
async fn a_policy_closes_empty_accounts_only() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    service
        .policy(Policy {
            close_requires_zero_balance: true,
            ..Policy::default()
        })
        .await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "0.01").await;
    let refused = service
        .a
        .delete(&at(&cvu, ""))
        .await
        .refused(400, "account_not_empty");
    assert!(refused["message"].as_str().unwrap().contains("0.01"));
    service.a.debit(&cvu, "0.01").await;
    assert_eq!(
        service.a.delete(&at(&cvu, "")).await.is(200)["status"],
        "closed"
    );
}
