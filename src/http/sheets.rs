//! Rows for spreadsheets: cells that no program takes for a formula, and rows of CSV.

pub mod columns;

use std::borrow::Cow;

use caudal_ledger::time::Timestamp;
use serde_json::Value;

/// A table, with its columns as CSV.
#[derive(Clone, Copy, Debug)]
pub struct SheetKind {
    /// The values of a row, in their order.
    pub columns: &'static [&'static str],
}

/// The name of the business day of an instant, behind the name of the instant.
const DAY: &str = "date";

/// The value of a column, if there is one.
fn found<'a>(body: &'a Value, column: &str) -> Option<Cow<'a, Value>> {
    let mut value = body;
    for name in column.split('.') {
        value = match value {
            Value::String(instant) if name == DAY => {
                let day = Timestamp::parse(instant)?.business_day();
                return Some(Cow::Owned(day.to_string().into()));
            }
            other => other.get(name)?,
        };
    }
    match value {
        Value::Null => None,
        Value::Object(inner) if inner.is_empty() => None,
        value => Some(Cow::Borrowed(value)),
    }
}

/// The value of a column, as a cell.
pub fn cell(body: &Value, column: &str) -> String {
    match found(body, column).as_deref() {
        None => String::new(),
        Some(Value::String(text)) => harmless(text).into_owned(),
        Some(other) => harmless(&other.to_string()).into_owned(),
    }
}

/// The characters with which a formula can begin, also in the wide forms that some programs take for the same.
const FORMULA: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Makes a text that no spreadsheet takes for a formula. Negative numbers, and a `+` with nothing but digits behind it,
/// such as a telephone number, stay as they are.
///
/// Programs of some countries split columns at `;`, so the text after one is checked like a beginning.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let digits = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let negative = |it: &str| it.splitn(2, '.').all(digits);
    if text.strip_prefix('-').is_some_and(negative) || text.strip_prefix('+').is_some_and(digits) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut begins = true;
    for c in text.chars() {
        if begins && FORMULA.contains(&c) {
            safe.push('\'');
        }
        begins = matches!(c, ';' | '\t' | '\r' | '\n') || (begins && c == ' ');
        safe.push(c);
    }
    if safe.len() == text.len() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(safe)
    }
}

/// A row of CSV as RFC 4180 writes it, with its end of line. A row whose only cell is empty is a pair of quotes, since
/// readers skip an empty line.
pub fn row<T: AsRef<[u8]>>(cells: impl IntoIterator<Item = T>) -> Vec<u8> {
    let (mut out, mut count) = (Vec::new(), 0_usize);
    for cell in cells {
        let cell = cell.as_ref();
        if count > 0 {
            out.push(b',');
        }
        count += 1;
        if !cell.iter().any(|byte| b",\"\r\n".contains(byte)) {
            out.extend_from_slice(cell);
            continue;
        }
        out.push(b'"');
        for byte in cell {
            if *byte == b'"' {
                out.push(b'"');
            }
            out.push(*byte);
        }
        out.push(b'"');
    }
    if count == 1 && out.is_empty() {
        out.extend_from_slice(b"\"\"");
    }
    out.push(b'\n');
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_no_number_becomes_a_text() {
        let texts = [
            "=1+1", "+54 11", "-x", "@SUM(A1)", "\tx", "\rx", "-", "-1.", "-1.2.3", "-1+2", "+",
            "+1+2", "+1.5", "+A1", "+٣", "＋1",
        ];
        for text in texts {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        assert_eq!(harmless("x;=1;y; -z"), "x;'=1;y; '-z");
        assert_eq!(harmless("x\n＝1"), "x\n'＝1");
        assert_eq!(harmless("\r=1"), "'\r'=1");
        for text in [
            "",
            "Ana",
            "-5.00",
            "-7",
            "1.00",
            "a=b",
            "'x",
            "+5491155554444",
            "+0",
        ] {
            assert_eq!(harmless(text), text);
        }
    }

    #[test]
    fn a_cell_is_found_where_its_column_says() {
        let body = json!({"a": {"b": "x"}, "n": 7, "none": null, "m": {}, "o": {"k": "v"}});
        let found = ["a.b", "n", "none", "m", "o", "a.c", "n.b"].map(|column| cell(&body, column));
        assert_eq!(found, ["x", "7", "", "", r#"{"k":"v"}"#, "", ""]);
    }

    #[test]
    fn the_day_of_an_instant_is_that_of_buenos_aires() {
        let body = json!({
            "late": "2026-10-06T02:59:59.999Z", "next": {"at": "2026-10-06T03:00:00.000Z"}, "none": null, "text": "x",
            "own": {"date": "2026-01-01"},
        });
        let columns = [
            "late.date",
            "next.at.date",
            "none.date",
            "text.date",
            "own.date",
            "late.at",
        ];
        let found = columns.map(|column| cell(&body, column));
        assert_eq!(
            found,
            ["2026-10-05", "2026-10-06", "", "", "2026-01-01", ""]
        );
    }

    #[test]
    fn a_row_parts_its_cells_whatever_is_in_them() {
        assert_eq!(
            row(["a,b", "c\"d", "", "e\nf"]),
            b"\"a,b\",\"c\"\"d\",,\"e\nf\"\n"
        );
        assert_eq!(row(["", "é", "\r"]), ",é,\"\r\"\n".as_bytes());
        assert_eq!(row([""]), b"\"\"\n");
    }
}
