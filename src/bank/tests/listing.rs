//! A day's movements: both ways, page by page, and never half a list.

use std::collections::BTreeMap;

use caudal_actors::ports::{BankMovement, MovementWay};
use caudal_ledger::ids::{AccountNo, RealmId, Tag, VoucherId};
use caudal_ledger::transfers::{BankWord, Counterparty};

use super::fake::{Act, bank, no, scripted, yes};
use super::*;

const RECEIVED: &str = "TRANSFERENCIAS_RECIBIDAS";
const SENT: &str = "TRANSFERENCIAS_ENVIADAS";
const OURS: &str = "0000999100000000000017";

fn day() -> BusinessDay {
    BusinessDay::parse("2026-11-21").unwrap()
}

fn origin() -> OriginId {
    OriginId::of_place(VoucherId {
        realm: RealmId(1),
        account: AccountNo(7),
        sequence: 3,
        tag: Tag::NONE,
    })
}

fn merged(mut record: Value, changes: &Value) -> Value {
    let members = record.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    record
}

fn sent(number: usize) -> Value {
    json!({
        "id": format!("1-20055361682-{number}-0"), "origin_id": origin().to_string(),
        "coelsa_id": "80V1JXON1874QG39Z64EL7", "status": "COMPLETED", "type": "TRANSFER-CVU",
        "value": {"currency": "ARS", "amount": "10.50"}, "concept": "VAR", "description": "",
        "origin_debit": {"cvu": OURS, "cuit": "20055361682", "name": "Ana"},
        "to": {"cbu": "2850590940090418135201", "label": "eva.perez", "cuit": "30717449076",
            "name": "Eva Perez", "bank": {"code": "285", "name": "Macro"}},
        "start_date": "2026-11-21T12:00:00.000Z", "business_date": "2026-11-21T03:00:00.000Z",
        "reversed": false,
    })
}

fn received(number: usize) -> Value {
    json!({
        "id": format!("1-30717449076-{number}-0"), "coelsa_id": "80V1JXON1874QG39Z64EL8",
        "status": "COMPLETED", "type": "TRANSFERENCIA",
        "value": {"currency": "ARS", "amount": "10.50"},
        "origin_debit": {"cuit": "30717449076", "name": "Eva Perez", "cbu": "2850590940090418135201",
            "label": "UNAVAILABLE", "bank": {"code": "285", "name": "Macro"}},
        "origin_credit": {"cvu": OURS, "cuit": "20055361682"},
        "start_date": "2026-11-21T12:00:00.000Z", "business_date": "2026-11-21T03:00:00.000Z",
    })
}

/// The headers of a request by their names in lower case.
fn headers(request: &str) -> BTreeMap<String, String> {
    let lines = request.lines().skip(1).filter_map(|l| l.split_once(": "));
    lines
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect()
}

/// A bank with this list of what was sent, and none of what arrived.
fn sent_list(list: Vec<u8>) -> (String, std::sync::mpsc::Receiver<String>) {
    bank(move |request| {
        if request.contains(SENT) {
            Act::Bytes("200 OK", list.clone())
        } else {
            yes(&json!([]))
        }
    })
}

/// A bank that has this many movements each way.
fn paged(out: usize, into: usize) -> impl FnMut(&str) -> Act + Send + 'static {
    move |request| {
        let headers = headers(request);
        let number = |name: &str| headers[name].parse::<usize>().unwrap();
        let (count, make): (_, fn(usize) -> Value) = match headers["obp_origin"].as_str() {
            SENT => (out, sent),
            RECEIVED => (into, received),
            other => panic!("{other}"),
        };
        let first = number("obp_offset").min(count);
        let last = (first + number("obp_limit")).min(count);
        yes(&(first..last).map(make).collect())
    }
}

