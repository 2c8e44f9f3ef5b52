//! Recomputes the sums of each realm from the journal and compares them with the index's row.

use std::collections::{BTreeMap, BTreeSet};

use caudal_ledger::books::{self, AdjustmentBalances};
use caudal_ledger::cases::{
    BankSays, CaseFact, CollectorFact, RecordedMovement, SuspensePlace, UnbookedFact,
};
use caudal_ledger::chain::Digest;
use caudal_ledger::collector::CollectorMovement;
use caudal_ledger::days::DayFact;
use caudal_ledger::events::EventKind;
use caudal_ledger::events::rules::{EventRules, RuleSets};
use caudal_ledger::facts::{AccountFact, RealmFact};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::limits::TotalUsage;
use caudal_ledger::money::Amount;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::{Suspense, TransferFact, TransferRecord, TransferStatus};
use caudal_ledger::treasury::{Census, Sum, Totals};
use caudal_ledger::vouchers::Voucher;
use caudal_storage::{CommitNo, Entry, Index, StoreError};

use super::Report;
use crate::records::projection::{self, Added, CaseCounts};
use crate::records::{
    ANSWER_PARTS, ANSWERS, APPROVALS, AUDIT, BANK, CASES, COLLECTOR, COVERAGE, DAYS, DELIVERIES,
    LEDGER, PEOPLE, PLATFORM, PROFILE, REALM, SUSPENSE, TRANSFERS, UNBOOKED, WEBHOOKS, decode,
    reads, unknown_kind,
};

/// The sums of every realm by the journal.
#[derive(Debug)]
pub(super) struct Sums {
    sets: RuleSets,
    realms: BTreeMap<RealmId, Totals>,
    /// The accounts for adjustments in the books of the realms.
    adjustments: BTreeMap<RealmId, AdjustmentBalances>,
    /// The sums that have left the realms.
    usage: BTreeMap<RealmId, TotalUsage>,
    /// Transfers that wait for the bank, with their amounts and states.
    open: BTreeMap<(RealmId, AccountNo, u64), (Amount, TransferStatus)>,
    /// Money that arrived and that no account could take, by the place where it waits; in centavos.
    parked: BTreeMap<(RealmId, SuspensePlace), Amount>,
    /// Reports of the bank that the ledger has not booked.
    unbooked: BTreeMap<(RealmId, SuspensePlace), Digest>,
    /// The recorded movements of collector accounts, by their sequence.
    collector: BTreeMap<(RealmId, u64), RecordedMovement>,
}

impl Sums {
    /// Empty sums; events will be counted under these event rule sets.
    pub(super) const fn under(sets: RuleSets) -> Self {
        Self {
            sets,
            realms: BTreeMap::new(),
            adjustments: BTreeMap::new(),
            usage: BTreeMap::new(),
            open: BTreeMap::new(),
            parked: BTreeMap::new(),
            unbooked: BTreeMap::new(),
            collector: BTreeMap::new(),
        }
    }

