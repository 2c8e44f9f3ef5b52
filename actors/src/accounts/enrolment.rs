//! Enrols an account in remuneration: writes the intent to disk, asks the fund until it gives a final answer, and
//! records the answer. This runs beside the account's other business.
//!
//! **Order.** The enrolment's reference at the bank is durable before the first call, and the bank makes one enrolment
//! of one reference. It is a digest of the request and of how often it was made before, so that the same order after an
//! older copy of the store was put back finds the existing enrolment. If an earlier try may have reached the bank (no
//! answer, a crash), its status is asked first, so that a refusal of the second request never hides the success of the
//! first one. Nothing is sent while the realm is held.
//!
//! **Bounds.** The calls count among those that the realm may have under way at the bank. Between tries the pause
//! doubles from the first to the last of [`Pauses`]. The number of tries has no bound: a broker may take days.
//!
//! **Failure.** The client gets the fund's first answer, or `Pending` if there is none; the account
//! keeps asking, also after a restart.

use std::sync::Arc;

use actix::{Addr, AsyncContext as _};
use caudal_ledger::facts::{AccountFact, BankCall, BankRefusal};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::remuneration::{Enrol, Enrolment, EnrolmentState, FundWord};
use caudal_storage::StoreError;
use tokio::sync::{Semaphore, oneshot};

use super::{AccountActor, AccountContext, AccountOrder, Desk, EnrolmentView, Question, Target};
use crate::failure::Failure;
use crate::hold::Hold;
use crate::orders::{Envelope, Order, TicketOf};
use crate::persist::persist;
use crate::ports::{BankError, BankGateway, EnrolmentOrder};
use crate::scribe::Write;
use crate::settings::Pauses;

/// The fund's answer about an enrolment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Word {
    /// The state of the enrolment.
    Answered(FundWord),
    /// There is no such enrolment and will be none.
    Refused(BankRefusal),
    /// Nothing that can be relied on.
    Unknown,
}

/// The result of asking the fund, with every call that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FundSaid {
    /// The number of the enrolment.
    pub enrolment: u64,
    /// The fund's answer.
    pub word: Word,
    /// The calls, oldest first.
    pub calls: Vec<BankCall>,
}

/// An enrolment that the fund is to be asked for once it is on disk.
pub(super) type Started = (u64, String, oneshot::Receiver<Result<(), Failure>>);

/// One enrolment that waits for the fund.
struct Enrolling {
    bank: Arc<dyn BankGateway>,
    slots: Arc<Semaphore>,
    hold: Arc<Hold>,
    /// Whether the realm was held when the account ordered it.
    held: bool,
    pauses: Pauses,
    enrolment: u64,
    order: EnrolmentOrder,
    /// Whether the fund may have been asked for it already.
    found: bool,
    request_id: String,
}

impl Enrolling {
    /// Runs until the fund has given a final answer or the actor is gone; a later actor takes it up again.
    async fn run(
        self,
        durable: oneshot::Receiver<Result<(), Failure>>,
        account: Addr<AccountActor>,
    ) {
        if !matches!(durable.await, Ok(Ok(()))) {
            // The intent never became durable, so the fund is not asked. The account is in doubt, so any message stops
            // its actor, which also answers the waiting caller.
            let (sender, _) = oneshot::channel();
            let nothing = FundSaid {
                enrolment: self.enrolment,
                word: Word::Unknown,
                calls: Vec::new(),
            };
            let nothing = TakeFundAnswer(nothing, sender);
            account.send(Envelope::from(nothing)).await.ok();
            return;
        }
        let asks = async |again| self.ask_until_over(again, &account).await;
        persist("enrolment", asks).await;
    }

