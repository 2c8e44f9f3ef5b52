//! Accounts, aliases, look-ups, behaviours and the page.

use std::collections::BTreeSet;

use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::{Cbu, Cvu};
use reqwest::Method;
use serde_json::{Value, json};

use super::*;

#[test]
fn three_words_are_an_alias() {
    let words: BTreeSet<_> = names::WORDS.iter().collect();
    assert_eq!(words.len(), names::WORDS.len());
    for word in words {
        assert!((3..=6).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_uppercase()));
    }
    for _ in 0..200 {
        assert!(Alias::parse(&names::three_words().unwrap()).is_ok());
    }
}

#[actix_web::test]
async fn only_who_is_logged_in_is_served() {
    let mut rig = Rig::memory().await;
    let wrong = json!({"username": USERNAME, "password": "x"});
    assert_eq!(rig.ask(Method::POST, "/login/jwt", wrong).await.0, 401);
    let good = rig.token.clone();
    assert_eq!(rig.lookup(COLLECTOR).await.0, 200);
    rig.token = "other".into();
    assert_eq!(rig.lookup(COLLECTOR).await.0, 401);
    rig.token = good;
    rig.ask(Method::POST, "/sandbox/expire-tokens", Value::Null)
        .await;
    assert_eq!(rig.lookup(COLLECTOR).await.0, 401);
    assert_eq!(rig.ask(Method::GET, "/nothing", Value::Null).await.0, 404);
    let (status, state) = rig.ask(Method::GET, "/sandbox/state", Value::Null).await;
    assert_eq!((status, &state["calls"]["lookup"]), (200, &json!(1)));
}

#[actix_web::test]
async fn creation_has_its_codes() {
    let rig = Rig::memory().await;
    for (field, value, code) in [
        ("client_id", json!("x"), "VW001"),
        ("client_id", json!(1_000_000_000_000_u64), "VW001"),
        ("client_id", json!(-1), "VW001"),
        ("client_id", json!(1.5), "VW001"),
        ("client_id", Value::Null, "VW001"),
        ("cuit", json!("2012345678"), "PA004"),
        ("name", json!("Ana"), "PA015"),
        ("name", json!("O'Higgins"), "PA015"),
        ("name", json!("x".repeat(42)), "PA015"),
        ("currency", json!("USD"), "TX012"),
    ] {
        let mut body =
            json!({"client_id": 1, "cuit": CUIT, "name": "Ana Acosta", "currency": "ARS"});
        body[field] = value;
        let answer = rig.wallet(Method::POST, "cvu", body.clone()).await;
        assert_eq!(rig.code(answer).await, code, "{body}");
    }
    let path = "/v1/banks/322/accounts/1/owner/wallet/cvu";
    let answer = rig.ask(Method::POST, path, json!({})).await;
    assert_eq!(rig.code(answer).await, "VW003");
    let made = json!({"cvu": cvu(1), "label": "", "reactivated": false});
    assert_eq!(rig.create(1, CUIT).await, made);
    assert_eq!(rig.create(1, CUIT).await, made);
    let body = json!({"client_id": "1", "cuit": OTHER, "name": "Ana Acosta", "currency": "ARS"});
    let answer = rig.wallet(Method::POST, "cvu", body).await;
    assert_eq!(rig.code(answer).await, "VW012");
    assert_eq!(rig.wallet(Method::POST, "cvu", json!("x")).await.0, 400);
}

#[actix_web::test]
async fn aliases_have_their_rules() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    rig.create(2, OTHER).await;
    rig.create(3, CUIT).await;
    let (status, assigned) = rig.alias(1, CUIT, Value::Null).await;
    assert_eq!(status, 200);
    assert!(Alias::parse(assigned["label"].as_str().unwrap()).is_ok());
    assert_eq!(rig.alias(1, CUIT, Value::Null).await.1, assigned);
    assert_eq!(
        rig.alias(1, CUIT, json!("mi.alias")).await,
        (200, json!({"status": "OK"}))
    );
    for (client, cuit, label, code) in [
        (1, CUIT, "MI.ALIAS", "VW010"),
        (2, OTHER, "Mi.Alias", "VW007"),
        (3, CUIT, "mi.alias", "VW007"),
        (2, OTHER, assigned["label"].as_str().unwrap(), "VW007"),
        (2, OTHER, "destino.3", "VW007"),
        (2, CUIT, "otro.alias", "VW009"),
        (9, CUIT, "otro.alias", "VW006"),
        (1, CUIT, "corto", "TX009"),
        (1, CUIT, "niño.azul.x", "TX009"),
    ] {
        let answer = rig.alias(client, cuit, json!(label)).await;
        assert_eq!(rig.code(answer).await, code, "{client} {label}");
    }
    // Another CVU of the same holder may have an alias that the holder gave up.
    assert_eq!(rig.alias(3, CUIT, assigned["label"].clone()).await.0, 200);
    let path = format!("/v1/accounts/alias/{}", assigned["label"].as_str().unwrap());
    let (_, found) = rig.ask(Method::GET, &path, Value::Null).await;
    assert_eq!(found["account_routing"]["address"], cvu(3));
}

