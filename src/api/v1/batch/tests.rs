//! The body of a batch, and the text of its answer.

use caudal_actors::failure::Failure;
use caudal_http::bodies::vouchers::voucher;
use caudal_http::words::Mistake;
use caudal_ledger::balance::{Balance, Direction};
use caudal_ledger::chain::Canonical;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, Tag};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use serde_json::Value;

use super::*;

const REALM: RealmId = RealmId(2);

fn placed(name: &str, reference: Option<&str>) -> AccountVoucher {
    let voucher = Voucher {
        tag: Tag::NONE,
        cvu: Cvu::parse(CVU).unwrap(),
        sequence: 7,
        direction: Direction::Credit,
        amount: Amount::from_centavos(150).unwrap(),
        after: Balance {
            available: Money::from_centavos(1_050),
            held: Money::from_centavos(7),
        },
        type_code: TypeCode::parse("SALE").unwrap(),
        type_number: None,
        counter_account: None,
        type_name: name.to_owned(),
        external_id: ExternalId::parse("order-1").ok(),
        reference_type: ReferenceType::Adjustment,
        reference_id: reference.map(str::to_owned),
        description: Some("a \"line\"\nof ñandúes".to_owned()),
        external_date: None,
        external_date_sent: None,
        expires_at: None,
        gives_back: None,
        counterparty: None,
        details: None,
        at: Timestamp::parse("2026-03-02T15:04:05.678Z").unwrap(),
        hash: Canonical::default().digest(),
    };
    AccountVoucher {
        account: AccountNo(1),
        voucher: Arc::new(voucher),
    }
}

fn plan(atomic: bool, total: usize, unreadable: &[usize]) -> BatchPlan {
    let wrong = |at: &usize| (*at, ApiError::field("amount", Mistake::Required));
    BatchPlan {
        realm: REALM,
        atomic,
        total,
        unreadable: unreadable.iter().map(wrong).collect(),
        request: current::Request::default(),
    }
}

fn answer_of(plan: &BatchPlan, outcomes: &[ItemOutcome]) -> (u16, Value) {
    let (status, text) = Report { plan, outcomes }.answer();
    (status.as_u16(), serde_json::from_str(&text).unwrap())
}

#[test]
fn a_voucher_of_a_batch_reads_as_any_other() {
    for placed in [placed("Venta", None), placed("\"\\\u{7}", Some("trf_1"))] {
        let written = WrittenVoucher {
            realm: REALM,
            placed: &placed,
            at: &placed.voucher.at.to_string(),
        };
        let written = serde_json::to_string(&written).unwrap();
        let usual = serde_json::to_string(&voucher(REALM, &placed)).unwrap();
        assert_eq!(written, usual);
    }
}

#[test]
fn results_come_in_the_order_sent_whatever_could_not_be_read() {
    let outcomes = [
        Ok(Outcome::Recorded(placed("Venta", None))),
        Err(Failure::Rejected(Rejection::AccountClosed)),
        Ok(Outcome::Replayed(placed("Venta", None))),
    ];
    let (status, body) = answer_of(&plan(false, 5, &[0, 3]), &outcomes);
    assert_eq!(status, 200);
    let rows: Vec<_> = body["results"].as_array().unwrap().iter().collect();
    let states: Vec<_> = rows
        .iter()
        .map(|row| row["status"].as_str().unwrap())
        .collect();
    let right = ["rejected", "recorded", "rejected", "rejected", "replayed"];
    assert_eq!(states, right);
    let codes: Vec<_> = [0, 2, 3].map(|at| rows[at]["error"]["code"].clone()).into();
    assert_eq!(
        codes,
        ["invalid_request", "account_closed", "invalid_request"]
    );
    assert_eq!(rows[0]["error"]["errors"][0]["field"], "amount");
    assert!(rows.iter().enumerate().all(|(at, row)| row["index"] == at));
    assert!(rows[1]["voucher"]["id"].is_string() && rows[1].get("error").is_none());
    assert!(rows[0].get("voucher").is_none());
    let summary = serde_json::json!({"recorded": 1, "replayed": 1, "rejected": 3, "notPosted": 0});
    assert_eq!(body["summary"], summary);
}

#[test]
fn an_atomic_batch_with_a_refusal_posts_nothing_and_says_so() {
    let outcomes = [
        Ok(Outcome::Recorded(placed("Venta", None))),
        Err(Failure::Rejected(Rejection::AccountClosed)),
        Ok(Outcome::Replayed(placed("Venta", None))),
    ];
    let (status, body) = answer_of(&plan(true, 3, &[]), &outcomes);
    assert_eq!((status, &body["code"]), (400, &"batch_rejected".into()));
    let rows = &body["details"]["results"];
    // An item that was not posted has no voucher to show; a replayed one has.
    assert_eq!(
        rows[0],
        serde_json::json!({"index": 0, "status": "not_posted"})
    );
    assert_eq!(rows[1]["error"]["code"], "account_closed");
    assert!(rows[2]["voucher"]["id"].is_string());
    let summary = serde_json::json!({"recorded": 0, "replayed": 1, "rejected": 1, "notPosted": 1});
    assert_eq!(body["details"]["summary"], summary);
    // An unreadable item keeps the others from being tried.
    let (status, body) = answer_of(&plan(true, 2, &[1]), &[]);
    assert_eq!(status, 400);
    let rows = &body["details"]["results"];
    assert_eq!(
        rows[0],
        serde_json::json!({"index": 0, "status": "not_posted"})
    );
    let summary = serde_json::json!({"recorded": 0, "replayed": 0, "rejected": 1, "notPosted": 1});
    assert_eq!(body["details"]["summary"], summary);
    assert_eq!(rows[1]["error"]["code"], "invalid_request");
    let message = "nothing was posted: 1 of 2 items are refused";
    assert_eq!(body["message"], message);
    // Without a refusal an atomic batch is answered like any other.
    let (status, _) = answer_of(&plan(true, 1, &[]), &outcomes[..1]);
    assert_eq!(status, 200);
}