    async fn ask_until_over(&self, again: bool, account: &Addr<AccountActor>) {
        let mut pause = self.pauses.first;
        let mut asked = self.found || again;
        // An attempt that was cut off may have waited for the end of a hold: the account is to be asked first.
        let mut held = self.held || again;
        loop {
            let Ok(slot) = self.slots.acquire().await else {
                return;
            };
            let (word, calls) = self.ask(asked, held).await;
            drop(slot);
            let waits = word.is_none();
            asked |= !waits;
            held = self.hold.is_held();
            if self.is_over(account, word, calls).await {
                return;
            }
            if waits {
                self.hold.leave().await;
                held = false;
                if self.is_over(account, None, Vec::new()).await {
                    return;
                }
                continue;
            }
            self.hold.pause(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// Tells the account the result of a try. Returns whether the fund need not be asked any more.
    async fn is_over(
        &self,
        account: &Addr<AccountActor>,
        word: Option<Word>,
        calls: Vec<BankCall>,
    ) -> bool {
        let said = FundSaid {
            enrolment: self.enrolment,
            word: word.unwrap_or(Word::Unknown),
            calls,
        };
        let (sender, waits) = oneshot::channel();
        let said = TakeFundAnswer(said, sender);
        account.send(Envelope::from(said)).await.is_err() || !waits.await.unwrap_or(false)
    }

    /// Asks for the state of the enrolment, and requests it if the bank does not know it. If the bank does not know it
    /// and the realm is held, there is no answer.
    async fn ask(&self, asked: bool, held: bool) -> (Option<Word>, Vec<BankCall>) {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        if asked {
            let reply = bank.fund_position(&self.order.reference, id).await;
            calls.extend(reply.calls);
            match reply.result {
                Ok(Some(answered)) => return (Some(Word::Answered(answered.word)), calls),
                Ok(None) => {}
                // A refusal to report is no refusal of the enrolment.
                Err(_) => return (Some(Word::Unknown), calls),
            }
        }
        if held {
            return (None, calls);
        }
        let reply = bank.enrol(&self.order, id).await;
        calls.extend(reply.calls);
        let word = match reply.result {
            Ok(answered) => Word::Answered(answered),
            Err(BankError::Refused(why)) => Word::Refused(why),
            Err(BankError::Failed { .. } | BankError::TimedOut) => Word::Unknown,
        };
        (Some(word), calls)
    }
}

/// Enrols an account in the fund that the tenant's bank offers. A repeat gets the state of the first.
pub struct EnrolAccount {
    /// The account that is enrolled.
    pub target: Target,
    /// The fund and the brokerage account.
    pub order: Enrol,
}

impl Order for EnrolAccount {
    type Outcome = EnrolmentView;
}

impl AccountOrder for EnrolAccount {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, ctx: &mut AccountContext) {
        let settings = desk.shared.settings();
        let tenant = (settings.tenant.as_str(), settings.mode);
        let fact = match desk.account.decide_enrolment(&self.order, tenant) {
            Ok(Some(fact)) => fact,
            Ok(None) => {
                let view = desk.enrolment_view(true);
                return desk.scribe.end(Ok(view), ticket);
            }
            Err(rejection) => {
                let refused = Err(rejection.into());
                return desk.scribe.end(refused, ticket);
            }
        };
        let mut entries = match desk.write_profile(&[fact]) {
            Ok(entries) => entries,
            Err(why) => return desk.scribe.fail(why, ticket.reply),
        };
        if let Some(keyed) = &ticket.keyed {
            // Until the fund's first answer is known, the key leads to the account.
            let now = desk.now();
            let open = (0, String::new());
            let open = keyed.scope.answer(open, now, Some(desk.account.number));
            match desk.scribe.answer(open, now) {
                Ok(more) => entries.extend(more),
                Err(why) => return desk.scribe.fail(why, ticket.reply),
            }
        }
        let durable = desk.scribe.committed(Write::from(entries));
        let request_id = ticket.request_id.clone();
        if let Some(number) = desk.account.enrolling() {
            desk.fund_waiter = Some((number, ticket));
            desk.ask_fund((number, request_id, durable), false, ctx.address());
        }
    }
}

/// Answers a key whose first request to enrol was cut off while the bank was asked.
pub struct AdoptEnrolment(pub Enrol);

impl Order for AdoptEnrolment {
    type Outcome = EnrolmentView;
}

impl AccountOrder for AdoptEnrolment {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        let known = desk.account.enrolment.as_ref();
        let outcome = match known.filter(|known| known.is_of(&self.0)) {
            // Another enrolment has begun since; the end of the first one is no longer known.
            None => Err(Rejection::EnrolledOtherwise.into()),
            Some(known) => match (&known.refusal, known.state) {
                (Some(why), EnrolmentState::Rejected) => {
                    Err(Failure::Bank(BankError::Refused(why.clone())))
                }
                _ => Ok(desk.enrolment_view(false)),
            },
        };
        desk.scribe.end(outcome, ticket);
    }
}

/// The fund's answer about an enrolment that waits; the channel gets whether it still waits.
struct TakeFundAnswer(FundSaid, oneshot::Sender<bool>);

impl Order for TakeFundAnswer {
    type Outcome = ();
}

impl AccountOrder for TakeFundAnswer {
    fn decide(self, desk: &mut Desk, _: TicketOf<Self>, _: &mut AccountContext) {
        let Self(said, waits) = self;
        let enrolment = said.enrolment;
        desk.fund_said(said, true);
        // If the task that asked is gone, nobody asks again.
        waits.send(desk.account.enrolling() == Some(enrolment)).ok();
    }
}

/// Reports the fund's answer to somebody's question about an account.
pub struct FundAnswered(pub AccountNo, pub FundSaid);

impl Order for FundAnswered {
    type Outcome = EnrolmentView;
    const ALWAYS: bool = true;
}

impl AccountOrder for FundAnswered {
    fn decide(self, desk: &mut Desk, ticket: TicketOf<Self>, _: &mut AccountContext) {
        desk.fund_said(self.1, false);
        let view = desk.enrolment_view(false);
        desk.scribe.end(Ok(view), ticket);
    }
}

/// Asks for the last enrolment of an account as it is.
pub struct ReadEnrolment(pub Target);

impl Question for ReadEnrolment {
    type Answer = EnrolmentView;

