//! Rows of accounts: for lists, searches and orders, and for what they wait for.

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::{AccountFact, AliasOwner};
use caudal_ledger::particulars::{Names, Particulars};
use caudal_ledger::text::folded;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Totals;
use caudal_storage::StoreError;
use serde::{Deserialize, Serialize};

use super::totals::{self, Cause};
use super::{EntryRows, SubjectNote};
use crate::records::keys::{self, Sorted};
use crate::records::{LEDGER, account_sets, account_stream};

/// The data of an account for lists and searches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// The CVU that the bank has given it; `None` before.
    pub cvu: Option<Cvu>,
    /// Its alias at the bank; `None` without one.
    pub alias: Option<Alias>,
    /// The CUIT of its holder; other accounts may have the same.
    pub cuit: Cuit,
    /// The holder's name, folded for search and sorting.
    pub name: String,
    /// The tenant's own code.
    pub code: Option<String>,
    /// The e-mail of its holder as it was given, not folded.
    pub email: Option<String>,
    /// The stage of its life.
    pub status: Status,
    /// Whether it is enabled.
    pub enabled: bool,
    /// When it was registered.
    pub created_at: Timestamp,
    /// The parts of the holder's name.
    pub names: Names,
    /// The code that a pending change asks for, while the bank is being asked.
    pub asked_code: Option<String>,
}

/// Folds a fact of the profile into the account's rows.
pub(super) fn happened(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let fact: AccountFact = rows.fact()?;
    let (realm, number) = (rows.realm, rows.account);
    let key = keys::directory_of(realm, number);
    let before: Option<Listed> = match &fact {
        // the first fact of an account: there is no row yet
        AccountFact::Registered(_) => None,
        _ => rows.get(&key)?,
    };
    let after = match (&fact, before.clone()) {
        (AccountFact::Registered(registration), _) => {
            listed(&Account::registered(registration, rows.at()))
        }
        (_, Some(row)) => changed(row, &fact),
        (_, None) => return Err(StoreError::Corrupt("a profile begins in its middle".into())),
    };
    codes(rows, before.as_ref(), &after);
    cuits(rows, before.as_ref(), &after);
    if let AccountFact::Opened { cvu, .. } = &fact {
        let key = keys::cvu(realm, *cvu);
        rows.index.put(&key, &number.0.to_be_bytes());
    }
    aliases(rows, before.as_ref(), &after)?;
    census(rows, before.as_ref(), &after)?;
    let standing = |row: &Listed| (row.status, row.enabled);
    let standings = (before.as_ref().map(standing), standing(&after));
    account_sets::became(realm, number, standings, rows.index)?;
    sorts(rows, before.as_ref(), &after);
    if let Some((of, waits)) = waits(&fact) {
        let key = match of {
            WaitsFor::Bank => keys::pending_of(realm, number),
            WaitsFor::Fund => keys::enrolling_of(realm, number),
        };
        if waits {
            rows.index.put(&key, &[]);
        } else {
            rows.index.delete(&key);
        }
    }
    if before.as_ref() != Some(&after) {
        rows.put(&key, &after)?;
    }
    let rules = rows.rules()?;
    let Some(kind) = (rules.account)(&fact) else {
        return Ok(());
    };
    let movements = rows.index.head(account_stream(realm, number, LEDGER))?;
    let event = rows.event(rules, kind);
    rows.publish(&event.noting(SubjectNote::Movements(movements))?)
}

/// The party that an account waits for.
#[derive(Clone, Copy)]
enum WaitsFor {
    /// The bank, about a request for the account itself.
    Bank,
    /// The fund, next to the bank.
    Fund,
}

