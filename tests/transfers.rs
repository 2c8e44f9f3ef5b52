//! Transfers: done at once inside the realm; through the bank, held until the bank's final word.

mod bank;

use crate::support::{Client, TestService, Value, json, named};

/// A service with an account that has this amount, and another account.
async fn pair(amount: &str) -> (TestService, String, String) {
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let (from, to) = (service.a.cvu().await, service.a.cvu().await);
    service.a.credit(&from, amount).await;
    (service, from, to)
}

fn funds(available: &str, held: &str) -> (String, String) {
    (available.to_owned(), held.to_owned())
}

/// The newest movement of an account.
async fn newest(client: &Client, cvu: &str) -> Value {
    let path = format!("/v1/accounts/{cvu}/movements?limit=1");
    client.get(&path).await.is(200).json[0].clone()
}

#[actix_web::test]
async fn inside_the_realm_money_moves_at_once() {
    let (service, from, to) = pair("100.00").await;
    let account = service.a.get(&format!("/v1/accounts/{to}")).await.is(200);
    let alias = account["alias"].as_str().unwrap();
    let raised = alias.to_uppercase();
    for (asked, shown) in [
        (json!({"cvu": to}), json!({"cvu": to})),
        // A CVU in the field for a CBU counts as a CVU.
        (json!({"cbu": to}), json!({"cvu": to})),
        (
            json!({"alias": raised}),
            json!({"cvu": to, "alias": raised}),
        ),
    ] {
        let sent = service.a.transfer(&from, asked, "10.00").await.is(201).json;
        let id = sent["id"].as_str().unwrap();
        assert!(id.starts_with("trf_"));
        for (name, value) in [
            ("kind", json!("internal")),
            ("status", json!("completed")),
            ("fromCvu", json!(from)),
            ("to", shown),
            ("amount", json!("10.00")),
            ("concept", json!("VAR")),
            ("description", Value::Null),
            ("reversed", json!("0.00")),
        ] {
            assert_eq!(sent[name], value, "{name}: {sent}");
        }
        for none in ["fee", "originId", "bankTransferId", "coelsaId", "rejection"] {
            assert_eq!(sent[none], Value::Null, "{none}: {sent}");
        }
        for (cvu, code, direction) in [
            (&from, "INTERNAL_P2P_OUT", "debit"),
            (&to, "INTERNAL_P2P_IN", "credit"),
        ] {
            let moved = newest(&service.a, cvu).await;
            assert_eq!(
                (&moved["voucherTypeCode"], &moved["ledgerType"]),
                (&json!(code), &json!(direction))
            );
            assert_eq!(
                (&moved["referenceType"], &moved["referenceId"]),
                (&json!("p2p"), &sent["id"])
            );
        }
        let read = service.a.get(&format!("/v1/transfers/{id}")).await.is(200);
        assert_eq!(read["bankCalls"], json!([]));
        assert_eq!(
            (&read["status"], &read["updatedAt"]),
            (&sent["status"], &sent["updatedAt"])
        );
    }
    assert_eq!(service.a.funds(&from).await, funds("70.00", "0.00"));
    assert_eq!(service.a.funds(&to).await, funds("30.00", "0.00"));
    let internal = service
        .a
        .get("/v1/comprobantes/internal?tipo=INTERNAL_P2P_IN")
        .await;
    assert_eq!(internal.is(200)["total"], 3);
    service.verified().await;
}

#[actix_web::test]
async fn many_at_once_lose_and_make_no_money() {
    let (mut service, from, to) = pair("50.00").await;
    service.a.credit(&to, "50.00").await;
    let calls = (0..40).map(|n| {
        let (from, to) = if n % 2 == 0 {
            (&from, &to)
        } else {
            (&to, &from)
        };
        service
            .a
            .transfer(from, json!({"cvu": to}), "7.00")
            .into_future()
    });
    let answers = futures_util::future::join_all(calls).await;
    let done = answers.iter().filter(|answer| answer.status == 201).count();
    assert!(done > 0);
    for answer in answers.into_iter().filter(|answer| answer.status != 201) {
        answer.refused(400, "insufficient_funds");
    }
    service.crash().await;
    let (mine, theirs) = (
        service.a.available(&from).await,
        service.a.available(&to).await,
    );
    let sum: i64 = [mine, theirs]
        .iter()
        .map(|text| text.replace('.', "").parse::<i64>().unwrap())
        .sum();
    assert_eq!(sum, 10_000);
    service.verified().await;
}

