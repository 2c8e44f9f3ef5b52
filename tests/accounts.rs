//! Accounts from opening to closing: what they show, how they change, and what they refuse.

use std::collections::BTreeSet;
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
    service
        .a
        .post("/v1/accounts", &taken)
        .key("taken")
        .await
        .refused(409, "account_code_taken");
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
    // Again: unchanged, even with another reason.
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
        // Nothing but reads and what returns the money.
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

#[actix_web::test]
async fn entity_tags_tell_versions_apart() {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let first = read(&service.a, &cvu).await.header("etag").to_owned();
    assert!(
        first.starts_with('"') && first.ends_with('"'),
        "strong: {first}"
    );
    let unchanged = service
        .a
        .get(&at(&cvu, ""))
        .header("if-none-match", &first)
        .await
        .is(304);
    assert_eq!(
        (unchanged.text.as_str(), unchanged.header("etag")),
        ("", first.as_str())
    );
    let listed = format!("\"0-0\", W/{first}");
    service
        .a
        .get(&at(&cvu, ""))
        .header("if-none-match", &listed)
        .await
        .is(304);
    service
        .a
        .get(&at(&cvu, ""))
        .header("if-none-match", "*")
        .await
        .is(304);
    // A movement makes another version.
    service.a.credit(&cvu, "1.00").await;
    let second = service
        .a
        .get(&at(&cvu, ""))
        .header("if-none-match", &first)
        .await
        .is(200);
    let second = second.header("etag").to_owned();
    assert_ne!(first, second);
    let holder = read(&service.a, &cvu).await["holder"]["cuit"].clone();
    let writes = [
        ("PATCH", "/kyc", json!({"pep": true})),
        ("PATCH", "/limits", json!({"dailyCount": 5})),
        (
            "PUT",
            "/alias",
            json!({"alias": format!("alias.{}", fresh())}),
        ),
        (
            "PATCH",
            "/identidad",
            json!({"holderName": "Otra Persona", "titulares": [{"cuit": holder, "name": "Otra"}]}),
        ),
        ("POST", "/suspend", json!({"reason": "x"})),
        ("POST", "/reactivate", Value::Null),
        ("DELETE", "", Value::Null),
    ];
    let mut current = second;
    for (method, rest, body) in writes {
        let call = |tag: &str| {
            let call = service
                .a
                .call(method, &at(&cvu, rest))
                .header("if-match", tag);
            if body.is_null() {
                call
            } else {
                call.json(&body)
            }
        };
        for stale in [first.as_str(), "\"9999-9999\"", "\"x\"", "W/\"1-1\""] {
            call(stale).await.refused(412, "version_mismatch");
        }
        let done = call(&format!("\"0-0\", {current}")).await.is(200);
        assert_ne!(done.header("etag"), current, "{method} {rest}");
        done.header("etag").clone_into(&mut current);
        assert_eq!(read(&service.a, &cvu).await.header("etag"), current);
    }
}

#[actix_web::test]
async fn aliases_are_compared_without_case_and_reserved_to_their_holder() {
    let service = TestService::start().await;
    let (one, two) = (
        service.a.open_account().await,
        service.a.open_account().await,
    );
    let (one_cvu, two_cvu) = (one["cvu"].as_str().unwrap(), two["cvu"].as_str().unwrap());
    let set = async |cvu: &str, alias: &str| {
        service
            .a
            .put(&at(cvu, "/alias"), &json!({"alias": alias}))
            .await
    };
    let first = set(one_cvu, "Rio.De.Plata").await.is(200);
    assert_eq!(first["alias"], "Rio.De.Plata");
    // The same again: nothing happens.
    let calls = service.bank.calls("set_alias").await;
    let again = set(one_cvu, "Rio.De.Plata").await.is(200);
    assert_eq!(first.header("etag"), again.header("etag"));
    assert_eq!(service.bank.calls("set_alias").await, calls);
    for taken in ["Rio.De.Plata", "RIO.DE.PLATA", "rio.de.plata"] {
        let refused = set(two_cvu, taken).await.refused(409, "alias_taken");
        assert!(!refused.text.contains(one_cvu));
        let body = json!({"cuit": cuit(fresh()), "holderName": "Otra", "alias": taken});
        service
            .a
            .post("/v1/accounts", &body)
            .key(&format!("k-{}", fresh()))
            .await
            .refused(409, "alias_taken");
    }
    // Given up, it stays reserved to the holder.
    set(one_cvu, "mar.del.plata").await.is(200);
    set(two_cvu, "rio.de.plata")
        .await
        .refused(409, "alias_taken");
    let own =
        json!({"cuit": one["holder"]["cuit"], "holderName": "La Misma", "alias": "rio.de.plata"});
    assert_eq!(service.a.open_with(own).await["alias"], "rio.de.plata");
    // And back: the other account of the holder has it now.
    set(one_cvu, "rio.de.plata")
        .await
        .refused(409, "alias_taken");
    for bad in [
        "corto",
        "con_guion",
        "",
        "niño.azul.x",
        "a23456789012345678901",
    ] {
        let refused = set(one_cvu, bad).await.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), ["alias"]);
    }
    assert_eq!(read(&service.a, one_cvu).await["alias"], "mar.del.plata");
}

