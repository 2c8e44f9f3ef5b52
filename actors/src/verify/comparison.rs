//! Compares a store with its journal after the walk: first clears most of it, then names the rest.

use std::collections::BTreeSet;

use caudal_ledger::accounts::Account;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{CommitNo, Index, StoreError};
use foldhash::HashMap;

use super::compare::{
    self, Places, ReplayedAccount, Work, WorkResult, WorkStep, Workers, is_in_full,
};
use super::lists::Lines;
use super::pipe::JournalRange;
use super::replay::JournalReplay;
use super::{At, Histories, Report, differences};
use crate::records::{LEDGER, decode};

/// How many accounts make one piece of work.
const ACCOUNTS: usize = 1000;

/// The state of the journal, up to a commit.
pub(super) struct ReplayedJournal {
    /// What was taken in, without the histories.
    pub replay: JournalReplay,
    /// The histories of the accounts in their order.
    pub histories: Histories,
    reach: JournalRange,
    last: CommitNo,
}

impl ReplayedJournal {
    /// The walk up to the `last` commit.
    pub(super) fn of(mut replay: JournalReplay, reach: JournalRange, last: CommitNo) -> Self {
        replay.report.commit = last.0;
        let histories = std::mem::take(&mut replay.histories);
        Self {
            replay,
            histories: histories.into_iter().collect(),
            reach,
            last,
        }
    }

    /// The differences of a store, and the first error that kept it from being compared whole.
    pub(super) fn compare(
        &mut self,
        store: &dyn Index,
        hands: &mut Workers<'_>,
    ) -> Result<(Report, Option<StoreError>), StoreError> {
        let profiles = std::mem::take(&mut self.replay.profiles);
        let this: &Self = self;
        let found = hands.all(this.work(store, profiles))?;
        let WorkResult {
            mut report,
            mut accounts,
            rests,
            movements,
            places,
            there,
            streams,
            failed,
        } = found;
        if streams {
            // No read by the streams' rows can be trusted to match the journal.
            accounts.extend(this.histories.keys());
        }
        let mut crowded = BTreeSet::new();
        for (realm, places) in &places {
            // without a sum there was an error
            if there.get(realm).is_some_and(|there| there != places) {
                let all = this.histories.range(all_of(*realm));
                crowded.extend(all.map(|(at, _)| *at));
            }
        }
        let mut realms = movements.clone();
        // only realms whose places are not already in doubt for another reason
        let others = crowded.iter().filter(|at| !accounts.contains(at));
        realms.extend(others.map(|at| at.0));
        accounts.extend(crowded);
        let doubts = Doubts {
            accounts,
            rests,
            movements,
            streams,
        };
        let unnamed = match hands {
            Workers::One(step) => this.name(store, &doubts, &mut **step, &mut report)?,
            Workers::Two => this.name(store, &doubts, &mut || true, &mut report)?,
        };
        // other differences may be the reason why they cannot be compared
        let clean = report.count == 0 && this.replay.report.count == 0;
        if clean && unnamed.is_none() && this.still(store) {
            for realm in realms {
                let realm = realm.0;
                report.differs(format!(
                    "realm {realm}: the index has rows that no entry made"
                ));
            }
        }
        Ok((report, failed.or(unnamed)))
    }

    /// Whether nobody has written to the store since the journal was read.
    fn still(&self, store: &dyn Index) -> bool {
        self.reach.stands && store.applied() <= self.last
    }

    /// The differences, found by looking up every row by its key.
    #[cfg(test)]
    pub(super) fn slowly(&self, store: &dyn Index) -> Result<Report, StoreError> {
        let mut report = Report {
            commit: self.last.0,
            ..Report::default()
        };
        let realms = self.histories.keys().map(|at| at.0);
        self.replay.sums.compare(store, realms, &mut report)?;
        let doubts = Doubts {
            accounts: self.histories.keys().copied().collect(),
            rests: BTreeSet::new(),
            movements: self.histories.keys().map(|at| at.0).collect(),
            streams: false,
        };
        let unnamed = self.name(store, &doubts, &mut || true, &mut report)?;
        unnamed.map_or(Ok(report), Err)
    }

    fn last_of(&self, realm: RealmId) -> Option<At> {
        let last = self.histories.range(all_of(realm)).next_back();
        last.map(|(at, _)| *at)
    }

