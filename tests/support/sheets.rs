//! Tables as programs for spreadsheets read them: CSV and workbooks.

use std::io::{Cursor, Read as _};

use quick_xml::events::{BytesStart, Event};
use zip::ZipArchive;

/// The rows of CSV, each with its cells (RFC 4180).
pub fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut chars) = (false, text.chars().peekable());
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                cell.push('"');
                chars.next();
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(
        cell.is_empty() && row.is_empty(),
        "the last row has no end: {text}"
    );
    rows
}

/// A cell of a workbook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SheetCell {
    Empty,
    Text(String),
    /// The digits, and the number of their format: 0 general, 4 an amount, 164 a day, 165 an instant.
    Number(String, u32),
}

/// A file of an archive.
pub fn unzipped(bytes: &[u8], name: &str) -> String {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("an archive");
    let mut text = String::new();
    let mut file = archive.by_name(name).expect(name);
    file.read_to_string(&mut text).unwrap();
    text
}

/// The value of an attribute.
fn value(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = tag.try_get_attribute(name).unwrap()?;
    Some(String::from_utf8(found.value.into_owned()).unwrap())
}

/// The formats of the styles of a workbook.
fn formats(bytes: &[u8]) -> Vec<u32> {
    let text = unzipped(bytes, "xl/styles.xml");
    let styles = text.split("<cellXfs").nth(1).unwrap();
    let styles = styles.split("</cellXfs>").next().unwrap();
    let formats = styles.split("numFmtId=\"").skip(1);
    formats
        .map(|it| it.split('"').next().unwrap().parse().unwrap())
        .collect()
}

/// The header of the only sheet of a workbook, and its rows.
pub fn workbook(bytes: &[u8]) -> (Vec<String>, Vec<Vec<SheetCell>>) {
    let (formats, text) = (formats(bytes), unzipped(bytes, "xl/worksheets/sheet1.xml"));
    let mut reader = quick_xml::Reader::from_str(&text);
    let (mut rows, mut row): (Vec<Vec<SheetCell>>, _) = (Vec::new(), Vec::new());
    let (mut found, mut style, mut is_text) = (String::new(), 0, false);
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(tag) if tag.name().as_ref() == b"c" => {
                found.clear();
                is_text = value(&tag, "t").is_some_and(|kind| kind == "inlineStr");
                style = value(&tag, "s").map_or(0, |style| style.parse().unwrap());
            }
            Event::Empty(tag) if tag.name().as_ref() == b"c" => row.push(SheetCell::Empty),
            Event::Text(text) => found.push_str(&text.decode().unwrap()),
            Event::GeneralRef(name) => found.push_str(match &*name {
                b"amp" => "&",
                b"lt" => "<",
                b"gt" => ">",
                other => panic!("{other:?}"),
            }),
            Event::End(tag) if tag.name().as_ref() == b"c" && is_text => {
                row.push(SheetCell::Text(
                    std::mem::take(&mut found).replace("_x000D_", "\r"),
                ));
            }
            Event::End(tag) if tag.name().as_ref() == b"c" => {
                row.push(SheetCell::Number(
                    std::mem::take(&mut found),
                    formats[style],
                ));
            }
            Event::End(tag) if tag.name().as_ref() == b"row" => rows.push(std::mem::take(&mut row)),
            Event::Eof => break,
            _ => {}
        }
    }
    let header = rows.remove(0).into_iter().map(|cell| match cell {
        SheetCell::Text(text) => text,
        other => panic!("a header is {other:?}"),
    });
    (header.collect(), rows)
}
