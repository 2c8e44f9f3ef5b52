//! Marks: of which directions, references and types the vouchers in a block of a list are, so that a page which
//! looks for some of them passes over the blocks that have none.
//!
//! **Shape.** One row of 16 bytes for each [`BLOCK`] numbers of a list: the events of a realm, or what is internal
//! to it. It is a set of 128 bits: 8 for directions, 16 for kinds of references, and 104 for codes of types, each
//! hashed to one of them. A block whose marks lack what is asked for has none of it; another one may have it.
//!
//! **Cost.** The marks of a block that is not full lie in the row of the realm's sums, which each voucher rewrites
//! anyway; the block's own row is written once, with its last number.

use caudal_ledger::balance::Direction;
use caudal_ledger::ids::RealmId;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ReferenceType, Voucher};
use caudal_storage::{Index, SortOrder, StoreError};

use super::keys::{self, Marked};

/// How many numbers of a list a block has.
pub const BLOCK: u64 = 64;
/// Bytes of a row.
pub const BYTES: usize = 16;
/// How many rows are read at once, at first and at most.
const ROWS: (usize, usize) = (4, 1000);
/// Where the bits of references begin.
const REFERENCES: u32 = 8;
/// Where those of types begin.
const TYPES: u32 = 24;
/// How many bits types have.
const TYPE_BITS: u32 = 104;

/// What some vouchers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marks(u128);

impl Marks {
    /// What a voucher is.
    pub fn of(voucher: &Voucher) -> Self {
        Self::direction(voucher.direction)
            .and(Self::reference(voucher.reference_type))
            .and(Self::code(&voucher.type_code))
    }

    const fn bit(at: u32) -> Self {
        Self(1_u128.wrapping_shl(at))
    }

    /// That some are of a direction.
    pub const fn direction(direction: Direction) -> Self {
        Self::bit(match direction {
            Direction::Credit => 0,
            Direction::Debit => 1,
            Direction::Hold => 2,
            Direction::Release => 3,
            Direction::ConfirmHold => 4,
        })
    }

    /// That some have a kind of reference.
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

    /// That some are of a type of this code, or of one whose code has the same hash (FNV-1a).
    pub fn code(code: &TypeCode) -> Self {
        let bytes = code.as_str().bytes();
        let hash = bytes.fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Self::bit(TYPES + hash.rem_euclid(TYPE_BITS))
    }

    /// What is marked in either of them.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they have something in common.
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
pub struct Open {
    /// Of the block of the realm's events that is being filled.
    pub events: Marks,
    /// Of what is internal to it.
    pub internal: Marks,
}

/// Whether a number is the last of its block.
pub const fn is_last(number: u64) -> bool {
    number % BLOCK == BLOCK - 1
}

/// The first number, in the order of a page, behind the blocks from `start` on that have nothing of what is asked
/// for: one of each set of `wanted`. No block behind `end` is looked at. Each one that is costs one of `left`; when
/// there is none left, the number is that of the next block, which nobody has looked at.
///
/// # Errors
/// When the store cannot be read.
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
    // Where a page goes on that has passed over all blocks before one.
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
            // The blocks before and behind one that is not full, or that earlier versions left out, are looked at.
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
                // The first block has no number 0, so nothing is before it.
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
        // On disk, so they may never change.
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
