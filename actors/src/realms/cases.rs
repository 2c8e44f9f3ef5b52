//! The cases that a realm decides: money in suspense is credited to an account, or returned to its sender through the
//! bank.
//!
//! **Order.** Every change to a case claims the case first and then reads it; the claim ends when the index shows the
//! change. So two operators, the bank's answer and a notice never decide about the same money at once. A credit is
//! decided by the account that gets it, and its voucher and the decision are one commit. The realm itself decides a
//! return: the request, which holds the return's reference, is durable before the bank is asked, and asking again under
//! that reference is always safe.
//!
//! **Bounds.** Those of [`crate::accounts::attempts`]. At a start at most [`RETURNS_MAX`] returns are taken up.
//!
//! **A past that is gone.** If an older copy of the store was put back, the bank may already have returned money that
//! waits here. So a decision waits until the bank's list was looked through, [`STARTUP_WAIT`] at most, and a return
//! found there is taken in by its reference.
//!
//! **Failure.** If the outcome of a return is unknown, the bank is asked again, also after a restart. A refusal is kept
//! with the case, which is open again. If the bank's answer under a return's reference does not match the order, or
//! contradicts how the return ended, nothing moves and the answer is logged.

use std::sync::Arc;
use std::time::Duration;

use caudal_ledger::cases::{CaseFact, Decision, Parked, SuspensePlace};
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{BankTransfer, CashIn, Suspense, TransferRejection};
use caudal_storage::StoreError;
use tokio::sync::oneshot;

use super::{RealmContext, RealmOrder, RealmSupervisor, Target};
use crate::accounts::attempts::{OrderAnswer, OrderAttempt};
use crate::accounts::{CreditParked, NoticeOutcome};
use crate::commit_writer::{RequestContext, Shared, WriteSet};
use crate::failure::Failure;
use crate::mailbox::{HasResponder as _, Mailbox, Undelivered};
use crate::orders::{ContextOf, Envelope, Order};
use crate::ports::BankError;
use crate::records::keys::Rail;
use crate::records::projection::VoucherPlace;
use crate::records::{self, BANK, CASES, reads};
use crate::reply::ClaimGuard;

/// How long a decision waits for the bank's list to be looked through.
const STARTUP_WAIT: Duration = Duration::from_secs(5);
/// The most returns that are taken up at a start; the others wait for the next start.
const RETURNS_MAX: usize = 10_000;

/// A person credits money in suspense to an account.
pub struct CreditSuspense {
    /// The money.
    pub place: SuspensePlace,
    /// The account that it belongs to.
    pub target: Target,
    /// Who decides, and why.
    pub decision: Decision,
}

impl Order for CreditSuspense {
    type Outcome = Parked;
}

impl RealmOrder for CreditSuspense {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        ctx: &mut RealmContext,
    ) {
        if !realm.shared.startup_gate.is_passed() {
            return realm.decide_later(self, request, realm.supervisor(ctx));
        }
        let found = realm.claimed(self.place, &mut request);
        let found = found.and_then(|parked| Ok((parked, realm.number(self.target)?)));
        match found {
            Err(why) => realm.end(Err(why), request),
            Ok((parked, number)) => {
                realm.forward(Ok(number), CreditParked(parked, self.decision), request);
            }
        }
    }
}

/// A person returns money in suspense to its sender.
pub struct ReturnSuspense {
    /// The money.
    pub place: SuspensePlace,
    /// Who decides, and why.
    pub decision: Decision,
}

impl Order for ReturnSuspense {
    type Outcome = Parked;
}

impl RealmOrder for ReturnSuspense {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        ctx: &mut RealmContext,
    ) {
        if !realm.shared.startup_gate.is_passed() {
            return realm.decide_later(self, request, realm.supervisor(ctx));
        }
        let settings = realm.shared.settings();
        let decided = realm.claimed(self.place, &mut request).and_then(|parked| {
            let of = (settings.tenant.as_str(), settings.mode);
            let fact = parked.decide_return(of, self.decision)?;
            Ok((parked, fact))
        });
        match decided {
            Err(why) => realm.end(Err(why), request),
            Ok(decided) => {
                realm.begin_return(
                    decided,
                    (false, |parked| parked),
                    request,
                    realm.supervisor(ctx),
                );
            }
        }
    }
}

