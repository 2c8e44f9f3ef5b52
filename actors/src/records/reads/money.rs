//! Typed reads of holds, transfers and the bank's movements.

use caudal_ledger::accounts::Account;
use caudal_ledger::facts::BankCall;
use caudal_ledger::holds::Hold;
use caudal_ledger::ids::{AccountNo, OriginId, RealmId, TransferId};
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::transfers::{Suspense, Transfer};
use caudal_ledger::voucher_types::TypeCode;
use caudal_storage::{Entry, Index, SortOrder, StoreError};

use super::{Lookup, VoucherPlace, number, place, position, record, record_or_default, under};
use crate::records::keys::{self, Rail, TransferName};
use crate::records::projection::{Landed, ReversedRow, TypeUsageRow, origin_place};
use crate::records::{SUSPENSE, account_stream, decode};

/// How many keys are read at once.
const KEYS_PAGE: usize = 1000;

/// The account and number at the end of each key that begins with `prefix`, after `after`.
pub fn numbers(
    store: &dyn Index,
    prefix: &[u8],
    after: Option<(AccountNo, u64)>,
    limit: usize,
) -> Result<Vec<(AccountNo, u64)>, StoreError> {
    let mut from = prefix.to_vec();
    if let Some((account, number)) = after {
        from.extend_from_slice(&account.0.to_be_bytes());
        from.extend_from_slice(&number.saturating_add(1).to_be_bytes());
    }
    let to = keys::after_prefix(prefix);
    let rows = store.scan(&from, &to, SortOrder::Ascending, limit)?;
    rows.iter().map(|(key, _)| keys::numbers_of(key)).collect()
}

/// Gives an account its open holds and transfers. If nothing is held, nothing is read.
pub fn open(store: &dyn Index, realm: RealmId, account: &mut Account) -> Result<(), StoreError> {
    account.forget_open();
    if account.balance.held == caudal_ledger::money::Money::ZERO {
        return Ok(());
    }
    let number = account.number;
    let lost = || StoreError::Corrupt("something open is not there".into());
    let all = |prefix: Vec<u8>| -> Result<Vec<u64>, StoreError> {
        let to = keys::after_prefix(&prefix);
        let (mut found, mut after) = (Vec::new(), prefix);
        loop {
            let rows = store.scan(&after, &to, SortOrder::Ascending, KEYS_PAGE)?;
            let more = rows.len() == KEYS_PAGE;
            for (key, _) in rows {
                found.push(keys::number_of(&key)?);
                after = key;
                after.push(0);
            }
            if !more {
                return Ok(found);
            }
        }
    };
    for sequence in all(keys::open_holds(realm, number))? {
        account.open_hold(hold(store, realm, number, sequence)?.ok_or_else(lost)?);
    }
    for sequence in all(keys::open_transfers_of(realm, number))? {
        let place = VoucherPlace::new(number, sequence);
        let open = transfer(store, realm, place)?.ok_or_else(lost)?;
        account.transfers.insert(sequence, open);
    }
    Ok(())
}

/// A hold of an account by its number there, open or not; `None` if there is none.
pub fn hold(store: &dyn Index, realm: RealmId, account: AccountNo, sequence: u64) -> Lookup<Hold> {
    record(store, &keys::hold(realm, account, sequence))
}

/// A hold by its number among those of its realm, with its account.
pub fn hold_at(store: &dyn Index, realm: RealmId, ordinal: u64) -> Lookup<(AccountNo, Hold)> {
    let Some(VoucherPlace { account, sequence }) = place(store, &keys::hold_at(realm, ordinal))?
    else {
        return Ok(None);
    };
    Ok(hold(store, realm, account, sequence)?.map(|hold| (account, hold)))
}

/// What of a voucher is reversed.
pub fn reversed(
    store: &dyn Index,
    realm: RealmId,
    place: VoucherPlace,
) -> Result<ReversedRow, StoreError> {
    let key = keys::reversed(realm, place.account, place.sequence);
    ReversedRow::parse(store.get(&key)?.as_deref())
}

/// What an account's vouchers of a type with limits have used of them.
pub fn usage_of_type(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    code: &TypeCode,
) -> Result<TypeUsageRow, StoreError> {
    record_or_default(store, &keys::usage_of_type(realm, account, code))
}

