//! The system under test: a service in a folder, as it is served, with one tenant and its accounts. The bank answers at
//! once.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;

use actix_web::{HttpResponse, web};
use anyhow::{Context as _, anyhow, bail};
use caudal_actors::banks::Relation;
use caudal_actors::engine::{Engine, EngineOptions, Requester};
use caudal_actors::platform::NewTenant;
use caudal_actors::ports::BankGateway;
use caudal_actors::ports::fake_bank::FakeBank;
use caudal_actors::realms::{Adjustment, CreateType, Register, Target, TypeRef};
use caudal_actors::reply::Given;
use caudal_http::memory::MemoryPlan;
use caudal_ledger::accounts::Holder;
use caudal_ledger::cuit::{Cuit, CuitError};
use caudal_ledger::cvu::Cvu;
use caudal_ledger::facts::Registration;
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::kyc::Kyc;
use caudal_ledger::money::Amount;
use caudal_ledger::tenants::Mode;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode};
use caudal_ledger::vouchers::Outcome;
use caudal_service::{Banking, Service, ServiceOptions, StartError, new_secret};
use futures_util::{StreamExt as _, TryStreamExt as _};

use super::client::{EMPTY_PATH, Requests};
use super::draw::{BenchOrder, Kind};
use super::tally::Tally;

/// The code of the voucher type that is posted.
const VOUCHER_TYPE: &str = "BENCH_IN";
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

impl Layout {
    /// The options of a service with this layout in a data folder. It does nothing at intervals: only the load is
    /// measured.
    pub fn options(self, data: &Path) -> Result<ServiceOptions, StartError> {
        let banks = |_: &Relation| {
            let bank: Arc<dyn BankGateway> = Arc::new(Bank);
            Ok(bank)
        };
        let mut options = ServiceOptions {
            workers: self.workers,
            engine: EngineOptions {
                arbiters: self.arbiters,
                in_flight: self.in_flight.unwrap_or(UNLIMITED),
                ..EngineOptions::default()
            },
            banking: Banking::Given(Arc::new(banks)),
            catch_up: None,
            coverage_check: None,
            day_closing: None,
            extra: Some(extra),
            ..ServiceOptions::local(data, new_secret()?.into())
        };
        if let Some(bytes) = self.memory {
            options = options.within(MemoryPlan::of(bytes));
        }
        options.engine.resident = self.resident.unwrap_or(options.engine.resident);
        Ok(options)
    }
}

/// The service, running.
pub struct Site {
    service: Service,
    /// The actors.
    pub engine: Arc<Engine>,
    /// The realm.
    pub realm: RealmId,
    /// Where it listens.
    pub addr: SocketAddr,
    /// The requests to it.
    pub requests: Arc<Requests>,
}

impl Site {
    /// Starts a service in a new folder, with a tenant that has this many accounts.
    pub async fn build(options: ServiceOptions, accounts: u64) -> anyhow::Result<Self> {
        let service = Service::start(options)?;
        let (realm, requests) = tenant(&service, TENANT, accounts).await?;
        Ok(Self {
            engine: Arc::clone(&service.engine),
            realm,
            addr: service.url.trim_start_matches("http://").parse()?,
            requests,
            service,
        })
    }

    /// Adds a second tenant with this many accounts, and returns its realm and its requests.
    pub async fn neighbour(&self, accounts: u64) -> anyhow::Result<(RealmId, Arc<Requests>)> {
        tenant(&self.service, NEIGHBOUR, accounts).await
    }

    /// Credits each account through the actors' interface, more than requests can.
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
            .order(self.realm, order, requester())
            .await?
        {
            Given::Value(Outcome::Recorded(_)) => Ok(()),
            other => bail!("not recorded: {other:?}"),
        }
    }

    /// Stops serving and closes the store.
    pub async fn close(self) -> anyhow::Result<()> {
        drop(self.engine);
        Ok(self.service.stop().await?)
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

/// Creates a tenant with this many accounts, and returns its test realm and the requests to it.
async fn tenant(
    service: &Service,
    id: &str,
    accounts: u64,
) -> anyhow::Result<(RealmId, Arc<Requests>)> {
    let new = NewTenant {
        name: "Bench".to_owned(),
        ..NewTenant::plain(id)
    };
    let failed = |why| anyhow!("making a tenant: {why:?}");
    let realm = service.add_tenant(new).await.map_err(failed)?.test;
    let key = service.issue_key(id, Mode::Test).await.map_err(failed)?;
    let order = CreateVoucherType {
        code: TypeCode::parse(VOUCHER_TYPE)?,
        name: "Bench in".to_owned(),
        sense: Sense::Credit,
        description: None,
        category: None,
        counter_account: None,
        capture_tolerance: None,
    };
    let ledger = service.engine.ledger();
    ledger.order(realm, CreateType(order), requester()).await?;
    let cvus = register(&service.engine, realm, accounts).await?;
    let requests = Requests::new(&key, VOUCHER_TYPE, cvus);
    Ok((realm, Arc::new(requests)))
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
        let opened = engine.ledger().order(
            realm,
            Register {
                registration,
                open: true,
                alias: None,
            },
            requester(),
        );
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