/// Reports that the bank lists a return of money in suspense that nobody here knows to have ordered. From here on it is
/// a return like any other, and the bank is asked for its final answer.
pub(super) struct RecogniseReturn {
    pub place: SuspensePlace,
    /// The number of the try.
    pub attempt: u32,
}

impl Order for RecogniseReturn {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl RealmOrder for RecogniseReturn {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        ctx: &mut RealmContext,
    ) {
        let Self { place, attempt } = self;
        let (settings, now) = (realm.shared.settings(), realm.shared.clock.now());
        let decided = realm.claimed(place, &mut request).and_then(|parked| {
            let of = (settings.tenant.as_str(), settings.mode);
            let fact = parked.decide_recognised(of, attempt, now)?;
            Ok((parked, fact))
        });
        match decided {
            Err(why) => realm.end(Err(why), request),
            Ok(decided) => {
                tracing::warn!(
                    realm = realm.shared.realm.0,
                    account = place.account.0,
                    sequence = place.sequence,
                    attempt,
                    "the bank has a return of money in suspense that was not known; it is taken in"
                );
                realm.begin_return(
                    decided,
                    (true, |_| NoticeOutcome::Done),
                    request,
                    realm.supervisor(ctx),
                );
            }
        }
    }
}

/// The result of a try to return money; the channel gets whether the return is over.
pub(super) struct TakeReturnAnswer(pub ReturnAttempt, pub oneshot::Sender<bool>);

impl Order for TakeReturnAnswer {
    type Outcome = ();
}

impl RealmOrder for TakeReturnAnswer {
    fn route(self, realm: &mut RealmSupervisor, _: ContextOf<Self>, _: &mut RealmContext) {
        let Self(answer, over) = self;
        let ReturnAttempt {
            number,
            answer,
            calls,
        } = answer;
        let heard = match realm.heard_of_return(number, &answer) {
            Ok(heard) => heard,
            Err(why) => {
                if let Some(why) = why {
                    tracing::error!(%why, number, "a return cannot be looked up");
                }
                realm.journal(&calls);
                over.send(false).ok();
                return;
            }
        };
        match heard {
            ReturnVerdict::Fact(both, guard) => {
                let (parked, fact) = *both;
                let ended = !matches!(fact, CaseFact::ReturnNamed { .. });
                match realm.case_page(parked, &fact, &calls) {
                    Ok((writes, _)) => realm.writer.commit(writes, move |done| {
                        drop(guard);
                        over.send(ended && done.is_ok()).ok();
                    }),
                    Err(why) => realm.writer.fail::<()>(why, None),
                }
            }
            heard => {
                realm.journal(&calls);
                let ended = matches!(heard, ReturnVerdict::Over | ReturnVerdict::Nothing);
                over.send(ended).ok();
            }
        }
    }
}

/// Reports the content of the bank's notice about the return of this number.
pub(super) struct HearReturn(pub u64, pub BankTransfer);

impl Order for HearReturn {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl RealmOrder for HearReturn {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let Self(number, record) = self;
        match realm.heard_of_return(number, &OrderAnswer::State(record)) {
            Err(None) => realm.end(Err(Failure::Overloaded), request),
            Err(Some(why)) => realm.end(Err(why.into()), request),
            Ok(ReturnVerdict::Nothing) => realm.end(Ok(NoticeOutcome::Ignored), request),
            Ok(ReturnVerdict::Over | ReturnVerdict::Goes) => {
                realm.end(Ok(NoticeOutcome::Known), request)
            }
            Ok(ReturnVerdict::Fact(both, guard)) => {
                request.guards.push(guard);
                let (parked, fact) = *both;
                let writes = realm.case_page(parked, &fact, &[]);
                let writes = writes.map(|(writes, _)| writes);
                realm
                    .writer
                    .finish_if(writes, Ok(NoticeOutcome::Done), request);
            }
        }
    }
}

/// Reports that money returned under this number has come back, in whole or in part. It waits for a person again: it
/// counts as new money of the same sender, for the same CVU.
pub(super) struct TakeBackReturn {
    pub number: u64,
    /// The bank's own id of the money that came back.
    pub bank_id: String,
    /// Its id on the rail.
    pub coelsa_id: String,
    /// The amount in centavos.
    pub amount: Amount,
}

impl Order for TakeBackReturn {
    type Outcome = NoticeOutcome;
    const ALWAYS: bool = true;
}

