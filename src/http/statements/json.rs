//! A statement as JSON: one object, whose last field is the list of lines.

use caudal_ledger::ids::RealmId;
use caudal_ledger::statements::Statement;
use caudal_ledger::vouchers::Voucher;

use super::StatementWriter;
use crate::bodies::statements::{StatementBody, StatementLine};

/// The end of the frame while it has no lines.
const END: &[u8] = b"]}";

/// A statement that is being written as JSON.
pub(super) struct JsonStatement {
    realm: RealmId,
    statement: Statement,
    begun: bool,
}

impl JsonStatement {
    /// Begins a statement.
    pub(super) const fn new(realm: RealmId, statement: Statement) -> Self {
        Self {
            realm,
            statement,
            begun: false,
        }
    }
}

impl StatementWriter for JsonStatement {
    fn head(&mut self, out: &mut Vec<u8>) {
        // Without its lines. Memory takes everything, and every key is a text.
        serde_json::to_writer(&mut *out, &StatementBody::from(&self.statement)).ok();
        if out.ends_with(END) {
            out.truncate(out.len() - END.len());
        }
    }

    fn line(&mut self, voucher: &Voucher, out: &mut Vec<u8>) {
        if self.begun {
            out.push(b',');
        }
        self.begun = true;
        let line = StatementLine::of(self.realm, &self.statement, voucher);
        serde_json::to_writer(&mut *out, &line).ok();
    }

    fn foot(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(END);
    }
}