#[actix_web::test]
async fn both_ways_and_all_pages() {
    for (out, into, pages) in [
        (0, 0, [1, 1]),
        (1, 199, [1, 1]),
        (200, 201, [2, 2]),
        (450, 400, [3, 3]),
    ] {
        let (url, requests) = bank(paged(out, into));
        let reply = gateway(&url).movements(day(), ID).await;
        let found = &reply.result.as_ref().unwrap().movements;
        let ids: std::collections::BTreeSet<_> = found.iter().map(|m| &m.bank_id).collect();
        let sent = found.iter().filter(|m| m.way == MovementWay::Out).count();
        assert_eq!(
            (sent, found.len(), ids.len()),
            (out, out + into, out + into)
        );
        assert_eq!(reply.calls.len(), 1 + pages[0] + pages[1]);
        for call in &reply.calls[1..] {
            assert_eq!(
                (call.operation.as_str(), call.status),
                ("movements", Some(200))
            );
            assert_eq!(call.reference, "2026-11-21");
            assert!(call.body.len() <= 2_048, "{}", call.body);
        }
        for request in requests.try_iter().skip(1) {
            let path = format!(
                "GET /base/v1/banks/322/accounts/{COLLECTOR}/owner/transaction-request-types/\
                 TRANSFER-CVU HTTP/1.1"
            );
            assert!(request.starts_with(&path), "{request}");
            let headers = headers(&request);
            let of = |name: &str| headers[name].as_str();
            assert_eq!(
                (of("obp_from_date"), of("obp_to_date")),
                ("2026-11-21", "2026-11-21")
            );
            assert_eq!(of("obp_limit"), "200");
            assert_eq!(of("obp_offset").parse::<usize>().unwrap() % 200, 0);
        }
    }
}

#[actix_web::test]
async fn what_a_movement_says() {
    let back =
        json!({"type": "REVERSAL", "reverses": origin().to_string(), "id": "1-20055361682-9-0"});
    let (url, _requests) = bank(move |request| {
        if request.contains(SENT) {
            yes(&json!([
                sent(1),
                merged(
                    sent(2),
                    &json!({"status": "FAILED", "reject_reason": "no", "coelsa_id": ""})
                ),
                merged(sent(3), &json!({"status": "UNKNOWN", "origin_id": "ajena"})),
            ]))
        } else {
            yes(&json!([received(1), merged(received(2), &back)]))
        }
    });
    let found = gateway(&url).movements(day(), ID).await.result.unwrap();
    let found = found.movements;
    let other = Counterparty {
        cuit: Some("30717449076".into()),
        name: Some("Eva Perez".into()),
        cbu: Some("2850590940090418135201".into()),
        alias: Some("eva.perez".into()),
        bank: Some("Macro".into()),
        concept: Some("VAR".into()),
        ..Counterparty::default()
    };
    let first = BankMovement {
        bank_id: "1-20055361682-1-0".into(),
        coelsa_id: Some("80V1JXON1874QG39Z64EL7".into()),
        origin: Some(origin()),
        reversal: false,
        way: MovementWay::Out,
        cvu: OURS.into(),
        counterparty: other.clone(),
        amount: caudal_ledger::money::Amount::parse("10.5").unwrap(),
        word: BankWord::Completed,
        at: Timestamp::parse("2026-11-21T12:00:00Z").unwrap(),
    };
    let reason = "no".to_owned();
    let failed = BankMovement {
        bank_id: "1-20055361682-2-0".into(),
        coelsa_id: None,
        word: BankWord::Failed { reason },
        ..first.clone()
    };
    let foreign = BankMovement {
        bank_id: "1-20055361682-3-0".into(),
        origin: None,
        word: BankWord::InProgress,
        ..first.clone()
    };
    let arrived = BankMovement {
        bank_id: "1-30717449076-1-0".into(),
        coelsa_id: Some("80V1JXON1874QG39Z64EL8".into()),
        origin: None,
        way: MovementWay::In,
        counterparty: Counterparty {
            alias: None,
            concept: None,
            ..other
        },
        ..first.clone()
    };
    let returned = BankMovement {
        bank_id: "1-20055361682-9-0".into(),
        origin: Some(origin()),
        reversal: true,
        ..arrived.clone()
    };
    assert_eq!(found, [first, failed, foreign, arrived, returned]);
}

