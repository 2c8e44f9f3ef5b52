//! Rows as a workbook of Excel (Office Open XML, ECMA-376), written while they are read.
//!
//! **Shape.** A workbook is a ZIP archive of XML files. The sheet is written row by row into the archive, and
//! [`Workbook::take`] gives the bytes that are ready, so that an answer leaves while its list is read. The
//! header row stays in view and has filters. Every text is a text cell, also one that begins with `=`; CVUs and ids
//! keep all their digits. Amounts are numbers with two decimals, instants are date-times in Buenos Aires.
//!
//! **Bounds.** Memory: the window of the compression and the rows that were not taken yet, whatever the number of rows.
//! [`SHEET_ROWS_MAX`] rows with the header, [`CELL_CHARS_MAX`] characters in a cell, and 4 GiB of XML, the most of a file
//! in an archive that every program opens.
//!
//! **Failure.** What does not fit is an error; the bytes so far are no workbook then.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use caudal_ledger::time::{BusinessDay, Timestamp};
use zip::write::{SimpleFileOptions, StreamWriter, ZipWriter};
use zip::{CompressionMethod, result::ZipError};

/// The most rows of a sheet, with its header.
pub const SHEET_ROWS_MAX: u64 = 1_048_576;
/// The most characters of a cell, in units of UTF-16; a longer text is cut.
pub const CELL_CHARS_MAX: usize = 32_767;
/// The media type of a workbook.
pub const MEDIA: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// The most digits of a number that Excel keeps; longer numbers stay texts.
const DIGITS_MAX: usize = 15;
/// The least and the greatest width of a column, in characters.
const WIDTH_LEAST: usize = 8;
const WIDTH_MAX: usize = 30;
/// The days from the first day of the calendar of Excel to 1970-01-01.
const EPOCH: i64 = 25_569;
const DAY_MILLIS: i64 = 86_400_000;
/// The digits of a part of a day: a millisecond is about 0.0000000116 days.
const PART_DIGITS: i64 = 100_000_000_000;
/// How hard the archive is compressed, from 1 to 9: text of a table shrinks to a tenth with the least work.
const LEVEL: i64 = 1;
/// The styles of cells, as places in `cellXfs` of [`STYLES`].
const TEXT: u8 = 1;
const AMOUNT: u8 = 2;
const DATE: u8 = 3;
const INSTANT: u8 = 4;
const HEADER: u8 = 5;

const DECLARATION: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
/// The files of the archive that are the same in every workbook.
const FILES: [(&str, &str); 4] = [
    (
        "[Content_Types].xml",
        r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>"#,
    ),
    (
        "_rels/.rels",
        r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#,
    ),
    (
        "xl/_rels/workbook.xml.rels",
        r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/></Relationships>"#,
    ),
    ("xl/styles.xml", STYLES),
];
/// Text is `@`, so that a cell stays a text when somebody edits it. An amount is the built-in format 4, which each
/// country's program writes with its own separators.
const STYLES: &str = r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss.000"/></numFmts><fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font><font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders><cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="6"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="4" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/></cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"#;

