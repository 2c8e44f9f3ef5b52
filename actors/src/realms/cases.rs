//! The cases that a realm decides: money in suspense is credited to an account, or returned to its sender through the
//! bank.
//!
//! **Order.** Every change to a case claims the case first and then reads it; the claim ends when the index shows the
//! change. So two operators, the bank's answer and a notice never decide about the same money at once. A credit is
//! decided by the account that gets it, and its voucher and the decision are one commit. The realm itself decides a
//! return: the request, which holds the return's reference, is durable before the bank is asked, and asking again under
//! that reference is always safe.
//!
//! **Bounds.** Calls about returns share the slots of calls about transfers. Between tries the pause doubles from the
//! first to the last of `Pauses`. At a start at most [`RETURNS_MAX`] returns are taken up.
//!
//! **A past that is gone.** If an older copy of the store was put back, the bank may already have returned money that
//! waits here. So a decision waits until the bank's list was looked through, [`LOOKOUT_WAIT`] at most, and a return
//! found there is taken in by its reference.
//!
//! **Failure.** If the outcome of a return is unknown, the bank is asked again, also after a restart. A refusal is kept
//! with the case, which is open again. If the bank's answer under a return's reference does not match the order, or
//! contradicts how the return ended, nothing moves and the answer is logged.

use std::sync::Arc;
use std::time::Duration;

use actix::Context;
use caudal_ledger::cases::{CaseFact, Decision, Parked, SuspensePlace, Unbooked, UnreadableLine};
use caudal_ledger::facts::BankCall;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::transfers::{BankTransfer, CashIn, Suspense, TransferRejection};
use caudal_storage::StoreError;
use tokio::sync::oneshot;

use super::{RealmMessage, RealmSupervisor, Target};
use crate::accounts::remittance::Said;
use crate::accounts::{CaseTurn, Heard};
use crate::failure::Failure;
use crate::mailbox::{Asked, Mailbox, Untaken};
use crate::ports::BankError;
use crate::records::keys::Rail;
use crate::records::{self, BANK, CASES, reads};
use crate::reply::{ClaimGuard, Waits};
use crate::scribe::{Shared, Ticket, Write};

/// How long a decision waits for the bank's list to be looked through.
const LOOKOUT_WAIT: Duration = Duration::from_secs(5);
/// The most returns that are taken up at a start; the others wait for the next start.
const RETURNS_MAX: usize = 10_000;

/// What a supervisor can be asked about money in suspense.
#[derive(Debug)]
pub enum CaseMessage {
    /// Credit it to an account.
    Credit(SuspensePlace, Target, Box<Decision>, Ticket<Parked>),
    /// Return it to its sender.
    Return(SuspensePlace, Box<Decision>, Ticket<Parked>),
    /// The bank lists a return of this money that nobody here knows to have ordered; with the number of the try.
    Recognised(SuspensePlace, u32, Ticket<Heard>),
    /// A person says that a report that could not be booked was put right otherwise.
    Dismiss(SuspensePlace, Box<Decision>, Ticket<Unbooked>),
    /// A line of the bank's list cannot be read.
    Unreadable(Box<UnreadableLine>, Ticket<Heard>),
    /// The bank's answer about a return; the channel gets whether the return is over.
    Said(ReturnSaid, oneshot::Sender<bool>),
    /// The content of the bank's notice about the return of this number.
    Notice(u64, BankTransfer, Ticket<Heard>),
    /// Money returned under this number has come back, in whole or in part.
    CameBack {
        /// The number of the return.
        number: u64,
        /// The bank's own id of the money that came back, its id on the rail, and the amount in centavos.
        arrived: (String, String, Amount),
        /// Receives the outcome of the notice.
        ticket: Ticket<Heard>,
    },
}

impl Asked for CaseMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Credit(_, _, _, ticket) | Self::Return(_, _, ticket) => Some(ticket),
            Self::Dismiss(_, _, ticket) => Some(ticket),
            Self::Recognised(..)
            | Self::Unreadable(..)
            | Self::Said(..)
            | Self::Notice(..)
            | Self::CameBack { .. } => None,
        }
    }
}

