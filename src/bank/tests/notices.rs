//! Notices: whose signature is accepted, and how their contents are read.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use caudal_actors::ports::{Notice, RawNotice};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId, Tag, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{BankMoved, BankTransfer, BankWord, Counterparty};
use serde_json::{Value, json};

use crate::notices::{self, NOTICE_MAX, NoticeError, SIGNATURES_MAX, verify};

const SECRET: &str = "Zk4u8QmB1xYtV6rNc0LsHj3WgEaP9dFo";
const OTHER: &str = "another-secret-0123456789-abcdefg";
const BODY: &str = r#"{"id":"ntc_1"}"#;
const ID: &str = "ntc_1";
const NOW: u64 = 1_795_262_400;
const OURS: &str = "0000999100000000000017";
const COELSA: &str = "80V1JXON1874QG39Z64EL7";
const BANK_ID: &str = "1-20055361682-4711-0";

fn read(body: &[u8]) -> Result<Notice, NoticeError> {
    notices::read(body, None, Timestamp::from_millis(NOW * 1_000))
}

fn tag(secret: &str, signed: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!(
        "v1,{}",
        STANDARD.encode(hmac::sign(&key, signed.as_bytes()))
    )
}

fn signed(id: &str, seconds: &str) -> String {
    tag(SECRET, &format!("{id}.{seconds}.{BODY}"))
}

fn judged(secret: &str, headers: [Option<&str>; 3], body: &[u8]) -> Result<(), NoticeError> {
    let [id, timestamp, signature] = headers;
    let header = |name: &str| match name {
        "webhook-id" => id,
        "webhook-timestamp" => timestamp,
        _ => signature,
    };
    // Half a second later, to the last millisecond that still counts as this second.
    let now = Timestamp::from_millis(NOW * 1_000 + 999);
    verify(secret, &RawNotice::new(&header, body, &[]), now)
}

#[test]
fn a_signature_made_elsewhere_fits() {
    // Computed with openssl, so that not both sides are ours.
    let body = br#"{"a":1}"#;
    let signature = "v1,FxwqpWKSb9FqxA8Zn0eg0tNJCjsKYBwEWuqBn/igew0=";
    let headers = [Some("msg_1"), Some("1795262400"), Some(signature)];
    assert_eq!(judged(SECRET, headers, body), Ok(()));
}

#[test]
fn a_notice_is_believed_for_five_minutes() {
    let check = |seconds: u64| {
        let text = seconds.to_string();
        let signature = signed(ID, &text);
        judged(
            SECRET,
            [Some(ID), Some(&text), Some(&signature)],
            BODY.as_bytes(),
        )
    };
    for (seconds, expected) in [
        (NOW, Ok(())),
        (NOW - 300, Ok(())),
        (NOW - 301, Err(NoticeError::TooOld)),
        (NOW + 300, Ok(())),
        (NOW + 301, Err(NoticeError::TooNew)),
        (0, Err(NoticeError::TooOld)),
        (999_999_999_999, Err(NoticeError::TooNew)),
    ] {
        assert_eq!(check(seconds), expected, "{seconds}");
    }
}

