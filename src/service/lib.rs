//! The composition root: one folder, its store, the actors that use it, and the listeners.
//!
//! **Shape.** [`Service::start`] runs everything on a thread and an actix system of its own, so that
//! any runtime, or none, may call it, and several services live in one process. `caudal dev`,
//! `caudal serve`, the tests and the bench all come through here.
//!
//! **Order.** A start: descriptors, folder, pepper, store (checked from its checkpoint on), bank, actors,
//! admin listener, public listener. A stop: gate, listeners, store, bank.
//!
//! **Failure.** [`Service::stop`] loses nothing that was accepted. Dropping a service instead is like a crash:
//! everything that was acknowledged is in the journal.

mod assembly;
mod banks;
pub mod calendar;
mod catch_up;
mod cell;
pub mod config;
mod coverage;
mod days;
mod descriptors;
mod folder;
mod listening;
mod nodes;
mod resealing;
mod seals;
mod secrets;
pub mod server;
mod shipping;
mod timers;

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use caudal_actors::engine::{self, Banks, Engine};
use caudal_actors::failure::Failure;
use caudal_actors::platform::NewTenant;
use caudal_actors::ports::Clock;
use caudal_http::bytes::Deadlines;
use caudal_http::clock::GuardedClock;
use caudal_http::errors::ApiError;
use caudal_http::keys::Keyring;
use caudal_http::memory::MemoryPlan;
use caudal_http::rate::PerSecond;
use caudal_http::streams::StreamOptions;
use caudal_http::webhooks::{AllowedAddresses, AttemptLimits};
use caudal_http::{AppState, audit_rate, wire, wrong_keys};
use caudal_ledger::calendar::Calendar;
use caudal_ledger::ids::Shard;
use caudal_ledger::tenants::{Mode, Tenant};
use caudal_operators::admin;
use caudal_operators::admin::IssueKey;
use caudal_operators::console::Console;
use caudal_storage::OpenError;
use secrecy::SecretString;
use tokio::sync::{Notify, oneshot};

pub use assembly::reachable;
pub use banks::Usual;
pub use cell::{CellLog, LEASE, place_of, set_place};
pub use days::DayClosing;
pub use folder::new_secret;
pub use folder::{
    BANK, BackupChoice, Restoring, clear, hold, is_free, is_restored, knows_a_store, list_since,
    open as open_folder, pepper_mark,
};
pub use folder::{read as read_file, write as write_file};

/// How long requests in flight have to finish when the service stops.
pub const GRACE: Duration = Duration::from_secs(20);
/// How often the bank's list of the day is read for transfers that no notice reported.
pub const CATCH_UP: Duration = Duration::from_secs(300);
/// How often each collector account is compared with what clients own.
pub const COVERAGE_CHECK: Duration = Duration::from_secs(60);
/// When days are closed: ten minutes after their end, looked for every minute.
pub const DAY_CLOSING: DayClosing = DayClosing {
    grace: Duration::from_secs(600),
    every: Duration::from_secs(60),
};
/// The folder in the data folder of [`ServiceOptions::local`] in which secrets are.
pub const SECRETS: &str = "secrets";
/// The admin key of [`ServiceOptions::for_tests`].
pub const TEST_ADMIN_KEY: &str = "admin-key-of-tests-0123456789abcdef";

/// Which bank the service talks to.
#[derive(Clone)]
pub enum Banking {
    /// An embedded sandbox bank, for both modes.
    Sandbox {
        /// Where it listens; port 0 picks a free one.
        listen: SocketAddr,
        /// Where it keeps its accounts; in memory when there is none.
        data: Option<PathBuf>,
        /// The opening balance of each collector account, in centavos.
        endowment: u64,
    },
    /// Banks over HTTP, one per mode, for tenants that have no other.
    Remote {
        /// The bank of live realms; without one, tenants without a bank of their own get no live keys.
        live: Option<Box<Usual>>,
        /// The sandbox bank of test realms.
        test: Box<Usual>,
    },
    /// Gateways that the caller makes.
    Given(Banks),
}

