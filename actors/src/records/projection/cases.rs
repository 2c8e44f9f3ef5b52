//! Rows of cases: by kind and waiting time; money in suspense with the decisions about it; returns about which the bank
//! is being asked.
//!
//! **Shape.** An open case has two rows: one that sorts by the instant since which it waits, and one that leads there
//! from its place. The counts are a row of their own, rewritten only when a case opens or closes.

use caudal_ledger::cases::{CaseFact, CaseKind, Parked, RETURNS, SuspensePlace};
use caudal_ledger::events::EventKind;
use caudal_ledger::events::rules::RuleSets;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Entry, IndexWriter, Position, StoreError};
use serde::{Deserialize, Serialize};

use super::events::{self, EventRow, SubjectNote};
use super::{Landed, VoucherPlace, totals};
use crate::records::keys::{self, Rail};
use crate::records::{decode, encode};

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
    realm: RealmId,
    index: &mut dyn IndexWriter,
    change: impl FnOnce(&mut CaseCounts),
) -> Result<(), StoreError> {
    let key = keys::case_counts(realm);
    let row = index.get(&key)?.map(|row| decode(&row)).transpose()?;
    let mut counts: CaseCounts = row.unwrap_or_default();
    change(&mut counts);
    index.put(&key, &encode(&counts)?);
    Ok(())
}

/// Adds the rows of a case that waits since an instant, and counts it.
///
/// # Errors
/// When the realm's row of counts cannot be read or is damaged.
pub(super) fn opens(
    realm: RealmId,
    kind: CaseKind,
    (place, since): (VoucherPlace, Timestamp),
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    index.put(&keys::open_case(realm, kind, since, place), &[]);
    let since = since.millis().to_be_bytes();
    index.put(&keys::case_since(realm, kind, place), &since);
    counted(realm, index, |counts| {
        let count = counts.of(kind);
        *count += 1;
    })
}

/// Removes the rows of a case, and counts it no more.
pub(super) fn closes(
    realm: RealmId,
    kind: CaseKind,
    place: VoucherPlace,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let key = keys::case_since(realm, kind, place);
    let row = index.get(&key)?;
    let Some(since) = row.as_deref().map(keys::number_of).transpose()? else {
        return Ok(());
    };
    let since = Timestamp::from_millis(since);
    index.delete(&keys::open_case(realm, kind, since, place));
    index.delete(&key);
    counted(realm, index, |counts| {
        let count = counts.of(kind);
        *count = count.saturating_sub(1);
    })
}

const fn place_of(case: SuspensePlace) -> VoucherPlace {
    VoucherPlace {
        account: case.account,
        sequence: case.sequence,
    }
}

/// Adds the rows of money that begins to wait.
pub(super) fn parked(
    realm: RealmId,
    parked: &Parked,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let place = place_of(parked.place);
    index.put(&keys::parked(realm, place), &encode(parked)?);
    opens(realm, CaseKind::Suspense, (place, parked.since), index)
}

/// The rows that a fact of a case adds.
pub(super) fn happened(
    (sets, realm): (RuleSets, RealmId),
    account: AccountNo,
    (entry, position): (&Entry, Position),
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    let fact: CaseFact = decode(&entry.body)?;
    let place = place_of(fact.case());
    let key = keys::parked(realm, place);
    let lost = || StoreError::Corrupt("a case goes on that was never opened".into());
    let mut parked: Parked = decode(&index.get(&key)?.ok_or_else(lost)?)?;
    parked.apply(&fact, entry.seq);
    index.put(&key, &encode(&parked)?);
    match &fact {
        CaseFact::Credited { voucher, .. } => {
            // The voucher of the same commit has taken the rail's id; this row also names the case.
            let landed = Landed {
                account,
                sequence: *voucher,
                suspended: false,
                case: Some(parked.place),
            };
            let rail = &parked.suspense.cash_in.coelsa_id;
            let rail = keys::rail(realm, Rail::Arrival, rail);
            index.put(&rail, &encode(&landed)?);
        }
        CaseFact::ReturnRequested { origin, .. } => {
            let at = VoucherPlace {
                account: RETURNS,
                sequence: entry.seq,
            };
            let row = [realm.0.to_be_bytes().as_slice(), &at.to_bytes()].concat();
            index.put(&keys::origin(*origin), &row);
            index.put(&keys::return_of(realm, entry.seq), &place.to_bytes());
            index.put(&keys::open_return(realm, entry.seq), &place.to_bytes());
        }
        CaseFact::ReturnNamed { .. } => {}
        CaseFact::Returned { number, .. } => {
            index.delete(&keys::open_return(realm, *number));
            let day = Timestamp::from_millis(entry.at).business_day();
            index.put(&keys::bank_day_of(realm, day, RETURNS, *number), &[]);
        }
        CaseFact::ReturnRefused { number, .. } => {
            index.delete(&keys::open_return(realm, *number));
        }
    }
    if fact.resolves() {
        closes(realm, CaseKind::Suspense, place, index)?;
        let amount = parked.suspense.cash_in.amount.into();
        let at = Timestamp::from_millis(entry.at);
        totals::moved(realm, index, at, |totals| totals.resolved(amount))?;
    }
    let Some(kind) = EventKind::of_case(&fact) else {
        return Ok(());
    };
    let rules = events::rules(sets, realm, index)?;
    let event = EventRow::new(kind, account, position).tagged_by(rules, entry);
    events::publish(
        realm,
        event.noting(SubjectNote::Parked(Box::new(parked)))?,
        index,
    )
}
