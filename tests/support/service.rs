//! A whole service in this process: its own folder, its own thread and actix system, a sandbox bank
//! that outlives restarts, two tenants, and keys for them.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use caudal_actors::engine::{self, Engine};
use caudal_actors::platform::{NewTenant, PlatformOrder, TenantChange};
use caudal_actors::ports::Clock;
use caudal_backup::run::BackupPlan;
use caudal_http::body::Deadlines;
use caudal_http::streams::StreamOptions;
use caudal_http::webhooks::{AllowedAddresses, AttemptLimits};
use caudal_http::wire;
use caudal_ledger::cvu::Cbu;
use caudal_ledger::deliveries::Schedule;
use caudal_ledger::ids::{RealmId, Shard};
use caudal_ledger::tenants::{BankRelation, BankRelations, Mode, Policy};
use caudal_sandbox as sandbox;
use caudal_service::{Banking, DayClosing, Service, ServiceOptions, TEST_ADMIN_KEY};
use secrecy::SecretString;
use tempfile::TempDir;

use super::bank::{Bank, PATIENT};
use super::canary;
use super::client::{Answer, Client};
pub use super::clock::TestClock;
use super::journals;
use super::{Value, json};

/// The tenant that tests work with, and the one that they must never see.
pub const TENANT: &str = "tnt_first";
pub const OTHER: &str = "tnt_other";

/// How long after its end a test closes a day.
pub const DAY_GRACE: Duration = Duration::from_secs(600);

/// Calls the admin API of a service.
pub async fn admin_of(service: &Service, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let call = Client::new(&service.admin_url, None).call(method, path);
    let call = call.header("x-admin-key", TEST_ADMIN_KEY);
    match body {
        Some(body) => call.json(body).await,
        None => call.await,
    }
}

/// The settings of a service under test.
pub struct Setup {
    pub clock: Arc<dyn Clock>,
    /// How long the bank has for one attempt, unless it is silent, and for a whole operation.
    pub patience: Duration,
    /// The rate limit of each key: requests a second, and how many at once.
    pub rate: Option<(u32, u32)>,
    /// Bounds and pace of streams of events.
    pub streams: StreamOptions,
    /// Where webhooks may be sent to.
    pub reach: AllowedAddresses,
    /// How long the service waits between attempts to deliver an event.
    pub schedule: Schedule,
    /// How long a webhook has for one attempt.
    pub attempt: AttemptLimits,
    /// How long the parts of a request may take to arrive.
    pub deadlines: Deadlines,
    /// The shortest time between two questions to the bank for a balance.
    pub treasury_every: Duration,
    /// How long a snapshot waits for the bank: by default so long that even a busy machine shows no old
    /// balance.
    pub treasury_patience: Duration,
    /// How many connections are allowed.
    pub limits: wire::ConnectionLimits,
    /// How long an answer may stand still while its client does not read it.
    pub answer: Duration,
    /// How many wrong keys one address may present at once.
    pub wrong_keys: u32,
    /// How long requests in flight have to finish when the service stops.
    pub grace: Duration,
    /// Where the journal is shipped to.
    pub backup: Option<BackupPlan>,
    /// The memory that is shown as the limit, in bytes; the caches stay as small as in all tests.
    pub memory: Option<u64>,
    /// The limits of readers' questions to the bank; by default no answer is kept.
    pub bank_reads: engine::BankReadLimits,
    /// How many rows one page of a list examines at most.
    pub list_rows: u64,
    /// How long the answer to an `Idempotency-Key` is kept.
    pub keys_kept: Duration,
    /// What each realm may have in flight.
    pub in_flight: NonZeroU32,
    /// How often the collector accounts are checked; by default only when a test says so.
    pub coverage_check: Option<Duration>,
    /// When days are closed; by default only when a test says so.
    pub day_closing: Option<DayClosing>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            clock: Arc::new(caudal_http::clock::GuardedClock::of_machine()),
            patience: PATIENT,
            rate: None,
            streams: StreamOptions::default(),
            reach: AllowedAddresses::loopback(),
            schedule: Schedule::default(),
            attempt: AttemptLimits::default(),
            deadlines: Deadlines::default(),
            treasury_every: Duration::ZERO,
            treasury_patience: Duration::from_secs(8),
            limits: wire::ConnectionLimits::default(),
            answer: wire::ANSWER_PATIENCE,
            wrong_keys: u32::MAX,
            grace: Duration::from_secs(5),
            backup: None,
            memory: None,
            bank_reads: engine::BankReadLimits {
                kept: Duration::ZERO,
                ..engine::BankReadLimits::default()
            },
            list_rows: engine::EngineOptions::default().list_rows,
            keys_kept: engine::EngineOptions::default().keys_kept,
            in_flight: caudal_actors::in_flight::LIMIT,
            coverage_check: None,
            day_closing: None,
        }
    }
}

