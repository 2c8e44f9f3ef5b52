//! The one door to the actors: finds the realm's supervisor, asks, and waits for the answer.
//!
//! **Shape.** Four facades over one core: [`Ledger`] for orders, [`Queries`] for reads, [`Operators`] for the
//! administration, [`Lifecycle`] for rest and waking. Whoever has the [`Engine`] takes the one that it needs.
//!
//! **Bounds.** A caller waits [`DEADLINE`] for an answer, or [`BANK_DEADLINE`] if the bank is asked. After that the
//! outcome is unknown to the caller, who finds it by the idempotency key or the external id.
//!
//! **Failure.** Every door may answer that the realm is unknown (`TenantNotFound`), a refusal by a rule,
//! [`Failure::Overloaded`] when a mailbox or the read slots are full, [`Failure::ShuttingDown`] when the realm or the
//! service stops, [`Failure::OutcomeUnknown`] after the deadline, and [`Failure::Damaged`] when the store holds data
//! that was never written. Doors that order also answer [`Failure::ClockInDoubt`] and [`Failure::ReadOnly`]. Each door
//! names further ones.

pub mod bank;
mod bank_reads;
pub mod books;
pub mod cases;
mod catch_up;
mod clock;
pub mod collector;
pub mod coverage;
pub mod days;
pub mod events;
pub mod find;
mod following;
pub mod lists;
pub mod money;
pub mod operators;
mod options;
pub mod people;
mod read_slots;
pub mod reconciliation;
pub mod remuneration;
mod restarter;
mod role_changes;
mod starting;
pub mod statements;
pub mod treasury;
mod vouchers;
mod wallet;
pub mod webhooks;

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use actix::{Arbiter, ArbiterHandle};
use caudal_ledger::deliveries::Schedule;
use caudal_ledger::facts::Answer;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, Store};
use dashmap::DashMap;
use tokio::sync::{oneshot, watch};

use following::LoadedAhead;
use starting::RealmParts;

use crate::accounts::{AccountView, BalanceView, ReadBalance, ViewAccount};
use crate::banks;
use crate::commit_writer::RequestContext;
use crate::failure::Failure;
use crate::in_flight::{self, Admitted, InFlight};
use crate::lanes::{Lane, Traffic};
use crate::mailbox::Mailbox;
use crate::orders::Envelope;
use crate::platform::{
    Keys, KnownKey, OnPlatformChange, PlatformActor, PlatformMessage, PlatformOrder,
};
use crate::ports::Clock;
use crate::ports::seals::{DaySigner, NoSigner};
use crate::ports::webhooks::{NoSink, WebhookSink};
use crate::realms::{RealmOrder, RealmSupervisor, Target};
use crate::records::reads;
use crate::reply::{Answered, Claims, Given, Keyed, Reply};
use crate::residency::Residency;
use crate::settings::Pauses;
use crate::times::Times;
use crate::treasury::Treasury;
use crate::treasury::checks::CollectorChecks;

pub use crate::banks::Banks;
pub use crate::realms::{BANK_DEADLINE, DEADLINE};
pub use bank_reads::BankReadLimits;
pub use options::EngineOptions;
use read_slots::ReadCost;
pub use restarter::DownRealm;
use restarter::RestarterHandle;

/// The most answers of one idempotency key that are shown.
const ANSWERS_MAX: usize = 20;

/// The caller of an order, as far as the actors care.
#[derive(Debug)]
pub struct Requester<T> {
    /// The idempotency key, with the function that renders the answer. The door gives a dry run none, so a dry run uses
    /// up no key and keeps no answer, whatever it answers.
    pub keyed: Option<Keyed<T>>,
    /// The id of the request.
    pub request_id: String,
    /// The request, as it was let in at the door; none of operators and of banks, who do not count in a realm's limit.
    pub admitted: Option<Arc<Admitted>>,
}

