//! Transfers: sent once, decided by digit, settled, come back, listed; and the balance.

use std::collections::BTreeSet;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use caudal_ledger::time::Timestamp;

use super::super::book::{Book, Create, Keeping};
use super::super::log::KeptRecords;
use super::super::payments::query;
use super::super::rail::{CashIn, Send};
use super::super::refusals::NoEffect;
use super::super::shapes;
use super::super::transfers::Query;
use super::super::worlds::World;
use super::*;

fn is_rail_id(id: &Value) -> bool {
    let id = id.as_str().unwrap();
    id.len() == 22
        && id
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

#[actix_web::test]
async fn an_origin_id_is_sent_once() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    let sent = rig.send("ABC123", &destination(0)).await;
    assert_eq!(sent["status"], "COMPLETED");
    assert!(is_rail_id(&sent["coelsa_id"]) && sent.get("warning").is_none());
    let number = sent["id"].as_str().unwrap().split('-').nth(2).unwrap();
    assert_eq!(sent["id"], format!("1-{CUIT}-{number}-0"));
    assert_eq!(
        sent["value"],
        json!({"currency": "ARS", "amount": "100.50"})
    );
    assert_eq!(
        sent["origin_debit"],
        json!({"cvu": cvu(1), "cuit": CUIT, "name": "Ana Acosta"})
    );
    assert_eq!(sent["to"]["cbu"], destination(0));
    assert_eq!(sent["to"]["bank"], json!({"code": "285", "name": "Macro"}));
    let start = Timestamp::parse(sent["start_date"].as_str().unwrap()).unwrap();
    assert_eq!(
        sent["business_date"],
        start.business_day().start().to_string()
    );
    let mut again = sent.clone();
    again["warning"] = json!("TRANSACTION_ALREADY_CREATED");
    let other = Rig::order("ABC123", &json!({"cbu": destination(1)}), "7");
    assert_eq!(rig.post(other).await, (200, again));
    assert_eq!(rig.one("ABC123").await, sent);
    assert_eq!(rig.one(sent["id"].as_str().unwrap()).await, sent);
    assert_eq!(rig.state().await["transfersTotal"], 1);
    assert_eq!(rig.balance().await, "-100.50");
    for id in ["ABC124", "1-20055361682-1-0", "x"] {
        let answer = rig.owner(&format!("/{TRANSFERS}/{id}")).await;
        assert_eq!(rig.code(answer).await, "TX019");
    }
}

#[actix_web::test]
async fn orders_have_their_codes() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    rig.create(2, OTHER).await;
    rig.create(3, OTHER).await;
    let close = format!("cvu/{}/{OTHER}", cvu(3));
    rig.wallet(Method::DELETE, &close, Value::Null).await;
    let nines = Cbu::compose(285, 590, 9_999_999_999_999).unwrap();
    for (field, value, code) in [
        ("origin_id", json!("A234567890123456"), "TX033"),
        ("origin_id", json!("a"), "TX033"),
        ("origin_id", json!(""), "TX033"),
        ("description", json!("ñ".repeat(101)), "TX035"),
        ("value", json!({"currency": "USD", "amount": "1"}), "TX012"),
        (
            "origin_debit",
            json!({"cvu": cvu(9), "cuit": CUIT}),
            "VW006",
        ),
        (
            "origin_debit",
            json!({"cvu": cvu(3), "cuit": OTHER}),
            "VW006",
        ),
        (
            "origin_debit",
            json!({"cvu": cvu(1), "cuit": OTHER}),
            "VW009",
        ),
        ("to", json!({"cbu": nines}), "PA005"),
        ("to", json!({"cbu": "2850590940090418135202"}), "PA005"),
        ("to", json!({"cbu": cvu(3)}), "PA012"),
        ("to", json!({"cbu": cvu(9)}), "PA012"),
        ("to", json!({"label": "no.existe"}), "PA011"),
        ("to", json!({"label": "x"}), "PA006"),
        ("to", json!({}), "PA005"),
    ] {
        let mut order = Rig::order("A1", &json!({"cbu": destination(0)}), "1.00");
        order[field] = value;
        let answer = rig.post(order.clone()).await;
        assert_eq!(rig.code(answer).await, code, "{order}");
    }
    for (field, value) in [
        ("value", json!({"currency": "ARS", "amount": "1.001"})),
        ("value", json!({"currency": "ARS", "amount": 0})),
        ("value", json!({"currency": "ARS"})),
        ("concept", json!("ZZZ")),
    ] {
        let mut order = Rig::order("A1", &json!({"cbu": destination(0)}), "1.00");
        order[field] = value;
        assert_eq!(rig.post(order).await.0, 400, "{field}");
    }
    assert_eq!(rig.state().await["transfersTotal"], 0);
    let mut order = Rig::order("A1", &json!({"label": "destino.0"}), "1.00");
    order["value"]["amount"] = json!(1.5);
    order["description"] = json!("ñ".repeat(100));
    let (status, sent) = rig.post(order).await;
    assert_eq!((status, &sent["value"]["amount"]), (200, &json!("1.50")));
    assert_eq!(sent["to"]["label"], "destino.0");
}

