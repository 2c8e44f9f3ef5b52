//! Enrols an account in remuneration: writes the intent to disk, asks the fund until it gives a final answer, and
//! records the answer. This runs concurrently with the account's other business.
//!
//! **Order.** The enrolment's reference at the bank is durable before the first call, and the bank makes one enrolment
//! of one reference. It is a digest of the request and of how often it was made before, so that the same order after an
//! older copy of the store was put back finds the existing enrolment. The rest, and the bounds, are those of
//! [`super::attempts`]; a broker may take days.
//!
//! **Failure.** The client gets the fund's first answer, or `Pending` if there is none; the account
//! keeps asking, also after a restart.

use std::sync::Arc;

use actix::{Addr, AsyncContext as _};
use caudal_ledger::facts::{AccountFact, BankCall};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::remuneration::{Enrol, Enrolment, EnrolmentState, FundWord};
use caudal_storage::StoreError;
use tokio::sync::oneshot;

use super::attempts::{
    OrderAnswer, OrderAttempt, StartedOrder, TryAnswer, ask_until_over, attempt,
};
use super::{
    AccountActor, AccountContext, AccountOrder, AccountState, EnrolmentView, Question, Target,
};
use crate::commit_writer::{Durable, Shared, WriteSet};
use crate::failure::Failure;
use crate::orders::{ContextOf, Envelope, Order};
use crate::persist::persist;
use crate::ports::{BankError, BankReply, EnrolmentOrder};

/// The result of asking the fund.
pub(super) type FundAttempt = OrderAttempt<FundWord>;

/// One enrolment that waits for the fund.
struct Enrolling {
    shared: Arc<Shared>,
    /// Whether the realm was held when the account ordered it.
    held: bool,
    enrolment: u64,
    order: EnrolmentOrder,
    /// Whether the fund may have been asked for it already.
    found: bool,
    request_id: String,
}

impl Enrolling {
    /// Runs until the fund has given a final answer or the actor is gone; a later actor takes it up again.
    async fn run(self, durable: Durable, account: Addr<AccountActor>) {
        let is_over = async |answer, calls| self.is_over(&account, answer, calls).await;
        if !matches!(durable.await, Ok(Ok(()))) {
            // The intent never became durable, so the fund is not asked. The account is poisoned, so any message stops
            // its actor, which also answers the waiting caller.
            is_over(OrderAnswer::Unknown, Vec::new()).await;
            return;
        }
        let attempt = async |asked, held| self.attempt(asked, held).await;
        let asks = async |again| {
            // An attempt that was cut off may have waited for the end of a hold: the account is to be asked first.
            let begun = (self.found || again, self.held || again);
            ask_until_over(&self.shared, begun, &attempt, &is_over).await;
        };
        persist("enrolment", asks).await;
    }

    async fn attempt(&self, asked: bool, held: bool) -> TryAnswer<FundWord> {
        let (bank, id) = (self.shared.bank.as_ref(), self.request_id.as_str());
        let status = async || {
            let BankReply { result, calls } = bank.fund_position(&self.order.reference, id).await;
            let result = result.map(|found| found.map(|report| report.word));
            BankReply { result, calls }
        };
        let order = async || bank.enrol(&self.order, id).await;
        attempt((asked, held), status, order).await
    }

    /// Tells the account the result of a try. Returns whether the fund need not be asked any more.
    async fn is_over(
        &self,
        account: &Addr<AccountActor>,
        answer: OrderAnswer<FundWord>,
        calls: Vec<BankCall>,
    ) -> bool {
        let attempt = FundAttempt {
            number: self.enrolment,
            answer,
            calls,
        };
        let (sender, waits) = oneshot::channel();
        let attempt = TakeFundAnswer(attempt, sender);
        account.send(Envelope::from(attempt)).await.is_err() || !waits.await.unwrap_or(false)
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
        let entries = state.write_profile(&[fact]).and_then(|mut entries| {
            entries.extend(state.write_open_key(&request)?);
            Ok(entries)
        });
        let entries = match entries {
            Ok(entries) => entries,
            Err(why) => return state.writer.fail(why, request.reply),
        };
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
        let enrolment = attempt.number;
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
        started: StartedOrder,
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
            shared: Arc::clone(&self.shared),
            held: self.shared.outgoing.is_held(),
            enrolment,
            order,
            found,
            request_id,
        };
        self.shared.tasks.spawn(enrolling.run(durable, actor));
    }

    /// Writes down the fund's answer: the calls, and the change that it makes.
    fn take_word(&mut self, attempt: &FundAttempt) -> Result<WriteSet, StoreError> {
        let fact: Option<AccountFact> = match &attempt.answer {
            OrderAnswer::State(word) => self.account.fund_said(attempt.number, word),
            OrderAnswer::Refused(why) => self.account.fund_refused(attempt.number, why),
            OrderAnswer::Unknown => None,
        };
        let facts = fact.as_slice();
        let entries = self.write_answer(&attempt.calls, facts)?;
        if !facts.is_empty() {
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
        let over = first || self.account.enrolling() != Some(attempt.number);
        let waiter = self
            .fund_waiter
            .take_if(|(number, _)| over && *number == attempt.number);
        let Some((_, request)) = waiter else {
            return self.writer.commit(writes, |_| {});
        };
        let outcome = match attempt.answer {
            OrderAnswer::Refused(why) => Err(Failure::Bank(BankError::Refused(why))),
            OrderAnswer::State(_) | OrderAnswer::Unknown => Ok(self.enrolment_view(false)),
        };
        self.writer.finish(writes, outcome, request);
    }
}
