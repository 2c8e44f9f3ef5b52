//! Reports of the bank that the ledger cannot book: each is kept once, for a person to decide.
//!
//! **Order.** Claim first, then look. A departure's reference is claimed while the departure is booked, kept or
//! dismissed. So when a person dismisses a departure while money that lets it be booked arrives, never both count.

use caudal_ledger::cases::{
    BankSays, Decision, SuspensePlace, TOLD_OTHERWISE, UNREADABLE, Unbooked, UnbookedFact,
    UnreadableLine,
};
use caudal_ledger::ids::{AccountNo, OriginId};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{CashIn, Departure};
use caudal_storage::StoreError;

use super::{RealmContext, RealmOrder, RealmSupervisor};
use crate::accounts::NoticeOutcome;
use crate::commit_writer::{RequestContext, Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::records::projection::{Landed, VoucherPlace};
use crate::records::{self, UNBOOKED, reads};
use crate::reply::ClaimGuard;

/// A person says that a report that could not be booked was put right otherwise.
pub struct DismissUnbooked {
    /// The report.
    pub place: SuspensePlace,
    /// Who decides, and why.
    pub decision: Decision,
}

impl Order for DismissUnbooked {
    type Outcome = Unbooked;
}

impl RealmOrder for DismissUnbooked {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let decided = realm.claimed_unbooked(self.place, &mut request);
        let decided = decided.and_then(|found| {
            let fact = found.decide_dismissal(self.decision)?;
            Ok((found, fact))
        });
        let (mut found, fact) = match decided {
            Ok(decided) => decided,
            Err(why) => return realm.end(Err(why), request),
        };
        found.apply(&fact);
        let writes = realm.unbooked_page(&fact);
        realm.writer.finish_if(writes, Ok(found), request);
    }
}

/// Reports that a line of the bank's list cannot be read: a case of its own, once.
pub(super) struct KeepUnreadable(pub Box<UnreadableLine>);

impl Order for KeepUnreadable {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl RealmOrder for KeepUnreadable {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let Self(line) = self;
        let key = line.key();
        let Some(claim) = realm.claim(&[b"l", &key.0], None) else {
            // Another list with the same line is being taken in.
            return realm.end(Ok(NoticeOutcome::Known), request);
        };
        request.guards.push(claim);
        let (store, of) = (realm.shared.store.as_ref(), realm.shared.realm);
        match reads::cases::said(store, of, key) {
            Ok(Some(_)) => realm.end(Ok(NoticeOutcome::Known), request),
            Ok(None) => {
                tracing::error!(
                    realm = of.0,
                    day = %line.day,
                    field = line.field,
                    "a line of the bank's list cannot be read; it waits for a person"
                );
                realm.unbooked(BankSays::Unreadable(line), UNREADABLE, request);
            }
            Err(why) => realm.end(Err(why.into()), request),
        }
    }
}

impl RealmSupervisor {
    /// Claims the departure under a reference; a reference belongs to one realm.
    pub(super) fn claim_left(&self, origin: OriginId) -> Result<ClaimGuard, Failure> {
        let claim = self.claim(&[b"o", &origin.to_bytes()], None);
        claim.ok_or(Failure::Overloaded)
    }

    /// Claims the same reference for an account's order; a repeat of the order shares the claim.
    pub(super) fn claim_sent(&self, origin: OriginId, from: AccountNo) -> Option<ClaimGuard> {
        self.claim(&[b"o", &origin.to_bytes()], Some(from))
    }

    /// An arrival whose rail id has landed before. If it is the same arrival, it is known; anything else is kept for a
    /// person, and credits nobody.
    pub(super) fn arrived_again(
        &mut self,
        arrived: CashIn,
        landed: &Landed,
        request: RequestContext<NoticeOutcome>,
    ) {
        match self.as_landed(&arrived, landed) {
            Ok(true) => self.end(Ok(NoticeOutcome::Known), request),
            Ok(false) => {
                tracing::error!(
                    coelsa_id = arrived.coelsa_id,
                    realm = self.shared.realm.0,
                    "the bank tells money that arrived again, with another amount or CVU; nothing is credited, and a person has to look"
                );
                self.unbooked(BankSays::Arrived(arrived), TOLD_OTHERWISE, request);
            }
            Err(why) => self.end(Err(why.into()), request),
        }
    }

    /// Whether an arrival is the one that landed, or already waits for a person.
    fn as_landed(&self, arrived: &CashIn, landed: &Landed) -> Result<bool, StoreError> {
        let (store, of) = (self.shared.store.as_ref(), self.shared.realm);
        let place = VoucherPlace::new(landed.account, landed.sequence);
        let waits = landed.suspended.then_some(place.into());
        let was = match waits.or(landed.case) {
            Some(place) => reads::cases::parked(store, of, place)?
                .map(|parked| (parked.suspense.cash_in.cvu, parked.suspense.cash_in.amount)),
            None => {
                let credit = reads::voucher(store, of, place)?;
                credit.map(|credit| (credit.cvu, credit.amount))
            }
        };
        if was == Some((arrived.cvu, arrived.amount)) {
            return Ok(true);
        }
        let key = BankSays::arrived(&arrived.coelsa_id, &arrived.cvu, arrived.amount);
        Ok(reads::cases::said(store, self.shared.realm, key)?.is_some())
    }

    /// Money left a CVU that no account has.
    pub(super) fn left_nobody(
        &mut self,
        left: Departure,
        why: &Rejection,
        request: RequestContext<NoticeOutcome>,
    ) {
        let Shared { store, realm, .. } = &*self.shared;
        match reads::cases::said(store.as_ref(), *realm, BankSays::left(left.origin)) {
            Ok(Some(_)) => self.end(Ok(NoticeOutcome::Known), request),
            Ok(None) => {
                tracing::error!(
                    origin = %left.origin,
                    "money left one of our CVUs without a known order; a case was opened"
                );
                self.unbooked(BankSays::Left(left), why.code(), request);
            }
            Err(why) => self.end(Err(why.into()), request),
        }
    }

    fn unbooked(&mut self, says: BankSays, reason: &str, request: RequestContext<NoticeOutcome>) {
        let reason = reason.to_owned();
        let fact = UnbookedFact::Said { says, reason };
        let writes = self.unbooked_page(&fact);
        self.writer
            .finish_if(writes, Ok(NoticeOutcome::Known), request);
    }

    fn unbooked_page(&mut self, fact: &UnbookedFact) -> Result<WriteSet, StoreError> {
        let stream = records::account_stream(self.shared.realm, AccountNo(0), UNBOOKED);
        Ok(self.own_entry(stream, fact)?.into())
    }

    fn claimed_unbooked(
        &self,
        place: SuspensePlace,
        request: &mut RequestContext<Unbooked>,
    ) -> Result<Unbooked, Failure> {
        let Shared { store, realm, .. } = &*self.shared;
        self.claim_operation(&[b"u", &VoucherPlace::from(place).to_bytes()], request)?;
        let look = || reads::cases::unbooked(store.as_ref(), *realm, place);
        let found = look()?.ok_or(Rejection::CaseNotFound)?;
        let BankSays::Left(left) = &found.says else {
            return Ok(found);
        };
        request.guards.push(self.claim_left(left.origin)?);
        // It may have been booked before it was claimed.
        Ok(look()?.ok_or(Rejection::CaseNotFound)?)
    }
}
