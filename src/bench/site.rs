//! The system under test: a store in a folder, the actors over it, the public server, one tenant and its accounts. The
//! bank answers at once.

use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use actix_web::rt::task::JoinHandle;
use actix_web::{HttpResponse, web};
use anyhow::{Context as _, bail};
use caudal::clock::GuardedClock;
use caudal::http::audit_rate::AuditRate;
use caudal::http::bulk::BulkSlots;
use caudal::http::bytes::Deadlines;
use caudal::http::gate::Gate;
use caudal::http::rate::{Rate, RateLimit, SlowRate};
use caudal::http::streams::Streams;
use caudal::http::wire::{self, Bounds, Listening};
use caudal::http::{Door, Hooks};
use caudal::keys::Keyring;
use caudal::measures::Measures;
use caudal::memory::{Plan, watch};
use caudal::outgoing::Outgoing;
use caudal::server::{self, Running};
use caudal::service::GRACE;
use caudal::webhooks::{HttpSink, Reach, Sealer};
use caudal_actors::banks::Relation;
use caudal_actors::cells::Cells;
use caudal_actors::engine::{Asker, Engine, EngineOptions, Outside};
use caudal_actors::platform::{NewTenant, PlatformOrder};
use caudal_actors::ports::BankGateway;
use caudal_actors::ports::obedient::ObedientBank;
use caudal_actors::records::projection::Rows;
use caudal_actors::reply::Given;
use caudal_ledger::accounts::Holder;
use caudal_ledger::cuit::{Cuit, CuitError};
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::tenants::Mode;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode};
use caudal_storage::{DurableStore, Store};
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::client::{NOOP_PATH, Requests};
use super::machine::Actors;
use super::pin::Pin;

/// The code of the voucher type that is posted.
pub const VOUCHER_TYPE: &str = "BENCH_IN";
const PEPPER: &[u8] = b"the pepper of a bench";
const TENANT: &str = "tnt_bench";
/// The second tenant.
pub const NEIGHBOUR: &str = "tnt_neighbour";
/// The most accounts that are opened concurrently.
const OPENING: usize = 1024;
/// Progress is reported each time this many accounts have been opened.
const TOLD: u64 = 500_000;
/// How long the threads that served a store may take to release it.
const LET_GO: Duration = Duration::from_secs(60);

/// A bank that answers at once.
#[derive(Debug)]
struct Bank;

impl ObedientBank for Bank {}

/// An answer as long as that of a posting.
const NOOP_ANSWER: &str = concat!(
    r#"{"id":"cmp_00000000000000000000000000","cvu":"0000999100000000000017","sequence":1,"#,
    r#""ledgerType":"credit","amount":"12.34","availableAfter":"12.34","heldAfter":"0.00","#,
    r#""totalAfter":"12.34","voucherTypeCode":"BENCH_IN","voucherTypeName":"Bench in","#,
    r#""idExterno":"bench-0000000000000000","referenceType":"adjustment","#,
    r#""referenceId":"cmp_00000000000000000000000000","description":null,"#,
    r#""createdAt":"2026-01-01T00:00:00.000Z"}"#
);

async fn noop(_: web::Bytes) -> HttpResponse {
    HttpResponse::Created()
        .content_type("application/json")
        .body(NOOP_ANSWER)
}

fn extra(routes: &mut web::ServiceConfig) {
    routes.route(NOOP_PATH, web::post().to(noop));
}

/// How the service is laid out.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Threads that serve HTTP.
    pub workers: usize,
    /// Threads for actors.
    pub arbiters: usize,
    /// The memory target of the process, in bytes; without one, nothing watches memory.
    pub memory: Option<u64>,
    /// The most accounts in memory; `None` for the engine's default.
    pub resident: Option<usize>,
}

/// The actors over a store, and how long opening took.
pub struct Opened {
    /// The actors.
    pub engine: Arc<Engine>,
    /// Nanoseconds until the store was open.
    pub store_nanos: u64,
    /// Nanoseconds until the actors were started.
    pub engine_nanos: u64,
}

/// Opens the store in a folder and starts the actors.
///
/// # Errors
/// When the store does not open.
pub fn open(folder: &Path, layout: Layout) -> anyhow::Result<Opened> {
    open_measured(folder, layout, &Measures::new()?)
}