impl<T> Requester<T> {
    /// An operator or a bank: without an idempotency key, and outside every realm's limit.
    const fn uncounted(request_id: String) -> Self {
        Self {
            keyed: None,
            request_id,
            admitted: None,
        }
    }
}

/// What the facades share.
struct Core {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    keys: Keys,
    /// Replaced when the engine wakes.
    platform: RwLock<Mailbox<PlatformActor>>,
    published: OnPlatformChange,
    /// Replaced when the engine wakes.
    staff: RwLock<people::PeopleHandle>,
    state: Arc<RwLock<Arc<Platform>>>,
    /// How many facts about platform and people had been read while the engine rested.
    seen: AtomicU64,
    realms: Arc<Realms>,
    in_flight: InFlight,
    read_slots: read_slots::ReadSlots,
    bank_reads: bank_reads::BankReads,
    list_rows: u64,
    /// When the next day of each realm is due to be closed; realms whose days are closed here.
    days_due: DashMap<RealmId, Timestamp>,
    /// Replaced when it has died.
    treasury: RwLock<Mailbox<Treasury>>,
    /// Held while a realm is opened or closed.
    turning: tokio::sync::Mutex<()>,
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// All of the actors, and the door to them: four facades over one core.
#[derive(Debug)]
pub struct Engine(Arc<Core>);

/// Orders about accounts and their money, and what the bank reports about them.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a>(&'a Arc<Core>);

/// Reads: accounts, movements, lists, events, statements, the treasury, and what the bank says about them.
#[derive(Clone, Copy, Debug)]
pub struct Queries<'a>(&'a Arc<Core>);

/// The administration: tenants, people, cases, webhooks, and the actors themselves.
#[derive(Clone, Copy, Debug)]
pub struct Operators<'a>(&'a Arc<Core>);

/// Rest, waking and stop of the realms and of all of it, and the clock.
#[derive(Clone, Copy, Debug)]
pub struct Lifecycle<'a>(&'a Arc<Core>);

impl Engine {
    /// The present time, by the service's clock.
    pub fn now(&self) -> Timestamp {
        self.0.now()
    }

    /// The key of a public id, if it was ever issued, even if it no longer works.
    pub fn key(&self, id: &str) -> Option<Arc<KnownKey>> {
        self.0.keys.get(id).map(|known| Arc::clone(known.value()))
    }

    /// Tenants, keys and settings as of the last change.
    pub fn platform(&self) -> Arc<Platform> {
        self.0.platform()
    }

    /// What each realm has in flight: every request of a tenant has to be let in there.
    pub fn in_flight(&self) -> &InFlight {
        &self.0.in_flight
    }

    /// How many accounts of all realms are in memory, and how many may be.
    pub fn residency(&self) -> &Residency {
        &self.0.realms.residency
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// Whether nothing acts here, or soon nothing will, because another node owns the log.
    pub fn is_at_rest(&self) -> bool {
        self.0.is_at_rest()
    }

    /// Orders about accounts and their money, and what the bank reports about them.
    pub const fn ledger(&self) -> Ledger<'_> {
        Ledger(&self.0)
    }

    /// Reads: accounts, movements, lists, events, statements, the treasury, and what the bank says about them.
    pub const fn queries(&self) -> Queries<'_> {
        Queries(&self.0)
    }

    /// The administration: tenants, people, cases, webhooks, and the actors themselves.
    pub const fn operators(&self) -> Operators<'_> {
        Operators(&self.0)
    }

    /// Rest, waking and stop of the realms and of all of it, and the clock.
    pub const fn lifecycle(&self) -> Lifecycle<'_> {
        Lifecycle(&self.0)
    }
}

/// The outside world, as the actors reach it.
pub struct Outside {
    /// Makes the gateway of a tenant's bank.
    pub banks: Banks,
    /// Carries events to webhooks.
    pub sink: Arc<dyn WebhookSink>,
    /// Whether the departures of every realm are held, as in a service that was restored to the past.
    pub held: watch::Receiver<bool>,
    /// Signs closed days.
    pub seals: Arc<dyn DaySigner>,
}

