//! The system under test: a store in a folder, the actors over it, the public server, one tenant and its accounts. The
//! bank answers at once.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::rt::task::JoinHandle;
use actix_web::{HttpResponse, web};
use anyhow::{Context as _, bail};
use caudal_actors::banks::Relation;
use caudal_actors::engine::{Engine, EngineOptions, Outside, Requester};
use caudal_actors::platform::{NewTenant, PlatformOrder};
use caudal_actors::ports::fake_bank::FakeBank;
use caudal_actors::ports::{BankGateway, Clock, KnownTimes};
use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_actors::records::projection::ServiceProjection;
use caudal_actors::reply::Given;
use caudal_backup::outgoing::Outgoing;
use caudal_http::audit_rate::AuditRate;
use caudal_http::bytes::Deadlines;
use caudal_http::clock::GuardedClock;
use caudal_http::gate::Gate;
use caudal_http::keys::Keyring;
use caudal_http::measures::Measures;
use caudal_http::memory::{MemoryPlan, watch};
use caudal_http::pool::Pool;
use caudal_http::rate::Rate;
use caudal_http::streams::Streams;
use caudal_http::webhooks::resolve::SystemLookup;
use caudal_http::webhooks::{AllowedAddresses, AttemptLimits, HttpSink, Sealer};
use caudal_http::wire::{self, Bounds, Listening};
use caudal_http::{AppState, Hooks};
use caudal_ledger::accounts::Holder;
use caudal_ledger::cuit::{Cuit, CuitError};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::{AccountNo, RealmId, Shard};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::money::Amount;
use caudal_ledger::tenants::Mode;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode};
use caudal_ledger::vouchers::Outcome;
use caudal_service::server::{self, RunningServer};
use caudal_service::{GRACE, PepperSigner};
use caudal_storage::{DurableStore, StoreOptions};
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::client::{EMPTY_PATH, Requests};
use super::draw::{BenchOrder, Kind};
use super::tally::Tally;

/// The code of the voucher type that is posted.
const VOUCHER_TYPE: &str = "BENCH_IN";
/// The secret of its keys and signatures.
pub const PEPPER: &str = "the pepper of a bench";
/// The tenant.
const TENANT: &str = "tnt_bench";
/// The second tenant.
const NEIGHBOUR: &str = "tnt_neighbour";
/// The most accounts that are opened concurrently.
const OPENING: usize = 512;
/// The deposit of each account before money moves between accounts, in centavos.
const FUNDS: u64 = 10_000_000_000;
/// The most accounts that are funded concurrently.
const FUNDING: usize = 512;

/// A bank that answers at once.
#[derive(Debug)]
struct Bank;

impl FakeBank for Bank {}

/// An answer as long as that of a posting.
const EMPTY_ANSWER: &[u8] = &[b' '; 430];

async fn empty(_: web::Bytes) -> HttpResponse {
    HttpResponse::Created()
        .content_type("application/json")
        .body(EMPTY_ANSWER)
}

fn extra(routes: &mut web::ServiceConfig) {
    routes.route(EMPTY_PATH, web::post().to(empty));
}

/// How the service is laid out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout {
    /// Threads that serve HTTP.
    pub workers: usize,
    /// Threads for actors.
    pub arbiters: usize,
    /// The memory target of the process, in bytes; without one, nothing watches memory.
    pub memory: Option<u64>,
    /// The most accounts in memory; `None` for the engine's default.
    pub resident: Option<usize>,
    /// What each realm may have in flight; `None` refuses nothing.
    pub in_flight: Option<NonZeroU32>,
}

/// What a realm may have in flight where the bench measures what the service can do: nothing is refused at the door.
const UNLIMITED: NonZeroU32 = NonZeroU32::new(1_000_000).unwrap();

