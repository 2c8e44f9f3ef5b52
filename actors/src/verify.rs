//! Verification: replays every account's history from the journal and compares it with the index,
//! the loaded accounts and, in a running service, the actors' balances.
//!
//! **Bounds.** One account of [`IN_FULL`] is also loaded from its streams alone, and compared with what its rows at rest
//! give: that reads all of its movements one more time, so all of them would take several times as long.

mod lists;
mod staff;
mod totals;

use std::collections::BTreeMap;

use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{CommitNo, Index, StoreError};

use crate::engine::Engine;
use crate::failure::Failure;
use crate::realms::Target;
use crate::records::projection::Place;
use crate::records::reads::Loaded;
use crate::records::{LEDGER, PROFILE, account_stream, decode, keys, reads};

use lists::Lines;
use totals::Sums;

/// At most so many differences are named; more are counted.
const NAMED_MAX: usize = 100;

/// One account of so many, the first of them among these, is compared in full with its streams.
const IN_FULL: u64 = 64;

/// What a verification found.
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
    /// Takes in what was found in a cell. The commit is that of the first one.
    pub fn takes(&mut self, cell: u32, other: Self) {
        if cell == 0 {
            self.commit = other.commit;
        }
        self.entries += other.entries;
        self.accounts += other.accounts;
        self.vouchers += other.vouchers;
        self.actors += other.actors;
        self.audit_entries += other.audit_entries;
        self.count += other.count;
        let named = other.differences.into_iter().map(|what| match cell {
            0 => what,
            cell => format!("cell {cell}: {what}"),
        });
        self.differences.extend(named);
        self.differences.truncate(NAMED_MAX);
    }

    fn differs(&mut self, what: String) {
        self.count += 1;
        if self.differences.len() < NAMED_MAX {
            self.differences.push(what);
        }
    }
}

type Histories = BTreeMap<(RealmId, AccountNo), History>;

/// Replays the journal and compares it with the index. `progress` gets how many entries were
/// replayed so far.
///
/// # Errors
/// When the store cannot be read; what does not agree is no error but in the report.
pub fn store(
    store: &dyn Index,
    progress: &mut dyn FnMut(u64),
) -> Result<(Report, Histories), StoreError> {
    under(RuleSets::ALL, store, progress)
}

/// The same, with events counted under these sets of rules.
///
/// # Errors
/// As [`store`].
pub(crate) fn under(
    sets: RuleSets,
    store: &dyn Index,
    progress: &mut dyn FnMut(u64),
) -> Result<(Report, Histories), StoreError> {
    let mut recount = staff::Recount::default();
    let everything = Part {
        from: CommitNo(1),
        only: None,
        step: &mut || true,
    };
    let (mut report, histories) = part((sets, everything), store, &mut recount, progress)?;
    report.audit_entries = recount.entries();
    for wrong in recount.compare(store)? {
        report.differs(wrong);
    }
    progress(report.entries);
    Ok((report, histories))
}

/// What of a store is verified.
struct Part<'a> {
    /// From this commit on.
    from: CommitNo,
    /// This realm, under the number under which it lies; `None` for all.
    only: Option<RealmId>,
    /// Called before each entry and each account; false ends it, and nothing of it counts.
    step: &'a mut dyn FnMut() -> bool,
}

/// The same of one realm alone, of which nothing lies before commit `from`, as it lies. `step` is called before each
/// entry and each account; what it says ends the work where it is false. `None` when it was.
///
/// # Errors
/// As [`store`].
pub(crate) fn realm(
    store: &dyn Index,
    (lies, from): (RealmId, CommitNo),
    step: &mut dyn FnMut() -> bool,
) -> Result<Option<Report>, StoreError> {
    let mut goes_on = true;
    let mut noted = || {
        // Whoever has ended it once is not asked again.
        goes_on = goes_on && step();
        goes_on
    };
    let one = Part {
        from,
        only: Some(lies),
        step: &mut noted,
    };
    let mut nobody = staff::Recount::default();
    let (report, _) = part((RuleSets::ALL, one), store, &mut nobody, &mut |_| {})?;
    Ok(goes_on.then_some(report))
}

