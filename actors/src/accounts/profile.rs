//! The profile of an account: registration, changes, and the bank's answers about them.

use std::collections::BTreeSet;
use std::sync::Arc;

use actix::{Addr, AsyncContext as _};
use caudal_ledger::accounts::{BankAnswer, ProfileOrder, Status};
use caudal_ledger::clients::{Client, Mark, UNCODED_MAX};
use caudal_ledger::facts::{AccountFact, BankCall, Registration};
use caudal_ledger::rejection::Rejection;
use caudal_storage::Entry;

use super::saga::{self, BankAttempt, TakeBankAnswer};
use super::{
    AccountActor, AccountContext, AccountOrder, AccountState, AccountView, Question, Target,
    Versions,
};
use crate::commit_writer::{Durable, RequestContext, Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Order};
use crate::ports::BankError;
use crate::records::{self, PROFILE, reads};
use crate::reply::ClaimGuard;

/// How often another client id is drawn after the bank refused one as taken.
const REDRAWS_MAX: u32 = 64;
/// How many client ids are tried to find one that no account of the holder has here.
const DRAWN_MAX: u32 = 1_000;

/// Becomes the account of a registration, and gets a CVU if `opening` says so. The account exists from here on, whether
/// its caller waits or not.
pub struct BecomeAccount {
    /// The fact that creates the account.
    pub registration: Registration,
    /// The order to open it.
    pub opening: Option<ProfileOrder>,
}

impl Order for BecomeAccount {
    type Outcome = AccountView;
    const ALWAYS: bool = true;
}

impl AccountOrder for BecomeAccount {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, ctx: &mut AccountContext) {
        let at = state.account.created_at;
        let fact = AccountFact::Registered(self.registration);
        let first = match records::entry(state.stream(PROFILE), 1, at, &fact) {
            Ok(entry) => entry,
            Err(why) => return state.writer.fail(why, request.reply),
        };
        let policy = state.shared.settings().policy;
        let decided = self.opening.map(|order| {
            let order = state.drawn(&order)?;
            Ok(state.account.decide(&order, &policy)?)
        });
        let facts = match decided.transpose() {
            Ok(facts) => facts.unwrap_or_default(),
            Err(why) => {
                state.actor_status.poison();
                return state.writer.end(Err(why), request);
            }
        };
        state.write(ctx.address(), vec![first], &facts, request);
    }
}

/// Changes who an account is or what it may do.
pub struct ChangeProfile {
    /// The account that is changed.
    pub target: Target,
    /// The change.
    pub order: ProfileOrder,
    /// The versions that the caller has seen; any when `None`.
    pub if_match: Option<Versions>,
}

impl ChangeProfile {
    /// A change whatever version the account has.
    pub const fn new(target: Target, order: ProfileOrder) -> Self {
        Self {
            target,
            order,
            if_match: None,
        }
    }
}

impl Order for ChangeProfile {
    type Outcome = AccountView;
}

impl AccountOrder for ChangeProfile {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, ctx: &mut AccountContext) {
        let version = state.account.profile_seq;
        if self.if_match.is_some_and(|seen| !seen.contains(&version)) {
            return state.writer.end(Err(Failure::Stale), request);
        }
        let policy = state.shared.settings().policy;
        let decided = state.drawn(&self.order).and_then(|order| {
            let decided = state.account.decide(&order, &policy);
            Ok(decided?)
        });
        match decided {
            Err(why) => {
                state.claimed = None;
                state.writer.end(Err(why), request);
            }
            Ok(facts) => state.write(ctx.address(), Vec::new(), &facts, request),
        }
    }
}

/// Answers a key whose first request was cut off while the bank was asked.
pub struct AdoptChange;

impl Order for AdoptChange {
    type Outcome = AccountView;
}

impl AccountOrder for AdoptChange {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let outcome = match (&state.account.pending, &state.account.refusal) {
            (Some(_), _) => Err(Failure::KeyInFlight),
            (None, Some(why)) => Err(Failure::Bank(BankError::Refused(why.clone()))),
            (None, None) => Ok(state.view_after(true)),
        };
        state.writer.end(outcome, request);
    }
}

