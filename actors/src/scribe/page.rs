//! What goes into one commit, and what the log says of it.

use caudal_ledger::facts::LedgerFact;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Entry, Row};

use crate::meter::Taken;
use crate::records;

/// What the log says of a commit at DEBUG: the request, and the vouchers that it wrote.
/// Events name the same vouchers, so a delivery leads back to its request.
#[derive(Debug)]
pub(super) struct Line {
    request_id: String,
    wrote: String,
}

impl Line {
    /// The line of a request's page; `None` while nobody reads it, or nothing is written.
    pub(super) fn of(page: &Page, request_id: &str) -> Option<Self> {
        if !tracing::enabled!(tracing::Level::DEBUG) || page.entries.is_empty() {
            return None;
        }
        let mut line = Self {
            request_id: request_id.to_owned(),
            wrote: String::new(),
        };
        line.add(page);
        Some(line)
    }

    pub(super) fn add(&mut self, page: &Page) {
        use std::fmt::Write as _;
        for entry in &page.entries {
            let space = if self.wrote.is_empty() { "" } else { " " };
            if entry.stream.kind != records::LEDGER {
                continue;
            }
            if let Ok(LedgerFact::Posted(voucher)) = records::decode(&entry.body) {
                let realm = RealmId(entry.stream.realm);
                let id = voucher.id(realm, AccountNo(entry.stream.number));
                // Writing to a text cannot fail.
                write!(self.wrote, "{space}{id}").ok();
            }
        }
    }

    pub(super) fn write(line: Option<Self>, ok: bool) {
        if let Some(Self { request_id, wrote }) = line {
            tracing::debug!(request_id, wrote, ok, "committed");
        }
    }
}

/// What goes into one commit.
#[derive(Debug, Default)]
pub struct Page {
    /// Facts.
    pub entries: Vec<Entry>,
    /// Caches.
    pub hints: Vec<Row>,
    /// The last movement among the entries.
    pub sequence: Option<u64>,
    /// What its vouchers took from the realm's meter.
    pub taken: Taken,
}

impl Page {
    /// Adds what comes after.
    pub fn append(&mut self, mut after: Self) {
        self.entries.append(&mut after.entries);
        self.hints.append(&mut after.hints);
        self.taken.append(after.taken);
        self.sequence = after.sequence.or(self.sequence);
    }
}
