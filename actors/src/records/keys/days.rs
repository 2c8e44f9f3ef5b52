//! Keys of the closed days of a realm.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;
use caudal_storage::StoreError;

use super::key;

pub(super) const CLOSED_DAY: u8 = 0x4d;

/// All closed days of a realm.
pub fn closed_days(realm: RealmId) -> Vec<u8> {
    key(CLOSED_DAY, realm, &[])
}

/// Realm, day → the sequence of the fact that closed it, and of the one after which it waits for nothing.
pub fn closed_day(realm: RealmId, day: BusinessDay) -> Vec<u8> {
    key(CLOSED_DAY, realm, &[day.to_string().as_bytes()])
}

/// The day of such a key.
///
/// # Errors
/// [`StoreError::Corrupt`] when the key does not end with a day.
pub fn day_of(key: &[u8]) -> Result<BusinessDay, StoreError> {
    let text = key.last_chunk::<10>();
    let day = text.and_then(|text| BusinessDay::parse(str::from_utf8(text).ok()?));
    day.ok_or_else(|| StoreError::Corrupt("the key of a closed day has no day".into()))
}
