//! A statement as CSV: a row for the opening balance, one for each movement, one for the closing balance.
//!
//! Amounts have a point and two decimals, instants are RFC 3339 in UTC, with their business day in Buenos Aires in a
//! column of its own, CVUs have all their digits, and a text that a
//! spreadsheet would take for a formula gets an apostrophe in front. New columns are appended, and none is ever
//! moved.

use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::Statement;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use serde_json::{Value, json};

use super::StatementWriter;
use crate::bodies::statements::{StatementBalance, StatementLine};
use crate::sheets::{cell, row};

/// The columns: those of a line, with the kind of row and the CVU before them.
const COLUMNS: [&str; 21] = [
    "record",
    "cvu",
    "sequence",
    "id",
    "createdAt",
    "ledgerType",
    "amount",
    "availableAfter",
    "heldAfter",
    "totalAfter",
    "voucherTypeCode",
    "voucherTypeName",
    "idExterno",
    "referenceType",
    "referenceId",
    "description",
    "counterpartyName",
    "counterpartyCuit",
    "counterpartyCbu",
    "createdAt.date",
    "coelsaId",
];

/// A statement that is being written as CSV.
pub(super) struct CsvStatement {
    realm: RealmId,
    statement: Statement,
}

impl CsvStatement {
    /// Begins a statement.
    pub(super) const fn new(realm: RealmId, statement: Statement) -> Self {
        Self { realm, statement }
    }

    fn put(&self, kind: &str, mut body: Value, out: &mut Vec<u8>) {
        if let Some(body) = body.as_object_mut() {
            body.insert("record".to_owned(), kind.into());
            body.insert("cvu".to_owned(), self.statement.of.cvu.to_string().into());
        }
        out.extend(row(COLUMNS.map(|column| cell(&body, column))));
    }

    fn balance(&self, balance: StatementBalance, at: Timestamp, sequence: u64) -> Value {
        json!({
            "sequence": sequence,
            "createdAt": at.to_string(),
            "availableAfter": balance.available,
            "heldAfter": balance.held,
            "totalAfter": balance.total,
            "description": self.statement.of.holder,
        })
    }
}

impl StatementWriter for CsvStatement {
    fn head(&mut self, out: &mut Vec<u8>) {
        out.extend(row(COLUMNS));
        let Statement {
            period,
            opening,
            first,
            ..
        } = self.statement;
        let body = self.balance(opening.into(), period.start(), first - 1);
        self.put("opening", body, out);
    }

    fn line(&mut self, voucher: &Voucher, out: &mut Vec<u8>) {
        let line = StatementLine::of(self.realm, &self.statement, voucher);
        self.put("movement", json!(line), out);
    }

    fn foot(&mut self, out: &mut Vec<u8>) {
        let Statement {
            as_of,
            closing,
            last,
            is_final,
            ..
        } = self.statement;
        let body = self.balance(closing.into(), as_of, last);
        let kind = if is_final { "closing" } else { "provisional" };
        self.put(kind, body, out);
    }
}
