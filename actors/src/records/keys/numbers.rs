//! The numbers at the end of keys, and the rows that are numbers or places of vouchers: eight bytes for each number. A
//! number that is cut short is an error, and never the account 0.

use caudal_ledger::cases::SuspensePlace;
use caudal_ledger::ids::AccountNo;
use caudal_storage::StoreError;

/// The place of a voucher: account and sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VoucherPlace {
    /// The account that the voucher moved.
    pub account: AccountNo,
    /// The sequence in the account.
    pub sequence: u64,
}

impl VoucherPlace {
    /// The place of an account's voucher.
    pub const fn new(account: AccountNo, sequence: u64) -> Self {
        Self { account, sequence }
    }

    /// The place as 16 bytes, both numbers big-endian, so that places of one account sort by sequence.
    pub fn to_bytes(self) -> [u8; 16] {
        let joined = u128::from(self.account.0).wrapping_shl(64) | u128::from(self.sequence);
        joined.to_be_bytes()
    }

    /// Reads what [`Self::to_bytes`] wrote; [`StoreError::Corrupt`] when there are less than 16 bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        let (account, sequence) = bytes
            .split_first_chunk::<8>()
            .and_then(|(a, rest)| Some((*a, *rest.first_chunk::<8>()?)))
            .ok_or_else(|| StoreError::Corrupt("a place in the index is cut short".into()))?;
        let account = AccountNo(u64::from_be_bytes(account));
        Ok(Self::new(account, u64::from_be_bytes(sequence)))
    }
}

impl From<SuspensePlace> for VoucherPlace {
    fn from(place: SuspensePlace) -> Self {
        Self::new(place.account, place.sequence)
    }
}

impl From<VoucherPlace> for SuspensePlace {
    fn from(place: VoucherPlace) -> Self {
        Self {
            account: place.account,
            sequence: place.sequence,
        }
    }
}

/// The account and number at the end of a key.
///
/// # Errors
/// [`StoreError::Corrupt`] when the key is too short to have them.
pub fn numbers_of(key: &[u8]) -> Result<(AccountNo, u64), StoreError> {
    let (rest, number) = key.split_last_chunk::<8>().ok_or_else(cut_short)?;
    Ok((account_of(rest)?, u64::from_be_bytes(*number)))
}

/// The account at the end of a key.
///
/// # Errors
/// [`StoreError::Corrupt`] when the key is too short to have one.
pub fn account_of(key: &[u8]) -> Result<AccountNo, StoreError> {
    number_of(key).map(AccountNo)
}

/// The number at the end of a key, whatever it counts.
///
/// # Errors
/// [`StoreError::Corrupt`] when the key is too short to have one.
pub fn number_of(key: &[u8]) -> Result<u64, StoreError> {
    let number = key.last_chunk::<8>().ok_or_else(cut_short)?;
    Ok(u64::from_be_bytes(*number))
}

/// The count in a row; 0 if there is no row.
///
/// # Errors
/// [`StoreError::Corrupt`] when the row is no count.
pub fn count_in(row: Option<&[u8]>) -> Result<u64, StoreError> {
    let Some(row) = row else { return Ok(0) };
    let count = row.try_into().map_err(|_| cut_short())?;
    Ok(u64::from_be_bytes(count))
}

fn cut_short() -> StoreError {
    StoreError::Corrupt("a number in the index is cut short".into())
}

#[cfg(test)]
mod tests {
    use caudal_ledger::ids::RealmId;
    use caudal_ledger::time::BusinessDay;

    use super::*;
    use crate::records::keys::bank_day_of;

    #[test]
    fn a_key_that_is_cut_short_is_corrupt_and_names_no_account() {
        let key = bank_day_of(
            RealmId(1),
            BusinessDay::parse("2026-03-01").unwrap(),
            AccountNo(7),
            9,
        );
        assert_eq!(numbers_of(&key).unwrap(), (AccountNo(7), 9));
        for short in [&key[..0], &key[..7], &key[..15]] {
            assert!(matches!(numbers_of(short), Err(StoreError::Corrupt(_))));
        }
        assert!(matches!(account_of(&key[..7]), Err(StoreError::Corrupt(_))));
        assert_eq!(count_in(None).unwrap(), 0);
        assert!(matches!(
            count_in(Some(&key[..7])),
            Err(StoreError::Corrupt(_))
        ));
    }
}