struct Realms {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// When the store was opened, in milliseconds.
    opened: AtomicU64,
    outside: Outside,
    couriers: Option<ArbiterHandle>,
    claims: Claims,
    residency: Arc<Residency>,
    pauses: Pauses,
    keys_kept: Duration,
    /// How many messages or commits of a realm can be under way: see [`in_flight::room`].
    room: usize,
    schedule: Schedule,
    times: Times,
    event_rules: u16,
    treasury_every: Duration,
    treasury_patience: Duration,
    arbiters: Vec<ArbiterHandle>,
    traffic: Arc<Traffic>,
    supervisors: DashMap<RealmId, Supervised>,
    collectors: banks::KnownCollectors,
    /// What is known of the collector accounts that are checked; see [`coverage`].
    checks: Arc<CollectorChecks>,
    /// Whether the realms do not act here, because another node owns the log. Held while realms are taken up.
    rests: Mutex<bool>,
    /// The open realms of the platform that was taken up last, or is being taken up.
    known: RwLock<BTreeSet<RealmId>>,
    /// Held while a state of the platform is taken up, so that states are taken up one after the other.
    publishing: Mutex<()>,
    /// Held while the realms wake or come to rest.
    waking: Arc<tokio::sync::Mutex<()>>,
}

/// A realm: its present supervisor, and the parts that outlive supervisors.
#[derive(Clone)]
struct Supervised {
    parts: RealmParts,
    /// The way to its supervisor; nobody is there while the realm is retired, or between two supervisors.
    mailbox: Mailbox<RealmSupervisor>,
    lane: Arc<Lane>,
    restarter: RestarterHandle,
}

impl Drop for Core {
    /// Stops the threads that the engine has started; nobody can ask their actors any more.
    fn drop(&mut self) {
        for thread in self.realms.arbiters.iter().chain(&self.realms.couriers) {
            thread.stop();
        }
    }
}

impl Engine {
    /// Starts the actors over a store, without a carrier of events to webhooks: for tests and benches. Must be called
    /// inside an actix system.
    ///
    /// # Errors
    /// As [`Self::carrying`].
    pub fn start(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        banks: Banks,
        options: EngineOptions,
    ) -> Result<Self, Failure> {
        Self::carrying(store, clock, banks, Arc::new(NoSink), options)
    }

    /// Starts the actors over a store; `sink` carries events to webhooks. Must be called inside an actix system.
    ///
    /// # Errors
    /// When the platform or the settings of a realm cannot be read from the store.
    pub fn carrying(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        banks: Banks,
        sink: Arc<dyn WebhookSink>,
        options: EngineOptions,
    ) -> Result<Self, Failure> {
        let (_, held) = watch::channel(false);
        let outside = Outside {
            banks,
            sink,
            held,
            seals: Arc::new(NoSigner),
        };
        Self::timed(store, clock, outside, options, Times::default())
    }