#[actix_web::test]
async fn another_case_of_the_same_alias_is_taken_over() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    for alias in ["mi.alias.uno", "MI.ALIAS.UNO", "Mi.Alias.Uno"] {
        let set = service
            .a
            .put(&at(&cvu, "/alias"), &json!({"alias": alias}))
            .await
            .is(200);
        assert_eq!(set["alias"], alias);
        assert_eq!(
            service.a.get("/v1/accounts").await["items"][0]["alias"],
            alias
        );
    }
}

#[actix_web::test]
async fn limits_are_inherited_set_and_zero() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let path = at(&cvu, "/limits");
    let none = service.a.get(&path).await.is(200);
    assert_eq!(none["effective"]["dailyAmount"], Value::Null);
    assert_eq!(
        none["usage"],
        json!({"dailyAmount": "0.00", "dailyCount": 0, "monthlyAmount": "0.00", "monthlyCount": 0})
    );
    let change =
        json!({"dailyAmount": "1000.5", "dailyCount": 3, "maxPerTransaction": 0, "maxBalance": 20});
    let set = service.a.patch(&path, &change).await.is(200);
    let own = json!({
        "maxPerTransaction": "0.00", "dailyAmount": "1000.50", "dailyCount": 3,
        "monthlyAmount": null, "monthlyCount": null, "maxBalance": "20.00",
    });
    assert_eq!(set["limits"]["own"], own);
    assert_eq!(set["limits"]["effective"], own);
    assert_eq!(set["limits"]["remaining"]["dailyAmount"], "1000.50");
    let source = json!({
        "maxPerTransaction": "account", "dailyAmount": "account", "dailyCount": "account",
        "monthlyAmount": "none", "monthlyCount": "none", "maxBalance": "account",
    });
    assert_eq!(set["limits"]["source"], source);
    // Absent stays, null inherits; the same again changes nothing.
    let set = service
        .a
        .patch(&path, &json!({"dailyAmount": null}))
        .await
        .is(200);
    assert_eq!(
        (
            &set["limits"]["own"]["dailyAmount"],
            &set["limits"]["own"]["dailyCount"]
        ),
        (&Value::Null, &json!(3))
    );
    let same = service
        .a
        .patch(&path, &json!({"dailyCount": 3}))
        .await
        .is(200);
    assert_eq!(same.header("etag"), set.header("etag"));
    for (body, fields) in [
        (json!({"dailyAmount": "-1"}), vec!["dailyAmount"]),
        (
            json!({"dailyAmount": "1e3", "monthlyAmount": 1.005}),
            vec!["dailyAmount", "monthlyAmount"],
        ),
        (
            json!({"dailyCount": 1.5, "monthlyCount": -1}),
            vec!["dailyCount", "monthlyCount"],
        ),
        (json!({"dailyCount": "3"}), vec!["dailyCount"]),
        (json!({"weeklyAmount": 1}), vec!["weeklyAmount"]),
    ] {
        let refused = service
            .a
            .patch(&path, &body)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), fields, "{body}");
    }
}