#[test]
fn only_the_bank_is_believed() {
    let (body, now) = (BODY, NOW.to_string());
    let good = signed(ID, &now);
    let other = tag(OTHER, &format!("{ID}.{now}.{body}"));
    let signature = |signature: &str| {
        judged(
            SECRET,
            [Some(ID), Some(&now), Some(signature)],
            body.as_bytes(),
        )
    };
    let wrong = Err(NoticeError::Signature);
    let many = format!("{}{good}", "v1,AAAA ".repeat(SIGNATURES_MAX));
    for (text, expected) in [
        (good.clone(), Ok(())),
        (format!("{other} {good}"), Ok(())),
        (format!("{good} {other}"), Ok(())),
        (format!("v2,x v1, v1,!! {good}"), Ok(())),
        (other.clone(), wrong),
        (format!("{other} {other}"), wrong),
        (String::new(), wrong),
        (good.replace("v1,", "v2,"), wrong),
        (good.replace("v1,", ""), wrong),
        (good.replacen("v1,", "v1,AAAA", 1), wrong),
        (format!("{good}="), wrong),
        (good.replace(' ', ","), Ok(())),
        (many, wrong),
    ] {
        assert_eq!(signature(&text), expected, "{text}");
    }
    // No signed part may change.
    let all = [Some(ID), Some(now.as_str()), Some(good.as_str())];
    let earlier = (NOW - 1).to_string();
    for (headers, body) in [
        (all, r#"{"id":"ntc_2"}"#),
        (all, ""),
        (all, r#"{"id":"ntc_1"} "#),
        ([Some("ntc_2"), all[1], all[2]], body),
        ([all[0], Some(&earlier), all[2]], body),
    ] {
        assert_eq!(
            judged(SECRET, headers, body.as_bytes()),
            wrong,
            "{headers:?} {body}"
        );
    }
    assert_eq!(judged(OTHER, all, body.as_bytes()), wrong);
    assert_eq!(
        judged("short", all, body.as_bytes()),
        Err(NoticeError::NoSecret)
    );
    assert_eq!(judged("", all, body.as_bytes()), Err(NoticeError::NoSecret));
    let long = vec![b'x'; NOTICE_MAX + 1];
    assert_eq!(judged(SECRET, all, &long), Err(NoticeError::TooLong));
}

#[test]
fn headers_that_are_missing_or_wrong_are_named() {
    let now = NOW.to_string();
    let all = [Some(ID), Some(now.as_str()), Some("v1,AAAA")];
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    for (place, name) in names.into_iter().enumerate() {
        let mut headers = all;
        headers[place] = None;
        assert_eq!(
            judged(SECRET, headers, b"{}"),
            Err(NoticeError::Missing(name))
        );
    }
    let long = "x".repeat(65);
    for id in ["", "a b", "ñ", "a\n", &long] {
        let headers = [Some(id), all[1], all[2]];
        let expected = judged(SECRET, headers, b"{}");
        assert_eq!(expected, Err(NoticeError::Malformed("webhook-id")), "{id}");
    }
    for time in [
        "",
        "-1",
        "+1795262400",
        "1795262400.5",
        " 1795262400",
        "1e9",
        "9999999999999",
        "now",
    ] {
        let headers = [all[0], Some(time), all[2]];
        let expected = judged(SECRET, headers, b"{}");
        assert_eq!(
            expected,
            Err(NoticeError::Malformed("webhook-timestamp")),
            "{time}"
        );
    }
}

fn origin() -> OriginId {
    OriginId::of_place(VoucherId {
        realm: RealmId(1),
        account: AccountNo(7),
        sequence: 3,
        tag: Tag::NONE,
    })
}

fn notice(kind: &str, data: Value) -> Value {
    json!({"id": ID, "object": "event", "created": "2026-11-21T12:00:00.000Z", "type": kind,
        "redeliveries": 0, "data": data})
}

fn received() -> Value {
    let bank = json!({"code": "285", "name": "Macro"});
    let from = json!({"cuit": "30717449076", "name": "Eva Perez", "cbu": "2850590940090418135201",
        "label": "eva.perez", "bank": bank});
    let details =
        json!({"origin_debit": from, "origin_credit": {"cvu": OURS, "cuit": "20055361682"}});
    let data = json!({"id": BANK_ID, "coelsa_id": COELSA, "type": "TRANSFERENCIA", "net_name": "COELSA",
        "business_date": "2026-11-21T03:00:00.000Z", "value": {"currency": "ARS", "amount": "10.50"},
        "details": details});
    notice("transfer.cvu.received", data)
}

fn settled(kind: &str, status: &str) -> Value {
    let data = json!({"id": BANK_ID, "origin_id": origin().to_string(), "coelsa_id": COELSA,
        "status": status, "value": {"currency": "ARS", "amount": "10.50"}});
    notice(kind, data)
}

fn reversed() -> Value {
    let data = json!({"id": BANK_ID, "origin_id": origin().to_string(), "coelsa_id": COELSA,
        "value": {"currency": "ARS", "amount": "10.50"}, "reason": "Problemas con el Crédito. REVERSAR"});
    notice("transfer.cvu.reversed", data)
}

/// A notice with another value at a place such as `/data/value/amount`.
fn with(mut notice: Value, place: &str, value: Value) -> Value {
    let (parent, name) = place.rsplit_once('/').unwrap();
    notice.pointer_mut(parent).unwrap()[name] = value;
    notice
}

fn amount() -> Amount {
    Amount::parse("10.5").unwrap()
}

fn money_in(from: Counterparty) -> Notice {
    Notice::Received {
        coelsa_id: COELSA.into(),
        bank_id: BANK_ID.into(),
        cvu: Cvu::parse(OURS).unwrap(),
        amount: amount(),
        from,
        at: Timestamp::parse("2026-11-21T12:00:00Z").unwrap(),
    }
}

fn ended(word: BankWord) -> Notice {
    let transfer = BankTransfer {
        bank_id: BANK_ID.into(),
        coelsa_id: Some(COELSA.into()),
        word,
        moved: BankMoved {
            amount: Some(amount()),
            currency: Some("ARS".into()),
            ..BankMoved::default()
        },
    };
    Notice::Settled {
        origin: origin(),
        transfer,
    }
}

#[test]
fn every_notice_reads() {
    let eva = Counterparty {
        cuit: Some("30717449076".into()),
        name: Some("Eva Perez".into()),
        cbu: Some("2850590940090418135201".into()),
        alias: Some("eva.perez".into()),
        bank: Some("Macro".into()),
        ..Counterparty::default()
    };
    let failed = with(
        settled("transfer.cvu.rejected", "FAILED"),
        "/data/reject_reason",
        json!("Cuenta 2850590940090418135201 \u{7}cerrada"),
    );
    let reason = "Cuenta …5201 cerrada".to_owned();
    let back = Notice::Reversed {
        origin: origin(),
        bank_id: BANK_ID.into(),
        coelsa_id: COELSA.into(),
        amount: amount(),
        reason: "Problemas con el Crédito. REVERSAR".into(),
    };
    let other = |kind: &str| Notice::Other { kind: kind.into() };
    let credin = with(received(), "/data/type", json!("CREDIN"));
    let number = with(received(), "/data/value/amount", json!(10.5));
    let strange = notice("debin\u{0}.acredited", json!(["anything"]));
    let long = notice(&"k".repeat(500), json!(5));
    for (said, expected) in [
        (received(), money_in(eva.clone())),
        (credin, money_in(eva.clone())),
        (number, money_in(eva)),
        (
            settled("transfer.cvu.completed", "COMPLETED"),
            ended(BankWord::Completed),
        ),
        (failed, ended(BankWord::Failed { reason })),
        (reversed(), back),
        (notice("endpoint.created", json!({})), Notice::Created),
        (strange, other("debin.acredited")),
        (long, other(&"k".repeat(64))),
    ] {
        assert_eq!(read(said.to_string().as_bytes()), Ok(expected), "{said}");
    }
}

#[test]
fn the_sender_is_shown_as_far_as_it_is_valid() {
    let long = "á".repeat(150);
    for (from, expected) in [
        (json!(null), Counterparty::default()),
        (json!("Eva"), Counterparty::default()),
        (
            json!({"cuit": "UNAVAILABLE", "name": "unavailable", "cbu": "", "label": "x", "bank": "Macro"}),
            Counterparty::default(),
        ),
        (
            json!({"cuit": "3".repeat(5_000), "name": {"a": 1}, "cbu": "1", "label": "con espacio", "bank": {}}),
            Counterparty::default(),
        ),
        (
            json!({"cuit": 30_717_449_076_u64, "name": format!(" {long}"), "bank": {"name": "\u{202e}Ma\ncro\u{0}"}}),
            Counterparty {
                cuit: Some("30717449076".into()),
                name: Some("á".repeat(100)),
                bank: Some("Macro".into()),
                ..Counterparty::default()
            },
        ),
    ] {
        let said = with(received(), "/data/details/origin_debit", from);
        assert_eq!(
            read(said.to_string().as_bytes()),
            Ok(money_in(expected)),
            "{said}"
        );
    }
}

#[test]
fn money_that_arrived_is_refused_by_the_member_that_makes_no_sense() {
    refused(vec![
        (received(), "/id", json!(""), "id"),
        (received(), "/id", json!("x".repeat(65)), "id"),
        (received(), "/object", json!("list"), "object"),
        (received(), "/type", json!("\u{0}"), "type"),
        (received(), "/data", json!(null), "data"),
        (received(), "/data", json!([]), "data"),
        (received(), "/data/id", json!("a b"), "data.id"),
        (received(), "/data/id", json!(5), "data.id"),
        (received(), "/data/coelsa_id", json!(""), "data.coelsa_id"),
        (
            received(),
            "/data/coelsa_id",
            json!("é".repeat(10)),
            "data.coelsa_id",
        ),
        (received(), "/data/type", json!("REVERSAL"), "data.type"),
    ]);
}

#[test]
fn amounts_and_keys_are_exact() {
    refused(vec![
        (
            received(),
            "/data/value/currency",
            json!("USD"),
            "data.value",
        ),
        (
            received(),
            "/data/value/amount",
            json!("0.00"),
            "data.value",
        ),
        (received(), "/data/value/amount", json!("-1"), "data.value"),
        (
            received(),
            "/data/value/amount",
            json!("1.001"),
            "data.value",
        ),
        (
            received(),
            "/data/value/amount",
            json!("1,50"),
            "data.value",
        ),
        (
            received(),
            "/data/value/amount",
            json!("9".repeat(16)),
            "data.value",
        ),
        (received(), "/data/value/amount", json!(["1"]), "data.value"),
        (received(), "/data/value/amount", json!(null), "data.value"),
        (received(), "/data/value", json!({}), "data.value"),
        (
            received(),
            "/data/details/origin_credit/cvu",
            json!("0000999100000000000018"),
            "data.details.origin_credit.cvu",
        ),
        (
            received(),
            "/data/details/origin_credit/cvu",
            json!("2850590940090418135201"),
            "data.details.origin_credit.cvu",
        ),
        (
            received(),
            "/data/details/origin_credit",
            json!(null),
            "data.details.origin_credit.cvu",
        ),
    ]);
}

#[test]
fn an_invalid_transfer_state_is_refused_likewise() {
    let completed = || settled("transfer.cvu.completed", "COMPLETED");
    refused(vec![
        (completed(), "/data/status", json!("FAILED"), "data.status"),
        (completed(), "/data/status", json!("PENDING"), "data.status"),
        (
            completed(),
            "/type",
            json!("transfer.cvu.rejected"),
            "data.status",
        ),
        (
            completed(),
            "/data/origin_id",
            json!("ajena"),
            "data.origin_id",
        ),
        (
            completed(),
            "/data/origin_id",
            json!(null),
            "data.origin_id",
        ),
        (completed(), "/data/value", json!(null), "data.value"),
        (completed(), "/data/id", json!(""), "data.id"),
        (
            completed(),
            "/data/coelsa_id",
            json!("a b"),
            "data.coelsa_id",
        ),
        (reversed(), "/data/origin_id", json!(""), "data.origin_id"),
        (reversed(), "/data/coelsa_id", json!(""), "data.coelsa_id"),
        (reversed(), "/data/id", json!(""), "data.id"),
        (reversed(), "/data/value/amount", json!("x"), "data.value"),
    ]);
}

fn refused(rows: Vec<(Value, &str, Value, &'static str)>) {
    for (said, place, value, name) in rows {
        let said = with(said, place, value);
        let expected = read(said.to_string().as_bytes());
        assert_eq!(expected, Err(NoticeError::Member(name)), "{said}");
    }
}

#[test]
fn texts_of_others_do_not_decide() {
    let text = received().to_string();
    let named = |name: &str| text.replace("Eva Perez", name);
    let latin: Vec<u8> = named("Jos\u{e9} Mu\u{f1}oz")
        .chars()
        .map(|c| u8::try_from(u32::from(c)).unwrap())
        .collect();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let charset = "application/json; charset=ISO-8859-1";
    for (body, kind, name) in [
        (
            named("Kiosco \\ud83d").into_bytes(),
            None,
            "Kiosco \u{fffd}",
        ),
        (named("Ki\u{0}os\u{1f}co").into_bytes(), None, "Kiosco"),
        (latin.clone(), None, "José Muñoz"),
        (latin, Some(charset), "José Muñoz"),
        (marked, None, "Eva Perez"),
        (
            text.replace("2026-11-21T12:00:00.000Z", "now").into_bytes(),
            None,
            "Eva Perez",
        ),
    ] {
        let heard = notices::read(&body, kind, Timestamp::from_millis(NOW * 1_000));
        let Ok(Notice::Received {
            from, amount: sum, ..
        }) = heard
        else {
            panic!("{name}: {heard:?}");
        };
        assert_eq!((from.name.as_deref(), sum), (Some(name), amount()));
    }
    let odd = with(reversed(), "/data/reason", json!(5));
    assert!(
        matches!(read(odd.to_string().as_bytes()), Ok(Notice::Reversed { reason, .. }) if reason.is_empty())
    );
}

#[test]
fn hostile_bodies_are_refused() {
    let text = received().to_string();
    let twice = text.replacen("\"object\"", "\"object\":\"event\",\"object\"", 1);
    let money = text.replacen("\"amount\"", "\"amount\":\"1.00\",\"amount\"", 1);
    let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
    let within = |place: &str| text.replacen(place, &format!("{place}\"x\":{deep},"), 1);
    let nested = within("\"origin_debit\":{");
    // Skipped members cost no stack.
    assert!(read(within("\"data\":{").as_bytes()).is_ok());
    // Who sent the money does not decide.
    assert_eq!(
        read(nested.as_bytes()),
        Ok(money_in(Counterparty::default()))
    );
    let exponent = text.replace("\"10.50\"", "1.05e1");
    let infinite = text.replace("\"10.50\"", "1e999");
    let (none, value) = (NoticeError::NotANotice, NoticeError::Member("data.value"));
    for (body, expected) in [
        (String::new(), none),
        ("null".into(), none),
        ("[]".into(), none),
        ("{}".into(), none),
        ("\u{feff}{}".into(), none),
        (format!("{text} x"), none),
        (text.trim_end_matches('}').to_owned(), none),
        (twice, none),
        (money, value),
        (deep, none),
        (exponent, value),
        (infinite, value),
        (
            format!("{text}{}", " ".repeat(NOTICE_MAX)),
            NoticeError::TooLong,
        ),
    ] {
        let shown: String = body.chars().take(300).collect();
        assert_eq!(read(body.as_bytes()), Err(expected), "{shown}");
    }
    assert_eq!(read(b"{\"id\":\"\xff\"}"), Err(none));
}
