//! Rows of cases: by kind and waiting time; money in suspense with the decisions about it; returns about which the bank
//! is being asked.
//!
//! **Shape.** An open case has two rows: one that sorts by the instant since which it waits, and one that leads there
//! from its place. The counts are a row of their own, rewritten only when a case opens or closes.

use caudal_ledger::cases::{CaseFact, CaseKind, Parked, RETURNS, SuspensePlace};
use caudal_ledger::events::EventKind;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::time::Timestamp;
use caudal_storage::StoreError;
use serde::{Deserialize, Serialize};

use super::totals::{self, Cause};
use super::{EntryRows, SubjectNote, VoucherPlace};
use crate::records::keys::{self, Rail};

/// The place where money from the rail has landed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Landed {
    /// The account; 0 if it is unknown.
    pub account: AccountNo,
    /// The sequence of the voucher, or of the record of suspense.
    pub sequence: u64,
    /// Whether the money waits for a person.
    pub suspended: bool,
    /// The record of suspense from which a person credited it.
    #[serde(default)]
    pub case: Option<SuspensePlace>,
}

/// How many cases of a realm are open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CaseCounts {
    /// Transfers in `audit`, whose outcome the bank does not report.
    pub transfers: u64,
    /// Money in suspense, including money that the bank is being asked to return.
    pub suspense: u64,
    /// Reports of the bank that the ledger cannot book.
    #[serde(default)]
    pub unbooked: u64,
    /// Movements of the collector account that no rule classifies.
    #[serde(default)]
    pub collector: u64,
}

impl CaseCounts {
    /// The count of all kinds together.
    pub const fn all(&self) -> u64 {
        self.transfers + self.suspense + self.unbooked + self.collector
    }

    /// The count of a kind.
    pub const fn of(&mut self, kind: CaseKind) -> &mut u64 {
        match kind {
            CaseKind::Transfer => &mut self.transfers,
            CaseKind::Suspense => &mut self.suspense,
            CaseKind::Unbooked => &mut self.unbooked,
            CaseKind::Collector => &mut self.collector,
        }
    }
}

fn counted(
    rows: &mut EntryRows<'_>,
    change: impl FnOnce(&mut CaseCounts),
) -> Result<(), StoreError> {
    let key = keys::case_counts(rows.realm);
    let mut counts: CaseCounts = rows.get_or_default(&key)?;
    change(&mut counts);
    rows.put(&key, &counts)
}

/// Adds the rows of a case that waits since an instant, and counts it.
pub(super) fn opens(
    rows: &mut EntryRows<'_>,
    kind: CaseKind,
    place: VoucherPlace,
    since: Timestamp,
) -> Result<(), StoreError> {
    let (open, of) = (
        keys::open_case(rows.realm, kind, since, place),
        keys::case_since(rows.realm, kind, place),
    );
    rows.index.put(&open, &[]);
    rows.index.put(&of, &since.millis().to_be_bytes());
    counted(rows, |counts| *counts.of(kind) += 1)
}

/// Removes the rows of a case, and counts it no more.
pub(super) fn closes(
    rows: &mut EntryRows<'_>,
    kind: CaseKind,
    place: VoucherPlace,
) -> Result<(), StoreError> {
    let key = keys::case_since(rows.realm, kind, place);
    let row = rows.index.get(&key)?;
    let Some(since) = row.as_deref().map(keys::number_of).transpose()? else {
        return Ok(());
    };
    let since = Timestamp::from_millis(since);
    let open = keys::open_case(rows.realm, kind, since, place);
    rows.index.delete(&open);
    rows.index.delete(&key);
    counted(rows, |counts| {
        let count = counts.of(kind);
        *count = count.saturating_sub(1);
    })
}

/// Adds the rows of money that begins to wait.
pub(super) fn parked(rows: &mut EntryRows<'_>, parked: &Parked) -> Result<(), StoreError> {
    let place = parked.place.into();
    rows.put(&keys::parked(rows.realm, place), parked)?;
    opens(rows, CaseKind::Suspense, place, parked.since)
}

/// The rows that a fact of a case adds.
pub(super) fn happened(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let fact: CaseFact = rows.fact()?;
    let (realm, number) = (rows.realm, rows.entry.seq);
    let place = VoucherPlace::from(fact.case());
    let key = keys::parked(realm, place);
    let mut parked: Parked = rows.known(&key, "a case goes on that was never opened")?;
    parked.apply(&fact, number);
    rows.put(&key, &parked)?;
    match &fact {
        CaseFact::Credited { voucher, .. } => {
            // The voucher of the same commit has taken the rail's id; this row also names the case.
            let landed = Landed {
                account: rows.account,
                sequence: *voucher,
                suspended: false,
                case: Some(parked.place),
            };
            let rail = &parked.suspense.cash_in.coelsa_id;
            rows.put(&keys::rail(realm, Rail::Arrival, rail), &landed)?;
        }
        CaseFact::ReturnRequested { origin, .. } => {
            let at = VoucherPlace::new(RETURNS, number);
            let row = [realm.0.to_be_bytes().as_slice(), &at.to_bytes()].concat();
            let index = &mut *rows.index;
            index.put(&keys::origin(*origin), &row);
            index.put(&keys::return_of(realm, number), &place.to_bytes());
            index.put(&keys::open_return(realm, number), &place.to_bytes());
        }
        CaseFact::ReturnNamed { .. } => {}
        CaseFact::Returned { number, .. } => {
            let day = keys::bank_day_of(realm, rows.at().business_day(), RETURNS, *number);
            rows.index.delete(&keys::open_return(realm, *number));
            rows.index.put(&day, &[]);
        }
        CaseFact::ReturnRefused { number, .. } => {
            rows.index.delete(&keys::open_return(realm, *number));
        }
    }
    if fact.resolves() {
        closes(rows, CaseKind::Suspense, place)?;
        let amount = parked.suspense.cash_in.amount.into();
        totals::update(rows, Cause::Moved, |totals| totals.resolved(amount))?;
    }
    let Some(kind) = EventKind::of_case(&fact) else {
        return Ok(());
    };
    let rules = rows.rules()?;
    let event = rows.event(rules, kind);
    rows.publish(&event.noting(SubjectNote::Parked(Box::new(parked)))?)
}
