//! Keys of a realm as a whole: the prefixes of some kinds.

use caudal_ledger::ids::RealmId;

use super::{EXTERNAL, INTERNAL, SORTED, key};

/// All external ids of a realm.
pub fn externals(realm: RealmId) -> Vec<u8> {
    key(EXTERNAL, realm, &[])
}

/// All lines of adjustments and internal transfers of a realm.
pub fn internals(realm: RealmId) -> Vec<u8> {
    key(INTERNAL, realm, &[])
}

/// All accounts of a realm in all their orders.
pub fn orders(realm: RealmId) -> Vec<u8> {
    key(SORTED, realm, &[])
}
