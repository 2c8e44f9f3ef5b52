//! Typed reads of closed days.

use caudal_ledger::days::{BankOfDay, ClosedDay, DayFact, DayRecord, LateBank};
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_storage::{Index, SortOrder, StoreError};

use super::{Lookup, under};
use crate::records::projection::DayRow;
use crate::records::{DAYS, decode, keys, realm_stream};

/// A fact about a day, and when it was recorded.
fn fact(
    store: &dyn Index,
    realm: RealmId,
    sequence: u64,
) -> Result<(DayFact, Timestamp), StoreError> {
    let stream = realm_stream(realm, DAYS);
    let found = store.read(stream, sequence, sequence, SortOrder::Ascending, 1)?;
    let entry = found
        .first()
        .ok_or_else(|| StoreError::Corrupt("a fact about a closed day is missing".into()))?;
    Ok((decode(&entry.body)?, Timestamp::from_millis(entry.at)))
}

fn other() -> StoreError {
    StoreError::Corrupt("a closed day leads to another fact".into())
}

fn closed(
    store: &dyn Index,
    realm: RealmId,
    row: DayRow,
) -> Result<(ClosedDay, Timestamp), StoreError> {
    match fact(store, realm, row.closed)? {
        (DayFact::Closed(day), at) => Ok((*day, at)),
        (DayFact::BankKnown { .. }, _) => Err(other()),
    }
}

fn late(store: &dyn Index, realm: RealmId, row: DayRow) -> Lookup<BankOfDay> {
    if row.bank == 0 || row.bank == row.closed {
        return Ok(None);
    }
    match fact(store, realm, row.bank)? {
        (DayFact::BankKnown { bank, .. }, _) => Ok(Some(*bank)),
        (DayFact::Closed(_), _) => Err(other()),
    }
}

fn record(store: &dyn Index, realm: RealmId, row: &[u8]) -> Result<DayRecord, StoreError> {
    let row = DayRow::parse(row)?;
    let (day, closed_at) = closed(store, realm, row)?;
    Ok(DayRecord {
        day,
        closed_at,
        late: late(store, realm, row)?,
    })
}

/// A closed day.
pub fn of(store: &dyn Index, realm: RealmId, date: BusinessDay) -> Lookup<DayRecord> {
    let row = store.get(&keys::closed_day(realm, date))?;
    row.map(|row| record(store, realm, &row)).transpose()
}

/// The closed days from a day back to another one, both included, the newest first, at most `limit`.
pub fn page(
    store: &dyn Index,
    realm: RealmId,
    (first, last): (Option<BusinessDay>, Option<BusinessDay>),
    limit: usize,
) -> Result<Vec<DayRecord>, StoreError> {
    let all = keys::closed_days(realm);
    let from = first.map_or_else(|| all.clone(), |first| keys::closed_day(realm, first));
    let to = match last {
        Some(last) => keys::after_prefix(&keys::closed_day(realm, last)),
        None => keys::after_prefix(&all),
    };
    if from >= to {
        return Ok(Vec::new());
    }
    let rows = store.scan(&from, &to, SortOrder::Descending, limit)?;
    rows.iter()
        .map(|(_, row)| record(store, realm, row))
        .collect()
}

/// The closed days that wait for the bank's side, the newest first, at most `limit`. Reads the row of each closed day,
/// which is small.
pub fn waiting(
    store: &dyn Index,
    realm: RealmId,
    limit: usize,
) -> Result<Vec<BusinessDay>, StoreError> {
    let all = under(
        store,
        &keys::closed_days(realm),
        SortOrder::Descending,
        usize::MAX,
    )?;
    let mut found = Vec::new();
    for (key, row) in all {
        if found.len() < limit && DayRow::parse(&row)?.bank == 0 {
            found.push(keys::day_of(&key)?);
        }
    }
    Ok(found)
}

/// The day that was closed last; `None` while there was none.
pub fn last(store: &dyn Index, realm: RealmId) -> Lookup<DayRecord> {
    Ok(page(store, realm, (None, None), 1)?.pop())
}

/// The day that was closed first; `None` while there was none.
pub fn first(store: &dyn Index, realm: RealmId) -> Lookup<BusinessDay> {
    let rows = under(store, &keys::closed_days(realm), SortOrder::Ascending, 1)?;
    rows.first().map(|(key, _)| keys::day_of(key)).transpose()
}

/// The bank's side of closed days that was learned after the last day, `last`, was closed, at most `limit`.
pub fn late_after(
    store: &dyn Index,
    realm: RealmId,
    last: BusinessDay,
    limit: usize,
) -> Result<Vec<LateBank>, StoreError> {
    let Some(row) = store.get(&keys::closed_day(realm, last))? else {
        return Ok(Vec::new());
    };
    let from = DayRow::parse(&row)?.closed.strict_add(1);
    let stream = realm_stream(realm, DAYS);
    let mut late = Vec::new();
    for entry in store.read(stream, from, u64::MAX, SortOrder::Ascending, limit)? {
        match decode(&entry.body)? {
            DayFact::BankKnown { date, bank } => late.push(LateBank {
                date,
                balance: bank.balance,
                digest: bank.digest,
            }),
            DayFact::Closed(_) => return Err(other()),
        }
    }
    Ok(late)
}
