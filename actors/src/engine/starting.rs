//! Loads the supervisor of a realm, and starts it: in one step, or, when this node takes the log over, in two.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock};

use actix::{Actor as _, AsyncContext as _, Context};
use caudal_ledger::ids::RealmId;
use caudal_ledger::numbers::Opening;
use caudal_ledger::tenants::{Mode, Platform, Tenant};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, Store};
use tokio::sync::{Notify, Semaphore};

use super::Realms;
use crate::banks::{Banks, RealmBank, Relation};
use crate::commit_writer::Shared;
use crate::failure::Failure;
use crate::lanes::Lane;
use crate::loads::Loads;
use crate::mailbox::{Mailbox, QueueDepth};
use crate::outgoing_pause::OutgoingPause;
use crate::realm_clock::RealmClock;
use crate::realm_tasks::{self, TasksDone};
use crate::realms::{self, RealmSupervisor};
use crate::records::reads;
use crate::settings::Settings;
use crate::startup_gate::StartupGate;

/// A supervisor that was started.
#[derive(Debug)]
pub(super) struct StartedRealm {
    /// The way to the supervisor.
    pub(super) mailbox: Mailbox<RealmSupervisor>,
    /// The supervisor's way to the store.
    pub(super) lane: Arc<Lane>,
    /// Ends when nothing of its life is left.
    pub(super) tasks_done: TasksDone,
}

/// A supervisor that was loaded and does not act yet. If it is dropped, it never acted.
pub(super) struct LoadedRealm {
    supervisor: RealmSupervisor,
    /// The index of the thread on which it will run.
    at: Option<usize>,
    waiting: QueueDepth,
    lane: Arc<Lane>,
    tasks_done: TasksDone,
}

/// A realm before it is taken up; it may be loaded already.
pub(super) struct PreparedRealm {
    pub(super) parts: RealmParts,
    pub(super) loaded: Option<LoadedRealm>,
}

/// The parts of a realm that outlive its supervisors and follow the platform.
#[derive(Clone)]
pub(super) struct RealmParts {
    pub(super) settings: Arc<RwLock<Arc<Settings>>>,
    pub(super) clock: Arc<RealmClock>,
    pub(super) bank: Arc<RealmBank>,
    /// Wakes the readers that wait for the realm's next event.
    pub(super) published: Arc<Notify>,
}

/// What the platform says about a realm.
#[derive(Clone)]
pub(super) struct RealmTerms {
    settings: Settings,
    relation: Relation,
    /// How far its clock is ahead of the service's, in milliseconds.
    ahead: u64,
}

impl RealmTerms {
    /// The terms of the realm of a tenant and a mode.
    pub(super) fn of(platform: &Platform, tenant: &Tenant, mode: Mode) -> Self {
        Self {
            settings: Settings::of(platform, tenant, mode),
            relation: Relation::of(tenant, mode),
            ahead: platform.ahead(tenant.realm(mode)),
        }
    }
}

impl RealmParts {
    /// Takes the platform's terms over.
    pub(super) fn follow(&self, banks: &Banks, terms: RealmTerms) {
        self.bank.follow(banks, terms.relation);
        self.clock.follow(terms.ahead);
        *self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(terms.settings);
    }
}

impl Realms {
    /// A realm that is new here, and not loaded yet.
    pub(super) fn unloaded(&self, terms: RealmTerms) -> PreparedRealm {
        let outgoing = Arc::new(OutgoingPause::new(self.outside.held.clone()));
        let clock = RealmClock::new(Arc::clone(&self.clock));
        clock.follow(terms.ahead);
        let bank = RealmBank::new(&self.outside.banks, terms.relation, outgoing);
        PreparedRealm {
            parts: RealmParts {
                settings: Arc::new(RwLock::new(Arc::new(terms.settings))),
                clock: Arc::new(clock),
                bank: Arc::new(bank),
                published: Arc::new(Notify::new()),
            },
            loaded: None,
        }
    }