/// Asks for an account as it is.
pub struct ViewAccount(pub Target);

impl Question for ViewAccount {
    type Answer = AccountView;

    fn target(&self) -> Target {
        self.0
    }

    fn answer(&self, state: &AccountState) -> Result<AccountView, Failure> {
        match state.account.status {
            Status::Void => Err(Rejection::AccountNotFound.into()),
            _ => Ok(state.view()),
        }
    }
}

impl AccountOrder for TakeBankAnswer {
    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, ctx: &mut AccountContext) {
        state.bank_answered(ctx.address(), self.0, self.1);
    }
}

impl AccountState {
    /// Adds a client id to an order for which the bank is asked for a CVU.
    fn drawn(&mut self, order: &ProfileOrder) -> Result<ProfileOrder, Failure> {
        let order = order.clone();
        Ok(if order.draws() {
            order.drawn(self.draw()?)
        } else {
            order
        })
    }

    /// Draws the account's client id from its tenant, holder and code: the first id that the bank has not refused and
    /// that no account of the holder has here or asks for. It is claimed until the bank has answered.
    fn draw(&mut self) -> Result<u64, Failure> {
        let (settings, account) = (self.shared.settings(), &self.account);
        let Shared {
            store, realm, bank, ..
        } = &*self.shared;
        let (store, cuit) = (store.as_ref(), account.holder.cuit);
        let limit = UNCODED_MAX.saturating_add(1);
        let mut others = reads::accounts_of_cuit(store, *realm, cuit, limit)?;
        others.retain(|number| *number != account.number);
        let mark = match &account.code {
            Some(code) => Mark::Code(code),
            None if others.len() < UNCODED_MAX => Mark::Uncoded,
            None => Mark::Number(account.number),
        };
        let mut had = BTreeSet::new();
        for other in others {
            let cvu = reads::listed(store, *realm, other)?.and_then(|it| it.cvu);
            had.extend(cvu.and_then(|cvu| bank.client_in(&cvu)));
        }
        let client = Client {
            tenant: &settings.tenant,
            mode: realm.mode(),
            cuit,
            mark,
        };
        for taken in self.redraws..=self.redraws.saturating_add(DRAWN_MAX) {
            let id = client.id(taken);
            if had.contains(&id) {
                continue;
            }
            if let Some(guard) = saga::claim(&self.shared, account.number, id) {
                self.redraws = taken;
                self.claimed = Some(guard);
                return Ok(id);
            }
        }
        Err(Failure::Overloaded)
    }

    /// Commits facts. If they wait for the bank, the bank is asked once they are durable.
    fn write(
        &mut self,
        actor: Addr<AccountActor>,
        mut entries: Vec<Entry>,
        facts: &[AccountFact],
        request: RequestContext<AccountView>,
    ) {
        let waited = self.account.pending.is_some();
        match self.write_profile(facts) {
            Ok(more) => entries.extend(more),
            Err(why) => return self.writer.fail(why, request.reply),
        }
        let writes = WriteSet::from(entries);
        if waited || self.account.pending.is_none() {
            self.claimed = None;
            let view = self.view_after(!writes.entries.is_empty());
            return self.writer.finish(writes, Ok(view), request);
        }
        self.ask_bank(actor, writes, request);
    }

    fn ask_bank(
        &mut self,
        actor: Addr<AccountActor>,
        mut writes: WriteSet,
        request: RequestContext<AccountView>,
    ) {
        match self.write_open_key(&request) {
            Ok(entries) => writes.entries.extend(entries),
            Err(why) => return self.writer.fail(why, request.reply),
        }
        let durable = self.writer.committed(writes);
        let request_id = request.request_id.clone();
        self.waiter = Some(request);
        self.start_saga(actor, request_id, durable);
    }