#[actix_web::test]
async fn the_last_digit_decides() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    for digit in 0..=9 {
        let sent = rig.send(&format!("D{digit}"), &destination(digit)).await;
        let status = match digit {
            1 => "FAILED",
            2 => "PENDING",
            4 => "IN_PROGRESS",
            _ => "COMPLETED",
        };
        assert_eq!(sent["status"], status, "{digit}");
        assert_eq!(sent.get("reject_reason").is_some(), digit == 1);
        assert_eq!(sent["coelsa_id"] == "", digit == 2);
        assert_eq!(sent["reversed"], false);
    }
    soon("the late ones are decided", async || {
        rig.one("D3").await["reversed"] == true && rig.one("D4").await["status"] == "COMPLETED"
    })
    .await;
    assert_eq!(rig.one("D3").await["status"], "COMPLETED");
    assert_eq!(rig.one("D2").await["status"], "PENDING");
    let (_, received) = rig
        .list(&[("obp_origin", "TRANSFERENCIAS_RECIBIDAS")])
        .await;
    assert_eq!(received.as_array().unwrap().len(), 1);
    let back = &received[0];
    assert_eq!(
        (&back["type"], &back["reverses"], &back["status"]),
        (&json!("REVERSAL"), &json!("D3"), &json!("COMPLETED"))
    );
    assert_eq!(back["origin_credit"], json!({"cvu": cvu(1), "cuit": CUIT}));
    assert_ne!(back["coelsa_id"], rig.one("D3").await["coelsa_id"]);
    // Eight completed, one of them came back.
    assert_eq!(rig.balance().await, "-703.50");
}

#[actix_web::test]
async fn the_bank_is_told() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    for (id, status, last, code) in [
        ("P1", "COMPLETED", "COMPLETED", 409),
        ("P2", "FAILED", "FAILED", 409),
        ("P3", "UNKNOWN_FOREVER", "UNKNOWN_FOREVER", 200),
    ] {
        rig.send(id, &destination(2)).await;
        let path = format!("transfers/{id}/settle");
        let body = json!({"status": status, "reason": "Cuenta cerrada"});
        let (answered, settled) = rig.tell(&path, body.clone()).await;
        assert_eq!((answered, &settled["status"]), (200, &json!(last)));
        let reason = settled.get("reject_reason");
        assert_eq!(
            reason,
            (status == "FAILED").then_some(&json!("Cuenta cerrada"))
        );
        assert_eq!(rig.one(id).await, settled);
        assert_eq!(rig.tell(&path, body).await.0, code);
    }
    let bad = rig.tell("transfers/P3/settle", json!({"status": "LATER"}));
    assert_eq!(bad.await.0, 400);
    let none = rig.tell("transfers/P9/settle", json!({"status": "FAILED"}));
    assert_eq!(rig.code(none.await).await, "TX019");

    for (body, status) in [
        (json!({"amount": "100.51"}), 400),
        (json!({"amount": "x"}), 400),
        (json!({"amont": "1.00"}), 400),
        (json!({"amount": "0.50"}), 200),
        (Value::Null, 200),
        (Value::Null, 409),
    ] {
        let answer = rig.tell("transfers/P1/reverse", body.clone()).await;
        assert_eq!(answer.0, status, "{body}");
    }
    let answer = rig.tell("transfers/P2/reverse", Value::Null).await;
    assert_eq!(rig.code(answer).await, "GE409");
    let (_, back) = rig
        .list(&[("obp_origin", "TRANSFERENCIAS_RECIBIDAS")])
        .await;
    let amounts: Vec<_> = back
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["value"]["amount"])
        .collect();
    assert_eq!(amounts, ["0.50", "100.00"]);
    assert_eq!(rig.balance().await, "0.00");
}

