//! Payers and payees, as data: on vouchers, movements, transfers and events, and in both families.

use crate::support::{Answer, Client, TestService, Value, json};

/// The parts of a counterparty, in the order in which they are shown.
const PARTS: [&str; 7] = [
    "name", "cuit", "cbu", "alias", "bank", "coelsaId", "concept",
];
const PARTES: [&str; 7] = [
    "nombre", "cuitCuil", "cbuCvu", "alias", "banco", "coelsaId", "concepto",
];
/// The alias of an external account; a transfer to it completes.
const TO: &str = "DESTINO.0";

async fn start() -> (TestService, String, String) {
    let service = TestService::start().await;
    service.hear().await;
    service.a.in_and_out().await;
    let (one, other) = (service.a.cvu().await, service.a.cvu().await);
    (service, one, other)
}

/// The movements of a CVU with this reference type, oldest first.
async fn moved(client: &Client, cvu: &str, kind: &str) -> Vec<Value> {
    let path = format!("/v1/accounts/{cvu}/movements?referenceType={kind}&order=asc");
    let all = client.get(&path).await.is(200).json;
    all.as_array().unwrap().clone()
}

fn has_all(other: &Value, parts: &[&str]) {
    let members = other.as_object().unwrap_or_else(|| panic!("{other}"));
    let names: Vec<_> = members.keys().map(String::as_str).collect();
    let mut wanted = parts.to_vec();
    wanted.sort_unstable();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, wanted, "{other}");
}

/// The counterparty that a holder is for the other side.
async fn holder(client: &Client, cvu: &str) -> Value {
    let account = client.get(&format!("/v1/accounts/{cvu}")).await.is(200);
    json!({"name": account["holder"]["name"], "cuit": account["holder"]["cuit"], "cbu": cvu,
        "alias": account["alias"], "bank": {"code": cvu.get(3..7), "name": null},
        "coelsaId": null, "concept": "VAR"})
}

#[actix_web::test]
async fn both_vouchers_of_an_internal_transfer_name_each_other() {
    let (service, one, two) = start().await;
    service.a.credit(&one, "10.00").await;
    let sent = service.a.transfer(&one, json!({"cvu": two}), "4.00").await;
    let sent = sent.is(201);
    let (from, to) = (
        holder(&service.a, &one).await,
        holder(&service.a, &two).await,
    );
    assert_eq!(sent["counterparty"], to);
    let (out, into) = (
        moved(&service.a, &one, "p2p").await,
        moved(&service.a, &two, "p2p").await,
    );
    assert_eq!((out.len(), into.len()), (1, 1));
    assert_eq!(out[0]["counterparty"], to);
    assert_eq!(into[0]["counterparty"], from);
    // An adjustment has no counterparty.
    let credit = &moved(&service.a, &one, "adjustment").await[0];
    assert_eq!(credit["counterparty"], Value::Null);
    let path = format!("/wallet/v1/MovimientosCliente?cvu={two}");
    let page = service.a.get(&path).await.is(200);
    let seen = &page["items"][0]["contraparte"];
    has_all(seen, &PARTES);
    assert_eq!(
        [
            &seen["nombre"],
            &seen["cuitCuil"],
            &seen["cbuCvu"],
            &seen["concepto"]
        ],
        [&from["name"], &from["cuit"], &from["cbu"], &json!("VAR")]
    );
    assert_eq!(seen["banco"], from["bank"]["code"]);
    service.verified().await;
}

#[actix_web::test]
async fn the_payer_is_data_and_the_description_is_the_tenants() {
    let (service, cvu, _) = start().await;
    let coelsa = service.bank.cash_in(&cvu, "10.00").await;
    service.heard().await;
    let arrived = moved(&service.a, &cvu, "cash_in").await;
    let voucher = &arrived[0];
    let other = &voucher["counterparty"];
    has_all(other, &PARTS);
    for part in ["name", "cuit", "cbu"] {
        assert!(other[part].is_string(), "{part}: {other}");
    }
    assert_eq!(other["coelsaId"], coelsa.as_str());
    assert_eq!(other["concept"], "VAR");
    let code = other["cbu"].as_str().unwrap().get(..3).unwrap();
    assert_eq!(other["bank"]["code"], code);
    assert_eq!(voucher["description"], Value::Null);
    // The event, which is the webhook's body, has the same data.
    let feed = service.a.get("/v1/events?limit=200").await;
    let feed = feed.is(200);
    let mut reply = feed["items"].as_array().unwrap().iter();
    let reply = reply.find(|event| event["data"]["id"] == voucher["id"]);
    assert_eq!(reply.unwrap()["data"], *voucher);
    let day = service.a.get("/v1/bank/conciliacion").await.is(200);
    assert_eq!(day["items"][0]["counterparty"], *other);
}