    /// Loads a realm that is new here, without letting it act.
    pub(super) fn ahead(
        &self,
        realm: RealmId,
        terms: RealmTerms,
    ) -> Result<PreparedRealm, Failure> {
        let new = self.unloaded(terms);
        let loaded = self.load(realm, new.parts.clone())?;
        Ok(PreparedRealm {
            loaded: Some(loaded),
            ..new
        })
    }

    /// Notes that the store was opened now, or that its log was taken over from another node.
    pub(super) fn opens(&self) {
        let now = self.clock.now().millis();
        self.opened.store(now, Ordering::Release);
    }

    /// When the store was opened.
    pub(super) fn opened(&self) -> Timestamp {
        Timestamp::from_millis(self.opened.load(Ordering::Acquire))
    }

    /// The way to the supervisor of a realm that has none.
    pub(super) fn nobody(&self, realm: RealmId) -> (Mailbox<RealmSupervisor>, Arc<Lane>) {
        let addr = Context::<RealmSupervisor>::new().address();
        let store = Arc::clone(&self.store);
        let lane = Lane::new(realm, store, Arc::clone(&self.traffic), self.room);
        (Mailbox::new(addr, QueueDepth::default(), self.room), lane)
    }

    /// Starts the supervisor of a realm from the store.
    pub(super) fn start(&self, realm: RealmId, parts: RealmParts) -> Result<StartedRealm, Failure> {
        let loaded = self.load(realm, parts)?;
        Ok(self.begin(loaded))
    }

    /// Loads the supervisor of a realm from the store.
    fn load(&self, realm: RealmId, parts: RealmParts) -> Result<LoadedRealm, Failure> {
        let RealmParts {
            settings,
            clock,
            bank,
            published,
        } = parts;
        let store: Arc<dyn Index> = Arc::<dyn Store>::clone(&self.store);
        let last = reads::events::last_at(store.as_ref(), realm)?;
        let traffic = Arc::clone(&self.traffic);
        let lane = Lane::new(realm, Arc::clone(&self.store), traffic, self.room);
        let (cancel_guard, tasks, tasks_done) = realm_tasks::begin();
        let at = usize::try_from(realm.0)
            .unwrap_or(0)
            .checked_rem(self.arbiters.len());
        let began = settings
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .created_at;
        let shared = Shared {
            realm,
            tasks,
            loads: Loads::new(Arc::clone(&store), realm),
            store,
            lane: Arc::clone(&lane),
            outgoing: Arc::clone(bank.outgoing()),
            collectors: self.collectors.clone(),
            bank,
            bank_slots: Arc::new(Semaphore::new(realms::BANK_SLOTS)),
            startup_gate: Arc::new(StartupGate::since(last)),
            pauses: self.pauses,
            keys_kept: self.keys_kept,
            room: self.room,
            schedule: self.schedule,
            opening: Opening {
                opened: clock.of_service(self.opened()),
                began,
            },
            clock,
            event_rules: self.event_rules,
            times: self.times.clone(),
            meter: Arc::default(),
            settings,
            claims: self.claims.clone(),
            published,
            trail: Arc::default(),
            sink: Arc::clone(&self.outside.sink),
            couriers: self.couriers.clone(),
        };
        let waiting = QueueDepth::default();
        let supervisor =
            RealmSupervisor::load(cancel_guard, shared, self.residency.join(), waiting.clone())?;
        Ok(LoadedRealm {
            supervisor,
            at,
            waiting,
            lane,
            tasks_done,
        })
    }

    /// Starts a loaded supervisor.
    pub(super) fn begin(&self, loaded: LoadedRealm) -> StartedRealm {
        let LoadedRealm {
            supervisor,
            at,
            waiting,
            lane,
            tasks_done,
        } = loaded;
        let addr = match at.and_then(|at| self.arbiters.get(at)) {
            Some(arbiter) => RealmSupervisor::start_in_arbiter(arbiter, move |_| supervisor),
            None => supervisor.start(),
        };
        StartedRealm {
            mailbox: Mailbox::new(addr, waiting, self.room),
            lane,
            tasks_done,
        }
    }
}
