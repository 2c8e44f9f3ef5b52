//! The actor of one account: owns its balance and voucher log, and takes one turn at a time.
//!
//! **Shape.** The actor works at its [`Desk`]. What it takes is a type that says how it is decided ([`AccountOrder`]), or
//! a [`Question`]. Each turn is synchronous: decide, apply, hand the facts to the scribe. Only the answer waits for the
//! disk, so a hot CVU costs no more than others. An order that concerns several accounts is decided in one turn at all
//! their desks (see `joint`).
//!
//! **Bounds.** Whoever was let in at the door finds room in the mailbox ([`crate::in_flight`]). Vouchers that are not
//! durable yet are kept to recognise repeats, and the store's queue bounds how many there are.
//!
//! **Order.** Every turn first releases the holds whose time is over. A repeat of an external id is searched for among
//! the vouchers in flight, then in the index; the claim that the supervisor took makes that sound.
//!
//! **Failure.** A failed commit or a panic ends this actor, and the next order loads the account again. Business that
//! waits for the bank is on disk, and the actor resumes it when it starts.

mod balances;
mod batch;
mod cases;
mod child;
mod desk;
pub mod enrolment;
mod holds;
mod joint;
mod loading;
mod messages;
mod posting;
mod profile;
pub mod remittance;
mod reversals;
pub mod saga;
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

pub use balances::{QuoteFor, ReadBalance, ReadBalanceAt};
pub use batch::{BULK_PART, BatchMode, Gather, Share, is_kept};
pub use cases::{BookDeparture, CreditParked, DecideTransfer};
pub use child::{Child, Reserved};
pub use desk::Desk;
pub use enrolment::{AdoptEnrolment, EnrolAccount, FundAnswered, ReadEnrolment};
pub use holds::{FindHold, PlaceHold, StepHold};
pub use joint::{Convoy, Joint};
pub use messages::{AccountContext, AccountOrder, Observe, Passivate, Question, Target, Tick};
pub use posting::{BookArrival, Ground, Post, Posting};
pub use profile::{AdoptChange, BecomeAccount, ChangeProfile, ViewAccount};
pub use reversals::ReverseTransfer;
pub use transfers::{FindTransfer, HearTransfer, MakeTransfer};
pub use views::{
    AccountView, BalanceView, EnrolmentView, Heard, HoldView, ItemOutcome, Observed, Placed,
    TransferView, Versions,
};

use crate::mailbox::{Asked, Queued};
use crate::orders::Envelope;
use crate::records::rest::Left;
use crate::scribe::Shared;
use crate::vitals::Vitals;
use loading::Coming;

/// After this many movements an account's state is written out, so that loading replays few.
pub const SNAPSHOT_EVERY: u64 = 128;
/// The longest time ahead for which the alarm for the end of a hold is set; when it rings early it is set again.
const ALARM_MAX: Duration = Duration::from_secs(3600);
/// The shortest wait of the alarm while the clock is in doubt: no hold ends meanwhile.
const ALARM_IN_DOUBT: Duration = Duration::from_secs(1);

/// The actor of one account: its desk, while it is at home, and the messages that wait for it.
#[derive(Debug)]
pub struct AccountActor {
    /// `None` while the desk is lent or the account is being read; the actor takes no message then.
    desk: Option<Box<Desk>>,
    coming: Coming,
    alarm: Option<(Timestamp, SpawnHandle)>,
}

impl AccountActor {
    /// The actor of an account that a registration is about to create.
    pub fn unborn(shared: Arc<Shared>, vitals: Arc<Vitals>, registration: &Registration) -> Self {
        let account = Box::new(Account::registered(registration, shared.clock.now()));
        Self {
            desk: Some(Box::new(Desk::new(
                shared,
                vitals,
                account,
                Left::default(),
            ))),
            coming: Coming::Here,
            alarm: None,
        }
    }

