//! A whole service in this process: its own folder, its own thread and actix system, a sandbox bank
//! that outlives restarts, two tenants, and keys for them.

use std::net::TcpListener;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use caudal::bank::{Config, HttpGateway};
use caudal::http::{Door, frame::Gate, rate::RateLimit};
use caudal::keys::Keyring;
use caudal::sandbox::{self, Sandbox};
use caudal_actors::engine::{self, Banks, Engine};
use caudal_actors::platform::{NewTenant, PlatformOrder, TenantChange};
use caudal_actors::ports::{BankGateway, Clock};
use caudal_actors::records::projection::Rows;
use caudal_ledger::limits::Limits;
use caudal_ledger::tenants::{Mode, Policy};
use caudal_ledger::time::Timestamp;
use caudal_storage::{DurableStore, OpenError, Options, Store};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::client::{Answer, Client};
use super::{SOON, Value, json, wait_until};

/// The pepper of all keys in tests.
const PEPPER: &[u8] = b"the pepper of tests";
/// The tenant that tests work with, and the one that must never be seen.
pub const TENANT: &str = "tnt_first";
pub const OTHER: &str = "tnt_other";

/// A clock that stands still until it is told to go on.
#[derive(Debug, Default)]
pub struct TestClock(AtomicU64);

impl TestClock {
    pub fn at(instant: &str) -> Arc<Self> {
        let clock = Self::default();
        clock.set(instant);
        Arc::new(clock)
    }

    pub fn set(&self, instant: &str) {
        self.0.store(
            Timestamp::parse(instant).unwrap().millis(),
            Ordering::SeqCst,
        );
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

/// How a service is put together.
pub struct Setup {
    pub clock: Arc<dyn Clock>,
    /// How long the bank has for one attempt, and for all.
    pub patience: (Duration, Duration),
    /// The rate limit of each key: requests a second, and at once.
    pub rate: Option<(u32, u32)>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            clock: Arc::new(caudal::clock::SystemClock),
            patience: (Duration::from_secs(3), Duration::from_secs(8)),
            rate: None,
        }
    }
}

/// A running service with its client.
pub struct TestService {
    /// A client with the first tenant's test key.
    pub a: Client,
    /// The same tenant's live key.
    pub live: Client,
    /// Another tenant's test key.
    pub b: Client,
    /// The sandbox bank.
    pub bank: Bank,
    part: Option<Part>,
    setup: Setup,
    folder: TempDir,
}

/// The part that ends and begins again.
struct Part {
    engine: Arc<Engine>,
    stop: oneshot::Sender<bool>,
    thread: JoinHandle<()>,
}

/// The sandbox bank, with its switches.
pub struct Bank {
    _running: sandbox::Running,
    client: Client,
}

impl Bank {
    fn start() -> Self {
        let running = Sandbox::start(sandbox::Options::default()).unwrap();
        let client = Client::new(&running.url(), None);
        Self {
            _running: running,
            client,
        }
    }

    /// Makes an operation misbehave.
    pub async fn behave(&self, order: Value) {
        self.client.post("/sandbox/behaviour", &order).await.is(200);
    }

    pub async fn state(&self) -> Answer {
        self.client.get("/sandbox/state").await.is(200)
    }

    /// The CVUs that a CUIT has at the bank.
    pub async fn accounts_of(&self, cuit: &str) -> Vec<Value> {
        let state = self.state().await;
        let accounts = state["accounts"].as_array().unwrap().iter();
        accounts
            .filter(|account| account["cuit"] == cuit)
            .cloned()
            .collect()
    }

    /// How often an operation was called.
    pub async fn calls(&self, operation: &str) -> u64 {
        self.state().await["calls"][operation].as_u64().unwrap()
    }

    fn banks(&self, (attempt, deadline): (Duration, Duration)) -> Banks {
        let mut config = Config::new(
            &self.client.url,
            sandbox::USERNAME,
            sandbox::PASSWORD,
            sandbox::COLLECTOR,
        );
        config.attempt_timeout = attempt;
        config.deadline = deadline;
        config.replica_lag = Duration::from_millis(20);
        let gateway: Arc<dyn BankGateway> = Arc::new(HttpGateway::new(config).unwrap());
        Arc::new(move |_| Arc::clone(&gateway))
    }
}

impl TestService {
    /// A service with the usual setup.
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    /// A service whose clock the test holds.
    pub async fn at(clock: &Arc<TestClock>) -> Self {
        let clock = Arc::<TestClock>::clone(clock);
        Self::with(Setup {
            clock,
            ..Setup::default()
        })
        .await
    }

    /// A service whose bank is given up after so long.
    pub async fn impatient(attempt: Duration, deadline: Duration) -> Self {
        Self::with(Setup {
            patience: (attempt, deadline),
            ..Setup::default()
        })
        .await
    }

