//! The supervisor of one realm: routes orders, keeps names unique in the realm, owns the voucher types, and starts,
//! replaces and passivates the actors of accounts.
//!
//! **Shape.** What it takes is a type that says how it is routed ([`RealmOrder`]). It never waits: it lets the order
//! through its idempotency key, reads the index (microseconds), claims the names that the order needs exclusively, and
//! forwards the order. The account's actor sends the answer straight to the caller.
//!
//! **Bounds.** Whoever was let in at the door ([`crate::in_flight`]) finds room in the mailbox; [`crate::residency`]
//! bounds the number of actors; the least recently used idle ones are unloaded first.
//!
//! **Order.** Claim first, then look: an external id or key in use is claimed until the index shows
//! its effect, so at every moment either the claim or the index knows it.
//!
//! **Failure.** An actor that panicked or is poisoned is loaded again by the next order for it. When the supervisor
//! itself stops or panics, its life ends ([`crate::realm_tasks`]): nothing that it started goes on, and the engine's restarter
//! starts another supervisor.

mod cases;
mod children;
mod collector;
mod coverage;
mod cvus;
mod days;
mod money;
mod names;
mod postings;
mod profile;
mod returns;
pub mod startup_check;
mod sweep;
mod transfers;
mod unbooked;
mod voucher_types;
mod webhooks;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorContext as _, AsyncContext, Context, Handler};
use caudal_ledger::ids::AccountNo;
use caudal_ledger::numbers::LastNumber;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::VoucherTypes;
use caudal_ledger::webhooks::Webhooks;
use caudal_storage::StoreError;
use foldhash::HashMap;

use crate::accounts::{AccountOrder, Question};
use crate::actor_status::ActorStatus;
use crate::commit_writer::{CommitWriter, RequestContext, Shared, WriteSet};
use crate::courier::Courier;
use crate::failure::Failure;
use crate::mailbox::{HasResponder as _, Mailbox, QueueDepth, Queued, give_way};
use crate::meter::Meter;
use crate::orders::{ContextOf, Envelope, Order};
use crate::realm_tasks::CancelGuard;
use crate::records::{Tail, reads};
use crate::reply::{ClaimGuard, Given};
use crate::residency::Residents;
use children::Children;
use cvus::Cvus;

pub use crate::accounts::Target;
pub use cases::{CreditSuspense, ReturnSuspense};
pub use children::{FindVouchersOf, PassivateAccount, RealmReport, ReportActors};
pub use collector::{ClassifyMovement, RecordMovements};
pub use coverage::RecordCoverage;
pub use days::RecordDay;
pub use money::{JournalCalls, QuoteFees};
pub use postings::{Adjustment, Batch, BatchOrder, TypeRef};
pub use profile::Register;
pub use sweep::Sweep;
pub use unbooked::DismissUnbooked;
pub use voucher_types::{ChangeType, CreateType, ListTypes, RemoveType};
pub use webhooks::{OrderWebhook, TryWebhook};

