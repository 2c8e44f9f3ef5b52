//! The parts of the bank's answers that may be recorded or shown: JSON without persons, numbers that could be
//! somebody's cut to dots, within a limit.

use caudal_ledger::cuit::Cuit;
use caudal_ledger::ids::OriginId;
use caudal_ledger::money::Amount;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

/// The longest body in the journal, in bytes.
pub(super) const JOURNAL_MAX: usize = 2 * 1024;
/// The longest body that is shown to callers, in bytes.
pub(super) const SHOWN_MAX: usize = 4 * 1024;
/// The longest list, in bytes, that is cleaned of persons to see whether it then fits into the journal; of a longer
/// one only the number of its items is kept.
const LIST_READ_MAX: usize = 8 * JOURNAL_MAX;
/// The longest message that is kept of a body that is too long, in bytes.
const MESSAGE_MAX: usize = 1_000;
/// How many levels of a body are kept.
const DEPTH_MAX: usize = 16;
/// From this many digits on, a number may be somebody's document.
const SECRET_DIGITS: usize = 7;
/// From this many digits on, a number is an account, and its last four digits may be shown.
const ACCOUNT_DIGITS: usize = 20;

/// Members that name a person or give access.
const PERSONAL: [&str; 17] = [
    "owners",
    "owner",
    "name",
    "display_name",
    "nombre",
    "apellido",
    "razon_social",
    "titular",
    "titulares",
    "cuit",
    "cuil",
    "dni",
    "email",
    "emails",
    "description",
    "token",
    // An alias is as good as the number of its account, and often a name.
    "label",
];

/// The last four digits of a CVU.
pub(super) fn last4(cvu: &str) -> String {
    format!(
        "…{}",
        cvu.get(cvu.len().saturating_sub(4)..).unwrap_or_default()
    )
}

/// A body for the journal.
pub(super) fn for_the_journal(body: &str) -> String {
    // A page of movements: its reader checks each of them, and cleaning them here would double that work.
    if body.len() > LIST_READ_MAX
        && let Ok(items) = serde_json::from_str::<Vec<IgnoredAny>>(body)
    {
        return counted(items.len());
    }
    match serde_json::from_str::<Value>(body) {
        Ok(value) => within(clean(value, 0), JOURNAL_MAX),
        Err(_) if body.is_empty() => String::new(),
        // It is unknown whose data is in it.
        Err(_) => format!("(not JSON: {} bytes)", body.len()),
    }
}

/// A body to be shown to callers: always the text of a JSON object.
pub(super) fn to_be_shown(body: &str) -> String {
    match serde_json::from_str::<Value>(body) {
        Ok(value @ Value::Object(_)) => within(clean(value, 0), SHOWN_MAX),
        _ => "{}".to_owned(),
    }
}

/// The text of a body; if it is too long, its code and message, or the length of the list.
fn within(value: Value, max: usize) -> String {
    let text = value.to_string();
    if text.len() <= max {
        return text;
    }
    if let Some(items) = value.as_array() {
        return counted(items.len());
    }
    let short = |key: &str| {
        let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
        text.get(..text.floor_char_boundary(MESSAGE_MAX.min(text.len())))
            .unwrap_or_default()
            .to_owned()
    };
    let short = json!({"code": code_of(&short("code")), "message": short("message")}).to_string();
    // Characters that JSON must escape can still make it too long.
    if short.len() <= max {
        short
    } else {
        "{}".to_owned()
    }
}

/// The record of a list that is too long.
fn counted(items: usize) -> String {
    json!({"items": items}).to_string()
}

/// The bank's codes are short words: anything longer is cut.
fn code_of(text: &str) -> String {
    text.chars().take(40).collect()
}

fn clean(value: Value, depth: usize) -> Value {
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    let deeper = depth.saturating_add(1);
    match value {
        Value::Object(members) => {
            let kept = members
                .into_iter()
                .map(|(key, value)| {
                    let lower = key.to_ascii_lowercase();
                    let personal = PERSONAL.contains(&lower.as_str());
                    let value = match plain(&key, &value) {
                        _ if personal => json!("…"),
                        Some(plain) => json!(plain),
                        None => clean(value, deeper),
                    };
                    (dotted(&key), value)
                })
                .collect::<Map<_, _>>();
            Value::Object(kept)
        }
        Value::Array(items) => items.into_iter().map(|it| clean(it, deeper)).collect(),
        Value::String(text) => Value::String(dotted(&text)),
        Value::Number(number) => {
            let text = number.to_string();
            let dotted = dotted(&text);
            if dotted == text {
                Value::Number(number)
            } else {
                Value::String(dotted)
            }
        }
        plain @ (Value::Null | Value::Bool(_)) => plain,
    }
}

/// The text of an id or amount as it may be recorded, so that a transfer can be found again: long numbers are part of
/// these. `None` for any other member, and for a value that is no such id or amount.
fn plain(key: &str, value: &Value) -> Option<String> {
    let text = value.as_str()?;
    match key {
        // 15 characters, so nobody's document or account.
        "origin_id" | "reverses" => OriginId::parse(text).map(|_| text.to_owned()),
        "coelsa_id" => {
            let good = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
            let letters = text.bytes().any(|b| b.is_ascii_uppercase());
            (text.len() == 22 && letters && text.bytes().all(good)).then(|| text.to_owned())
        }
        "id" => transfer_id(text),
        // With two decimals it is money.
        "amount" => {
            let money = text.len() > 3 && text.rfind('.') == Some(text.len().saturating_sub(3));
            (money && Amount::parse_or_zero(text).is_ok()).then(|| text.to_owned())
        }
        _ => None,
    }
}

