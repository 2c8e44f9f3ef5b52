//! Changes of an account: versions, alias, limits, identity and KYC.

use std::collections::BTreeSet;

use super::{at, read};
use crate::support::client::fresh;
use crate::support::{TestService, Value, cuit, json, named};

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
    // A movement does not change the version, so no change is refused because the account is busy; and a read always
    // shows the balance, whatever version the client has.
    service.a.credit(&cvu, "1.00").await;
    for tag in [first.as_str(), "*"] {
        let call = service.a.get(&at(&cvu, "")).header("if-none-match", tag);
        let shown = call.await.is(200);
        assert_eq!(shown["balance"]["total"], "1.00");
        assert_eq!(shown.header("cache-control"), "no-store");
    }
    let busy = read(&service.a, &cvu).await;
    assert_eq!(
        (busy.header("etag"), &busy["balance"]["total"]),
        (&*first, &json!("1.00"))
    );
    service
        .a
        .patch(&at(&cvu, "/limits"), &json!({"dailyCount": 7}))
        .header("if-match", &first)
        .await
        .is(200);
    let second = read(&service.a, &cvu).await.header("etag").to_owned();
    assert_ne!(first, second);
    service.a.debit(&cvu, "1.00").await;
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
            json!({"holderName": "Otra Persona", "titulares": [{"cuit": holder, "name": "Otra Persona"}]}),
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
    // An absent limit stays, a null one inherits; repeating the change has no effect.
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
    use caudal_ledger::limits::{LimitKind, Limits};
    use caudal_ledger::money::Money;
    let service = TestService::start().await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    let pesos = |pesos: i64| Money::from_centavos(pesos * 100);
    let platform = Limits::default()
        .with(LimitKind::DailyAmount, pesos(500))
        .with(LimitKind::MonthlyAmount, pesos(5000));
    let psp = Limits::default().with(LimitKind::DailyAmount, pesos(300));
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
        service
            .engine()
            .operators()
            .administer(order)
            .await
            .unwrap();
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
            json!({"holderName": "Juana", "titulares": [person(holder, "Juana Azurduy")]}),
            vec!["holderName"],
        ),
        (
            json!({"holderName": null, "titulares": [person(holder, "Juana Azurduy")]}),
            vec!["holderName"],
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
        "titulares": [person(holder, "Juana Azurduy de Padilla"), {"cuit": "30500010912", "name": "Banco", "personType": "legal"}],
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
    // The first holder is the account's own: the bank is told its name even without `holderName`.
    let body = json!({"titulares": [person(holder, "Juana de Padilla")]});
    let done = service.a.patch(&path, &body).await.is(200);
    assert_eq!(done["holder"]["name"], "Juana de Padilla");
    let at_the_bank = service.a.get(&format!("/v1/lookup/cbu/{cvu}")).await;
    assert_eq!(at_the_bank.is(200)["holderName"], "Juana de Padilla");
    // If the bank refuses, nothing changes.
    service
        .bank
        .behave(json!({"operation": "rename", "mode": "reject", "count": 1}))
        .await;
    let body = json!({"holderName": "Nombre Nuevo", "titulares": [person(holder, "Nombre Nuevo")]});
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
