//! How accounts are loaded: from the rows that they left when they went to rest, and from the later entries of their
//! streams, of which there are mostly none.
//!
//! **Bounds.** For an account at rest one row is read; the filters of the index tell that its streams have nothing
//! later. For an account that was not at rest since there are such rows, up to two older rows are read instead, and the
//! row of its last movement, which confirms them.

use std::sync::Arc;

use caudal_ledger::accounts::Account;
use caudal_ledger::facts::{AccountFact, LedgerFact};
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Index, StoreError};

use super::{fold, money};
use crate::records::rest::{self, Left, Stand};
use crate::records::{LEDGER, PROFILE, account_stream, decode, keys};

/// An account without its movements, folded from its profile only.
pub fn profile(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
) -> Result<Option<Account>, StoreError> {
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

/// An account as it was loaded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// The account as of the last commit.
    pub account: Box<Account>,
    /// The part of it that is in its rows at rest.
    pub left: Left,
    /// How many movements were replayed.
    pub replayed: u64,
}

/// An account as of the last commit, and how many movements were replayed for it.
pub fn account(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
) -> Result<Option<(Account, u64)>, StoreError> {
    let loaded = load(store, realm, number)?;
    Ok(loaded.map(|loaded| (*loaded.account, loaded.replayed)))
}

/// The rows that an account has left at rest.
#[derive(Debug, Default)]
struct Rows {
    /// The whole account, as of the last change of its profile or earlier.
    whole: Option<Box<Account>>,
    /// The stand of later movements.
    stand: Option<Stand>,
    /// The profile in the row, and whether the row is of an older kind.
    left: Left,
}

/// An account as of the last commit: its rows at rest, and the later entries of its streams.
pub fn load(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
) -> Result<Option<Loaded>, StoreError> {
    let rows = at_rest(store, realm, number)?;
    load_from(store, realm, number, rows)
}

/// The same from its streams only.
pub fn load_in_full(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
) -> Result<Option<Loaded>, StoreError> {
    load_from(store, realm, number, Rows::default())
}

/// Whether any of the accounts from `first` to `last` has left rows at rest, as a look-up by their keys would find them.
pub fn any_at_rest(
    store: &dyn Index,
    realm: RealmId,
    (first, last): (AccountNo, AccountNo),
) -> Result<bool, StoreError> {
    for key in [keys::rest, keys::snapshot, keys::stand] {
        let mut to = key(realm, last);
        to.push(0);
        if !store.walk(&key(realm, first), &to, 1)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An account that has left no rows at rest, made of its profile and its `history`, without reading its movements;
/// `None` if it has left some, or does not exist. `profile` is its folded profile, if known, and is taken if it is
/// used. `looks` tells whether to look for such rows: it need not where there are [none](any_at_rest).
pub fn standing(
    store: &dyn Index,
    realm: RealmId,
    (profile, history): (&mut Option<Box<Account>>, &History),
    (number, looks): (AccountNo, bool),
) -> Result<Option<Box<Account>>, StoreError> {
    let rows = match looks {
        true => at_rest(store, realm, number)?,
        false => Rows::default(),
    };
    if rows.whole.is_some() || rows.stand.is_some() {
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

/// The row that an account has left at some time. It is a hint: an unreadable row counts as none.
fn at_rest(store: &dyn Index, realm: RealmId, number: AccountNo) -> Result<Rows, StoreError> {
    let row = store.get(&keys::rest(realm, number))?;
    let Some((whole, profile)) = row.and_then(|row| rest::parse(number, &row)) else {
        return of_before(store, realm, number);
    };
    let left = Left {
        profile: Some(Arc::new(profile)),
        ..Left::default()
    };
    Ok(Rows {
        whole: Some(whole),
        stand: None,
        left,
    })
}

/// The rows that an account left before there was one row for all of it. Rows with a fact that its stream does not have
/// count as none, too.
fn of_before(store: &dyn Index, realm: RealmId, number: AccountNo) -> Result<Rows, StoreError> {
    let whole = store.get(&keys::snapshot(realm, number))?;
    let stand = store.get(&keys::stand(realm, number))?;
    let left = Left {
        before: whole.is_some() || stand.is_some(),
        ..Left::default()
    };
    let whole = whole.and_then(|row| decode::<Box<Account>>(&row).ok());
    let whole = whole.filter(|account| account.number == number);
    let stand = stand.and_then(|row| Stand::parse(number, &row));
    let moved = whole.as_ref().map_or(0, |account| account.sequence);
    let has = |kind, seq| store.has(account_stream(realm, number, kind), seq);
    // A stream has no gaps, so if it has the later movement it also has the earlier one.
    if let Some(stand) = stand.filter(|stand| stand.sequence > moved)
        && has(LEDGER, stand.sequence)?
    {
        let whole = whole.filter(|_| moved > 0);
        return Ok(Rows {
            whole,
            stand: Some(stand),
            left,
        });
    }
    let known = match whole.as_ref().map(|account| account.profile_seq) {
        None => false,
        Some(seq) if moved == 0 => has(PROFILE, seq)?,
        Some(_) => has(LEDGER, moved)?,
    };
    Ok(Rows {
        whole: whole.filter(|_| known),
        stand: None,
        left,
    })
}

fn load_from(
    store: &dyn Index,
    realm: RealmId,
    number: AccountNo,
    rows: Rows,
) -> Result<Option<Loaded>, StoreError> {
    let Rows {
        whole: mut found,
        stand,
        left,
    } = rows;
    fold_profile(store, realm, number, &mut found)?;
    let Some(mut account) = found else {
        return Ok(None);
    };
    if let Some(stand) = stand {
        stand.resume(&mut account);
    }
    let left = Left {
        sequence: account.sequence,
        ..left
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
    Ok(Some(Loaded {
        account,
        left,
        replayed,
    }))
}
