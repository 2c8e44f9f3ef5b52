//! The door for business that waits for a person: transfers in doubt, money in suspense and unbooked reports, of all
//! tenants.
//!
//! **Bounds.** Cases are listed longest waiting first, over all requested realms. A page reads no more cases of each
//! realm and kind than fit up to the page's end.

use caudal_ledger::cases::{
    CaseKind, Decision, Parked, RecordedMovement, SuspenseId, SuspensePlace, Unbooked, UnbookedId,
};
use caudal_ledger::collector::{CollectorClass, CollectorId};
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{RealmId, TransferId, VoucherId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_ledger::transfers::Verdict;
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, StoreError};

use super::money::{TransferView, not_found};
use super::read_slots::ReadCost;
use super::{Operators, Queries};
use crate::accounts::DecideTransfer;
use crate::failure::Failure;
use crate::platform::realms;
use crate::realms::{
    ClassifyMovement, CreditSuspense, DismissUnbooked, RealmOrder, ReturnSuspense, Target,
};
use crate::records::projection::{CaseCounts, VoucherPlace};
use crate::records::reads;

/// One of the four kinds of cases, with the details that a person needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Case {
    /// A transfer, with the instant since which it waits for a person, if it does.
    Transfer(Box<TransferView>, Option<Timestamp>),
    /// Money that arrived from the bank and that no account could take, with the decisions about it.
    Suspense(Box<Parked>),
    /// A report of the bank that the ledger could not book.
    Unbooked(Box<Unbooked>),
    /// A movement of the collector account that no rule classifies.
    Collector(Box<RecordedMovement>),
}

/// The figures of a realm's business that waits for a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaseFigures {
    /// How many wait, by kind.
    pub counts: CaseCounts,
    /// Since when the oldest transfer waits.
    pub oldest_transfer: Option<Timestamp>,
    /// Since when the oldest money in suspense waits.
    pub oldest_suspense: Option<Timestamp>,
    /// Since when the oldest report waits that the ledger could not book.
    pub oldest_unbooked: Option<Timestamp>,
    /// Since when the oldest movement of the collector account waits that no rule classifies.
    pub oldest_collector: Option<Timestamp>,
    /// The sum in suspense.
    pub amount: Sum,
}

impl CaseFigures {
    /// Since when the oldest case waits.
    pub fn oldest(&self) -> Option<Timestamp> {
        let since = [
            self.oldest_transfer,
            self.oldest_suspense,
            self.oldest_unbooked,
            self.oldest_collector,
        ];
        since.into_iter().flatten().min()
    }
}

/// A case with its realm.
pub type RealmCase = (RealmId, Case);