/// How a service is put together.
#[derive(Clone)]
pub struct ServiceOptions {
    /// The data folder: `store/`, `pepper` and everything else that the service keeps.
    pub data: PathBuf,
    /// Where the public API listens; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Where the admin API listens; port 0 picks a free one.
    pub admin_listen: SocketAddr,
    /// How many threads the public listener has; 0 is one per processor.
    pub workers: usize,
    /// The number of this service among the shards, in the ids and keys that it makes.
    pub shard: Shard,
    /// How the actors are laid out.
    pub engine: engine::EngineOptions,
    /// Limits of the store.
    pub storage: caudal_storage::StoreOptions,
    /// Where the store's log is, when it is not the store's own journal.
    pub cell: Option<CellLog>,
    /// Which bank the service talks to.
    pub banking: Banking,
    /// The folder of the secrets that bank relations of tenants name.
    pub secrets: Option<PathBuf>,
    /// The credential of the admin API; further lines are older ones, which are accepted, too.
    pub admin_key: SecretString,
    /// Whether that credential works; a platform whose people have credentials of their own can do without it.
    pub admin_key_enabled: bool,
    /// The peppers of API keys, one a line and the newest first; without one it is kept in the folder.
    pub pepper: Option<SecretString>,
    /// How many connections the public listener has.
    pub limits: wire::ConnectionLimits,
    /// How long a client may leave an answer unread before its connection is closed.
    pub answer: Duration,
    /// How many wrong keys a peer may show in a burst; it earns one more every few seconds.
    pub wrong_keys: NonZeroU32,
    /// How many checks and denials of an operator have entries in the audit log in a burst; one more has one every few
    /// seconds. So many pages that show persons, or more, may be opened in a burst.
    pub audit_burst: NonZeroU32,
    /// The limit of each API key, in requests per second and at once; `None` is no limit.
    pub rate: Option<PerSecond>,
    /// How long requests in flight have to finish when the service stops.
    pub grace: Duration,
    /// How long the parts of a request may take to arrive.
    pub deadlines: Deadlines,
    /// One in this many successful requests has a line in the log; 0 is none.
    pub log_every: u32,
    /// How often the bank's list of the day is read for transfers that no notice reported; `None` is never.
    pub catch_up: Option<Duration>,
    /// How often each collector account is compared with what clients own; `None` is never.
    pub coverage_check: Option<Duration>,
    /// When days are closed; `None` is never.
    pub day_closing: Option<DayClosing>,
    /// Where webhooks may be sent to.
    pub reach: AllowedAddresses,
    /// Bounds and pace of streams of events.
    pub streams: StreamOptions,
    /// How long one attempt at a webhook may take, and how much of its answer is read.
    pub attempt: AttemptLimits,
    /// The service's clock.
    pub clock: Arc<dyn Clock>,
    /// The days on which banks are closed.
    pub calendar: Arc<Calendar>,
    /// The memory that the process aims at; without it, nothing watches memory.
    pub memory: Option<MemoryPlan>,
    /// Where the journal is shipped to, if anywhere.
    pub backup: Option<caudal_backup::run::BackupPlan>,
    /// Routes that the caller adds to the public listener.
    pub extra: server::Extra,
}

