//! Keys of summaries: the marks of blocks, the sums of days.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;

use super::key;

const MARKS: u8 = 0x42;
const DAY: u8 = 0x43;

/// The list to which a block belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marked {
    /// The events of a realm.
    Events,
    /// Its adjustments and internal transfers.
    Internal,
}

impl Marked {
    const fn byte(self) -> u8 {
        match self {
            Self::Events => b'e',
            Self::Internal => b'i',
        }
    }
}

/// Realm, list, block → the marks of its vouchers.
pub fn marks(realm: RealmId, list: Marked, block: u64) -> Vec<u8> {
    key(MARKS, realm, &[&[list.byte()], &block.to_be_bytes()])
}

/// All blocks of a list.
pub fn marked(realm: RealmId, list: Marked) -> Vec<u8> {
    key(MARKS, realm, &[&[list.byte()]])
}

/// All days of a realm.
pub fn days(realm: RealmId) -> Vec<u8> {
    key(DAY, realm, &[])
}

/// Realm, the last instant of a day → the sums that the day has added.
pub fn day(realm: RealmId, end: Timestamp) -> Vec<u8> {
    key(DAY, realm, &[&end.millis().to_be_bytes()])
}
