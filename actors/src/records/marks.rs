//! Marks: the directions, references and types of the vouchers in a block of a list, so that a page with such a filter
//! skips the blocks that have none.
//!
//! **Shape.** One row of 16 bytes for each [`BLOCK`] numbers of a list: the events of a realm, or its internal
//! vouchers. It is a set of 128 bits: 8 for directions, 16 for kinds of references, and 104 for codes of types, each
//! hashed to one bit. A block that lacks a wanted mark has no such voucher; a block that has it may have one.
//!
//! **Cost.** The marks of a block that is not full are in the row of the realm's sums, which each voucher rewrites
//! anyway; the block's own row is written once, with its last number.

use caudal_ledger::balance::Direction;
use caudal_ledger::ids::RealmId;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::{Index, SortOrder, StoreError};

use super::keys::{self, Marked};

/// How many numbers of a list are in a block.
pub const BLOCK: u64 = 64;
/// Bytes of a row.
pub const BYTES: usize = 16;
/// How many rows are read at once, at first and at most.
const ROWS: (usize, usize) = (4, 1000);
/// Where the bits of references begin.
const REFERENCES: u32 = 8;
/// Where the bits of types begin.
const TYPES: u32 = 24;
/// How many bits types have.
const TYPE_BITS: u32 = 104;

/// The directions, references and types of some vouchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks(u128);

impl Marks {
    /// The marks of a voucher.
    pub fn of(voucher: &Voucher) -> Self {
        Self::direction(voucher.direction)
            .and(Self::reference(voucher.reference_type))
            .and(Self::code(&voucher.type_code))
    }

    const fn bit(at: u32) -> Self {
        Self(1_u128.wrapping_shl(at))
    }

    /// The mark of a direction.
    pub const fn direction(direction: Direction) -> Self {
        Self::bit(match direction {
            Direction::Credit => 0,
            Direction::Debit => 1,
            Direction::Hold => 2,
            Direction::Release => 3,
            Direction::ConfirmHold => 4,
        })
    }

    /// The mark of a kind of reference.
    pub const fn reference(reference: ReferenceType) -> Self {
        Self::bit(match reference {
            ReferenceType::Adjustment => REFERENCES,
            ReferenceType::Hold => REFERENCES + 1,
            ReferenceType::Transfer => REFERENCES + 2,
            ReferenceType::P2p => REFERENCES + 3,
            ReferenceType::CashIn => REFERENCES + 4,
            ReferenceType::Fee => REFERENCES + 5,
            ReferenceType::Remuneration => REFERENCES + 6,
        })
    }

    /// The mark of a type code; codes with the same hash (FNV-1a) share it.
    pub fn code(code: &TypeCode) -> Self {
        let bytes = code.as_str().bytes();
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Self::bit(TYPES + hash.rem_euclid(TYPE_BITS))
    }

    /// The marks of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the sets have a mark in common.
    const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The 128 bits as a row keeps them, big-endian.
    pub const fn to_bytes(self) -> [u8; BYTES] {
        self.0.to_be_bytes()
    }

    /// Reads a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is of another size.
    pub fn from_bytes(row: &[u8]) -> Result<Self, StoreError> {
        let bytes = row.try_into().map(u128::from_be_bytes);
        let cut = |_| StoreError::Corrupt("the marks of a block are cut short".into());
        bytes.map(Self).map_err(cut)
    }
}

/// The marks of the blocks of a realm that are not full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenBlocks {
    /// The block of the realm's events that is being filled.
    pub events: Marks,
    /// The block of its internal vouchers that is being filled.
    pub internal: Marks,
}

/// Whether a number is the last of its block.
pub const fn is_last(number: u64) -> bool {
    number % BLOCK == BLOCK - 1
}

/// The first number, in the order of a page, after the blocks from `start` on that lack the wanted marks: a block needs
/// one mark of each set in `wanted`. Blocks after `end` are not read. Each block that is read costs one of `left`; when
/// nothing is left, the number is that of the next block, which was not read.
pub fn skip(
    store: &dyn Index,
    (realm, list): (RealmId, Marked),
    wanted: &[Marks],
    (start, end, order): (u64, u64, SortOrder),
    left: &mut u64,
) -> Result<u64, StoreError> {
    let key = |block| keys::marks(realm, list, block);
    let mut block = start.div_euclid(BLOCK);
    let last = end.div_euclid(BLOCK);
    let (mut size, largest) = ROWS;
    // Where a page continues that has skipped all blocks before `block`.
    let at = |block: u64| match order {
        SortOrder::Ascending => start.max(block * BLOCK),
        SortOrder::Descending => start.min(block * BLOCK + BLOCK - 1),
    };
    loop {
        let (from, to) = match order {
            SortOrder::Ascending => (key(block), key(last + 1)),
            SortOrder::Descending => (key(last), key(block + 1)),
        };
        let asked = usize::try_from(*left).map_or(size, |left| size.min(left.max(1)));
        let rows = store.scan(&from, &to, order, asked)?;
        let full = rows.len() == asked;
        for (key, row) in rows {
            // A block without a row (it is not full yet, or earlier versions left it out) has to be scanned: the skip
            // ends there.
            if keys::number_of(&key)? != block || *left == 0 {
                return Ok(at(block));
            }
            let marks = Marks::from_bytes(&row)?;
            if wanted.iter().all(|wanted| marks.meets(*wanted)) {
                return Ok(at(block));
            }
            *left -= 1;
            let next = match order {
                SortOrder::Ascending => block.checked_add(1),
                SortOrder::Descending => block.checked_sub(1),
            };
            let Some(next) = next else {
                // Number 0 does not exist, so there is nothing before the first block.
                return Ok(0);
            };
            block = next;
        }
        if !full {
            return Ok(at(block));
        }
        size = (size * 4).min(largest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_these_bits_and_read_back() {
        let code = |text| Marks::code(&TypeCode::parse(text).unwrap());
        assert_eq!(Marks::direction(Direction::ConfirmHold).0, 1 << 4);
        assert_eq!(Marks::reference(ReferenceType::Remuneration).0, 1 << 14);
        // These bits are on disk, so they may never change.
        assert_eq!(code("IN").0.trailing_zeros(), 102);
        assert_eq!(code("TRANSFER_OUT").0.trailing_zeros(), 53);
        let all = Direction::ALL.map(Marks::direction);
        let all = all
            .into_iter()
            .chain(ReferenceType::ALL.map(Marks::reference));
        let all = all.fold(code("IN"), Marks::and);
        assert_eq!(all.0.count_ones(), 13);
        assert_eq!(Marks::from_bytes(&all.to_bytes()).unwrap(), all);
        assert!(Marks::from_bytes(&all.to_bytes()[1..]).is_err());
    }
}