#[actix_web::test]
async fn a_day_is_a_day_in_buenos_aires() {
    // Its first and last instants are on two days of UTC; the bank's business date decides.
    for (start, business, good) in [
        ("2026-11-21T03:00:00.000Z", "2026-11-21T03:00:00.000Z", true),
        ("2026-11-22T02:59:59.999Z", "2026-11-21T03:00:00.000Z", true),
        (
            "2026-11-21T23:59:59.999-03:00",
            "2026-11-22T02:59:59.999Z",
            true,
        ),
        (
            "2026-11-21T12:00:00.000Z",
            "2026-11-21T02:59:59.999Z",
            false,
        ),
        (
            "2026-11-21T12:00:00.000Z",
            "2026-11-22T03:00:00.000Z",
            false,
        ),
    ] {
        let item = merged(
            sent(1),
            &json!({"start_date": start, "business_date": business}),
        );
        let (url, _requests) = bank(move |request| {
            if request.contains(SENT) {
                yes(&json!([item]))
            } else {
                yes(&json!([]))
            }
        });
        let reply = gateway(&url).movements(day(), ID).await;
        let found = reply.result.unwrap();
        let at = found.movements.first().map(|it| it.at);
        assert_eq!(found.unreadable.is_empty(), good);
        assert_eq!(
            at,
            Timestamp::parse(start).filter(|_| good),
            "{start} {business}"
        );
    }
}

#[actix_web::test]
async fn a_line_that_cannot_be_read_is_reported_and_every_other_line_counts() {
    for (bad, field) in [
        (json!({"status": "GONE"}), "status"),
        (json!({"status": null}), "status"),
        (json!({"id": ""}), "id"),
        (json!({"id": 7}), "id"),
        (
            json!({"value": {"currency": "USD", "amount": "1.00"}}),
            "value",
        ),
        (
            json!({"value": {"currency": "ARS", "amount": "-1.00"}}),
            "value",
        ),
        (json!({"value": {"currency": "ARS", "amount": 0}}), "value"),
        (json!({"value": null}), "value"),
        (json!({"origin_debit": null}), "origin_debit"),
        (json!({"origin_debit": {"cvu": ""}}), "origin_debit"),
        (
            json!({"origin_debit": {"cvu": "0000999100000000000018"}}),
            "origin_debit",
        ),
        (json!({"origin_id": 5}), "origin_id"),
        (json!({"type": null}), "type"),
        (json!({"type": "REVERSAL"}), "type"),
        (json!({"coelsa_id": "a b"}), "coelsa_id"),
        (json!({"coelsa_id": "80V1\u{0}JX"}), "coelsa_id"),
        (
            json!({"business_date": "2026-11-20T03:00:00.000Z"}),
            "business_date",
        ),
    ] {
        let page = json!([sent(1), merged(sent(2), &bad), sent(3)]);
        let (url, _requests) = sent_list(page.to_string().into_bytes());
        let found = gateway(&url).movements(day(), ID).await.result.unwrap();
        let ids: Vec<_> = found.movements.iter().map(|it| &it.bank_id).collect();
        assert_eq!(ids, ["1-20055361682-1-0", "1-20055361682-3-0"], "{bad}");
        let [line] = &found.unreadable[..] else {
            panic!("{bad}: {found:?}");
        };
        assert_eq!(
            (line.field.as_str(), line.incoming),
            (field, false),
            "{bad}"
        );
        let known = line.bank_id.as_deref() == Some("1-20055361682-2-0");
        assert_eq!(known, field != "id", "{line:?}");
        for person in ["Eva", "Ana", "20055361682-", OURS] {
            assert!(!line.text.contains(person), "{line:?}");
        }
    }
    for (page, count) in [("[[]]", 1), ("[null, 1, \"x\"]", 3), ("[{}]", 1)] {
        let (url, _requests) = sent_list(page.into());
        let found = gateway(&url).movements(day(), ID).await.result.unwrap();
        assert_eq!(found.unreadable.len(), count, "{page}");
        assert!(found.movements.is_empty());
    }
    for page in [json!({}), json!(null), json!("x")] {
        let (url, _requests) = scripted(vec![yes(&page)]);
        let reply = gateway(&url).movements(day(), ID).await;
        assert!(
            matches!(reply.result, Err(BankError::Failed { .. })),
            "{page}"
        );
    }
}

