//! Keys of a realm as a whole: under the number of a generation of it, and with what all of a kind begin.

use caudal_ledger::ids::RealmId;

use super::rests::{REST, SNAPSHOT, STAND};
use super::{EXTERNAL, INTERNAL, SORTED, key};

/// The key with another realm's number; `None` where it has not this one's.
pub fn renumbered(key: &[u8], from: RealmId, to: RealmId) -> Option<Vec<u8>> {
    let (tag, rest) = key.split_first()?;
    let rest = rest.strip_prefix(&from.0.to_be_bytes())?;
    Some([&[*tag], to.0.to_be_bytes().as_slice(), rest].concat())
}

/// Where the rows begin that the accounts of a realm have left at rest, of each kind.
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
