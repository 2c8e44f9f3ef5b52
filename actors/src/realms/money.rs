//! Routes orders and questions about the money of accounts. What several routes share is here, too: claims, transactions, and
//! the realm's own entries.

use std::collections::BTreeSet;

use caudal_ledger::balance::Direction;
use caudal_ledger::facts::BankCall;
use caudal_ledger::fees::quotes::Quote;
use caudal_ledger::ids::{AccountNo, HoldId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::transfers::Suspense;
use caudal_ledger::voucher_types::TypeCode;
use caudal_storage::{Entry, StoreError, StreamId};
use serde::Serialize;

use super::{RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::{
    BookArrival, ChangeHold, JointOrder, MultiAccountTxn, NoticeOutcome, PlaceHold, QuoteFor,
    StepHold,
};
use crate::commit_writer::{RequestContext, Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::records::keys::Rail;
use crate::records::projection::Landed;
use crate::records::{self, BANK, SUSPENSE, Tail, reads};
use crate::reply::ClaimGuard;

impl RealmOrder for PlaceHold {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let number = realm.number(self.target).and_then(|number| {
            if !self.dry_run {
                let (kind, id) = ([b'x', Direction::Hold.byte()], &self.order.external_id);
                request
                    .guards
                    .push(realm.claim_external(&kind, id, number)?);
            }
            Ok(number)
        });
        realm.forward(number, self, request);
    }
}

impl RealmOrder for StepHold {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        realm.forward(realm.account_of(self.id), self, request);
    }
}

impl RealmOrder for ChangeHold {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        realm.forward(realm.account_of(self.id), self, request);
    }
}

impl RealmSupervisor {
    /// The account of a hold of this realm.
    fn account_of(&self, HoldId(id): HoldId) -> Result<AccountNo, Failure> {
        let own = id.realm == self.shared.realm;
        Ok(own.then_some(id.account).ok_or(Rejection::HoldNotFound)?)
    }
}

/// Asks for the fees of a movement of an account.
pub struct QuoteFees {
    /// The account that would move.
    pub target: Target,
    /// The code of the movement's type.
    pub code: TypeCode,
    /// The amount in centavos.
    pub amount: Amount,
}

impl Order for QuoteFees {
    type Outcome = Quote;
}

impl RealmOrder for QuoteFees {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, ctx: &mut RealmContext) {
        let Self {
            target,
            code,
            amount,
        } = self;
        match realm.types.find(&code) {
            Some(voucher_type) => {
                let question = QuoteFor {
                    target,
                    voucher_type,
                    amount,
                };
                question.route(realm, request, ctx);
            }
            None => {
                let code = code.to_string();
                request.answer(Err(Rejection::VoucherTypeUnknown { code }.into()));
            }
        }
    }
}

/// Money that arrived, for a CVU of this realm or for an unknown one.
impl RealmOrder for BookArrival {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        match realm.claim_rail(Rail::Arrival, &self.0.coelsa_id) {
            Err(why) => return realm.end(Err(why), request),
            Ok((guard, landed)) => {
                request.guards.push(guard);
                if let Some(landed) = landed {
                    return realm.arrived_again(self.0, &landed, request);
                }
            }
        }
        match realm.number(Target::Cvu(self.0.cvu)) {
            Err(Failure::Rejected(unknown)) => {
                let suspense = Suspense {
                    cash_in: self.0,
                    reason: unknown.code().to_owned(),
                };
                realm.park(&suspense, request);
            }
            number => realm.forward(number, self, request),
        }
    }
}

/// Journals calls to the bank that concern no account.
pub struct JournalCalls(pub Vec<BankCall>);

impl Order for JournalCalls {
    type Outcome = ();
}

impl RealmOrder for JournalCalls {
    fn route(self, realm: &mut RealmSupervisor, _: ContextOf<Self>, _: &mut RealmContext) {
        realm.journal(&self.0);
    }
}

impl RealmSupervisor {
    /// Claims a tenant's own id of a movement or transfer for an account.
    pub(super) fn claim_external(
        &self,
        kind: &[u8],
        id: &ExternalId,
        number: AccountNo,
    ) -> Result<ClaimGuard, Failure> {
        let claim = self.claim(&[kind, id.as_str().as_bytes()], Some(number));
        claim.ok_or(Rejection::ExternalIdInFlight.into())
    }

    /// Sends an order through all accounts that it concerns, starting at the lowest number.
    pub(super) fn txn<T: Send + 'static>(
        &mut self,
        accounts: &BTreeSet<AccountNo>,
        request: RequestContext<T>,
        order: impl FnOnce(RequestContext<T>) -> JointOrder,
    ) {
        let found: Result<Vec<_>, _> = accounts
            .iter()
            .rev()
            .map(|number| self.children.get(*number).map(|child| child.reserve()))
            .collect();
        match found {
            Err(why) => self.end(Err(why), request),
            Ok(mut ahead) => {
                if let Some(first) = ahead.pop() {
                    let txn = MultiAccountTxn::new(order(request), ahead);
                    first.send(txn);
                }
            }
        }
    }

    /// Claims an id of the rail, and gives the place where it has landed before, if it has.
    pub(super) fn claim_rail(
        &self,
        kind: Rail,
        id: &str,
    ) -> Result<(ClaimGuard, Option<Landed>), Failure> {
        let Shared { realm, store, .. } = &*self.shared;
        let tag = match kind {
            Rail::Arrival => b"ri",
            Rail::Return => b"rr",
        };
        let claim = self.claim(&[tag, id.as_bytes()], None);
        let guard = claim.ok_or(Failure::Overloaded)?;
        let landed = reads::money::landed(store.as_ref(), *realm, kind, id)?;
        Ok((guard, landed))
    }

    /// Keeps money without a known account, until a person decides about it.
    pub(super) fn park(&mut self, suspense: &Suspense, request: RequestContext<NoticeOutcome>) {
        let stream = records::account_stream(self.shared.realm, AccountNo(0), SUSPENSE);
        let writes = self.own_entry(stream, suspense).map(WriteSet::from);
        self.writer
            .finish_if(writes, Ok(NoticeOutcome::Suspended), request);
    }

    /// The next entry of one of the realm's own streams.
    pub(super) fn own_entry<R: Serialize>(
        &mut self,
        stream: StreamId,
        record: &R,
    ) -> Result<Entry, StoreError> {
        let mut tail = match self.tails.get(&stream.kind) {
            Some(tail) => *tail,
            None => Tail::read(self.shared.store.as_ref(), stream)?,
        };
        let entry = tail.next(stream, self.shared.clock.now(), record)?;
        self.tails.insert(stream.kind, tail);
        Ok(entry)
    }

    /// The next entries of one of the realm's own streams.
    pub(super) fn own_entries<R: Serialize>(
        &mut self,
        stream: StreamId,
        records: &[R],
    ) -> Result<Vec<Entry>, StoreError> {
        let records = records.iter();
        records
            .map(|record| self.own_entry(stream, record))
            .collect()
    }

    /// Journals calls to the bank that concern no account.
    pub(super) fn journal(&mut self, calls: &[BankCall]) {
        let stream = records::account_stream(self.shared.realm, AccountNo(0), BANK);
        let entries = self.own_entries(stream, calls);
        self.writer.commit_if(entries.map(WriteSet::from));
    }
}
