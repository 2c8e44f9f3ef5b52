//! Enrols an account in remuneration: writes the intent to disk, asks the fund until it gives a final answer, and
//! records the answer. This runs concurrently with the account's other business.
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

use super::{
    AccountActor, AccountContext, AccountOrder, AccountState, EnrolmentView, Question, Target,
};
use crate::commit_writer::WriteSet;
use crate::failure::Failure;
use crate::orders::{ContextOf, Envelope, Order};
use crate::outgoing_pause::OutgoingPause;
use crate::persist::persist;
use crate::ports::{BankError, BankGateway, EnrolmentOrder};
use crate::settings::Pauses;

/// The fund's answer about an enrolment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FundAnswer {
    /// The state of the enrolment.
    Answered(FundWord),
    /// There is no such enrolment and will be none.
    Refused(BankRefusal),
    /// Nothing that can be relied on.
    Unknown,
}

/// The result of asking the fund, with every call that was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FundAttempt {
    /// The number of the enrolment.
    pub enrolment: u64,
    /// The fund's answer.
    pub word: FundAnswer,
    /// The calls, oldest first.
    pub calls: Vec<BankCall>,
}

/// An enrolment that the fund is to be asked for once it is on disk.
pub(super) type StartedEnrolment = (u64, String, oneshot::Receiver<Result<(), Failure>>);

/// One enrolment that waits for the fund.
struct Enrolling {
    bank: Arc<dyn BankGateway>,
    slots: Arc<Semaphore>,
    outgoing: Arc<OutgoingPause>,
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
            // The intent never became durable, so the fund is not asked. The account is poisoned, so any message stops
            // its actor, which also answers the waiting caller.
            let (sender, _) = oneshot::channel();
            let nothing = FundAttempt {
                enrolment: self.enrolment,
                word: FundAnswer::Unknown,
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
            held = self.outgoing.is_held();
            if self.is_over(account, word, calls).await {
                return;
            }
            if waits {
                self.outgoing.leave().await;
                held = false;
                if self.is_over(account, None, Vec::new()).await {
                    return;
                }
                continue;
            }
            self.outgoing.pause(pause).await;
            pause = pause.saturating_mul(2).min(self.pauses.last);
        }
    }

    /// Tells the account the result of a try. Returns whether the fund need not be asked any more.
    async fn is_over(
        &self,
        account: &Addr<AccountActor>,
        word: Option<FundAnswer>,
        calls: Vec<BankCall>,
    ) -> bool {
        let attempt = FundAttempt {
            enrolment: self.enrolment,
            word: word.unwrap_or(FundAnswer::Unknown),
            calls,
        };
        let (sender, waits) = oneshot::channel();
        let attempt = TakeFundAnswer(attempt, sender);
        account.send(Envelope::from(attempt)).await.is_err() || !waits.await.unwrap_or(false)
    }

    /// Asks for the state of the enrolment, and requests it if the bank does not know it. If the bank does not know it
    /// and the realm is held, there is no answer.
    async fn ask(&self, asked: bool, held: bool) -> (Option<FundAnswer>, Vec<BankCall>) {
        let (bank, id) = (self.bank.as_ref(), self.request_id.as_str());
        let mut calls = Vec::new();
        if asked {
            let reply = bank.fund_position(&self.order.reference, id).await;
            calls.extend(reply.calls);
            match reply.result {
                Ok(Some(answered)) => return (Some(FundAnswer::Answered(answered.word)), calls),
                Ok(None) => {}
                // A refusal to report is no refusal of the enrolment.
                Err(_) => return (Some(FundAnswer::Unknown), calls),
            }
        }
        if held {
            return (None, calls);
        }
        let reply = bank.enrol(&self.order, id).await;
        calls.extend(reply.calls);
        let word = match reply.result {
            Ok(answered) => FundAnswer::Answered(answered),
            Err(BankError::Refused(why)) => FundAnswer::Refused(why),
            Err(BankError::Failed { .. } | BankError::TimedOut) => FundAnswer::Unknown,
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
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, ctx: &mut AccountContext) {
        let settings = state.shared.settings();
        let tenant = (settings.tenant.as_str(), settings.mode);
        let fact = match state.account.decide_enrolment(&self.order, tenant) {
            Ok(Some(fact)) => fact,
            Ok(None) => {
                let view = state.enrolment_view(true);
                return state.writer.end(Ok(view), request);
            }
            Err(rejection) => {
                let refused = Err(rejection.into());
                return state.writer.end(refused, request);
            }
        };
        let mut entries = match state.write_profile(&[fact]) {
            Ok(entries) => entries,
            Err(why) => return state.writer.fail(why, request.reply),
        };
        if let Some(keyed) = &request.keyed {
            // Until the fund's first answer is known, the key leads to the account.
            let now = state.now();
            let open = (0, String::new());
            let open = keyed.scope.answer(open, now, Some(state.account.number));
            match state.writer.answer(open, now) {
                Ok(more) => entries.extend(more),
                Err(why) => return state.writer.fail(why, request.reply),
            }
        }
        let durable = state.writer.committed(WriteSet::from(entries));
        let request_id = request.request_id.clone();
        if let Some(number) = state.account.enrolling() {
            state.fund_waiter = Some((number, request));
            state.ask_fund((number, request_id, durable), false, ctx.address());
        }
    }
}

