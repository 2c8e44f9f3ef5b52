//! Holds a store against its journal once that went by: what clears most of it, then what names the rest.

use std::collections::{BTreeMap, BTreeSet};

use caudal_ledger::accounts::Account;
use caudal_ledger::facts::LedgerFact;
use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{CommitNo, Index, Scale, StoreError};
use foldhash::HashMap;

use super::compare::{self, Hands, IN_FULL, Known, Part, Step, Work};
use super::lists::Lines;
use super::pipe::Reach;
use super::totals::Sums;
use super::walk::{Rows, Walk};
use super::{At, Histories, Report, named, staff};
use crate::records::{LEDGER, decode};

/// How many accounts are one piece of work.
const ACCOUNTS: usize = 1000;

/// What the journal says, up to a commit.
pub(super) struct Walked {
    /// What is wrong in the journal itself.
    pub report: Report,
    pub histories: Histories,
    pub people: staff::Recount,
    profiles: HashMap<At, Box<Account>>,
    rows: BTreeMap<RealmId, Rows>,
    sums: Sums,
    scale: Scale,
    flawed: BTreeSet<At>,
    reach: Reach,
    last: CommitNo,
}

impl Walked {
    /// What went by up to the `last` commit.
    pub fn of(walk: Walk, reach: Reach, last: CommitNo) -> Self {
        let Walk {
            mut report,
            histories,
            profiles,
            sums,
            people,
            rows,
            scale,
            flawed,
        } = walk;
        report.commit = last.0;
        Self {
            report,
            histories: histories.into_iter().collect(),
            people,
            profiles,
            rows,
            sums,
            scale,
            flawed,
            reach,
            last,
        }
    }