#[actix_web::test]
async fn an_alias_a_day_where_that_is_the_rule() {
    let rules = Rules {
        alias_once_a_day: true,
    };
    let rig = Rig::start(SandboxOptions {
        rules,
        ..SandboxOptions::default()
    })
    .await;
    rig.create(1, CUIT).await;
    assert_eq!(rig.alias(1, CUIT, json!("primero")).await.0, 200);
    let answer = rig.alias(1, CUIT, json!("segundo")).await;
    assert_eq!(rig.code(answer).await, "VW011");
    let answer = rig.alias(1, CUIT, json!("Primero")).await;
    assert_eq!(rig.code(answer).await, "VW010");
}

#[actix_web::test]
async fn names_and_ends() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    rig.alias(1, CUIT, json!("mi.alias")).await;
    let rename = format!("cvu/{}", cvu(1));
    let close = format!("cvu/{}/{CUIT}", cvu(1));
    let name = json!({"name": "Eva Núñez"});
    assert_eq!(rig.wallet(Method::PUT, &rename, name.clone()).await.0, 200);
    let bad = rig.wallet(Method::PUT, &rename, json!({"name": "x"})).await;
    assert_eq!(rig.code(bad).await, "PA015");
    let wrong = rig
        .wallet(
            Method::DELETE,
            &format!("cvu/{}/{OTHER}", cvu(1)),
            Value::Null,
        )
        .await;
    assert_eq!(rig.code(wrong).await, "VW015");
    assert_eq!(rig.wallet(Method::DELETE, &close, Value::Null).await.0, 200);
    let again = rig.wallet(Method::DELETE, &close, Value::Null).await;
    assert_eq!(rig.code(again).await, "VW015");
    let late = rig.wallet(Method::PUT, &rename, name).await;
    assert_eq!(rig.code(late).await, "VW006");
    let (_, found) = rig.lookup(&cvu(1)).await;
    assert_eq!(
        (&found["is_active"], &found["label"]),
        (&json!(false), &json!(""))
    );
    // The alias stays reserved to its holder.
    rig.create(2, OTHER).await;
    let answer = rig.alias(2, OTHER, json!("mi.alias")).await;
    assert_eq!(rig.code(answer).await, "VW007");
    let again = json!({"cvu": cvu(1), "label": "", "reactivated": true});
    assert_eq!(rig.create(1, CUIT).await, again);
    assert_eq!(rig.alias(1, CUIT, json!("mi.alias")).await.0, 200);
}

#[actix_web::test]
async fn lookups_know_the_whole_country() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    let (_, own) = rig.lookup(&cvu(1)).await;
    let owner =
        json!({"id": CUIT, "display_name": "Ana Acosta", "id_type": 1, "is_physical_person": true});
    assert_eq!(own["owners"], json!([owner]));
    assert_eq!(own["bank_routing"]["code"], "0999");
    for (address, scheme, code) in [
        ("2850590940090418135201", "CBU", "285"),
        ("0000003100062244154712", "CVU", "0003"),
    ] {
        let (status, found) = rig.lookup(address).await;
        assert_eq!((status, &found["is_active"]), (200, &json!(true)));
        assert_eq!(
            found["account_routing"],
            json!({"scheme": scheme, "address": address})
        );
        assert_eq!(found["bank_routing"]["code"], code);
        assert!(Cuit::parse(found["owners"][0]["id"].as_str().unwrap()).is_ok());
        assert_eq!(rig.lookup(address).await.1, found);
    }
    let nines = Cbu::compose(285, 590, 9_999_999_999_999).unwrap();
    let cvu_nines = Cvu::compose(3, 999_999_999_999).unwrap();
    for (address, code) in [
        (nines.as_str(), "PA005"),
        (cvu_nines.as_str(), "PA012"),
        ("2850590940090418135202", "PA005"),
        (cvu(2).as_str(), "PA012"),
        ("0000003000062244154712", "PA012"),
    ] {
        let answer = rig.lookup(address).await;
        assert_eq!(rig.code(answer).await, code, "{address}");
    }
    for (alias, code) in [("corto", "PA006"), ("no.existe", "PA011")] {
        let path = format!("/v1/accounts/alias/{alias}");
        let answer = rig.ask(Method::GET, &path, Value::Null).await;
        assert_eq!(rig.code(answer).await, code);
    }
    let (_, agreed) = rig
        .ask(Method::GET, "/accounts/alias/destino.3", Value::Null)
        .await;
    let address = agreed["account_routing"]["address"].as_str().unwrap();
    assert_eq!(
        (&agreed["label"], address.as_bytes()[20]),
        (&json!("DESTINO.3"), b'3')
    );
}

