//! Keys of the recorded movements of collector accounts.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;

use super::{key, named};

pub(super) const COLLECTOR: u8 = 0x48;
pub(super) const COLLECTOR_OF: u8 = 0x49;
pub(super) const COLLECTOR_DAY: u8 = 0x4a;

/// Realm, sequence → the recorded movement.
pub fn collector(realm: RealmId, sequence: u64) -> Vec<u8> {
    key(COLLECTOR, realm, &[&sequence.to_be_bytes()])
}

/// Realm, the bank's id (hashed, because the bank chooses it) → the sequence of the recorded movement.
pub fn collector_of(realm: RealmId, bank_id: &str) -> Vec<u8> {
    key(COLLECTOR_OF, realm, &[&named(bank_id)])
}

/// All recorded movements of a realm that the bank posted on a business day.
pub fn collector_day(realm: RealmId, day: BusinessDay) -> Vec<u8> {
    key(COLLECTOR_DAY, realm, &[day.to_string().as_bytes()])
}

/// Realm, day, sequence → present.
pub fn collector_day_of(realm: RealmId, day: BusinessDay, sequence: u64) -> Vec<u8> {
    let day = day.to_string();
    key(
        COLLECTOR_DAY,
        realm,
        &[day.as_bytes(), &sequence.to_be_bytes()],
    )
}