#[actix_web::test]
async fn a_transfer_is_made_once_by_its_external_id() {
    let (service, from, to) = pair("100.00").await;
    let body = json!({
        "fromCvu": from, "to": {"cvu": to}, "amount": "10.00", "concept": "alq",
        "description": "marzo", "idExterno": "t-1",
    });
    let first = service.a.post("/v1/transfers", &body).await.is(201);
    assert_eq!(
        (&first["concept"], &first["description"]),
        (&json!("ALQ"), &json!("marzo"))
    );
    let again = service.a.post("/v1/transfers", &body).await.is(201);
    assert!(again.replayed() && !first.replayed());
    assert_eq!(again.json, first.json);
    for (name, value) in [
        ("amount", json!("10.01")),
        ("to", json!({"alias": "DESTINO.0"})),
    ] {
        let mut other = body.clone();
        other[name] = value;
        let refused = service.a.post("/v1/transfers", &other).await;
        let refused = refused.refused(409, "id_externo_reused");
        assert_eq!(named(&refused.json), [name]);
        assert_eq!(refused["details"], json!({"transferId": first["id"]}));
    }
    // The same account is the same receiver, by whatever name, even if its alias has changed since.
    let named_to = async |alias: &str| {
        let path = format!("/v1/accounts/{to}/alias");
        service.a.put(&path, &json!({"alias": alias})).await.is(200);
        json!({"alias": alias.to_uppercase()})
    };
    let mut by_alias = body.clone();
    for alias in ["quien.recibe.1", "quien.recibe.2"] {
        by_alias["to"] = named_to(alias).await;
        let again = service.a.post("/v1/transfers", &by_alias).await.is(201);
        assert!(again.replayed());
        assert_eq!(again.json, first.json);
    }
    // The external id is unique among all transfers of the realm, whatever account sends.
    let mut other = body.clone();
    other["fromCvu"] = json!(to);
    other["to"] = json!({"cvu": from});
    let refused = service.a.post("/v1/transfers", &other).await;
    refused.refused(409, "id_externo_reused");
    // Under an idempotency key the very same answer is returned.
    let mut keyed = body.clone();
    keyed["idExterno"] = json!("t-2");
    let kept = service
        .a
        .post("/v1/transfers", &keyed)
        .key("k")
        .await
        .is(201);
    let again = service
        .a
        .post("/v1/transfers", &keyed)
        .key("k")
        .await
        .is(201);
    assert!(again.replayed());
    assert_eq!(again.text, kept.text);
    assert_eq!(service.a.funds(&from).await, funds("80.00", "0.00"));
}

