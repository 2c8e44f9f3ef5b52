//! When two bodies are the same: when their JSON values are equal. The order of members, blanks, escapes and trailing
//! zeros of a fraction do not count. A number with an exponent is compared as it is spelled.
//!
//! **Bounds.** A value is read to a depth of [`DEPTH`]; anything deeper is compared as it is spelled, and so is text
//! that is no value (a member twice, an escape of half a character).

use std::collections::BTreeMap;

use caudal_ledger::chain::{Canonical, Digest};
use serde_json::value::RawValue;

use super::{Body, read};
use crate::text;

/// How many levels of a value are read.
const DEPTH: u8 = 32;

/// A hash of each field of a body, the same for equal values: it tells a repeat of a request from another request.
pub type Fingerprint = BTreeMap<String, Digest>;

/// The fingerprint of a body's fields.
pub fn fingerprint(body: &Body) -> Fingerprint {
    let hash = |value: &RawValue| Canonical::default().text(&canonical(value.get())).digest();
    let fields = body.0.iter();
    fields
        .map(|(name, value)| (name.clone(), hash(value)))
        .collect()
}

/// A text that is the same for equal values and differs for different ones.
pub fn canonical(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    write(raw, DEPTH, &mut out);
    out
}

fn write(raw: &str, depth: u8, out: &mut String) {
    let raw = raw.trim();
    let below = depth.checked_sub(1);
    match (raw.as_bytes().first(), below) {
        (Some(b'"'), _) => match read::string(raw) {
            Some(value) => out.push_str(&text::json(&value)),
            None => out.push_str(raw),
        },
        (Some(b'{'), Some(below)) => match serde_json::from_str::<Body>(raw) {
            Ok(Body(members)) => {
                let mut mark = '{';
                for (name, value) in &members {
                    out.push(mark);
                    out.push_str(&text::json(name));
                    out.push(':');
                    write(value.get(), below, out);
                    mark = ',';
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
            Err(_) => out.push_str(raw),
        },
        (Some(b'['), Some(below)) => match serde_json::from_str::<Vec<&RawValue>>(raw) {
            Ok(values) => {
                let mut mark = '[';
                for value in &values {
                    out.push(mark);
                    write(value.get(), below, out);
                    mark = ',';
                }
                out.push_str(if values.is_empty() { "[]" } else { "]" });
            }
            Err(_) => out.push_str(raw),
        },
        _ => out.push_str(number(raw)),
    }
}

/// A number without trailing zeros of its fraction; it never passes through binary floating point.
fn number(raw: &str) -> &str {
    if raw.contains('.') && !raw.contains(['e', 'E']) {
        raw.trim_end_matches('0').trim_end_matches('.')
    } else {
        raw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str) -> Fingerprint {
        fingerprint(&Body::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn equal_values_are_the_same_however_they_are_spelled() {
        for (one, other) in [
            (
                r#"{"a":1,"m":{"x":1,"y":2}}"#,
                r#"{ "m":{"y":2, "x":1}, "a": 1}"#,
            ),
            (r#"{"a":"\u00f1"}"#, r#"{"a":"ñ"}"#),
            (r#"{"a":"\/\u0041\ud83c\udf0a"}"#, r#"{"a":"/A🌊"}"#),
            (
                r#"{"\u0061":[ "\n" , {"\u00f1":null} ]}"#,
                r#"{"a":["\u000a",{"ñ":null}]}"#,
            ),
            (
                r#"{"a":1.50,"b":{"c":[2.0]}}"#,
                r#"{"b":{"c":[2]},"a":1.5}"#,
            ),
        ] {
            assert_eq!(print(one), print(other), "{one}");
        }
        for (one, other) in [
            (r#"{"a":99999999999999.99}"#, r#"{"a":99999999999999.98}"#),
            (
                r#"{"a":[99999999999999.99]}"#,
                r#"{"a":[99999999999999.98]}"#,
            ),
            (r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[2,1]}}"#),
            (r#"{"a":"1.5"}"#, r#"{"a":1.5}"#),
            (r#"{"a":"1.50"}"#, r#"{"a":"1.5"}"#),
            (r#"{"a":"ñ"}"#, r#"{"a":"n\u0303"}"#),
            (r#"{"a":{}}"#, r#"{"a":[]}"#),
            (r#"{"a":null}"#, r#"{}"#),
            (r#"{"a":100}"#, r#"{"a":10}"#),
        ] {
            assert_ne!(print(one), print(other), "{one}");
        }
    }

    #[test]
    fn a_hash_is_of_the_value_as_it_is_spelled_without_escapes_and_blanks() {
        let kept = |raw: &str| Canonical::default().text(raw).digest();
        let plain = print(r#"{"a":"\u00f1","b":12.50,"c":{"x":1,"y":[ "z"]}}"#);
        assert_eq!(plain["a"], kept(r#""ñ""#));
        assert_eq!(plain["b"], kept("12.5"));
        assert_eq!(plain["c"], kept(r#"{"x":1,"y":["z"]}"#));
    }

    #[test]
    fn nesting_costs_no_stack() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(print(&deep).len(), 1);
    }
}