    /// Asks the bank for the pending change, once that is on disk.
    pub(super) fn start_saga(
        &mut self,
        actor: Addr<AccountActor>,
        request_id: String,
        durable: Durable,
    ) {
        if let Some(pending) = self.account.pending.clone() {
            self.note_business();
            let saga = saga::Saga {
                shared: Arc::clone(&self.shared),
                pending,
                holder: self.account.holder.clone(),
                cvu: self.account.cvu,
                alias: self.account.alias.clone(),
                account: self.account.number,
                request_id,
            };
            self.shared.tasks.spawn(saga.run(durable, actor));
        }
    }

    /// Takes in the bank's answer: journals the calls, settles the pending change, answers. The claim of the client id
    /// ends when the index shows which account has it.
    fn bank_answered(
        &mut self,
        actor: Addr<AccountActor>,
        attempt: BankAttempt,
        claim: Option<ClaimGuard>,
    ) {
        if !matches!(attempt.result, Err(saga::NoBankAnswer::Unknown(_))) {
            self.claimed = None;
        }
        let answer = match attempt.result {
            Ok(answer) => answer,
            // A CVU that is reopened keeps its client id for ever.
            Err(saga::NoBankAnswer::Taken(why))
                if self.refused_ids >= REDRAWS_MAX || self.account.cvu.is_some() =>
            {
                BankAnswer::Refused(why)
            }
            Err(saga::NoBankAnswer::Taken(_)) => return self.ask_as_another(actor, &attempt.calls),
            Err(saga::NoBankAnswer::NotStarted(why)) => return self.give_up(why),
            Err(saga::NoBankAnswer::Unknown(error)) => {
                return self.bank_unknown(error, &attempt.calls);
            }
        };
        let facts = self.account.settle(&answer);
        let Ok(entries) = self.write_answer(&attempt.calls, &facts) else {
            self.actor_status.poison();
            return;
        };
        self.note_business();
        let writes = WriteSet::from(entries);
        let mut waiter = self.waiter.take();
        let claim = match &mut waiter {
            Some(request) => {
                request.guards.extend(claim);
                None
            }
            None => claim,
        };
        match (waiter, answer) {
            (None, _) => self.writer.commit(writes, move |_| drop(claim)),
            (Some(request), BankAnswer::Refused(why)) => {
                let refused = Err(Failure::Bank(BankError::Refused(why)));
                self.writer.finish(writes, refused, request);
            }
            (Some(request), _) => {
                let view = self.view_after(true);
                self.writer.finish(writes, Ok(view), request);
            }
        }
    }

    /// Asks for the CVU under another client id: the bank has given the last one to somebody else.
    fn ask_as_another(&mut self, actor: Addr<AccountActor>, calls: &[BankCall]) {
        self.refused_ids += 1;
        self.redraws += 1;
        let entries = self.draw().and_then(|client_id| {
            let facts = self.account.ask_as(client_id);
            Ok(self.write_answer(calls, &facts)?)
        });
        let Ok(entries) = entries else {
            self.actor_status.poison();
            return;
        };
        let durable = self.writer.committed(WriteSet::from(entries));
        let waiter = self.waiter.as_ref();
        let request_id = waiter.map_or_else(|| "recovery".to_owned(), |it| it.request_id.clone());
        self.start_saga(actor, request_id, durable);
    }

    fn give_up(&mut self, why: Failure) {
        self.actor_status.poison();
        if let Some(reply) = self.waiter.take().and_then(|request| request.reply) {
            reply.send(Err(why));
        }
    }

    /// The outcome at the bank is unknown. The caller gets that error, and the account keeps waiting for the bank.
    fn bank_unknown(&mut self, error: BankError, calls: &[BankCall]) {
        let entries = match self.write_bank(calls) {
            Ok(entries) => entries,
            Err(why) => return self.give_up(why.into()),
        };
        let waiter = self.waiter.as_mut();
        let reply = waiter.and_then(|request| request.reply.take());
        let writes = WriteSet::from(entries);
        self.writer.commit(writes, move |done| {
            if let Some(reply) = reply {
                reply.send(done.and(Err(Failure::Bank(error))));
            }
        });
    }
}
