//! Typed reads of accounts, vouchers and answers for the modules above.
//!
//! **Failure.** Every read, here and in the files below, fails as the store's own reads do ([`Index::head`]), and with [`StoreError::Corrupt`] if a
//! row or an entry is not one that this program or an earlier one writes. Missing data is `None` or an empty list,
//! never an error.

mod accounts;
pub mod books;
pub mod cases;
pub mod collector;
pub mod coverage;
pub mod days;
pub mod events;
pub mod money;
pub mod statements;
pub mod webhooks;

use std::collections::BTreeMap;

use caudal_ledger::alias::Alias;
use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{AliasOwner, Answer, BankCall, LedgerFact};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::limits::TotalUsage;
use caudal_ledger::numbers::LastNumber;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Totals;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{Entry, Index, Pair, Position, SortOrder, StoreError, StreamId};
use serde::de::DeserializeOwned;

use super::keys::{SORTED_BYTES_MAX, Sorted};
use super::projection::{Added, Listed, VoucherPlace, newest_day, parse_totals, parse_usage};
use super::{ANSWER_PARTS, BANK, LEDGER, account_stream, decode, keys};

pub use accounts::{LoadedAccount, account, load, load_in_full, profile, standing};

/// How many realms with one CVU are found at most.
const CVUS_MAX: usize = 64;
/// How many entries are read at once while folding a stream.
const FOLD_PAGE: usize = 512;

/// What a look-up finds; `None` if there is nothing.
pub type Lookup<T> = Result<Option<T>, StoreError>;

/// The record in a row, if there is one.
fn record<T: DeserializeOwned>(store: &dyn Index, key: &[u8]) -> Lookup<T> {
    store.get(key)?.map(|row| decode(&row)).transpose()
}

/// The record in a row; the default without one.
fn record_or_default<T: DeserializeOwned + Default>(
    store: &dyn Index,
    key: &[u8],
) -> Result<T, StoreError> {
    Ok(record(store, key)?.unwrap_or_default())
}

/// The number in a row, if there is one.
fn number(store: &dyn Index, key: &[u8]) -> Lookup<u64> {
    let row = store.get(key)?;
    row.as_deref().map(keys::number_of).transpose()
}

/// The place in a row, if there is one.
fn place(store: &dyn Index, key: &[u8]) -> Lookup<VoucherPlace> {
    let row = store.get(key)?;
    row.as_deref().map(VoucherPlace::from_bytes).transpose()
}

/// The position in a row.
fn position(row: &[u8]) -> Result<Position, StoreError> {
    let cut = || StoreError::Corrupt("a position in the index is cut short".into());
    let place = row.first_chunk::<8>().ok_or_else(cut)?;
    Ok(Position(u64::from_be_bytes(*place)))
}

/// The rows whose keys begin with `prefix`, in the given order, at most `limit`.
fn under(
    store: &dyn Index,
    prefix: &[u8],
    order: SortOrder,
    limit: usize,
) -> Result<Vec<Pair>, StoreError> {
    store.scan(prefix, &keys::after_prefix(prefix), order, limit)
}

/// Folds the entries of a stream after `seq` into `take`.
pub fn fold<T: DeserializeOwned>(
    store: &dyn Index,
    stream: StreamId,
    after: u64,
    mut take: impl FnMut(T, u64, Timestamp),
) -> Result<(), StoreError> {
    let mut from = after.saturating_add(1);
    loop {
        let page = store.read(stream, from, u64::MAX, SortOrder::Ascending, FOLD_PAGE)?;
        for entry in &page {
            let at = Timestamp::from_millis(entry.at);
            take(decode(&entry.body)?, entry.seq, at);
            from = entry.seq.saturating_add(1);
        }
        if page.len() < FOLD_PAGE {
            return Ok(());
        }
    }
}

/// The account of a CVU in a realm.
pub fn account_of_cvu(store: &dyn Index, realm: RealmId, cvu: Cvu) -> Lookup<AccountNo> {
    Ok(number(store, &keys::cvu(realm, cvu))?.map(AccountNo))
}

/// The realms that have a CVU.
pub fn realms_of_cvu(store: &dyn Index, cvu: Cvu) -> Result<Vec<RealmId>, StoreError> {
    let found = under(store, &keys::cvus(cvu), SortOrder::Ascending, CVUS_MAX)?;
    let realms = found.iter().filter_map(|(key, _)| keys::realm_of_cvu(key));
    Ok(realms.collect())
}