impl ServiceOptions {
    /// A service in a folder, on free ports of the loopback, with an embedded sandbox bank that
    /// keeps its accounts there too; webhooks may be sent to this machine.
    pub fn local(data: impl Into<PathBuf>, admin_key: SecretString) -> Self {
        let data = data.into();
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            listen: free,
            admin_listen: free,
            workers: 0,
            shard: Shard::default(),
            engine: engine::EngineOptions::default(),
            storage: caudal_storage::StoreOptions::default(),
            cell: None,
            banking: Banking::Sandbox {
                listen: free,
                data: Some(data.join(BANK)),
                endowment: 0,
            },
            secrets: Some(data.join(SECRETS)),
            admin_key,
            admin_key_enabled: true,
            pepper: None,
            limits: wire::ConnectionLimits::default(),
            answer: wire::ANSWER_PATIENCE,
            wrong_keys: wrong_keys::WRONG_BURST,
            audit_burst: audit_rate::BURST,
            rate: None,
            grace: GRACE,
            deadlines: Deadlines::default(),
            log_every: 1,
            catch_up: Some(CATCH_UP),
            coverage_check: Some(COVERAGE_CHECK),
            day_closing: Some(DAY_CLOSING),
            reach: AllowedAddresses::loopback(),
            streams: StreamOptions::default(),
            attempt: AttemptLimits::default(),
            clock: Arc::new(GuardedClock::of_machine()),
            calendar: Arc::new(calendar::load(None).unwrap_or_default()),
            memory: None,
            backup: None,
            extra: None,
            data,
        }
    }

    /// The same options, laid out for this much memory.
    #[must_use]
    pub fn within(mut self, plan: MemoryPlan) -> Self {
        plan.lay_out(&mut self.engine, &mut self.storage);
        self.memory = Some(plan);
        self
    }

    /// Options with limits that suit a test: one worker, small segments, no floor of free space, any number of wrong
    /// keys and of entries for looks, and [`TEST_ADMIN_KEY`].
    pub fn for_tests(data: impl Into<PathBuf>) -> Self {
        Self {
            workers: 1,
            storage: caudal_storage::StoreOptions {
                segment_bytes: 1 << 20,
                table_bytes: 1 << 20,
                index_cache_bytes: 4 << 20,
                heads_max: 10_000,
                free_space_floor: 0,
                ..caudal_storage::StoreOptions::default()
            },
            wrong_keys: NonZeroU32::MAX,
            audit_burst: NonZeroU32::MAX,
            grace: Duration::from_secs(5),
            catch_up: None,
            coverage_check: None,
            day_closing: None,
            ..Self::local(data, TEST_ADMIN_KEY.into())
        }
    }
}

/// Why a service does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store refuses to open; the message tells the operator how to proceed.
    #[error("{0}")]
    Storage(#[from] OpenError),
    /// The ledger cannot be loaded from the store.
    #[error("the ledger cannot be loaded: {0}")]
    Load(#[from] Failure),
    /// A setting is wrong; the message names it and tells how to correct it.
    #[error("{0}")]
    Setting(String),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The system's error.
        source: io::Error,
    },
}

impl StartError {
    /// The error of the system, with the operation that failed.
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        let what = what.into();
        Self::Io { what, source }
    }
}

/// A service that runs.
#[must_use = "dropping it ends the service as a crash would"]
pub struct Service {
    /// The public API, for instance `http://127.0.0.1:8080`.
    pub url: String,
    /// The address of the admin API.
    pub admin_url: String,
    /// The embedded sandbox bank, when there is one.
    pub bank_url: Option<String>,
    /// The actors. Drop every clone before stopping: clones keep the folder locked.
    pub engine: Arc<Engine>,
    /// The keys by which requests are recognised.
    pub keyring: Arc<Keyring>,
    console: Arc<Console>,
    app: AppState,
    stop: oneshot::Sender<()>,
    ended: oneshot::Receiver<Result<(), Failure>>,
    deposed: Arc<Notify>,
    thread: JoinHandle<()>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("url", &self.url)
            .field("admin_url", &self.admin_url)
            .field("bank_url", &self.bank_url)
            .finish_non_exhaustive()
    }
}

/// The addresses and handles that the service's thread reports once it takes requests.
struct Started {
    addr: SocketAddr,
    admin_addr: SocketAddr,
    bank_url: Option<String>,
    console: Arc<Console>,
    app: AppState,
}

