//! Typed reads of events: the numbers of a realm, and whole events.

use caudal_ledger::accounts::Account;
use caudal_ledger::balance::Balance;
use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::days::DayFact;
use caudal_ledger::events::{Event, EventKind, Subject};
use caudal_ledger::facts::{AccountFact, LedgerFact, RealmFact};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Suspense, TransferFact, TransferRecord};
use caudal_ledger::voucher_types::VoucherTypes;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Entry, Index, SortOrder, StoreError};

use super::Lookup;
use crate::records::projection::{EventRow, SubjectNote, VoucherPlace};
use crate::records::{
    CASES, COVERAGE, DAYS, LEDGER, PROFILE, REALM, SUSPENSE, TRANSFERS, account_stream, decode,
    keys, realm_stream,
};

/// How many rows are read at once for the search of gaps.
const COUNT_PAGE: usize = 1000;

/// The events of a realm after a number, oldest first, at most `limit`.
pub fn rows_after(
    store: &dyn Index,
    realm: RealmId,
    after: u64,
    limit: usize,
) -> Result<Vec<(u64, EventRow)>, StoreError> {
    let numbers = (after.saturating_add(1), u64::MAX);
    rows_within(store, realm, numbers, SortOrder::Ascending, limit)
}

/// One event of a realm, if there is one of that number.
pub fn row_at(store: &dyn Index, realm: RealmId, number: u64) -> Lookup<EventRow> {
    let row = store.get(&keys::event(realm, number))?;
    row.as_deref().map(EventRow::parse).transpose()
}

/// The events of a realm with numbers in a range, both ends included, at most `limit`.
pub fn rows_within(
    store: &dyn Index,
    realm: RealmId,
    (first, last): (u64, u64),
    order: SortOrder,
    limit: usize,
) -> Result<Vec<(u64, EventRow)>, StoreError> {
    let from = keys::event(realm, first);
    let to = keys::after_prefix(&keys::event(realm, last));
    let rows = store.scan(&from, &to, order, limit)?;
    let read = |(key, row): &(Vec<u8>, Vec<u8>)| {
        let number = keys::number_of(key)?;
        EventRow::parse(row).map(|event| (number, event))
    };
    rows.iter().map(read).collect()
}

/// When an event happened.
pub fn time(store: &dyn Index, event: &EventRow) -> Result<Timestamp, StoreError> {
    Ok(Timestamp::from_millis(store.entry(event.position)?.at))
}

/// The voucher that an event reports.
pub fn voucher(store: &dyn Index, event: &EventRow) -> Result<Voucher, StoreError> {
    let LedgerFact::Posted(voucher) = decode(&store.entry(event.position)?.body)?;
    Ok(voucher)
}

/// When the last event of a realm happened.
pub fn last_at(store: &dyn Index, realm: RealmId) -> Lookup<Timestamp> {
    let last = super::totals(store, realm)?.events;
    match row_at(store, realm, last)? {
        Some(event) => time(store, &event).map(Some),
        None => Ok(None),
    }
}

