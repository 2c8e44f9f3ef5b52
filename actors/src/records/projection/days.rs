//! The row of a closed day: the sequence of the fact that closed it, and of the one after which it waits for nothing;
//! each a `u64`, big-endian.

use caudal_ledger::days::{BankSide, DayFact};
use caudal_ledger::events::EventKind;
use caudal_storage::StoreError;

use super::EntryRows;
use crate::records::keys;

/// The facts about a closed day, by their sequences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayRow {
    /// The fact that closed it.
    pub closed: u64,
    /// The fact with the bank's side; the one that closed it if the bank was not waited for, 0 while it is.
    pub bank: u64,
}

impl DayRow {
    fn to_bytes(self) -> [[u8; 8]; 2] {
        [self.closed, self.bank].map(u64::to_be_bytes)
    }

    /// Reads a row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when it is of another size.
    pub fn parse(row: &[u8]) -> Result<Self, StoreError> {
        let (words, rest) = row.as_chunks::<8>();
        let ([closed, bank], []) = (words, rest) else {
            return Err(StoreError::Corrupt("the row of a day is cut short".into()));
        };
        Ok(Self {
            closed: u64::from_be_bytes(*closed),
            bank: u64::from_be_bytes(*bank),
        })
    }
}

/// The rows that a fact adds.
pub(super) fn happened(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let (realm, sequence) = (rows.realm, rows.entry.seq);
    match rows.fact()? {
        DayFact::Closed(day) => {
            let waits = matches!(day.figures.bank, BankSide::Pending);
            let row = DayRow {
                closed: sequence,
                bank: if waits { 0 } else { sequence },
            };
            let key = keys::closed_day(realm, day.figures.date);
            rows.index.put(&key, row.to_bytes().as_flattened());
            let rules = rows.rules()?;
            let event = rows.event(rules, EventKind::DayClosed);
            rows.publish(&event)
        }
        DayFact::BankKnown { date, .. } => {
            let key = keys::closed_day(realm, date);
            let lost = || StoreError::Corrupt("the bank's side of a day that is not closed".into());
            let row = DayRow::parse(&rows.index.get(&key)?.ok_or_else(lost)?)?;
            let row = DayRow {
                bank: sequence,
                ..row
            };
            rows.index.put(&key, row.to_bytes().as_flattened());
            Ok(())
        }
    }
}