/// The party that the account waits for after a fact, or no longer waits for; `None` if the fact does not tell.
const fn waits(fact: &AccountFact) -> Option<(WaitsFor, bool)> {
    match fact {
        AccountFact::OpeningRequested { .. }
        | AccountFact::CvuRequested { .. }
        | AccountFact::ParticularsRequested(_)
        | AccountFact::AliasRequested { .. }
        | AccountFact::IdentityRequested(_)
        | AccountFact::ClosingRequested => Some((WaitsFor::Bank, true)),
        AccountFact::Opened { .. }
        | AccountFact::Reopened { .. }
        | AccountFact::OpeningRefused(_)
        | AccountFact::CvuRefused(_)
        | AccountFact::ParticularsRefused(_)
        | AccountFact::AliasChanged { .. }
        | AccountFact::AliasRefused(_)
        | AccountFact::IdentityChanged(_)
        | AccountFact::IdentityRefused(_)
        | AccountFact::Closed
        | AccountFact::ClosingRefused(_) => Some((WaitsFor::Bank, false)),
        // A change with a name is decided only while nothing waits; while one without a name is decided, something else
        // may wait.
        AccountFact::ParticularsChanged(change) if change.name.is_some() => {
            Some((WaitsFor::Bank, false))
        }
        AccountFact::ParticularsChanged(_)
        | AccountFact::Registered(_)
        | AccountFact::Suspended { .. }
        | AccountFact::Reactivated
        | AccountFact::KycChanged { .. }
        | AccountFact::LimitsChanged(_)
        | AccountFact::TemporaryLimitsSet(_)
        | AccountFact::EnabledChanged { .. }
        | AccountFact::FeesChanged(_) => None,
        AccountFact::EnrolmentRequested { .. } => Some((WaitsFor::Fund, true)),
        AccountFact::EnrolmentChanged { .. } => Some((WaitsFor::Fund, false)),
    }
}

/// The account's codes: its own, and one that it asks for.
fn codes(rows: &mut EntryRows<'_>, before: Option<&Listed>, after: &Listed) {
    let of = |row: &Listed| match row.status {
        // The account never came to be: its code is free again.
        Status::Void => [None, None],
        _ => [row.code.clone(), row.asked_code.clone()],
    };
    let (old, new) = (before.map(of).unwrap_or_default(), of(after));
    let number = rows.account.0.to_be_bytes();
    for code in old.iter().flatten() {
        if !new.iter().flatten().any(|it| it == code) {
            rows.index.delete(&keys::code(rows.realm, code));
        }
    }
    for code in new.iter().flatten() {
        if !old.iter().flatten().any(|it| it == code) {
            rows.index.put(&keys::code(rows.realm, code), &number);
        }
    }
}

/// Puts a row that is only present in the place of an old one.
fn moves(rows: &mut EntryRows<'_>, old: Option<Vec<u8>>, new: Option<Vec<u8>>) {
    if old == new {
        return;
    }
    if let Some(key) = old {
        rows.index.delete(&key);
    }
    if let Some(key) = new {
        rows.index.put(&key, &[]);
    }
}

/// Finds the account by its holder's CUIT.
fn cuits(rows: &mut EntryRows<'_>, before: Option<&Listed>, after: &Listed) {
    let (realm, number) = (rows.realm, rows.account);
    let of = |row: &Listed| {
        let key = || keys::account_of_cuit(realm, row.cuit, number);
        (row.status != Status::Void).then(key)
    };
    moves(rows, before.and_then(of), of(after));
}

impl Listed {
    /// The text by which an account is sorted; an account without one comes before all others.
    pub fn sorted_by(&self, by: Sorted) -> String {
        match by {
            Sorted::Name => self.name.clone(),
            Sorted::Cvu => self.cvu.map(|cvu| cvu.to_string()).unwrap_or_default(),
            Sorted::Alias => {
                let folded = self.alias.as_ref().map(Alias::folded);
                folded.unwrap_or_default()
            }
            Sorted::Code => self.code.clone().unwrap_or_default(),
        }
    }
}

/// Gives the account its place in each order of texts.
fn sorts(rows: &mut EntryRows<'_>, before: Option<&Listed>, after: &Listed) {
    let (realm, number) = (rows.realm, rows.account);
    for by in Sorted::ALL {
        let of = |row: &Listed| {
            let key = || keys::sorted_of(realm, by, row.sorted_by(by).as_bytes(), number);
            (row.status != Status::Void).then(key)
        };
        moves(rows, before.and_then(of), of(after));
    }
}

/// The data of an account for lists.
pub fn listed(account: &Account) -> Listed {
    Listed {
        cvu: account.cvu,
        alias: account.alias.clone(),
        cuit: account.holder.cuit,
        name: folded(&account.holder.name),
        code: account.code.clone(),
        email: account.email.clone(),
        status: account.status,
        enabled: account.enabled,
        created_at: account.created_at,
        names: account.names.clone(),
        asked_code: None,
    }
}