const CVU: &str = "0000532609100002749314";

#[test]
fn items_are_read_one_by_one() {
    let good = format!(
        r#"{{"idExterno":"a\u002d1","amount":1.5,"cvu":"{CVU}","voucherTypeCode":"in","description":"ñ"}}"#
    );
    let other = good.replace("1.5", "\"1.50\"").replace("\"ñ\"", "null");
    let bad = [
        "1",
        "[]",
        "{}",
        r#"{"amount":"1","amount":"1"}"#,
        r#"{"tenantId":1,"tenantId":1}"#,
        &good.replace("1.5", "1e2"),
        &good.replace("1.5", "true"),
        &good.replace("\"in\"", "7"),
        &good.replace("in", "\\ud800"),
        &good.replace("\"ñ\"", "1, \"tenantId\": 1"),
        &good.replace(CVU, "0000532609100002749315"),
    ];
    let body = format!(r#" {{"items": [{good}, {other}, {}] }} "#, bad.join(", "));
    let sent = items::read(body.as_bytes()).unwrap();
    assert!(!sent.atomic);
    assert_eq!(sent.unreadable.len(), bad.len());
    let [first, second] = sent.orders.as_slice() else {
        panic!("{sent:?}");
    };
    assert_eq!(first.external_id.as_str(), "a-1");
    assert_eq!(
        (first.amount, second.amount.map(Amount::centavos)),
        (second.amount, Some(150))
    );
    assert_eq!(
        (first.description.as_deref(), &second.description),
        (Some("ñ"), &None)
    );
    let named = |at: usize| {
        let wrong = sent.unreadable[&at].wrong();
        let names: Vec<_> = wrong.iter().map(|it| it.field.as_str()).collect();
        names.join(" ")
    };
    assert_eq!(named(2), "item");
    assert_eq!(named(4), "cvu voucherTypeCode amount idExterno");
    assert_eq!(named(11), "description tenantId");
}

#[test]
fn a_repeat_is_told_from_another_batch_to_the_centavo() {
    let of = |amount: &str, more: &str| {
        let item = format!(
            r#"{{"cvu":"{CVU}","voucherTypeCode":"IN","amount":{amount},"idExterno":"a"}}"#
        );
        let body = format!(r#"{{"items":[{item}{more}]}}"#);
        items::fingerprint(body.as_bytes()).unwrap()
    };
    let first = of("999999999999999.98", "");
    assert_eq!(first, of(r#" "999999999999999.98" "#, ""));
    for other in [
        of("999999999999999.99", ""),
        of("999999999999999.98", ",1"),
        of("999999999999999.98", ",2"),
    ] {
        assert_eq!(
            (other["mode"], other["items"] == first["items"]),
            (first["mode"], false)
        );
    }
    assert_ne!(of("1", ",1"), of("1", ",2"));
}

#[test]
fn a_batch_that_is_wrong_itself_is_refused_as_a_whole() {
    let many = format!("{{\"items\":[{}]}}", vec!["1"; ITEMS_MAX + 1].join(","));
    let deep = format!(
        "{{\"items\":{}1{}}}",
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    for (body, code, named) in [
        ("{}", "invalid_request", vec!["items"]),
        (r#"{"items":[]}"#, "invalid_request", vec!["items"]),
        (r#"{"items":{}}"#, "invalid_request", vec!["items"]),
        (
            r#"{"items":[1],"mode":"both"}"#,
            "invalid_request",
            vec!["mode"],
        ),
        (
            r#"{"items":[1],"mode":1,"x":1}"#,
            "invalid_request",
            vec!["mode", "x"],
        ),
        (&many, "invalid_request", vec!["items"]),
        (r#"{"items":[1],"items":[1]}"#, "malformed_body", vec![]),
        (r#"{"items":[1]} x"#, "malformed_body", vec![]),
        ("[]", "malformed_body", vec![]),
    ] {
        let error = items::read(body.as_bytes()).unwrap_err();
        assert_eq!(error.code(), code, "{body:.40}");
        let fields: Vec<_> = error.wrong().iter().map(|it| it.field.clone()).collect();
        assert_eq!(fields, named, "{body:.40}");
    }
    // Nesting costs no stack.
    assert_eq!(items::read(deep.as_bytes()).unwrap().unreadable.len(), 1);
}

#[test]
fn an_item_that_is_no_object_is_unreadable_and_not_counted() {
    let whole = r#"{"items":[{"cvu":1},2,{"cvu":3}]}"#.as_bytes();
    let read = items::read(whole).unwrap();
    // What is no object is not posted and costs next to nothing.
    assert_eq!(read.unreadable.len(), listed::count(whole) + 1);
}