/// Answers a key whose first request to enrol was cut off while the bank was asked.
pub struct AdoptEnrolment(pub Enrol);

impl Order for AdoptEnrolment {
    type Outcome = EnrolmentView;
}

impl AccountOrder for AdoptEnrolment {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        let known = state.account.enrolment.as_ref();
        let outcome = match known.filter(|known| known.is_of(&self.0)) {
            // Another enrolment has begun since; the end of the first one is no longer known.
            None => Err(Rejection::EnrolledOtherwise.into()),
            Some(known) => match (&known.refusal, known.state) {
                (Some(why), EnrolmentState::Rejected) => {
                    Err(Failure::Bank(BankError::Refused(why.clone())))
                }
                _ => Ok(state.enrolment_view(false)),
            },
        };
        state.writer.end(outcome, request);
    }
}

/// The fund's answer about an enrolment that waits; the channel gets whether it still waits.
struct TakeFundAnswer(FundAttempt, oneshot::Sender<bool>);

impl Order for TakeFundAnswer {
    type Outcome = ();
}

impl AccountOrder for TakeFundAnswer {
    fn decide(self, state: &mut AccountState, _: ContextOf<Self>, _: &mut AccountContext) {
        let Self(attempt, waits) = self;
        let enrolment = attempt.enrolment;
        state.fund_answered(attempt, true);
        // If the task that asked is gone, nobody asks again.
        waits
            .send(state.account.enrolling() == Some(enrolment))
            .ok();
    }
}

/// Reports the fund's answer to somebody's question about an account.
pub struct FundAnswered(pub AccountNo, pub FundAttempt);

impl Order for FundAnswered {
    type Outcome = EnrolmentView;
    const ALWAYS: bool = true;
}

impl AccountOrder for FundAnswered {
    fn decide(self, state: &mut AccountState, request: ContextOf<Self>, _: &mut AccountContext) {
        state.fund_answered(self.1, false);
        let view = state.enrolment_view(false);
        state.writer.end(Ok(view), request);
    }
}

/// Asks for the last enrolment of an account as it is.
pub struct ReadEnrolment(pub Target);

impl Question for ReadEnrolment {
    type Answer = EnrolmentView;

    fn target(&self) -> Target {
        self.0
    }

    fn answer(&self, state: &AccountState) -> Result<EnrolmentView, Failure> {
        Ok(state.enrolment_view(false))
    }
}

impl AccountState {
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
    pub(super) fn ask_fund(
        &mut self,
        started: StartedEnrolment,
        found: bool,
        actor: Addr<AccountActor>,
    ) {
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
            outgoing: Arc::clone(&self.shared.outgoing),
            held: self.shared.outgoing.is_held(),
            pauses: self.shared.pauses,
            enrolment,
            order,
            found,
            request_id,
        };
        self.shared.tasks.spawn(enrolling.run(durable, actor));
    }

    /// Writes down the fund's answer: the calls, and the change that it makes.
    fn take_word(&mut self, attempt: &FundAttempt) -> Result<WriteSet, StoreError> {
        let fact: Option<AccountFact> = match &attempt.word {
            FundAnswer::Answered(word) => self.account.fund_said(attempt.enrolment, word),
            FundAnswer::Refused(why) => self.account.fund_refused(attempt.enrolment, why),
            FundAnswer::Unknown => None,
        };
        let mut entries = self.write_bank(&attempt.calls)?;
        if let Some(fact) = fact {
            entries.extend(self.write_profile(&[fact])?);
            self.note_business();
        }
        Ok(WriteSet::from(entries))
    }

    /// Takes in the fund's answer, and answers the caller who waits for it: with any answer to their own request
    /// (`first`), otherwise only once the enrolment no longer waits.
    fn fund_answered(&mut self, attempt: FundAttempt, first: bool) {
        let writes = match self.take_word(&attempt) {
            Ok(writes) => writes,
            Err(why) => {
                let waiter = self.fund_waiter.take();
                return self
                    .writer
                    .fail(why, waiter.and_then(|(_, request)| request.reply));
            }
        };
        let over = first || self.account.enrolling() != Some(attempt.enrolment);
        let waiter = self
            .fund_waiter
            .take_if(|(number, _)| over && *number == attempt.enrolment);
        let Some((_, request)) = waiter else {
            return self.writer.commit(writes, |_| {});
        };
        let outcome = match attempt.word {
            FundAnswer::Refused(why) => Err(Failure::Bank(BankError::Refused(why))),
            FundAnswer::Answered(_) | FundAnswer::Unknown => Ok(self.enrolment_view(false)),
        };
        self.writer.finish(writes, outcome, request);
    }
}