/// The bank's id of a transfer, `1-<CUIT>-<number>-0`, without the CUIT.
fn transfer_id(text: &str) -> Option<String> {
    let mut parts = text.split('-');
    let mut part = || parts.next().unwrap_or_default();
    let (prefix, cuit, number, last) = (part(), part(), part(), part());
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let good = matches!(prefix, "1" | "AT" | "WP")
        && cuit.len() == 11
        && digits(cuit)
        && (1..ACCOUNT_DIGITS).contains(&number.len())
        && digits(number)
        && Cuit::parse(number).is_err()
        && matches!(last, "0" | "1")
        && parts.next().is_none();
    good.then(|| format!("{prefix}-…-{number}-{last}"))
}

/// A text with its long numbers cut to dots; of an account the last four digits stay.
pub(super) fn dotted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut digits = String::new();
    for c in text.chars() {
        if c.is_ascii_digit() {
            digits.push(c);
        } else {
            flush(&mut out, &mut digits);
            out.push(c);
        }
    }
    flush(&mut out, &mut digits);
    out
}

fn flush(out: &mut String, digits: &mut String) {
    if digits.len() >= ACCOUNT_DIGITS {
        out.push_str(&last4(digits));
    } else if digits.len() >= SECRET_DIGITS {
        out.push('…');
    } else {
        out.push_str(digits);
    }
    digits.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_do_not_get_into_the_journal() {
        let body = r#"{"owners":[{"display_name":"Ana"}],"cvu":"0000999100000000000017","n":20123456786,
            "message":"El CUIT 20-12345678-6 (20123456786) no es de 0000999100000000000017","code":"VW009","ok":[1,true]}"#;
        let text = for_the_journal(body);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            json!({"owners": "…", "cvu": "…0017", "n": "…", "code": "VW009", "ok": [1, true],
                "message": "El CUIT 20-…-6 (…) no es de …0017"})
        );
        assert_eq!(for_the_journal("<html>Ana</html>"), "(not JSON: 16 bytes)");
        assert_eq!(for_the_journal(""), "");
    }

    #[test]
    fn ids_and_amounts_of_transfers_stay_and_only_these() {
        let origin = "000080000G00003";
        assert!(OriginId::parse(origin).is_some());
        let body = json!({
            "id": "1-20123456786-1234567890-0", "origin_id": origin, "reverses": origin,
            "coelsa_id": "80V1JXON1874QG39Z64EL7", "status": "FAILED", "code": "TX500",
            "value": {"currency": "ARS", "amount": "12345678.90"}, "description": "para Ana",
            "emails": ["ana@example.com"], "reversed": false,
            "to": {"cbu": "2850590940090418135201", "label": "ana.ana", "name": "Ana", "bank": {"code": "285", "name": "X"}},
        });
        let shown_json: Value = serde_json::from_str(&for_the_journal(&body.to_string())).unwrap();
        assert_eq!(
            shown_json,
            json!({
                "id": "1-…-1234567890-0", "origin_id": origin, "reverses": origin,
                "coelsa_id": "80V1JXON1874QG39Z64EL7", "status": "FAILED", "code": "TX500",
                "value": {"currency": "ARS", "amount": "12345678.90"}, "description": "…",
                "emails": "…", "reversed": false,
                "to": {"cbu": "…5201", "label": "…", "name": "…", "bank": {"code": "285", "name": "…"}},
            })
        );
        // Values that are no such id or amount, in the place of one.
        for (key, text, shown) in [
            ("id", "20123456786", "…"),
            ("id", "1-20123456786-20123456786-0", "1-…-…-0"),
            ("id", "2850590940090418135201", "…5201"),
            ("origin_id", "20123456786", "…"),
            ("coelsa_id", "2850590940090418135201", "…5201"),
            ("amount", "20123456786", "…"),
            ("amount", "x20123456786.00", "x….00"),
        ] {
            let mut body = Map::new();
            body.insert(key.to_owned(), json!(text));
            let shown_json = for_the_journal(&Value::Object(body).to_string());
            let shown_json: Value = serde_json::from_str(&shown_json).unwrap();
            assert_eq!(shown_json[key], shown, "{key} {text}");
        }
        let page = vec![body; 200];
        let shown_json = for_the_journal(&json!(page).to_string());
        assert_eq!(shown_json, "{\"items\":200}");
    }

    #[test]
    fn a_list_is_recorded_by_its_items_or_their_count() {
        let list = |length: usize| json!([{"status": "DONE", "description": "x".repeat(length)}]);
        let kept = |length: usize| for_the_journal(&list(length).to_string());
        assert_eq!(
            kept(JOURNAL_MAX),
            r#"[{"description":"…","status":"DONE"}]"#
        );
        assert_eq!(kept(LIST_READ_MAX), r#"{"items":1}"#);
        let mut broken = list(LIST_READ_MAX).to_string();
        broken.pop();
        let length = broken.len();
        assert_eq!(
            for_the_journal(&broken),
            format!("(not JSON: {length} bytes)")
        );
    }

    #[test]
    fn what_is_shown_is_an_object_within_its_limit() {
        for bad in ["", "[]", "\"x\"", "<html>", "{\"a\":"] {
            assert_eq!(to_be_shown(bad), "{}");
        }
        let long = json!({"code": "TX500", "message": "á".repeat(3_000), "x": "y".repeat(9_000)});
        let text = to_be_shown(&long.to_string());
        assert!(text.len() <= SHOWN_MAX);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["code"], "TX500");
        assert_eq!(value["message"].as_str().unwrap().len(), MESSAGE_MAX);
        let odd = json!({"code": "\u{1}".repeat(9_000), "message": "\u{1}".repeat(9_000)});
        let text = for_the_journal(&odd.to_string());
        assert!(text.len() <= JOURNAL_MAX);
    }
}
