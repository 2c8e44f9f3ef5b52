//! What of the bank's answers may be written down or shown: JSON without persons, numbers that
//! could be somebody's cut to dots, within a limit.

use serde_json::{Map, Value, json};

/// The longest body in the journal, in bytes.
pub(super) const JOURNAL_MAX: usize = 2 * 1024;
/// The longest body that is given out, in bytes.
pub(super) const SHOWN_MAX: usize = 4 * 1024;
/// The longest message that is kept of a body that is too long, in bytes.
const MESSAGE_MAX: usize = 1_000;
/// How deep a body may be nested.
const DEPTH_MAX: usize = 16;
/// From so many digits on, a number may be somebody's document.
const SECRET_DIGITS: usize = 7;
/// From so many digits on, it is an account of which the end may be shown.
const ACCOUNT_DIGITS: usize = 20;

/// Members that tell of a person or let somebody in.
const PERSONAL: [&str; 14] = [
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
    "token",
];

/// The last four digits of a CVU.
pub(super) fn last4(cvu: &str) -> String {
    format!(
        "…{}",
        cvu.get(cvu.len().saturating_sub(4)..).unwrap_or_default()
    )
}

/// A body for the journal.
pub(super) fn for_the_journal(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => within(clean(value, 0), JOURNAL_MAX),
        Err(_) if body.is_empty() => String::new(),
        // Nobody knows whose data is in it.
        Err(_) => format!("(not JSON: {} bytes)", body.len()),
    }
}

/// A body to be given out: always the text of a JSON object.
pub(super) fn to_be_shown(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value @ Value::Object(_)) => within(clean(value, 0), SHOWN_MAX),
        _ => "{}".to_owned(),
    }
}

/// The text of a body; of a longer one its code and message.
fn within(value: Value, max: usize) -> String {
    let text = value.to_string();
    if text.len() <= max {
        return text;
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

/// A code is a short word.
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
                    let personal = PERSONAL.contains(&key.to_ascii_lowercase().as_str());
                    let value = if personal {
                        json!("…")
                    } else {
                        clean(value, deeper)
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
        let body = br#"{"owners":[{"display_name":"Ana"}],"cvu":"0000999100000000000017","n":20123456786,
            "message":"El CUIT 20-12345678-6 (20123456786) no es de 0000999100000000000017","code":"VW009","ok":[1,true]}"#;
        let text = for_the_journal(body);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            value,
            json!({"owners": "…", "cvu": "…0017", "n": "…", "code": "VW009", "ok": [1, true],
                "message": "El CUIT 20-…-6 (…) no es de …0017"})
        );
        assert_eq!(for_the_journal(b"<html>Ana</html>"), "(not JSON: 16 bytes)");
        assert_eq!(for_the_journal(b""), "");
    }

    #[test]
    fn what_is_shown_is_an_object_within_its_limit() {
        for bad in [&b""[..], b"[]", b"\"x\"", b"<html>", b"{\"a\":"] {
            assert_eq!(to_be_shown(bad), "{}");
        }
        let long = json!({"code": "TX500", "message": "á".repeat(3_000), "x": "y".repeat(9_000)});
        let text = to_be_shown(long.to_string().as_bytes());
        assert!(text.len() <= SHOWN_MAX);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["code"], "TX500");
        assert_eq!(value["message"].as_str().unwrap().len(), MESSAGE_MAX);
        let odd = json!({"code": "\u{1}".repeat(9_000), "message": "\u{1}".repeat(9_000)});
        let text = for_the_journal(odd.to_string().as_bytes());
        assert!(text.len() <= JOURNAL_MAX);
    }
}
