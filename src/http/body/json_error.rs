//! Why a text is no body: a refused text is read a second time, and the reason is given in our own words.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::nearest::shown;
use crate::words::{Expected, Mistake, Refusal};

/// The first name that an object has twice.
struct DuplicateName(Option<String>);

impl<'de> Deserialize<'de> for DuplicateName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = DuplicateName;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DuplicateName, A::Error> {
                let (mut seen, mut twice) = (BTreeSet::new(), None);
                while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    if seen.contains(&name) {
                        twice.get_or_insert(name);
                    } else {
                        seen.insert(name);
                    }
                }
                Ok(DuplicateName(twice))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Why a text is not one JSON object without duplicate fields.
pub fn no_body(text: &str) -> Refusal {
    let why = match serde_json::from_str(text) {
        Ok(DuplicateName(Some(name))) => return Refusal::FieldTwice { name: shown(&name) },
        Ok(DuplicateName(None)) => return Refusal::NotAnObject,
        Err(why) => why,
    };
    if text.trim().is_empty() {
        return Refusal::NoBody;
    }
    match why.classify() {
        Category::Data => Refusal::NotAnObject,
        Category::Syntax | Category::Eof | Category::Io => Refusal::NotValidJson {
            line: why.line(),
            column: column(text, &why),
            expected: expected(&why),
        },
    }
}

/// Why a value of a body is not an object without duplicate fields.
pub fn no_object(raw: &str) -> Mistake {
    match serde_json::from_str(raw) {
        Ok(DuplicateName(Some(name))) => Mistake::FieldTwice { name: shown(&name) },
        Ok(DuplicateName(None)) | Err(_) => Mistake::NotAnObject,
    }
}

/// Why a value of a body is not a list of objects without duplicate fields.
pub fn no_objects(raw: &str) -> Mistake {
    let Ok(entries) = serde_json::from_str::<Vec<&RawValue>>(raw) else {
        return Mistake::NotObjects;
    };
    let mut wrong = entries.into_iter().map(|it| no_object(it.get()));
    let twice = wrong.find(|it| matches!(it, Mistake::FieldTwice { .. }));
    twice.unwrap_or(Mistake::NotObjects)
}

/// The column in characters, from 1; the parser counts bytes.
fn column(text: &str, why: &serde_json::Error) -> usize {
    let line = text.split('\n').nth(why.line().saturating_sub(1));
    let before = line.and_then(|line| line.get(..why.column()));
    before.map_or(why.column(), |before| before.chars().count())
}

/// What would have been right where the parser stopped. The parser says so only in words of its own: if these are not
/// known here, the answer has only the place.
fn expected(why: &serde_json::Error) -> Expected {
    let said = why.to_string();
    let known = EXPECTED.iter().find(|(words, _)| said.starts_with(words));
    known.map_or(Expected::Json, |(_, expected)| *expected)
}

const EXPECTED: [(&str, Expected); 16] = [
    ("EOF while parsing a string", Expected::Quote),
    ("EOF while parsing", Expected::More),
    ("expected `:`", Expected::Colon),
    ("expected `,` or `]`", Expected::ListGoesOn),
    ("expected `,` or `}`", Expected::ObjectGoesOn),
    ("expected ident", Expected::Value),
    ("expected value", Expected::Value),
    ("expected `\"`", Expected::Name),
    ("key must be a string", Expected::Name),
    ("trailing comma", Expected::NoComma),
    ("trailing characters", Expected::End),
    ("control character", Expected::NoControl),
    ("invalid escape", Expected::Escape),
    ("lone leading surrogate", Expected::Escape),
    ("unexpected end of hex escape", Expected::Escape),
    ("invalid number", Expected::Number),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::current::Language::{English, Spanish};
    use crate::words::Say as _;

    #[test]
    fn the_place_and_what_was_expected_there_are_said() {
        for (text, line, column, expected) in [
            ("{", 1, 1, Expected::More),
            ("{\"a\": 1", 1, 7, Expected::More),
            ("{\"a\": \"x", 1, 8, Expected::Quote),
            ("{\"a\" 1}", 1, 6, Expected::Colon),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", 3, 3, Expected::ObjectGoesOn),
            ("{\"a\": [1 2]}", 1, 10, Expected::ListGoesOn),
            ("{\"a\": NaN}", 1, 7, Expected::Value),
            ("{\"a\": tru}", 1, 10, Expected::Value),
            ("{'a': 1}", 1, 2, Expected::Name),
            ("{\"a\": 1,}", 1, 9, Expected::NoComma),
            ("{\"a\": 1} x", 1, 10, Expected::End),
            ("{\"ñ\": \"á\", b}", 1, 12, Expected::Name),
            ("{\"a\": \"x\ny\"}", 1, 8, Expected::NoControl),
            ("{\"a\": \"\\x\"}", 1, 9, Expected::Escape),
            ("{\"a\": 01}", 1, 8, Expected::Number),
        ] {
            let right = Refusal::NotValidJson {
                line,
                column,
                expected,
            };
            assert_eq!(no_body(text), right, "{text}");
        }
    }

    #[test]
    fn a_field_that_comes_twice_is_named() {
        let twice = no_body(r#"{"amount": 1, "b": {"x": 1}, "\u0061mount": 2, "b": 3}"#);
        let said = "the body contains the field amount more than once";
        assert_eq!(twice.text(English), said);
        assert!(twice.text(Spanish).contains("amount"));
        assert_eq!(
            no_object(r#"{"x": 1, "x": 2}"#).text(English),
            "must not contain the field x more than once"
        );
        assert_eq!(
            no_objects(r#"[{"x": 1}, {"y": 1, "y": 2}]"#).text(English),
            "must not contain the field y more than once"
        );
        assert_eq!(no_objects("[1]"), Mistake::NotObjects);
        assert_eq!(no_object("[]"), Mistake::NotAnObject);
        for text in ["[]", "1", "null", "\"{}\""] {
            assert_eq!(no_body(text), Refusal::NotAnObject, "{text}");
        }
        for text in ["", "   "] {
            assert_eq!(no_body(text), Refusal::NoBody, "{text}");
        }
    }
}