#[actix_web::test]
async fn usage_counts_what_goes_out_and_inherits_from_psp_and_platform() {
    use caudal_actors::platform::{PlatformOrder, TenantChange};
    use caudal_ledger::{limits::Limits, money::Money};
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let pesos = |pesos: i64| Some(Money::from_centavos(pesos * 100));
    let platform = Limits {
        daily_amount: pesos(500),
        monthly_amount: pesos(5000),
        ..Limits::default()
    };
    let psp = Limits {
        daily_amount: pesos(300),
        ..Limits::default()
    };
    let change = TenantChange {
        limits: Some(psp),
        ..TenantChange::default()
    };
    let orders = [
        PlatformOrder::ChangePlatform {
            limits: Some(platform),
            fees: None,
        },
        PlatformOrder::ChangeTenant(crate::support::service::TENANT.to_owned(), change),
    ];
    for order in orders {
        service.engine().administer(order).await.unwrap();
    }
    service.a.credit(&cvu, "100.00").await;
    service.a.debit(&cvu, "30.00").await;
    service.a.debit(&cvu, "0.50").await;
    let limits = service.a.get(&at(&cvu, "/limits")).await.is(200);
    assert_eq!(limits["effective"]["dailyAmount"], "300.00");
    assert_eq!(limits["effective"]["monthlyAmount"], "5000.00");
    let source = &limits["source"];
    assert_eq!(
        (&source["dailyAmount"], &source["monthlyAmount"]),
        (&json!("psp"), &json!("platform"))
    );
    assert_eq!(
        limits["usage"],
        json!({"dailyAmount": "30.50", "dailyCount": 2, "monthlyAmount": "30.50", "monthlyCount": 2})
    );
    assert_eq!(limits["remaining"]["dailyAmount"], "269.50");
    assert_eq!(
        read(&service.a, &cvu).await["limits"]["usage"],
        limits["usage"]
    );
}

#[actix_web::test]
async fn identity_begins_with_the_holder_and_reaches_the_bank() {
    let service = TestService::start().await;
    let opened = service.a.open_account().await;
    let (cvu, holder) = (
        opened["cvu"].as_str().unwrap(),
        opened["holder"]["cuit"].as_str().unwrap(),
    );
    let other = cuit(fresh());
    let path = at(cvu, "/identidad");
    let person = |cuit: &str, name: &str| json!({"cuit": cuit, "name": name});
    for (body, status) in [
        (
            json!({"titulares": [person(&other, "Otra"), person(holder, "Yo")]}),
            "first_holder_differs",
        ),
        (json!({"titulares": []}), "first_holder_differs"),
        (
            json!({"titulares": [person(holder, "Yo"), person(&other, "A"), person(&other, "B")]}),
            "holder_twice",
        ),
        (
            json!({"titulares": [person(holder, "Yo")], "personType": "legal"}),
            "person_type_contradicts",
        ),
        (
            json!({"titulares": [{"cuit": holder, "name": "Yo", "personType": "legal"}]}),
            "person_type_contradicts",
        ),
    ] {
        service.a.patch(&path, &body).await.refused(400, status);
    }
    for (body, fields) in [
        (json!({}), vec!["titulares"]),
        (json!({"titulares": {}}), vec!["titulares", "titulares"]),
        (
            json!({"titulares": [{"cuit": "1", "x": 1}]}),
            vec!["titulares.0.cuit", "titulares.0.name", "titulares.0.x"],
        ),
        (
            json!({"titulares": vec![person(holder, "Yo"); 21]}),
            vec!["titulares", "titulares"],
        ),
    ] {
        let refused = service
            .a
            .patch(&path, &body)
            .await
            .refused(400, "invalid_request");
        let (found, wanted): (BTreeSet<_>, BTreeSet<_>) = (
            named(&refused.json).into_iter().collect(),
            fields.into_iter().collect(),
        );
        assert_eq!(found, wanted, "{body}");
    }
    assert_eq!(service.bank.calls("rename").await, 0);
    let body = json!({
        "holderName": "Juana Azurduy de Padilla", "personType": "human",
        "titulares": [person(holder, "Juana Azurduy"), {"cuit": "30500010912", "name": "Banco", "personType": "legal"}],
    });
    let done = service.a.patch(&path, &body).await.is(200);
    assert_eq!(done["holder"]["name"], "Juana Azurduy de Padilla");
    assert_eq!(
        done["titulares"][1],
        json!({"cuit": "30500010912", "name": "Banco", "personType": "legal"})
    );
    assert_eq!(
        service.bank.accounts_of(holder).await[0]["name"],
        "Juana Azurduy de Padilla"
    );
    // A bank that refuses changes nothing.
    service
        .bank
        .behave(json!({"operation": "rename", "mode": "reject", "count": 1}))
        .await;
    let body = json!({"holderName": "Nombre Nuevo", "titulares": [person(holder, "Nuevo")]});
    let refused = service
        .a
        .patch(&path, &body)
        .await
        .refused(400, "bank_refused");
    assert_eq!(
        (&refused["bankStatus"], &refused["bankBody"]["code"]),
        (&json!(409), &json!("PA015"))
    );
    let after = read(&service.a, cvu).await;
    assert_eq!(
        (&after["holder"], &after["titulares"]),
        (&done["holder"], &done["titulares"])
    );
}

