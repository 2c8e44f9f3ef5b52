//! The actor of one account: owns its balance and voucher log, and takes one turn at a time.
//!
//! **Shape.** Each turn is synchronous: decide, apply, hand the facts to the [`Scribe`]. Only the
//! answer waits for the disk, so a hot CVU costs no more than others.
//!
//! **Bounds.** The mailbox holds [`MAILBOX`] messages; vouchers that are not durable yet are kept
//! for recognising repeats, and are bounded by the store's queue.
//!
//! **Order.** A repeat of an external id is looked for among the vouchers in flight, then in the
//! index; the claim that the supervisor took makes that sound.
//!
//! **Failure.** A failed commit or a panic ends this actor, and the next order loads the account
//! again. What waits for the bank is on disk, and is taken up again when the actor starts.

mod messages;
pub mod saga;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler};
use caudal_ledger::accounts::{Account, Order, PostingContext, Status};
use caudal_ledger::facts::{AccountFact, LedgerFactRef, Registration};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::limits::Levels;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::{Outcome, PostAdjustment, Voucher};
use caudal_storage::{Entry, Row, StoreError, StreamId};
use tokio::sync::oneshot;

pub use messages::{
    AccountMessage, AccountView, BalanceView, Observed, Placed, Settings, Versions,
};

use crate::accounts::saga::BankSaid;
use crate::failure::Failure;
use crate::ports::BankError;
use crate::records::projection::Place;
use crate::records::{self, BANK, LEDGER, PROFILE, Tail, keys, reads};
use crate::reply::Reply;
use crate::scribe::{Page, Scribe, Shared, Ticket, Vitals};

/// Messages that wait for one account at most.
pub const MAILBOX: usize = 1024;
/// After so many movements an account's state is written out, so that loading replays few.
pub const SNAPSHOT_EVERY: u64 = 128;

/// The actor.
#[derive(Debug)]
pub struct AccountActor {
    shared: Arc<Shared>,
    vitals: Arc<Vitals>,
    scribe: Scribe,
    account: Account,
    /// Nothing of it is on disk yet.
    unborn: bool,
    /// Vouchers that may not be durable yet, oldest first.
    unsettled: VecDeque<Arc<Voucher>>,
    snapshot_at: u64,
    bank_tail: Option<Tail>,
    waiter: Option<(Ticket<AccountView>, Arc<Settings>)>,
}

impl AccountActor {
    /// The actor of an account as loaded, after replaying so many movements.
    pub fn loaded(
        shared: Arc<Shared>,
        vitals: Arc<Vitals>,
        account: Account,
        replayed: u64,
    ) -> Self {
        vitals
            .durable_sequence
            .store(account.sequence, Ordering::Release);
        let scribe = Scribe::new(Arc::clone(&shared), Arc::clone(&vitals), account.number);
        Self {
            shared,
            vitals,
            scribe,
            snapshot_at: account.sequence.saturating_sub(replayed),
            account,
            unborn: false,
            unsettled: VecDeque::new(),
            bank_tail: None,
            waiter: None,
        }
    }

    /// The actor of an account that a registration is about to make.
    pub fn unborn(shared: Arc<Shared>, vitals: Arc<Vitals>, registration: &Registration) -> Self {
        let account = Account::registered(registration, shared.clock.now());
        Self {
            unborn: true,
            ..Self::loaded(shared, vitals, account, 0)
        }
    }

    fn stream(&self, kind: u8) -> StreamId {
        records::account_stream(self.shared.realm, self.account.number, kind)
    }

    fn view(&self, settings: &Settings) -> AccountView {
        let levels = Levels {
            account: self.account.limits,
            psp: settings.psp,
            platform: settings.platform,
        };
        AccountView {
            account: self.account.clone(),
            levels,
            as_of: self.shared.clock.now(),
        }
    }

