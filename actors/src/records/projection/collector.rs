//! Rows of the recorded movements of collector accounts: by sequence, by the bank's id, by the bank's day, as a case while
//! nobody has said what they are, in the books, and by their place among the events of the realm.

use caudal_ledger::cases::{CaseKind, CollectorFact, RecordedMovement};
use caudal_ledger::collector::CollectorMovement;
use caudal_ledger::ids::AccountNo;
use caudal_storage::StoreError;

use super::totals::{self, Cause};
use super::{EntryRows, VoucherPlace, cases};
use crate::records::keys;

/// The rows that a fact adds.
pub(super) fn happened(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let fact = rows.fact()?;
    let (realm, sequence) = (rows.realm, rows.entry.seq);
    let (before, record) = match &fact {
        CollectorFact::Listed { movement, class } => {
            let of = keys::collector_of(realm, &movement.bank_id);
            rows.index.put(&of, &sequence.to_be_bytes());
            let day = movement.at.business_day();
            let day = keys::collector_day_of(realm, day, sequence);
            rows.index.put(&day, &[]);
            let line = CollectorMovement::clone(movement);
            let record = RecordedMovement::listed(sequence, line, *class, rows.at());
            (None, record)
        }
        CollectorFact::Classified { record, .. } | CollectorFact::Matched { record } => {
            let lost = "a movement of the collector account goes on and was never listed";
            let before: RecordedMovement = rows.known(&keys::collector(realm, *record), lost)?;
            let mut record = before.clone();
            record.apply(&fact);
            (Some(before), record)
        }
    };
    rows.put(&keys::collector(realm, record.sequence), &record)?;
    let place = VoucherPlace::new(AccountNo(0), record.sequence);
    let events = totals::update(rows, Cause::Moved, |totals| {
        totals.house.moved(&fact, before.as_ref());
        totals.events
    })?;
    let key = keys::book_place(realm, events.strict_add(sequence));
    rows.index.put(&key, &sequence.to_be_bytes());
    let waited = before.is_some_and(|before| before.waits());
    match (waited, record.waits()) {
        (false, true) => cases::opens(rows, CaseKind::Collector, place, record.since),
        (true, false) => cases::closes(rows, CaseKind::Collector, place),
        (true, true) | (false, false) => Ok(()),
    }
}
