//! Rows of accounts: for lists, searches and orders, and for what they wait for.

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::alias::Alias;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::facts::{AccountFact, AliasOwner};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::particulars::{Names, Particulars};
use caudal_ledger::text::folded;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, IndexWriter, Position, StoreError};
use serde::{Deserialize, Serialize};

use super::events::{self, EventRow, SubjectNote};
use super::totals;
use crate::records::keys::{self, Sorted};
use crate::records::{LEDGER, account_sets, account_stream, decode, encode};

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
pub(super) fn happened(
    (sets, realm): (RuleSets, RealmId),
    number: AccountNo,
    (entry, position): (&Entry, Position),
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let fact: AccountFact = decode(&entry.body)?;
    let at = Timestamp::from_millis(entry.at);
    let key = keys::directory_of(realm, number);
    let before: Option<Listed> = match &fact {
        // the first fact of an account: there is no row yet
        AccountFact::Registered(_) => None,
        _ => index.get(&key)?.map(|row| decode(&row)).transpose()?,
    };
    let after = match (&fact, before.clone()) {
        (AccountFact::Registered(registration), _) => {
            listed(&Account::registered(registration, at))
        }
        (_, Some(row)) => changed(row, &fact),
        (_, None) => return Err(StoreError::Corrupt("a profile begins in its middle".into())),
    };
    codes(realm, number, before.as_ref(), &after, index);
    cuits(realm, number, before.as_ref(), &after, index);
    if let AccountFact::Opened { cvu, .. } = &fact {
        index.put(&keys::cvu(realm, *cvu), &number.0.to_be_bytes());
    }
    aliases(realm, number, before.as_ref(), &after, index)?;
    census(realm, before.as_ref(), &after, index)?;
    let standing = |row: &Listed| (row.status, row.enabled);
    let standings = (before.as_ref().map(standing), standing(&after));
    account_sets::became(realm, number, standings, index)?;
    sorts(realm, number, before.as_ref(), &after, index);
    match waits(&fact) {
        Some((WaitsFor::Bank, true)) => index.put(&keys::pending_of(realm, number), &[]),
        Some((WaitsFor::Bank, false)) => index.delete(&keys::pending_of(realm, number)),
        Some((WaitsFor::Fund, true)) => index.put(&keys::enrolling_of(realm, number), &[]),
        Some((WaitsFor::Fund, false)) => index.delete(&keys::enrolling_of(realm, number)),
        None => {}
    }
    if before.as_ref() != Some(&after) {
        index.put(&key, &encode(&after)?);
    }
    let rules = events::rules(sets, realm, index)?;
    let Some(kind) = (rules.account)(&fact) else {
        return Ok(());
    };
    let movements = index.head(account_stream(realm, number, LEDGER))?;
    let event = EventRow::new(kind, number, position).tagged_by(rules, entry);
    events::publish(
        realm,
        event.noting(SubjectNote::Movements(movements))?,
        index,
    )
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
fn codes(
    realm: RealmId,
    number: AccountNo,
    before: Option<&Listed>,
    after: &Listed,
    index: &mut dyn IndexWriter,
) {
    let of = |row: &Listed| match row.status {
        // The account never came to be: its code is free again.
        Status::Void => [None, None],
        _ => [row.code.clone(), row.asked_code.clone()],
    };
    let (old, new) = (before.map(of).unwrap_or_default(), of(after));
    for code in old
        .iter()
        .flatten()
        .filter(|code| !new.iter().flatten().any(|it| it == *code))
    {
        index.delete(&keys::code(realm, code));
    }
    for code in new
        .iter()
        .flatten()
        .filter(|code| !old.iter().flatten().any(|it| it == *code))
    {
        index.put(&keys::code(realm, code), &number.0.to_be_bytes());
    }
}

/// Finds the account by its holder's CUIT.
fn cuits(
    realm: RealmId,
    number: AccountNo,
    before: Option<&Listed>,
    after: &Listed,
    index: &mut dyn IndexWriter,
) {
    let of = |row: &Listed| (row.status != Status::Void).then_some(row.cuit);
    let (old, new) = (before.and_then(of), of(after));
    if old == new {
        return;
    }
    if let Some(cuit) = old {
        index.delete(&keys::account_of_cuit(realm, cuit, number));
    }
    if let Some(cuit) = new {
        index.put(&keys::account_of_cuit(realm, cuit, number), &[]);
    }
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
fn sorts(
    realm: RealmId,
    number: AccountNo,
    before: Option<&Listed>,
    after: &Listed,
    index: &mut dyn IndexWriter,
) {
    for by in Sorted::ALL {
        let of = |row: &Listed| {
            let key = || keys::sorted_of(realm, by, row.sorted_by(by).as_bytes(), number);
            (row.status != Status::Void).then(key)
        };
        let (old, new) = (before.and_then(of), of(after));
        if old == new {
            continue;
        }
        if let Some(key) = old {
            index.delete(&key);
        }
        if let Some(key) = new {
            index.put(&key, &[]);
        }
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
    realm: RealmId,
    account: AccountNo,
    before: Option<&Listed>,
    after: &Listed,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let old = before.and_then(|row| row.alias.as_ref());
    if old == after.alias.as_ref() {
        return Ok(());
    }
    let (given_up, taken) = (old, after.alias.as_ref());
    let names = [(given_up, false), (taken, true)];
    for (alias, current) in names.into_iter().filter_map(|(it, now)| Some((it?, now))) {
        let key = keys::alias(realm, alias);
        // Another account of the holder may have taken the alias since this account was closed.
        if !current && alias_owner(&key, index)?.is_some_and(|owner| owner.account != account) {
            continue;
        }
        let owner = AliasOwner {
            account,
            cuit: after.cuit,
            current,
        };
        index.put(&key, &encode(&owner)?);
    }
    Ok(())
}

fn alias_owner(key: &[u8], index: &mut dyn IndexWriter) -> Result<Option<AliasOwner>, StoreError> {
    let row = index.get(key)?;
    row.map(|row| decode(&row)).transpose()
}

/// Counts an account in its new state.
fn census(
    realm: RealmId,
    before: Option<&Listed>,
    after: &Listed,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let old = before.map(|row| row.status);
    if old == Some(after.status) {
        return Ok(());
    }
    totals::update(realm, index, |totals| {
        totals.census.moved(old, after.status);
    })
}
