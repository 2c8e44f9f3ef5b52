//! Rows of the recorded movements of collector accounts: by sequence, by the bank's id, by the bank's day, and as a
//! case while nobody has said what they are.

use caudal_ledger::cases::{CaseKind, CollectorFact, RecordedMovement};

use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, IndexWriter, StoreError};

use super::{VoucherPlace, cases};
use crate::records::{decode, encode, keys};

/// The rows that a fact adds.
pub(super) fn happened(
    realm: RealmId,
    entry: &Entry,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let fact = decode(&entry.body)?;
    let (waited, record) = match &fact {
        CollectorFact::Listed { movement, class } => {
            let sequence = entry.seq.to_be_bytes();
            index.put(&keys::collector_of(realm, &movement.bank_id), &sequence);
            let day = movement.at.business_day();
            index.put(&keys::collector_day_of(realm, day, entry.seq), &[]);
            let record = RecordedMovement {
                sequence: entry.seq,
                movement: movement.clone(),
                class: *class,
                since: Timestamp::from_millis(entry.at),
                decision: None,
                matched: false,
            };
            (false, record)
        }
        CollectorFact::Classified { record, .. } | CollectorFact::Matched { record } => {
            let row = index.get(&keys::collector(realm, *record))?;
            let lost = || {
                let why = "a movement of the collector account goes on and was never listed";
                StoreError::Corrupt(why.into())
            };
            let mut record: RecordedMovement = decode(&row.ok_or_else(lost)?)?;
            let waited = record.waits();
            record.apply(&fact);
            (waited, record)
        }
    };
    index.put(&keys::collector(realm, record.sequence), &encode(&record)?);
    let place = VoucherPlace {
        account: AccountNo(0),
        sequence: record.sequence,
    };
    match (waited, record.waits()) {
        (false, true) => cases::opens(realm, CaseKind::Collector, (place, record.since), index),
        (true, false) => cases::closes(realm, CaseKind::Collector, place, index),
        (true, true) | (false, false) => Ok(()),
    }
}
