//! Hands decided facts to the store and releases their answers after the flush.
//!
//! **Order.** One commit writer belongs to one actor, and the store keeps the order of submission, so no answer leaves before
//! the actor's earlier commits are durable.
//!
//! **Failure.** The first commit that fails poisons the actor: its memory holds facts that were never written.
//! Every later answer of that actor is a failure, it writes nothing any more, and its supervisor replaces it.

mod write_set;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use actix::ArbiterHandle;
use caudal_ledger::deliveries::Schedule;
use caudal_ledger::facts::Answer;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::numbers::Opening;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, Entry, Index, StoreError, StreamId};
use tokio::sync::{Notify, Semaphore, oneshot};

use crate::actor_status::{ActorStatus, CommitReach};
use crate::banks::KnownCollectors;
use crate::failure::Failure;
use crate::lanes::Lane;
use crate::loads::Loads;
use crate::meter::{CountedUsage, Meter};
use crate::outgoing_pause::OutgoingPause;
use crate::ports::webhooks::WebhookSink;
use crate::ports::{BankError, BankGateway};
use crate::realm_clock::RealmClock;
use crate::realm_tasks::RealmTasks;
use crate::records::{self, ANSWER_PART_BYTES, ANSWER_PARTS, ANSWERS, Tail};
use crate::reply::{Answered, ClaimGuard, Claims, Given, Keyed, Rendered, Reply, Responder};
use crate::settings::{Pauses, Settings};
use crate::startup_gate::StartupGate;
use crate::times::Times;
use crate::trail::Trail;
use write_set::LogLine;

pub use write_set::WriteSet;

/// The state that all actors of a realm share.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The realm whose actors share this.
    pub realm: RealmId,
    /// The tasks and actors of the realm's present incarnation.
    pub tasks: Arc<RealmTasks>,
    /// The store, to read from.
    pub store: Arc<dyn Index>,
    /// The realm's lane, by which the store gets the facts.
    pub lane: Arc<Lane>,
    /// The clock of the realm.
    pub clock: Arc<RealmClock>,
    /// The bank of the realm's mode.
    pub bank: Arc<dyn BankGateway>,
    /// Pauses the realm's outgoing calls.
    pub outgoing: Arc<OutgoingPause>,
    /// The collector accounts, and which realms are on each.
    pub collectors: KnownCollectors,
    /// Bounds the calls about transfers, returns and enrolments that the realm may have under way at the bank.
    pub bank_slots: Arc<Semaphore>,
    /// The accounts of the realm that wait to be read.
    pub loads: Arc<Loads>,
    /// Keeps orders back until the bank's list was looked through.
    pub startup_gate: Arc<StartupGate>,
    /// How long to wait between tries of a transfer at the bank.
    pub pauses: Pauses,
    /// How long an answer is kept for its idempotency key.
    pub keys_kept: Duration,
    /// How many messages can wait for the supervisor, and for one account: see [`crate::in_flight::room`].
    pub room: usize,
    /// The sum that has left the realm, for the limits over the sum of its accounts.
    pub meter: Arc<Meter>,
    /// The settings of the tenant and the platform, as of the last change.
    pub settings: Arc<RwLock<Arc<Settings>>>,
    /// External ids, idempotency keys, aliases and codes that requests in flight claim.
    pub claims: Claims,
    /// Wakes the readers that wait for the realm's next event.
    pub published: Arc<Notify>,
    /// Carries events to the tenant's webhooks.
    pub sink: Arc<dyn WebhookSink>,
    /// The waits between tries of an event.
    pub schedule: Schedule,
    /// When the store was opened and the tenant created, for numbers that are never given twice.
    pub opening: Opening,
    /// The number of the event rule set that the realm adopts.
    pub event_rules: u16,
    /// Knows which request wrote which of the newest vouchers.
    pub trail: Arc<Trail>,
    /// Records how long messages wait.
    pub times: Times,
    /// The thread of the couriers; without one they run on the realm's own thread.
    pub couriers: Option<ArbiterHandle>,
}

