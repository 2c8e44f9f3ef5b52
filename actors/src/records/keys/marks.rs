//! Keys of the marks of blocks.

use caudal_ledger::ids::RealmId;

use super::key;

const MARKS: u8 = 0x42;

/// Which list a block is of.
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

/// Realm, list, block → what its vouchers are.
pub fn marks(realm: RealmId, list: Marked, block: u64) -> Vec<u8> {
    key(MARKS, realm, &[&[list.byte()], &block.to_be_bytes()])
}