#[actix_web::test]
async fn kyc_changes_what_is_sent_and_nothing_else() {
    let service = TestService::start().await;
    let cvu = service.a.cvu().await;
    let path = at(&cvu, "/kyc");
    let whole = json!({
        "nationality": "ar", "birthCountry": "UY", "birthDate": "1989-02-16", "sex": "F", "dni": "26756539",
        "documentType": "DNI", "maritalStatus": "SOLTERO", "occupation": "JUBILADO", "afipActivity": "000007",
        "pep": false, "uif": true, "fatca": false, "ocde": true, "email": "x@y.example", "phone": "1155555555",
        "address": {"street": "Maipú", "number": "1012", "floor": "3", "apartment": "B", "cityCode": "247",
            "provinceCode": "1", "postalCode": "1006"},
        "riskLevel": "low", "kycLevel": 3, "verifiedAt": "2026-03-01T10:00:00-03:00",
    });
    let first = service.a.patch(&path, &whole).await.is(200);
    let kyc = &first["kyc"];
    assert_eq!(
        (&kyc["nationality"], &kyc["verifiedAt"]),
        (&json!("AR"), &json!("2026-03-01T13:00:00.000Z"))
    );
    assert_eq!(
        (&kyc["afipActivity"], &kyc["kycLevel"]),
        (&json!("000007"), &json!(3))
    );
    assert_eq!(
        (&first["email"], &first["phone"]),
        (&json!("x@y.example"), &json!("1155555555"))
    );
    let partial = json!({"pep": true, "address": {"street": "Florida"}});
    let second = service.a.patch(&path, &partial).await.is(200);
    let mut expected = kyc.clone();
    expected["pep"] = json!(true);
    expected["address"]["street"] = json!("Florida");
    assert_eq!(second["kyc"], expected);
    assert_eq!(second["email"], "x@y.example");
    for (body, field) in [
        (json!({"nationality": "ARG"}), "nationality"),
        (json!({"birthDate": "16/02/1989"}), "birthDate"),
        (json!({"birthDate": "1989-02-30"}), "birthDate"),
        (json!({"sex": "Z"}), "sex"),
        (json!({"dni": "12"}), "dni"),
        (json!({"afipActivity": "7"}), "afipActivity"),
        (json!({"pep": "no"}), "pep"),
        (json!({"riskLevel": "alto"}), "riskLevel"),
        (json!({"kycLevel": 4}), "kycLevel"),
        (json!({"verifiedAt": "2026-03-01"}), "verifiedAt"),
        (json!({"address": {"calle": "x"}}), "address.calle"),
        (json!({"address": "Maipú 1012"}), "address"),
        (
            json!({"address": {"street": "x", "street ": "y"}}),
            "address.street ",
        ),
    ] {
        let refused = service
            .a
            .patch(&path, &body)
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field], "{body}");
    }
    let twice = service
        .a
        .call("PATCH", &path)
        .text(r#"{"address":{"street":"a","street":"b"}}"#)
        .await;
    assert_eq!(
        named(&twice.refused(400, "invalid_request").json),
        ["address"]
    );
    assert_eq!(read(&service.a, &cvu).await["kyc"], expected);
}

/// Accounts with the given holders' names, the last two suspended and closed.
async fn population(service: &TestService, names: &[&str]) -> Vec<String> {
    let mut cvus = Vec::new();
    for name in names {
        let opened = service
            .a
            .open_with(json!({"cuit": cuit(fresh()), "holderName": name}))
            .await;
        cvus.push(opened["cvu"].as_str().unwrap().to_owned());
    }
    let (closed, suspended) = (&cvus[cvus.len() - 1], &cvus[cvus.len() - 2]);
    service.a.delete(&at(closed, "")).await.is(200);
    service
        .a
        .post(&at(suspended, "/suspend"), &json!({"reason": "x"}))
        .await
        .is(200);
    cvus
}

