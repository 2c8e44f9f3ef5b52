//! Hands decided facts to the store and releases their answers after the flush.
//!
//! **Order.** One scribe belongs to one actor, and the store keeps the order of submission, so an
//! answer never leaves before the commits that its actor made earlier.
//!
//! **Failure.** The first commit that fails makes the actor doubtful: what it has in memory was
//! never written. Every later answer of that actor is a failure, and its supervisor replaces it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use caudal_ledger::facts::Answer;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, Entry, Row, Store, StoreError, StreamId};

use crate::failure::Failure;
use crate::ports::{BankError, BankGateway, Clock};
use crate::records::{self, ANSWERS, Tail};
use crate::reply::{Answered, ClaimGuard, Claims, Given, Keyed, Rendered, Reply};

/// What every actor of a realm works with.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The realm.
    pub realm: RealmId,
    /// Where facts go.
    pub store: Arc<dyn Store>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The bank of the realm's mode.
    pub bank: Arc<dyn BankGateway>,
    /// External ids, idempotency keys, aliases and codes that requests in flight claim.
    pub claims: Claims,
}

/// The pulse of an actor, read by its supervisor and by operators.
#[derive(Debug, Default)]
pub struct Vitals {
    /// Messages forwarded to it and not yet taken.
    pub queued: AtomicUsize,
    /// Commits handed to the store and not yet durable.
    pub in_flight: AtomicUsize,
    /// A commit failed: what the actor knows may never have been written.
    pub doubtful: AtomicBool,
    /// It waits for the bank.
    pub busy: AtomicBool,
    /// The movement up to which the ledger is durable.
    pub durable_sequence: AtomicU64,
    /// When it last took a message, in milliseconds since 1970.
    pub active_at: AtomicU64,
}

impl Vitals {
    /// Whether nothing would be lost or disturbed if the actor went away now.
    pub fn idle(&self) -> bool {
        let none = |count: &AtomicUsize| count.load(Ordering::Acquire) == 0;
        none(&self.queued) && none(&self.in_flight) && !self.busy.load(Ordering::Acquire)
    }

    /// Whether a commit failed.
    pub fn doubtful(&self) -> bool {
        self.doubtful.load(Ordering::Acquire)
    }
}

/// A request as an actor holds it: where to answer, its idempotency key, and what it claims.
#[derive(Debug)]
pub struct Ticket<T> {
    /// Where to answer; `None` once the asker got an interim answer.
    pub reply: Option<Reply<Answered<T>>>,
    /// The idempotency key.
    pub keyed: Option<Keyed<T>>,
    /// What the request claims until it has ended.
    pub guards: Vec<ClaimGuard>,
    /// The id of the request, for tracing.
    pub request_id: String,
}

/// The writing hand of one actor.
#[derive(Debug)]
pub struct Scribe {
    shared: Arc<Shared>,
    vitals: Arc<Vitals>,
    answers: StreamId,
    answers_tail: Option<Tail>,
}

/// What goes into one commit.
#[derive(Debug, Default)]
pub struct Page {
    /// Facts.
    pub entries: Vec<Entry>,
    /// Caches.
    pub hints: Vec<Row>,
    /// The last movement among the entries.
    pub sequence: Option<u64>,
}

impl Scribe {
    /// The scribe of an account, or of the realm itself (account 0).
    pub fn new(shared: Arc<Shared>, vitals: Arc<Vitals>, account: AccountNo) -> Self {
        let answers = records::account_stream(shared.realm, account, ANSWERS);
        Self {
            shared,
            vitals,
            answers,
            answers_tail: None,
        }
    }

    /// Commits a page, if it has anything, and calls `then` when all of this actor's commits are
    /// durable, or with what went wrong.
    pub fn commit(&mut self, page: Page, then: impl FnOnce(Result<(), Failure>) + Send + 'static) {
        let vitals = Arc::clone(&self.vitals);
        if page.entries.is_empty() {
            if self.vitals.in_flight.load(Ordering::Acquire) == 0 && !self.vitals.doubtful() {
                return then(Ok(()));
            }
            return self.shared.store.barrier(Box::new(move |done| {
                let doubtful = vitals.doubtful().then_some(Failure::Overloaded);
                then(
                    done.map_err(Failure::from)
                        .and(doubtful.map_or(Ok(()), Err)),
                );
            }));
        }
        self.vitals.in_flight.fetch_add(1, Ordering::AcqRel);
        let commit = Commit {
            entries: page.entries,
            hints: page.hints,
        };
        self.shared.store.submit(
            commit,
            Box::new(move |done| {
                match (&done, page.sequence) {
                    (Ok(_), Some(sequence)) => {
                        vitals
                            .durable_sequence
                            .fetch_max(sequence, Ordering::AcqRel);
                    }
                    (Ok(_), None) => {}
                    (Err(_), _) => vitals.doubtful.store(true, Ordering::Release),
                }
                vitals.in_flight.fetch_sub(1, Ordering::AcqRel);
                then(done.map(drop).map_err(Failure::from));
            }),
        );
    }

    /// Ends a request: commits the page with the kept answer of its key, then answers.
    pub fn finish<T: Send + 'static>(
        &mut self,
        mut page: Page,
        outcome: Result<T, Failure>,
        ticket: Ticket<T>,
    ) {
        let Ticket {
            reply,
            keyed,
            guards,
            request_id: _,
        } = ticket;
        let answered = match keyed {
            Some(Keyed { scope, render }) if is_final(&outcome) => {
                let Rendered {
                    status,
                    body,
                    again,
                } = render(outcome.as_ref());
                let now = self.shared.clock.now();
                let answer = scope.answer((status, body.clone()), now, None);
                match self.answer(&answer, now) {
                    Ok(entry) => page.entries.push(entry),
                    Err(why) => return self.fail(why, reply),
                }
                Ok(Given::Kept {
                    status,
                    body,
                    again,
                })
            }
            Some(_) | None => outcome.map(Given::Value),
        };
        self.commit(page, move |done| {
            // The claims end here, when the index shows what was done, and before the answer: who
            // has it may ask again at once.
            drop(guards);
            if let Some(reply) = reply {
                reply.send(done.and(answered));
            }
        });
    }

    /// Gives up a request because its records cannot be made.
    pub fn fail<T>(&mut self, why: StoreError, reply: Option<Reply<Answered<T>>>) {
        self.vitals.doubtful.store(true, Ordering::Release);
        if let Some(reply) = reply {
            reply.send(Err(why.into()));
        }
    }

    /// The entry of a kept answer.
    pub fn answer(&mut self, answer: &Answer, now: Timestamp) -> Result<Entry, StoreError> {
        let mut tail = match self.answers_tail {
            Some(tail) => tail,
            None => Tail::read(self.shared.store.as_ref(), self.answers)?,
        };
        let entry = tail.next(self.answers, now, answer)?;
        self.answers_tail = Some(tail);
        Ok(entry)
    }
}

/// Whether an outcome is kept for its key: successes, refusals of the ledger and of the bank.
fn is_final<T>(outcome: &Result<T, Failure>) -> bool {
    match outcome {
        Ok(_) => true,
        // "Try again" is not an answer to keep.
        Err(Failure::Rejected(
            caudal_ledger::rejection::Rejection::OperationInFlight
            | caudal_ledger::rejection::Rejection::ExternalIdInFlight,
        )) => false,
        Err(Failure::Rejected(_) | Failure::Bank(BankError::Refused(_))) => true,
        Err(_) => false,
    }
}
