//! Rows of the accounts for adjustments: what each has now, and what each business day added to it.
//!
//! **Shape.** Words of 16 bytes, big-endian. Of an account: its balance (`i128`), the first and last instant of its newest
//! day (each `u64`), and what that day has added (`i128`). Of an earlier day: what it added (`i128`); a day that added nothing
//! in all may have no row. As with the sums of the realm, the newest day gets its row when a later one begins, and a
//! voucher that comes late changes the row of its own day.
//!
//! **Cost.** An adjustment reads and writes one row; any other voucher none.

use caudal_ledger::books::{adjusted, adjustments_parts};
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::StoreError;

use super::EntryRows;
use super::totals::{apart, together};
use crate::records::keys;

/// An account for adjustments; sums are credits less debits, in centavos.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BookRow {
    /// Its balance.
    pub balance: Sum,
    /// The first instant of its newest day, in milliseconds.
    pub first: u64,
    /// The last instant of that day.
    pub last: u64,
    /// What that day has added so far.
    pub added: Sum,
}

fn cut() -> StoreError {
    StoreError::Corrupt("the sums of an account of the books are cut short".into())
}

fn sum(word: [u8; 16]) -> Sum {
    Sum::from_centavos(i128::from_be_bytes(word))
}

impl BookRow {
    /// Reads a row; an account without one has nothing.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is of another size.
    pub fn parse(row: Option<&[u8]>) -> Result<Self, StoreError> {
        let Some(row) = row else {
            return Ok(Self::default());
        };
        let ([balance, ends, added], []) = row.as_chunks::<16>() else {
            return Err(cut());
        };
        let (first, last) = apart(*ends);
        Ok(Self {
            balance: sum(*balance),
            first,
            last,
            added: sum(*added),
        })
    }

    fn words(self) -> [[u8; 16]; 3] {
        [
            self.balance.centavos().to_be_bytes(),
            together(self.first, self.last),
            self.added.centavos().to_be_bytes(),
        ]
    }
}

/// What a day added to an account, from its row; nothing without one.
///
/// # Errors
/// [`StoreError::Corrupt`] when it is of another size.
pub fn added_by_day(row: Option<&[u8]>) -> Result<Sum, StoreError> {
    match row.map(<[u8; 16]>::try_from) {
        None => Ok(Sum::default()),
        Some(Ok(word)) => Ok(sum(word)),
        Some(Err(_)) => Err(cut()),
    }
}

/// Counts a voucher in its account for adjustments, if it has one.
pub(super) fn posted(rows: &mut EntryRows<'_>, voucher: &Voucher) -> Result<(), StoreError> {
    let Some(taken) = adjusted(voucher) else {
        return Ok(());
    };
    let (realm, index) = (rows.realm, &mut *rows.index);
    let (key, at) = (keys::book(realm, adjustments_parts(voucher)), voucher.at);
    let mut row = BookRow::parse(index.get(key.as_ref())?.as_deref())?;
    row.balance = row.balance.plus(taken);
    if at.millis() < row.first {
        let day = keys::book_day(realm, at.business_day().end(), keys::book_name(&key));
        let known = added_by_day(index.get(&day)?.as_deref())?;
        index.put(&day, &known.plus(taken).centavos().to_be_bytes());
    } else {
        if at.millis() > row.last {
            if row.added != Sum::default() {
                let end = Timestamp::from_millis(row.last);
                let day = keys::book_day(realm, end, keys::book_name(&key));
                index.put(&day, &row.added.centavos().to_be_bytes());
            }
            let day = at.business_day();
            (row.first, row.last) = (day.start().millis(), day.end().millis());
            row.added = Sum::default();
        }
        row.added = row.added.plus(taken);
    }
    index.put(key.as_ref(), row.words().as_flattened());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_what_is_cut_is_damage() {
        let row = BookRow {
            balance: Sum::from_centavos(i128::MIN),
            first: 1,
            last: u64::MAX,
            added: Sum::from_centavos(-7),
        };
        let words = row.words();
        let written = words.as_flattened();
        assert_eq!(BookRow::parse(Some(written)).unwrap(), row);
        assert_eq!(BookRow::parse(None).unwrap(), BookRow::default());
        for cut in [0, 1, 16, 47] {
            assert!(BookRow::parse(Some(&written[..cut])).is_err(), "{cut}");
        }
        assert_eq!(added_by_day(Some(&words[2])).unwrap(), row.added);
        assert!(added_by_day(Some(&written[..15])).is_err());
    }
}