#[actix_web::test]
async fn behaviours_are_ordered_counted_and_ended() {
    let rig = Rig::memory().await;
    let order = |body| rig.ask(Method::POST, "/sandbox/behaviour", body);
    for (field, value, allowed) in [
        ("operation", json!("fly"), "create_cvu"),
        ("mode", json!("angry"), "garbage"),
        ("count", json!(0), "1 or more"),
        ("delayMillis", json!(60_001), "0 to 60000"),
        ("code", json!("vw007"), "a code of the bank, like VW007"),
    ] {
        let mut body = json!({"operation": "lookup", "mode": "reject"});
        body[field] = value;
        let (status, answer) = order(body).await;
        assert_eq!((status, &answer["field"]), (400, &json!(field)));
        assert!(
            answer["allowed"]
                .as_array()
                .unwrap()
                .contains(&json!(allowed))
        );
    }
    assert_eq!(
        order(json!({"operation": "lookup", "mode": "ok", "x": 1}))
            .await
            .0,
        400
    );
    for operation in Operation::ALL {
        for mode in Mode::ALL {
            let body = json!({"operation": operation.as_str(), "mode": mode.as_str()});
            assert_eq!(order(body).await.0, 200, "{operation:?} {mode:?}");
        }
    }
    for operation in Operation::ALL {
        order(json!({"operation": operation.as_str(), "mode": "ok"})).await;
    }
    let (_, set) = order(json!({"operation": "lookup", "mode": "reject", "count": 2})).await;
    assert_eq!(set["remaining"], 2);
    let (_, state) = rig.ask(Method::GET, "/sandbox/state", Value::Null).await;
    assert_eq!(state["behaviours"], json!([set]));
    for expected in [409, 409, 200] {
        assert_eq!(rig.lookup(COLLECTOR).await.0, expected);
    }
    let (_, state) = rig.ask(Method::GET, "/sandbox/state", Value::Null).await;
    assert_eq!(
        (&state["behaviours"], &state["calls"]["lookup"]),
        (&json!([]), &json!(3))
    );
    order(json!({"operation": "lookup", "mode": "error"})).await;
    assert_eq!(rig.lookup(COLLECTOR).await.0, 500);
    order(json!({"operation": "lookup", "mode": "ok"})).await;
    assert_eq!(rig.lookup(COLLECTOR).await.0, 200);
}

#[actix_web::test]
async fn the_page_needs_no_network_and_lists_everything() {
    let rig = Rig::memory().await;
    let page = rig
        .client
        .get(format!("{}/docs", rig.bank.url()))
        .send()
        .await
        .unwrap();
    let page = page.text().await.unwrap();
    assert!(!page.contains("{{") && !page.contains("https://") && !page.contains("src="));
    let words = Operation::ALL.iter().map(|it| it.as_str());
    for word in words.chain(Mode::ALL.iter().map(|it| it.as_str())) {
        assert!(page.contains(&format!("<code>{word}</code>")), "{word}");
    }
    assert!(page.contains("DESTINO.4") && page.contains(COLLECTOR));
    // The collector accounts in use, with their balances.
    rig.create(1, CUIT).await;
    let page = rig.client.get(format!("{}/docs", rig.bank.url())).send();
    let page = page.await.unwrap().text().await.unwrap();
    let row = format!("<td><code>{COLLECTOR}</code></td><td>test, PSP 0999, 0.00</td>");
    assert!(page.contains(&row), "{page}");
}

#[test]
fn a_psp_code_that_does_not_exist_is_refused() {
    for psp in [0, 10_000] {
        let options = SandboxOptions {
            psp,
            ..SandboxOptions::default()
        };
        assert!(Sandbox::start(options).is_err());
    }
}