/// Does the same with metrics.
fn open_measured(folder: &Path, layout: Layout, measures: &Measures) -> anyhow::Result<Opened> {
    let start = Instant::now();
    let memory = layout.memory.map(Plan::of);
    let mut options = EngineOptions {
        arbiters: layout.arbiters,
        ..EngineOptions::default()
    };
    let mut storage = caudal_storage::StoreOptions {
        times: measures.store(),
        ..caudal_storage::StoreOptions::default()
    };
    if let Some(plan) = memory {
        plan.lay_out(&mut options, &mut storage);
    }
    options.resident = layout.resident.unwrap_or(options.resident);
    let store = open_store(folder, storage)?;
    let store_nanos = super::figures::nanos(start.elapsed());
    let banks = Arc::new(|_: &Relation| {
        let bank: Arc<dyn BankGateway> = Arc::new(Bank);
        Ok(bank)
    });
    let sink = Arc::new(HttpSink::new(Reach::loopback(), Sealer::new(PEPPER)?)?);
    let clock = Arc::new(GuardedClock::of_machine());
    let held = Outgoing::free().watch();
    let outside = Outside { banks, sink, held };
    let cells = Cells::one(store);
    let engine = Engine::timed(cells, clock, outside, options, measures.actors())?;
    Ok(Opened {
        engine: Arc::new(engine),
        store_nanos,
        engine_nanos: super::figures::nanos(start.elapsed()),
    })
}

/// Opens the store in a folder without actors.
///
/// # Errors
/// When it does not open.
pub fn open_store(
    folder: &Path,
    options: caudal_storage::StoreOptions,
) -> anyhow::Result<Arc<DurableStore>> {
    let store = DurableStore::open(folder, options, Arc::new(Rows));
    store.with_context(|| format!("opening {}", folder.display()))
}

/// The realm of the bench's tenant.
///
/// # Errors
/// When the store has none.
pub fn realm(engine: &Engine) -> anyhow::Result<RealmId> {
    realm_of(engine, TENANT)
}

fn realm_of(engine: &Engine, id: &str) -> anyhow::Result<RealmId> {
    let platform = engine.platform();
    let tenant = platform.tenants.get(id);
    Ok(tenant.context("the store has no tenant of the bench")?.test)
}

/// The service, running.
pub struct Site {
    /// The actors.
    pub engine: Arc<Engine>,
    keyring: Arc<Keyring>,
    /// The realm.
    pub realm: RealmId,
    /// Where it listens.
    pub addr: SocketAddr,
    /// The requests to it.
    pub requests: Arc<Requests>,
    /// The threads of its actors.
    pub actors: Actors,
    /// The processors of its clients, if they are pinned.
    pub pinned: Option<Pin>,
    server: Running,
    upkeep: JoinHandle<()>,
    watch: Option<JoinHandle<()>>,
}