impl Shared {
    /// The settings of the tenant and the platform: one immutable value for one turn.
    pub fn settings(&self) -> Arc<Settings> {
        let settings = self.settings.read();
        Arc::clone(&settings.unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request as an actor holds it: the reply, its idempotency key, and its claims.
#[derive(Debug)]
pub struct RequestContext<T> {
    /// Sends the answer; `None` once the caller got an interim answer.
    pub reply: Option<Reply<Answered<T>>>,
    /// The idempotency key of the request, and how to render its answer; `None` without one.
    pub keyed: Option<Keyed<T>>,
    /// The request's claims, held until it has ended.
    pub guards: Vec<ClaimGuard>,
    /// The id of the request, for tracing.
    pub request_id: String,
}

impl<T> RequestContext<T> {
    /// The request context of an order that has no caller.
    pub const fn nobody() -> Self {
        Self {
            reply: None,
            keyed: None,
            guards: Vec::new(),
            request_id: String::new(),
        }
    }

    /// The request context of a question.
    pub fn of_question(reply: Reply<Answered<T>>) -> Self {
        Self {
            reply: Some(reply),
            ..Self::nobody()
        }
    }

    /// Answers at once, without waiting for the disk; a key keeps nothing. The claims are freed before.
    pub fn answer(self, outcome: Result<T, Failure>) {
        release(self.reply, self.guards, outcome.map(Given::Value));
    }
}

impl<T> Responder for RequestContext<T> {
    /// Whether the caller has left without any answer. Such an order is dropped when its turn comes, before anything is
    /// decided, and its claims are free again.
    fn has_left(&self) -> bool {
        self.reply.as_ref().is_some_and(Reply::is_closed)
    }

    /// The claims are freed before the answer: a caller who has the answer may ask again at once.
    fn refuse(&mut self, why: Failure) {
        self.guards.clear();
        if let Some(reply) = &mut self.reply {
            reply.refuse(why);
        }
    }
}

/// Tells when a commit is durable, or why it is not.
pub type Durable = oneshot::Receiver<Result<(), Failure>>;

/// Writes for one actor.
#[derive(Debug)]
pub struct CommitWriter {
    shared: Arc<Shared>,
    actor_status: Arc<ActorStatus>,
    answers: StreamId,
    answers_tail: Option<Tail>,
    parts_tail: Option<Tail>,
}

/// Counts a commit of several accounts as begun. Returns `false` and poisons all of them if one may not write.
fn begin_all(pulses: &[(Arc<ActorStatus>, CommitReach)]) -> bool {
    let begun = pulses
        .iter()
        .take_while(|(actor_status, _)| actor_status.begin())
        .count();
    if begun == pulses.len() {
        return true;
    }
    let (begun, others) = pulses.split_at(begun);
    begun
        .iter()
        .for_each(|(actor_status, _)| actor_status.give_up());
    others
        .iter()
        .for_each(|(actor_status, _)| actor_status.poison());
    false
}

/// Keeps in the meter what was written; the rest goes back when it is dropped.
fn end_of(taken: CountedUsage, written: bool) {
    if written {
        taken.keep();
    }
}

impl CommitWriter {
    /// The commit writer of an account, or of the realm itself (account 0).
    pub fn new(shared: Arc<Shared>, actor_status: Arc<ActorStatus>, account: AccountNo) -> Self {
        let answers = records::account_stream(shared.realm, account, ANSWERS);
        Self {
            shared,
            actor_status,
            answers,
            answers_tail: None,
            parts_tail: None,
        }
    }

    /// As [`Self::commit`], but returns a future of the result.
    pub fn committed(&mut self, writes: WriteSet) -> Durable {
        let (sender, durable) = oneshot::channel();
        self.commit(writes, move |done| drop(sender.send(done)));
        durable
    }

    /// Commits a write set, if it has any entries, and calls `then` when all of this actor's commits are durable, or with
    /// the failure.
    pub fn commit(
        &mut self,
        writes: WriteSet,
        then: impl FnOnce(Result<(), Failure>) + Send + 'static,
    ) {
        let actor_status = Arc::clone(&self.actor_status);
        if writes.entries.is_empty() {
            if self.actor_status.settled_all() && !self.actor_status.is_poisoned() {
                return then(Ok(()));
            }
            return self.shared.lane.barrier(Box::new(move |done| {
                let is_poisoned = actor_status.is_poisoned().then_some(Failure::Overloaded);
                then(
                    done.map_err(Failure::from)
                        .and(is_poisoned.map_or(Ok(()), Err)),
                );
            }));
        }
        writes.assert_whole();
        if !self.actor_status.begin() {
            // Another actor may have the account by now, and the store might take this commit for that actor's next
            // movement.
            return then(Err(Failure::Overloaded));
        }
        let (reach, taken) = (writes.reach(), writes.taken);
        let commit = Commit {
            entries: writes.entries,
            hints: writes.hints,
            decided_on: writes.decided_on,
        };
        let published = Arc::clone(&self.shared.published);
        self.shared.lane.submit(
            commit,
            Box::new(move |done| {
                actor_status.settled(done.is_ok(), reach);
                end_of(taken, done.is_ok());
                published.notify_waiters();
                then(done.map(drop).map_err(Failure::from));
            }),
        );
    }

    /// Ends a request: commits the write set with the kept answer of its key, then answers.
    pub fn finish<T: Send + 'static>(
        &mut self,
        writes: WriteSet,
        outcome: Result<T, Failure>,
        request: RequestContext<T>,
    ) {
        self.finish_and(writes, outcome, request, |_| {});
    }

    /// Ends a request that writes nothing but the kept answer of its key. The answer waits until everything that it may
    /// have seen is durable.
    pub fn end<T: Send + 'static>(
        &mut self,
        outcome: Result<T, Failure>,
        request: RequestContext<T>,
    ) {
        self.finish(WriteSet::default(), outcome, request);
    }

    /// Ends a request like [`Self::finish`], or gives it up if its write set could not be made.
    pub fn finish_if<T: Send + 'static>(
        &mut self,
        writes: Result<WriteSet, StoreError>,
        outcome: Result<T, Failure>,
        request: RequestContext<T>,
    ) {
        match writes {
            Ok(writes) => self.finish(writes, outcome, request),
            Err(why) => self.fail(why, request.reply),
        }
    }