    fn rules(&self, realm: RealmId) -> Result<&'static EventRules, StoreError> {
        let number = self.realms.get(&realm).map_or(0, |it| it.event_rules);
        projection::known_rules(self.sets, number)
    }

    /// Counts a voucher in the sums of its realm, in its usage, and as events.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] when the realm has adopted event rules that this program does not know.
    pub(super) fn voucher(&mut self, realm: RealmId, voucher: &Voucher) -> Result<(), StoreError> {
        let rules = self.rules(realm)?;
        let usage = self.usage.entry(realm).or_default();
        if TotalUsage::counts(voucher) {
            *usage = usage.after(voucher);
        }
        if let Some(taken) = books::adjusted(voucher) {
            let accounts = self.adjustments.entry(realm).or_default();
            let balance = accounts.entry(books::adjustments_of(voucher)).or_default();
            *balance = balance.plus(taken);
        }
        let totals = self.realms.entry(realm).or_default();
        totals.posted(voucher);
        totals.count_event();
        if (rules.hold)(voucher, None).is_some() {
            totals.count_event();
        }
        Ok(())
    }

    /// Counts a fact of a profile, if it is published.
    pub(super) fn profile(&mut self, realm: RealmId, fact: &AccountFact) -> Result<(), StoreError> {
        if (self.rules(realm)?.account)(fact).is_some() {
            self.realms.entry(realm).or_default().count_event();
        }
        Ok(())
    }

    /// Counts the other entries that change the sums or are published: transfers, suspense, voucher types, coverage.
    pub(super) fn entry(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let (realm, account) = (RealmId(entry.stream.realm), AccountNo(entry.stream.number));
        let place = SuspensePlace {
            account,
            sequence: entry.seq,
        };
        let rules = self.rules(realm)?;
        match entry.stream.kind {
            COVERAGE => {
                self.realms.entry(realm).or_default().count_event();
            }
            REALM => {
                let fact = decode(&entry.body)?;
                let totals = self.realms.entry(realm).or_default();
                if let RealmFact::EventRules { number } = fact {
                    totals.event_rules = number;
                }
                if (rules.realm)(&fact).is_some() {
                    totals.count_event();
                }
            }
            DAYS => {
                if let DayFact::Closed(_) = decode(&entry.body)? {
                    self.realms.entry(realm).or_default().count_event();
                }
            }
            SUSPENSE => {
                let Suspense { cash_in, .. } = decode(&entry.body)?;
                self.parked.insert((realm, place), cash_in.amount);
                let totals = self.realms.entry(realm).or_default();
                totals.count_event();
                totals.suspended(cash_in.amount.into());
            }
            CASES => {
                let fact: CaseFact = decode(&entry.body)?;
                let totals = self.realms.entry(realm).or_default();
                if EventKind::of_case(&fact).is_some() {
                    totals.count_event();
                }
                let left = fact.resolves().then_some((realm, fact.case()));
                if let Some(amount) = left.and_then(|case| self.parked.remove(&case)) {
                    totals.resolved(amount.into());
                }
            }
            UNBOOKED => match decode(&entry.body)? {
                UnbookedFact::Said { says, .. } => {
                    self.unbooked.insert((realm, place), says.key());
                }
                UnbookedFact::Dismissed { case, .. } => {
                    self.unbooked.remove(&(realm, case));
                }
            },
            COLLECTOR => self.collector(realm, entry)?,
            TRANSFERS => {
                let record = decode(&entry.body)?;
                self.transfer((realm, account), record, rules);
            }
            // Vouchers and profiles are counted elsewhere.
            LEDGER | PROFILE => {}
            PLATFORM | PEOPLE | APPROVALS | AUDIT => {}
            BANK | ANSWERS | ANSWER_PARTS | WEBHOOKS | DELIVERIES => {}
            kind => return Err(unknown_kind(kind)),
        }
        Ok(())
    }

    /// Counts a fact about a movement of the collector account.
    fn collector(&mut self, realm: RealmId, entry: &Entry) -> Result<(), StoreError> {
        let fact = decode(&entry.body)?;
        let totals = self.realms.entry(realm).or_default();
        match &fact {
            CollectorFact::Listed { movement, class } => {
                totals.house.moved(&fact, None);
                let (line, since) = (
                    CollectorMovement::clone(movement),
                    Timestamp::from_millis(entry.at),
                );
                let record = RecordedMovement::listed(entry.seq, line, *class, since);
                self.collector.insert((realm, entry.seq), record);
            }
            CollectorFact::Classified { record, .. } | CollectorFact::Matched { record } => {
                let known = self.collector.get_mut(&(realm, *record));
                totals.house.moved(&fact, known.as_deref());
                if let Some(known) = known {
                    known.apply(&fact);
                }
            }
        }
        Ok(())
    }

    /// Counts a fact of a transfer.
    fn transfer(
        &mut self,
        (realm, account): (RealmId, AccountNo),
        record: TransferRecord,
        rules: &EventRules,
    ) {
        let TransferRecord { transfer, fact } = record;
        if let TransferFact::Requested(asked) = &fact
            && let Some(origin) = asked.origin
        {
            let booked = BankSays::left(origin);
            self.unbooked
                .retain(|(of, _), said| *of != realm || *said != booked);
        }
        let at = (realm, account, transfer);
        let known = self.open.get(&at).map(|(_, status)| *status);
        // A new status of an ended transfer changes no state.
        let before = match &fact {
            TransferFact::Advanced { status, .. } => known.or(Some(*status)),
            _ => known,
        };
        let after = match &fact {
            TransferFact::Requested(asked) => asked.status,
            TransferFact::Advanced { status, .. } => *status,
            TransferFact::Completed { .. } => TransferStatus::Completed,
            TransferFact::Rejected(_) => TransferStatus::Rejected,
            TransferFact::Reversed { .. } => TransferStatus::Reversed,
            TransferFact::Disputed(_) => TransferStatus::Audit,
            TransferFact::Decided { verdict, .. } => verdict.status(),
            // Changes no state, and is no event.
            TransferFact::Resolved(_) => TransferStatus::Requested,
        };
        let totals = self.realms.entry(realm).or_default();
        if (rules.transfer)(&fact, before, after).is_some() {
            totals.count_event();
        }
        match fact {
            TransferFact::Advanced { status, .. } => {
                if let Some((_, known)) = self.open.get_mut(&at) {
                    *known = status;
                }
            }
            TransferFact::Disputed(_) => {
                if let Some((_, known)) = self.open.get_mut(&at) {
                    *known = TransferStatus::Audit;
                }
            }
            TransferFact::Requested(asked) if asked.status.is_open() => {
                self.open.insert(at, (asked.amount, asked.status));
                totals.waits(asked.amount, false, true);
            }
            TransferFact::Completed { .. }
            | TransferFact::Rejected(_)
            | TransferFact::Decided { .. } => {
                if EventKind::of_ending(&fact).is_some() {
                    totals.count_event();
                }
                if let Some((amount, _)) = self.open.remove(&at) {
                    totals.waits(amount, true, false);
                }
            }
            TransferFact::Requested(_)
            | TransferFact::Reversed { .. }
            | TransferFact::Resolved(_) => {}
        }
    }

    /// The number of open cases of a realm.
    fn cases(&self, realm: RealmId) -> CaseCounts {
        let count = |those: usize| u64::try_from(those).unwrap_or(u64::MAX);
        let audit = self
            .open
            .iter()
            .filter(|((of, ..), (_, status))| *of == realm && *status == TransferStatus::Audit);
        let parked = self.parked.keys().filter(|(of, _)| *of == realm);
        let unbooked = self.unbooked.keys().filter(|(of, _)| *of == realm);
        let waits = |it: &RecordedMovement| it.waits();
        let collector = self.collector.iter();
        let collector = collector.filter(|((of, _), it)| *of == realm && waits(it));
        CaseCounts {
            transfers: count(audit.count()),
            suspense: count(parked.count()),
            unbooked: count(unbooked.count()),
            collector: count(collector.count()),
        }
    }

    /// Whether the accounts for adjustments have what the journal says, and their days added exactly that.
    fn adjusted_as(&self, store: &dyn Index, realm: RealmId) -> Result<bool, StoreError> {
        let (_, have) = reads::books::now(store, realm)?;
        let must = self.adjustments.get(&realm);
        let before = reads::books::adjustments_until(store, realm, Timestamp::default())?;
        let nothing = Sum::default();
        Ok(must.map_or(have.is_empty(), |must| *must == have)
            && before.values().all(|balance| *balance == nothing))
    }

    /// Compares the sums with the rows. A running service moves on meanwhile: only realms that have not changed can be
    /// compared whole.
    pub(super) fn compare(
        &self,
        store: &dyn Index,
        realms: impl Iterator<Item = RealmId>,
        report: &mut Report,
    ) -> Result<(), StoreError> {
        let realms: BTreeSet<_> = self.realms.keys().copied().chain(realms).collect();
        for realm in realms {
            let right = self.realms.get(&realm).copied().unwrap_or_default();
            let mut row = reads::totals(store, realm)?;
            if let Some(gap) = reads::events::gap(store, realm, row.events)? {
                report.differs(format!("realm {}: there is no event {gap}", realm.0));
            }
            row.census = Census::default();
            let usage = self.usage.get(&realm).copied().unwrap_or_default();
            let differ = [
                (
                    "the open cases of the index are not those of the journal",
                    reads::cases::counts(store, realm)? != self.cases(realm),
                ),
                (
                    "the usage of the index is not that of the journal",
                    reads::total_usage(store, realm)? != usage,
                ),
                (
                    "the sums of its days are not those of the journal",
                    reads::added_until(store, realm, Timestamp::MAX)? != added(&right),
                ),
                (
                    "the accounts for adjustments in the books are not those of the journal",
                    !self.adjusted_as(store, realm)?,
                ),
                (
                    "the sums of the index are not those of the journal",
                    row != right,
                ),
            ];
            let vouchers = |totals: &Totals| (totals.available, totals.held, totals.house);
            let moved_on = row.sequence > right.sequence
                || (row.sequence == right.sequence && vouchers(&row) == vouchers(&right));
            let mut differ: Vec<_> = differ
                .into_iter()
                .filter(|it| it.1)
                .map(|it| it.0)
                .collect();
            // only after everything was read: what came meanwhile may be in what was read
            if !differ.is_empty() && !ends(store, report.commit)? {
                differ.clear();
                differ.extend(
                    (!moved_on).then_some("the sums of the index are not those of the journal"),
                );
            }
            for what in differ {
                report.differs(format!("realm {}: {what}", realm.0));
            }
        }
        Ok(())
    }
}

/// What all days together must have added to a realm with these sums.
const fn added(right: &Totals) -> Added {
    Added {
        available: right.available,
        held: right.held,
        vouchers: right.sequence,
        suspense: right.incoming,
        outgoing: right.outgoing,
        house: right.house,
    }
}

/// Whether the journal ends with this commit. The rows of a commit are in the index only after it is in the journal,
/// and [`Index::applied`] tells of it later still.
fn ends(store: &dyn Index, commit: u64) -> Result<bool, StoreError> {
    if store.applied().0 > commit {
        return Ok(false);
    }
    let mut ends = true;
    store.replay(CommitNo(commit.strict_add(1)), &mut |_, _| {
        ends = false;
        false
    })?;
    Ok(ends)
}
