//! The holder of a key, and the balance of the collector account.

use caudal_ledger::cvu::Cbu;

use super::fake::{canned, no, scripted, yes};
use super::*;

const KEY: &str = "2850590940090418135201";

fn account() -> Value {
    json!({
        "owners": [
            {"id": "20055361682", "display_name": "Ana\u{202e} O'Higgins", "id_type": "CUIT_CUIL",
                "is_physical_person": true},
            {"id": "30717449076", "display_name": "E".repeat(150), "id_type": "CUIT_CUIL"},
        ],
        "type": "CC", "is_active": true, "currency": "ARS", "label": "Eva.Perez",
        "account_routing": {"scheme": "CBU", "address": KEY},
        "bank_routing": {"scheme": "NAME", "address": "Macro", "code": "285"},
    })
}

fn whom() -> [Destination; 2] {
    let (key, alias) = (Cbu::parse(KEY).unwrap(), Alias::parse("eva.perez").unwrap());
    [Destination::Key(key), Destination::Alias(alias)]
}

#[actix_web::test]
async fn keys_and_aliases_are_looked_up() {
    let found = KeyHolder {
        key: Cbu::parse(KEY).unwrap(),
        alias: Some("Eva.Perez".into()),
        holders: vec![
            (holder().cuit, "Ana O'Higgins".into(), true),
            (Cuit::parse("30717449076").unwrap(), "E".repeat(100), false),
        ],
        bank: ("285".into(), "Macro".into()),
        currency: "ARS".into(),
        active: true,
    };
    for (whom, path) in whom()
        .iter()
        .zip([format!("cbu/{KEY}"), "alias/eva.perez".into()])
    {
        let (url, requests) = scripted(vec![yes(&account())]);
        let reply = gateway(&url).lookup(whom, ID).await;
        assert_eq!(reply.result, Ok(found.clone()));
        let asked = requests.try_iter().nth(1).unwrap();
        assert!(
            asked.starts_with(&format!("GET /base/v1/accounts/{path} ")),
            "{asked}"
        );
        for call in &reply.calls {
            let text = format!("{call:?}");
            for secret in [KEY, "20055361682", "30717449076", "Ana", "EEE", "va."] {
                assert!(!text.contains(secret), "{secret}: {text}");
            }
        }
    }
    // The sandbox bank knows every account.
    let (_bank, gateway) = rig();
    for whom in whom().iter().take(1) {
        let reply = gateway.lookup(whom, ID).await;
        let found = reply.result.unwrap();
        assert_eq!((found.key.as_str(), found.bank.0.as_str()), (KEY, "285"));
        assert!(found.active && !found.holders.is_empty());
    }
    let alias = Destination::Alias(Alias::parse("destino.3").unwrap());
    assert!(gateway.lookup(&alias, ID).await.result.is_ok());
    let nobody = Destination::Alias(Alias::parse("no.existe").unwrap());
    assert_eq!(
        refused(gateway.lookup(&nobody, ID).await),
        (409, "PA011".into())
    );
}

#[actix_web::test]
async fn an_unsolicited_answer_leaves_the_outcome_unknown() {
    let other = json!({"scheme": "CBU", "address": "0110012920000091344977"});
    for (member, value, by_key, by_alias) in [
        ("account_routing", other, false, true),
        ("account_routing", json!({"address": "1"}), false, false),
        ("label", json!("otro.alias"), true, false),
        ("label", json!(""), true, true),
        ("label", json!(null), true, true),
        ("owners", json!([]), true, true),
        (
            "owners",
            json!([{"id": "UNAVAILABLE", "display_name": "x"}]),
            false,
            false,
        ),
        (
            "owners",
            json!(vec![account()["owners"][0].clone(); 51]),
            false,
            false,
        ),
        ("owners", json!("Ana"), false, false),
        ("is_active", json!("yes"), false, false),
        ("currency", json!(null), false, false),
        ("bank_routing", json!(null), false, false),
    ] {
        let mut record = account();
        record[member] = value;
        let (url, _requests) = scripted(vec![yes(&record)]);
        let gateway = gateway(&url);
        for (whom, good) in whom().iter().zip([by_key, by_alias]) {
            let reply = gateway.lookup(whom, ID).await;
            assert_eq!(reply.result.is_ok(), good, "{whom:?} {record}");
            let failed = matches!(
                reply.result,
                Err(BankError::Failed {
                    status: Some(200),
                    ..
                })
            );
            assert!(good || failed, "{reply:?}");
        }
    }
    let (url, _requests) = canned("404 Not Found", "<html>".into());
    let reply = gateway(&url).lookup(&whom()[0], ID).await;
    assert!(
        matches!(
            reply.result,
            Err(BankError::Failed {
                status: Some(404),
                ..
            })
        ),
        "{reply:?}"
    );
}

#[actix_web::test]
async fn the_balance() {
    let record = |amount: Value| {
        let worth = json!({"currency": "ARS", "amount": amount});
        json!({"id": COLLECTOR, "balance": worth, "at": "2026-11-21T12:00:00.000Z"})
    };
    let at = Timestamp::parse("2026-11-21T12:00:00Z").unwrap();
    for (amount, centavos) in [
        (json!("1234567.50"), Some(123_456_750)),
        (json!(0), Some(0)),
        (json!("-10.05"), Some(-1_005)),
        (json!("--1"), None),
        (json!("1e3"), None),
        (json!("0.001"), None),
        (json!(null), None),
    ] {
        let (url, requests) = scripted(vec![yes(&record(amount.clone()))]);
        let reply = gateway(&url).balance(&|| (), ID).await;
        let expected = centavos.map(|centavos| (Money::from_centavos(centavos), at));
        assert_eq!(reply.result.clone().ok(), expected, "{amount}");
        let asked = requests.try_iter().nth(1).unwrap();
        let path = format!("GET /base/v1/banks/322/accounts/{COLLECTOR}/owner HTTP/1.1");
        assert!(asked.starts_with(&path), "{asked}");
        assert!(
            !format!("{:?}", reply.calls).contains(COLLECTOR),
            "{reply:?}"
        );
    }
    for (member, value) in [
        ("id", json!("1")),
        ("at", json!("now")),
        ("balance", json!({})),
    ] {
        let mut other = record(json!("1.00"));
        other[member] = value;
        let (url, _requests) = scripted(vec![yes(&other)]);
        assert!(
            gateway(&url).balance(&|| (), ID).await.result.is_err(),
            "{other}"
        );
    }
    let (url, _requests) = scripted(vec![no("VW003")]);
    assert_eq!(
        refused(gateway(&url).balance(&|| (), ID).await),
        (409, "VW003".into())
    );
}