/// Opens the store in a folder and starts the actors over it.
///
/// # Errors
/// When the store does not open.
pub fn open(
    folder: &Path,
    layout: Layout,
    measures: &Measures,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Arc<Engine>> {
    let mut options = EngineOptions {
        arbiters: layout.arbiters,
        in_flight: layout.in_flight.unwrap_or(UNLIMITED),
        ..EngineOptions::default()
    };
    let mut storage = StoreOptions {
        times: measures.store(),
        ..StoreOptions::default()
    };
    if let Some(plan) = layout.memory.map(MemoryPlan::of) {
        plan.lay_out(&mut options, &mut storage);
    }
    options.resident = layout.resident.unwrap_or(options.resident);
    let store = DurableStore::open(folder, storage, Arc::new(ServiceProjection));
    let store = store.with_context(|| format!("opening {}", folder.display()))?;
    let banks = Arc::new(|_: &Relation| {
        let bank: Arc<dyn BankGateway> = Arc::new(Bank);
        Ok(bank)
    });
    let sink = Arc::new(HttpSink::with(
        AllowedAddresses::loopback(),
        Sealer::new(&PEPPER.into())?,
        AttemptLimits::default(),
        Arc::new(SystemLookup::default()),
    )?);
    let held = Outgoing::free().watch();
    let outside = Outside {
        banks,
        sink,
        held,
        seals: Arc::new(PepperSigner::new(&PEPPER.into())),
    };
    let engine = Engine::timed(store, clock, outside, options, measures.actors())?;
    Ok(Arc::new(engine))
}

/// The machine's clock, some days ahead of it.
#[derive(Debug)]
pub struct ClockAhead {
    machine: GuardedClock,
    millis: AtomicU64,
}

impl Default for ClockAhead {
    fn default() -> Self {
        Self {
            machine: GuardedClock::of_machine(),
            millis: AtomicU64::new(0),
        }
    }
}

impl ClockAhead {
    /// Moves the clock ahead by a day.
    pub fn next_day(&self) {
        self.millis
            .fetch_add(24 * 60 * 60 * 1000, Ordering::Relaxed);
    }
}

impl Clock for ClockAhead {
    fn now(&self) -> Timestamp {
        let ahead = self.millis.load(Ordering::Relaxed);
        self.machine.now().plus_millis(ahead)
    }

    fn begin(&self, known: KnownTimes) {
        self.machine.begin(known);
    }
}

/// The service, running.
pub struct Site {
    /// The actors.
    pub engine: Arc<Engine>,
    /// Its clock.
    pub clock: Arc<ClockAhead>,
    keyring: Arc<Keyring>,
    /// The realm.
    pub realm: RealmId,
    /// Where it listens.
    pub addr: SocketAddr,
    /// The requests to it.
    pub requests: Arc<Requests>,
    server: RunningServer,
    watch: Option<JoinHandle<()>>,
}

/// How the service of a layout listens.
fn listening(layout: Layout, app: &AppState) -> Listening {
    Listening {
        workers: layout.workers,
        bounds: Arc::new(Bounds::new(
            wire::ConnectionLimits::default(),
            Arc::clone(&app.gate),
            Arc::clone(&app.unread),
        )),
        head: app.deadlines.head,
        answer: wire::ANSWER_PATIENCE,
        grace: GRACE,
    }
}

impl Site {
    /// Opens a new store in a folder, with this many accounts.
    ///
    /// # Errors
    /// When anything of it fails.
    pub async fn build(folder: &Path, layout: Layout, accounts: u64) -> anyhow::Result<Self> {
        let memory = layout.memory.map(MemoryPlan::of);
        // With metrics, as in a service, so that their cost is in every figure.
        let measures = Arc::new(Measures::default());
        let clock = Arc::<ClockAhead>::default();
        let engine = open(folder, layout, &measures, Arc::<ClockAhead>::clone(&clock))?;
        let watch = memory.map(|plan| watch(&engine, plan, &Arc::default()));
        let keyring = Arc::new(Keyring::new(&PEPPER.into(), Shard::default()));
        let (realm, key) = tenant(&engine, &keyring, TENANT).await?;
        let cvus = register(&engine, realm, accounts).await?;
        let app = AppState {
            calendar: Arc::default(),
            engine: Arc::clone(&engine),
            keyring: Arc::clone(&keyring),
            root: None,
            gate: Arc::new(Gate::default()),
            pool: Arc::new(Pool::start()?),
            hooks: Arc::new(Hooks {
                reach: AllowedAddresses::loopback(),
                sealer: Sealer::new(&PEPPER.into())?,
                streams: Streams::default(),
                tests: Rate::new(NonZeroU32::MIN, Duration::from_secs(1)),
            }),
            deadlines: Deadlines::default(),
            log_every: 1,
            audit_rate: Arc::new(AuditRate::new(NonZeroU32::MIN)),
            key_reads: Arc::default(),
            wrong_keys: Arc::default(),
            rate: None,
            measures,
            memory,
            unread: Arc::default(),
            log: None,
            proxies: Arc::default(),
            node: None,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let how = listening(layout, &app);
        let server = server::start(app, listener, &how, extra)?;
        Ok(Self {
            engine,
            clock,
            keyring,
            realm,
            addr: server.addr,
            requests: Arc::new(Requests::new(&key, VOUCHER_TYPE, cvus)),
            server,
            watch,
        })
    }

    /// Adds a second tenant with this many accounts, and returns its realm and its requests.
    ///
    /// # Errors
    /// When anything of it fails.
    pub async fn neighbour(&self, accounts: u64) -> anyhow::Result<(RealmId, Arc<Requests>)> {
        let (realm, key) = tenant(&self.engine, &self.keyring, NEIGHBOUR).await?;
        let cvus = register(&self.engine, realm, accounts).await?;
        let requests = Requests::new(&key, VOUCHER_TYPE, cvus);
        Ok((realm, Arc::new(requests)))
    }

    /// Credits each account through the actors' interface, more than requests can.
    ///
    /// # Errors
    /// When a deposit is not recorded.
    pub async fn fund(&self, mut tally: Tally) -> anyhow::Result<Tally> {
        let orders = (0..tally.lines.len()).zip(tally.asked..);
        let orders: Vec<_> = orders
            .map(|(account, id)| BenchOrder {
                kind: Kind::Post,
                account,
                other: account,
                centavos: FUNDS,
                id,
            })
            .collect();
        let posting = futures_util::stream::iter(&orders).map(|order| self.post(order));
        let funded = posting.buffer_unordered(FUNDING);
        funded.try_collect::<()>().await?;
        for order in &orders {
            tally.note(order, true);
            tally.asked = order.id.saturating_add(1);
        }
        Ok(tally)
    }

    async fn post(&self, order: &BenchOrder) -> anyhow::Result<()> {
        let order = Adjustment {
            target: Target::Cvu(Cvu::parse(self.requests.cvu(order.account))?),
            voucher_type: TypeRef::Code(TypeCode::parse(VOUCHER_TYPE)?),
            amount: Some(Amount::parse(&order.amount())?),
            external_id: ExternalId::parse(&order.external_id())?,
            description: None,
            external_date: None,
            details: None,
            dry_run: false,
        };
        match self
            .engine
            .ledger()
            .post(self.realm, order, requester())
            .await?
        {
            Given::Value(Outcome::Recorded(_)) => Ok(()),
            other => bail!("not recorded: {other:?}"),
        }
    }

    /// Stops serving and closes the store.
    ///
    /// # Errors
    /// When the store does not close.
    pub async fn close(self) -> anyhow::Result<()> {
        self.server.handle.stop(true).await;
        if let Some(watch) = self.watch {
            watch.abort();
        }
        let engine = self.engine;
        Ok(web::block(move || engine.lifecycle().close()).await??)
    }
}

/// A caller without an idempotency key, whose answer is not kept.
fn requester<T>() -> Requester<T> {
    Requester {
        keyed: None,
        request_id: "bench".to_owned(),
        admitted: None,
    }
}

/// Creates a tenant, and returns its test realm and a key to it.
async fn tenant(engine: &Engine, keyring: &Keyring, id: &str) -> anyhow::Result<(RealmId, String)> {
    let new = NewTenant {
        name: "Bench".to_owned(),
        ..NewTenant::plain(id)
    };
    let create = PlatformOrder::CreateTenant(new);
    engine.operators().administer(create).await?;
    let issued = keyring.issue(id, Mode::Test, None)?;
    let issue = PlatformOrder::IssueKey(issued.record);
    engine.operators().administer(issue).await?;
    let created = engine.platform().tenants.get(id).map(|tenant| tenant.test);
    let realm = created.context("a tenant is not there")?;
    let order = CreateVoucherType {
        code: TypeCode::parse(VOUCHER_TYPE)?,
        name: "Bench in".to_owned(),
        sense: Sense::Credit,
        description: None,
        category: None,
        counter_account: None,
        capture_tolerance: None,
    };
    engine
        .ledger()
        .create_type(realm, order, requester())
        .await?;
    Ok((realm, issued.text))
}

fn cuit(number: u64) -> anyhow::Result<Cuit> {
    let body = format!("20{:08}", number % 100_000_000);
    match Cuit::parse(&format!("{body}0")) {
        Err(CuitError::CheckDigit { right }) => Ok(Cuit::parse(&format!("{body}{right}"))?),
        other => Ok(other?),
    }
}

fn registration(number: u64) -> anyhow::Result<Registration> {
    let cuit = cuit(number)?;
    Ok(Registration {
        number: AccountNo(0),
        holder: Holder {
            cuit,
            name: format!("Titular de Prueba {number}"),
            person_type: cuit.person_type(),
        },
        code: None,
        email: None,
        phone: None,
        metadata: std::collections::BTreeMap::new(),
        kyc: Kyc::default(),
        enabled: true,
        names: caudal_ledger::particulars::Names::default(),
        asks_cvu: false,
    })
}

/// Opens accounts, a bounded number of them concurrently, and returns their CVUs.
async fn register(engine: &Engine, realm: RealmId, accounts: u64) -> anyhow::Result<Vec<String>> {
    let one = |number: u64| async move {
        let registration = registration(number)?;
        let opened = engine
            .ledger()
            .register(realm, registration, true, None, requester());
        let cvu = match opened.await {
            Ok(Given::Value(view)) => view.account.cvu,
            Ok(Given::Kept { .. }) => None,
            Err(why) => bail!("opening account {number}: {why}"),
        };
        let cvu = cvu.with_context(|| format!("account {number} has no CVU"))?;
        anyhow::Ok(cvu.to_string())
    };
    let opening = futures_util::stream::iter(1..=accounts).map(one);
    opening.buffered(OPENING).try_collect().await
}
