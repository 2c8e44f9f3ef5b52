//! The journal, taken in entry by entry: histories, profiles, sums, and the sums over the rows of movements.
//!
//! **Shape.** It reads nothing from a store, so it can keep up with another thread that reads and decodes ([`pipe`]
//! does), and does not depend on how the rows lie.
//!
//! **Bounds.** For an account a history (about 100 bytes), for a realm some sums. For the first [`PROFILES_MAX`] accounts
//! also the profile, about a kilobyte each; other profiles are read from their streams, which takes
//! longer.
//!
//! [`pipe`]: super::pipe

use std::collections::{BTreeMap, BTreeSet};

use caudal_ledger::accounts::Account;
use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::facts::AccountFact;
use caudal_ledger::history::History;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{CommitNo, Entry, Scale, StoreError, Tally};
use foldhash::HashMap;

use super::pipe::ReadEntry;
use super::totals::Sums;
use super::{At, Report, name, staff};
use crate::records::keys::{self, Marked};
use crate::records::marks::{self, BLOCK, Marks};
use crate::records::projection::{InternalLine, VoucherPlace};
use crate::records::{PROFILE, decode};

/// How many profiles are kept while the journal is read (about 128 MiB).
const PROFILES_MAX: usize = 131_072;

/// The state of the journal so far.
pub(super) struct JournalReplay {
    /// The counts, and the differences within the journal itself.
    pub report: Report,
    /// The state of each account's movements.
    pub histories: HashMap<At, History>,
    /// Accounts folded only from their profiles, at most [`PROFILES_MAX`].
    pub profiles: HashMap<At, Box<Account>>,
    pub sums: Sums,
    pub people: staff::Recount,
    /// The sums over the rows of each realm's movements.
    pub rows: BTreeMap<RealmId, RowSums>,
    /// The scale of these sums.
    pub scale: Scale,
    /// Accounts whose movements do not follow each other, or that have an unreadable entry; the report names them.
    pub flawed: BTreeSet<At>,
}

/// The sums over the rows of a realm's movements.
#[derive(Debug, Default)]
pub(super) struct RowSums {
    /// The rows by external ids.
    pub external: Tally,
    /// The lines of its internal vouchers.
    pub lines: Tally,
    /// The marks of full blocks of these lines.
    pub marks: Tally,
    open: Marks,
}

impl RowSums {
    /// Whether a block of lines is full.
    pub(super) const fn is_full(&self, block: u64) -> bool {
        // the last line of a block precedes the first of the next block, whose number a damaged key may put out of
        // range
        block < (self.lines.rows + 1).div_euclid(BLOCK)
    }
}

impl JournalReplay {
    /// An empty walk; events are counted under these event rule sets.
    pub(super) fn under(sets: RuleSets) -> Self {
        Self {
            report: Report::default(),
            histories: HashMap::default(),
            profiles: HashMap::default(),
            sums: Sums::under(sets),
            people: staff::Recount::default(),
            rows: BTreeMap::new(),
            scale: Scale::new(),
            flawed: BTreeSet::new(),
        }
    }

    /// Takes in the next entry.
    pub(super) fn take(&mut self, commit: CommitNo, at: At, seen: ReadEntry<'_>) {
        match seen {
            ReadEntry::Voucher(voucher) => self.voucher(commit, at, &voucher),
            ReadEntry::Broken(why) => {
                self.report.entries += 1;
                self.flawed.insert(at);
                self.wrong(commit, why);
            }
            ReadEntry::Entry(entry) => self.entry(commit, at, &entry),
        }
    }

    /// Takes in the next movement.
    fn voucher(&mut self, commit: CommitNo, at: At, voucher: &Voucher) {
        self.report.entries += 1;
        self.report.vouchers += 1;
        if let Err(why) = self.sums.voucher(at.0, voucher) {
            self.wrong(commit, why);
        }
        let history = self.histories.entry(at).or_default();
        if let Err(flaw) = history.next(voucher) {
            self.flawed.insert(at);
            self.wrong(commit, format_args!("{}: {flaw}", name(at)));
        }
        self.add(at, voucher);
    }

    /// Takes in an entry of any other stream.
    fn entry(&mut self, commit: CommitNo, at: At, entry: &Entry) {
        self.report.entries += 1;
        let counted = match entry.stream.kind {
            PROFILE => self.profile(at, entry),
            _ => {
                if let Some(wrong) = self.people.entry(entry) {
                    self.wrong(commit, wrong);
                }
                self.sums.entry(entry)
            }
        };
        if let Err(why) = counted {
            self.wrong(commit, why);
        }
    }

    /// Reports a difference in a commit.
    fn wrong(&mut self, commit: CommitNo, why: impl std::fmt::Display) {
        self.report.differs(format!("commit {}: {why}", commit.0));
    }

    fn profile(&mut self, at: At, entry: &Entry) -> Result<(), StoreError> {
        self.histories.entry(at).or_default();
        let fact: AccountFact = match decode(&entry.body) {
            Ok(fact) => fact,
            Err(why) => {
                self.profiles.remove(&at);
                self.flawed.insert(at);
                return Err(why);
            }
        };
        let time = Timestamp::from_millis(entry.at);
        let room = self.profiles.len() < PROFILES_MAX;
        match (self.profiles.get_mut(&at), &fact) {
            (None, AccountFact::Registered(registration)) if room => {
                let account = Account::registered(registration, time);
                self.profiles.insert(at, Box::new(account));
            }
            (Some(known), _) => known.apply(&fact, entry.seq, time),
            (None, _) => {}
        }
        self.sums.profile(at.0, &fact)
    }

    /// Adds the rows by which a movement is found.
    fn add(&mut self, (realm, account): At, voucher: &Voucher) {
        let (rows, scale) = (self.rows.entry(realm).or_default(), &self.scale);
        let id = voucher.external_id.as_ref();
        if let Some(id) = id.filter(|_| voucher.claims_external_id()) {
            let place = VoucherPlace::new(account, voucher.sequence);
            let key = keys::external(realm, voucher.direction, id);
            rows.external.add(scale, &key, &place.to_bytes());
        }
        if voucher.is_internal() {
            let number = rows.lines.rows + 1;
            let line = InternalLine::of(account, voucher).to_bytes();
            rows.lines.add(scale, &keys::internal(realm, number), &line);
            rows.open = rows.open.and(Marks::of(voucher));
            if marks::is_last(number) {
                let key = keys::marks(realm, Marked::Internal, number.div_euclid(BLOCK));
                let marks = std::mem::take(&mut rows.open).to_bytes();
                rows.marks.add(scale, &key, &marks);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_full_up_to_the_last_line_that_there_is_and_no_number_is_too_large() {
        let (mut rows, scale) = (RowSums::default(), Scale::new());
        for line in 0..3 * BLOCK {
            let full = (0..9).filter(|block| rows.is_full(*block));
            let ended = (1..=line).filter(|number| marks::is_last(*number));
            assert_eq!(full.count(), ended.count(), "{line} lines");
            for block in [u64::MAX / BLOCK, u64::MAX / BLOCK + 1, u64::MAX] {
                assert!(!rows.is_full(block));
            }
            rows.lines.add(&scale, &line.to_be_bytes(), &[]);
        }
    }
}