#[actix_web::test]
async fn display_texts_never_decide() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    for (member, value) in [
        ("start_date", "\"yesterday\""),
        ("start_date", "5"),
        ("business_date", "\"2026-11-21\""),
        ("business_date", "null"),
        ("concept", "{}"),
        ("description", "\"Kiosco \\ud83d\""),
        ("to", "{\"name\": \"Kiosco \\ud83d\", \"cuit\": [1]}"),
        ("to", "{\"name\": \"a\u{0}b\", \"label\": 5}"),
        ("to", "\"Eva\""),
        ("to", deep.as_str()),
        ("reject_reason", "7"),
        ("origin_id", "\"\\ud83d\""),
        ("unknown", "\"C:\\Users\""),
    ] {
        let mut line = sent(1);
        line.as_object_mut().unwrap().remove(member);
        let written = line.to_string();
        let line = written.replacen('{', &format!("{{\"{member}\":{value},"), 1);
        let (url, _requests) = sent_list(format!("[{line}]").into_bytes());
        let found = gateway(&url).movements(day(), ID).await.result.unwrap();
        assert_eq!(found.movements.len(), 1, "{member} {value}: {found:?}");
        assert_eq!(
            found.movements[0].amount,
            caudal_ledger::money::Amount::parse("10.5").unwrap()
        );
        assert!(found.unreadable.is_empty(), "{member} {value}");
    }
}

#[actix_web::test]
async fn lists_that_do_not_add_up_fail() {
    let many = |from: usize, to: usize| yes(&(from..to).map(sent).collect());
    for (acts, record) in [
        // The bank does not understand the offset: the same page for ever.
        (vec![many(0, 200)], "same page"),
        (vec![many(0, 201)], ""),
        // A later page is refused or lost.
        (vec![many(0, 200), no("TX500")], "no"),
        (vec![many(0, 200), Act::Hang], ""),
    ] {
        let (url, _requests) = scripted(acts);
        let reply = gateway(&url).movements(day(), ID).await;
        let said = match reply.result.unwrap_err() {
            BankError::Failed { body, .. } => body,
            BankError::Refused(refusal) => refusal.body,
            BankError::TimedOut => String::new(),
        };
        assert!(said.contains(record), "{said}");
    }
    // One id for two movements: the first counts, the other one is reported. The same line twice is one.
    let other = merged(sent(1), &json!({"coelsa_id": "80V1JXON1874QG39Z64EL9"}));
    let (url, _requests) = sent_list(json!([sent(1), other, sent(1)]).to_string().into_bytes());
    let found = gateway(&url).movements(day(), ID).await.result.unwrap();
    assert_eq!((found.movements.len(), found.unreadable.len()), (1, 1));
    assert_eq!(found.unreadable[0].field, "id");
    // A movement that shifted to the next page during the reading is listed once, with its later report.
    let late = merged(sent(5), &json!({"status": "FAILED", "reject_reason": "no"}));
    let (url, _requests) =
        bank(
            move |request| match (request.contains(SENT), request.contains("obp_offset: 0")) {
                (true, true) => many(0, 200),
                (true, false) => yes(&json!([late, sent(200)])),
                (false, _) => yes(&json!([])),
            },
        );
    let found = gateway(&url).movements(day(), ID).await.result.unwrap();
    let found = found.movements;
    assert_eq!(found.len(), 201);
    assert!(
        matches!(found[5].word, BankWord::Failed { .. }),
        "{:?}",
        found[5]
    );
}

#[actix_web::test]
async fn a_list_has_an_end() {
    for (count, good) in [(399, true), (400, false), (10_000, false)] {
        let (url, _requests) = bank(paged(count, 0));
        let config = Config {
            pages: 2,
            ..config(&url)
        };
        let reply = HttpGateway::new(config).unwrap().movements(day(), ID).await;
        assert_eq!(reply.result.is_ok(), good, "{count}");
        assert_eq!(reply.calls.len(), if good { 4 } else { 3 });
        if let Err(why) = reply.result {
            assert!(
                matches!(why, BankError::Failed { status: None, .. }),
                "{why:?}"
            );
        }
    }
}

#[actix_web::test]
async fn a_list_is_in_the_journal_without_persons() {
    let (url, _requests) = bank(paged(2, 1));
    let reply = gateway(&url).movements(day(), ID).await;
    let found = reply.result.as_ref().unwrap();
    assert_eq!(found.movements.len(), 3);
    for call in &reply.calls {
        let text = format!("{call:?}");
        for secret in [
            "20055361682",
            "30717449076",
            "2850590940090418135201",
            OURS,
            "Ana",
            "Eva",
            "eva.perez",
            "Macro",
        ] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
    assert!(
        reply.calls[1].body.contains(&origin().to_string()),
        "{:?}",
        reply.calls[1]
    );
    let asked: Value = serde_json::from_str(&reply.calls[2].request).unwrap();
    assert_eq!(asked, json!({"origin": RECEIVED, "offset": 0}));
}
