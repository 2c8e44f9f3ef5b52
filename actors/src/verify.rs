//! Verification: replays every account's history from the journal and compares it with the index,
//! the loaded accounts and, in a running service, the actors' balances.
//!
//! **Shape.** The journal is read once ([`replay`]); if two threads may work, another one reads and decodes it
//! ([`pipe`]). Then the index is compared with it ([`compare`]), mostly in walks over the rows in their own order,
//! because a look-up by key costs many times as much. Doubtful movements and accounts are then checked one by one, and
//! their differences are named ([`differences`]). So every difference is found by the slow check, and correct data costs
//! little.
//!
//! **What is read.** Each entry of the journal once, where it is decoded, and its frame once more, to compare it with
//! the row by which its stream leads to it; each compared row of the index once. One account of 64 is also loaded from
//! its streams only, which reads all of its movements once more. If the store is opened for the verification, the
//! opening reads the whole journal and all runs of the index, too. The background check reads the same bytes and
//! decodes none.
//!
//! **Bounds.** Those of [`replay`], and a page of rows for each thread.
//!
//! **Order.** A store may be written to meanwhile. Commits after the last one that was replayed do not count; the index
//! already had that commit at the beginning.
//!
//! **Failure.** A contradiction of the journal is a difference; so is a history whose movements do not follow, and an
//! account that cannot be loaded for that reason. Data that cannot be read, or is damaged, is an error.

mod compare;
mod comparison;
mod differences;
mod lists;
mod pipe;
mod replay;
mod staff;
mod totals;

use std::collections::BTreeMap;

use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Index, StoreError};

use crate::accounts::Observe;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::{LEDGER, account_stream, reads};

use compare::Workers;
use comparison::ReplayedJournal;
use differences::index_agrees;
use pipe::{JournalRange, ReadEntry};
use replay::JournalReplay;

/// The most differences that are named; further ones are only counted.
const NAMED_MAX: usize = 100;

/// The result of a verification.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The number of the last commit that was replayed.
    pub commit: u64,
    /// How many entries were replayed.
    pub entries: u64,
    /// Accounts whose history was replayed.
    pub accounts: u64,
    /// How many vouchers were checked.
    pub vouchers: u64,
    /// How many actors had their live balance compared.
    pub actors: u64,
    /// Entries of the audit log that were recounted.
    pub audit_entries: u64,
    /// What differs, in words; at most a hundred.
    pub differences: Vec<String>,
    /// How many differences there are in all.
    pub count: u64,
}

impl Report {
    /// Adds the findings of another piece of work about the same commits.
    fn adds(&mut self, other: Self) {
        self.entries += other.entries;
        self.accounts += other.accounts;
        self.vouchers += other.vouchers;
        self.actors += other.actors;
        self.audit_entries += other.audit_entries;
        self.count += other.count;
        self.differences.extend(other.differences);
        self.differences.truncate(NAMED_MAX);
    }

    /// Continues although wrong bytes keep something from being compared, if differences were found: the error alone
    /// would hide them.
    ///
    /// # Errors
    /// The given error, if nothing was found or the error is not about the bytes.
    fn cut_short(&mut self, why: StoreError) -> Result<(), StoreError> {
        match why {
            StoreError::Corrupt(_) | StoreError::Invalid(_) if self.count > 0 => {
                self.differs(format!("not all could be compared: {why}"));
                Ok(())
            }
            why => Err(why),
        }
    }

    fn differs(&mut self, what: String) {
        self.count += 1;
        if self.differences.len() < NAMED_MAX {
            self.differences.push(what);
        }
    }
}

/// An account of a realm and the number under which it is stored.
type At = (RealmId, AccountNo);
type Histories = BTreeMap<At, History>;

/// Replays the journal and compares it with the index, on two threads. `progress` gets the number of entries replayed so
/// far.
///
/// # Errors
/// When the store cannot be read. Differences are no error, but part of the report.
pub fn store(
    store: &dyn Index,
    progress: &mut dyn FnMut(u64),
) -> Result<(Report, Histories), StoreError> {
    let replay = JournalReplay::under(RuleSets::ALL);
    all(replay, Workers::Two, store, true, progress)
}

/// The same, with events counted under these event rule sets.
#[cfg(test)]
pub(crate) fn under(sets: RuleSets, store: &dyn Index) -> Result<(Report, Histories), StoreError> {
    let replay = JournalReplay::under(sets);
    all(replay, Workers::Two, store, true, &mut |_| {})
}

/// A whole store; `stands` tells that nobody writes to it meanwhile.
fn all(
    mut replay: JournalReplay,
    mut hands: Workers<'_>,
    store: &dyn Index,
    stands: bool,
    progress: &mut dyn FnMut(u64),
) -> Result<(Report, Histories), StoreError> {
    let reach = JournalRange::all(store, stands);
    let mut take = |commit, at, seen: ReadEntry<'_>| {
        replay.take(commit, at, seen);
        if replay.report.entries.is_multiple_of(10_000) {
            progress(replay.report.entries);
        }
    };
    let last = match &mut hands {
        Workers::One(step) => pipe::one(store, reach, &mut **step, &mut take)?,
        Workers::Two => pipe::two(store, reach, &mut take)?,
    };
    let mut replayed = ReplayedJournal::of(replay, reach, last);
    let (found, failed) = replayed.compare(store, &mut hands)?;
    let ReplayedJournal {
        replay, histories, ..
    } = replayed;
    let JournalReplay {
        mut report, people, ..
    } = replay;
    report.adds(found);
    if let Some(why) = failed {
        report.cut_short(why)?;
    }
    report.audit_entries = people.entries();
    match people.compare(store) {
        Ok(wrong) => wrong.into_iter().for_each(|it| report.differs(it)),
        Err(why) => report.cut_short(why)?,
    }
    progress(report.entries);
    Ok((report, histories))
}

