//! What counts towards limits: the row of the sums that have left a realm, and for each account and voucher type with
//! limits the row of what its vouchers have used of them. Each is rewritten with every voucher that counts.
//!
//! **Shape.** The row of a type is MessagePack: the sequence of the last voucher, and the [`Usage`]. The row of a realm is
//! of fixed size: four words of 8 bytes, big-endian: the newest movement (milliseconds), then the sums that left in its day
//! and in its month (centavos, `i64`), and the movements in its minute. See [`caudal_ledger::limits::TotalUsage`].

use caudal_ledger::limits::{TotalUsage, Usage};
use caudal_ledger::money::Money;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::StoreError;
use serde::{Deserialize, Serialize};

use super::EntryRows;
use crate::records::keys;

/// What an account's vouchers of a type with limits have used of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TypeUsageRow {
    /// The sequence of the last one; 0 without one.
    pub last: u64,
    /// The usage.
    pub usage: Usage,
}

impl TypeUsageRow {
    /// The row after another voucher that counts.
    #[must_use]
    pub fn after(self, voucher: &Voucher) -> Self {
        Self {
            last: voucher.sequence,
            usage: self.usage.with(voucher.amount, voucher.at),
        }
    }
}

/// Counts a voucher among the sums that have left its realm, and towards the limits of its type, if it counts there.
pub(super) fn posted(rows: &mut EntryRows<'_>, voucher: &Voucher) -> Result<(), StoreError> {
    if TotalUsage::counts(voucher) {
        let key = keys::usage(rows.realm);
        let usage = parse(rows.index.get(&key)?.as_deref())?;
        let after = row(usage.after(voucher));
        rows.index.put(&key, after.as_flattened());
    }
    if voucher.is_of_limited_type() {
        let key = keys::usage_of_type(rows.realm, rows.account, &voucher.type_code);
        let before: TypeUsageRow = rows.get_or_default(&key)?;
        rows.put(&key, &before.after(voucher))?;
    }
    Ok(())
}

/// The usage in a row; zero without a row.
pub(crate) fn parse(row: Option<&[u8]>) -> Result<TotalUsage, StoreError> {
    let Some(row) = row else {
        return Ok(TotalUsage::default());
    };
    let ([at, daily, monthly, in_minute], []) = row.as_chunks::<8>() else {
        return Err(StoreError::Corrupt(
            "the usage of a realm is cut short".into(),
        ));
    };
    let money = |word: &[u8; 8]| Money::from_centavos(i64::from_be_bytes(*word));
    Ok(TotalUsage {
        at: Timestamp::from_millis(u64::from_be_bytes(*at)),
        daily: money(daily),
        monthly: money(monthly),
        in_minute: u64::from_be_bytes(*in_minute),
    })
}

fn row(usage: TotalUsage) -> [[u8; 8]; 4] {
    [
        usage.at.millis().to_be_bytes(),
        usage.daily.centavos().to_be_bytes(),
        usage.monthly.centavos().to_be_bytes(),
        usage.in_minute.to_be_bytes(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_reads_back_and_a_row_that_is_cut_is_damage() {
        let usage = TotalUsage {
            at: Timestamp::from_millis(1_700_000_000_123),
            daily: Money::from_centavos(5),
            monthly: Money::from_centavos(i64::MAX),
            in_minute: 7,
        };
        let written = row(usage);
        assert_eq!(parse(Some(written.as_flattened())).unwrap(), usage);
        assert_eq!(parse(None).unwrap(), TotalUsage::default());
        assert!(parse(Some(&written.as_flattened()[..31])).is_err());
    }
}