    /// The voucher that holds an external id: among those in flight, then in the index.
    fn existing(
        &mut self,
        order: &PostAdjustment,
    ) -> Result<Option<(AccountNo, Arc<Voucher>)>, StoreError> {
        let durable = self.vitals.durable_sequence.load(Ordering::Acquire);
        while self
            .unsettled
            .front()
            .is_some_and(|v| v.sequence <= durable)
        {
            self.unsettled.pop_front();
        }
        let direction = order.voucher_type.sense;
        let same = |v: &&Arc<Voucher>| {
            v.direction == direction && v.external_id.as_ref() == Some(&order.external_id)
        };
        if let Some(found) = self.unsettled.iter().find(same) {
            return Ok(Some((self.account.number, Arc::clone(found))));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let held =
            reads::voucher_by_external(store.as_ref(), *realm, direction, &order.external_id)?;
        Ok(held.map(|(account, voucher)| (account, Arc::new(voucher))))
    }

    fn post(&mut self, order: &PostAdjustment, dry_run: bool, ticket: Ticket<Outcome<Placed>>) {
        let existing = match self.existing(order) {
            Ok(existing) => existing,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        let context = PostingContext {
            realm: self.shared.realm,
            now: self.shared.clock.now(),
            existing: existing
                .as_ref()
                .map(|(number, voucher)| (*number, voucher.as_ref())),
        };
        let account = self.account.number;
        let placed = |voucher: Arc<Voucher>| Placed { account, voucher };
        let mut page = Page::default();
        let outcome = match self.account.decide_post(order, context) {
            Err(rejection) => Err(rejection.into()),
            Ok(Outcome::Replayed(voucher)) => Ok(Outcome::Replayed(placed(Arc::new(voucher)))),
            Ok(Outcome::Recorded(voucher)) => {
                let voucher = Arc::new(voucher);
                if !dry_run {
                    match self.record(&voucher) {
                        Ok(recorded) => page = recorded,
                        Err(why) => return self.scribe.fail(why, ticket.reply),
                    }
                }
                Ok(Outcome::Recorded(placed(voucher)))
            }
        };
        let ticket = if dry_run {
            Ticket {
                keyed: None,
                ..ticket
            }
        } else {
            ticket
        };
        self.scribe.finish(page, outcome, ticket);
    }

    /// Applies a voucher and gives the page that makes it durable.
    fn record(&mut self, voucher: &Arc<Voucher>) -> Result<Page, StoreError> {
        let fact = LedgerFactRef::Posted(voucher);
        let entry = records::entry(self.stream(LEDGER), voucher.sequence, voucher.at, &fact)?;
        self.account.apply_voucher(voucher);
        self.unsettled.push_back(Arc::clone(voucher));
        let mut hints = Vec::new();
        if voucher.sequence.saturating_sub(self.snapshot_at) >= SNAPSHOT_EVERY {
            let key = keys::snapshot(self.shared.realm, self.account.number);
            hints.push(Row {
                key,
                value: Some(records::encode(&self.account)?),
            });
            self.snapshot_at = voucher.sequence;
        }
        Ok(Page {
            entries: vec![entry],
            hints,
            sequence: Some(voucher.sequence),
        })
    }

    /// Applies facts of the profile and gives their entries.
    fn write_profile(&mut self, facts: &[AccountFact]) -> Result<Vec<Entry>, StoreError> {
        let stream = self.stream(PROFILE);
        let mut entries = Vec::with_capacity(facts.len());
        for fact in facts {
            let seq = self.account.profile_seq.saturating_add(1);
            let at = self.shared.clock.now().max(self.account.updated_at);
            entries.push(records::entry(stream, seq, at, fact)?);
            self.account.apply(fact, seq, at);
        }
        Ok(entries)
    }

    fn register(
        &mut self,
        ctx: &mut Context<Self>,
        registration: Registration,
        opening: Option<&Order>,
        settings: Arc<Settings>,
        ticket: Ticket<AccountView>,
    ) {
        let at = self.account.created_at;
        let fact = AccountFact::Registered(registration);
        let first = match records::entry(self.stream(PROFILE), 1, at, &fact) {
            Ok(entry) => entry,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        self.unborn = false;
        let facts = match opening.map(|order| self.account.decide(order, &settings.policy)) {
            None => Vec::new(),
            Some(Ok(facts)) => facts,
            Some(Err(rejection)) => {
                self.vitals.doubtful.store(true, Ordering::Release);
                return self
                    .scribe
                    .finish(Page::default(), Err(rejection.into()), ticket);
            }
        };
        self.write(ctx, vec![first], &facts, settings, ticket);
    }

    fn change(
        &mut self,
        ctx: &mut Context<Self>,
        order: &Order,
        if_match: Option<&Versions>,
        settings: Arc<Settings>,
        ticket: Ticket<AccountView>,
    ) {
        let version = (self.account.profile_seq, self.account.sequence);
        if if_match.is_some_and(|seen| !seen.contains(&version)) {
            return self
                .scribe
                .finish(Page::default(), Err(Failure::Stale), ticket);
        }
        match self.account.decide(order, &settings.policy) {
            Err(rejection) => self
                .scribe
                .finish(Page::default(), Err(rejection.into()), ticket),
            Ok(facts) => self.write(ctx, Vec::new(), &facts, settings, ticket),
        }
    }

    /// Commits facts; where they wait for the bank, the bank is asked once they are durable.
    fn write(
        &mut self,
        ctx: &mut Context<Self>,
        mut entries: Vec<Entry>,
        facts: &[AccountFact],
        settings: Arc<Settings>,
        ticket: Ticket<AccountView>,
    ) {
        let waited = self.account.pending.is_some();
        match self.write_profile(facts) {
            Ok(more) => entries.extend(more),
            Err(why) => return self.scribe.fail(why, ticket.reply),
        }
        let page = Page {
            entries,
            ..Page::default()
        };
        if waited || self.account.pending.is_none() {
            let view = self.view(&settings);
            return self.scribe.finish(page, Ok(view), ticket);
        }
        self.ask_bank(ctx, page, settings, ticket);
    }

    fn ask_bank(
        &mut self,
        ctx: &mut Context<Self>,
        mut page: Page,
        settings: Arc<Settings>,
        ticket: Ticket<AccountView>,
    ) {
        let now = self.shared.clock.now();
        if let Some(keyed) = &ticket.keyed {
            // Until the bank's outcome is known, the key leads to the account.
            let open = keyed
                .scope
                .answer((0, String::new()), now, Some(self.account.number));
            match self.scribe.answer(&open, now) {
                Ok(entry) => page.entries.push(entry),
                Err(why) => return self.scribe.fail(why, ticket.reply),
            }
        }
        let (sender, durable) = oneshot::channel();
        self.scribe
            .commit(page, move |done| drop(sender.send(done)));
        let request_id = ticket.request_id.clone();
        self.waiter = Some((ticket, settings));
        self.start_saga(ctx, request_id, durable);
    }

    fn start_saga(
        &mut self,
        ctx: &mut Context<Self>,
        request_id: String,
        durable: oneshot::Receiver<Result<(), Failure>>,
    ) {
        if let Some(pending) = self.account.pending.clone() {
            self.vitals.busy.store(true, Ordering::Release);
            let saga = saga::Saga {
                bank: Arc::clone(&self.shared.bank),
                pending,
                holder: self.account.holder.clone(),
                cvu: self.account.cvu,
                request_id,
            };
            actix::spawn(saga.run(durable, ctx.address()));
        }
    }

    /// Takes in what the bank said: journals the calls, settles what is pending, answers.
    fn bank_said(&mut self, said: BankSaid) {
        let answer = match said.result {
            Ok(answer) => answer,
            Err(saga::Trouble::NotStarted(why)) => return self.give_up(why),
            Err(saga::Trouble::Unknown(error)) => return self.bank_unknown(error, &said.calls),
        };
        let facts = self.account.settle(&answer);
        let entries = self.write_bank(&said.calls).and_then(|mut entries| {
            entries.extend(self.write_profile(&facts)?);
            Ok(entries)
        });
        let Ok(entries) = entries else {
            self.vitals.doubtful.store(true, Ordering::Release);
            return;
        };
        if self.account.pending.is_none() {
            self.vitals.busy.store(false, Ordering::Release);
        }
        let page = Page {
            entries,
            ..Page::default()
        };
        match (self.waiter.take(), answer) {
            (None, _) => self.scribe.commit(page, |_| {}),
            (Some((ticket, _)), caudal_ledger::accounts::BankAnswer::Refused(why)) => {
                let refused = Err(Failure::Bank(BankError::Refused(why)));
                self.scribe.finish(page, refused, ticket);
            }
            (Some((ticket, settings)), _) => {
                let view = self.view(&settings);
                self.scribe.finish(page, Ok(view), ticket);
            }
        }
    }

    fn give_up(&mut self, why: Failure) {
        self.vitals.doubtful.store(true, Ordering::Release);
        if let Some((ticket, _)) = self.waiter.take()
            && let Some(reply) = ticket.reply
        {
            reply.send(Err(why));
        }
    }

    /// Nobody knows what happened at the bank: the asker is told so, the account goes on waiting.
    fn bank_unknown(&mut self, error: BankError, calls: &[caudal_ledger::facts::BankCall]) {
        match self.write_bank(calls) {
            Ok(entries) => {
                let reply = self
                    .waiter
                    .as_mut()
                    .and_then(|(ticket, _)| ticket.reply.take());
                self.scribe.commit(
                    Page {
                        entries,
                        ..Page::default()
                    },
                    move |done| {
                        if let Some(reply) = reply {
                            reply.send(done.and(Err(Failure::Bank(error))));
                        }
                    },
                );
            }
            Err(why) => self.give_up(why.into()),
        }
    }

    fn write_bank(
        &mut self,
        calls: &[caudal_ledger::facts::BankCall],
    ) -> Result<Vec<Entry>, StoreError> {
        let stream = self.stream(BANK);
        let mut tail = match self.bank_tail {
            Some(tail) => tail,
            None => Tail::read(self.shared.store.as_ref(), stream)?,
        };
        let now = self.shared.clock.now();
        let mut entries = Vec::with_capacity(calls.len());
        for call in calls {
            entries.push(tail.next(stream, now, call)?);
        }
        self.bank_tail = Some(tail);
        Ok(entries)
    }

    fn adopt(&mut self, settings: &Settings, ticket: Ticket<AccountView>) {
        let outcome = match (&self.account.pending, &self.account.refusal) {
            (Some(_), _) => Err(Failure::KeyInFlight),
            (None, Some(why)) => Err(Failure::Bank(BankError::Refused(why.clone()))),
            (None, None) => Ok(self.view(settings)),
        };
        self.scribe.finish(Page::default(), outcome, ticket);
    }

    fn balance(&self) -> Result<BalanceView, Failure> {
        let cvu = self.account.cvu.ok_or(Rejection::AccountWithoutCvu)?;
        Ok(BalanceView {
            account: self.account.number,
            cvu,
            balance: self.account.balance,
            sequence: self.account.sequence,
            last_movement_at: self.account.last_movement_at,
            as_of: self.shared.clock.now(),
        })
    }

    /// The balance after the last movement up to and with an instant.
    fn balance_at(&self, at: Timestamp) -> Result<BalanceView, Failure> {
        let now = self.balance()?;
        if self.account.last_movement_at.is_none_or(|last| last <= at) {
            return Ok(BalanceView { as_of: at, ..now });
        }
        // What is not durable yet is still in memory, with its time.
        if let Some(voucher) = self.unsettled.iter().rev().find(|v| v.at <= at) {
            return Ok(then(&now, at, Some(voucher)));
        }
        let Shared { store, realm, .. } = &*self.shared;
        let Some(sequence) = store.seq_at(self.stream(LEDGER), at.millis())? else {
            return Ok(then(&now, at, None));
        };
        let place = Place {
            account: self.account.number,
            sequence,
        };
        let voucher = reads::voucher(store.as_ref(), *realm, place)?;
        Ok(then(&now, at, voucher.as_ref()))
    }

    /// Answers a read when everything that it has seen is durable.
    fn show<T: Send + 'static>(
        &mut self,
        value: Result<T, Failure>,
        reply: Reply<Result<T, Failure>>,
    ) {
        self.scribe
            .commit(Page::default(), move |done| reply.send(done.and(value)));
    }
}

fn then(now: &BalanceView, at: Timestamp, voucher: Option<&Voucher>) -> BalanceView {
    BalanceView {
        balance: voucher.map(|v| v.after).unwrap_or_default(),
        sequence: voucher.map_or(0, |v| v.sequence),
        last_movement_at: voucher.map(|v| v.at),
        as_of: at,
        ..*now
    }
}

impl Actor for AccountActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if !self.unborn && self.account.pending.is_some() {
            // Found again after a restart: on disk already, so the bank can be asked at once.
            let (sender, durable) = oneshot::channel();
            drop(sender.send(Ok(())));
            self.start_saga(ctx, "recovery".into(), durable);
        }
    }
}

