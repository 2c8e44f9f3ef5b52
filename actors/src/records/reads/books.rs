//! Typed reads of the books of a realm: the balances, and the facts that move them.
//!
//! **Facts.** A realm's events list every voucher, and money in suspense with its end; the facts about movements of the
//! collector account have a row each. Each event and each of these facts has a place, counted in the order of the journal, so
//! the facts of the books are a list of places without gaps.

use std::collections::BTreeMap;

use caudal_ledger::books::{AdjustmentBalances, BookBalances, BookMove, BookName};
use caudal_ledger::cases::{CollectorFact, Parked, RecordedMovement, SuspenseId};
use caudal_ledger::collector::{CollectorClass, CollectorId};
use caudal_ledger::events::EventKind;
use caudal_ledger::ids::{RealmId, VoucherId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Suspense;
use caudal_ledger::treasury::{Sum, Totals};
use caudal_storage::{Entry, Index, Pair, SortOrder, StoreError};

use super::{Lookup, collector, events};
use crate::records::projection::{
    BookRow, EventRow, SubjectNote, VoucherPlace, added_by_day, parse_totals,
};
use crate::records::{COLLECTOR, decode, keys, realm_stream};

/// The rows of the sums of a realm and of its accounts for adjustments, as of one commit.
fn rows(store: &dyn Index, realm: RealmId) -> Result<Vec<Pair>, StoreError> {
    let from = keys::totals(realm);
    let to = keys::after_prefix(&from);
    store.scan(&from, &to, SortOrder::Ascending, usize::MAX)
}

fn accounts(rows: &[Pair]) -> Result<BTreeMap<BookName, BookRow>, StoreError> {
    let named = rows.iter().filter_map(|(key, row)| {
        let name = keys::book_of(key)?;
        Some(BookRow::parse(Some(row)).map(|row| (name, row)))
    });
    named.collect()
}

/// The sums of a realm, and what its accounts for adjustments have: all as of one commit. At most
/// [`BookName::ACCOUNTS_MAX`] accounts, besides those of built-in types.
pub fn now(store: &dyn Index, realm: RealmId) -> Result<(Totals, AdjustmentBalances), StoreError> {
    let rows = rows(store, realm)?;
    let sums = rows.first().filter(|(key, _)| *key == keys::totals(realm));
    let totals = parse_totals(sums.map(|(_, row)| row.as_slice()))?;
    let accounts = accounts(&rows)?.into_iter();
    let balances = accounts.map(|(name, row)| (name, row.balance));
    Ok((totals, balances.collect()))
}

/// What the accounts for adjustments had at the end of a day: what they have now, less what later days added.
pub fn adjustments_until(
    store: &dyn Index,
    realm: RealmId,
    at: Timestamp,
) -> Result<AdjustmentBalances, StoreError> {
    let accounts = accounts(&rows(store, realm)?)?;
    let newest = accounts.iter().map(|(name, row)| {
        let later = row.last > at.millis();
        let then = if later {
            row.balance.minus(row.added)
        } else {
            row.balance
        };
        (name.clone(), then)
    });
    let mut balances: AdjustmentBalances = newest.collect();
    let from = keys::book_day(realm, at.plus_millis(1), &[]);
    let to = keys::book_day(realm, Timestamp::MAX, &[]);
    for (key, row) in store.scan(&from, &to, SortOrder::Ascending, usize::MAX)? {
        let Some((end, name)) = keys::book_day_of(&key) else {
            continue;
        };
        // The newest day may get its row at this very moment.
        let ended = accounts.get(&name).filter(|it| end.millis() < it.first);
        if let (Some(_), Some(balance)) = (ended, balances.get_mut(&name)) {
            *balance = balance.minus(added_by_day(Some(&row))?);
        }
    }
    Ok(balances)
}

/// The books at the end of a day, and the transfers that waited for the bank then, in centavos.
pub fn until(
    store: &dyn Index,
    realm: RealmId,
    at: Timestamp,
) -> Result<(BookBalances, Sum), StoreError> {
    let sums = super::added_until(store, realm, at)?;
    let balances = BookBalances {
        clients: sums.available.plus(sums.held),
        suspense: sums.suspense,
        house: sums.house,
        adjustments: adjustments_until(store, realm, at)?,
    };
    Ok((balances, sums.outgoing))
}

/// A fact by its place; not every event moves the books.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlacedFact {
    /// An event.
    Event(EventRow),
    /// The fact about a movement of the collector account with this sequence.
    Movement(u64),
}

/// What the books were moved by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntrySource {
    /// A voucher.
    Voucher(VoucherId),
    /// Money that no account could take: its arrival, or its end.
    Suspense(SuspenseId),
    /// A movement of the collector account.
    Collector(CollectorId),
}

/// A fact that moved the books.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BookFact {
    /// When it happened.
    pub at: Timestamp,
    /// What it moved.
    pub moved: BookMove,
    /// What it is about.
    pub source: EntrySource,
    /// A line for people.
    pub text: Option<String>,
}

/// How many facts about movements of the collector account have a place before this one.
fn movements_before(store: &dyn Index, realm: RealmId, place: u64) -> Result<u64, StoreError> {
    let (from, to) = (keys::book_place(realm, 0), keys::book_place(realm, place));
    let rows = store.scan(&from, &to, SortOrder::Descending, 1)?;
    rows.first().map_or(Ok(0), |(_, row)| keys::number_of(row))
}