    /// Sets the alarm for the next hold that expires.
    fn set_alarm(&mut self, ctx: &mut Context<Self>) {
        let Some(desk) = &self.desk else { return };
        let next = desk.account.next_expiry();
        if self.alarm.as_ref().map(|(at, _)| *at) == next {
            return;
        }
        if let Some((_, alarm)) = self.alarm.take() {
            ctx.cancel_future(alarm);
        }
        if let Some(at) = next {
            let wait = at.millis().saturating_sub(desk.now().millis());
            let least = match desk.shared.clock.doubt() {
                Some(_) => ALARM_IN_DOUBT,
                None => Duration::ZERO,
            };
            let wait = Duration::from_millis(wait).clamp(least, ALARM_MAX);
            let alarm = ctx.run_later(wait, |actor, ctx| {
                actor.alarm = None;
                match &mut actor.desk {
                    // Another actor has the account, or will have it.
                    Some(desk) if desk.vitals.doubtful() || desk.vitals.retired() => ctx.stop(),
                    Some(desk) => {
                        desk.expire();
                        actor.set_alarm(ctx);
                    }
                    None => {}
                }
            });
            self.alarm = Some((at, alarm));
        }
    }
}

impl Desk {
    fn observed(&self) -> Observed {
        Observed {
            account: (*self.account).clone(),
            mailbox: self.vitals.queued.count(),
            pending_commits: self.vitals.in_flight(),
            active_at: Timestamp::from_millis(self.vitals.active_at.load(Ordering::Acquire)),
        }
    }
}

impl Actor for AccountActor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        if let Coming::Wanted(wanted) = std::mem::replace(&mut self.coming, Coming::Here) {
            self.load(wanted, ctx);
        }
    }
}

impl AccountActor {
    /// Resumes the open business found with the account.
    fn begin(&mut self, ctx: &mut Context<Self>) {
        let Some(desk) = self.desk.as_mut() else {
            return;
        };
        desk.expire();
        desk.note_business();
        // It was found after a restart, so it is on disk already, and the bank can be asked at once.
        let on_disk = || {
            let (sender, durable) = oneshot::channel();
            drop(sender.send(Ok(())));
            durable
        };
        let open: Vec<u64> = desk.account.transfers.keys().copied().collect();
        for transfer in open {
            let found = (transfer, "recovery".into(), on_disk());
            desk.remit(found, true, ctx.address());
        }
        if let Some(number) = desk.account.enrolling() {
            let found = (number, "recovery".into(), on_disk());
            desk.ask_fund(found, true, ctx.address());
        }
        if desk.account.pending.is_some() {
            desk.start_saga(ctx.address(), "recovery".into(), on_disk());
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
            && let Some(desk) = self.desk.as_mut()
        {
            envelope.order.decide(desk, envelope.ticket, ctx);
            self.set_alarm(ctx);
        }
        if O::ENDS {
            ctx.stop();
        }
    }
}

/// Takes an order that concerns several accounts.
impl Handler<Queued<Convoy>> for AccountActor {
    type Result = ();

    fn handle(&mut self, queued: Queued<Convoy>, ctx: &mut Context<Self>) {
        self.waited(queued.waited());
        let mut convoy = queued.take();
        if self.takes(&mut convoy, ctx) {
            self.join(convoy, ctx);
            self.set_alarm(ctx);
        }
    }
}

impl AccountActor {
    fn waited(&self, waited: Duration) {
        if let Some(desk) = &self.desk {
            desk.shared.times.account.record(waited);
        }
    }

    /// Whether a message has its turn now: the account is here and sound, and somebody waits for the message. The holds
    /// that are due are released first.
    fn takes(&mut self, message: &mut impl Asked, ctx: &mut Context<Self>) -> bool {
        if self.is_refused(message) {
            return false;
        }
        let Some(desk) = self.desk.as_mut() else {
            // While the desk is lent the mailbox is paused; an actor without a desk has nothing to answer with.
            ctx.stop();
            return false;
        };
        let vitals = &desk.vitals;
        vitals
            .active_at
            .store(desk.now().millis(), Ordering::Release);
        if vitals.doubtful() {
            // Dropping the message answers "outcome unknown", which is true.
            ctx.stop();
            return false;
        }
        if message.is_left() {
            return false;
        }
        desk.expire();
        true
    }
}
