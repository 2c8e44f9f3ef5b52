//! Typed reads of cases.

use caudal_ledger::cases::{CaseKind, Parked, RETURNS, SuspensePlace, Unbooked};
use caudal_ledger::chain::Digest;
use caudal_ledger::ids::{OriginId, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, SortOrder, StoreError};

use super::{Lookup, VoucherPlace, number, place, record, record_or_default, under};
use crate::records::keys;
use crate::records::keys::Rail;
use crate::records::projection::CaseCounts;

/// The most cases that are searched for the one to which a return belongs.
pub const RECOGNISED_MAX: usize = 10_000;

/// The most open cases that are read for the credits that the ledger has not booked.
pub const UNCREDITED_MAX: usize = 1000;

/// An open case: since when it waits, and its place.
pub type OpenCase = (Timestamp, VoucherPlace);

/// Money in suspense with the decisions about it.
pub fn parked(store: &dyn Index, realm: RealmId, place: SuspensePlace) -> Lookup<Parked> {
    record(store, &keys::parked(realm, place.into()))
}

/// An unbooked report of the bank, with the decisions about it.
pub fn unbooked(store: &dyn Index, realm: RealmId, place: SuspensePlace) -> Lookup<Unbooked> {
    record(store, &keys::unbooked(realm, place.into()))
}

/// The same by the digest of the bank's report.
pub fn said(store: &dyn Index, realm: RealmId, what: Digest) -> Lookup<Unbooked> {
    match place(store, &keys::said(realm, what))? {
        Some(place) => unbooked(store, realm, place.into()),
        None => Ok(None),
    }
}

/// Money in suspense, by the number of the request to return it.
pub fn returned(store: &dyn Index, realm: RealmId, number: u64) -> Lookup<Parked> {
    match place(store, &keys::return_of(realm, number))? {
        Some(place) => parked(store, realm, place.into()),
        None => Ok(None),
    }
}

/// The realm and the number of the return with a reference; `None` if the reference names a transfer, or nothing.
pub fn return_of(store: &dyn Index, origin: Option<OriginId>) -> Lookup<(RealmId, u64)> {
    let Some(origin) = origin else {
        return Ok(None);
    };
    let found = super::money::of_origin(store, origin)?;
    let found = found.filter(|(_, place)| place.account == RETURNS);
    Ok(found.map(|(realm, place)| (realm, place.sequence)))
}

/// The money in suspense of a realm of which a reference at the bank is a return that the ledger does not know, with
/// the number of the try. At most [`RECOGNISED_MAX`] cases are searched.
pub fn recognised(
    store: &dyn Index,
    realm: RealmId,
    tenant: &str,
    origin: OriginId,
) -> Lookup<(SuspensePlace, u32)> {
    // A reference that holds a place was never that of a return.
    if origin.place().is_some() || super::money::of_origin(store, origin)?.is_some() {
        return Ok(None);
    }
    for (_, place) in open(store, realm, CaseKind::Suspense, RECOGNISED_MAX)? {
        let place = place.into();
        let found = parked(store, realm, place)?;
        let attempt = found.and_then(|it| it.recognises((tenant, realm.mode()), origin));
        if let Some(attempt) = attempt {
            return Ok(Some((place, attempt)));
        }
    }
    Ok(None)
}

/// The numbers of the returns about which the bank is being asked, oldest first.
pub fn open_returns(
    store: &dyn Index,
    realm: RealmId,
    limit: usize,
) -> Result<Vec<u64>, StoreError> {
    let from = keys::open_returns(realm);
    let rows = under(store, &from, SortOrder::Ascending, limit)?;
    rows.iter().map(|(key, _)| keys::number_of(key)).collect()
}

/// The open cases of a kind, longest waiting first.
pub fn open(
    store: &dyn Index,
    realm: RealmId,
    kind: CaseKind,
    limit: usize,
) -> Result<Vec<OpenCase>, StoreError> {
    let from = keys::open_cases(realm, kind);
    let rows = under(store, &from, SortOrder::Ascending, limit)?;
    rows.iter().map(|(key, _)| opened(key)).collect()
}

fn opened(key: &[u8]) -> Result<OpenCase, StoreError> {
    let (account, sequence) = keys::numbers_of(key)?;
    let before = key
        .split_last_chunk::<16>()
        .map_or(&[][..], |(rest, _)| rest);
    let since = keys::number_of(before)?;
    let place = VoucherPlace::new(account, sequence);
    Ok((Timestamp::from_millis(since), place))
}

/// Since when a case waits; `None` if it is not open.
pub fn since(
    store: &dyn Index,
    realm: RealmId,
    kind: CaseKind,
    place: VoucherPlace,
) -> Lookup<Timestamp> {
    let since = number(store, &keys::case_since(realm, kind, place))?;
    Ok(since.map(Timestamp::from_millis))
}

/// What the bank has reported as arrived and the ledger has not booked: the cases of arrivals that wait, each less what the
/// ledger has under the same id of the rail. The [`UNCREDITED_MAX`] cases that have waited longest are counted.
pub fn uncredited(store: &dyn Index, realm: RealmId) -> Result<Sum, StoreError> {
    let mut sum = Sum::default();
    for (_, place) in open(store, realm, CaseKind::Unbooked, UNCREDITED_MAX)? {
        let found = unbooked(store, realm, place.into())?;
        let Some((amount, rail)) = found.as_ref().and_then(|it| it.says.arrival()) else {
            continue;
        };
        let booked = rail.map(|rail| landed_amount(store, realm, rail));
        let booked = booked.transpose()?.unwrap_or(Sum::from_centavos(0));
        sum = sum.plus(Sum::from(amount).minus(booked).max(Sum::default()));
    }
    Ok(sum)
}

/// What the ledger has booked of the money that arrived under an id of the rail.
fn landed_amount(store: &dyn Index, realm: RealmId, rail: &str) -> Result<Sum, StoreError> {
    let Some(landed) = super::money::landed(store, realm, Rail::Arrival, rail)? else {
        return Ok(Sum::default());
    };
    let place = VoucherPlace::new(landed.account, landed.sequence);
    let amount = if landed.suspended {
        let waits = parked(store, realm, place.into())?;
        waits.map(|it| it.suspense.cash_in.amount)
    } else {
        let credit = super::voucher(store, realm, place)?;
        credit.map(|it| it.amount)
    };
    Ok(amount.map_or_else(Sum::default, Sum::from))
}

/// How many cases of a realm are open.
pub fn counts(store: &dyn Index, realm: RealmId) -> Result<CaseCounts, StoreError> {
    record_or_default(store, &keys::case_counts(realm))
}