impl Setup {
    fn options(self, folder: &TempDir, bank: &Bank) -> ServiceOptions {
        let whole = |number| NonZeroU32::new(number).unwrap();
        ServiceOptions {
            clock: self.clock,
            rate: self
                .rate
                .map(|(second, burst)| (whole(second), whole(burst))),
            reach: self.reach,
            attempt: self.attempt,
            deadlines: self.deadlines,
            limits: self.limits,
            answer: self.answer,
            wrong_keys: whole(self.wrong_keys),
            grace: self.grace,
            banking: bank.banking(self.patience),
            backup: self.backup,
            memory: self.memory.map(caudal_http::memory::MemoryPlan::of),
            streams: self.streams,
            engine: engine::EngineOptions {
                arbiters: 1,
                webhooks: self.schedule,
                treasury_every: self.treasury_every,
                treasury_patience: self.treasury_patience,
                bank_reads: self.bank_reads,
                list_rows: self.list_rows,
                keys_kept: self.keys_kept,
                in_flight: self.in_flight,
                ..engine::EngineOptions::default()
            },
            storage: caudal_storage::StoreOptions::small(),
            coverage_check: self.coverage_check,
            day_closing: self.day_closing,
            ..ServiceOptions::for_tests(folder.path().join("data"))
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
    running: Option<Service>,
    options: ServiceOptions,
    _folder: TempDir,
}

impl TestService {
    /// A service with the usual setup.
    pub async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    /// Starts a service whose clock the test holds.
    pub async fn at(clock: &Arc<TestClock>) -> Self {
        let clock = Arc::<TestClock>::clone(clock);
        Self::with(Setup {
            clock,
            ..Setup::default()
        })
        .await
    }

    pub async fn with(setup: Setup) -> Self {
        canary::watch();
        let (folder, bank) = (TempDir::new().unwrap(), Bank::start());
        let options = setup.options(&folder, &bank);
        let running = Service::start(options.clone()).unwrap();
        let mut keys = Vec::new();
        for tenant in [TENANT, OTHER] {
            let new = NewTenant {
                name: format!("Tenant {tenant}"),
                banks: banks_of(tenant),
                ..NewTenant::plain(tenant)
            };
            running.add_tenant(new).await.unwrap();
            for mode in [Mode::Test, Mode::Live] {
                keys.push(running.issue_key(tenant, mode).await.unwrap());
            }
        }
        let a = Client::new(&running.url, Some(&keys[0]));
        Self {
            live: a.with_key(Some(&keys[1])),
            b: a.with_key(Some(&keys[2])),
            a,
            bank,
            running: Some(running),
            options,
            _folder: folder,
        }
    }

    /// Starts a service over a recorded journal, with the tenants in it, a minute after its newest entry.
    pub async fn over(journal: &str) -> Self {
        let (folder, bank) = (TempDir::new().unwrap(), Bank::start());
        let newest = journals::put(journal, &folder.path().join("data").join("store"));
        let clock = TestClock::standing(newest + 60_000);
        let setup = Setup {
            clock,
            ..Setup::default()
        };
        let mut options = setup.options(&folder, &bank);
        // A folder with a store but without a pepper does not start unless a pepper is set.
        options.pepper = Some("the pepper of a journal from elsewhere".into());
        let running = Service::start(options.clone()).unwrap();
        let mut keys = Vec::new();
        for (tenant, mode) in [
            (TENANT, Mode::Test),
            (TENANT, Mode::Live),
            (OTHER, Mode::Test),
        ] {
            keys.push(running.issue_key(tenant, mode).await.unwrap());
        }
        let a = Client::new(&running.url, Some(&keys[0]));
        let (live, b) = (a.with_key(Some(&keys[1])), a.with_key(Some(&keys[2])));
        Self {
            a,
            live,
            b,
            bank,
            running: Some(running),
            options,
            _folder: folder,
        }
    }

    /// Has the bank send its notices to this service, at its present address.
    pub async fn hear(&self) {
        let url = format!("{}{}", self.a.url, caudal_bank::notices::route::PATH);
        let reply = self
            .bank
            .client()
            .post("/sandbox/notify", &json!({"url": url}));
        let reply = reply.await;
        assert!((200..300).contains(&reply.status), "{}", reply.text);
    }

    /// A client of the admin listener that sends no admin key.
    pub fn admin_client(&self) -> Client {
        Client::new(&self.running.as_ref().unwrap().admin_url, None)
    }

    /// The path of a link that logs in to the console once.
    pub fn console_link(&self) -> String {
        let running = self.running.as_ref().unwrap();
        let link = running.console_link().unwrap();
        link.rsplit('=').take(1).for_each(canary::learn);
        link.strip_prefix(&running.admin_url).unwrap().to_owned()
    }

    /// From the next start on, the service knows this secret of the bank's notices.
    pub fn notice_secret(&mut self, secret: Option<&str>) {
        if let Banking::Remote { live, test } = &mut self.options.banking {
            let all = live.iter_mut().map(|live| &mut live.config);
            for config in all.chain([&mut test.config]) {
                config.notice_secret = secret.map(SecretString::from);
            }
        }
    }

    /// From the next start on, the service has this pepper.
    pub fn pepper(&mut self, pepper: &str) {
        self.options.pepper = Some(pepper.into());
    }

    /// From the next start on, the service has this admin key.
    pub fn admin_key(&mut self, key: &str) {
        self.options.admin_key = key.into();
    }

    /// From the next start on, the service listens where it listens now.
    pub fn stays(&mut self) {
        let running = self.running.as_ref().unwrap();
        let addr = |url: &str| url.strip_prefix("http://").unwrap().parse().unwrap();
        self.options.listen = addr(&running.url);
        self.options.admin_listen = addr(&running.admin_url);
    }

    /// Calls the admin API.
    pub async fn admin(&self, method: &str, path: &str, body: &Value) -> Answer {
        admin_of(self.running.as_ref().unwrap(), method, path, Some(body)).await
    }

    /// A client with a new key of the first tenant, issued with the body `wanted`.
    pub async fn keyed(&self, wanted: &Value) -> Client {
        let path = format!("/admin/tenants/{TENANT}/keys");
        let issued = self.admin("POST", &path, wanted).await.is(201);
        self.a.with_key(issued["key"].as_str())
    }

    /// Reads a path of the admin listener.
    pub async fn admin_get(&self, path: &str) -> Answer {
        admin_of(self.running.as_ref().unwrap(), "GET", path, None).await
    }

    /// Reads a path of the admin listener without the admin key.
    pub async fn admin_bare(&self, path: &str) -> Answer {
        let url = &self.running.as_ref().unwrap().admin_url;
        Client::new(url, None).get(path).await
    }

    /// Waits until the bank has no notice left to send.
    pub async fn heard(&self) {
        super::wait_until("all notices are heard", super::SOON, async || {
            let state = self.bank.state().await;
            (state["notices"]["pending"] == 0).then_some(())
        })
        .await;
    }

    /// Closes every day that is over, as a service does every minute.
    pub async fn close_days(&self) {
        let engine = self.engine();
        let grace = u64::try_from(DAY_GRACE.as_millis()).unwrap();
        for realm in engine.ledger().realms_with_days() {
            let close = || engine.ledger().close_next_day(realm, grace, "test");
            while close().await.unwrap().is_some() {}
            engine.ledger().complete_days(realm, "test").await.unwrap();
        }
    }

    /// Reads the lists of all collector accounts once, as a service does every few minutes.
    pub async fn catch_up(&self) {
        let engine = self.engine();
        let today = engine.now().business_day();
        for on in engine.queries().collectors().values() {
            for mode in [Mode::Live, Mode::Test] {
                engine
                    .ledger()
                    .catch_up((on, mode), today, "test")
                    .await
                    .ok();
            }
        }
    }

    /// Checks all collector accounts once, as a service does every minute.
    pub async fn check_coverage(&self) {
        let ledger = self.engine().ledger();
        for on in ledger.due_checks(Duration::ZERO, false) {
            ledger.check_coverage(&on, "test").await.unwrap();
        }
    }

    /// Changes the first tenant by the admin API.
    pub async fn tenant(&self, change: &Value) {
        let path = format!("/admin/tenants/{TENANT}");
        self.admin("PATCH", &path, change).await.is(200);
    }

    pub fn engine(&self) -> &Engine {
        &self.running.as_ref().unwrap().engine
    }

    /// Changes the first tenant's policy, and waits until its realms have it.
    pub async fn policy(&self, policy: Policy) {
        let change = TenantChange {
            policy: Some(policy),
            ..TenantChange::default()
        };
        self.engine()
            .operators()
            .administer(PlatformOrder::ChangeTenant(TENANT.to_owned(), change))
            .await
            .unwrap();
    }

    /// Stops the service properly, and starts it again on the same folder and bank.
    pub async fn restart(&mut self) {
        self.end(true).await;
        self.begin().await;
    }

    /// Ends the service abruptly, as a crash would, and starts it again.
    pub async fn crash(&mut self) {
        self.end(false).await;
        self.begin().await;
    }

    /// Ends the service; it can be started again.
    pub async fn end(&mut self, gracefully: bool) {
        match self.running.take() {
            Some(running) if gracefully => running.stop().await.unwrap(),
            Some(running) => running.kill().await,
            None => {}
        }
    }

    /// Deletes the index, which is rebuilt from the journal at the next start.
    pub fn lose_index(&self) {
        let index = self.options.data.join("store").join("index");
        std::fs::remove_dir_all(index).unwrap();
    }

    /// The options that the service starts with.
    pub fn options(&self) -> ServiceOptions {
        self.options.clone()
    }

    /// Is this shard from the next start on.
    pub fn shard(&mut self, number: u16) {
        self.options.shard = Shard::new(number).unwrap();
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.options.data
    }

    /// Uses another data folder from the next start on.
    pub fn moves(&mut self, data: PathBuf) {
        self.options.data = data;
    }

    /// Changes where webhooks may be sent to, from the next start on.
    pub fn reaches(&mut self, reach: AllowedAddresses) {
        self.options.reach = reach;
    }

    /// Starts the service again, and expects it to be ready.
    pub async fn begin(&mut self) {
        self.begin_in_doubt().await;
        self.a.get("/readyz").await.is(200);
    }

    /// Starts the service again, ready or not.
    pub async fn begin_in_doubt(&mut self) {
        let running = Service::start(self.options.clone()).unwrap();
        for client in [&mut self.a, &mut self.live, &mut self.b] {
            client.url.clone_from(&running.url);
        }
        self.running = Some(running);
    }

    /// Replays the journal and compares: fails on any difference, and returns the number of vouchers.
    pub async fn verified(&self) -> u64 {
        let report = caudal_actors::verify::engine(self.engine()).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
        report.vouchers
    }
}

impl Drop for TestService {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            canary::sings();
        }
    }
}

/// The first tenant uses the platform's collector account at the sandbox, the other tenant one of its own.
fn banks_of(tenant: &str) -> BankRelations {
    let own = (tenant == OTHER).then(|| sandbox::collector(RealmId(4)));
    let collector = own.map(|own| Cbu::parse(&own).unwrap());
    BankRelations {
        test: BankRelation {
            collector,
            ..BankRelation::default()
        },
        ..BankRelations::default()
    }
}

/// A body that opens an account.
pub fn opening(cuit: &str) -> Value {
    json!({"cuit": cuit, "holderName": "Juana Azurduy"})
}