fn part(
    (sets, part): (RuleSets, Part<'_>),
    store: &dyn Index,
    recount: &mut staff::Recount,
    progress: &mut dyn FnMut(u64),
) -> Result<(Report, Histories), StoreError> {
    let mut report = Report::default();
    let mut histories = Histories::new();
    let mut sums = Sums::under(sets);
    let mut lines = Lines::default();
    let mut failed = None;
    let Part { from, only, step } = part;
    let last = store.replay(from, &mut |commit, entry| {
        if !step() {
            return false;
        }
        if only.is_some_and(|only| only.0 != entry.stream.realm) {
            return true;
        }
        report.entries += 1;
        if report.entries.is_multiple_of(10_000) {
            progress(report.entries);
        }
        let at = (RealmId(entry.stream.realm), AccountNo(entry.stream.number));
        if entry.stream.kind == PROFILE {
            histories.entry(at).or_default();
        }
        match entry.stream.kind {
            LEDGER => match decode(&entry.body) {
                Ok(LedgerFact::Posted(voucher)) => {
                    report.vouchers += 1;
                    if let Err(why) = sums.voucher(at.0, &voucher) {
                        report.differs(format!("commit {}: {why}", commit.0));
                    }
                    let history = histories.entry(at).or_default();
                    if let Err(flaw) = history.next(&voucher) {
                        report.differs(format!("commit {}: {}: {flaw}", commit.0, name(at)));
                    }
                    match rows(store, at, &voucher, &mut lines) {
                        Ok(wrong) => wrong.into_iter().for_each(|it| report.differs(it)),
                        Err(why) => {
                            failed = Some(why);
                            return false;
                        }
                    }
                }
                Err(why) => report.differs(format!("commit {}: {why}", commit.0)),
            },
            _ => {
                if let Some(wrong) = recount.entry(entry) {
                    report.differs(format!("commit {}: {wrong}", commit.0));
                }
                if let Err(why) = sums.entry(entry) {
                    report.differs(format!("commit {}: {why}", commit.0));
                }
            }
        }
        true
    })?;
    if let Some(why) = failed {
        return Err(why);
    }
    report.commit = last.0;
    for (at, history) in &histories {
        if !step() {
            return Ok((report, histories));
        }
        account(store, *at, history, &mut report)?;
        if at.1.0 % IN_FULL == 1 {
            in_full(store, *at, &mut report)?;
        }
    }
    let realms = histories.keys().map(|at| at.0);
    sums.compare(store, realms, only.is_some(), &mut report)?;
    Ok((report, histories))
}

/// What the rows of a movement say otherwise, in words.
fn rows(
    store: &dyn Index,
    at: (RealmId, AccountNo),
    voucher: &Voucher,
    lines: &mut Lines,
) -> Result<Vec<String>, StoreError> {
    let (found, listed) = (
        index_agrees(store, at, voucher)?,
        lines.agree(store, at, voucher)?,
    );
    let about = |what| format!("{}: movement {} is not {what}", name(at), voucher.sequence);
    let wrong = [
        (!found).then(|| about("found by its external id")),
        (!listed).then(|| about("in the list of its realm")),
    ];
    Ok(wrong.into_iter().flatten().collect())
}

/// Compares an account as it is loaded with its history. A running service moves on meanwhile: only
/// what stands still can be compared.
fn account(
    store: &dyn Index,
    at: (RealmId, AccountNo),
    history: &History,
    report: &mut Report,
) -> Result<(), StoreError> {
    report.accounts += 1;
    let Some((account, _)) = reads::account(store, at.0, at.1)? else {
        report.differs(format!(
            "{}: is in the journal and not in the index",
            name(at)
        ));
        return Ok(());
    };
    let known = (account.sequence, account.balance, account.hash);
    let right = (history.sequence, history.balance, history.hash);
    if known.0 < right.0 || (known.0 == right.0 && known != right) {
        report.differs(format!(
            "{}: the index disagrees with the journal",
            name(at)
        ));
    }
    let lists = lists::differences(store, at, &account)?;
    let apart = account.holds_what_is_set_apart();
    let again = reads::account(store, at.0, at.1)?;
    if again.as_ref().is_some_and(|(again, _)| *again == account) {
        for wrong in lists {
            report.differs(format!("{}: {wrong}", name(at)));
        }
    }
    if !apart && again.is_some_and(|(again, _)| again.sequence == account.sequence) {
        report.differs(format!(
            "{}: what is held is not what its holds and transfers keep apart",
            name(at)
        ));
    }
    Ok(())
}

/// Compares an account as its rows at rest give it with what its streams alone say of it, where it stands still.
fn in_full(
    store: &dyn Index,
    at: (RealmId, AccountNo),
    report: &mut Report,
) -> Result<(), StoreError> {
    let load = || reads::load(store, at.0, at.1);
    let all = |found: Option<Loaded>| found.map(|it| it.account);
    let before = load().map(all);
    let full = reads::load_in_full(store, at.0, at.1).map(all);
    let (before, full, after) = match (before, full, load().map(all)) {
        // Movements that do not follow each other were found before.
        (Err(StoreError::Corrupt(_)), _, _) | (_, Err(StoreError::Corrupt(_)), _) => return Ok(()),
        (before, full, after) => (before?, full?, after?),
    };
    if before == after && full != before {
        report.differs(format!(
            "{}: what it left at rest is not what its profile and movements say",
            name(at)
        ));
    }
    Ok(())
}

fn name((realm, account): (RealmId, AccountNo)) -> String {
    format!("realm {} account {}", realm.0, account.0)
}

fn index_agrees(
    store: &dyn Index,
    (realm, account): (RealmId, AccountNo),
    voucher: &Voucher,
) -> Result<bool, StoreError> {
    let id = voucher.external_id.as_ref();
    let Some(id) = id.filter(|_| voucher.claims_external_id()) else {
        return Ok(true);
    };
    let row = store.get(&keys::external(realm, voucher.direction, id))?;
    let right = Place {
        account,
        sequence: voucher.sequence,
    };
    Ok(row.map(|row| Place::from_bytes(&row)).transpose()? == Some(right))
}

/// Verifies a running service: the store, then the actors that are resident.
///
/// # Errors
/// When the store cannot be read.
pub async fn engine(engine: &Engine) -> Result<Report, Failure> {
    let mut report = Report::default();
    for (cell, held) in engine.cells().clone().numbered() {
        let held = std::sync::Arc::clone(held);
        let work = tokio::task::spawn_blocking(move || store(held.as_ref(), &mut |_| {}));
        let (found, histories) = work.await.map_err(|_| Failure::Bug)??;
        report.takes(cell, found);
        if engine.rests(cell) {
            continue;
        }
        for (at, history) in histories {
            live(engine, at, &history, &mut report).await?;
        }
    }
    Ok(report)
}

/// Verifies one account of a running service: its history from its first movement, what the index says of it, and its
/// actor if it is resident.
///
/// # Errors
/// When the store cannot be read, or there is no such account.
pub async fn one(engine: &Engine, realm: RealmId, number: AccountNo) -> Result<Report, Failure> {
    let held = engine.cells().of(realm);
    let work = tokio::task::spawn_blocking(move || alone(held.as_ref(), (realm, number)));
    let (mut report, history) = work.await.map_err(|_| Failure::Bug)??;
    let at = (engine.cells().lies(realm), number);
    // Where another node serves it there is no actor here.
    if !engine.rests_for(realm) {
        live(engine, at, &history, &mut report).await?;
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
    account(store, at, &history, &mut report)?;
    Ok((report, history))
}

/// Compares an actor, if there is one, with the history of its account.
async fn live(
    engine: &Engine,
    at: (RealmId, AccountNo),
    history: &History,
    report: &mut Report,
) -> Result<(), Failure> {
    let realm = at.0.home();
    // No actor has an account of a generation that is not in force.
    if engine.cells().lies(realm) != at.0 {
        return Ok(());
    }
    let Some(live) = engine.observe(realm, Target::Account(at.1)).await? else {
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
