//! Rows for spreadsheets: cells that no program takes for a formula, rows of CSV, and workbooks of Excel.

pub mod columns;
pub mod xlsx;

use std::borrow::Cow;
use std::io;

use caudal_ledger::time::{BusinessDay, Timestamp};
use serde_json::Value;

use self::columns::{AMOUNTS, DIGITS};
use self::xlsx::{CellValue, Workbook};

/// A table: its columns as CSV and XLSX, in their order.
#[derive(Clone, Copy, Debug)]
pub struct SheetKind(pub &'static [&'static str]);

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

/// The last name in the path of a column.
fn last(column: &str) -> &str {
    column.rsplit_once('.').map_or(column, |(_, last)| last)
}

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ColumnType {
    /// Texts, and numbers that count.
    Plain,
    /// Ids that are numbers in JSON.
    Digits,
    Amount,
    Instant,
    Day,
}

/// A column with the type of its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SheetColumn {
    name: &'static str,
    of: ColumnType,
}

impl SheetKind {
    /// The columns with their types. An instant is whatever has a column with its day, too.
    pub fn typed(&self) -> Vec<SheetColumn> {
        let day = |name: &str| format!("{name}.{DAY}");
        let of = |name: &str| match last(name) {
            DAY => ColumnType::Day,
            _ if self.0.contains(&day(name).as_str()) => ColumnType::Instant,
            last if AMOUNTS.contains(&last) => ColumnType::Amount,
            last if DIGITS.contains(&last) => ColumnType::Digits,
            _ => ColumnType::Plain,
        };
        let typed = |name: &&'static str| SheetColumn { name, of: of(name) };
        self.0.iter().map(typed).collect()
    }
}

impl SheetColumn {
    /// The name, and the width that its values need in a workbook, in characters.
    pub fn header(&self) -> (&'static str, usize) {
        let width = match self.of {
            ColumnType::Day => 11,
            ColumnType::Instant => 24,
            ColumnType::Amount => 16,
            ColumnType::Digits => 12,
            ColumnType::Plain => match last(self.name) {
                "cvu" | "fromCvu" | "cbu" | "id" | "description" | "name" => 26,
                _ => 14,
            },
        };
        (self.name, width)
    }

    /// Its value in a row.
    pub fn value<'a>(&self, body: &'a Value) -> CellValue<'a> {
        let text = match found(body, self.name) {
            None => return CellValue::Empty,
            Some(Cow::Borrowed(Value::String(text))) => Cow::Borrowed(text.as_str()),
            Some(other) => match other.into_owned() {
                Value::String(text) => Cow::Owned(text),
                Value::Number(number) if self.of != ColumnType::Digits => {
                    return CellValue::Number(number.to_string().into());
                }
                other => Cow::Owned(other.to_string()),
            },
        };
        let known = match self.of {
            ColumnType::Day => BusinessDay::parse(&text).map(CellValue::Day),
            ColumnType::Instant => Timestamp::parse(&text).map(CellValue::Instant),
            ColumnType::Amount => return CellValue::Amount(text),
            ColumnType::Plain | ColumnType::Digits => None,
        };
        known.unwrap_or(CellValue::Text(text))
    }
}

/// The form of a table for spreadsheets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SheetForm {
    /// Text with commas.
    Csv,
    /// A workbook of Excel.
    Xlsx,
}

impl SheetForm {
    /// The value of `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Xlsx => xlsx::MEDIA,
        }
    }

    /// The ending of the name of a file.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Xlsx => "xlsx",
        }
    }
}

/// A table that is being written.
pub enum SheetWriter {
    /// The rows that were not taken yet.
    Csv(Vec<u8>),
    /// The workbook.
    Xlsx(Box<Workbook>),
}

impl SheetWriter {
    /// Begins a table with the names of its columns, each with the width that its values need, in characters.
    ///
    /// # Errors
    /// None in practice: memory takes what is written to it.
    pub fn begin(form: SheetForm, columns: &[(&str, usize)]) -> io::Result<Self> {
        Ok(match form {
            SheetForm::Csv => Self::Csv(row(columns.iter().map(|(name, _)| name))),
            SheetForm::Xlsx => Self::Xlsx(Box::new(Workbook::begin(columns)?)),
        })
    }

    /// Writes a row.
    ///
    /// # Errors
    /// When a workbook has all the rows that it may have.
    pub fn row<'a>(&mut self, cells: impl Iterator<Item = CellValue<'a>>) -> io::Result<()> {
        match self {
            Self::Csv(out) => out.extend(row(cells.map(|cell| cell.plain().into_owned()))),
            Self::Xlsx(book) => book.row(cells)?,
        }
        Ok(())
    }

    /// The bytes that are ready.
    ///
    /// # Errors
    /// When a workbook has all the bytes that it may have.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        match self {
            Self::Csv(out) => Ok(std::mem::take(out)),
            Self::Xlsx(book) => book.take(),
        }
    }

    /// Ends the table; the last of its bytes.
    ///
    /// # Errors
    /// When a workbook has all the bytes that it may have.
    pub fn end(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Csv(out) => Ok(out),
            Self::Xlsx(book) => book.end(),
        }
    }
}

impl<'a> CellValue<'a> {
    /// The value as a cell of CSV.
    fn plain(self) -> Cow<'a, str> {
        match self {
            Self::Empty => Cow::Borrowed(""),
            Self::Text(text) | Self::Number(text) | Self::Amount(text) => match harmless(&text) {
                Cow::Owned(safe) => Cow::Owned(safe),
                Cow::Borrowed(_) => text,
            },
            Self::Day(day) => Cow::Owned(day.to_string()),
            Self::Instant(at) => Cow::Owned(at.to_string()),
        }
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
    fn a_column_has_numbers_only_where_they_are_amounts_or_counts() {
        let kind = SheetKind(&[
            "walletAccountId",
            "cvu",
            "sequence",
            "amount",
            "covered",
            "none",
            "createdAt",
            "createdAt.date",
        ]);
        let body = json!({
            "walletAccountId": 7, "cvu": "0000003100000000000000", "sequence": 12, "amount": "-1.50", "covered": true,
            "createdAt": "2026-10-06T02:59:59.999Z",
        });
        let at = Timestamp::parse("2026-10-06T02:59:59.999Z").unwrap();
        let typed = kind.typed();
        let values: Vec<_> = typed.iter().map(|it| it.value(&body)).collect();
        let text = |text: &'static str| CellValue::Text(text.into());
        let wanted = [
            text("7"),
            text("0000003100000000000000"),
            CellValue::Number("12".into()),
            CellValue::Amount("-1.50".into()),
            text("true"),
            CellValue::Empty,
            CellValue::Instant(at),
            CellValue::Day(at.business_day()),
        ];
        assert_eq!(values, wanted);
        let mut csv = SheetWriter::begin(SheetForm::Csv, &[("a", 1), ("b", 1)]).unwrap();
        csv.row(values.into_iter()).unwrap();
        let rows = String::from_utf8(csv.end().unwrap()).unwrap();
        let wanted =
            "a,b\n7,0000003100000000000000,12,-1.50,true,,2026-10-06T02:59:59.999Z,2026-10-05\n";
        assert_eq!(rows, wanted);
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