impl RealmOrder for TakeBackReturn {
    fn route(
        self,
        realm: &mut RealmSupervisor,
        mut request: ContextOf<Self>,
        _: &mut RealmContext,
    ) {
        let store = realm.shared.store.as_ref();
        let parked = match reads::cases::returned(store, realm.shared.realm, self.number) {
            Ok(Some(parked)) => parked,
            Ok(None) => return realm.end(Ok(NoticeOutcome::Ignored), request),
            Err(why) => return realm.end(Err(why.into()), request),
        };
        match realm.claim_rail(Rail::Arrival, &self.coelsa_id) {
            Err(why) => return realm.end(Err(why), request),
            Ok((_, Some(_))) => return realm.end(Ok(NoticeOutcome::Known), request),
            Ok((guard, None)) => request.guards.push(guard),
        }
        let suspense = Suspense {
            cash_in: CashIn {
                coelsa_id: self.coelsa_id,
                bank_id: self.bank_id,
                amount: self.amount,
                at: realm.shared.clock.now(),
                ..parked.suspense.cash_in
            },
            reason: "return_came_back".to_owned(),
        };
        realm.park(&suspense, request);
    }
}

/// The result of one try to return money.
pub(super) type ReturnAttempt = OrderAttempt<BankTransfer>;

impl RealmSupervisor {
    /// Resumes asking the bank about every return that was under way.
    pub(super) fn take_up_returns(&self, supervisor: &Mailbox<Self>) {
        let Shared { store, realm, .. } = &*self.shared;
        let open = reads::cases::open_returns(store.as_ref(), *realm, RETURNS_MAX);
        let found = open.and_then(|numbers| {
            let all = numbers.into_iter();
            let all = all.map(|number| reads::cases::returned(store.as_ref(), *realm, number));
            all.collect::<Result<Vec<_>, _>>()
        });
        match found {
            Ok(found) => {
                for parked in found.into_iter().flatten() {
                    if let Some(task) = self.task(&parked, "recovery".into(), true) {
                        self.shared.tasks.spawn(task.run(supervisor.clone()));
                    }
                }
            }
            Err(why) => tracing::error!(%why, realm = realm.0, "cannot look for open returns"),
        }
    }

    fn claim_case(&self, place: SuspensePlace) -> Option<ClaimGuard> {
        self.claim(&[b"s", &VoucherPlace::from(place).to_bytes()], None)
    }

    /// Reads the money in suspense that a person decides about, and claims it for the request.
    fn claimed<T>(
        &self,
        place: SuspensePlace,
        request: &mut RequestContext<T>,
    ) -> Result<Parked, Failure> {
        let guard = self.claim_case(place).ok_or(Rejection::OperationInFlight)?;
        request.guards.push(guard);
        let Shared { store, realm, .. } = &*self.shared;
        let parked = reads::cases::parked(store.as_ref(), *realm, place)?;
        let parked = parked.ok_or(Rejection::CaseNotFound)?;
        parked.is_decidable()?;
        Ok(parked)
    }

    /// Lets a person's decision wait until the bank's list was looked through: the money may have been returned in a
    /// past that is gone.
    fn decide_later<O: RealmOrder>(
        &self,
        order: O,
        request: RequestContext<O::Outcome>,
        supervisor: Mailbox<Self>,
    ) {
        let startup_gate = Arc::clone(&self.shared.startup_gate);
        let mut message = Undelivered::from(Envelope { order, request });
        self.shared.tasks.spawn(async move {
            let passed = tokio::time::timeout(STARTUP_WAIT, startup_gate.passed()).await;
            if passed.is_ok() {
                // If the supervisor has stopped, the caller gets an error.
                supervisor.put(supervisor.reserve(), message.take()).ok();
            } else if let Some(responder) = message.message().responder() {
                responder.refuse(Failure::NotRead(BankError::TimedOut));
            }
        });
    }

