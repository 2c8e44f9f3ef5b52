//! The owner of a CBU, a CVU or an alias, according to the bank.

use crate::support::{TestService, json, named};

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
async fn what_is_malformed_is_named_and_what_is_unknown_is_told_in_the_banks_words() {
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
    let refused = refused.refused(400, "bank_refused");
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