    fn target(&self) -> Target {
        self.0
    }

    fn answer(&self, desk: &Desk) -> Result<EnrolmentView, Failure> {
        Ok(desk.enrolment_view(false))
    }
}

impl Desk {
    fn enrolment_view(&self, again: bool) -> EnrolmentView {
        let account = &self.account;
        let reference = |known: &Enrolment| known.reference(self.shared.realm, account.number);
        EnrolmentView {
            account: account.number,
            cvu: account.cvu,
            reference: account
                .enrolment
                .as_ref()
                .map(reference)
                .unwrap_or_default(),
            enrolment: account.enrolment.clone(),
            again,
        }
    }

    /// Asks the fund until it has given a final answer. `found` means that the enrolment was on disk when this actor
    /// started.
    pub(super) fn ask_fund(&mut self, started: Started, found: bool, home: Addr<AccountActor>) {
        let (enrolment, request_id, durable) = started;
        let account = &self.account;
        let (Some(known), Some(cvu)) = (&account.enrolment, account.cvu) else {
            return;
        };
        let order = EnrolmentOrder {
            reference: known.reference(self.shared.realm, account.number),
            cvu,
            cuit: account.holder.cuit,
            brokerage_account: known.brokerage_account.clone(),
            fund: known.fund.clone(),
        };
        self.note_business();
        let enrolling = Enrolling {
            bank: Arc::clone(&self.shared.bank),
            slots: Arc::clone(&self.shared.bank_slots),
            hold: Arc::clone(&self.shared.hold),
            held: self.shared.hold.is_held(),
            pauses: self.shared.pauses,
            enrolment,
            order,
            found,
            request_id,
        };
        self.shared.life.spawn(enrolling.run(durable, home));
    }

    /// Writes down the fund's answer: the calls, and the change that it makes.
    fn take_word(&mut self, said: &FundSaid) -> Result<Write, StoreError> {
        let fact: Option<AccountFact> = match &said.word {
            Word::Answered(word) => self.account.fund_said(said.enrolment, word),
            Word::Refused(why) => self.account.fund_refused(said.enrolment, why),
            Word::Unknown => None,
        };
        let mut entries = self.write_bank(&said.calls)?;
        if let Some(fact) = fact {
            entries.extend(self.write_profile(&[fact])?);
            self.note_business();
        }
        Ok(Write::from(entries))
    }

    /// Takes in the fund's answer, and answers the caller who waits for it: with any answer to their own request
    /// (`first`), otherwise only once the enrolment no longer waits.
    fn fund_said(&mut self, said: FundSaid, first: bool) {
        let page = match self.take_word(&said) {
            Ok(page) => page,
            Err(why) => {
                let waiter = self.fund_waiter.take();
                return self
                    .scribe
                    .fail(why, waiter.and_then(|(_, ticket)| ticket.reply));
            }
        };
        let over = first || self.account.enrolling() != Some(said.enrolment);
        let waiter = self
            .fund_waiter
            .take_if(|(number, _)| over && *number == said.enrolment);
        let Some((_, ticket)) = waiter else {
            return self.scribe.commit(page, |_| {});
        };
        let outcome = match said.word {
            Word::Refused(why) => Err(Failure::Bank(BankError::Refused(why))),
            Word::Answered(_) | Word::Unknown => Ok(self.enrolment_view(false)),
        };
        self.scribe.finish(page, outcome, ticket);
    }
}