/// The account in a realm that has an alias or for which the alias is reserved.
pub fn alias_owner(store: &dyn Index, realm: RealmId, alias: &Alias) -> Lookup<AliasOwner> {
    record(store, &keys::alias(realm, alias))
}

/// The account that has a code.
pub fn account_of_code(store: &dyn Index, realm: RealmId, code: &str) -> Lookup<AccountNo> {
    Ok(number(store, &keys::code(realm, code))?.map(AccountNo))
}

/// One movement of an account.
pub fn voucher(store: &dyn Index, realm: RealmId, place: VoucherPlace) -> Lookup<Voucher> {
    let one = (place.sequence, place.sequence);
    let found = vouchers(store, realm, place.account, one, SortOrder::Ascending, 1);
    Ok(found?.pop())
}

/// Movements `from..=to` of an account.
pub fn vouchers(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    (from, to): (u64, u64),
    order: SortOrder,
    limit: usize,
) -> Result<Vec<Voucher>, StoreError> {
    let stream = account_stream(realm, account, LEDGER);
    let entries = store.read(stream, from, to, order, limit)?;
    let read = |entry: &Entry| {
        let LedgerFact::Posted(voucher) = decode(&entry.body)?;
        let right = voucher.sequence == entry.seq;
        let wrong = || StoreError::Corrupt("a voucher is not where its sequence says".into());
        right.then_some(voucher).ok_or_else(wrong)
    };
    entries.iter().map(read).collect()
}

/// The voucher that holds an external id in a direction, with its account.
pub fn voucher_by_external(
    store: &dyn Index,
    realm: RealmId,
    direction: Direction,
    id: &ExternalId,
) -> Lookup<(AccountNo, Voucher)> {
    let Some(place) = place(store, &keys::external(realm, direction, id))? else {
        return Ok(None);
    };
    Ok(voucher(store, realm, place)?.map(|found| (place.account, found)))
}

/// The answer kept for a key, method and path.
pub fn answer(
    store: &dyn Index,
    realm: RealmId,
    key: &str,
    method: &str,
    path: &str,
) -> Lookup<Answer> {
    match store.get(&keys::answer(realm, key, method, path))? {
        Some(row) => answer_at(store, &row).map(Some),
        None => Ok(None),
    }
}

/// All answers kept for a key, at most `limit`.
pub fn answers(
    store: &dyn Index,
    realm: RealmId,
    key: &str,
    limit: usize,
) -> Result<Vec<Answer>, StoreError> {
    let from = keys::answers(realm, key);
    let rows = under(store, &from, SortOrder::Ascending, limit)?;
    rows.iter().map(|(_, row)| answer_at(store, row)).collect()
}

fn answer_at(store: &dyn Index, row: &[u8]) -> Result<Answer, StoreError> {
    let entry = store.entry(position(row)?)?;
    let mut answer: Answer = decode(&entry.body)?;
    if let Some((first, count)) = answer.rest {
        let stream = StreamId {
            kind: ANSWER_PARTS,
            ..entry.stream
        };
        let last = first.saturating_add(count).saturating_sub(1);
        let many = usize::try_from(count).unwrap_or(usize::MAX);
        for part in store.read(stream, first, last, SortOrder::Ascending, many)? {
            answer.body.push_str(&decode::<String>(&part.body)?);
        }
    }
    Ok(answer)
}

/// The row of an account for lists.
pub fn listed(store: &dyn Index, realm: RealmId, number: AccountNo) -> Lookup<Listed> {
    record(store, &keys::directory_of(realm, number))
}

/// The sums that have left a realm in its present day, month and minute.
pub fn total_usage(store: &dyn Index, realm: RealmId) -> Result<TotalUsage, StoreError> {
    parse_usage(store.get(&keys::usage(realm))?.as_deref())
}

/// The sums of a realm, as of one commit.
pub fn totals(store: &dyn Index, realm: RealmId) -> Result<Totals, StoreError> {
    parse_totals(store.get(&keys::totals(realm))?.as_deref())
}

/// The sums that a realm's business days have added, over the days that had ended by an instant.
pub fn added_until(store: &dyn Index, realm: RealmId, at: Timestamp) -> Result<Added, StoreError> {
    let day = newest_day(store.get(&keys::totals(realm))?.as_deref())?;
    // The newest day may get its row at this very moment.
    let before = day.last.min(at.plus_millis(1).millis());
    let to = keys::day(realm, Timestamp::from_millis(before));
    let rows = store.scan(&keys::days(realm), &to, SortOrder::Ascending, usize::MAX)?;
    let newest = if day.last <= at.millis() {
        day.added
    } else {
        Added::default()
    };
    let mut rows = rows.iter();
    rows.try_fold(newest, |sum, (_, row)| Ok(sum.plus(Added::parse(row)?)))
}