/// Accounts with holds that have expired, earliest first.
pub fn ended(
    store: &dyn Index,
    realm: RealmId,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<AccountNo>, StoreError> {
    let from = keys::hold_ends(realm);
    let to = keys::hold_ends_from(realm, now.plus_millis(1));
    let rows = store.scan(&from, &to, SortOrder::Ascending, limit)?;
    rows.iter().map(|(key, _)| keys::account_of(key)).collect()
}

/// A transfer, by its sending account and its number.
pub fn transfer(store: &dyn Index, realm: RealmId, place: VoucherPlace) -> Lookup<Transfer> {
    record(store, &keys::transfer(realm, place.account, place.sequence))
}

/// The place of the transfer or return with a reference.
pub fn of_origin(store: &dyn Index, origin: OriginId) -> Lookup<(RealmId, VoucherPlace)> {
    origin_place(store.get(&keys::origin(origin))?.as_deref(), origin)
}

/// The transfer with a reference, with its realm and its sending account.
pub fn transfer_by_origin(
    store: &dyn Index,
    origin: OriginId,
) -> Lookup<(RealmId, AccountNo, Transfer)> {
    let Some((realm, place)) = of_origin(store, origin)? else {
        return Ok(None);
    };
    // A reference of the kind that holds a place may by now lead to another transfer.
    let found = transfer(store, realm, place)?;
    let found = found.filter(|found| found.origin(realm, place.account) == origin);
    Ok(found.map(|found| (realm, place.account, found)))
}

/// The transfer with this place, with its sending account.
fn with_account(
    store: &dyn Index,
    realm: RealmId,
    place: Option<VoucherPlace>,
) -> Lookup<(AccountNo, Transfer)> {
    let Some(place) = place else {
        return Ok(None);
    };
    Ok(transfer(store, realm, place)?.map(|found| (place.account, found)))
}

/// The transfer that holds an external id, with its sending account.
pub fn transfer_by_external(
    store: &dyn Index,
    realm: RealmId,
    id: &ExternalId,
) -> Lookup<(AccountNo, Transfer)> {
    let place = place(store, &keys::transfer_external(realm, id))?;
    with_account(store, realm, place)
}

/// The transfer to which the bank gave an id of this kind, with its sending account.
pub fn transfer_by_name(
    store: &dyn Index,
    realm: RealmId,
    kind: TransferName,
    id: &str,
) -> Lookup<(AccountNo, Transfer)> {
    let place = place(store, &keys::transfer_name(realm, kind, id))?;
    with_account(store, realm, place)
}

/// The transfer of which money came back under an id of the rail, with its sending account.
pub fn transfer_by_return(
    store: &dyn Index,
    realm: RealmId,
    id: &str,
) -> Lookup<(AccountNo, Transfer)> {
    let Some(Landed {
        account, sequence, ..
    }) = landed(store, realm, Rail::Return, id)?
    else {
        return Ok(None);
    };
    let voucher = super::voucher(store, realm, VoucherPlace::new(account, sequence))?;
    let of = voucher.and_then(|voucher| TransferId::parse(voucher.reference_id.as_deref()?));
    let place = of.map(|TransferId(id)| VoucherPlace::new(id.account, id.sequence));
    with_account(store, realm, place)
}

/// The calls to the bank for a transfer, oldest first, each with its time in the journal.
pub fn transfer_calls(
    store: &dyn Index,
    realm: RealmId,
    place: VoucherPlace,
    limit: usize,
) -> Result<Vec<(Timestamp, BankCall)>, StoreError> {
    let from = keys::transfer_calls(realm, place.account, place.sequence);
    let rows = under(store, &from, SortOrder::Descending, limit)?;
    let mut calls = Vec::with_capacity(rows.len());
    for (_, row) in rows.iter().rev() {
        let entry = store.entry(position(row)?)?;
        calls.push((Timestamp::from_millis(entry.at), decode(&entry.body)?));
    }
    Ok(calls)
}

/// The place in a realm where an id of the rail has landed.
pub fn landed(store: &dyn Index, realm: RealmId, kind: Rail, id: &str) -> Lookup<Landed> {
    record(store, &keys::rail(realm, kind, id))
}

/// Movements of a business day that the bank must have, too.
pub fn bank_day(
    store: &dyn Index,
    realm: RealmId,
    day: BusinessDay,
    after: Option<(AccountNo, u64)>,
    limit: usize,
) -> Result<Vec<(AccountNo, u64)>, StoreError> {
    numbers(store, &keys::bank_day(realm, day), after, limit)
}

/// One record of money that no account could take, with the time of the record.
pub fn suspense(
    store: &dyn Index,
    realm: RealmId,
    landed: Landed,
) -> Lookup<(Suspense, Timestamp)> {
    let (stream, number) = (
        account_stream(realm, landed.account, SUSPENSE),
        landed.sequence,
    );
    let entries = store.read(stream, number, number, SortOrder::Ascending, 1)?;
    let read = |entry: &Entry| Ok((decode(&entry.body)?, Timestamp::from_millis(entry.at)));
    entries.first().map(read).transpose()
}

/// The sequence of the voucher with which a transfer's money left, if it has.
pub fn confirmed(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    transfer: u64,
) -> Lookup<u64> {
    number(store, &keys::transfer_left(realm, account, transfer))
}