/// The number of the last event of a realm up to an instant; 0 if there is none. Times are roughly in the order of the
/// numbers, so near the instant it may be one of its neighbours; it is the same at every reading.
pub fn last_until(store: &dyn Index, realm: RealmId, at: Timestamp) -> Result<u64, StoreError> {
    let (mut low, mut high) = (0, super::totals(store, realm)?.events.strict_add(1));
    // Events up to `low` are not after the instant, and `high` is.
    while high.strict_sub(low) > 1 {
        let middle = u64::midpoint(low, high);
        let event = row_at(store, realm, middle)?.ok_or_else(lost)?;
        if time(store, &event)? <= at {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The first number up to `last` without an event; `None` if there is no gap.
pub fn gap(store: &dyn Index, realm: RealmId, last: u64) -> Lookup<u64> {
    let mut seen = 0;
    while seen < last {
        let page = rows_after(store, realm, seen, COUNT_PAGE)?;
        for (number, _) in &page {
            let next = seen.saturating_add(1);
            if *number != next {
                return Ok(Some(next));
            }
            seen = next;
        }
        if page.is_empty() {
            return Ok(Some(seen.saturating_add(1)));
        }
    }
    Ok(None)
}

/// A whole event: the fact that it reports, and its subject right after it.
pub fn event(
    store: &dyn Index,
    realm: RealmId,
    number: u64,
    event: &EventRow,
) -> Result<Event, StoreError> {
    let entry = store.entry(event.position)?;
    let noted = match event.noted.as_slice() {
        [] => None,
        noted => Some(decode::<SubjectNote>(noted)?),
    };
    let subject = match (noted, entry.stream.kind) {
        (Some(SubjectNote::Hold(hold)), LEDGER) => Subject::Hold(Box::new(hold)),
        (Some(SubjectNote::Transfer(transfer)), TRANSFERS) => Subject::Transfer(transfer),
        (Some(SubjectNote::Parked(parked)), CASES) => Subject::Resolved(parked),
        (Some(SubjectNote::Movements(movements)), PROFILE) => {
            account(store, realm, event.account, movements, &entry)?
        }
        (None, LEDGER) => {
            let LedgerFact::Posted(voucher) = decode(&entry.body)?;
            Subject::Voucher(Box::new(voucher))
        }
        (None, TRANSFERS) => match decode::<TransferRecord>(&entry.body)?.fact {
            TransferFact::Requested(transfer) => Subject::Transfer(transfer),
            TransferFact::Advanced { .. }
            | TransferFact::Completed { .. }
            | TransferFact::Rejected(_)
            | TransferFact::Reversed { .. }
            | TransferFact::Disputed(_)
            | TransferFact::Decided { .. }
            | TransferFact::Resolved(_) => return Err(lost()),
        },
        (None, REALM) => voucher_type(store, realm, event.kind, &entry)?,
        (None, COVERAGE) => Subject::Coverage(decode::<CoverageFact>(&entry.body)?),
        (None, DAYS) => match decode(&entry.body)? {
            DayFact::Closed(day) => Subject::Day(day),
            DayFact::BankKnown { .. } => return Err(lost()),
        },
        (None, SUSPENSE) => Subject::Suspense(Box::new(decode::<Suspense>(&entry.body)?)),
        _ => return Err(lost()),
    };
    Ok(Event {
        id: event.id(realm, number),
        at: Timestamp::from_millis(entry.at),
        kind: event.kind,
        account: event.account,
        subject,
    })
}

/// The account after a fact of its profile.
fn account(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
    movements: u64,
    entry: &Entry,
) -> Result<Subject, StoreError> {
    let mut found: Option<Account> = None;
    let stream = account_stream(realm, number, PROFILE);
    let facts = store.read(stream, 1, entry.seq, SortOrder::Ascending, usize::MAX)?;
    for at in &facts {
        let fact: AccountFact = decode(&at.body)?;
        let time = Timestamp::from_millis(at.at);
        match (found.as_mut(), &fact) {
            (None, AccountFact::Registered(registration)) => {
                found = Some(Account::registered(registration, time));
            }
            (Some(account), _) => account.apply(&fact, at.seq, time),
            (None, _) => return Err(lost()),
        }
    }
    let account = found.ok_or_else(lost)?;
    let place = VoucherPlace::new(number, movements);
    let last = super::voucher(store, realm, place)?;
    let balance = last.map_or_else(Balance::default, |voucher| voucher.after);
    Ok(Subject::Account(Box::new(account), balance, movements))
}

/// The voucher type that a fact of the realm is about.
fn voucher_type(
    store: &dyn Index,
    realm: RealmId,
    kind: EventKind,
    entry: &Entry,
) -> Result<Subject, StoreError> {
    let mut types = VoucherTypes::default();
    let facts = store.read(
        realm_stream(realm, REALM),
        1,
        entry.seq,
        SortOrder::Ascending,
        usize::MAX,
    )?;
    let mut found = None;
    for at in &facts {
        let fact: RealmFact = decode(&at.body)?;
        let code = match &fact {
            RealmFact::VoucherTypeCreated(created) => created.code.clone(),
            RealmFact::VoucherTypeToggled { code, .. }
            | RealmFact::VoucherTypeAccountSet { code, .. }
            | RealmFact::VoucherTypeToleranceSet { code, .. }
            | RealmFact::VoucherTypeLimitsSet { code, .. }
            | RealmFact::VoucherTypeRemoved { code } => code.clone(),
            RealmFact::EventRules { .. } => continue,
        };
        let before = types.find(&code);
        types.apply(&fact);
        found = match kind {
            EventKind::VoucherTypeRemoved => before,
            _ => types.find(&code),
        };
    }
    found
        .map(|found| Subject::VoucherType(Box::new(found)))
        .ok_or_else(lost)
}

fn lost() -> StoreError {
    StoreError::Corrupt("an event does not lead to what it tells".into())
}