/// The value of a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CellValue<'a> {
    /// Nothing.
    Empty,
    /// A text, also where it has only digits.
    Text(Cow<'a, str>),
    /// A number of JSON.
    Number(Cow<'a, str>),
    /// An amount, with a point and two decimals.
    Amount(Cow<'a, str>),
    /// A day in Buenos Aires.
    Day(BusinessDay),
    /// An instant, written as a date-time in Buenos Aires.
    Instant(Timestamp),
}

/// The bytes that were written and not taken yet.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A workbook with one sheet that is being written.
pub struct Workbook {
    zip: ZipWriter<StreamWriter<Written>>,
    written: Written,
    columns: usize,
    rows: u64,
    /// The XML of rows that is not compressed yet.
    xml: String,
}

impl Workbook {
    /// Begins a workbook with the names of its columns, each with the width that its values need, in characters.
    ///
    /// # Errors
    /// None in practice: memory takes what is written to it.
    pub fn begin(columns: &[(&str, usize)]) -> io::Result<Self> {
        let written = Written::default();
        let mut book = Self {
            zip: ZipWriter::new_stream(written.clone()),
            written,
            columns: columns.len(),
            rows: 0,
            xml: String::new(),
        };
        for (name, text) in FILES {
            book.file(name, text)?;
        }
        book.zip
            .start_file("xl/worksheets/sheet1.xml", options())
            .map_err(failed)?;
        let mut widths = String::new();
        for (place, (name, width)) in (1..).zip(columns) {
            // The button of the filter needs room, too.
            let named = name.chars().count() + 3;
            let width = named.max(*width).clamp(WIDTH_LEAST, WIDTH_MAX);
            add(
                &mut widths,
                format_args!(
                    r#"<col min="{place}" max="{place}" width="{width}" customWidth="1"/>"#
                ),
            );
        }
        add(
            &mut book.xml,
            format_args!(
                r#"{DECLARATION}<worksheet xmlns="{MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>{widths}</cols><sheetData>"#
            ),
        );
        let names = columns
            .iter()
            .map(|(name, _)| (CellValue::Text(Cow::Borrowed(*name)), HEADER));
        book.line(names)?;
        Ok(book)
    }

    /// Writes a row.
    ///
    /// # Errors
    /// When the sheet has all the rows or bytes that it may have.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = CellValue<'a>>) -> io::Result<()> {
        self.line(cells.into_iter().map(|cell| {
            let style = cell.style();
            (cell, style)
        }))
    }

    fn line<'a>(&mut self, cells: impl Iterator<Item = (CellValue<'a>, u8)>) -> io::Result<()> {
        if self.rows >= SHEET_ROWS_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.rows += 1;
        self.xml.push_str("<row>");
        for (cell, style) in cells {
            cell.write(style, &mut self.xml);
        }
        self.xml.push_str("</row>");
        Ok(())
    }

    /// The bytes that are ready.
    ///
    /// # Errors
    /// When the archive has all the bytes that it may have.
    pub fn take(&mut self) -> io::Result<Vec<u8>> {
        self.zip.write_all(self.xml.as_bytes())?;
        self.xml.clear();
        Ok(self.written.take())
    }

    /// Ends the workbook; the last of its bytes.
    ///
    /// # Errors
    /// When the archive has all the bytes that it may have.
    pub fn end(mut self) -> io::Result<Vec<u8>> {
        let last = letters(self.columns);
        let rows = self.rows;
        add(
            &mut self.xml,
            format_args!(r#"</sheetData><autoFilter ref="A1:{last}{rows}"/></worksheet>"#),
        );
        self.zip.write_all(self.xml.as_bytes())?;
        let book = format!(
            r#"<workbook xmlns="{MAIN}" xmlns:r="{RELATIONS}"><sheets><sheet name="caudal" sheetId="1" r:id="rId1"/></sheets><definedNames><definedName name="_xlnm._FilterDatabase" localSheetId="0" hidden="1">caudal!$A$1:${last}${rows}</definedName></definedNames></workbook>"#
        );
        self.file("xl/workbook.xml", &book)?;
        self.zip.finish().map_err(failed)?;
        Ok(self.written.take())
    }

    fn file(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.zip.start_file(name, options()).map_err(failed)?;
        self.zip.write_all(DECLARATION.as_bytes())?;
        self.zip.write_all(text.as_bytes())
    }
}

impl Written {
    fn take(&self) -> Vec<u8> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *kept)
    }
}

impl CellValue<'_> {
    /// The style of the value, as it is written: an amount with more digits than a number keeps is a text.
    fn style(&self) -> u8 {
        match self {
            Self::Empty | Self::Text(_) => TEXT,
            Self::Number(_) => 0,
            Self::Amount(digits) => {
                if is_number(digits) {
                    AMOUNT
                } else {
                    TEXT
                }
            }
            Self::Day(_) => DATE,
            Self::Instant(_) => INSTANT,
        }
    }

    fn write(&self, style: u8, out: &mut String) {
        match self {
            Self::Empty => out.push_str("<c/>"),
            Self::Number(digits) | Self::Amount(digits) if is_number(digits) => {
                number(style, digits, out)
            }
            Self::Text(text) | Self::Number(text) | Self::Amount(text) => {
                let style = if style == 0 { TEXT } else { style };
                add(
                    out,
                    format_args!(r#"<c s="{style}" t="inlineStr"><is><t xml:space="preserve">"#),
                );
                escaped(text, out);
                out.push_str("</t></is></c>");
            }
            Self::Day(day) => number(style, &serial_day(*day).to_string(), out),
            Self::Instant(at) => number(style, &serial(*at), out),
        }
    }
}

fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .compression_level(Some(LEVEL))
}

fn failed(why: ZipError) -> io::Error {
    io::Error::other(why)
}

/// Adds to a text, which takes everything.
fn add(out: &mut String, text: std::fmt::Arguments<'_>) {
    if out.write_fmt(text).is_err() {
        debug_assert!(false, "a text takes what is added to it");
    }
}