    /// Writes a return down, and asks the bank for it once that is on disk. `found` means that the bank may have been
    /// asked before.
    fn begin_return<T: Send + 'static>(
        &mut self,
        (parked, fact): (Parked, CaseFact),
        (found, outcome): (bool, fn(Parked) -> T),
        request: RequestContext<T>,
        supervisor: Mailbox<Self>,
    ) {
        let request_id = request.request_id.clone();
        match self.case_page(parked, &fact, &[]) {
            Err(why) => self.writer.fail(why, request.reply),
            Ok((writes, parked)) => {
                let task = self.task(&parked, request_id, found);
                let (sender, durable) = oneshot::channel();
                let outcome = Ok(outcome(parked));
                self.writer
                    .finish_and(writes, outcome, request, |done| drop(sender.send(done)));
                self.shared.tasks.spawn(async move {
                    // A return that never became durable is not ordered.
                    if let (Ok(Ok(())), Some(task)) = (durable.await, task) {
                        task.run(supervisor).await;
                    }
                });
            }
        }
    }

    /// The page of a realm's own fact about a case, with calls to the bank, and the case after the fact.
    fn case_page(
        &mut self,
        mut parked: Parked,
        fact: &CaseFact,
        calls: &[BankCall],
    ) -> Result<(WriteSet, Parked), StoreError> {
        let realm = self.shared.realm;
        let stream = records::account_stream(realm, AccountNo(0), CASES);
        let entry = self.own_entry(stream, fact)?;
        parked.apply(fact, entry.seq);
        let mut writes = WriteSet::from(entry);
        let stream = records::account_stream(realm, AccountNo(0), BANK);
        writes.entries.extend(self.own_entries(stream, calls)?);
        Ok((writes, parked))
    }

    /// What the bank's answer means for a return: the fact, with the case before it and the claim on the case.
    /// `Err(None)` when somebody else has claimed the case.
    fn heard_of_return(
        &self,
        number: u64,
        answer: &OrderAnswer<BankTransfer>,
    ) -> Result<ReturnVerdict, Option<StoreError>> {
        let Shared { store, realm, .. } = &*self.shared;
        let look = || reads::cases::returned(store.as_ref(), *realm, number);
        let Some(place) = look().map_err(Some)?.map(|parked| parked.place) else {
            return Ok(ReturnVerdict::Nothing);
        };
        let guard = self.claim_case(place).ok_or(None)?;
        let Some(parked) = look().map_err(Some)? else {
            return Ok(ReturnVerdict::Nothing);
        };
        let fact = match answer {
            OrderAnswer::Unknown => None,
            OrderAnswer::Refused(why) => refused(&parked, number, why),
            OrderAnswer::State(record) => settled(*realm, &parked, number, record),
        };
        let fact = fact.map(|fact| self.with_code(fact));
        Ok(match fact {
            None if is_over(&parked, number) => ReturnVerdict::Over,
            None => ReturnVerdict::Goes,
            Some(fact) => ReturnVerdict::Fact(Box::new((parked, fact)), guard),
        })
    }
}

impl RealmSupervisor {
    /// A fact with the code of the bank's refusal, if it is one.
    fn with_code(&self, mut fact: CaseFact) -> CaseFact {
        if let CaseFact::ReturnRefused { why, .. } = &mut fact {
            why.code = self.shared.bank.rejection_code(why);
        }
        fact
    }
}

/// What the bank's answer about a return means.
#[derive(Debug)]
enum ReturnVerdict {
    /// It is about no return of this realm.
    Nothing,
    /// The return had ended before.
    Over,
    /// The return goes on, and the answer has nothing new.
    Goes,
    /// This fact has happened to this case.
    Fact(Box<(Parked, CaseFact)>, ClaimGuard),
}

fn is_over(parked: &Parked, number: u64) -> bool {
    use caudal_ledger::cases::ParkedState;
    !matches!(&parked.state, ParkedState::Returning(it) if it.number == number)
}

fn refused(
    parked: &Parked,
    number: u64,
    why: &caudal_ledger::facts::BankRefusal,
) -> Option<CaseFact> {
    if is_over(parked, number) {
        return None;
    }
    let why = TransferRejection {
        bank: Some(why.clone()),
        ..TransferRejection::because("the bank refused the return".to_owned())
    };
    let case = parked.place;
    Some(CaseFact::ReturnRefused { case, number, why })
}

fn settled(
    realm: RealmId,
    parked: &Parked,
    number: u64,
    record: &BankTransfer,
) -> Option<CaseFact> {
    if parked.is_contradicted(number, &record.word) {
        tracing::error!(
            realm = realm.0,
            number,
            "the bank contradicts how a return of money in suspense ended; reconcile the day"
        );
    }
    parked.settle_return(number, record)
}
