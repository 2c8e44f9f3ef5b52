//! Rows for spreadsheets: cells that no program takes for a formula, and rows of CSV.

pub mod columns;
#[cfg(feature = "parquet")]
pub mod parquet;

use std::borrow::Cow;

use serde_json::Value;

/// A table, with its columns as CSV.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, without the ending of a format.
    pub name: &'static str,
    /// The values of a row, in their order.
    pub columns: &'static [&'static str],
}

/// The value of a column, if there is one.
fn found<'a>(body: &'a Value, column: &str) -> Option<&'a Value> {
    let mut value = Some(body);
    for name in column.split('.') {
        value = value.and_then(|it| it.get(name));
    }
    value.filter(|value| match value {
        Value::Null => false,
        Value::Object(inner) => !inner.is_empty(),
        _ => true,
    })
}

/// The value of a column, as a cell.
pub fn cell(body: &Value, column: &str) -> String {
    match found(body, column) {
        None => String::new(),
        Some(Value::String(text)) => harmless(text).into_owned(),
        Some(other) => harmless(&other.to_string()).into_owned(),
    }
}

/// The characters with which a formula can begin, also in the wide forms that some programs take for the same.
const FORMULA: [char; 11] = [
    '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
];

/// Makes a text that no spreadsheet takes for a formula. Negative numbers stay numbers.
///
/// Programs of some countries split columns at `;`, so the text after one is checked like a beginning.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let number = text.strip_prefix('-').is_some_and(|digits| {
        let mut parts = digits.splitn(2, '.');
        parts.all(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
    });
    if number {
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
    match safe.len() == text.len() {
        true => Cow::Borrowed(text),
        false => Cow::Owned(safe),
    }
}

/// A row of CSV, with its end of line.
pub fn row<T: AsRef<[u8]>>(cells: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rows = csv::Writer::from_writer(&mut out);
    // Memory takes everything, and a single row cannot differ in length from others.
    rows.write_record(cells).ok();
    drop(rows);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_no_number_becomes_a_text() {
        let texts = [
            "=1+1", "+54 11", "-x", "@SUM(A1)", "\tx", "\rx", "-", "-1.", "-1.2.3", "-1+2",
        ];
        for text in texts {
            assert_eq!(harmless(text), format!("'{text}"));
        }
        assert_eq!(harmless("x;=1;y; -z"), "x;'=1;y; '-z");
        assert_eq!(harmless("x\n＝1"), "x\n'＝1");
        assert_eq!(harmless("\r=1"), "'\r'=1");
        for text in ["", "Ana", "-5.00", "-7", "1.00", "a=b", "'x"] {
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
    fn a_row_parts_its_cells_whatever_is_in_them() {
        assert_eq!(
            row(["a,b", "c\"d", "", "e\nf"]),
            b"\"a,b\",\"c\"\"d\",,\"e\nf\"\n"
        );
    }
}