    /// The same, with handles that record how long messages wait.
    ///
    /// # Errors
    /// As [`Self::carrying`].
    pub fn timed(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        outside: Outside,
        options: EngineOptions,
        times: Times,
    ) -> Result<Self, Failure> {
        let loaded = PlatformActor::load(store.as_ref())?;
        clock.begin(clock::known(store.as_ref(), &loaded.0)?);
        let arbiters = (0..options.arbiters)
            .map(|_| Arbiter::new().handle())
            .collect();
        let couriers = (options.arbiters > 0).then(|| Arbiter::new().handle());
        let realms = Arc::new(Realms {
            store: Arc::clone(&store),
            opened: AtomicU64::new(clock.now().millis()),
            clock: Arc::clone(&clock),
            outside,
            couriers,
            claims: Claims::default(),
            residency: Arc::new(Residency::new(options.resident)),
            pauses: options.pauses,
            keys_kept: options.keys_kept,
            room: in_flight::room(options.in_flight),
            schedule: options.webhooks,
            times,
            event_rules: options.event_rules,
            treasury_every: options.treasury_every,
            treasury_patience: options.treasury_patience,
            arbiters,
            traffic: Arc::default(),
            supervisors: DashMap::new(),
            collectors: banks::KnownCollectors::default(),
            checks: Arc::default(),
            rests: Mutex::new(options.rests),
            known: RwLock::default(),
            publishing: Mutex::default(),
            waking: Arc::default(),
        });
        let keys = Keys::default();
        let first = Arc::new(loaded.0.clone());
        role_changes::publish_keys(&keys, &first);
        realms.follow(&first, LoadedAhead::new())?;
        let state = Arc::new(RwLock::new(first));
        let published = role_changes::publisher(&keys, &realms, &state);
        let platform = RwLock::new(realms.start_platform(loaded, Arc::clone(&published)));
        let staff = RwLock::new(realms.people_handle()?);
        let treasury = RwLock::new(realms.treasury());
        let core = Core {
            store,
            clock,
            keys,
            platform,
            published,
            staff,
            state,
            seen: AtomicU64::new(0),
            realms,
            in_flight: InFlight::new(options.in_flight),
            read_slots: read_slots::ReadSlots::default(),
            bank_reads: bank_reads::BankReads::new(options.bank_reads),
            list_rows: options.list_rows,
            days_due: DashMap::new(),
            treasury,
            turning: tokio::sync::Mutex::default(),
        };
        Ok(Self(Arc::new(core)))
    }
}

impl Core {
    /// The present time, by the service's clock.
    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The present time of a realm.
    fn now_in(&self, realm: RealmId) -> Timestamp {
        self.platform().realm_time(realm, self.now())
    }

    /// Tenants, keys and settings as of the last change.
    fn platform(&self) -> Arc<Platform> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks a realm a question, which has no idempotency key.
    async fn ask<O: RealmOrder>(&self, realm: RealmId, question: O) -> Result<O::Outcome, Failure> {
        value(wait(self.asked(realm, question)?, O::DEADLINE).await)
    }

    /// Sends a realm a question. Returns the future of its answer.
    fn asked<O: RealmOrder>(
        &self,
        realm: RealmId,
        order: O,
    ) -> Result<oneshot::Receiver<Answered<O::Outcome>>, Failure> {
        let (reply, answer) = Reply::new();
        let request = RequestContext::of_question(reply);
        let supervisor = self.realms.supervisor(realm)?;
        supervisor.tell(Envelope { order, request })?;
        Ok(answer)
    }

    /// Has a realm decide an order.
    async fn order<O: RealmOrder>(
        &self,
        realm: RealmId,
        order: O,
        requester: Requester<O::Outcome>,
    ) -> Answered<O::Outcome> {
        let send = |realm: &Mailbox<_>, request| realm.tell(Envelope { order, request });
        self.ordered(realm, O::DEADLINE, requester, send).await
    }

    /// As [`Self::order`], for an order that `send` puts into the mailbox of the realm's supervisor.
    async fn ordered<T>(
        &self,
        realm: RealmId,
        deadline: Duration,
        requester: Requester<T>,
        send: impl FnOnce(&Mailbox<RealmSupervisor>, RequestContext<T>) -> Result<(), Failure>,
    ) -> Answered<T> {
        let Requester {
            keyed,
            request_id,
            admitted,
        } = requester;
        let (reply, answer) = Reply::counting(admitted);
        self.certain()?;
        let request = RequestContext {
            reply: Some(reply),
            keyed,
            guards: Vec::new(),
            request_id,
        };
        send(&self.realms.supervisor(realm)?, request)?;
        wait(answer, deadline).await
    }

    /// Sends a realm an order of an operator or a bank, which has no idempotency key.
    async fn decide<O: RealmOrder>(
        &self,
        realm: RealmId,
        order: O,
        request_id: &str,
    ) -> Result<O::Outcome, Failure> {
        let requester = Requester::uncounted(request_id.to_owned());
        value(self.order(realm, order, requester).await)
    }