/// How long a caller waits for an outcome: ten seconds, then it is unknown.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// How long a caller waits for an outcome if the bank is asked: thirty seconds.
pub const BANK_DEADLINE: Duration = Duration::from_secs(30);
/// How many messages the supervisor takes before the accounts of its thread, and the other realms', take their turns.
const IN_A_ROW_MAX: usize = 64;
/// How often the supervisor looks for accounts that wait for the bank and have no actor.
const SWEEP: Duration = Duration::from_secs(30);
/// How many of these accounts one sweep takes up.
const SWEEP_MAX: usize = 1000;
/// The pause before the next part of a sweep that has not reached the end.
const SWEEP_ON: Duration = Duration::from_millis(200);
/// How many calls about transfers, returns and enrolments a realm may have under way at the bank.
pub const BANK_SLOTS: usize = 64;
/// How many webhook tries that the realm's tenant asked for may be under way at the same time.
pub const TRIES_AT_ONCE: usize = 8;
/// How long an answer is kept for its idempotency key, unless set: 7 days.
pub const KEYS_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The supervisor of one realm, with the state that it keeps in memory.
#[derive(Debug)]
pub struct RealmSupervisor {
    #[expect(dead_code, reason = "dropping it cancels the tasks of the realm")]
    cancel_guard: CancelGuard,
    shared: Arc<Shared>,
    actor_status: Arc<ActorStatus>,
    writer: CommitWriter,
    types: VoucherTypes,
    /// The set of event rules in force; 0 until a fact has named one.
    event_rules: u16,
    webhooks: Webhooks,
    /// Whether the collector account has what the clients own, by the last fact; `None` while that was not read.
    covered: Option<bool>,
    /// Carries events to the webhooks, if the realm has any.
    courier: Option<Mailbox<Courier>>,
    /// The number of tries that the tenant asked for and that are under way.
    trying: usize,
    /// The count of messages in its own mailbox.
    waiting: QueueDepth,
    /// Messages that were taken since the accounts of this thread last certainly had their turns.
    in_a_row: usize,
    tail: Tail,
    /// The ends of the realm's other streams, by kind.
    tails: HashMap<u8, Tail>,
    /// The last transfer that the sweep of open transfers has reached; `None` when no sweep is under way.
    swept: Option<(AccountNo, u64)>,
    /// The last number that an account was given.
    last_account: Option<LastNumber>,
    by_cvu: Cvus,
    children: Children,
}

/// An order that a realm's supervisor takes.
pub trait RealmOrder: Order {
    /// How long its caller waits for the outcome.
    const DEADLINE: Duration = DEADLINE;

    /// Takes the order, which its idempotency key has let through: claims the names that it needs exclusively, and
    /// forwards it to its account, or decides it. Never waits.
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, ctx: &mut RealmContext);

    /// Takes an order whose key's first request was cut off while it asked the bank for an account: the account answers
    /// from the state that it has reached.
    fn adopt(
        self,
        _account: AccountNo,
        realm: &mut RealmSupervisor,
        request: ContextOf<Self>,
        ctx: &mut RealmContext,
    ) {
        self.route(realm, request, ctx);
    }
}

impl<Q: Question> RealmOrder for Q {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        realm.ask(self.target(), self, request);
    }
}

/// The context of a realm's supervisor.
pub type RealmContext = Context<RealmSupervisor>;

/// Stops the supervisor: messages that come later are not taken any more.
pub struct Retire;

impl Order for Retire {
    type Outcome = ();
}

impl RealmOrder for Retire {
    fn route(self, _: &mut RealmSupervisor, _: ContextOf<Self>, ctx: &mut RealmContext) {
        ctx.stop();
    }
}

/// What follows from an order's idempotency key.
enum Admission<T> {
    /// The order may run.
    Go(RequestContext<T>),
    /// An earlier run was cut off while it asked the bank for this account.
    Adopt(AccountNo, RequestContext<T>),
    /// The caller has its answer.
    Ended,
}

impl RealmSupervisor {
    /// Loads the supervisor of a realm from the store; the life ends when the supervisor is dropped.
    pub fn load(
        cancel_guard: CancelGuard,
        mut shared: Shared,
        residents: Residents,
        waiting: QueueDepth,
    ) -> Result<Self, StoreError> {
        shared.meter = Meter::new(reads::total_usage(shared.store.as_ref(), shared.realm)?);
        let shared = Arc::new(shared);
        let last_account = reads::last_given(shared.store.as_ref(), shared.realm)?;
        let actor_status = Arc::new(ActorStatus::default());
        let mut supervisor = Self {
            cancel_guard,
            writer: CommitWriter::new(Arc::clone(&shared), Arc::clone(&actor_status), AccountNo(0)),
            actor_status,
            types: VoucherTypes::default(),
            event_rules: 0,
            webhooks: Webhooks::default(),
            covered: None,
            courier: None,
            trying: 0,
            waiting,
            in_a_row: 0,
            tail: Tail::default(),
            tails: HashMap::default(),
            swept: None,
            last_account,
            by_cvu: Cvus::default(),
            children: Children::new(
                Arc::clone(&shared),
                residents,
                AccountNo(last_account.map_or(0, |last| last.number)),
            ),
            shared,
        };
        supervisor.load_types()?;
        supervisor.types_are_durable();
        supervisor.load_webhooks()?;
        supervisor.adopt_rules()?;
        Ok(supervisor)
    }