impl Operators<'_> {
    /// The open cases of some realms and kinds, longest waiting first, and their total number.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn cases(
        self,
        realms: Vec<RealmId>,
        kinds: Vec<CaseKind>,
        (offset, limit): (usize, usize),
    ) -> Result<(Vec<RealmCase>, u64), Failure> {
        // Under no realm: operators do not take turns from tenants.
        let read = move |store: &dyn Index| cases(store, &realms, &kinds, (offset, limit));
        self.0.scan(RealmId(0), ReadCost::Page, read).await
    }

    /// Money in suspense, with the decisions about it.
    ///
    /// # Errors
    /// When there is no such case.
    pub fn suspense_case(self, id: SuspenseId) -> Result<Parked, Failure> {
        let found = reads::cases::parked(self.0.store.as_ref(), id.realm, id.place)?;
        let found = found.filter(|parked| parked.id(id.realm) == id);
        Ok(found.ok_or(Rejection::CaseNotFound)?)
    }

    /// A report of the bank that the ledger could not book, with the decisions about it.
    ///
    /// # Errors
    /// When there is no such case.
    pub fn unbooked_case(self, id: UnbookedId) -> Result<Unbooked, Failure> {
        let found = reads::cases::unbooked(self.0.store.as_ref(), id.realm, id.place)?;
        let found = found.filter(|unbooked| unbooked.id(id.realm) == id);
        Ok(found.ok_or(Rejection::CaseNotFound)?)
    }

    /// A person says that an unbooked report was put right otherwise; it is then never booked.
    ///
    /// # Errors
    /// When there is no such case, or it was booked or dismissed before.
    pub async fn dismiss_unbooked(
        self,
        id: UnbookedId,
        decision: Decision,
        request_id: String,
    ) -> Result<Unbooked, Failure> {
        // A supervisor is asked only about existing cases.
        self.unbooked_case(id)?;
        let place = id.place;
        let order = DismissUnbooked { place, decision };
        self.0.decide(id.realm, order, &request_id).await
    }

    /// A recorded movement of a collector account, with the decision about it.
    ///
    /// # Errors
    /// When there is no such case.
    pub fn collector_case(self, id: CollectorId) -> Result<RecordedMovement, Failure> {
        let store = self.0.store.as_ref();
        let found = reads::collector::recorded(store, id.realm, id.sequence)?;
        let found = found.filter(|record| record.id(id.realm) == id);
        Ok(found.ok_or(Rejection::CaseNotFound)?)
    }

    /// A person says what a movement of the collector account is.
    ///
    /// # Errors
    /// When there is no such case, or it has been decided.
    pub async fn classify_movement(
        self,
        id: CollectorId,
        class: CollectorClass,
        decision: Decision,
        request_id: String,
    ) -> Result<RecordedMovement, Failure> {
        // A supervisor is asked only about existing cases.
        self.collector_case(id)?;
        let order = ClassifyMovement {
            sequence: id.sequence,
            class,
            decision,
        };
        self.0.decide(id.realm, order, &request_id).await
    }

    /// A transfer as a case, with its last calls to the bank, oldest first.
    ///
    /// # Errors
    /// When there is no such transfer.
    pub async fn transfer_case(
        self,
        id: TransferId,
    ) -> Result<(Case, Vec<(Timestamp, BankCall)>), Failure> {
        let VoucherId {
            realm,
            account,
            sequence,
            ..
        } = id.0;
        let (view, calls) = Queries(self.0).transfer_of(realm, id).await?;
        let place = VoucherPlace { account, sequence };
        let kind = CaseKind::Transfer;
        let since = reads::cases::since(self.0.store.as_ref(), realm, kind, place)?;
        Ok((Case::Transfer(Box::new(view), since), calls))
    }

    /// A person decides about a transfer that waits for the bank, of any realm.
    ///
    /// # Errors
    /// When it is not open, or is not in `audit` and nobody insists.
    pub async fn decide_transfer(
        self,
        id: TransferId,
        verdict: (Verdict, bool),
        decision: Decision,
        request_id: String,
    ) -> Result<TransferView, Failure> {
        let order = DecideTransfer {
            transfer: id,
            verdict,
            decision,
        };
        let decided = self.0.decide(id.0.realm, order, &request_id).await;
        decided.map_err(|why| not_found(why, Rejection::TransferNotFound))
    }

    /// A person credits money in suspense to an account of its realm.
    ///
    /// # Errors
    /// When there is no such case, it cannot be decided now, or the account cannot take it.
    pub async fn credit_suspense(
        self,
        id: SuspenseId,
        target: Target,
        decision: Decision,
        request_id: String,
    ) -> Result<Parked, Failure> {
        let order = CreditSuspense {
            place: id.place,
            target,
            decision,
        };
        self.decide_suspense(id, request_id, order).await
    }

    /// A person returns money in suspense to its sender; the bank is asked once the decision is on disk.
    ///
    /// # Errors
    /// When there is no such case, it cannot be decided now, or the sender is unknown.
    pub async fn return_suspense(
        self,
        id: SuspenseId,
        decision: Decision,
        request_id: String,
    ) -> Result<Parked, Failure> {
        let place = id.place;
        let order = ReturnSuspense { place, decision };
        self.decide_suspense(id, request_id, order).await
    }

    async fn decide_suspense(
        self,
        id: SuspenseId,
        request_id: String,
        order: impl RealmOrder<Outcome = Parked>,
    ) -> Result<Parked, Failure> {
        // A supervisor is asked only about existing cases.
        self.suspense_case(id)?;
        self.0.decide(id.realm, order, &request_id).await
    }

    /// How many cases wait for a person, of all realms.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open_cases(self) -> Result<u64, Failure> {
        let platform = self.0.platform();
        let counts = realms(&platform).map(|(tenant, mode)| {
            let counts = reads::cases::counts(self.0.store.as_ref(), tenant.realm(mode))?;
            Ok::<_, Failure>(counts.all())
        });
        counts.sum()
    }

    /// The figures of a realm's business that waits for a person.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn case_figures(self, realm: RealmId) -> Result<CaseFigures, Failure> {
        let store = self.0.store.as_ref();
        let oldest = |kind| {
            let first = reads::cases::open(store, realm, kind, 1)?;
            Ok::<_, Failure>(first.first().map(|(since, _)| *since))
        };
        Ok(CaseFigures {
            counts: reads::cases::counts(store, realm)?,
            oldest_transfer: oldest(CaseKind::Transfer)?,
            oldest_suspense: oldest(CaseKind::Suspense)?,
            oldest_unbooked: oldest(CaseKind::Unbooked)?,
            oldest_collector: oldest(CaseKind::Collector)?,
            amount: reads::totals(store, realm)?.incoming,
        })
    }
}

fn cases(
    store: &dyn Index,
    realms: &[RealmId],
    kinds: &[CaseKind],
    (offset, limit): (usize, usize),
) -> Result<(Vec<RealmCase>, u64), StoreError> {
    let (mut found, mut total) = (Vec::new(), 0_u64);
    let end = offset.saturating_add(limit);
    for realm in realms {
        let mut counts = reads::cases::counts(store, *realm)?;
        for kind in kinds {
            total += *counts.of(*kind);
            for (since, place) in reads::cases::open(store, *realm, *kind, end)? {
                found.push((since, *realm, *kind, place));
            }
        }
    }
    found.sort_by_key(|(since, realm, kind, place)| (*since, *realm, *kind, place.to_bytes()));
    let page = found.into_iter().skip(offset).take(limit);
    let mut cases = Vec::with_capacity(limit.min(64));
    for (since, realm, kind, place) in page {
        let VoucherPlace { account, sequence } = place;
        let case = match kind {
            CaseKind::Transfer => {
                let transfer = reads::money::transfer(store, realm, place)?;
                let view = transfer.map(|transfer| TransferView::read(account, transfer));
                view.map(|view| Case::Transfer(Box::new(view), Some(since)))
            }
            CaseKind::Suspense => {
                let place = SuspensePlace { account, sequence };
                let parked = reads::cases::parked(store, realm, place)?;
                parked.map(|parked| Case::Suspense(Box::new(parked)))
            }
            CaseKind::Unbooked => {
                let place = SuspensePlace { account, sequence };
                let unbooked = reads::cases::unbooked(store, realm, place)?;
                unbooked.map(|unbooked| Case::Unbooked(Box::new(unbooked)))
            }
            CaseKind::Collector => {
                let record = reads::collector::recorded(store, realm, sequence)?;
                record.map(|record| Case::Collector(Box::new(record)))
            }
        };
        cases.extend(case.map(|case| (realm, case)));
    }
    Ok((cases, total))
}
