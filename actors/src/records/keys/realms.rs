//! Keys of a realm as a whole: under the number of a generation, and the prefixes of some kinds.

use caudal_ledger::ids::RealmId;

use super::rests::{REST, SNAPSHOT, STAND};
use super::{EXTERNAL, INTERNAL, SORTED, key};

/// The key with the number of another realm; `None` if it does not have this realm's number.
pub fn renumbered(key: &[u8], from: RealmId, to: RealmId) -> Option<Vec<u8>> {
    let (tag, rest) = key.split_first()?;
    let rest = rest.strip_prefix(&from.0.to_be_bytes())?;
    Some([&[*tag], to.0.to_be_bytes().as_slice(), rest].concat())
}

/// The prefixes of the rows that a realm's accounts have left at rest, of each kind.
pub fn left_at_rest(realm: RealmId) -> [Vec<u8>; 3] {
    [REST, SNAPSHOT, STAND].map(|tag| key(tag, realm, &[]))
}

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
