//! Compares the index with the journal at the least cost. Accounts and movements whose sums agree are done; the others
//! are compared again one by one, by the code that names the differences.
//!
//! **Shape.** Independent pieces of work, so that two threads can share them. Rows that each movement or account has
//! under a key of its own are added up ([`Tally`]) and compared with the stored rows in one walk over them; rows in the
//! order of the accounts are walked along with the accounts.
//!
//! **Bounds.** A page of rows for each piece of work under way.
//!
//! **Order.** A running service moves on meanwhile. Rows that are newer than the journal that was read do not count,
//! and the second check dispels a doubt that comes from such a change.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::thread;

use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::history::History;
use caudal_ledger::ids::RealmId;
use caudal_ledger::money::Money;
use caudal_storage::{Index, Pair, Scale, StoreError, Tally};

use super::replay::RowSums;
use super::{At, Report};
use crate::records::account_sets::{AccountFlags, Recent};
use crate::records::keys::{self, Marked, Sorted};
use crate::records::projection::{self, Listed, VoucherPlace};
use crate::records::{decode, reads};

/// How many rows are read at once.
const PAGE: usize = 1000;
/// One account of this many, the first one among them, is compared in full with its streams.
const IN_FULL: u64 = 64;

/// Whether an account is compared in full with its streams.
pub(super) const fn is_in_full(at: At) -> bool {
    at.1.0 % IN_FULL == 1
}

/// The result of a piece of work.
#[derive(Default)]
pub(super) struct WorkResult {
    /// The certain differences, and the counts.
    pub report: Report,
    /// Accounts that differ from the journal, or did so when they were read.
    pub accounts: BTreeSet<At>,
    /// Accounts whose rows at rest have another profile than the journal.
    pub rests: BTreeSet<At>,
    /// Realms whose movements may have wrong rows.
    pub movements: BTreeSet<RealmId>,
    /// The sums of the places that each realm's accounts should have.
    pub places: BTreeMap<RealmId, Places>,
    /// The sums of the places that are there.
    pub there: BTreeMap<RealmId, Places>,
    /// Whether rows differ by which streams lead to their entries; the report names them.
    pub streams: bool,
    /// The error about wrong bytes that stopped the first failed piece of work.
    pub failed: Option<StoreError>,
}

/// The sums of the accounts' places in their orders, and among the accounts of their CUITs.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Places {
    orders: Tally,
    cuits: Tally,
}

impl WorkResult {
    fn joins(&mut self, other: Self) {
        self.report.adds(other.report);
        self.accounts.extend(other.accounts);
        self.rests.extend(other.rests);
        self.movements.extend(other.movements);
        self.streams |= other.streams;
        self.failed = self.failed.take().or(other.failed);
        for (to, from) in [
            (&mut self.places, other.places),
            (&mut self.there, other.there),
        ] {
            for (realm, places) in from {
                let sum = to.entry(realm).or_default();
                sum.orders.join(&places.orders);
                sum.cuits.join(&places.cuits);
            }
        }
    }
}

/// Ends a piece of work when it returns `false`; its result then means nothing.
pub(super) type WorkStep<'s> = &'s mut dyn FnMut() -> bool;

type Done = Result<WorkResult, StoreError>;

/// A piece of work.
pub(super) struct Work<'w> {
    /// Roughly how many rows and entries it reads.
    reads: u64,
    run: Box<dyn FnOnce(WorkStep<'_>) -> Done + Send + 'w>,
}

impl<'w> Work<'w> {
    /// A piece of work that reads about this many rows and entries.
    pub(super) fn of(reads: u64, run: impl FnOnce(WorkStep<'_>) -> Done + Send + 'w) -> Self {
        Self {
            reads,
            run: Box::new(run),
        }
    }
}

/// The threads that work.
pub(super) enum Workers<'h> {
    /// Only this thread, which asks before each step whether to go on.
    One(WorkStep<'h>),
    /// This thread and another one.
    Two,
}

/// Keeps the result of a piece of work. If it met wrong bytes it has failed, but the results of the others count.
fn kept(came: Done) -> Done {
    match came {
        Err(why @ (StoreError::Corrupt(_) | StoreError::Invalid(_))) => Ok(WorkResult {
            failed: Some(why),
            ..WorkResult::default()
        }),
        came => came,
    }
}

impl Workers<'_> {
    /// Does all of some work. The findings have the order of the work.
    ///
    /// # Errors
    /// The first failure of a piece of work, except for wrong bytes ([`WorkResult::failed`]).
    pub(super) fn all(&mut self, work: Vec<Work<'_>>) -> Result<WorkResult, StoreError> {
        let mut all = WorkResult::default();
        match self {
            Self::One(step) => {
                for piece in work {
                    all.joins(kept((piece.run)(&mut **step))?);
                }
            }
            Self::Two => {
                for piece in shared(work) {
                    all.joins(kept(piece)?);
                }
            }
        }
        Ok(all)
    }
}