/// The sums of some realms, all as of one commit. Several are read in one scan, which also reads the rows of the realms
/// between them.
pub fn totals_of(
    store: &dyn Index,
    realms: &[RealmId],
) -> Result<BTreeMap<RealmId, Totals>, StoreError> {
    if let [realm] = realms {
        return Ok(BTreeMap::from([(*realm, totals(store, *realm)?)]));
    }
    let mut found: BTreeMap<_, _> = realms
        .iter()
        .map(|realm| (*realm, Totals::default()))
        .collect();
    let (Some((first, _)), Some((last, _))) = (found.first_key_value(), found.last_key_value())
    else {
        return Ok(found);
    };
    let (from, last) = (keys::totals(*first), keys::totals(*last));
    let to = [last.as_slice(), &[0]].concat();
    for (key, row) in store.scan(&from, &to, SortOrder::Ascending, usize::MAX)? {
        let realm = key.get(1..).and_then(|key| key.try_into().ok());
        let realm = realm.map(|bytes| RealmId(u32::from_be_bytes(bytes)));
        if let Some(totals) = realm.and_then(|realm| found.get_mut(&realm)) {
            *totals = parse_totals(Some(&row))?;
        }
    }
    Ok(found)
}

/// The last durable movement of an account.
pub fn last_voucher(store: &dyn Index, realm: RealmId, account: AccountNo) -> Lookup<Voucher> {
    let all = (1, u64::MAX);
    let found = vouchers(store, realm, account, all, SortOrder::Descending, 1);
    Ok(found?.pop())
}

/// The accounts whose holder has a CUIT, by number, at most `limit`.
pub fn accounts_of_cuit(
    store: &dyn Index,
    realm: RealmId,
    cuit: Cuit,
    limit: usize,
) -> Result<Vec<AccountNo>, StoreError> {
    accounts_under(store, &keys::of_cuit(realm, cuit), limit)
}

/// The accounts of which a sorted text begins with `text`, in that order, at most `limit`.
pub fn beginning(
    store: &dyn Index,
    realm: RealmId,
    by: Sorted,
    text: &str,
    limit: usize,
) -> Result<Vec<AccountNo>, StoreError> {
    let text = text.as_bytes();
    // The keys hold only the beginning of a longer text.
    let text = text.get(..SORTED_BYTES_MAX).unwrap_or(text);
    let prefix = [keys::sorted(realm, by).as_slice(), text].concat();
    accounts_under(store, &prefix, limit)
}

/// The last account number given in a realm.
pub fn last_account(store: &dyn Index, realm: RealmId) -> Result<u64, StoreError> {
    let from = keys::directory(realm);
    let rows = under(store, &from, SortOrder::Descending, 1)?;
    rows.first().map_or(Ok(0), |(key, _)| keys::number_of(key))
}

/// The last account number given in a realm, and when.
pub fn last_given(store: &dyn Index, realm: RealmId) -> Lookup<LastNumber> {
    let number = last_account(store, realm)?;
    let row = listed(store, realm, AccountNo(number))?;
    Ok(row.map(|row| LastNumber {
        number,
        at: row.created_at,
    }))
}

/// Accounts that wait for the bank, at most `limit`.
pub fn pending(
    store: &dyn Index,
    realm: RealmId,
    limit: usize,
) -> Result<Vec<AccountNo>, StoreError> {
    accounts_under(store, &keys::pending(realm), limit)
}

/// Accounts whose enrolment waits for the fund, at most `limit`.
pub fn enrolling(
    store: &dyn Index,
    realm: RealmId,
    limit: usize,
) -> Result<Vec<AccountNo>, StoreError> {
    accounts_under(store, &keys::enrolling(realm), limit)
}

fn accounts_under(
    store: &dyn Index,
    from: &[u8],
    limit: usize,
) -> Result<Vec<AccountNo>, StoreError> {
    let rows = under(store, from, SortOrder::Ascending, limit)?;
    rows.iter().map(|(key, _)| keys::account_of(key)).collect()
}

/// The last calls to the bank for an account, newest first.
pub fn bank_calls(
    store: &dyn Index,
    realm: RealmId,
    account: AccountNo,
    limit: usize,
) -> Result<Vec<BankCall>, StoreError> {
    let stream = account_stream(realm, account, BANK);
    let entries = store.read(stream, 1, u64::MAX, SortOrder::Descending, limit)?;
    entries.iter().map(|entry| decode(&entry.body)).collect()
}