#[actix_web::test]
async fn between_own_cvus_the_money_arrives() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    rig.create(2, OTHER).await;
    rig.alias(2, OTHER, json!("mi.alias")).await;
    for (id, to) in [
        ("O1", json!({"cbu": cvu(2)})),
        ("O2", json!({"label": "MI.ALIAS"})),
    ] {
        let (status, sent) = rig.post(Rig::order(id, &to, "5.00")).await;
        assert_eq!((status, &sent["status"]), (200, &json!("COMPLETED")));
        assert_eq!(sent["to"]["cuit"], OTHER);
        let (_, received) = rig
            .list(&[("obp_origin", "TRANSFERENCIAS_RECIBIDAS")])
            .await;
        let last = received.as_array().unwrap().last().unwrap();
        assert_eq!(last["coelsa_id"], sent["coelsa_id"]);
        assert_eq!(last["origin_credit"], json!({"cvu": cvu(2), "cuit": OTHER}));
        assert_eq!(last["origin_debit"]["cbu"], cvu(1));
        let path = format!("transfers/{id}/reverse");
        assert_eq!(rig.tell(&path, Value::Null).await.0, 409);
    }
    assert_eq!(rig.balance().await, "0.00");
}

#[actix_web::test]
async fn the_bank_lies_when_told_to() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    let order = |id: &str| Rig::order(id, &json!({"cbu": destination(0)}), "1.00");
    rig.behave("transfer", "forget", 1).await;
    let (status, sent) = rig.post(order("F1")).await;
    assert_eq!((status, &sent["status"]), (200, &json!("IN_PROGRESS")));
    let answer = rig.owner(&format!("/{TRANSFERS}/F1")).await;
    assert_eq!(rig.code(answer).await, "TX019");
    assert_eq!(rig.post(order("F1")).await.1["status"], "COMPLETED");
    for (mode, status, stored) in [
        ("reject", 409, 409),
        ("error", 500, 409),
        ("garbage", 200, 200),
    ] {
        rig.behave("transfer", mode, 1).await;
        let id = mode.to_ascii_uppercase();
        assert_eq!(rig.post(order(&id)).await.0, status, "{mode}");
        let found = rig.owner(&format!("/{TRANSFERS}/{id}")).await;
        assert_eq!(found.0, stored, "{mode}");
    }
    let body = json!({"operation": "transfer", "mode": "reject", "code": "TX046", "count": 1});
    rig.tell("behaviour", body).await;
    let answer = rig.post(order("L1")).await;
    assert_eq!(rig.code(answer).await, "TX046");
    for (operation, path) in [
        ("transfer_status", format!("/{TRANSFERS}/F1")),
        ("transfer_list", format!("/{TRANSFERS}")),
        ("balance", String::new()),
    ] {
        rig.behave(operation, "error", 1).await;
        for status in [500, 200] {
            assert_eq!(rig.owner(&path).await.0, status, "{operation}");
        }
    }
}

#[actix_web::test]
async fn an_answer_that_is_lost_leaves_the_transfer() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    let path = format!("/v1/banks/322/accounts/{COLLECTOR}/owner/{TRANSFERS}/transaction-requests");
    let impatient = Client::builder()
        .tls_certs_only([])
        .no_proxy()
        .retry(reqwest::retry::never())
        .build()
        .unwrap();
    for (mode, calls) in [("timeout", 1), ("late", 3), ("reset", 5)] {
        let body =
            json!({"operation": "transfer", "mode": mode, "count": 1, "delayMillis": 60_000});
        rig.tell("behaviour", body).await;
        let id = mode.to_ascii_uppercase();
        let order = Rig::order(&id, &json!({"cbu": destination(0)}), "1.00");
        let request = impatient
            .post(format!("{}{path}", rig.bank.url()))
            .header("authorization", format!("JWT {}", rig.token))
            .json(&order);
        // The client leaves once the bank has the request.
        let taken = async || rig.state().await["calls"]["transfer"] == calls;
        tokio::select! {
            answer = request.send() => assert!(answer.is_err(), "{mode}"),
            () = soon("the bank has it", taken) => {}
        }
        assert_eq!(rig.one(&id).await["status"], "COMPLETED");
        let (status, again) = rig.post(order).await;
        assert_eq!(
            (status, &again["warning"]),
            (200, &json!("TRANSACTION_ALREADY_CREATED"))
        );
    }
    assert_eq!(rig.balance().await, "-3.00");
}

