//! When two bodies are the same: when their JSON values are equal. The order of members, blanks, escapes and trailing
//! zeros of a fraction do not count. A number with an exponent is compared as it is spelled.
//!
//! **Bounds.** A value is read to a depth of [`DEPTH`]; anything deeper is compared as it is spelled, and so is text
//! that is no value (a member twice, an escape of half a character).

use std::collections::BTreeMap;

use caudal_ledger::chain::{Canonical, Digest};
use serde_json::value::RawValue;

use super::{Body, read};
use crate::http::text;

/// How many levels of a value are read.
const DEPTH: u8 = 32;

/// The hashes that tell a repeat of a request from another request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fingerprint {
    /// A hash of each field of the body, the same for equal values.
    pub fields: BTreeMap<String, Digest>,
    /// The hashes as the first versions of the program took them, for the fields where they differ: answers kept by
    /// those versions are found by them.
    pub spelled: BTreeMap<String, Digest>,
}

impl Fingerprint {
    /// The fingerprint of a body's fields.
    pub fn of(body: &Body) -> Self {
        let mut print = Self::default();
        for (name, value) in &body.0 {
            print.add(name, hash(&canonical(value.get())), spelled(value.get()));
        }
        print
    }

    /// Adds a field, with its hash of today and that of the first versions.
    pub fn add(&mut self, name: &str, today: Digest, before: Digest) {
        if before != today {
            self.spelled.insert(name.to_owned(), before);
        }
        self.fields.insert(name.to_owned(), today);
    }
}

fn hash(text: &str) -> Digest {
    Canonical::default().text(text).digest()
}

/// The hash as the first versions of the program took it: a value that is not nested counted as it was spelled.
fn spelled(raw: &str) -> Digest {
    let raw = raw.trim();
    let nested = raw.starts_with(['{', '[']);
    let value = nested.then(|| serde_json::from_str::<serde_json::Value>(raw).ok());
    match value.flatten() {
        Some(value) => hash(&value.to_string()),
        None => hash(raw),
    }
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
    match raw.contains('.') && !raw.contains(['e', 'E']) {
        true => raw.trim_end_matches('0').trim_end_matches('.'),
        false => raw,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str) -> Fingerprint {
        Fingerprint::of(&Body::parse(text.as_bytes()).unwrap())
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
            assert_eq!(print(one).fields, print(other).fields, "{one}");
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
            assert_ne!(print(one).fields, print(other).fields, "{one}");
        }
    }

    #[test]
    fn what_was_kept_before_is_found_by_its_spelling() {
        let kept = |raw: &str| Canonical::default().text(raw).digest();
        // Nothing is escaped, so both hashes agree and only one is kept.
        let plain = print(r#"{"a":"ñ","b":12.5,"c":{"x":1,"y":["z"]}}"#);
        assert_eq!(
            (plain.fields["a"], plain.spelled.len()),
            (kept(r#""ñ""#), 0)
        );
        assert_eq!(plain.fields["c"], kept(r#"{"x":1,"y":["z"]}"#));
        let escaped = print(r#"{"a":"\u00f1","b":12.50}"#);
        assert_eq!(escaped.spelled["a"], kept(r#""\u00f1""#));
        assert_eq!(escaped.spelled["b"], kept("12.50"));
    }

    #[test]
    fn nesting_costs_no_stack() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
        assert_eq!(print(&deep).fields.len(), 1);
    }
}
