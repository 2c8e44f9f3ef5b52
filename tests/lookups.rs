//! The owner of a CBU, a CVU or an alias, according to the bank.

use std::time::Duration;

use caudal_actors::engine::BankReadLimits;

use crate::support::{SOON, Setup, TestService, json, named};

#[actix_web::test]
async fn a_holder_is_found_by_any_name_of_the_account() {
    let service = TestService::start().await;
    let account = service.a.open_account().await;
    let (cvu, alias) = (
        account["cvu"].as_str().unwrap(),
        account["alias"].as_str().unwrap(),
    );
    let by_cvu = service
        .a
        .get(&format!("/v1/lookup/cbu/{cvu}"))
        .await
        .is(200);
    assert_eq!(
        (&by_cvu["cbu"], &by_cvu["type"]),
        (&json!(cvu), &json!("CVU"))
    );
    assert_eq!(
        (&by_cvu["cuit"], &by_cvu["alias"]),
        (&account["holder"]["cuit"], &json!(alias))
    );
    assert_eq!(by_cvu["holderName"], by_cvu["titulares"][0]["name"]);
    assert_eq!(
        (&by_cvu["currency"], &by_cvu["active"]),
        (&json!("ARS"), &json!(true))
    );
    let path = format!("/v1/lookup/alias/{}", alias.to_uppercase());
    let by_alias = service.a.get(&path).await.is(200);
    assert_eq!(by_alias["cbu"], json!(cvu));
    let outside = service.a.get("/v1/lookup/alias/destino.0").await.is(200);
    let cbu = outside["cbu"].as_str().unwrap();
    assert_eq!((&outside["type"], cbu.len()), (&json!("CBU"), 22));
    assert!(["human", "legal"].contains(&outside["personType"].as_str().unwrap()));
    assert!(outside["bank"]["code"].is_string() && outside["bank"]["name"].is_string());
    let again = service
        .a
        .get(&format!("/v1/lookup/cbu/{cbu}"))
        .await
        .is(200);
    assert_eq!(again["cuit"], outside["cuit"]);
}

#[actix_web::test]
async fn malformed_fields_are_named_and_unknown_errors_quote_the_bank() {
    let service = TestService::start().await;
    let calls = service.bank.calls("lookup").await;
    for (path, field) in [
        ("cbu/2850590940090418135200", "cbu"),
        ("cbu/285059094009041813520", "cbu"),
        ("alias/corto", "alias"),
        ("alias/con%20espacio", "alias"),
    ] {
        let refused = service.a.get(&format!("/v1/lookup/{path}")).await;
        let refused = refused.refused(400, "invalid_request");
        assert_eq!(named(&refused.json), [field]);
    }
    assert_eq!(
        service.bank.calls("lookup").await,
        calls,
        "the bank was asked"
    );
    let refused = service.a.get("/v1/lookup/alias/no.existe.nunca").await;
    let refused = refused.refused(404, "destination_not_found");
    assert!(refused["bankStatus"].is_u64() && refused["bankBody"].is_object());
}

#[actix_web::test]
async fn a_bank_that_fails_is_no_answer() {
    let service = TestService::start().await;
    service
        .bank
        .behave(json!({"operation": "lookup", "mode": "error"}))
        .await;
    let failed = service.a.get("/v1/lookup/alias/destino.0").await;
    let failed = failed.refused(502, "bank_failed");
    let said = failed["message"].as_str().unwrap();
    assert!(
        said.contains("nothing was changed and nothing goes on"),
        "{said}"
    );
    // The wallet family says the same in its language.
    let path = "/wallet/v1/CuentaCVUByCbuCvuOrAlias?alias=DESTINO.0";
    let failed = service.a.get(path).await.refused(502, "bank_failed");
    let said = failed["message"].as_str().unwrap();
    assert!(
        said.contains("no se cambió nada y nada queda en curso"),
        "{said}"
    );
    service.bank.is_silent("lookup", None).await;
    let failed = service.a.get(path).await.refused(504, "bank_timeout");
    let said = failed["message"].as_str().unwrap();
    assert!(
        said.contains("no se cambió nada y nada queda en curso"),
        "{said}"
    );
    // An error of the bank is no word about the alias, whatever its code.
    service.bank.speaks("lookup").await;
    let odd = json!({"operation": "lookup", "mode": "reject", "code": "TX500"});
    service.bank.behave(odd).await;
    let failed = service.a.get("/v1/lookup/alias/destino.0").await;
    failed.refused(502, "bank_failed");
}

/// The bank is asked once for the same question within seconds, unless something happened meanwhile.
#[actix_web::test]
async fn an_answer_is_kept_for_seconds_and_never_older_than_a_change() {
    let service = TestService::with(Setup {
        bank_reads: BankReadLimits {
            kept: SOON,
            ..BankReadLimits::default()
        },
        ..Setup::default()
    })
    .await;
    let account = service.a.open_account().await;
    let cvu = account["cvu"].as_str().unwrap();
    let table = [
        (format!("/v1/lookup/cbu/{cvu}"), "lookup"),
        (
            format!("/wallet/v1/CuentaCVUByCbuCvuOrAlias?cbuOrCvu={cvu}"),
            "lookup",
        ),
        ("/v1/bank/conciliacion".to_owned(), "transfer_list"),
    ];
    let before = service.bank.calls("lookup").await;
    for (path, operation) in &table {
        service.a.get(path).await.is(200);
        let calls = service.bank.calls(operation).await;
        for _ in 0..5 {
            service.a.get(path).await.is(200);
        }
        assert_eq!(service.bank.calls(operation).await, calls, "{path}");
    }
    assert_eq!(service.bank.calls("lookup").await, before + 1);
    let path = format!("/v1/accounts/{cvu}/identidad");
    let first = json!({"cuit": account["holder"]["cuit"], "name": "Renamed Holder"});
    let renamed = json!({"titulares": [first]});
    service.a.patch(&path, &renamed).await.is(200);
    let shown = service.a.get(&table[0].0).await.is(200);
    assert_eq!(shown["holderName"], "Renamed Holder");
}

/// A realm asks within its limits; beyond them it gets 429, the bank is not asked, and orders and other realms go on.
#[actix_web::test]
async fn questions_have_a_rate_and_slots_of_their_realm() {
    let service = TestService::with(Setup {
        bank_reads: BankReadLimits {
            // The reconciliation of a day asks for its list and for the statement.
            burst: 8,
            every: SOON,
            kept: Duration::ZERO,
            ..BankReadLimits::default()
        },
        ..Setup::default()
    })
    .await;
    service.a.in_and_out().await;
    let cvu = service.a.cvu().await;
    service.a.credit(&cvu, "10.00").await;
    let paths = [
        "/v1/lookup/alias/destino.0",
        "/wallet/v1/CuentaCVUByCbuCvuOrAlias?alias=DESTINO.0",
        "/v1/bank/conciliacion?date=2026-01-05",
    ];
    for path in paths.iter().cycle().take(6) {
        service.a.get(path).await.is(200);
    }
    let calls = service.bank.calls("lookup").await + service.bank.calls("transfer_list").await;
    for path in paths {
        let refused = service.a.get(path).await.refused(429, "bank_reads_limited");
        assert_eq!(refused.header("retry-after"), "1");
    }
    let after = service.bank.calls("lookup").await + service.bank.calls("transfer_list").await;
    assert_eq!(after, calls, "the bank was asked");
    service.b.get(paths[0]).await.is(200);
    let sent = service
        .a
        .transfer(&cvu, json!({"alias": "destino.0"}), "1.00")
        .await;
    service.a.settled(&sent.is(201).json, "completed").await;
}