/// The result of one try to return money.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReturnSaid {
    /// The number of the return.
    pub number: u64,
    /// The bank's answer.
    pub said: Said,
    /// The calls to the bank, oldest first.
    pub calls: Vec<BankCall>,
}

impl RealmSupervisor {
    /// Routes messages about money in suspense.
    pub(super) fn case(&mut self, message: CaseMessage, ctx: &Context<Self>) {
        match message {
            CaseMessage::Credit(..) | CaseMessage::Return(..)
                if !self.shared.lookout.is_passed() =>
            {
                self.decide_later(message, self.home(ctx));
            }
            CaseMessage::Recognised(place, attempt, ticket) => {
                self.recognised(place, attempt, ticket, self.home(ctx));
            }
            CaseMessage::Credit(place, target, decision, ticket) => {
                self.credit_case(place, target, decision, ticket);
            }
            CaseMessage::Return(place, decision, ticket) => {
                self.return_case(place, *decision, ticket, self.home(ctx));
            }
            CaseMessage::Dismiss(place, decision, ticket) => {
                self.dismiss(place, *decision, ticket);
            }
            CaseMessage::Unreadable(line, ticket) => self.unreadable(line, ticket),
            CaseMessage::Said(said, over) => self.return_said(said, over),
            CaseMessage::Notice(number, said, ticket) => self.return_answered(number, said, ticket),
            CaseMessage::CameBack {
                number,
                arrived,
                ticket,
            } => self.came_back(number, arrived, ticket),
        }
    }

