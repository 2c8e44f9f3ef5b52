//! How accounts are loaded: from the rows that they left when they went to rest, and from the later entries of their
//! streams, of which there are mostly none.
//!
//! **Bounds.** For an account at rest one row is read; the filters of the index tell that its streams have nothing
//! later.

use std::sync::Arc;

use caudal_ledger::accounts::Account;
use caudal_ledger::facts::{AccountFact, LedgerFact};
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Index, StoreError};

use super::{Lookup, fold, money};
use crate::records::rest::{self, Profile, WrittenPart};
use crate::records::{LEDGER, PROFILE, account_stream, keys};

/// An account without its movements, folded from its profile only.
pub fn profile(store: &dyn Index, realm: RealmId, number: AccountNo) -> Lookup<Account> {
    let mut account = None;
    fold_profile(store, realm, number, &mut account)?;
    Ok(account.map(|account| *account))
}

fn fold_profile(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
    account: &mut Option<Box<Account>>,
) -> Result<(), StoreError> {
    let stream = account_stream(realm, number, PROFILE);
    let after = account.as_ref().map_or(0, |a| a.profile_seq);
    if account.is_some() && !store.has(stream, after.saturating_add(1))? {
        return Ok(());
    }
    fold(store, stream, after, |fact: AccountFact, seq, at| {
        match (account.as_mut(), &fact) {
            (None, AccountFact::Registered(registration)) => {
                *account = Some(Box::new(Account::registered(registration, at)));
            }
            (Some(known), _) => known.apply(&fact, seq, at),
            (None, _) => {}
        }
    })
}

/// An account in its row at rest, and its profile as it is stored there.
type StoredAccount = (Box<Account>, Profile);

/// An account as it was loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedAccount {
    /// The account as of the last commit.
    pub account: Box<Account>,
    /// The part of it that is in its rows at rest.
    pub left: WrittenPart,
    /// How many movements were replayed.
    pub replayed: u64,
}

/// An account as of the last commit, and how many movements were replayed for it.
pub fn account(store: &dyn Index, realm: RealmId, number: AccountNo) -> Lookup<(Account, u64)> {
    let loaded = load(store, realm, number)?;
    Ok(loaded.map(|loaded| (*loaded.account, loaded.replayed)))
}

/// An account as of the last commit: its row at rest, and the later entries of its streams.
pub fn load(store: &dyn Index, realm: RealmId, number: AccountNo) -> Lookup<LoadedAccount> {
    let row = at_rest(store, realm, number)?;
    load_from(store, realm, number, row)
}

/// The same from its streams only.
pub fn load_in_full(store: &dyn Index, realm: RealmId, number: AccountNo) -> Lookup<LoadedAccount> {
    load_from(store, realm, number, None)
}

/// An account that has left no row at rest, made of its profile and its `history`, without reading its movements;
/// `None` if it has left one, or does not exist. `profile` is its folded profile, if known, and is taken if it is
/// used.
pub fn standing(
    store: &dyn Index,
    realm: RealmId,
    profile: &mut Option<Box<Account>>,
    history: &History,
    number: AccountNo,
) -> Lookup<Box<Account>> {
    if at_rest(store, realm, number)?.is_some() {
        return Ok(None);
    }
    let mut found = profile.take();
    if found.is_none() {
        fold_profile(store, realm, number, &mut found)?;
    }
    let Some(mut account) = found else {
        return Ok(None);
    };
    account.sequence = history.sequence;
    account.balance = history.balance;
    account.hash = history.hash;
    account.last_movement_at = (history.sequence > 0).then_some(history.at);
    money::open(store, realm, &mut account)?;
    Ok(Some(account))
}

/// What an account has left in its row at some time: itself, and its profile as it is stored there. The row is a hint: an
/// unreadable one counts as none.
fn at_rest(store: &dyn Index, realm: RealmId, number: AccountNo) -> Lookup<StoredAccount> {
    let row = store.get(&keys::rest(realm, number))?;
    Ok(row.and_then(|row| rest::parse(number, &row)))
}

fn load_from(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
    row: Option<StoredAccount>,
) -> Lookup<LoadedAccount> {
    let (mut found, profile) = row.unzip();
    fold_profile(store, realm, number, &mut found)?;
    let Some(mut account) = found else {
        return Ok(None);
    };
    let left = WrittenPart {
        profile: profile.map(Arc::new),
        sequence: account.sequence,
    };
    let (mut replayed, mut broken) = (0_u64, None);
    let stream = account_stream(realm, number, LEDGER);
    let after = account.sequence;
    if after == 0 || store.has(stream, after.saturating_add(1))? {
        fold(store, stream, after, |LedgerFact::Posted(voucher), _, _| {
            if !account.is_next(&voucher) {
                broken.get_or_insert(voucher.sequence);
            }
            account.apply_voucher(&voucher);
            replayed += 1;
        })?;
    }
    if let Some(sequence) = broken {
        let why = format!(
            "the voucher {sequence} of account {} does not follow",
            number.0
        );
        return Err(StoreError::Corrupt(why.into()));
    }
    money::open(store, realm, &mut account)?;
    Ok(Some(LoadedAccount {
        account,
        left,
        replayed,
    }))
}
