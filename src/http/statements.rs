//! Statements as bytes: JSON, CSV, camt.053 and PDF.
//!
//! **Shape.** A [`StatementWriter`] gets the statement, then its lines in order, and each time writes its next bytes, so that a
//! long statement need not be in memory. Each format has one file here, and a row in [`StatementFormat`].
//!
//! **The same for ever.** A form depends on the statement and its vouchers and nothing else: no clock, no randomness,
//! no table that may grow, no compression whose bytes another library chooses. To change what a form writes for a
//! statement that could be asked for before is to change published documents; `statements/tests.rs` holds their
//! bytes.
//!
//! **Bounds.** [`StatementFormat::lines_max`] lines. A PDF is in memory whole; all others are written line by line.

mod camt;
mod json;
mod pdf;
pub mod response;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Display;

use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::{Period, Statement};
use caudal_ledger::vouchers::Voucher;

/// The most lines of a statement that is written line by line.
pub const LINES_MAX: u64 = 200_000;
/// The most lines of a PDF: about 400 pages.
pub const PDF_LINES_MAX: u64 = 10_000;

/// The format of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StatementFormat {
    /// JSON, for programs.
    Json,
    /// Rows of CSV, for spreadsheets.
    Csv,
    /// ISO 20022 camt.053.001.08, for accounting.
    Camt,
    /// Pages, for people.
    Pdf,
}

impl StatementFormat {
    /// Every format; the first is the default.
    pub const ALL: [Self; 4] = [Self::Json, Self::Csv, Self::Camt, Self::Pdf];

    /// Its media type.
    pub const fn media(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv",
            Self::Camt => "application/xml",
            Self::Pdf => "application/pdf",
        }
    }

    /// The value of `Content-Type`.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Camt => "application/xml; charset=utf-8",
            Self::Pdf => "application/pdf",
        }
    }

    /// The ending of the name of a file.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Camt => "xml",
            Self::Pdf => "pdf",
        }
    }

    /// The most lines of a statement in this format.
    pub const fn lines_max(self) -> u64 {
        match self {
            Self::Json | Self::Csv | Self::Camt => LINES_MAX,
            Self::Pdf => PDF_LINES_MAX,
        }
    }

    /// Begins a statement of an account of a realm.
    pub fn begin(self, realm: RealmId, statement: Statement) -> Box<dyn StatementWriter> {
        match self {
            Self::Json => Box::new(json::JsonStatement::new(realm, statement)),
            Self::Csv => Box::new(table::CsvStatement::new(realm, statement)),
            Self::Camt => Box::new(camt::Camt::new(realm, statement)),
            Self::Pdf => Box::new(pdf::Pdf::new(statement)),
        }
    }
}

/// A statement that is being written.
pub trait StatementWriter: Send {
    /// Writes the part before the lines.
    fn head(&mut self, out: &mut Vec<u8>);
    /// Writes the next line.
    fn line(&mut self, voucher: &Voucher, out: &mut Vec<u8>);
    /// Writes the part after the last line.
    fn foot(&mut self, out: &mut Vec<u8>);
}

/// The name of a file with the statement of a CVU, without quotes or characters that need them.
pub fn file_name(cvu: impl Display, period: Period, format: StatementFormat) -> String {
    let Period { first, last } = period;
    format!("resumen-{cvu}-{first}-{last}.{}", format.ending())
}