    /// Commits a write set without a caller. If the write set could not be built, this marks the actor as poisoned.
    pub fn commit_if(&mut self, writes: Result<WriteSet, StoreError>) {
        match writes {
            Ok(writes) => self.commit(writes, |_| {}),
            Err(_) => self.actor_status.poison(),
        }
    }

    /// Ends a request like [`Self::finish`], and passes the result of its commit to `and` before it answers; drops
    /// `and` if the request was given up.
    pub fn finish_and<T: Send + 'static>(
        &mut self,
        mut writes: WriteSet,
        outcome: Result<T, Failure>,
        request: RequestContext<T>,
        and: impl FnOnce(Result<(), Failure>) + Send + 'static,
    ) {
        self.shared.trail.note(&writes.entries, &request.request_id);
        let line = LogLine::of(&writes, &request.request_id);
        if let Some((reply, guards, answered)) = self.seal(&mut writes, outcome, request) {
            self.commit(writes, move |done| {
                LogLine::write(line, done.is_ok());
                and(done.clone());
                release(reply, guards, done.and(answered));
            });
        }
    }

    /// Ends a request that several accounts have decided. Its commit is written whole or not at all, and its answer
    /// waits for the commits in flight of all of them, also of those that add nothing.
    pub fn finish_joint<T: Send + 'static>(
        &mut self,
        mut writes: WriteSet,
        others: Vec<(Arc<ActorStatus>, WriteSet)>,
        outcome: Result<T, Failure>,
        request: RequestContext<T>,
    ) {
        let trail = &self.shared.trail;
        trail.note(&writes.entries, &request.request_id);
        for (_, other) in &others {
            trail.note(&other.entries, &request.request_id);
        }
        let mut line = LogLine::of(&writes, &request.request_id);
        let Some((reply, guards, answered)) = self.seal(&mut writes, outcome, request) else {
            return others.iter().for_each(|(status, _)| status.poison());
        };
        let mut seen = vec![Arc::clone(&self.actor_status)];
        let mut pulses = Vec::new();
        if !writes.entries.is_empty() {
            pulses.push((Arc::clone(&self.actor_status), writes.reach()));
        }
        for (actor_status, mut other) in others {
            seen.push(Arc::clone(&actor_status));
            if !other.entries.is_empty() {
                pulses.push((actor_status, other.reach()));
            }
            if let Some(line) = &mut line {
                line.add(&other);
            }
            writes.entries.append(&mut other.entries);
            writes.hints.append(&mut other.hints);
            writes.decided_on.append(&mut other.decided_on);
            writes.taken.append(other.taken);
        }
        if seen.iter().any(|actor_status| actor_status.is_poisoned()) {
            pulses.iter().for_each(|(status, _)| status.poison());
            return release(reply, guards, Err(Failure::Overloaded));
        }
        if writes.entries.is_empty() && seen.iter().all(|actor_status| actor_status.settled_all()) {
            return release(reply, guards, answered);
        }
        writes.assert_in_order();
        if !begin_all(&pulses) {
            return release(reply, guards, Err(Failure::Overloaded));
        }
        let nothing = writes.entries.is_empty();
        let published = Arc::clone(&self.shared.published);
        let taken = writes.taken;
        let done = Box::new(move |done: Result<_, StoreError>| {
            LogLine::write(line, done.is_ok());
            end_of(taken, done.is_ok());
            published.notify_waiters();
            for (actor_status, reach) in pulses {
                actor_status.settled(done.is_ok(), reach);
            }
            // Some account has forgotten its part of this answer. If there was nothing to write, nothing was done;
            // otherwise the commit may be on disk by now.
            let in_doubt = if nothing {
                Failure::Overloaded
            } else {
                Failure::OutcomeUnknown
            };
            let sound = if seen.iter().any(|actor_status| actor_status.is_poisoned()) {
                Err(in_doubt)
            } else {
                Ok(())
            };
            let done = done.map(drop).map_err(Failure::from).and(sound);
            release(reply, guards, done.and(answered));
        });
        if nothing {
            return self.shared.lane.barrier(done);
        }
        let commit = Commit {
            entries: writes.entries,
            hints: writes.hints,
            decided_on: writes.decided_on,
        };
        self.shared.lane.submit(commit, done);
    }

    /// Puts the kept answer of a request's key on the write set that makes its effect durable. `None` if that is impossible:
    /// the request has then been given up.
    fn seal<T>(
        &mut self,
        writes: &mut WriteSet,
        outcome: Result<T, Failure>,
        request: RequestContext<T>,
    ) -> Option<PendingAnswer<T>> {
        let RequestContext {
            reply,
            keyed,
            guards,
            request_id: _,
        } = request;
        let answered = match keyed {
            Some(Keyed { scope, render }) if is_final(&outcome) => {
                let Rendered {
                    status,
                    body,
                    again,
                } = render(outcome.as_ref());
                let now = self.shared.clock.now();
                let answer = scope.answer((status, body.clone()), now, None);
                match self.answer(answer, now) {
                    Ok(entries) => writes.entries.extend(entries),
                    Err(why) => {
                        self.fail(why, reply);
                        return None;
                    }
                }
                Ok(Given::Kept {
                    status,
                    body,
                    again,
                })
            }
            Some(_) | None => outcome.map(Given::Value),
        };
        Some((reply, guards, answered))
    }

    /// Gives up a request because its records cannot be made.
    pub fn fail<T>(&mut self, why: StoreError, reply: Option<Reply<Answered<T>>>) {
        self.actor_status.poison();
        if let Some(reply) = reply {
            reply.send(Err(why.into()));
        }
    }

    /// The entries of a kept answer: one, or more when its body is long.
    ///
    /// # Errors
    /// When a fact cannot be encoded, or the end of a stream cannot be read.
    pub fn answer(&mut self, mut answer: Answer, now: Timestamp) -> Result<Vec<Entry>, StoreError> {
        let mut entries = Vec::with_capacity(1);
        if answer.body.len() > ANSWER_PART_BYTES {
            let stream = StreamId {
                kind: ANSWER_PARTS,
                ..self.answers
            };
            let mut tail = self.tail(self.parts_tail, stream)?;
            let first = tail.seq.saturating_add(1);
            let mut rest = answer.body.split_off(boundary(&answer.body));
            while !rest.is_empty() {
                let after = rest.split_off(boundary(&rest));
                entries.push(tail.next(stream, now, &rest)?);
                rest = after;
            }
            let count = tail.seq.saturating_add(1).saturating_sub(first);
            answer.rest = Some((first, count));
            self.parts_tail = Some(tail);
        }
        let mut tail = self.tail(self.answers_tail, self.answers)?;
        entries.push(tail.next(self.answers, now, &answer)?);
        self.answers_tail = Some(tail);
        Ok(entries)
    }

    fn tail(&self, known: Option<Tail>, stream: StreamId) -> Result<Tail, StoreError> {
        known.map_or_else(|| Tail::read(self.shared.store.as_ref(), stream), Ok)
    }
}

/// Where a text is cut: at a character boundary, as far on as a part of an answer may reach.
fn boundary(text: &str) -> usize {
    let mut at = text.len().min(ANSWER_PART_BYTES);
    while !text.is_char_boundary(at) {
        at = at.saturating_sub(1);
    }
    at
}

/// An answer that waits for its commit.
type PendingAnswer<T> = (Option<Reply<Answered<T>>>, Vec<ClaimGuard>, Answered<T>);

/// Sends the answer. The claims end here, when the index shows the effect, and before the answer: a caller who has the
/// answer may ask again at once.
fn release<T>(reply: Option<Reply<Answered<T>>>, guards: Vec<ClaimGuard>, answered: Answered<T>) {
    drop(guards);
    if let Some(reply) = reply {
        reply.send(answered);
    }
}

/// Whether a key keeps an outcome: it keeps successes, and refusals by the ledger and the bank.
pub(crate) fn is_final<T>(outcome: &Result<T, Failure>) -> bool {
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
