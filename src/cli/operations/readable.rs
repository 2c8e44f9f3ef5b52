//! Answers of the admin API as people read them: tables and pages, with units.
//!
//! The units follow from the names of fields (`ageSeconds`, `diskBytes`) and the form of texts (an amount has two
//! decimals). What is null or empty is left out of a page, and its id comes first. Nesting is bounded by the reader of JSON.

use caudal_http::units::{duration, grouped, size};
use serde_json::Value;

use super::super::table::aligned;

/// How an answer is printed.
#[derive(Debug)]
pub(in super::super) enum Shown {
    /// All of the value that the dots lead to, or of the answer.
    Page(&'static str),
    /// The list that the dots lead to, or the answer, as a table with these columns, see [`rows`].
    Rows(&'static str, &'static [&'static str]),
    /// A text that is shown once.
    Secret(&'static str),
    /// A sentence: there is no answer.
    Sentence(&'static str),
}

/// The words of names that are units.
const UNITS: [&str; 5] = ["bytes", "seconds", "millis", "ms", "micros"];

/// An answer as text.
pub(in super::super) fn shown_as(shown: &Shown, answer: &Value) -> String {
    match shown {
        Shown::Page(at) => match page(found(answer, at)).as_slice() {
            [] => "none".to_owned(),
            lines => lines.join("\n"),
        },
        Shown::Rows(at, columns) => {
            let list = found(answer, at);
            let list = list.as_array().map_or(&[][..], Vec::as_slice);
            let rest = answer.get("total").and_then(Value::as_u64);
            let skipped = answer.get("offset").and_then(Value::as_u64);
            let seen = u64::try_from(list.len()).ok().zip(skipped);
            let seen = seen.and_then(|(count, skipped)| count.checked_add(skipped));
            match seen.zip(rest) {
                Some((seen, all)) if seen < all => format!(
                    "{}\n{seen} of {all}: continue with --offset {seen}",
                    rows(list, columns)
                ),
                Some(_) | None => rows(list, columns),
            }
        }
        Shown::Secret(name) => format!(
            "{}\n\nThis is shown this once: keep it in a safe place.",
            cell(answer, name)
        ),
        Shown::Sentence(sentence) => (*sentence).to_owned(),
    }
}

/// Rows as a table. A column is the path of a field, with ` as ` and the header where that is not the field's name.
pub(in super::super) fn rows(rows: &[Value], columns: &[&str]) -> String {
    let columns = columns.iter().map(|column| {
        let (path, header) = column.split_once(" as ").unwrap_or((column, ""));
        let (_, name) = path.rsplit_once('.').unwrap_or(("", path));
        let header = if header.is_empty() {
            label(name, true)
        } else {
            header.to_owned()
        };
        (path, header)
    });
    let columns: Vec<_> = columns.collect();
    let header: Vec<_> = columns.iter().map(|(_, header)| header.as_str()).collect();
    let line = |row: &Value| -> Vec<String> {
        let cells = columns.iter().map(|(path, _)| cell(row, path));
        cells.collect()
    };
    aligned(&header, rows.iter().map(line))
}

/// The value that the dots of a path lead to.
fn found<'a>(value: &'a Value, path: &str) -> &'a Value {
    let names = path.split('.').filter(|name| !name.is_empty());
    names.fold(value, |at, name| at.get(name).unwrap_or(&Value::Null))
}

/// A field of a row in readable form.
pub(super) fn cell(row: &Value, path: &str) -> String {
    let (_, name) = path.rsplit_once('.').unwrap_or(("", path));
    match found(row, path) {
        Value::Null => "-".to_owned(),
        Value::Array(all) => joined(all.iter().map(|value| text(name, value)), ", "),
        value => text(name, value),
    }
}

/// A value on one line.
fn text(name: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => pesos(text).unwrap_or_else(|| text.clone()),
        Value::Number(number) => number
            .as_u64()
            .and_then(|number| with_unit(name, number))
            .unwrap_or_else(|| number.to_string()),
        Value::Array(all) => joined(all.iter().map(|value| text(name, value)), " "),
        Value::Object(fields) => joined(fields.iter().map(|(name, value)| text(name, value)), " "),
    }
}

fn joined(parts: impl Iterator<Item = String>, between: &str) -> String {
    parts.collect::<Vec<_>>().join(between)
}

/// The fields of a value, a line each; what is inside of them is indented.
fn page(value: &Value) -> Vec<String> {
    let mut fields: Vec<_> = match value {
        Value::Object(fields) => fields.iter().filter(|(_, value)| is_there(value)).collect(),
        Value::Array(all) => return all.iter().flat_map(block).collect(),
        Value::Null => return Vec::new(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => return vec![text("", value)],
    };
    fields.sort_by_key(|(name, _)| *name != "id");
    let named = fields.into_iter().map(|(name, value)| {
        let label = label(name, value.is_u64());
        (name, label, value)
    });
    let named: Vec<_> = named.collect();
    let lengths = named.iter().map(|(_, label, _)| label.chars().count());
    let width = lengths.fold(0, usize::max);
    let mut lines = Vec::new();
    for (name, label, value) in named {
        let inner: Vec<_> = match value {
            Value::Object(_) => page(value),
            Value::Array(all) if all.iter().any(Value::is_object) => {
                all.iter().flat_map(block).collect()
            }
            value => {
                let text = text(name, value).replace(char::is_control, " ");
                lines.push(format!("{label:<width$}  {text}"));
                continue;
            }
        };
        lines.push(label);
        lines.extend(inner.into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// An item of a list: its first line has a dash before it.
fn block(item: &Value) -> Vec<String> {
    let mark = |(at, line): (usize, String)| {
        let mark = if at == 0 { "- " } else { "  " };
        format!("{mark}{line}")
    };
    page(item).into_iter().enumerate().map(mark).collect()
}

/// Whether a value says something.
fn is_there(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Array(all) => !all.is_empty(),
        Value::Object(fields) => fields.values().any(is_there),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The words of a name: `ageSeconds` is "age seconds", or "age" if its unit is shown with the value.
fn label(name: &str, without_unit: bool) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    let plain: Vec<_> = words
        .split(' ')
        .filter(|word| !UNITS.contains(word))
        .collect();
    if without_unit && !plain.is_empty() {
        plain.join(" ")
    } else {
        words
    }
}

/// A number with the unit that its name has.
fn with_unit(name: &str, number: u64) -> Option<String> {
    let words = label(name, false);
    let unit = words.split(' ').find(|word| UNITS.contains(word))?;
    Some(match unit {
        "bytes" => {
            let (number, unit) = size(number);
            format!("{number} {unit}")
        }
        "seconds" => duration(number),
        "micros" if number < 1_000 => format!("{number} µs"),
        "micros" => millis(number / 1_000),
        _ => millis(number),
    })
}

fn millis(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} ms"),
        1_000..10_000 => format!("{}.{} s", number / 1_000, number % 1_000 / 100),
        _ => duration(number / 1_000),
    }
}

/// An amount with separators; `None` if the text is none.
fn pesos(text: &str) -> Option<String> {
    let (_, centavos) = text.split_once('.')?;
    let is_amount = centavos.len() == 2 && centavos.bytes().all(|b| b.is_ascii_digit());
    grouped(text, ',', '.').filter(|_| is_amount)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_the_units_of_their_names() {
        for (name, value, right) in [
            ("ageSeconds", json!(59), "59 s"),
            ("ageSeconds", json!(3_723), "1 h 2 min"),
            ("completeSecondsAgo", json!(90_000), "1 d 1 h"),
            ("leaseLeftMs", json!(2_340), "2.3 s"),
            ("lastFlushMicros", json!(350), "350 µs"),
            ("diskBytes", json!(1_023), "1023 B"),
            ("blockCacheBytesMax", json!(1_610_612_736_u64), "1.5 GiB"),
            ("bytes", json!(20_971_520), "20.0 MiB"),
            ("amount", json!("-1234567.80"), "-1,234,567.80"),
            ("amount", json!("999.00"), "999.00"),
            ("coverageRatio", json!("1234.9782"), "1234.9782"),
            ("covered", json!(false), "no"),
            ("commit", json!(1_234_567), "1234567"),
        ] {
            assert_eq!(text(name, &value), right, "{name}");
        }
    }

    #[test]
    fn a_page_has_a_line_for_each_field_that_says_something() {
        let answer = json!({"ageSeconds": 61, "id": "x", "none": null, "empty": {"a": null},
            "transfer": {"amount": "1000.00"}, "bankCalls": [{"status": 200, "body": "a\nb"}, {"status": 404}]});
        let right = "id          x\nage         1 min 1 s\nbank calls\n  - body    a b\n    status  200\n\
            \x20 - status  404\ntransfer\n  amount  1,000.00";
        assert_eq!(shown_as(&Shown::Page(""), &answer), right);
        assert_eq!(shown_as(&Shown::Page("empty"), &answer), "none");
    }
}