    /// Resumes asking the bank about every return that was under way.
    pub(super) fn take_up_returns(&self, home: &Mailbox<Self>) {
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
                    self.ask_return(&parked, "recovery".into(), true, home.clone());
                }
            }
            Err(why) => tracing::error!(%why, realm = realm.0, "cannot look for open returns"),
        }
    }

    fn claim_case(&self, place: SuspensePlace) -> Option<ClaimGuard> {
        let Shared { realm, claims, .. } = &*self.shared;
        let (account, sequence) = (place.account.0.to_be_bytes(), place.sequence.to_be_bytes());
        let name = [b"s".as_slice(), &account, &sequence].concat();
        claims.claim(*realm, name, AccountNo(0), false).ok()
    }

    /// Reads the money in suspense that a person decides about, and claims it for the request.
    fn claimed<T>(&self, place: SuspensePlace, ticket: &mut Ticket<T>) -> Result<Parked, Failure> {
        let guard = self.claim_case(place).ok_or(Rejection::OperationInFlight)?;
        ticket.guards.push(guard);
        let Shared { store, realm, .. } = &*self.shared;
        let parked = reads::cases::parked(store.as_ref(), *realm, place)?;
        let parked = parked.ok_or(Rejection::CaseNotFound)?;
        parked.is_decidable()?;
        Ok(parked)
    }

    fn credit_case(
        &mut self,
        place: SuspensePlace,
        target: Target,
        decision: Box<Decision>,
        mut ticket: Ticket<Parked>,
    ) {
        let found = self.claimed(place, &mut ticket);
        let found = found.and_then(|parked| Ok((parked, self.number(target)?)));
        match found {
            Err(why) => self.end(Err(why), ticket),
            Ok((parked, number)) => self.forward(number, ticket, |ticket| {
                CaseTurn::Credit(Box::new(parked), decision, ticket)
            }),
        }
    }

    /// Lets a person's decision wait until the bank's list was looked through: the money may have been returned in a
    /// past that is gone.
    fn decide_later(&self, message: CaseMessage, home: Mailbox<Self>) {
        let lookout = Arc::clone(&self.shared.lookout);
        let mut message = Untaken::from(message);
        self.shared.life.spawn(async move {
            let passed = tokio::time::timeout(LOOKOUT_WAIT, lookout.passed()).await;
            if passed.is_ok() {
                let message = RealmMessage::Case(message.take());
                // If the supervisor is gone, the caller is told so.
                home.put(home.reserve(), message).ok();
            } else if let Some(asker) = message.message().asker() {
                asker.refuse(Failure::NotRead(BankError::TimedOut));
            }
        });
    }

    fn return_case(
        &mut self,
        place: SuspensePlace,
        decision: Decision,
        mut ticket: Ticket<Parked>,
        home: Mailbox<Self>,
    ) {
        let settings = self.shared.settings();
        let decided = self.claimed(place, &mut ticket).and_then(|parked| {
            let of = (settings.tenant.as_str(), settings.mode);
            let fact = parked.decide_return(of, decision)?;
            Ok((parked, fact))
        });
        match decided {
            Err(why) => self.end(Err(why), ticket),
            Ok(decided) => self.begin_return(decided, (false, |parked| parked), ticket, home),
        }
    }

    /// Takes in a return that the bank knows and this node does not. From here on it is a return like any other, and
    /// the bank is asked for its final answer.
    fn recognised(
        &mut self,
        place: SuspensePlace,
        attempt: u32,
        mut ticket: Ticket<Heard>,
        home: Mailbox<Self>,
    ) {
        let (settings, now) = (self.shared.settings(), self.shared.clock.now());
        let decided = self.claimed(place, &mut ticket).and_then(|parked| {
            let of = (settings.tenant.as_str(), settings.mode);
            let fact = parked.decide_recognised(of, attempt, now)?;
            Ok((parked, fact))
        });
        match decided {
            Err(why) => self.end(Err(why), ticket),
            Ok(decided) => {
                tracing::warn!(
                    realm = self.shared.realm.0,
                    account = place.account.0,
                    sequence = place.sequence,
                    attempt,
                    "the bank has a return of money in suspense that was not known; it is taken in"
                );
                self.begin_return(decided, (true, |_| Heard::Done), ticket, home);
            }
        }
    }

    /// Writes a return down, and asks the bank for it once that is on disk. `found` means that the bank may have been
    /// asked before.
    fn begin_return<T: Send + 'static>(
        &mut self,
        (parked, fact): (Parked, CaseFact),
        (found, outcome): (bool, fn(Parked) -> T),
        ticket: Ticket<T>,
        home: Mailbox<Self>,
    ) {
        let request_id = ticket.request_id.clone();
        match self.case_page(parked, &fact, &[]) {
            Err(why) => self.scribe.fail(why, ticket.reply),
            Ok((page, parked)) => {
                let errand = self.errand(&parked, request_id, found);
                let (sender, durable) = oneshot::channel();
                let outcome = Ok(outcome(parked));
                self.scribe
                    .finish_and(page, outcome, ticket, |done| drop(sender.send(done)));
                self.shared.life.spawn(async move {
                    // A return that never became durable is not ordered.
                    if let (Ok(Ok(())), Some(errand)) = (durable.await, errand) {
                        errand.run(home).await;
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
    ) -> Result<(Write, Parked), StoreError> {
        let realm = self.shared.realm;
        let stream = records::account_stream(realm, AccountNo(0), CASES);
        let entry = self.own_entry(stream, fact)?;
        parked.apply(fact, entry.seq);
        let mut page = Write {
            entries: vec![entry],
            ..Write::default()
        };
        let stream = records::account_stream(realm, AccountNo(0), BANK);
        for call in calls {
            page.entries.push(self.own_entry(stream, call)?);
        }
        Ok((page, parked))
    }

    fn ask_return(&self, parked: &Parked, request_id: String, found: bool, home: Mailbox<Self>) {
        if let Some(errand) = self.errand(parked, request_id, found) {
            self.shared.life.spawn(errand.run(home));
        }
    }

    /// What the bank's answer means for a return: the fact, with the case before it and the claim on the case.
    /// `Err(None)` when somebody else has claimed the case.
    fn heard_of_return(&self, number: u64, said: &Said) -> Result<Word, Option<StoreError>> {
        let Shared { store, realm, .. } = &*self.shared;
        let look = || reads::cases::returned(store.as_ref(), *realm, number);
        let Some(place) = look().map_err(Some)?.map(|parked| parked.place) else {
            return Ok(Word::Nothing);
        };
        let guard = self.claim_case(place).ok_or(None)?;
        let Some(parked) = look().map_err(Some)? else {
            return Ok(Word::Nothing);
        };
        let fact = match said {
            Said::Unknown => None,
            Said::Refused(why) => refused(&parked, number, why),
            Said::Transfer(record) => settled(*realm, &parked, number, record),
        };
        Ok(match fact {
            None if is_over(&parked, number) => Word::Over,
            None => Word::Goes,
            Some(fact) => Word::Fact(Box::new((parked, fact)), guard),
        })
    }

    fn return_said(&mut self, said: ReturnSaid, over: oneshot::Sender<bool>) {
        let ReturnSaid {
            number,
            said,
            calls,
        } = said;
        let heard = match self.heard_of_return(number, &said) {
            Ok(heard) => heard,
            Err(why) => {
                if let Some(why) = why {
                    tracing::error!(%why, number, "a return cannot be looked up");
                }
                self.journal(&calls);
                over.send(false).ok();
                return;
            }
        };
        match heard {
            Word::Fact(both, guard) => {
                let (parked, fact) = *both;
                let ended = !matches!(fact, CaseFact::ReturnNamed { .. });
                match self.case_page(parked, &fact, &calls) {
                    Ok((page, _)) => self.scribe.commit(page, move |done| {
                        drop(guard);
                        over.send(ended && done.is_ok()).ok();
                    }),
                    Err(why) => self.scribe.fail::<()>(why, None),
                }
            }
            heard => {
                self.journal(&calls);
                let ended = matches!(heard, Word::Over | Word::Nothing);
                over.send(ended).ok();
            }
        }
    }

    fn return_answered(&mut self, number: u64, record: BankTransfer, mut ticket: Ticket<Heard>) {
        match self.heard_of_return(number, &Said::Transfer(record)) {
            Err(None) => self.end(Err(Failure::Overloaded), ticket),
            Err(Some(why)) => self.end(Err(why.into()), ticket),
            Ok(Word::Nothing) => self.end(Ok(Heard::Ignored), ticket),
            Ok(Word::Over | Word::Goes) => self.end(Ok(Heard::Known), ticket),
            Ok(Word::Fact(both, guard)) => {
                ticket.guards.push(guard);
                let (parked, fact) = *both;
                match self.case_page(parked, &fact, &[]) {
                    Ok((page, _)) => self.scribe.finish(page, Ok(Heard::Done), ticket),
                    Err(why) => self.scribe.fail(why, ticket.reply),
                }
            }
        }
    }

    /// Money that was returned and came back waits for a person again. It counts as new money of the same sender, for
    /// the same CVU.
    fn came_back(
        &mut self,
        number: u64,
        (bank_id, coelsa_id, amount): (String, String, Amount),
        mut ticket: Ticket<Heard>,
    ) {
        let Shared { store, realm, .. } = &*self.shared;
        let parked = match reads::cases::returned(store.as_ref(), *realm, number) {
            Ok(Some(parked)) => parked,
            Ok(None) => return self.end(Ok(Heard::Ignored), ticket),
            Err(why) => return self.end(Err(why.into()), ticket),
        };
        match self.claim_rail(Rail::Arrival, &coelsa_id) {
            Err(why) => return self.end(Err(why), ticket),
            Ok((_, Some(_))) => return self.end(Ok(Heard::Known), ticket),
            Ok((guard, None)) => ticket.guards.push(guard),
        }
        let suspense = Suspense {
            cash_in: CashIn {
                coelsa_id,
                bank_id,
                amount,
                at: self.shared.clock.now(),
                ..parked.suspense.cash_in
            },
            reason: "return_came_back".to_owned(),
        };
        self.park(&suspense, ticket);
    }
}

/// What the bank's answer about a return means.
#[derive(Debug)]
enum Word {
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
        reason: "the bank refused the return".to_owned(),
        bank: Some(why.clone()),
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
