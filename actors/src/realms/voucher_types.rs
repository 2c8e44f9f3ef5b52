//! The realm's own stream: its voucher types, and the rules by which its events are counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use caudal_ledger::facts::RealmFact;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::voucher_types::{
    CreateVoucherType, TypeCode, VoucherType, VoucherTypeChange, VoucherTypes,
};
use caudal_storage::StoreError;

use super::{RealmContext, RealmOrder, RealmSupervisor};
use crate::accounts::Precondition;
use crate::commit_writer::{RequestContext, WriteSet};
use crate::orders::{ContextOf, Order};
use crate::records::{self, REALM, Tail, reads};

/// Asks for all types of the realm, including the system's own.
pub struct ListTypes;

impl Order for ListTypes {
    type Outcome = VoucherTypes;
}

impl RealmOrder for ListTypes {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let types = realm.types.clone();
        realm.writer.end(Ok(types), request);
    }
}

/// Creates a type under a code that the realm does not have.
pub struct CreateType(pub CreateVoucherType);

impl Order for CreateType {
    type Outcome = VoucherType;
}

impl RealmOrder for CreateType {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let (now, opening) = (realm.shared.clock.now(), realm.shared.opening);
        realm.change_types(request, &self.0.code, |types| {
            types
                .decide_create(&self.0, opening, now)
                .map(|fact| vec![fact])
        });
    }
}

/// Changes the type of a code.
pub struct ChangeType(pub TypeCode, pub VoucherTypeChange);

impl Order for ChangeType {
    type Outcome = VoucherType;
}

impl RealmOrder for ChangeType {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let Self(code, change) = self;
        realm.change_types(request, &code, |types| types.decide_change(&code, &change));
    }
}

/// Removes the type of a code; its vouchers stay.
pub struct RemoveType(pub TypeCode);

impl Order for RemoveType {
    type Outcome = VoucherType;
}

impl RealmOrder for RemoveType {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        let Self(code) = self;
        realm.change_types(request, &code, |types| {
            types.decide_remove(&code).map(|fact| vec![fact])
        });
    }
}

impl RealmSupervisor {
    pub(super) fn load_types(&mut self) -> Result<(), StoreError> {
        let stream = records::realm_stream(self.shared.realm, REALM);
        let (mut types, mut tail) = (VoucherTypes::default(), Tail::default());
        let mut event_rules = 0;
        let store = self.shared.store.as_ref();
        reads::fold(store, stream, 0, |fact: RealmFact, seq, at| {
            types.apply(&fact);
            tail = Tail { seq, at };
            if let RealmFact::EventRules { number } = fact {
                event_rules = number;
            }
        })?;
        (self.types, self.tail, self.event_rules) = (types, tail, event_rules);
        Ok(())
    }

    /// Notes that everything in the realm's own stream up to its known end is durable.
    pub(super) fn types_are_durable(&self) {
        let durable = &self.actor_status.durable_profile;
        durable.store(self.tail.seq, Ordering::Release);
    }

    /// The last change in the realm's own stream while it is not known to be durable. Whatever is decided on the voucher
    /// types meanwhile must not be written without it.
    pub(super) fn unwritten_types(&self) -> Option<Precondition> {
        let durable = self.actor_status.durable_profile.load(Ordering::Acquire);
        (durable != self.tail.seq).then(|| Precondition {
            fact: (
                records::realm_stream(self.shared.realm, REALM),
                self.tail.seq,
            ),
            of: Arc::clone(&self.actor_status),
        })
    }

    /// Puts the newest event rules into force, before anything else of the realm is written. If the fact cannot be
    /// written, the realm goes on under the rules that it has.
    pub(super) fn adopt_rules(&mut self) -> Result<(), StoreError> {
        let number = self.shared.event_rules;
        if self.event_rules.max(1) >= number {
            return Ok(());
        }
        let stream = records::realm_stream(self.shared.realm, REALM);
        let fact = RealmFact::EventRules { number };
        let entry = self.tail.next(stream, self.shared.clock.now(), &fact)?;
        self.event_rules = number;
        self.writer.commit(entry.into(), |_| {});
        Ok(())
    }

    /// Decides an order about voucher types; `decide` gives no fact when nothing changes.
    fn change_types(
        &mut self,
        request: RequestContext<VoucherType>,
        code: &TypeCode,
        decide: impl FnOnce(&VoucherTypes) -> Result<Vec<RealmFact>, Rejection>,
    ) {
        let before = self.types.find(code);
        let facts = match decide(&self.types) {
            Ok(facts) => facts,
            Err(rejection) => return self.end(Err(rejection.into()), request),
        };
        let mut writes = WriteSet::default();
        for fact in facts {
            let stream = records::realm_stream(self.shared.realm, REALM);
            match self.tail.next(stream, self.shared.clock.now(), &fact) {
                Ok(entry) => writes.entries.push(entry),
                Err(why) => return self.writer.fail(why, request.reply),
            }
            self.types.apply(&fact);
        }
        let outcome = self.types.find(code).or(before);
        let unknown = Rejection::VoucherTypeNotFound { code: code.clone() };
        self.writer
            .finish(writes, outcome.ok_or(unknown.into()), request);
    }
}
