//! Keys of the closed days of a realm.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;

use super::key;

pub(super) const CLOSED_DAY: u8 = 0x4d;

/// All closed days of a realm.
pub fn closed_days(realm: RealmId) -> Vec<u8> {
    key(CLOSED_DAY, realm, &[])
}

/// Realm, day → the sequence of the fact that closed it, and of the one with the bank's side, if it came later.
pub fn closed_day(realm: RealmId, day: BusinessDay) -> Vec<u8> {
    key(CLOSED_DAY, realm, &[day.to_string().as_bytes()])
}
