//! Typed reads of the recorded movements of collector accounts.

use caudal_ledger::cases::RecordedMovement;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;
use caudal_storage::{Index, SortOrder, StoreError};

use super::{Lookup, number, record, under};
use crate::records::keys;

/// The recorded movement with a sequence.
pub fn recorded(store: &dyn Index, realm: RealmId, sequence: u64) -> Lookup<RecordedMovement> {
    record(store, &keys::collector(realm, sequence))
}

/// The recorded movement with the bank's id.
pub fn by_bank_id(store: &dyn Index, realm: RealmId, bank_id: &str) -> Lookup<RecordedMovement> {
    match number(store, &keys::collector_of(realm, bank_id))? {
        Some(sequence) => recorded(store, realm, sequence),
        None => Ok(None),
    }
}

/// The first `limit` recorded movements that the bank posted on a day, in the order in which they were recorded.
pub fn of_day(
    store: &dyn Index,
    realm: RealmId,
    day: BusinessDay,
    limit: usize,
) -> Result<Vec<RecordedMovement>, StoreError> {
    let prefix = keys::collector_day(realm, day);
    let rows = under(store, &prefix, SortOrder::Ascending, limit)?;
    let records = rows
        .iter()
        .map(|(key, _)| recorded(store, realm, keys::number_of(key)?));
    let records: Result<Vec<_>, _> = records.collect();
    Ok(records?.into_iter().flatten().collect())
}