/// The last place of a realm, from 1; 0 without any.
pub fn last_place(store: &dyn Index, realm: RealmId) -> Result<u64, StoreError> {
    // Whatever comes between the two reads has a later place.
    let movements = movements_before(store, realm, u64::MAX)?;
    Ok(super::totals(store, realm)?.events.strict_add(movements))
}

/// The facts with these places, both ends included and not beyond [`last_place`], in their order.
///
/// # Errors
/// When the store cannot be read, or there is no fact with one of the places.
pub fn facts(
    store: &dyn Index,
    realm: RealmId,
    (first, last): (u64, u64),
) -> Result<Vec<(u64, PlacedFact)>, StoreError> {
    let before = movements_before(store, realm, first)?;
    let from = keys::book_place(realm, first);
    let to = keys::after_prefix(&keys::book_place(realm, last));
    let rows = store.scan(&from, &to, SortOrder::Ascending, usize::MAX)?;
    let mut movements = BTreeMap::new();
    for (key, row) in &rows {
        movements.insert(keys::number_of(key)?, keys::number_of(row)?);
    }
    let until = movements
        .values()
        .last()
        .map_or(before, |sequence| *sequence);
    let numbers = (first.strict_sub(before), last.strict_sub(until));
    let events = if numbers.0 > numbers.1 {
        Vec::new()
    } else {
        events::rows_within(store, realm, numbers, SortOrder::Ascending, usize::MAX)?
    };
    let mut events = events.into_iter().map(|(_, row)| row);
    let found = (first..=last).map(|place| {
        let fact = match movements.get(&place) {
            Some(sequence) => PlacedFact::Movement(*sequence),
            None => PlacedFact::Event(events.next().ok_or_else(lost)?),
        };
        Ok((place, fact))
    });
    found.collect()
}

fn lost() -> StoreError {
    StoreError::Corrupt("a place in the books leads to no fact".into())
}

/// The stored fact about a movement of the collector account with a sequence.
fn movement(store: &dyn Index, realm: RealmId, sequence: u64) -> Result<Entry, StoreError> {
    let stream = realm_stream(realm, COLLECTOR);
    let found = store.read(stream, sequence, sequence, SortOrder::Ascending, 1)?;
    found.into_iter().next().ok_or_else(lost)
}

/// When a fact happened.
pub fn time(store: &dyn Index, realm: RealmId, fact: &PlacedFact) -> Result<Timestamp, StoreError> {
    match fact {
        PlacedFact::Event(row) => events::time(store, row),
        PlacedFact::Movement(sequence) => {
            let entry = movement(store, realm, *sequence)?;
            Ok(Timestamp::from_millis(entry.at))
        }
    }
}

/// What a fact moved in the books; `None` for one that moves nothing there.
pub fn moved(store: &dyn Index, realm: RealmId, fact: &PlacedFact) -> Lookup<BookFact> {
    let row = match fact {
        PlacedFact::Movement(sequence) => return movement_moved(store, realm, *sequence),
        PlacedFact::Event(row) => row,
    };
    match row.kind {
        EventKind::VoucherCreated => {
            let voucher = events::voucher(store, row)?;
            Ok(BookMove::of_voucher(&voucher).map(|moved| BookFact {
                at: voucher.at,
                moved,
                source: EntrySource::Voucher(voucher.id(realm, row.account)),
                text: voucher.description,
            }))
        }
        EventKind::CashInSuspended => {
            let entry = store.entry(row.position)?;
            let suspense: Suspense = decode(&entry.body)?;
            let place = VoucherPlace::new(row.account, entry.seq);
            let at = Timestamp::from_millis(entry.at);
            let parked = Parked::new(place.into(), suspense, at);
            Ok(Some(suspense_moved(realm, &parked, at, false)))
        }
        EventKind::SuspenseResolved => {
            let at = events::time(store, row)?;
            let SubjectNote::Parked(parked) = decode(&row.noted)? else {
                return Err(lost());
            };
            Ok(Some(suspense_moved(realm, &parked, at, true)))
        }
        _ => Ok(None),
    }
}

fn suspense_moved(realm: RealmId, parked: &Parked, at: Timestamp, ends: bool) -> BookFact {
    BookFact {
        at,
        moved: BookMove::of_suspense(parked.suspense.cash_in.amount, ends),
        source: EntrySource::Suspense(parked.id(realm)),
        text: None,
    }
}

fn movement_moved(store: &dyn Index, realm: RealmId, sequence: u64) -> Lookup<BookFact> {
    let entry = movement(store, realm, sequence)?;
    let fact: CollectorFact = decode(&entry.body)?;
    let number = match &fact {
        CollectorFact::Listed { .. } => sequence,
        CollectorFact::Classified { record, .. } | CollectorFact::Matched { record } => *record,
    };
    let record = collector::recorded(store, realm, number)?.ok_or_else(lost)?;
    // A movement gets its class once, and nothing changes it after it was matched.
    let before = match &fact {
        CollectorFact::Classified { .. } => RecordedMovement {
            class: CollectorClass::Unclassified,
            ..record.clone()
        },
        CollectorFact::Listed { .. } | CollectorFact::Matched { .. } => record.clone(),
    };
    let moved = BookMove::of_movement(&fact, Some(&before));
    Ok(moved.map(|moved| BookFact {
        at: Timestamp::from_millis(entry.at),
        moved,
        source: EntrySource::Collector(record.id(realm)),
        text: Some(record.movement.text),
    }))
}