/// Does the largest pieces first, so that no thread is left alone with one at the end.
fn shared(work: Vec<Work<'_>>) -> Vec<Done> {
    let mut work: Vec<_> = work.into_iter().enumerate().collect();
    work.sort_by_key(|(_, piece)| Reverse(piece.reads));
    let waits = Mutex::new(VecDeque::from(work));
    let done = Mutex::new(BTreeMap::new());
    let hand = || {
        loop {
            let next = waits
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            let Some((nth, piece)) = next else { return };
            let came = (piece.run)(&mut || true);
            done.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert(nth, came);
        }
    };
    thread::scope(|scope| {
        let other = thread::Builder::new().name("caudal-verify".to_owned());
        // Without another thread it takes longer.
        drop(other.spawn_scoped(scope, hand));
        hand();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.into_values().collect()
}

/// Walks over the rows from one key up to another, each as a look-up by its key would find it.
fn rows(
    store: &dyn Index,
    (mut from, to): (Vec<u8>, Vec<u8>),
    step: WorkStep<'_>,
    take: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<(), StoreError> {
    loop {
        let page = store.walk(&from, &to, PAGE)?;
        for (key, value) in &page {
            take(key, value);
        }
        let full = page.len() == PAGE;
        match page.into_iter().next_back() {
            Some((mut last, _)) if full && step() => {
                last.push(0);
                from = last;
            }
            Some(_) | None => return Ok(()),
        }
    }
}

fn under(prefix: Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    let to = keys::after_prefix(&prefix);
    (prefix, to)
}

/// Whether the rows of a realm's movements match the journal. `known` gives the last sequence of an account, if the
/// store may have been written to since.
pub(super) fn movements(
    store: &dyn Index,
    (realm, right, scale): (RealmId, &RowSums, &Scale),
    known: Option<&(dyn Fn(At) -> Option<u64> + Sync)>,
    step: WorkStep<'_>,
) -> Result<WorkResult, StoreError> {
    let (mut external, mut lines, mut marks) =
        (Tally::default(), Tally::default(), Tally::default());
    rows(
        store,
        under(keys::externals(realm)),
        step,
        &mut |key, row| {
            let is_later = |place: &VoucherPlace| {
                known.is_some_and(|known| {
                    known((realm, place.account)).is_none_or(|last| place.sequence > last)
                })
            };
            if !VoucherPlace::from_bytes(row).is_ok_and(|place| is_later(&place)) {
                external.add(scale, key, row);
            }
        },
    )?;
    rows(
        store,
        under(keys::internals(realm)),
        step,
        &mut |key, row| {
            // A key without a number is a row too many.
            if !keys::number_of(key).is_ok_and(|number| number > right.lines.rows) {
                lines.add(scale, key, row);
            }
        },
    )?;
    let prefix = keys::marked(realm, Marked::Internal);
    rows(store, under(prefix), step, &mut |key, row| {
        if !keys::number_of(key).is_ok_and(|block| !right.is_full(block)) {
            marks.add(scale, key, row);
        }
    })?;
    let good = (external, lines, marks) == (right.external, right.lines, right.marks);
    Ok(WorkResult {
        movements: (!good).then_some(realm).into_iter().collect(),
        ..WorkResult::default()
    })
}

/// The journal's state of an account.
pub(super) struct ReplayedAccount<'h> {
    /// The account.
    pub at: At,
    /// The state of its movements.
    pub history: &'h History,
    /// The state of its profile, if it was kept.
    pub profile: Option<Box<Account>>,
}

/// The rows of the directory, read along with accounts in their order.
struct Directory {
    realm: Option<RealmId>,
    page: VecDeque<Pair>,
}

impl Directory {
    /// The row of the next wanted account, if there is one.
    fn row(
        &mut self,
        store: &dyn Index,
        (realm, number): At,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let key = keys::directory_of(realm, number);
        if self.realm != Some(realm) {
            self.page.clear();
            self.realm = Some(realm);
        }
        while self.page.front().is_some_and(|(front, _)| *front < key) {
            self.page.pop_front();
        }
        if self.page.is_empty() {
            let to = keys::after_prefix(&keys::directory(realm));
            let page = store.walk(&key, &to, PAGE)?;
            self.page = page.into();
        }
        let here = self.page.front().is_some_and(|(front, _)| *front == key);
        let row = here.then(|| self.page.pop_front()).flatten();
        Ok(row.map(|(_, row)| row))
    }
}

/// Whether accounts, in their order, match the journal.
pub(super) fn accounts(
    store: &dyn Index,
    all: Vec<ReplayedAccount<'_>>,
    scale: &Scale,
    step: WorkStep<'_>,
) -> Result<WorkResult, StoreError> {
    let mut part = WorkResult::default();
    let mut directory = Directory {
        realm: None,
        page: VecDeque::new(),
    };
    let mut sets = Recent::default();
    for known in all {
        if !step() {
            break;
        }
        part.report.accounts += 1;
        let (at, history) = (known.at, known.history);
        let loaded = match loaded(store, known) {
            // The second check names the reason.
            Err(StoreError::Corrupt(_)) => None,
            loaded => loaded?,
        };
        let Some((account, made)) = loaded else {
            part.accounts.insert(at);
            continue;
        };
        if made == (AccountSources::AtRest { alike: false }) {
            part.rests.insert(at);
        }
        let right = projection::listed(&account);
        part.places.entry(at.0).or_default().add(scale, at, &right);
        let row = directory.row(store, at)?;
        // An unreadable row is checked again, too.
        let row = row.and_then(|row| decode::<Listed>(&row).ok());
        // The code that a pending change asks for is not part of the account.
        let listed = row.is_some_and(|row| {
            let asked_code = None;
            Listed { asked_code, ..row } == right
        });
        let standing = AccountFlags {
            status: right.status,
            enabled: right.enabled,
            funded: account.balance.total() != Money::ZERO,
        };
        let good = is_at(&account, history)
            && account.holds_what_is_set_apart()
            && listed
            && sets.agrees(store, at.0, at.1, standing)?
            && (!is_in_full(at) || in_full(store, at, &account, made, history)?);
        if !good {
            part.accounts.insert(at);
        }
    }
    Ok(part)
}

/// The sources of an account.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccountSources {
    /// Its rows at rest, and the later entries of its streams; and whether the profile matches the journal, as far as
    /// that is known.
    AtRest { alike: bool },
    /// Its profile, and the journal's stand of its movements. The sums of its day are then unknown.
    OfJournal,
}

/// An account as it is loaded.
fn loaded(
    store: &dyn Index,
    known: ReplayedAccount<'_>,
) -> Result<Option<(Account, AccountSources)>, StoreError> {
    let ReplayedAccount {
        at: (realm, number),
        history,
        mut profile,
    } = known;
    if let Some(account) = reads::standing(store, realm, &mut profile, history, number)? {
        return Ok(Some((*account, AccountSources::OfJournal)));
    }
    let Some(loaded) = reads::load(store, realm, number)? else {
        return Ok(None);
    };
    let alike = profile.is_none_or(|profile| alike(*profile, &loaded.account));
    Ok(Some((*loaded.account, AccountSources::AtRest { alike })))
}

/// Whether a loaded account has this profile.
fn alike(mut profile: Account, loaded: &Account) -> bool {
    let mut loaded = loaded.clone();
    loaded.forget_open();
    profile.balance = loaded.balance;
    profile.sequence = loaded.sequence;
    profile.hash = loaded.hash;
    profile.last_movement_at = loaded.last_movement_at;
    profile.usage = loaded.usage;
    profile == loaded
}

/// Whether an account stands where its history ends.
pub(super) fn is_at(account: &Account, history: &History) -> bool {
    let is = (account.sequence, account.balance, account.hash);
    let last = (history.sequence > 0).then_some(history.at);
    is == (history.sequence, history.balance, history.hash) && account.last_movement_at == last
}

/// Whether an account, read only from its streams, equals the account as it was made.
fn in_full(
    store: &dyn Index,
    (realm, number): At,
    account: &Account,
    made: AccountSources,
    history: &History,
) -> Result<bool, StoreError> {
    let full = match reads::load_in_full(store, realm, number) {
        // The second check reports this.
        Err(StoreError::Corrupt(_)) => return Ok(false),
        full => full?.map(|full| *full.account),
    };
    Ok(full.is_some_and(|full| {
        let mut account = account.clone();
        if made == AccountSources::OfJournal {
            account.usage = full.usage;
        }
        is_at(&full, history) && account == full
    }))
}

impl Places {
    fn add(&mut self, scale: &Scale, (realm, number): At, right: &Listed) {
        if right.status == Status::Void {
            return;
        }
        for by in Sorted::ALL {
            let key = keys::sorted_of(realm, by, right.sorted_by(by).as_bytes(), number);
            self.orders.add(scale, &key, &[]);
        }
        let key = keys::account_of_cuit(realm, right.cuit, number);
        self.cuits.add(scale, &key, &[]);
    }

    /// The places that the accounts of a realm up to `last` have.
    pub(super) fn there(
        store: &dyn Index,
        (realm, last): At,
        scale: &Scale,
        step: WorkStep<'_>,
    ) -> Result<WorkResult, StoreError> {
        let mut there = Self::default();
        rows(store, under(keys::orders(realm)), step, &mut |key, _| {
            if !keys::account_of(key).is_ok_and(|number| number > last) {
                there.orders.add(scale, key, &[]);
            }
        })?;
        rows(store, under(keys::of_cuits(realm)), step, &mut |key, _| {
            if !keys::account_of(key).is_ok_and(|number| number > last) {
                there.cuits.add(scale, key, &[]);
            }
        })?;
        Ok(WorkResult {
            there: BTreeMap::from([(realm, there)]),
            ..WorkResult::default()
        })
    }
}
