//! The lines of a realm's internal movements: adjustments and internal transfers in their order, each with the fields
//! that most filters need, so that a scan need not read the vouchers.

use caudal_ledger::balance::Direction;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::StoreError;

use super::VoucherPlace;

/// One line: 33 bytes, `place 16, at u64, centavos i64, direction u8` (big-endian).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InternalLine {
    /// The place of the voucher.
    pub place: VoucherPlace,
    /// When it was posted.
    pub at: Timestamp,
    /// Its amount, in centavos.
    pub amount: i64,
    /// The balance that it moved, and in which direction.
    pub direction: Direction,
}

impl InternalLine {
    /// The line of an account's voucher.
    pub const fn of(account: AccountNo, voucher: &Voucher) -> Self {
        Self {
            place: VoucherPlace::new(account, voucher.sequence),
            at: voucher.at,
            amount: voucher.amount.centavos(),
            direction: voucher.direction,
        }
    }

    /// The line as bytes.
    pub fn to_bytes(self) -> Vec<u8> {
        [
            self.place.to_bytes().as_slice(),
            &self.at.millis().to_be_bytes(),
            &self.amount.to_be_bytes(),
            &[self.direction.byte()],
        ]
        .concat()
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it does not have 33 bytes or a valid direction.
    pub fn from_bytes(row: &[u8]) -> Result<Self, StoreError> {
        Self::read(row).ok_or_else(|| StoreError::Corrupt("a line of a realm is cut short".into()))
    }

    fn read(row: &[u8]) -> Option<Self> {
        let (place, rest) = row.split_first_chunk::<16>()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let (amount, rest) = rest.split_first_chunk::<8>()?;
        let [byte] = rest else { return None };
        let direction = Direction::ALL.into_iter().find(|it| it.byte() == *byte)?;
        Some(Self {
            place: VoucherPlace::from_bytes(place).ok()?,
            at: Timestamp::from_millis(u64::from_be_bytes(*at)),
            amount: i64::from_be_bytes(*amount),
            direction,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_these_bytes_and_reads_back() {
        let line = InternalLine {
            place: VoucherPlace::new(AccountNo(7), 9),
            at: Timestamp::from_millis(0x0102_0304_0506),
            amount: 150_025,
            direction: Direction::Debit,
        };
        let bytes = line.to_bytes();
        let places = [0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9];
        assert_eq!(bytes[..16], places);
        assert_eq!(bytes[16..24], [0, 0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(bytes[24..], [0, 0, 0, 0, 0, 2, 0x4a, 9, 2]);
        assert_eq!(InternalLine::from_bytes(&bytes).unwrap(), line);
        for cut in 0..bytes.len() {
            assert!(InternalLine::from_bytes(&bytes[..cut]).is_err());
        }
        for bad in [0, 6, 255] {
            let mut bytes = bytes.clone();
            bytes[32] = bad;
            assert!(InternalLine::from_bytes(&bytes).is_err());
        }
    }
}