fn number(style: u8, digits: &str, out: &mut String) {
    add(out, format_args!(r#"<c s="{style}"><v>{digits}</v></c>"#));
}

/// Whether a text is a number of which Excel keeps every digit.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').map_or(text, |rest| rest);
    let (whole, part) = digits.split_once('.').map_or((digits, "0"), |both| both);
    let all = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    all(whole) && all(part) && count <= DIGITS_MAX
}

/// A day in the calendar of Excel.
fn serial_day(day: BusinessDay) -> i64 {
    day.days() + EPOCH
}

/// An instant in the calendar of Excel: days, with the part of the day that has passed in Buenos Aires.
fn serial(at: Timestamp) -> String {
    let millis = at.local().and_utc().timestamp_millis();
    let (days, rest) = (millis.div_euclid(DAY_MILLIS), millis.rem_euclid(DAY_MILLIS));
    let part = rest * PART_DIGITS / DAY_MILLIS;
    format!("{}.{part:011}", days + EPOCH)
}

/// The letters of a column, from 1.
fn letters(column: usize) -> String {
    let (mut left, mut found) = (column.max(1), Vec::new());
    while left > 0 {
        let place = u8::try_from((left - 1) % 26).map_or(0, |place| place);
        found.push(char::from(b'A' + place));
        left = (left - 1) / 26;
    }
    found.iter().rev().collect()
}

/// Writes a text as XML of a cell. XML has no control characters, and Excel reads `_x000D_` as one.
fn escaped(text: &str, out: &mut String) {
    let mut left = CELL_CHARS_MAX;
    for (at, c) in text.char_indices() {
        left = match left.checked_sub(c.len_utf16()) {
            Some(left) => left,
            None => return,
        };
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("_x000D_"),
            '_' if is_escape(text.get(at..)) => out.push_str("_x005F_"),
            '\t' | '\n' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c < ' ' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

/// Whether a text begins as Excel writes a character: `_x000D_`.
fn is_escape(text: Option<&str>) -> bool {
    let hex = text.and_then(|text| text.strip_prefix("_x"));
    let hex = hex.and_then(|text| text.split_once('_'));
    hex.is_some_and(|(hex, _)| hex.len() == 4 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read as _};

    use super::*;

    fn sheet(book: Vec<u8>) -> String {
        let mut archive = zip::ZipArchive::new(Cursor::new(book)).unwrap();
        let mut text = String::new();
        let mut file = archive.by_name("xl/worksheets/sheet1.xml").unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn columns_have_the_letters_of_a_spreadsheet() {
        let found = [1, 26, 27, 52, 53, 702, 703].map(letters);
        assert_eq!(found, ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn a_number_keeps_every_digit_or_is_a_text() {
        for (text, number) in [
            ("0.00", true),
            ("-1234567890123.45", true),
            ("12345678901234.56", false),
            ("123456789012345", true),
            ("1e5", false),
            ("1.", false),
            ("-", false),
            ("", false),
        ] {
            assert_eq!(is_number(text), number, "{text}");
            let mut book = Workbook::begin(&[("amount", 1)]).unwrap();
            book.row([CellValue::Amount(text.into())]).unwrap();
            let sheet = sheet(book.end().unwrap());
            assert_eq!(sheet.contains(&format!("<v>{text}</v>")), number, "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_at_the_most_of_a_cell_and_has_no_control_characters() {
        let mut written = String::new();
        escaped(&"ñ".repeat(CELL_CHARS_MAX + 1), &mut written);
        assert_eq!(written.chars().count(), CELL_CHARS_MAX);
        for (text, xml) in [
            ("=1+1", "=1+1"),
            ("<a&b>", "&lt;a&amp;b&gt;"),
            ("a\u{0}\u{b}b\tc\nd\re", "a\u{fffd}\u{fffd}b\tc\nd_x000D_e"),
            ("_x000D_ _x12_ _y", "_x005F_x000D_ _x12_ _y"),
            ("\u{ffff}😀", "\u{fffd}😀"),
        ] {
            let mut written = String::new();
            escaped(text, &mut written);
            assert_eq!(written, xml, "{text:?}");
        }
    }

    #[test]
    fn a_sheet_has_no_more_rows_than_programs_open() {
        let mut book = Workbook::begin(&[("n", 1)]).unwrap();
        book.rows = SHEET_ROWS_MAX - 1;
        book.row([CellValue::Empty]).unwrap();
        let more = book.row([CellValue::Empty]).unwrap_err();
        assert_eq!(more.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn an_instant_is_that_of_buenos_aires_to_the_millisecond() {
        let at = Timestamp::parse("2026-10-06T02:59:59.999Z").unwrap();
        assert_eq!(serial(at), "46300.99999998842");
        assert_eq!(serial_day(at.business_day()), 46_300);
    }
}
