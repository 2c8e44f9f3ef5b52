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

use actix::{Addr, AsyncContext as _, Context};
use caudal_ledger::facts::{AccountFact, BankCall, BankRefusal};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::remuneration::{Enrol, Enrolment, EnrolmentState, FundWord};
use caudal_storage::StoreError;
use tokio::sync::{Semaphore, oneshot};

use super::{AccountActor, AccountMessage, Desk, EnrolmentView};
use crate::failure::Failure;
use crate::hold::Hold;
use crate::mailbox::Asked;
use crate::persist::persist;
use crate::ports::{BankError, BankGateway, EnrolmentOrder};
use crate::reply::{Reply, Waits};
use crate::scribe::{Ticket, Write};
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
            let nothing = AccountMessage::Fund(FundTurn::Said(nothing, sender));
            account.send(nothing).await.ok();
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
        let said = AccountMessage::Fund(FundTurn::Said(said, sender));
        account.send(said).await.is_err() || !waits.await.unwrap_or(false)
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

/// A turn about remuneration.
#[derive(Debug)]
pub enum FundTurn {
    /// Enrol the account, or answer with the state of its enrolment.
    Enrol(Enrol, Ticket<EnrolmentView>),
    /// Answer a key whose first request to enrol was cut off while the bank was asked.
    Adopt(Enrol, Ticket<EnrolmentView>),
    /// The fund's answer about an enrolment that waits; the channel gets whether it still waits.
    Said(FundSaid, oneshot::Sender<bool>),
    /// The fund's answer to somebody's question.
    Answered(FundSaid, Reply<Result<EnrolmentView, Failure>>),
    /// The last enrolment as it is.
    EnrolmentOf(Reply<Result<EnrolmentView, Failure>>),
}

impl Asked for FundTurn {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Enrol(_, ticket) | Self::Adopt(_, ticket) => Some(ticket),
            Self::EnrolmentOf(reply) => Some(reply),
            Self::Said(..) | Self::Answered(..) => None,
        }
    }
}

impl Desk {
    /// Takes a turn about remuneration.
    pub(super) fn fund(&mut self, turn: FundTurn, ctx: &Context<AccountActor>) {
        match turn {
            FundTurn::Enrol(order, ticket) => self.enrol(ctx.address(), &order, ticket),
            FundTurn::Adopt(order, ticket) => self.adopt_enrolment(&order, ticket),
            FundTurn::Said(said, waits) => {
                let enrolment = said.enrolment;
                self.fund_said(said, true);
                // If the task that asked is gone, nobody asks again.
                waits.send(self.account.enrolling() == Some(enrolment)).ok();
            }
            FundTurn::Answered(said, reply) => {
                self.fund_said(said, false);
                let view = self.enrolment_view(false);
                self.show(Ok(view), reply);
            }
            FundTurn::EnrolmentOf(reply) => {
                let view = self.enrolment_view(false);
                self.show(Ok(view), reply);
            }
        }
    }

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

    /// Enrols the account. A repeat of the order gets the state of the first.
    fn enrol(&mut self, home: Addr<AccountActor>, order: &Enrol, ticket: Ticket<EnrolmentView>) {
        let settings = self.shared.settings();
        let tenant = (settings.tenant.as_str(), settings.mode);
        let fact = match self.account.decide_enrolment(order, tenant) {
            Ok(Some(fact)) => fact,
            Ok(None) => {
                let view = self.enrolment_view(true);
                return self.scribe.finish(Write::default(), Ok(view), ticket);
            }
            Err(rejection) => {
                let refused = Err(rejection.into());
                return self.scribe.finish(Write::default(), refused, ticket);
            }
        };
        let mut entries = match self.write_profile(&[fact]) {
            Ok(entries) => entries,
            Err(why) => return self.scribe.fail(why, ticket.reply),
        };
        if let Some(keyed) = &ticket.keyed {
            // Until the fund's first answer is known, the key leads to the account.
            let now = self.now();
            let open = (0, String::new());
            let open = keyed.scope.answer(open, now, Some(self.account.number));
            match self.scribe.answer(open, now) {
                Ok(more) => entries.extend(more),
                Err(why) => return self.scribe.fail(why, ticket.reply),
            }
        }
        let durable = self.scribe.committed(Write {
            entries,
            ..Write::default()
        });
        let request_id = ticket.request_id.clone();
        if let Some(number) = self.account.enrolling() {
            self.fund_waiter = Some((number, ticket));
            self.ask_fund((number, request_id, durable), false, home);
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
        Ok(Write {
            entries,
            ..Write::default()
        })
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

    /// Answers a key whose first request was cut off while the fund was asked.
    fn adopt_enrolment(&mut self, order: &Enrol, ticket: Ticket<EnrolmentView>) {
        let known = self.account.enrolment.as_ref();
        let outcome = match known.filter(|known| known.is_of(order)) {
            // Another enrolment has begun since; the end of the first one is no longer known.
            None => Err(Rejection::EnrolledOtherwise.into()),
            Some(known) => match (&known.refusal, known.state) {
                (Some(why), EnrolmentState::Rejected) => {
                    Err(Failure::Bank(BankError::Refused(why.clone())))
                }
                _ => Ok(self.enrolment_view(false)),
            },
        };
        self.scribe.finish(Write::default(), outcome, ticket);
    }
}