impl Handler<AccountMessage> for AccountActor {
    type Result = ();

    fn handle(&mut self, message: AccountMessage, ctx: &mut Context<Self>) {
        if !matches!(message, AccountMessage::BankSaid(_)) {
            self.vitals.queued.fetch_sub(1, Ordering::AcqRel);
        }
        self.vitals
            .active_at
            .store(self.shared.clock.now().millis(), Ordering::Release);
        if self.vitals.doubtful() {
            // Dropping the message answers "outcome unknown", which is true.
            return ctx.stop();
        }
        match message {
            AccountMessage::Post {
                order,
                dry_run,
                ticket,
            } => self.post(&order, dry_run, ticket),
            AccountMessage::Register {
                registration,
                opening,
                settings,
                ticket,
            } => {
                self.register(ctx, registration, opening.as_ref(), settings, ticket);
            }
            AccountMessage::Change {
                order,
                if_match,
                settings,
                ticket,
            } => {
                self.change(ctx, &order, if_match.as_ref(), settings, ticket);
            }
            AccountMessage::Adopt { settings, ticket } => self.adopt(&settings, ticket),
            AccountMessage::View(settings, reply) => {
                let view = match self.account.status {
                    Status::Void => Err(Rejection::AccountNotFound.into()),
                    _ => Ok(self.view(&settings)),
                };
                self.show(view, reply);
            }
            AccountMessage::BalanceOf(reply) => self.show(self.balance(), reply),
            AccountMessage::BalanceAt(at, reply) => self.show(self.balance_at(at), reply),
            AccountMessage::BankSaid(said) => self.bank_said(said),
            AccountMessage::Observe(reply) => reply.send(Observed {
                account: self.account.clone(),
                mailbox: self.vitals.queued.load(Ordering::Acquire),
                pending_commits: self.vitals.in_flight.load(Ordering::Acquire),
                active_at: Timestamp::from_millis(self.vitals.active_at.load(Ordering::Acquire)),
            }),
            AccountMessage::Passivate => ctx.stop(),
        }
    }
}