#[actix_web::test]
async fn the_destination_holder_is_looked_up_before_sending() {
    for (to, status) in [(TO, "completed"), ("DESTINO.1", "rejected")] {
        let (service, cvu, _) = start().await;
        service.a.credit(&cvu, "10.00").await;
        let sent = service.a.transfer(&cvu, json!({"alias": to}), "4.00").await;
        let sent = service.a.settled(&sent.is(201).json, status).await;
        assert_eq!(service.bank.calls("lookup").await, 1, "{to}");
        let found = service.a.get(&format!("/v1/lookup/alias/{to}")).await;
        let found = found.is(200);
        let other = &sent["counterparty"];
        has_all(other, &PARTS);
        for (part, looked_up) in [
            ("name", "holderName"),
            ("cuit", "cuit"),
            ("cbu", "cbu"),
            ("alias", "alias"),
            ("bank", "bank"),
        ] {
            assert_eq!(other[part], found[looked_up], "{to}: {part}");
        }
        assert_eq!(other["coelsaId"], sent["coelsaId"]);
        // The transfer shows the destination that was ordered.
        assert_eq!(sent["to"], json!({"alias": to}));
        let vouchers = moved(&service.a, &cvu, "transfer").await;
        let (held, ended) = (&vouchers[0]["counterparty"], &vouchers[1]["counterparty"]);
        // The money is held before the bank is asked who the receiver is.
        assert_eq!((&held["alias"], &held["name"]), (&json!(to), &Value::Null));
        assert_eq!(
            (&ended["name"], &ended["cbu"]),
            (&other["name"], &other["cbu"])
        );
        if status == "completed" {
            assert_eq!(ended["coelsaId"], sent["coelsaId"]);
            service.bank.reverse(&sent["originId"]).await;
            service.a.settled(&sent, "reversed").await;
            let back = moved(&service.a, &cvu, "transfer").await;
            assert_eq!(back[2]["counterparty"]["name"], other["name"]);
            assert_ne!(back[2]["counterparty"]["coelsaId"], sent["coelsaId"]);
        }
        service.verified().await;
    }
}

#[actix_web::test]
async fn a_lookup_that_fails_stops_no_transfer() {
    let (service, cvu, _) = start().await;
    service.a.credit(&cvu, "10.00").await;
    let fails = json!({"operation": "lookup", "mode": "error"});
    service.bank.behave(fails).await;
    let sent = service.a.transfer(&cvu, json!({"alias": TO}), "4.00").await;
    let done = service.a.settled(&sent.is(201).json, "completed").await;
    let other = json!({"name": null, "cuit": null, "cbu": null, "alias": TO, "bank": null,
        "coelsaId": done["coelsaId"], "concept": "VAR"});
    assert_eq!(done["counterparty"], other);
}

#[actix_web::test]
async fn lists_are_filtered_by_the_cuit_of_the_other_side() {
    let (service, one, two) = start().await;
    service.a.credit(&one, "10.00").await;
    let (a, three) = (&service.a, service.a.cvu().await);
    for to in [&two, &three] {
        a.transfer(&one, json!({"cvu": to}), "1.00").await.is(201);
    }
    let cuit = holder(a, &two).await["cuit"].clone();
    let cuit = cuit.as_str().unwrap();
    let ids = |answer: &Answer| {
        let rows = answer.json.get("items").unwrap_or(&answer.json);
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| row["counterparty"]["cuit"].clone())
            .collect::<Vec<_>>()
    };
    let lists = [
        format!("/v1/accounts/{one}/movements?"),
        format!("/v1/accounts/{one}/comprobantes?"),
        format!("/v1/accounts/{one}/movements?sort=amount&"),
        format!("/v1/comprobantes/internal?cvu={one}&"),
        "/v1/comprobantes/internal?".to_owned(),
        "/v1/transfers?".to_owned(),
        format!("/v1/transfers?fromCvu={one}&"),
    ];
    for list in lists {
        let found = a.get(&format!("{list}counterpartyCuit={cuit}")).await;
        let found = found.is(200);
        assert_eq!(ids(&found), [json!(cuit)], "{list}");
        let nobody = a.get(&format!("{list}counterpartyCuit=30500001735")).await;
        assert!(ids(&nobody.is(200)).is_empty(), "{list}");
        let wrong = a.get(&format!("{list}counterpartyCuit=12")).await;
        let wrong = wrong.refused(400, "invalid_request");
        assert_eq!(wrong["errors"][0]["field"], "counterpartyCuit");
    }
    // A counterparty can be found by text search.
    let name = holder(a, &two).await["name"].clone();
    let path = format!("/v1/accounts/{one}/movements?q={cuit}");
    let found = a.get(&path).await.is(200);
    assert_eq!(found.json[0]["counterparty"]["name"], name);
}

#[actix_web::test]
async fn a_transfer_is_found_by_the_tenants_own_id() {
    let (service, one, two) = start().await;
    service.a.credit(&one, "10.00").await;
    let a = &service.a;
    let mut sent = Vec::new();
    for _ in 0..2 {
        let to = json!({"cvu": two});
        sent.push(a.transfer(&one, to, "1.00").await.is(201).json);
    }
    let id = sent[0]["idExterno"].as_str().unwrap();
    let table = [
        (format!("idExterno={id}"), 1, 1),
        (
            format!("idExterno={id}&status=completed&fromCvu={one}"),
            1,
            1,
        ),
        (format!("idExterno={id}&status=rejected"), 0, 0),
        (format!("idExterno={id}&fromCvu={two}"), 0, 0),
        (format!("idExterno={id}&offset=1"), 0, 1),
        ("idExterno=nobodys".to_owned(), 0, 0),
    ];
    for (query, shown, total) in table {
        let page = a.get(&format!("/v1/transfers?{query}")).await.is(200);
        let items = page["items"].as_array().unwrap();
        assert_eq!(
            (items.len(), &page["total"]),
            (shown, &json!(total)),
            "{query}"
        );
        assert!(items.iter().all(|it| it["id"] == sent[0]["id"]), "{query}");
    }
    let path = format!("/v1/transfers?idExterno={id}");
    let others = service.b.get(&path).await.is(200);
    assert_eq!(others["items"], json!([]));
    a.get("/v1/transfers?idExterno=")
        .await
        .refused(400, "invalid_request");
}
