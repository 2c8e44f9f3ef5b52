//! Keys of a realm under another number: that of a generation of it.

use caudal_ledger::ids::RealmId;

use super::key;
use super::rests::{REST, SNAPSHOT, STAND};

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