impl Service {
    /// Starts a service; when this returns it takes requests. Blocks while the store is checked.
    pub fn start(mut options: ServiceOptions) -> Result<Self, StartError> {
        let deposed = Arc::new(Notify::new());
        let tell = Arc::clone(&deposed);
        options.storage.turned = Some(Arc::new(move |_| tell.notify_one()));
        let (send, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("caudal".into())
            .spawn(move || {
                let outcome = assembly::live(options, &send, stopped);
                drop(send);
                // The receiver is gone if the handle was dropped.
                end.send(outcome).ok();
            })
            .map_err(|why| StartError::io("starting a thread", why))?;
        let lost = || StartError::io("starting", io::Error::other("the service's thread died"));
        let started: Started = started.recv().map_err(|_| lost())??;
        Ok(Self {
            url: format!("http://{}", started.addr),
            admin_url: format!("http://{}", started.admin_addr),
            bank_url: started.bank_url,
            engine: Arc::clone(&started.app.engine),
            keyring: Arc::clone(&started.app.keyring),
            console: started.console,
            app: started.app,
            stop,
            ended,
            deposed,
            thread,
        })
    }

    /// Stops the service: it is not ready at once, requests in flight finish, and everything accepted is on disk. When
    /// this returns, the folder may be opened again.
    ///
    /// # Errors
    /// When the store could not write everything out; it is whole all the same.
    pub async fn stop(self) -> Result<(), Failure> {
        let Self {
            engine,
            app,
            stop,
            ended,
            thread,
            ..
        } = self;
        drop((engine, app));
        // The send fails only when the service has already ended.
        stop.send(()).ok();
        finish(ended, thread).await
    }

    /// Ends as a crash would, without waiting for answers or writing anything out. For tests.
    pub async fn kill(self) {
        let Self {
            engine,
            app,
            stop,
            ended,
            thread,
            ..
        } = self;
        drop((engine, app, stop));
        finish(ended, thread).await.ok();
    }

    /// Creates a tenant that sets nothing of its own.
    ///
    /// # Errors
    /// When the store takes no writes.
    pub async fn create_tenant(&self, name: &str) -> Result<Tenant, ApiError> {
        let new = NewTenant {
            name: name.to_owned(),
            ..NewTenant::plain(admin::new_tenant_id())
        };
        self.add_tenant(new).await
    }

    /// Creates a tenant under an id that no other has.
    ///
    /// # Errors
    /// When the store takes no writes.
    pub async fn add_tenant(&self, new: NewTenant) -> Result<Tenant, ApiError> {
        admin::create_tenant(&self.app, new).await
    }

    /// Issues a key to a tenant: the text for `x-api-key`.
    ///
    /// # Errors
    /// When the tenant does not exist or has too many keys.
    pub async fn issue_key(&self, tenant: &str, mode: Mode) -> Result<String, ApiError> {
        let (text, _) = admin::issue_key(&self.app, tenant, IssueKey::of(mode)).await?;
        Ok(text)
    }

    /// The address of the console with a link that logs in once within ten minutes; `None` when the system provides no
    /// random bits.
    pub fn console_link(&self) -> Option<String> {
        Some(format!("{}{}", self.admin_url, self.console.link()?))
    }

    /// Waits until another node takes the cell: from then on nothing is written here.
    pub fn deposed(&self) -> impl Future<Output = ()> + use<> {
        let deposed = Arc::clone(&self.deposed);
        async move { deposed.notified().await }
    }

    /// Waits for the service to end unasked, which it should not do.
    pub async fn ended(&mut self) {
        (&mut self.ended).await.ok();
    }
}

async fn finish(
    ended: oneshot::Receiver<Result<(), Failure>>,
    thread: JoinHandle<()>,
) -> Result<(), Failure> {
    let outcome = ended.await.unwrap_or(Err(Failure::OutcomeUnknown));
    if thread.join().is_err() {
        tracing::error!("the service's thread panicked");
        return Err(Failure::OutcomeUnknown);
    }
    outcome
}

#[cfg(test)]
mod tests;
