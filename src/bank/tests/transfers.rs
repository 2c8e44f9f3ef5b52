//! Transfers: the requests, the meaning of each answer, and whether a refusal is believed after a doubt.

use caudal_http::traces::{Trace, remember};
use caudal_ledger::cvu::Cbu;
use caudal_ledger::ids::{AccountNo, RealmId, Tag, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::transfers::{BankMoved, BankWord, Concept};

use super::fake::{Act, bank, body_of, no, paced, scripted, yes};
use super::*;

const COELSA: &str = "80V1JXON1874QG39Z64EL7";
const BANK_ID: &str = "1-20055361682-4711-0";
const SEND: &str = "transfer";
const ASK: &str = "transfer_status";

pub(super) fn origin(sequence: u64) -> OriginId {
    OriginId::of_place(VoucherId {
        realm: RealmId(1),
        account: AccountNo(7),
        sequence,
        tag: Tag::NONE,
    })
}

pub(super) fn order() -> TransferOrder {
    TransferOrder {
        origin: origin(3),
        from: Cvu::compose(999, 10_000_007).unwrap(),
        cuit: holder().cuit,
        to: Destination::Key(Cbu::parse("2850590940090418135201").unwrap()),
        amount: Amount::parse("12345678.90").unwrap(),
        concept: Concept::Fac,
        description: Some("para Ana\u{7} y Eva".into()),
    }
}

pub(super) fn transfer(status: &str) -> Value {
    json!({
        "id": BANK_ID, "origin_id": origin(3).to_string(), "coelsa_id": COELSA, "status": status,
        "type": "TRANSFER-CVU", "value": {"currency": "ARS", "amount": "12345678.90"},
        "concept": "FAC", "description": "para Ana",
        "origin_debit": {"cvu": order().from, "cuit": "20055361682", "name": "Ana O'Higgins"},
        "to": {"cbu": "2850590940090418135201", "label": "eva.p", "cuit": "30717449076",
            "name": "Eva Perez", "bank": {"code": "285", "name": "Macro"}},
        "start_date": "2026-11-21T12:00:00.000Z", "business_date": "2026-11-21T03:00:00.000Z",
        "reversed": false,
    })
}

pub(super) fn with(status: &str, changes: Value) -> Value {
    let mut record = transfer(status);
    let members = record.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    record
}

fn done(word: BankWord) -> BankTransfer {
    BankTransfer {
        bank_id: BANK_ID.into(),
        coelsa_id: Some(COELSA.into()),
        word,
        moved: moved(),
    }
}

/// The amount and parties in every report of the transfer.
pub(super) fn moved() -> BankMoved {
    BankMoved {
        amount: Some(order().amount),
        currency: Some("ARS".into()),
        cvu: Some(order().from.to_string()),
        to_key: Some("2850590940090418135201".into()),
        to_alias: Some("eva.p".into()),
    }
}

/// The outcome without the bank's words.
fn outcome<T: std::fmt::Debug>(reply: &BankReply<T>) -> String {
    match &reply.result {
        Ok(done) => format!("{done:?}"),
        Err(BankError::Refused(refusal)) => format!("refused {}", wire::code(&refusal.body)),
        Err(BankError::Failed { status, .. }) => format!("failed {status:?}"),
        Err(BankError::TimedOut) => "timed out".into(),
    }
}

#[actix_web::test]
async fn what_is_sent() {
    let (url, requests) = scripted(vec![yes(&transfer("PENDING"))]);
    let gateway = gateway(&url);
    let alias = TransferOrder {
        to: Destination::Alias(Alias::parse("eva.perez").unwrap()),
        description: Some("d".repeat(150)),
        ..order()
    };
    let bare = TransferOrder {
        description: Some("\n".into()),
        ..order()
    };
    let mut sent = Vec::new();
    for order in [order(), alias, bare] {
        let reply = gateway.transfer(&order, ID).await;
        assert_eq!(reply.result, Ok(done(BankWord::InProgress)));
    }
    for request in requests.try_iter() {
        if !request.contains("/login/jwt") {
            let path = format!(
                "POST /base/v1/banks/322/accounts/{COLLECTOR}/owner/transaction-request-types/\
                 TRANSFER-CVU/transaction-requests HTTP/1.1"
            );
            assert!(request.starts_with(&path), "{request}");
            sent.push(body_of(&request));
        }
    }
    let mut whole = json!({
        "origin_id": origin(3).to_string(),
        "origin_debit": {"cvu": order().from, "cuit": "20055361682"},
        "to": {"cbu": "2850590940090418135201"},
        "value": {"currency": "ARS", "amount": "12345678.90"},
        "concept": "FAC", "description": "para Ana y Eva",
    });
    assert_eq!(sent[0], whole);
    assert_eq!(sent[1]["to"], json!({"label": "eva.perez"}));
    assert_eq!(sent[1]["description"].as_str().unwrap().len(), 100);
    whole.as_object_mut().unwrap().remove("description");
    assert_eq!(sent[2], whole);
}

#[actix_web::test]
async fn each_status_says_how_far_it_is() {
    let failed = |reason: &str| BankWord::Failed {
        reason: reason.into(),
    };
    let record = json!({"reject_reason": " Cuenta 2850590940090418135201\u{0} inexistente "});
    let long = json!({"reject_reason": "r".repeat(900)});
    let created = json!({"warning": "TRANSACTION_ALREADY_CREATED"});
    let rows = [
        (transfer("COMPLETED"), BankWord::Completed),
        (with("COMPLETED", created), BankWord::Completed),
        (transfer("PENDING"), BankWord::InProgress),
        (transfer("IN_PROGRESS"), BankWord::InProgress),
        (transfer("UNKNOWN"), BankWord::InProgress),
        (transfer("UNKNOWN_FOREVER"), BankWord::Lost),
        (transfer("FAILED"), failed("")),
        (with("FAILED", record), failed("Cuenta …5201 inexistente")),
        (with("FAILED", long), failed(&"r".repeat(200))),
    ];
    for (record, word) in rows {
        let (url, _requests) = scripted(vec![yes(&record)]);
        let gateway = gateway(&url);
        let sent = gateway.transfer(&order(), ID).await;
        assert_eq!(sent.result, Ok(done(word.clone())), "{record}");
        let asked = gateway.transfer_status(origin(3), ID).await;
        assert_eq!(asked.result, Ok(Some(done(word))), "{record}");
        assert_eq!(operations(&asked), [(ASK, Some(200))]);
    }
    let (url, _requests) = scripted(vec![yes(&with("PENDING", json!({"coelsa_id": ""})))]);
    let sent = gateway(&url).transfer(&order(), ID).await;
    assert_eq!(sent.result.unwrap().coelsa_id, None);
}

#[actix_web::test]
async fn an_answer_about_something_else_is_doubt() {
    let other = origin(4).to_string();
    let rows = [
        with("COMPLETED", json!({"origin_id": other})),
        with("COMPLETED", json!({"origin_id": null})),
        with("COMPLETED", json!({"origin_id": 5})),
        transfer("completed"),
        transfer("REFUNDED"),
        transfer(""),
        with("COMPLETED", json!({"id": ""})),
        with("COMPLETED", json!({"id": "a b"})),
        with("COMPLETED", json!({"id": "1".repeat(65)})),
        with("COMPLETED", json!({"coelsa_id": "ñandú"})),
        with("COMPLETED", json!({"status": null})),
        json!([transfer("COMPLETED")]),
        json!({}),
        json!("COMPLETED"),
    ];
    for record in rows {
        let (url, _requests) = scripted(vec![yes(&record)]);
        let gateway = gateway(&url);
        let sent = gateway.transfer(&order(), ID).await;
        assert_eq!(outcome(&sent), "failed Some(200)", "{record}");
        let asked = gateway.transfer_status(origin(3), ID).await;
        assert_eq!(outcome(&asked), "failed Some(200)", "{record}");
    }
    // An answer has to have an amount.
    for value in [json!({"currency": "ARS", "amount": "1e3"}), json!(null)] {
        let record = with("COMPLETED", json!({"value": value}));
        let (url, _requests) = scripted(vec![yes(&record)]);
        let sent = gateway(&url).transfer(&order(), ID).await;
        assert_eq!(outcome(&sent), "failed Some(200)", "{record}");
    }
    // A number is as good as a text.
    let record = transfer("COMPLETED")
        .to_string()
        .replace("\"12345678.90\"", "12345678.9");
    let (url, _requests) = scripted(vec![Act::Say("200 OK", record)]);
    let sent = gateway(&url).transfer(&order(), ID).await;
    assert_eq!(sent.result, Ok(done(BankWord::Completed)));
}

#[actix_web::test]
async fn refusals_and_what_only_looks_like_one() {
    let say = |status, code: &str| Act::Say(status, json!({"code": code}).to_string());
    let (refused, none) = ("refused TX046", "failed Some(400)");
    let rows = [
        (no("TX046"), refused, "failed Some(409)"),
        (say("400 Bad Request", "TX046"), refused, none),
        // The code is missing, general, or about something else, or the status is about us or the moment.
        (no("TX500"), "failed Some(409)", "failed Some(409)"),
        (no("TX019"), "failed Some(409)", "None"),
        (say("400 Bad Request", ""), none, none),
        (Act::Say("400 Bad Request", "<html>".into()), none, none),
        (no("GE500"), "failed Some(409)", "failed Some(409)"),
        (
            say("401 Unauthorized", "TX1"),
            "failed Some(401)",
            "failed Some(401)",
        ),
        (
            say("403 Forbidden", "TX1"),
            "failed Some(403)",
            "failed Some(403)",
        ),
        (
            say("408 Request Timeout", "TX1"),
            "failed Some(408)",
            "failed Some(408)",
        ),
        (
            say("429 Too Many Requests", "TX1"),
            "failed Some(429)",
            "failed Some(429)",
        ),
        (
            say("503 Service Unavailable", "GE503"),
            "failed Some(503)",
            "failed Some(503)",
        ),
    ];
    for (act, sent, asked) in rows {
        let record = format!("{act:?}");
        let (url, _requests) = scripted(vec![act]);
        let gateway = gateway(&url);
        assert_eq!(
            outcome(&gateway.transfer(&order(), ID).await),
            sent,
            "{record}"
        );
        let status = gateway.transfer_status(origin(3), ID).await;
        assert_eq!(outcome(&status), asked, "{record}");
    }
}

/// The acts of the bank, the outcome, and the calls after the login.
type Row = (Vec<Act>, String, Vec<(&'static str, Option<u16>)>);

#[actix_web::test]
async fn a_refusal_after_a_doubt_is_not_believed() {
    let broken = || {
        Act::Say(
            "500 Internal Server Error",
            json!({"code": "GE500"}).to_string(),
        )
    };
    let there = || yes(&transfer("COMPLETED"));
    let refused = || "refused TX046".to_owned();
    let found = format!("{:?}", done(BankWord::Completed));
    let (lost, failed, limit) = ((SEND, None), (SEND, Some(500)), (SEND, Some(409)));
    let (seen, unknown) = ((ASK, Some(200)), (ASK, Some(409)));
    let rows: Vec<Row> = vec![
        // Nothing was in doubt: the refusal stands alone.
        (vec![no("TX046")], refused(), vec![limit]),
        (
            vec![Act::Say("401 Unauthorized", String::new()), no("TX046")],
            refused(),
            vec![(SEND, Some(401)), ("login", Some(200)), limit],
        ),
        // It had happened.
        (
            vec![Act::Hang, no("TX046"), there()],
            found.clone(),
            vec![lost, limit, seen],
        ),
        (
            vec![Act::Wait, no("TX046"), there()],
            found.clone(),
            vec![lost, limit, seen],
        ),
        (
            vec![broken(), no("TX046"), there()],
            found.clone(),
            vec![failed, limit, seen],
        ),
        // It shows up a moment later.
        (
            vec![Act::Hang, no("TX046"), no("TX019"), there()],
            found,
            vec![lost, limit, unknown, seen],
        ),
        // It had not.
        (
            vec![broken(), no("TX046"), no("TX019")],
            refused(),
            vec![failed, limit, unknown, unknown, unknown],
        ),
        // Nobody knows.
        (
            vec![broken(), no("TX046"), broken()],
            "failed Some(500)".into(),
            vec![
                failed,
                limit,
                (ASK, Some(500)),
                (ASK, Some(500)),
                (ASK, Some(500)),
            ],
        ),
        (
            vec![Act::Hang, no("TX046"), no("TX500")],
            "failed Some(409)".into(),
            vec![lost, limit, unknown],
        ),
        (
            vec![broken(), no("TX046"), Act::Wait],
            "timed out".into(),
            vec![failed, limit, (ASK, None), (ASK, None), (ASK, None)],
        ),
        (
            vec![Act::Hang, no("TX046"), yes(&json!({}))],
            "failed Some(200)".into(),
            vec![lost, limit, seen],
        ),
    ];
    for (acts, expected, calls) in rows {
        let record = format!("{acts:?}");
        let (url, _requests, patience) = paced(acts);
        let mut gateway = gateway(&url);
        gateway.log_in().await;
        gateway.config.attempt_timeout = patience;
        let reply = gateway.transfer(&order(), ID).await;
        assert_eq!(outcome(&reply), expected, "{record}");
        assert_eq!(operations(&reply), calls, "{record}");
        for call in &reply.calls {
            let about = origin(3).to_string();
            assert!(
                call.operation == "login" || call.reference == about,
                "{call:?}"
            );
        }
    }
}

#[actix_web::test]
async fn a_bank_that_says_nothing_leaves_doubt_and_one_that_comes_back_ends_it() {
    let (url, requests) = scripted(vec![Act::Wait]);
    let reply = hasty_at_work(&url).await.transfer(&order(), ID).await;
    assert_eq!(reply.result, Err(BankError::TimedOut));
    assert_eq!(operations(&reply), [(SEND, None); 3]);
    // Each attempt sends the same request.
    let sent: Vec<_> = requests.try_iter().skip(1).collect();
    assert!(
        sent.iter()
            .all(|request| body_of(request) == body_of(&sent[0]))
    );
    let (url, _requests) = scripted(vec![Act::Hang, yes(&transfer("COMPLETED"))]);
    let reply = gateway(&url).transfer(&order(), ID).await;
    assert_eq!(reply.result, Ok(done(BankWord::Completed)));
    let (url, _requests) = scripted(vec![Act::Wait]);
    let reply = hasty_at_work(&url)
        .await
        .transfer_status(origin(3), ID)
        .await;
    assert_eq!(reply.result, Err(BankError::TimedOut));
}

#[actix_web::test]
async fn the_trace_of_the_request_goes_on_to_the_bank() {
    let trace = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    remember("traced", Trace::parse(trace).unwrap());
    for (id, traced) in [("traced", true), ("untraced", false)] {
        let (url, requests) = scripted(vec![no("TX019")]);
        let reply = gateway(&url).transfer_status(origin(3), id).await;
        assert_eq!(reply.result, Ok(None));
        let asked = requests.iter().nth(1).unwrap();
        let goes_on = asked.contains("traceparent: 00-5bf92f3577b34da6a3ce929d0e0e4736-");
        assert_eq!(goes_on, traced, "{asked}");
        assert!(asked.contains(&format!("x-request-id: {id}")), "{asked}");
        assert!(
            !asked.contains("00f067aa0ba902b7"),
            "a span of its own: {asked}"
        );
    }
}

#[actix_web::test]
async fn the_question_names_the_reference() {
    let (url, requests) = scripted(vec![no("TX019")]);
    let reply = gateway(&url).transfer_status(origin(3), ID).await;
    assert_eq!(reply.result, Ok(None));
    let asked = requests.iter().nth(1).unwrap();
    let path = format!(
        "GET /base/v1/banks/322/accounts/{COLLECTOR}/owner/transaction-request-types/TRANSFER-CVU/{} ",
        origin(3)
    );
    assert!(asked.starts_with(&path), "{asked}");
}

#[actix_web::test]
async fn the_journal_keeps_the_ids_and_nobodys_data() {
    let to = Alias::parse("eva.20055361682").unwrap();
    let orders = [
        order(),
        TransferOrder {
            to: Destination::Alias(to),
            ..order()
        },
    ];
    let why = "El CUIT 20055361682 no es de 2850590940090418135201";
    let (url, _requests) = bank(move |request| {
        if request.contains("GET ") {
            yes(&with("FAILED", json!({"reject_reason": why})))
        } else {
            yes(&transfer("COMPLETED"))
        }
    });
    let gateway = gateway(&url);
    let mut calls = Vec::new();
    for order in &orders {
        calls.extend(gateway.transfer(order, ID).await.calls);
        calls.extend(gateway.transfer_status(origin(3), ID).await.calls);
    }
    assert_eq!(calls.len(), 5);
    for call in &calls {
        let text = format!("{call:?}");
        for secret in [
            "20055361682",
            "30717449076",
            "2850590940090418135201",
            order().from.as_str(),
            "Ana",
            "Eva",
            "eva",
            "Macro",
            PASSWORD,
            "t0k",
        ] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(
            serde_json::from_str::<Value>(&call.request)
                .unwrap()
                .is_object()
        );
        if call.operation != "login" {
            let record: Value = serde_json::from_str(&call.body).unwrap();
            assert_eq!(record["origin_id"], origin(3).to_string());
            assert_eq!(
                (&record["coelsa_id"], &record["id"]),
                (&json!(COELSA), &json!("1-…-4711-0"))
            );
            assert_eq!(record["value"]["amount"], "12345678.90");
            assert_eq!(record["to"]["cbu"], "…5201");
        }
    }
    let sent: Value = serde_json::from_str(&calls[1].request).unwrap();
    let kept = json!({
        "origin_id": origin(3).to_string(),
        "origin_debit": {"cvu": format!("…{}", order().from.last4())},
        "to": {"cbu": "…5201"}, "value": {"currency": "ARS", "amount": "12345678.90"},
        "concept": "FAC",
    });
    assert_eq!(sent, kept);
    let sent: Value = serde_json::from_str(&calls[3].request).unwrap();
    assert_eq!(sent["to"], json!({"label": "…"}));
}