    /// What of a store differs, and what else keeps it from being compared whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn compare(
        &mut self,
        store: &dyn Index,
        hands: &mut Hands<'_>,
    ) -> Result<(Report, Option<StoreError>), StoreError> {
        let profiles = std::mem::take(&mut self.profiles);
        let this: &Self = self;
        let found = hands.all(this.work(store, profiles))?;
        let Part {
            mut report,
            mut accounts,
            rests,
            movements,
            places,
            streams,
            failed,
        } = found;
        if streams {
            // Nothing that is read by them is what the journal says.
            accounts.extend(this.histories.keys());
        }
        let mut work: Vec<Work<'_>> = Vec::new();
        for (realm, places) in &places {
            work.push(Box::new(move |step| {
                let mut part = Part::default();
                if let Some(last) = this.last_of(*realm)
                    && !places.agree(store, (*realm, last), &this.scale, step)?
                {
                    let all = this.histories.range(all_of(*realm));
                    part.accounts.extend(all.map(|(at, _)| *at));
                }
                Ok(part)
            }));
        }
        let crowded = hands.all(work)?;
        let mut realms = movements.clone();
        // those alone whose places nothing else puts in doubt
        let others = crowded.accounts.iter().filter(|at| !accounts.contains(at));
        realms.extend(others.map(|at| at.0));
        accounts.extend(crowded.accounts);
        let failed = failed.or(crowded.failed);
        let doubts = Doubts {
            accounts,
            rests,
            movements,
            streams,
        };
        let unnamed = match hands {
            Hands::One(step) => this.name(store, &doubts, &mut **step, &mut report)?,
            Hands::Two => this.name(store, &doubts, &mut || true, &mut report)?,
        };
        // what else was found may be why they cannot be compared
        let clean = report.count == 0 && this.report.count == 0;
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

    /// What differs where nothing is taken for right that was not looked for by its key.
    ///
    /// # Errors
    /// As [`Self::compare`].
    #[cfg(test)]
    pub fn slowly(&self, store: &dyn Index) -> Result<Report, StoreError> {
        let mut report = Report {
            commit: self.last.0,
            ..Report::default()
        };
        let realms = self.histories.keys().map(|at| at.0);
        self.sums.compare(store, realms, false, &mut report)?;
        let doubts = Doubts {
            accounts: self.histories.keys().copied().collect(),
            rests: BTreeSet::new(),
            movements: self.histories.keys().map(|at| at.0).collect(),
            streams: false,
        };
        let unnamed = self.name(store, &doubts, &mut || true, &mut report)?;
        unnamed.map_or(Ok(report), Err)
    }

    fn last_of(&self, realm: RealmId) -> Option<AccountNo> {
        let last = self.histories.range(all_of(realm)).next_back();
        last.map(|((_, number), _)| *number)
    }

    /// What can be done side by side.
    fn work<'w>(
        &'w self,
        store: &'w dyn Index,
        mut profiles: HashMap<At, Box<Account>>,
    ) -> Vec<Work<'w>> {
        let Reach { from, only, .. } = self.reach;
        let mut work: Vec<Work<'w>> = Vec::new();
        work.push(Box::new(move |step| {
            let commits = (from, self.last);
            let found = store.streams_differ(commits, only.map(|realm| realm.0), step)?;
            Ok(Part {
                streams: found.count > 0,
                report: Report {
                    count: found.count,
                    differences: found.named,
                    ..Report::default()
                },
                ..Part::default()
            })
        }));
        for (realm, rows) in &self.rows {
            work.push(Box::new(move |step| {
                let right = (*realm, rows, &self.scale);
                let known = |at: At| self.histories.get(&at).map(|history| history.sequence);
                let still = store.applied() <= self.last;
                let known: Option<&(dyn Fn(At) -> Option<u64> + Sync)> = match still {
                    true => None,
                    false => Some(&known),
                };
                compare::movements(store, right, known, step)
            }));
        }
        work.push(Box::new(move |_| {
            let mut report = Report {
                commit: self.last.0,
                ..Report::default()
            };
            let realms = self.histories.keys().map(|at| at.0);
            self.sums
                .compare(store, realms, only.is_some(), &mut report)?;
            Ok(Part {
                report,
                ..Part::default()
            })
        }));
        let all: Vec<(&At, &History)> = self.histories.iter().collect();
        for some in all.chunks(ACCOUNTS) {
            let known = some.iter().map(|(at, history)| Known {
                at: **at,
                history,
                profile: profiles.remove(at),
            });
            let known: Vec<Known<'_>> = known.collect();
            work.push(Box::new(move |step| {
                compare::accounts(store, known, &self.scale, step)
            }));
        }
        work
    }

    /// Names what differs of what is in doubt; gives the first error of bytes that are wrong, which keeps nothing else from being
    /// looked at.
    fn name(
        &self,
        store: &dyn Index,
        doubts: &Doubts,
        step: Step<'_>,
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
            let said = doubts.streams || self.flawed.contains(at);
            match named::account_and_streams(store, *at, history, report) {
                // That it cannot be loaded follows from what the report says.
                Err(StoreError::Corrupt(_) | StoreError::Invalid(_)) if said => {}
                looked => failed = failed.or(kept(looked)?),
            }
        }
        for at in &doubts.rests {
            // one of those that were compared with their streams above
            let done = doubts.accounts.contains(at) && at.1.0 % IN_FULL == 1;
            if !step() {
                return Ok(None);
            }
            if !done {
                let looked = named::in_full(store, *at, report);
                failed = failed.or(kept(looked)?);
            }
        }
        Ok(failed)
    }

    fn name_movements(
        &self,
        store: &dyn Index,
        realms: &BTreeSet<RealmId>,
        step: Step<'_>,
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
            // One that cannot be read was named before.
            if let Ok(LedgerFact::Posted(voucher)) = decode(&entry.body) {
                match named::rows(store, at, &voucher, &mut lines) {
                    Ok(wrong) => wrong.into_iter().for_each(|it| report.differs(it)),
                    Err(why) => failed = Some(why),
                }
            }
            failed.is_none()
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// What is to be looked at one by one.
struct Doubts {
    accounts: BTreeSet<At>,
    /// What these have left at rest.
    rests: BTreeSet<At>,
    /// All movements of these realms.
    movements: BTreeSet<RealmId>,
    /// Whether rows of streams differ.
    streams: bool,
}

fn all_of(realm: RealmId) -> std::ops::RangeInclusive<At> {
    (realm, AccountNo(0))..=(realm, AccountNo(u64::MAX))
}

/// An error of bytes that are wrong, which is told behind what was found; any other one ends the work.
fn kept(looked: Result<(), StoreError>) -> Result<Option<StoreError>, StoreError> {
    match looked {
        Ok(()) => Ok(None),
        Err(why @ (StoreError::Corrupt(_) | StoreError::Invalid(_))) => Ok(Some(why)),
        Err(why) => Err(why),
    }
}
