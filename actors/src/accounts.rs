//! The actor of one account: owns its balance and voucher log, and takes one turn at a time.
//!
//! **Shape.** The actor works at its [`AccountState`]. What it takes is a type that says how it is decided ([`AccountOrder`]), or
//! a [`Question`]. Each turn is synchronous: decide, apply, hand the facts to the commit writer. Only the answer waits for the
//! disk, so a hot CVU costs no more than others. An order that concerns several accounts is decided in one turn at all
//! their account states (see `joint`).
//!
//! **Bounds.** Whoever was let in at the door finds room in the mailbox ([`crate::in_flight`]). Vouchers that are not
//! durable yet are kept to recognise repeats, and the store's queue bounds how many there are.
//!
//! **Order.** Every turn first releases the holds whose time is over. A repeat of an external id is searched for among
//! the vouchers in flight, then in the index; the claim that the supervisor took makes that sound.
//!
//! **Failure.** A failed commit or a panic ends this actor, and the next order loads the account again. Business that
//! waits for the bank is on disk, and the actor resumes it when it starts.

mod account_state;
pub mod attempts;
mod balances;
mod batch;
mod cases;
mod child;
mod enrolment;
mod holds;
mod joint;
mod loading;
mod messages;
mod posting;
mod profile;
mod remittance;
mod saga;
mod transfers;
mod views;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::{Actor, ActorContext, AsyncContext, Context, Handler, SpawnHandle};
use caudal_ledger::accounts::Account;
use caudal_ledger::facts::Registration;
use caudal_ledger::time::Timestamp;
use tokio::sync::oneshot;

pub use account_state::AccountState;
pub use balances::{QuoteFor, ReadBalance, ReadBalanceAt};
pub use batch::{BULK_PART, BatchCollector, BatchMode, BatchShard, is_kept};
pub use cases::{BookDeparture, CreditParked, DecideTransfer};
pub use child::{Child, Reserved};
pub use enrolment::{AdoptEnrolment, EnrolAccount, FundAnswered, ReadEnrolment};
pub use holds::{ChangeHold, FindHold, PlaceHold, StepHold};
pub use joint::{JointOrder, MultiAccountTxn};
pub use messages::{AccountContext, AccountOrder, Observe, Passivate, Question, Target, Tick};
pub use posting::{BookArrival, Post, Posting, Precondition};
pub use profile::{AdoptChange, BecomeAccount, ChangeProfile, ViewAccount};
pub use transfers::{FindTransfer, HearTransfer, MakeTransfer, ReverseTransfer};
pub use views::{
    AccountView, AccountVoucher, BalanceView, EnrolmentView, HoldView, ItemOutcome, NoticeOutcome,
    Observed, TransferView, Versions,
};

use crate::actor_status::ActorStatus;
use crate::commit_writer::Shared;
use crate::mailbox::{HasResponder, Queued};
use crate::orders::Envelope;
use crate::records::rest::WrittenPart;
use loading::LoadState;

/// After this many movements an account's state is written out, so that loading replays few.
pub const SNAPSHOT_EVERY: u64 = 128;
/// The longest time ahead for which the alarm for the end of a hold is set; when it rings early it is set again.
const ALARM_MAX: Duration = Duration::from_secs(3600);
/// The shortest wait of the alarm while the clock is in doubt: no hold ends meanwhile.
const ALARM_IN_DOUBT: Duration = Duration::from_secs(1);

/// The actor of one account: its state, unless that is lent, and the messages that wait for it.
#[derive(Debug)]
pub struct AccountActor {
    /// `None` while the account state is lent or the account is being read; the actor takes no message then.
    state: Option<Box<AccountState>>,
    coming: LoadState,
    alarm: Option<(Timestamp, SpawnHandle)>,
}

impl AccountActor {
    /// The actor of an account that a registration is about to create.
    pub fn unregistered(
        shared: Arc<Shared>,
        actor_status: Arc<ActorStatus>,
        registration: &Registration,
    ) -> Self {
        let account = Box::new(Account::registered(registration, shared.clock.now()));
        Self {
            state: Some(Box::new(AccountState::new(
                shared,
                actor_status,
                account,
                WrittenPart::default(),
            ))),
            coming: LoadState::Here,
            alarm: None,
        }
    }