#[actix_web::test]
async fn what_is_wrong_with_a_transfer_is_named() {
    let (service, from, to) = pair("100.00").await;
    let good = json!({"fromCvu": from, "to": {"cvu": to}, "amount": "1.00", "idExterno": "w-1"});
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    let long = "x".repeat(101);
    for (body, fields) in [
        (json!({}), vec!["fromCvu", "to", "amount", "idExterno"]),
        (with("fromCvu", json!("1")), vec!["fromCvu"]),
        (with("to", Value::Null), vec!["to"]),
        (with("to", json!("x")), vec!["to"]),
        (with("to", json!({})), vec!["to.cvu"]),
        (
            with("to", json!({"cvu": to, "alias": "DESTINO.0"})),
            vec!["to.cvu"],
        ),
        (
            with("to", json!({"cvu": "2850590940090418135201"})),
            vec!["to.cvu"],
        ),
        (
            with("to", json!({"cbu": "2850590940090418135200"})),
            vec!["to.cbu"],
        ),
        (with("to", json!({"alias": "ñandú"})), vec!["to.alias"]),
        (with("to", json!({"cvu": to, "name": "x"})), vec!["to.name"]),
        (with("amount", json!("0")), vec!["amount"]),
        (with("concept", json!("ZZZ")), vec!["concept"]),
        (with("description", json!(long)), vec!["description"]),
        (with("tenantId", json!("x")), vec!["tenantId"]),
    ] {
        let refused = service.a.post("/v1/transfers", &body).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), fields, "{body}");
    }
    // The message names what was sent.
    let (cbu, alias) = ("2850590940090418135201", "DESTINO.0");
    for (sent, field, names) in [
        (
            json!({"cbu": cbu, "alias": alias}),
            "to.cbu",
            "cbu, alias were sent",
        ),
        (
            json!({"cvu": to, "cbu": cbu}),
            "to.cvu",
            "cvu, cbu were sent",
        ),
        (
            json!({"cvu": to, "cbu": cbu, "alias": alias}),
            "to.cvu",
            "cvu, cbu, alias were sent",
        ),
        (json!({}), "to.cvu", "is required, or cbu, or alias"),
    ] {
        let refused = service.a.post("/v1/transfers", &with("to", sent)).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
        let said = refused["message"].as_str().unwrap();
        assert!(said.starts_with(field) && said.ends_with(names), "{said}");
    }
    let to_itself = with("to", json!({"cvu": from}));
    let refused = service.a.post("/v1/transfers", &to_itself).await;
    refused.refused(400, "same_account");
    let refused = service
        .a
        .post("/v1/transfers", &with("amount", json!("100.01")))
        .await;
    refused.refused(400, "insufficient_funds");
    // Another tenant's account cannot send, just like one that does not exist.
    let theirs = service.b.cvu().await;
    for foreign in [theirs.as_str(), "0000532609100002749314"] {
        let refused = service
            .a
            .post("/v1/transfers", &with("fromCvu", json!(foreign)))
            .await;
        refused.refused(404, "account_not_found");
    }
    // A dry run moves nothing, and shows what would happen.
    let dry = service
        .a
        .post("/v1/transfers?dryRun=true", &good)
        .await
        .is(200);
    assert_eq!(
        (&dry["kind"], &dry["status"]),
        (&json!("internal"), &json!("completed"))
    );
    let outside = with("to", json!({"alias": "DESTINO.0"}));
    let dry = service
        .a
        .post("/v1/transfers?dryRun=true", &outside)
        .await
        .is(200);
    assert_eq!(
        (&dry["kind"], &dry["status"]),
        (&json!("bank"), &json!("requested"))
    );
    assert_eq!(service.a.funds(&from).await, funds("100.00", "0.00"));
    assert_eq!(service.bank.calls("transfer").await, 0);
}

#[actix_web::test]
async fn transfers_are_listed_by_state_account_and_time() {
    let (service, from, to) = pair("100.00").await;
    let mut all = Vec::new();
    for n in 0..5 {
        let (from, to) = if n < 3 { (&from, &to) } else { (&to, &from) };
        let sent = service
            .a
            .transfer(from, json!({"cvu": to}), "1.00")
            .await
            .is(201);
        all.insert(0, sent["id"].clone());
    }
    let ids = |list: &Value| -> Vec<Value> {
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].clone()).collect()
    };
    let listed = service.a.get("/v1/transfers").await.is(200);
    assert_eq!(ids(&listed.json), all);
    let head = (&listed["total"], &listed["limit"], &listed["offset"]);
    assert_eq!(head, (&json!(5), &json!(50), &json!(0)));
    let theirs = service.b.cvu().await;
    for (query, right) in [
        (format!("fromCvu={from}"), &all[2..]),
        (format!("fromCvu={to}&status=completed"), &all[..2]),
        ("status=rejected".to_owned(), &[][..]),
        ("from=2020-01-01&to=2020-12-31".to_owned(), &[][..]),
        ("from=2020-01-01".to_owned(), &all[..]),
        ("order=asc&limit=1".to_owned(), &all[4..]),
        ("offset=1&limit=2".to_owned(), &all[1..3]),
        // Another tenant's account has sent nothing here.
        (format!("fromCvu={theirs}"), &[][..]),
    ] {
        let some = service
            .a
            .get(&format!("/v1/transfers?{query}"))
            .await
            .is(200);
        assert_eq!(ids(&some.json), right, "{query}");
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = format!("/v1/transfers?limit=2&cursor={cursor}");
        let page = service.a.get(&page).await.is(200);
        seen.extend(ids(&page.json));
        cursor = page.header("x-next-cursor").to_owned();
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(seen, all);
    let refused = service
        .a
        .get("/v1/transfers?status=lost&fromCvu=1&from=x")
        .await;
    let refused = refused.refused(400, "invalid_request");
    let mut fields = named(&refused.json);
    fields.sort_unstable();
    assert_eq!(fields, ["from", "fromCvu", "status"]);
    assert!(service.b.get("/v1/transfers").await.is(200)["items"] == json!([]));
}
