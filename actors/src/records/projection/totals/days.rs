//! The sums that each business day has added to a realm, so that the clients' money at the end of a day is a sum over
//! days, without reading any account.
//!
//! **Shape.** A row for each day with movements, under its last instant: available, held (each an `i128`), vouchers
//! (`u64`) and a zero (`u64`), big-endian. The newest day is in the row of the realm's sums, with its first and
//! last instant, until a later one begins. A voucher that an account decided a moment before midnight may come
//! after one of the next day: it changes the row of its own day.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_storage::{IndexWriter, StoreError};

use crate::records::keys;

/// A word of a row.
type RowWord = [u8; 16];

/// The sums that vouchers add to a realm, in centavos; debits are below zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Added to the money that can be spent.
    pub available: Sum,
    /// Added to the money that is set apart.
    pub held: Sum,
    /// The number of vouchers.
    pub vouchers: u64,
}

impl Added {
    /// The sums of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            available: self.available.plus(other.available),
            held: self.held.plus(other.held),
            vouchers: self.vouchers.strict_add(other.vouchers),
        }
    }

    fn words(self) -> [RowWord; 3] {
        [
            self.available.centavos().to_be_bytes(),
            self.held.centavos().to_be_bytes(),
            together(self.vouchers, 0),
        ]
    }

    fn of([available, held, vouchers]: [RowWord; 3]) -> Self {
        let sum = |word| Sum::from_centavos(i128::from_be_bytes(word));
        Self {
            available: sum(available),
            held: sum(held),
            vouchers: apart(vouchers).0,
        }
    }

    /// Reads a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is of another size.
    pub fn parse(row: &[u8]) -> Result<Self, StoreError> {
        let cut = || StoreError::Corrupt("the sums of a day are cut short".into());
        match row.as_chunks::<16>() {
            ([available, held, vouchers], []) => Ok(Self::of([*available, *held, *vouchers])),
            _ => Err(cut()),
        }
    }
}

/// The newest day of a realm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Day {
    /// Its first instant, in milliseconds.
    pub first: u64,
    /// Its last instant, in milliseconds.
    pub last: u64,
    /// The sums that it has added so far.
    pub added: Added,
}

impl Day {
    /// Its part of the row of the realm's sums.
    pub(crate) fn words(self) -> [RowWord; 4] {
        let [available, held, vouchers] = self.added.words();
        [together(self.first, self.last), available, held, vouchers]
    }

    /// Reads the words that [`Self::words`] gave.
    pub(crate) fn of([ends, available, held, vouchers]: [RowWord; 4]) -> Self {
        let (first, last) = apart(ends);
        Self {
            first,
            last,
            added: Added::of([available, held, vouchers]),
        }
    }

    /// Adds a voucher at an instant, and writes the rows of days that are not the newest.
    pub(crate) fn add(
        &mut self,
        realm: RealmId,
        at: Timestamp,
        added: Added,
        index: &mut dyn IndexWriter,
    ) -> Result<(), StoreError> {
        if at.millis() < self.first {
            let key = keys::day(realm, at.business_day().end());
            let row = index.get(&key)?;
            let known = row.map_or(Ok(Added::default()), |row| Added::parse(&row))?;
            index.put(&key, known.plus(added).words().as_flattened());
            return Ok(());
        }
        if at.millis() > self.last {
            if self.added.vouchers > 0 {
                let key = keys::day(realm, Timestamp::from_millis(self.last));
                index.put(&key, self.added.words().as_flattened());
            }
            let day = at.business_day();
            *self = Self {
                first: day.start().millis(),
                last: day.end().millis(),
                added: Added::default(),
            };
        }
        self.added = self.added.plus(added);
        Ok(())
    }
}

/// Two numbers as one word.
pub(super) fn together(first: u64, second: u64) -> RowWord {
    (u128::from(first).wrapping_shl(64) | u128::from(second)).to_be_bytes()
}

/// The two numbers of a word.
pub(super) fn apart(word: RowWord) -> (u64, u64) {
    let half = |at: u32| {
        let shifted = u128::from_be_bytes(word).wrapping_shr(at);
        u64::try_from(shifted & u128::from(u64::MAX)).unwrap_or(u64::MAX)
    };
    (half(64), half(0))
}
