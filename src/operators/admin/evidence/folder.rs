//! The archive of evidence: its files, their hashes, and the index that has both.
//!
//! The index names every other file with its SHA-256, so an auditor who keeps the hash of the index can check all of it.
//! Nothing here depends on a clock: the same files give the same hashes.

use std::io::{self, Cursor, Write as _};

use aws_lc_rs::digest::{SHA256, digest};
use caudal_backup::names::hex;
use caudal_http::errors::ApiError;
use caudal_http::sheets::{SheetColumn, SheetKind, SheetWriter, row};
use caudal_http::words::Mistake;
use serde::Serialize;
use serde_json::{Value, json};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::{EVIDENCE_BYTES_MAX, EVIDENCE_ROWS_MAX};

/// Files that every archive has besides its evidence: programs that check it without the service, and how to use them.
const VERIFIERS: [(&str, &str); 3] = [
    ("README.md", include_str!("readme.md")),
    (
        "verify_day.py",
        include_str!("../../../../docs/verify/verify_day.py"),
    ),
    (
        "verify-day.html",
        include_str!("../../../../docs/verify/verify-day.html"),
    ),
];

/// A file of the archive, as the index has it.
#[derive(Debug, Serialize)]
struct FileEntry {
    name: String,
    /// The hash of its bytes, in hexadecimal digits.
    sha256: String,
    bytes: u64,
    /// How many rows or lines it has; null of other files.
    rows: Option<u64>,
}

/// An archive that is being written.
pub(super) struct Folder {
    zip: ZipWriter<Cursor<Vec<u8>>>,
    files: Vec<FileEntry>,
    rows: u64,
    bytes: u64,
}

/// A table that is being written: its rows count while it grows, so that no table outgrows the archive.
pub(super) struct Rows {
    name: String,
    columns: Option<Vec<SheetColumn>>,
    out: Vec<u8>,
    rows: u64,
}

impl Rows {
    /// A table of CSV.
    pub(super) fn csv(name: impl Into<String>, kind: SheetKind) -> Self {
        let columns = kind.typed();
        Self {
            name: name.into(),
            out: row(columns.iter().map(|column| column.header().0)),
            columns: Some(columns),
            rows: 0,
        }
    }

    /// Lines of JSON.
    pub(super) fn lines(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: None,
            out: Vec::new(),
            rows: 0,
        }
    }
}

/// The refusal of evidence that is more than an archive holds.
fn too_much() -> ApiError {
    let (rows, mib) = (EVIDENCE_ROWS_MAX, EVIDENCE_BYTES_MAX >> 20);
    ApiError::field("from", Mistake::TooMuchEvidence { rows, mib })
}

fn size(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).map_or(u64::MAX, |size| size)
}

impl Folder {
    /// An archive with what every archive has.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn new() -> Result<Self, ApiError> {
        let mut folder = Self {
            zip: ZipWriter::new(Cursor::default()),
            files: Vec::new(),
            rows: 0,
            bytes: 0,
        };
        for (name, text) in VERIFIERS {
            folder.file(name.to_owned(), text.as_bytes(), None)?;
        }
        Ok(folder)
    }

    /// Adds a row to a table of this archive.
    ///
    /// # Errors
    /// 400 when the archive would have too many rows or bytes.
    pub(super) fn row(&self, rows: &mut Rows, body: &Value) -> Result<(), ApiError> {
        match &rows.columns {
            None => rows.out.extend(format!("{body}\n").into_bytes()),
            Some(columns) => {
                let mut sheet = SheetWriter::Csv(std::mem::take(&mut rows.out));
                let cells = columns.iter().map(|column| column.value(body));
                sheet.row(cells).map_err(|_| too_much())?;
                rows.out = sheet.end().map_err(|_| too_much())?;
            }
        }
        rows.rows += 1;
        let bytes = self.bytes + size(&rows.out);
        let all = self.rows + rows.rows;
        if bytes > EVIDENCE_BYTES_MAX || all > EVIDENCE_ROWS_MAX {
            return Err(too_much());
        }
        Ok(())
    }

    /// Adds a table, also one without rows: that there is nothing is evidence, too.
    ///
    /// # Errors
    /// 400 when the archive has too many rows or bytes.
    pub(super) fn table(&mut self, rows: Rows) -> Result<(), ApiError> {
        self.rows += rows.rows;
        self.file(rows.name, &rows.out, Some(rows.rows))
    }

    /// Adds a file with one JSON value.
    ///
    /// # Errors
    /// 400 when the archive has too many bytes.
    pub(super) fn json(&mut self, name: impl Into<String>, value: &Value) -> Result<(), ApiError> {
        self.file(name.into(), format!("{value:#}\n").as_bytes(), None)
    }

    fn file(&mut self, name: String, bytes: &[u8], rows: Option<u64>) -> Result<(), ApiError> {
        self.bytes += size(bytes);
        if self.bytes > EVIDENCE_BYTES_MAX {
            return Err(too_much());
        }
        self.write(&name, bytes)?;
        self.files.push(FileEntry {
            name,
            sha256: hex(digest(&SHA256, bytes).as_ref()),
            bytes: size(bytes),
            rows,
        });
        Ok(())
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), ApiError> {
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        let begun = self.zip.start_file(name, options);
        let written = begun.map_err(io::Error::other);
        let written = written.and_then(|()| self.zip.write_all(bytes));
        written.map_err(|why| {
            tracing::error!(%why, "evidence could not be written");
            too_much()
        })
    }

    /// Adds the index, which has these fields besides the files.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn index(&mut self, mut about: Value) -> Result<(), ApiError> {
        if let Some(about) = about.as_object_mut() {
            about.insert("files".to_owned(), json!(self.files));
        }
        self.write("index.json", format!("{about:#}\n").as_bytes())
    }

    /// The bytes of the archive.
    ///
    /// # Errors
    /// None in practice: memory takes what is written to it.
    pub(super) fn end(self) -> io::Result<Vec<u8>> {
        let cursor = self.zip.finish().map_err(io::Error::other)?;
        Ok(cursor.into_inner())
    }
}