#[actix_web::test]
async fn lists_have_pages() {
    let rig = Rig::memory().await;
    rig.create(1, CUIT).await;
    for turn in 0..5 {
        rig.send(&format!("L{turn}"), &destination(turn % 3)).await;
        rig.cash_in(&cvu(1), "1.00").await;
    }
    let (_, all) = rig.list(&[]).await;
    let all = all.as_array().unwrap().clone();
    assert_eq!(all.len(), 10);
    let mut pages = Vec::new();
    for offset in ["0", "3", "6", "9", "12"] {
        let headers = [("obp_limit", "3"), ("obp_offset", offset)];
        let (_, page) = rig.list(&headers).await;
        pages.extend(page.as_array().unwrap().clone());
    }
    assert_eq!(pages, all);
    let ids: BTreeSet<_> = all.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 10);
    for (name, value, count) in [
        ("obp_origin", "TRANSFERENCIAS_ENVIADAS", 5),
        ("obp_origin", "TRANSFERENCIAS_RECIBIDAS", 5),
        ("obp_status", "PENDING", 1),
        ("obp_status", "FAILED", 2),
        ("obp_to_date", "2020-01-01", 0),
        ("obp_from_date", "2020-01-01", 10),
    ] {
        let (status, found) = rig.list(&[(name, value)]).await;
        let found = found.as_array().unwrap().len();
        assert_eq!((status, found), (200, count), "{name} {value}");
    }
    for (name, value) in [
        ("obp_limit", "0"),
        ("obp_limit", "201"),
        ("obp_offset", "-1"),
        ("obp_from_date", "2020-1-1"),
        ("obp_to_date", "x"),
        ("obp_origin", "x"),
        ("obp_status", "x"),
    ] {
        assert_eq!(rig.list(&[(name, value)]).await.0, 400, "{name} {value}");
    }
}

#[test]
fn days_begin_at_three_utc() {
    let book = Book::new(PSP, <_>::default(), Keeping::Memory, KeptRecords::default());
    let (mut book, world) = (book.unwrap(), World::of(COLLECTOR, PSP).unwrap());
    let create: Create = serde_json::from_value(
        json!({"client_id": 1, "cuit": CUIT, "name": "Ana Acosta", "currency": "ARS"}),
    )
    .unwrap();
    book.create(world, &create, 0).unwrap();
    for (id, at) in [
        ("N1", "2026-03-01T02:59:59.999Z"),
        ("N2", "2026-03-01T03:00:00.000Z"),
        ("N3", "2026-03-02T02:59:59.999Z"),
        ("N4", "2026-03-02T03:00:00.000Z"),
    ] {
        let at = Timestamp::parse(at).unwrap().millis();
        let order = Rig::order(id, &json!({"cbu": destination(0)}), "1.00");
        let order: Send = serde_json::from_value(order).unwrap();
        book.send(world, &order, false, (Mode::Ok, at)).unwrap();
    }
    for (from, to, expected) in [
        ("2026-02-28", "2026-02-28", "N1"),
        ("2026-03-01", "2026-03-01", "N2 N3"),
        ("2026-03-02", "2026-03-02", "N4"),
        ("2026-02-28", "2026-03-02", "N1 N2 N3 N4"),
        ("2026-03-02", "2026-03-01", ""),
    ] {
        let mut headers = HeaderMap::new();
        for (name, value) in [("obp_from_date", from), ("obp_to_date", to)] {
            let value = HeaderValue::from_str(value).unwrap();
            headers.insert(HeaderName::from_static(name), value);
        }
        let Ok(query) = query(&headers) else {
            panic!("{from} {to}");
        };
        let query = Query {
            collector: Some(world.collector),
            ..query
        };
        let found = book.transfers.list(&query).map(shapes::transfer);
        let found: Vec<_> = found
            .map(|it| {
                let day = Timestamp::parse(it["business_date"].as_str().unwrap()).unwrap();
                assert!(day.to_string().ends_with("T03:00:00.000Z"));
                it["origin_id"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(found.join(" "), expected, "{from} {to}");
    }
    let bad: CashIn = serde_json::from_value(json!({"cvu": cvu(1), "amount": "-1"})).unwrap();
    assert!(matches!(book.cash_in(&bad, 0), Err(NoEffect::Bad(_))));
}