    /// After a failed commit of the realm's own facts: forgets the facts that were never written.
    fn recover(&mut self) -> Result<(), Failure> {
        if !self.actor_status.is_poisoned() {
            return Ok(());
        }
        if !self.actor_status.settled_all() {
            return Err(Failure::Overloaded);
        }
        self.load_types()?;
        self.load_webhooks()?;
        self.tails.clear();
        self.covered = None;
        self.actor_status = Arc::new(ActorStatus::default());
        self.types_are_durable();
        self.writer = CommitWriter::new(
            Arc::clone(&self.shared),
            Arc::clone(&self.actor_status),
            AccountNo(0),
        );
        self.adopt_rules()?;
        Ok(())
    }

    fn number(&mut self, target: Target) -> Result<AccountNo, Failure> {
        let cvu = match target {
            Target::Account(number) if number.0 > 0 && number.0 <= AccountNo::MAX => {
                return Ok(number);
            }
            Target::Account(_) => return Err(Rejection::AccountNotFound.into()),
            Target::Cvu(cvu) => cvu,
        };
        let share = self.children.share();
        if let Some(number) = self.by_cvu.get(cvu, share) {
            return Ok(number);
        }
        let found = reads::account_of_cvu(self.shared.store.as_ref(), self.shared.realm, cvu)?;
        let number = found.ok_or(Rejection::AccountNotFound)?;
        self.by_cvu.remember(cvu, number, share);
        Ok(number)
    }