fn cvus(answer: &Answer) -> Vec<&str> {
    answer["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["cvu"].as_str().unwrap())
        .collect()
}

#[actix_web::test]
async fn accounts_are_found_by_every_part_of_them() {
    let service = TestService::start().await;
    let all = population(
        &service,
        &["Ágata Peña", "Bruno Díaz", "Carla ÑANDÚ", "Delia Peña"],
    )
    .await;
    let list = async |query: &str| {
        service
            .a
            .get(&format!("/v1/accounts?{query}"))
            .await
            .is(200)
    };
    let everyone = list("").await;
    assert_eq!(
        cvus(&everyone),
        all.iter().rev().map(String::as_str).collect::<Vec<_>>(),
        "newest first"
    );
    assert_eq!(
        (&everyone["total"], &everyone["limit"], &everyone["offset"]),
        (&json!(4), &json!(50), &json!(0))
    );
    assert!(
        everyone["items"][0].get("balance").is_none()
            && everyone["items"][0].get("limits").is_none()
    );
    assert_eq!(list("q=PENA").await["total"], 2);
    assert_eq!(list("q=nand%C3%BA").await["total"], 1);
    assert_eq!(list("q=%C3%A1gata").await["total"], 1);
    assert_eq!(list(&format!("q={}", &all[1])).await["total"], 1);
    let first = &everyone["items"][0];
    let (alias, holder) = (
        first["alias"].as_str().unwrap(),
        first["holder"]["cuit"].as_str().unwrap(),
    );
    assert_eq!(
        list(&format!("q={}", alias.to_lowercase())).await["total"],
        1
    );
    assert_eq!(cvus(&list(&format!("q={holder}")).await), [all[3].as_str()]);
    for (status, total) in [("active", 2), ("suspended", 1), ("closed", 1)] {
        assert_eq!(list(&format!("status={status}")).await["total"], total);
    }
    assert_eq!(list("q=pena&status=closed").await["total"], 1);
    assert_eq!(list("q=nadie").await["items"], json!([]));
    for bad in [
        "status=abierta",
        "sort=balance",
        "order=up",
        "limit=0",
        "limit=201",
        "limit=x",
        "limit=1.5",
        "offset=-1",
        "cursor=zz",
        "offset=9223372036854775808",
    ] {
        let refused = service
            .a
            .get(&format!("/v1/accounts?{bad}"))
            .await
            .refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [bad.split('=').next().unwrap()]);
    }
    let refused = service.a.get("/v1/accounts?sort=x").await;
    assert!(
        refused["message"]
            .as_str()
            .unwrap()
            .contains("createdAt, holderName, cvu, alias")
    );
    list("unknown=1&limit=").await;
}

#[actix_web::test]
async fn every_order_and_every_page_shows_each_account_once() {
    let service = TestService::start().await;
    let names = [
        "Zoe Alba", "ana beta", "Álvaro", "Mora", "mora", "Ñuflo", "Bea",
    ];
    let all = population(&service, &names).await;
    for sort in ["createdAt", "holderName", "cvu", "alias"] {
        for order in ["asc", "desc"] {
            for filter in ["", "&q=a"] {
                let query = format!("sort={sort}&order={order}{filter}");
                let whole = service
                    .a
                    .get(&format!("/v1/accounts?{query}"))
                    .await
                    .is(200);
                let expected = cvus(&whole);
                let total = usize::try_from(whole["total"].as_u64().unwrap()).unwrap();
                assert_eq!(total, expected.len());
                for limit in [1, 2, 3, 7] {
                    let (mut by_cursor, mut by_offset, mut cursor) =
                        (vec![], vec![], String::new());
                    loop {
                        let page = service
                            .a
                            .get(&format!(
                                "/v1/accounts?{query}&limit={limit}&cursor={cursor}"
                            ))
                            .await
                            .is(200);
                        assert_eq!(page["total"], total, "{query}");
                        by_cursor.extend(cvus(&page).iter().map(|cvu| (*cvu).to_owned()));
                        let offset = by_offset.len();
                        let page_by_offset = service
                            .a
                            .get(&format!(
                                "/v1/accounts?{query}&limit={limit}&offset={offset}"
                            ))
                            .await
                            .is(200);
                        by_offset.extend(cvus(&page_by_offset).iter().map(|cvu| (*cvu).to_owned()));
                        cursor = page.header("x-next-cursor").to_owned();
                        if cursor.is_empty() {
                            break;
                        }
                    }
                    assert_eq!(by_cursor, expected, "{query} limit {limit}");
                    assert_eq!(by_offset, expected, "{query} limit {limit}");
                }
            }
        }
    }
    let sorted = service
        .a
        .get("/v1/accounts?sort=holderName&order=asc")
        .await;
    let shown: Vec<_> = sorted["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["holder"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        shown,
        [
            "Álvaro", "ana beta", "Bea", "Mora", "mora", "Ñuflo", "Zoe Alba"
        ],
        "case and accents do not sort"
    );
    assert_eq!(
        service
            .a
            .get("/v1/accounts?sort=cvu&order=asc&limit=1")
            .await["items"][0]["cvu"],
        all[0]
    );
    assert_eq!(
        service.a.get("/v1/accounts?offset=1000").await.is(200)["items"],
        json!([])
    );
}