    async fn instruct(&self, order: PlatformOrder) -> Result<Arc<Platform>, Failure> {
        if self.is_at_rest() {
            return Err(Failure::ShuttingDown);
        }
        let (reply, answer) = Reply::new();
        let platform = self.platform.read();
        let platform = platform.unwrap_or_else(PoisonError::into_inner).clone();
        platform.tell(PlatformMessage(order, reply))?;
        wait(answer, DEADLINE).await
    }
}

impl Ledger<'_> {
    /// Sends an order to a realm, which decides it. An order that needs the bank waits for the bank.
    pub async fn order<O: RealmOrder>(
        self,
        realm: RealmId,
        order: O,
        requester: Requester<O::Outcome>,
    ) -> Answered<O::Outcome> {
        self.0.order(realm, order, requester).await
    }
}

impl Queries<'_> {
    /// The present time of a realm: in a test realm, as far ahead of the machine's as a key has advanced it.
    pub fn now(self, realm: RealmId) -> Timestamp {
        self.0.now_in(realm)
    }

    /// Asks a realm, or one of its accounts, a question. The answer waits until all that it shows is on disk.
    ///
    /// # Errors
    /// Those of every door, `AccountNotFound`, and `AccountWithoutCvu` for a question about a balance.
    pub async fn ask<O: RealmOrder>(
        self,
        realm: RealmId,
        question: O,
    ) -> Result<O::Outcome, Failure> {
        self.0.ask(realm, question).await
    }

    /// An account as it is. The answer waits until all that it shows is on disk.
    ///
    /// # Errors
    /// Those of every door, and `AccountNotFound`.
    pub async fn view(self, realm: RealmId, target: Target) -> Result<AccountView, Failure> {
        self.0.ask(realm, ViewAccount(target)).await
    }

    /// The balance of an account as it is, in centavos.
    ///
    /// # Errors
    /// Those of every door, `AccountNotFound`, and `AccountWithoutCvu`.
    pub async fn balance(self, realm: RealmId, target: Target) -> Result<BalanceView, Failure> {
        self.0.ask(realm, ReadBalance(target)).await
    }

    /// The answers that an idempotency key keeps, at most 20.
    ///
    /// # Errors
    /// Those of every door, and [`Failure::KeyUnknown`] when it keeps none.
    pub async fn answers(self, realm: RealmId, key: &str) -> Result<Vec<Answer>, Failure> {
        let key = key.to_owned();
        let read = move |store: &dyn Index| reads::answers(store, realm, &key, ANSWERS_MAX);
        let answers = self.0.scan(realm, ReadCost::Page, read).await?;
        if answers.is_empty() {
            Err(Failure::KeyUnknown)
        } else {
            Ok(answers)
        }
    }
}

impl Operators<'_> {
    /// Decides an order about the platform. Returns the platform after it.
    ///
    /// # Errors
    /// Those of every door, and [`Failure::ClockInDoubt`].
    pub async fn administer(self, order: PlatformOrder) -> Result<Arc<Platform>, Failure> {
        self.0.certain()?;
        self.0.instruct(order).await
    }
}

/// The value of an answer that no key keeps.
fn value<T>(answered: Answered<T>) -> Result<T, Failure> {
    match answered? {
        Given::Value(value) => Ok(value),
        Given::Kept { .. } => Err(Failure::OutcomeUnknown),
    }
}

/// Waits for an answer. If none comes in time, or the actor dies with the question, the outcome is unknown.
async fn wait<T>(
    answer: impl Future<Output = Result<Result<T, Failure>, oneshot::error::RecvError>>,
    deadline: Duration,
) -> Result<T, Failure> {
    match tokio::time::timeout(deadline, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) | Err(_) => Err(Failure::OutcomeUnknown),
    }
}