    /// Ends a request here, and keeps its answer if it has an idempotency key.
    fn end<T: Send + 'static>(&mut self, outcome: Result<T, Failure>, request: RequestContext<T>) {
        let mut page = WriteSet::default();
        if request.keyed.is_some()
            && let Some(precondition) = self.unwritten_types()
        {
            // A refusal that a key keeps is written only with the types that it was decided on.
            page.decides_on(precondition.fact);
        }
        self.writer.finish(page, outcome, request);
    }

    /// Claims a name of the realm, made of these parts, or `None` if it is claimed. Requests of one `owner` share a claim.
    fn claim(&self, name: &[&[u8]], owner: Option<AccountNo>) -> Option<ClaimGuard> {
        let Shared { realm, claims, .. } = &*self.shared;
        claims.claim(*realm, name.concat(), owner)
    }

    /// The same for an operation that only one request at a time may do.
    fn claim_operation<T>(
        &self,
        name: &[&[u8]],
        request: &mut RequestContext<T>,
    ) -> Result<(), Failure> {
        let guard = self.claim(name, None).ok_or(Rejection::OperationInFlight)?;
        request.guards.push(guard);
        Ok(())
    }

    /// Lets a request through its idempotency key: claims the key, or sends the answer kept for it.
    fn admit<T: Send + 'static>(&mut self, mut request: RequestContext<T>) -> Admission<T> {
        let Some(keyed) = &request.keyed else {
            return Admission::Go(request);
        };
        let scope = &keyed.scope;
        let name = [
            b"k".as_slice(),
            scope.method.as_bytes(),
            b" ",
            scope.path.as_bytes(),
            b" ",
            scope.key.as_bytes(),
        ];
        let Some(guard) = self.claim(&name, None) else {
            return refuse(request, Failure::KeyInFlight);
        };
        let (store, realm) = (self.shared.store.as_ref(), self.shared.realm);
        let kept = reads::answer(store, realm, &scope.key, &scope.method, &scope.path);
        let kept = match kept {
            Ok(kept) => kept,
            Err(why) => return refuse(request, why.into()),
        };
        let kept_for = self.shared.keys_kept.as_millis();
        let kept_for = u64::try_from(kept_for).unwrap_or(u64::MAX);
        let fresh = |at: Timestamp| self.shared.clock.now() < at.plus_millis(kept_for);
        match kept.filter(|answer| fresh(answer.at)) {
            None => {
                request.guards.push(guard);
                Admission::Go(request)
            }
            Some(kept) => {
                let fields = scope.differing(&kept);
                if !fields.is_empty() {
                    return refuse(request, Failure::KeyReused { fields });
                }
                match (kept.status, kept.account) {
                    (0, Some(account)) => {
                        request.guards.push(guard);
                        Admission::Adopt(account, request)
                    }
                    (status, _) => {
                        if let Some(reply) = request.reply {
                            reply.send(Ok(Given::Kept {
                                status,
                                body: kept.body,
                                again: true,
                            }));
                        }
                        Admission::Ended
                    }
                }
            }
        }
    }

    /// Hands an order to its account's actor, or ends it with the failure.
    fn forward<O: AccountOrder>(
        &mut self,
        number: Result<AccountNo, Failure>,
        order: O,
        request: ContextOf<O>,
    ) {
        match number.and_then(|number| self.children.get(number)) {
            Ok(child) => child.send(order, request),
            Err(why) => self.end(Err(why), request),
        }
    }

    /// Hands a question to its account's actor, or answers with the failure at once.
    fn ask<O: AccountOrder>(&mut self, target: Target, question: O, request: ContextOf<O>) {
        let number = self.number(target);
        match number.and_then(|number| self.children.get(number)) {
            Ok(child) => child.send(question, request),
            Err(why) => request.answer(Err(why)),
        }
    }
}

fn refuse<T>(request: RequestContext<T>, why: Failure) -> Admission<T> {
    request.answer(Err(why));
    Admission::Ended
}

impl Actor for RealmSupervisor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let supervisor = startup_check::SupervisorHandle {
            address: ctx.address().downgrade(),
            waiting: self.waiting.clone(),
            room: self.shared.room,
        };
        let look = startup_check::run(Arc::clone(&self.shared), supervisor);
        self.shared.tasks.spawn(look);
        self.sweep(ctx);
        let supervisor = self.supervisor(ctx);
        self.take_up_returns(&supervisor);
        ctx.run_interval(SWEEP, |supervisor, ctx| {
            supervisor.children.trim();
            supervisor.by_cvu.trim(supervisor.children.share());
            // A sweep that is under way goes on by itself.
            if supervisor.swept.is_none() {
                supervisor.sweep(ctx);
            }
        });
    }
}

impl<O: RealmOrder> Handler<Queued<Envelope<O>>> for RealmSupervisor {
    type Result = ();

    fn handle(&mut self, queued: Queued<Envelope<O>>, ctx: &mut Context<Self>) {
        self.in_a_row += 1;
        if self.in_a_row >= IN_A_ROW_MAX {
            self.in_a_row = 0;
            give_way(ctx);
        }
        self.shared.times.supervisor.record(queued.waited());
        let mut envelope = queued.take();
        if envelope.is_left() {
            return;
        }
        if let Err(why) = self.recover() {
            tracing::warn!(%why, realm = self.shared.realm.0, "the realm waits for its own commits");
        }
        let Envelope { order, request } = envelope;
        match self.admit(request) {
            Admission::Go(request) => order.route(self, request, ctx),
            Admission::Adopt(account, request) => order.adopt(account, self, request, ctx),
            Admission::Ended => {}
        }
    }
}