    /// The pieces of work that can be done side by side.
    fn work<'w>(
        &'w self,
        store: &'w dyn Index,
        mut profiles: HashMap<At, Box<Account>>,
    ) -> Vec<Work<'w>> {
        let JournalRange { from, .. } = self.reach;
        let mut work: Vec<Work<'w>> = Vec::new();
        work.push(Work::of(self.replay.report.entries, move |step| {
            let commits = (from, self.last);
            let found = store.streams_differ(commits, None, step)?;
            Ok(WorkResult {
                streams: found.count > 0,
                report: Report {
                    count: found.count,
                    differences: found.named,
                    ..Report::default()
                },
                ..WorkResult::default()
            })
        }));
        for (realm, rows) in &self.replay.rows {
            let reads = rows.external.rows + rows.lines.rows;
            work.push(Work::of(reads, move |step| {
                let right = (*realm, rows, &self.replay.scale);
                let known = |at: At| self.histories.get(&at).map(|history| history.sequence);
                let still = store.applied() <= self.last;
                let known: Option<&(dyn Fn(At) -> Option<u64> + Sync)> =
                    if still { None } else { Some(&known) };
                compare::movements(store, right, known, step)
            }));
        }
        work.push(Work::of(self.replay.report.entries, move |_| {
            let mut report = Report {
                commit: self.last.0,
                ..Report::default()
            };
            let realms = self.histories.keys().map(|at| at.0);
            self.replay.sums.compare(store, realms, &mut report)?;
            Ok(WorkResult {
                report,
                ..WorkResult::default()
            })
        }));
        let realms: BTreeSet<RealmId> = self.histories.keys().map(|at| at.0).collect();
        for last in realms.into_iter().filter_map(|realm| self.last_of(realm)) {
            let reads = self.histories.range(all_of(last.0)).map(|_| 1).sum();
            work.push(Work::of(reads, move |step| {
                Places::there(store, last, &self.replay.scale, step)
            }));
        }
        let all: Vec<(&At, &History)> = self.histories.iter().collect();
        for some in all.chunks(ACCOUNTS) {
            let known = some.iter().map(|(at, history)| ReplayedAccount {
                at: **at,
                history,
                profile: profiles.remove(at),
            });
            let known: Vec<ReplayedAccount<'_>> = known.collect();
            // an account with a long history takes longer than a thousand others
            let whole = known.iter().filter(|it| is_in_full(it.at));
            let reads = whole.map(|it| it.history.sequence).fold(0, u64::max);
            work.push(Work::of(reads, move |step| {
                compare::accounts(store, known, &self.replay.scale, step)
            }));
        }
        work
    }

    /// Names the differences of everything in doubt. Returns the first error about wrong bytes, which does not stop the
    /// other checks.
    fn name(
        &self,
        store: &dyn Index,
        doubts: &Doubts,
        step: WorkStep<'_>,
        report: &mut Report,
    ) -> Result<Option<StoreError>, StoreError> {
        let mut failed = None;
        if !doubts.movements.is_empty() {
            failed = kept(self.name_movements(store, &doubts.movements, step, report))?;
        }
        for at in &doubts.accounts {
            if !step() {
                return Ok(None);
            }
            let Some(history) = self.histories.get(at) else {
                continue;
            };
            let said = doubts.streams || self.replay.flawed.contains(at);
            match differences::account_and_streams(store, *at, history, report) {
                // The failure to load it follows from differences in the report.
                Err(StoreError::Corrupt(_) | StoreError::Invalid(_)) if said => {}
                looked => failed = failed.or(kept(looked)?),
            }
        }
        for at in &doubts.rests {
            // already compared with its streams above
            let done = doubts.accounts.contains(at) && is_in_full(*at);
            if !step() {
                return Ok(None);
            }
            if !done {
                let looked = differences::in_full(store, *at, report);
                failed = failed.or(kept(looked)?);
            }
        }
        Ok(failed)
    }

    fn name_movements(
        &self,
        store: &dyn Index,
        realms: &BTreeSet<RealmId>,
        step: WorkStep<'_>,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        let mut lines = Lines::default();
        let mut failed = None;
        store.replay(self.reach.from, &mut |commit, entry| {
            let at = (RealmId(entry.stream.realm), AccountNo(entry.stream.number));
            if commit > self.last || !step() {
                return false;
            }
            if entry.stream.kind != LEDGER || !realms.contains(&at.0) {
                return true;
            }
            // A movement that cannot be read was reported before.
            if let Ok(LedgerFact::Posted(voucher)) = decode(&entry.body) {
                match differences::rows(store, at, &voucher, &mut lines) {
                    Ok(wrong) => wrong.into_iter().for_each(|it| report.differs(it)),
                    Err(why) => failed = Some(why),
                }
            }
            failed.is_none()
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// The movements and accounts to check one by one.
struct Doubts {
    accounts: BTreeSet<At>,
    /// Accounts whose rows at rest are in doubt.
    rests: BTreeSet<At>,
    /// Realms of which all movements are in doubt.
    movements: BTreeSet<RealmId>,
    /// Whether rows of streams differ.
    streams: bool,
}

fn all_of(realm: RealmId) -> std::ops::RangeInclusive<At> {
    (realm, AccountNo(0))..=(realm, AccountNo(u64::MAX))
}

/// An error about wrong bytes is reported after the differences; any other error ends the work.
fn kept(looked: Result<(), StoreError>) -> Result<Option<StoreError>, StoreError> {
    match looked {
        Ok(()) => Ok(None),
        Err(why @ (StoreError::Corrupt(_) | StoreError::Invalid(_))) => Ok(Some(why)),
        Err(why) => Err(why),
    }
}