/// How the service of a layout listens.
fn listening(layout: Layout, door: &Door) -> Listening {
    Listening {
        workers: layout.workers,
        bounds: Arc::new(Bounds::new(
            wire::ConnectionLimits::default(),
            Arc::clone(&door.gate),
            Arc::clone(&door.unread),
        )),
        head: door.deadlines.head,
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
        Self::build_limited(folder, layout, accounts, None).await
    }

    /// Does the same with a rate limit for each tenant, if one is given.
    ///
    /// # Errors
    /// When anything of it fails.
    pub async fn build_limited(
        folder: &Path,
        layout: Layout,
        accounts: u64,
        rate: Option<Rate>,
    ) -> anyhow::Result<Self> {
        let memory = layout.memory.map(Plan::of);
        let before = Actors::now();
        // With metrics, as in a service, so that their cost is in every figure.
        let measures = Arc::new(Measures::new()?);
        let engine = open_measured(folder, layout, &measures)?.engine;
        let upkeep = measures.keep_up();
        let watch = memory.map(|plan| watch(&engine, plan, &Arc::default()));
        let actors = before.and_since(layout.arbiters);
        let keyring = Arc::new(Keyring::new(PEPPER));
        let key = tenant(&engine, &keyring, TENANT).await?;
        let realm = realm(&engine)?;
        // Open fewer concurrently when few accounts may be in memory: all accounts that are being opened are in memory.
        let opening = layout
            .resident
            .map_or(OPENING, |most| (most / 8).clamp(1, OPENING));
        let cvus = register(&engine, realm, accounts, opening).await?;
        let door = Door {
            calendar: Arc::default(),
            engine: Arc::clone(&engine),
            keyring: Arc::clone(&keyring),
            root: None,
            gate: Arc::new(Gate::default()),
            room: Arc::new(BulkSlots::start()?),
            hooks: Arc::new(Hooks {
                reach: Reach::loopback(),
                sealer: Sealer::new(PEPPER)?,
                streams: Streams::default(),
                tests: SlowRate::new(NonZeroU32::MIN, Duration::from_secs(1)),
            }),
            deadlines: Deadlines::default(),
            log_every: 1,
            audit_rate: Arc::new(AuditRate::new(NonZeroU32::MIN)),
            strangers: Arc::default(),
            rate: rate.map(|it| Arc::new(RateLimit::new(None, Some(it)))),
            measures,
            memory,
            unread: Arc::default(),
            backup: None,
            outgoing: Arc::new(Outgoing::free()),
            logs: Arc::default(),
            proxies: Arc::default(),
            node: None,
        };
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let how = listening(layout, &door);
        let server = server::start(door, listener, &how, extra)?;
        Ok(Self {
            engine,
            keyring,
            realm,
            addr: server.addr,
            requests: Arc::new(Requests::new(&key, VOUCHER_TYPE, cvus)),
            actors,
            server,
            upkeep,
            watch,
            pinned: None,
        })
    }

    /// Adds a second tenant with this many accounts, and returns its requests.
    ///
    /// # Errors
    /// When anything of it fails.
    pub async fn neighbour(&self, accounts: u64) -> anyhow::Result<Arc<Requests>> {
        let key = tenant(&self.engine, &self.keyring, NEIGHBOUR).await?;
        let realm = realm_of(&self.engine, NEIGHBOUR)?;
        let cvus = register(&self.engine, realm, accounts, OPENING).await?;
        Ok(Arc::new(Requests::new(&key, VOUCHER_TYPE, cvus)))
    }

    /// Stops serving and closes the store. The returned handle shows when the last thread has released it.
    ///
    /// # Errors
    /// When the store does not close.
    pub async fn close(self) -> anyhow::Result<Weak<dyn Store>> {
        let held = Arc::downgrade(self.engine.store());
        self.server.handle.stop(true).await;
        self.upkeep.abort();
        if let Some(watch) = self.watch {
            watch.abort();
        }
        let engine = self.engine;
        web::block(move || engine.close()).await??;
        Ok(held)
    }
}

/// Waits until nothing holds a store any more, so that its folder can be opened again.
///
/// # Errors
/// When that takes too long.
pub fn wait_let_go(held: &Weak<dyn Store>) -> anyhow::Result<()> {
    let start = Instant::now();
    while held.strong_count() > 0 {
        if start.elapsed() > LET_GO {
            bail!("the store of the run is still held");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A caller without an idempotency key, whose answer is not kept.
pub fn asker<T>() -> Asker<T> {
    Asker {
        keyed: None,
        request_id: "bench".to_owned(),
    }
}

async fn tenant(engine: &Engine, keyring: &Keyring, id: &str) -> anyhow::Result<String> {
    let new = NewTenant {
        name: "Bench".to_owned(),
        ..NewTenant::plain(id)
    };
    let create = PlatformOrder::CreateTenant(new, 0);
    engine.administer(create).await?;
    let issued = keyring.issue(id, Mode::Test, None)?;
    engine
        .administer(PlatformOrder::IssueKey(issued.record))
        .await?;
    let order = CreateVoucherType {
        code: TypeCode::parse(VOUCHER_TYPE)?,
        name: "Bench in".to_owned(),
        sense: Sense::Credit,
        description: None,
        category: None,
    };
    engine
        .create_type(realm_of(engine, id)?, order, asker())
        .await?;
    Ok(issued.text)
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

/// Opens accounts, with a bounded number of them concurrently, and returns their CVUs.
async fn register(
    engine: &Engine,
    realm: RealmId,
    accounts: u64,
    opening: usize,
) -> anyhow::Result<Vec<String>> {
    let one = |number: u64| async move {
        let registration = registration(number)?;
        let opened = engine.register(realm, registration, true, None, asker());
        let opened = opened
            .await
            .with_context(|| format!("opening account {number}"))?;
        let cvu = match opened {
            Given::Value(view) => view.account.cvu,
            Given::Kept { .. } => None,
        };
        let cvu = cvu.with_context(|| format!("account {number} has no CVU"))?;
        if accounts >= TOLD && number.is_multiple_of(accounts / 10) {
            super::say(&format!(
                "{} accounts are open",
                super::figures::grouped(number)
            ));
        }
        anyhow::Ok(cvu.to_string())
    };
    let opening = futures_util::stream::iter(1..=accounts)
        .map(one)
        .buffered(opening);
    opening.try_collect().await
}
