//! The sums that each business day has added to a realm, so that the clients' money and the books at the end of a day are
//! a sum over days, without reading any account.
//!
//! **Shape.** A row for each day with movements, under its last instant: available, held (each an `i128`), vouchers
//! (`u64`) and a zero (`u64`), suspense, transfers that wait for the bank, and the PSP's own accounts (each an `i128`),
//! big-endian. The newest day is in the row of the realm's sums, with its first and
//! last instant, until a later one begins. A voucher that an account decided a moment before midnight may come
//! after one of the next day: it changes the row of its own day.

use caudal_ledger::books::{HOUSE, HouseBalances};
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_storage::{IndexWriter, StoreError};

use crate::records::keys;

/// A word of a row.
type RowWord = [u8; 16];

/// How many words the sums of a day have.
const ADDED_WORDS: usize = 5 + HOUSE;
/// How many words the newest day has in the row of the realm's sums.
pub(super) const DAY_WORDS: usize = 1 + ADDED_WORDS;

/// The sums that a day's facts add to a realm, in centavos; debits are below zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Added {
    /// Added to the money that can be spent.
    pub available: Sum,
    /// Added to the money that is set apart.
    pub held: Sum,
    /// The number of vouchers.
    pub vouchers: u64,
    /// Added to the money that no account could take.
    pub suspense: Sum,
    /// Added to the transfers that wait for the bank.
    pub outgoing: Sum,
    /// Added to the PSP's own accounts.
    pub house: HouseBalances,
}

impl Added {
    /// The sums of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            available: self.available.plus(other.available),
            held: self.held.plus(other.held),
            vouchers: self.vouchers.strict_add(other.vouchers),
            suspense: self.suspense.plus(other.suspense),
            outgoing: self.outgoing.plus(other.outgoing),
            house: self.house.plus(other.house),
        }
    }

    fn words(self) -> [RowWord; ADDED_WORDS] {
        let sum = |sum: Sum| sum.centavos().to_be_bytes();
        let own = [
            sum(self.available),
            sum(self.held),
            together(self.vouchers, 0),
            sum(self.suspense),
            sum(self.outgoing),
        ];
        let house = self.house.balances().iter().map(|it| sum(*it));
        let mut words = [[0; 16]; ADDED_WORDS];
        let all = own.into_iter().chain(house);
        words.iter_mut().zip(all).for_each(|(at, word)| *at = word);
        words
    }

    fn of(words: &[RowWord]) -> Option<Self> {
        let (own, house) = words.split_first_chunk::<5>()?;
        let [available, held, vouchers, suspense, outgoing] = *own;
        let sum = |word| Sum::from_centavos(i128::from_be_bytes(word));
        Some(Self {
            available: sum(available),
            held: sum(held),
            vouchers: apart(vouchers).0,
            suspense: sum(suspense),
            outgoing: sum(outgoing),
            house: house_of(house)?,
        })
    }

    /// Reads a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is of another size.
    pub fn parse(row: &[u8]) -> Result<Self, StoreError> {
        let (words, rest) = row.as_chunks::<16>();
        let found = Self::of(words).filter(|_| rest.is_empty());
        found.ok_or_else(cut)
    }
}

fn cut() -> StoreError {
    StoreError::Corrupt("the sums of a day are cut short".into())
}

/// The balances in the last words of a row.
pub(super) fn house_of(words: &[RowWord]) -> Option<HouseBalances> {
    let words = <[RowWord; HOUSE]>::try_from(words).ok()?;
    let sum = |word| Sum::from_centavos(i128::from_be_bytes(word));
    Some(HouseBalances::new(words.map(sum)))
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
    pub(crate) fn words(self) -> [RowWord; DAY_WORDS] {
        let mut words = [[0; 16]; DAY_WORDS];
        let ends = [together(self.first, self.last)];
        let all = ends.into_iter().chain(self.added.words());
        words.iter_mut().zip(all).for_each(|(at, word)| *at = word);
        words
    }

    /// Reads the words that [`Self::words`] gave.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when there are fewer.
    pub(crate) fn of(words: &[RowWord; DAY_WORDS]) -> Result<Self, StoreError> {
        let [ends, added @ ..] = words;
        let (first, last) = apart(*ends);
        Ok(Self {
            first,
            last,
            added: Added::of(added).ok_or_else(cut)?,
        })
    }

    /// Adds what a fact at an instant added, and writes the rows of days that are not the newest.
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
            if self.added != Added::default() {
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
pub(in super::super) fn together(first: u64, second: u64) -> RowWord {
    (u128::from(first).wrapping_shl(64) | u128::from(second)).to_be_bytes()
}

/// The two numbers of a word.
pub(in super::super) fn apart(word: RowWord) -> (u64, u64) {
    let half = |at: u32| {
        let shifted = u128::from_be_bytes(word).wrapping_shr(at);
        u64::try_from(shifted & u128::from(u64::MAX)).unwrap_or(u64::MAX)
    };
    (half(64), half(0))
}
