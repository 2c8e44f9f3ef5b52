//! Rows of the recorded movements of collector accounts: by sequence, by the bank's id, by the bank's day, as a case while
//! nobody has said what they are, in the books, and by their place among the events of the realm.

use caudal_ledger::cases::{CaseKind, CollectorFact, RecordedMovement};

use caudal_ledger::collector::CollectorMovement;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, IndexWriter, StoreError};

use super::{VoucherPlace, cases, totals};
use crate::records::{decode, encode, keys};

/// The rows that a fact adds.
pub(super) fn happened(
    realm: RealmId,
    entry: &Entry,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let fact = decode(&entry.body)?;
    let (before, record) = match &fact {
        CollectorFact::Listed { movement, class } => {
            let sequence = entry.seq.to_be_bytes();
            index.put(&keys::collector_of(realm, &movement.bank_id), &sequence);
            let day = movement.at.business_day();
            index.put(&keys::collector_day_of(realm, day, entry.seq), &[]);
            let (line, since) = (
                CollectorMovement::clone(movement),
                Timestamp::from_millis(entry.at),
            );
            let record = RecordedMovement::listed(entry.seq, line, *class, since);
            (None, record)
        }
        CollectorFact::Classified { record, .. } | CollectorFact::Matched { record } => {
            let row = index.get(&keys::collector(realm, *record))?;
            let lost = || {
                let why = "a movement of the collector account goes on and was never listed";
                StoreError::Corrupt(why.into())
            };
            let before: RecordedMovement = decode(&row.ok_or_else(lost)?)?;
            let mut record = before.clone();
            record.apply(&fact);
            (Some(before), record)
        }
    };
    index.put(&keys::collector(realm, record.sequence), &encode(&record)?);
    let place = VoucherPlace {
        account: AccountNo(0),
        sequence: record.sequence,
    };
    let at = Timestamp::from_millis(entry.at);
    let events = totals::moved(realm, index, at, |totals| {
        totals.house.moved(&fact, before.as_ref());
        totals.events
    })?;
    let number = entry.seq.to_be_bytes();
    index.put(
        &keys::book_place(realm, events.strict_add(entry.seq)),
        &number,
    );
    let waited = before.is_some_and(|before| before.waits());
    match (waited, record.waits()) {
        (false, true) => cases::opens(realm, CaseKind::Collector, (place, record.since), index),
        (true, false) => cases::closes(realm, CaseKind::Collector, place, index),
        (true, true) | (false, false) => Ok(()),
    }
}