/// The findings in a store to which somebody may write meanwhile, as in a running service.
#[cfg(test)]
pub(crate) fn while_written(store: &dyn Index) -> Result<Report, StoreError> {
    let replay = JournalReplay::under(RuleSets::ALL);
    Ok(all(
        replay,
        Workers::One(&mut || true),
        store,
        false,
        &mut |_| {},
    )?
    .0)
}

/// As [`store`], on this thread alone.
#[cfg(test)]
pub(crate) fn on_one_thread(store: &dyn Index) -> Result<(Report, Histories), StoreError> {
    let replay = JournalReplay::under(RuleSets::ALL);
    all(replay, Workers::One(&mut || true), store, true, &mut |_| {})
}

/// The differences, found by looking up each row by its key and loading each account.
#[cfg(test)]
pub(crate) fn slowly(store: &dyn Index) -> Result<Vec<String>, StoreError> {
    let reach = JournalRange::all(store, true);
    let mut walk = JournalReplay::under(RuleSets::ALL);
    let mut take = |commit, at, seen: ReadEntry<'_>| walk.take(commit, at, seen);
    let last = pipe::one(store, reach, &mut || true, &mut take)?;
    let replayed = ReplayedJournal::of(walk, reach, last);
    let mut found = replayed.replay.report.differences.clone();
    found.extend(replayed.slowly(store)?.differences);
    found.extend(replayed.replay.people.compare(store)?);
    Ok(found)
}

fn name((realm, account): At) -> String {
    format!("realm {} account {}", realm.0, account.0)
}

/// Verifies a running service: the store, then the actors that are resident.
pub async fn engine(engine: &Engine) -> Result<Report, Failure> {
    let held = std::sync::Arc::clone(engine.store());
    // One thread, so that the others are left to clients.
    let work = tokio::task::spawn_blocking(move || {
        let replay = JournalReplay::under(RuleSets::ALL);
        let one = Workers::One(&mut || true);
        all(replay, one, held.as_ref(), false, &mut |_| {})
    });
    let (mut report, histories) = work.await.map_err(|_| Failure::Bug)??;
    // Where another node owns the log, there are no actors here.
    if !engine.is_at_rest() {
        for (at, history) in histories {
            live(engine, at, &history, &mut report).await?;
        }
    }
    Ok(report)
}

/// Verifies one account of a running service: its history from its first movement, its rows in the index, and its actor
/// if it is resident.
///
/// # Errors
/// When the store cannot be read, or there is no such account.
pub async fn one(engine: &Engine, realm: RealmId, number: AccountNo) -> Result<Report, Failure> {
    let held = std::sync::Arc::clone(engine.store());
    let work = tokio::task::spawn_blocking(move || alone(held.as_ref(), (realm, number)));
    let (mut report, history) = work.await.map_err(|_| Failure::Bug)??;
    // Where another node owns the log, there is no actor here.
    if !engine.is_at_rest() {
        live(engine, (realm, number), &history, &mut report).await?;
    }
    Ok(report)
}

fn alone(store: &dyn Index, at: (RealmId, AccountNo)) -> Result<(Report, History), StoreError> {
    let (mut report, mut history) = (Report::default(), History::default());
    let mut found = Vec::new();
    let mut failed = None;
    let stream = account_stream(at.0, at.1, LEDGER);
    reads::fold(store, stream, 0, |fact: LedgerFact, _, _| {
        let LedgerFact::Posted(voucher) = fact;
        report.entries += 1;
        report.vouchers += 1;
        if let Err(flaw) = history.next(&voucher) {
            found.push(flaw.to_string());
        }
        match index_agrees(store, at, &voucher) {
            Ok(true) => {}
            Ok(false) => found.push(format!(
                "movement {} is not found by its external id",
                voucher.sequence
            )),
            Err(why) => failed = Some(why),
        }
    })?;
    if let Some(why) = failed {
        return Err(why);
    }
    for wrong in found {
        report.differs(format!("{}: {wrong}", name(at)));
    }
    report.commit = store.applied().0;
    report.accounts = 1;
    differences::account(store, at, &history, &mut report)?;
    Ok((report, history))
}

/// Compares an actor, if there is one, with the history of its account.
async fn live(
    engine: &Engine,
    at: (RealmId, AccountNo),
    history: &History,
    report: &mut Report,
) -> Result<(), Failure> {
    let Some(live) = engine
        .queries()
        .ask(at.0, Observe(Target::Account(at.1)))
        .await?
    else {
        return Ok(());
    };
    report.actors += 1;
    let account = live.account;
    let same = (account.balance, account.hash) == (history.balance, history.hash);
    // An account that has moved on since the replay is compared by the next verification.
    if account.sequence == history.sequence && !same {
        report.differs(format!(
            "{}: the actor disagrees with the journal",
            name(at)
        ));
    } else if account.sequence < history.sequence {
        report.differs(format!("{}: the actor is behind the journal", name(at)));
    }
    Ok(())
}