fn changed(mut row: Listed, fact: &AccountFact) -> Listed {
    match fact {
        AccountFact::Opened { cvu, alias } => {
            row.cvu = Some(*cvu);
            row.alias.clone_from(alias);
            row.status = Status::Active;
        }
        AccountFact::Reopened { alias } => {
            row.alias.clone_from(alias);
            row.status = Status::Active;
        }
        AccountFact::OpeningRefused(_) => row.status = Status::Void,
        AccountFact::AliasChanged { alias } => row.alias = Some(alias.clone()),
        AccountFact::IdentityChanged(identity) => {
            row.name = folded(&identity.name);
            match &identity.names {
                Some(names) => row.names.clone_from(names),
                None => row
                    .names
                    .forget_unless(identity.person_type, &identity.name),
            }
        }
        AccountFact::ParticularsRequested(change) => row.asked_code.clone_from(&change.code),
        AccountFact::ParticularsRefused(_) => row.asked_code = None,
        AccountFact::ParticularsChanged(change) => particulars(&mut row, change),
        AccountFact::Closed => row.status = Status::Closed,
        AccountFact::Suspended { .. } => row.status = Status::Suspended,
        AccountFact::Reactivated => row.status = Status::Active,
        AccountFact::KycChanged { email, .. } => row.email.clone_from(email),
        AccountFact::EnabledChanged { enabled } => row.enabled = *enabled,
        AccountFact::Registered(_)
        | AccountFact::OpeningRequested { .. }
        | AccountFact::CvuRequested { .. }
        | AccountFact::CvuRefused(_)
        | AccountFact::AliasRequested { .. }
        | AccountFact::AliasRefused(_)
        | AccountFact::IdentityRequested(_)
        | AccountFact::IdentityRefused(_)
        | AccountFact::ClosingRequested
        | AccountFact::ClosingRefused(_)
        | AccountFact::LimitsChanged(_)
        | AccountFact::TemporaryLimitsSet(_)
        | AccountFact::FeesChanged(_)
        | AccountFact::EnrolmentRequested { .. }
        | AccountFact::EnrolmentChanged { .. } => {}
    }
    row
}

fn particulars(row: &mut Listed, change: &Particulars) {
    let set = |old: &mut Option<String>, new: &Option<String>, gone: bool| {
        if gone || new.is_some() {
            old.clone_from(new);
        }
    };
    row.cuit = change.cuit.unwrap_or(row.cuit);
    row.enabled = change.enabled.unwrap_or(row.enabled);
    set(&mut row.code, &change.code, change.cleared.code);
    set(&mut row.email, &change.email, change.cleared.email);
    if let Some(name) = &change.name {
        row.name = folded(name);
        // If a change waited for the bank, it was this one.
        row.asked_code = None;
    }
    if !change.names.is_empty() {
        row.names = change.names.clone();
    }
}

/// An alias that is given up stays reserved for its holder; the new one belongs to the account.
fn aliases(
    rows: &mut EntryRows<'_>,
    before: Option<&Listed>,
    after: &Listed,
) -> Result<(), StoreError> {
    let account = rows.account;
    let old = before.and_then(|row| row.alias.as_ref());
    if old == after.alias.as_ref() {
        return Ok(());
    }
    let names = [(old, false), (after.alias.as_ref(), true)];
    for (alias, current) in names.into_iter().filter_map(|(it, now)| Some((it?, now))) {
        let key = keys::alias(rows.realm, alias);
        let known: Option<AliasOwner> = if current { None } else { rows.get(&key)? };
        // Another account of the holder may have taken the alias since this account was closed.
        if known.is_some_and(|owner| owner.account != account) {
            continue;
        }
        let owner = AliasOwner {
            account,
            cuit: after.cuit,
            current,
        };
        rows.put(&key, &owner)?;
    }
    Ok(())
}

/// Counts an account in its new state.
fn census(
    rows: &mut EntryRows<'_>,
    before: Option<&Listed>,
    after: &Listed,
) -> Result<(), StoreError> {
    let old = before.map(|row| row.status);
    if old == Some(after.status) {
        return Ok(());
    }
    let change = |totals: &mut Totals| totals.census.moved(old, after.status);
    totals::update(rows, Cause::Other, change)
}