    /// Sets the alarm for the next hold that expires.
    fn set_alarm(&mut self, ctx: &mut Context<Self>) {
        let Some(state) = &self.state else { return };
        let next = state.account.next_expiry();
        if self.alarm.as_ref().map(|(at, _)| *at) == next {
            return;
        }
        if let Some((_, alarm)) = self.alarm.take() {
            ctx.cancel_future(alarm);
        }
        if let Some(at) = next {
            let wait = at.millis().saturating_sub(state.now().millis());
            let least = match state.shared.clock.doubt() {
                Some(_) => ALARM_IN_DOUBT,
                None => Duration::ZERO,
            };
            let wait = Duration::from_millis(wait).clamp(least, ALARM_MAX);
            let alarm = ctx.run_later(wait, |actor, ctx| {
                actor.alarm = None;
                match &mut actor.state {
                    // Another actor has the account, or will have it.
                    Some(state)
                        if state.actor_status.is_poisoned() || state.actor_status.retired() =>
                    {
                        ctx.stop()
                    }
                    Some(state) => {
                        state.expire();
                        actor.set_alarm(ctx);
                    }
                    None => {}
                }
            });
            self.alarm = Some((at, alarm));
        }
    }
}

impl AccountState {
    fn observed(&self) -> Observed {
        Observed {
            account: (*self.account).clone(),
            mailbox: self.actor_status.queued.count(),
            pending_commits: self.actor_status.in_flight(),
            active_at: Timestamp::from_millis(self.actor_status.active_at.load(Ordering::Acquire)),
        }
    }
}

impl Actor for AccountActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if let LoadState::Wanted(wanted) = std::mem::replace(&mut self.coming, LoadState::Here) {
            self.load(wanted, ctx);
        }
    }
}

impl AccountActor {
    /// Resumes the open business found with the account.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let Some(state) = self.state.as_mut() else {
            return;
        };
        state.expire();
        state.note_business();
        // It was found after a restart, so it is on disk already, and the bank can be asked at once.
        let on_disk = || {
            let (sender, durable) = oneshot::channel();
            drop(sender.send(Ok(())));
            durable
        };
        let open: Vec<u64> = state.account.transfers.keys().copied().collect();
        for transfer in open {
            let found = (transfer, "recovery".into(), on_disk());
            state.remit(found, true, ctx.address());
        }
        if let Some(number) = state.account.enrolling() {
            let found = (number, "recovery".into(), on_disk());
            state.ask_fund(found, true, ctx.address());
        }
        if state.account.pending.is_some() {
            state.start_saga(ctx.address(), "recovery".into(), on_disk());
        }
        self.set_alarm(ctx);
    }
}

/// Takes the orders that the supervisor forwards and counts as waiting.
impl<O: AccountOrder> Handler<Queued<Envelope<O>>> for AccountActor {
    type Result = ();

    fn handle(&mut self, queued: Queued<Envelope<O>>, ctx: &mut Context<Self>) {
        self.waited(queued.waited());
        Handler::<Envelope<O>>::handle(self, queued.take(), ctx);
    }
}

/// Takes the reports of the tasks that ask the bank, one at a time from each.
impl<O: AccountOrder> Handler<Envelope<O>> for AccountActor {
    type Result = ();

    fn handle(&mut self, mut envelope: Envelope<O>, ctx: &mut Context<Self>) {
        if self.takes(&mut envelope, ctx)
            && let Some(state) = self.state.as_mut()
        {
            envelope.order.decide(state, envelope.request, ctx);
            self.set_alarm(ctx);
        }
        if O::ENDS {
            ctx.stop();
        }
    }
}

/// Takes an order that concerns several accounts.
impl Handler<Queued<MultiAccountTxn>> for AccountActor {
    type Result = ();

    fn handle(&mut self, queued: Queued<MultiAccountTxn>, ctx: &mut Context<Self>) {
        self.waited(queued.waited());
        let mut txn = queued.take();
        if self.takes(&mut txn, ctx) {
            self.join(txn, ctx);
            self.set_alarm(ctx);
        }
    }
}

impl AccountActor {
    fn waited(&self, waited: Duration) {
        if let Some(state) = &self.state {
            state.shared.times.account.record(waited);
        }
    }

    /// Whether a message has its turn now: the account is here and sound, and somebody waits for the message. The holds
    /// that are due are released first.
    fn takes(&mut self, message: &mut impl HasResponder, ctx: &mut Context<Self>) -> bool {
        if self.is_refused(message) {
            return false;
        }
        let Some(state) = self.state.as_mut() else {
            // While the account state is lent the mailbox is paused; an actor without an account state has nothing to answer with.
            ctx.stop();
            return false;
        };
        let actor_status = &state.actor_status;
        actor_status
            .active_at
            .store(state.now().millis(), Ordering::Release);
        if actor_status.is_poisoned() {
            // Dropping the message returns "outcome unknown", which is true.
            ctx.stop();
            return false;
        }
        if message.is_left() {
            return false;
        }
        state.expire();
        true
    }
}