    pub async fn with(setup: Setup) -> Self {
        let (folder, bank) = (TempDir::new().unwrap(), Bank::start());
        let (part, url) = Part::start(&folder, &setup, &bank);
        let keyring = Keyring::new(PEPPER);
        let mut keys = Vec::new();
        for tenant in [TENANT, OTHER] {
            let new = NewTenant {
                id: tenant.to_owned(),
                name: format!("Tenant {tenant}"),
                policy: Policy::default(),
                limits: Limits::default(),
                fees: Vec::new(),
            };
            part.engine
                .administer(PlatformOrder::CreateTenant(new))
                .await
                .unwrap();
            for mode in [Mode::Test, Mode::Live] {
                let issued = keyring.issue(tenant, mode, None).unwrap();
                part.engine
                    .administer(PlatformOrder::IssueKey(issued.record))
                    .await
                    .unwrap();
                keys.push(issued.text);
            }
        }
        let a = Client::new(&url, Some(&keys[0]));
        let (live, b) = (a.with_key(Some(&keys[1])), a.with_key(Some(&keys[2])));
        Self {
            a,
            live,
            b,
            bank,
            part: Some(part),
            setup,
            folder,
        }
    }

    pub fn engine(&self) -> &Engine {
        &self.part.as_ref().unwrap().engine
    }

    /// Changes the first tenant's policy, and waits until its realms know.
    pub async fn policy(&self, policy: Policy) {
        let change = TenantChange {
            policy: Some(policy),
            ..TenantChange::default()
        };
        self.engine()
            .administer(PlatformOrder::ChangeTenant(TENANT.to_owned(), change))
            .await
            .unwrap();
    }

    /// Ends the service as it should end, and starts it again on the same folder and bank.
    pub async fn restart(&mut self) {
        self.end(true);
        self.begin().await;
    }

    /// Ends the service without a word, as a crash would, and starts it again.
    pub async fn crash(&mut self) {
        self.end(false);
        self.begin().await;
    }

    /// Ends the service; it can begin again.
    pub fn end(&mut self, gracefully: bool) {
        if let Some(part) = self.part.take() {
            part.end(gracefully);
        }
    }

    /// Begins again where the service ended.
    pub async fn begin(&mut self) {
        let (part, url) = Part::start(&self.folder, &self.setup, &self.bank);
        self.part = Some(part);
        for client in [&mut self.a, &mut self.live, &mut self.b] {
            client.url.clone_from(&url);
        }
        let ready = self.a.get("/readyz").await;
        ready.is(200);
    }

    /// Replays the journal and compares: no difference, and so many vouchers.
    pub async fn verified(&self) -> u64 {
        let report = caudal_actors::verify::engine(self.engine()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
        report.vouchers
    }
}

impl Drop for TestService {
    fn drop(&mut self) {
        self.end(false);
    }
}

impl Part {
    fn start(folder: &TempDir, setup: &Setup, bank: &Bank) -> (Self, String) {
        let (path, clock) = (folder.path().join("store"), Arc::clone(&setup.clock));
        let banks = bank.banks(setup.patience);
        let whole = |number| NonZeroU32::new(number).unwrap();
        let limit = |(second, burst)| Arc::new(RateLimit::new(whole(second), whole(burst)));
        let rate = setup.rate.map(limit);
        let (tell, told) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<bool>();
        let live = async move || {
            let store: Arc<dyn Store> = opened(&path).await;
            let options = engine::Options {
                arbiters: 1,
                ..engine::Options::default()
            };
            let engine = Arc::new(Engine::start(store, clock, banks, options).unwrap());
            let door = Door {
                engine: Arc::clone(&engine),
                keyring: Arc::new(Keyring::new(PEPPER)),
                gate: Arc::new(Gate::default()),
                rate,
            };
            let gate = Arc::clone(&door.gate);
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let running = caudal::server::start(door, listener, 1, None).unwrap();
            tell.send((Arc::clone(&engine), running.addr)).unwrap();
            let gracefully = stopped.await.unwrap_or(false);
            gate.close();
            running.handle.stop(gracefully).await;
            if gracefully {
                engine.close().unwrap();
            }
        };
        let thread = std::thread::spawn(move || {
            let system = actix::System::new();
            system.block_on(live());
            actix::System::current().stop();
            system.run().unwrap();
        });
        let (engine, addr) = told.recv().unwrap();
        (
            Self {
                engine,
                stop,
                thread,
            },
            format!("http://{addr}"),
        )
    }

    fn end(self, gracefully: bool) {
        drop(self.engine);
        self.stop.send(gracefully).ok();
        self.thread.join().unwrap();
    }
}

/// Opens a store as soon as those who had it before have let go of its folder.
async fn opened(path: &Path) -> Arc<DurableStore> {
    let rows = || Arc::new(Rows);
    let open = async || match DurableStore::open(path, Options::small(), rows()) {
        Err(OpenError::Busy(_)) => None,
        opened => Some(opened.unwrap()),
    };
    wait_until("the folder is free", SOON, open).await
}

/// A body that opens an account.
pub fn opening(cuit: &str) -> Value {
    json!({"cuit": cuit, "holderName": "Juana Azurduy"})
}
