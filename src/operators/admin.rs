//! The admin API, for operators only: tenants, keys, cases, actors, webhooks, the journal, verification.
//!
//! **Shape.** The API has its own listener and credentials (`x-admin-key`): none of its paths exists on the public
//! listener, and no tenant's key opens it. [`access`] has one row for each operation, with the role that it requires.
//! Health, metrics, the document and its pages need no key.
//!
//! **Bounds.** [`WORKERS`] thread; [`CONNECTIONS`] of its own, independent of the public listener's; one change of a
//! tenant and one verification at a time; [`caudal_http::wrong_keys`] limits wrong keys.

pub mod access;
pub(crate) mod accounts;
mod actors;
pub(crate) mod approvals;
pub(crate) mod audit;
mod backup;
pub(crate) mod cases;
pub(crate) mod changes;
mod collector_rules;
mod confirmations;
pub(crate) mod disk;
pub(crate) mod dispatch;
mod document;
mod evidence;
mod fees;
mod find;
pub(crate) mod forms;
mod health;
mod keys;
pub(crate) mod log;
pub(crate) mod looks;
pub(crate) mod node;
pub(crate) mod observed;
pub(crate) mod people;
pub(crate) mod problems;
mod redeliveries;
mod relations;
mod requests;
mod seal_keys;
mod shapes;
mod staff;
mod status;
mod storage;
mod tenants;
mod treasury;
mod webhooks;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use actix_web::dev::{ServerHandle, ServiceRequest};
use actix_web::http::header::HeaderName;
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::from_fn;
use actix_web::{App, HttpRequest, HttpResponse, Resource, web};
use caudal_actors::engine::{Operators, Queries, Requester};
use caudal_actors::platform::realms;
use caudal_backup::outgoing::Outgoing;
use caudal_backup::run::Backup;
use caudal_http::errors::ApiError;
use caudal_http::pages::{ListenerPages, Site};
use caudal_http::paths::{PathTable, Paths};
use caudal_http::respond::json;
use caudal_http::routes::Routes;
use caudal_http::trace::RequestSpans;
use caudal_http::wire::{self, Bounds, ConnectionLimits, Listening};
use caudal_http::words::Refusal;
use caudal_http::{AppState, current, frame, query};
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::{Mode, Platform, Tenant};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use tokio::sync::{Mutex, Semaphore};
use tracing_actix_web::TracingLogger;

pub use document::openapi;
pub(crate) use fees::state as fees_of_account;
pub(crate) use keys::of_tenant as keys_of_tenant;
pub use keys::{IssueKey, issue as issue_key};
pub(crate) use shapes::key_status;
pub use storage::VerifyBody;
pub use tenants::create as create_tenant;
pub use tenants::new_id as new_tenant_id;
pub(crate) use tenants::{state as tenant_state, state_of_platform};
pub(crate) use webhooks::{Row as WebhookRow, all as all_webhooks, host, shown_status};

/// The header that carries the admin key.
pub const ADMIN_KEY: HeaderName = HeaderName::from_static("x-admin-key");
/// Threads of the listener.
const WORKERS: usize = 1;
/// Connections of the listener.
pub const CONNECTIONS: usize = 64;
/// How long requests in flight have to finish when the listener stops.
const GRACE: Duration = Duration::from_secs(20);

/// The pages of the admin listener. They need no key: a browser cannot send one for a page, nothing on them is secret,
/// and the operator decides who can reach the listener.
static PAGES: LazyLock<Site> = LazyLock::new(|| {
    Site::new(ListenerPages {
        name: "Caudal admin",
        home: include_str!("admin/home.md"),
        document: openapi,
    })
});

/// An admin listener that runs.
#[derive(Debug)]
pub struct AdminListener {
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its server.
    pub handle: ServerHandle,
}

/// The state shared by everything that operators use: the admin handlers, and the console on the same listener.
#[derive(Debug)]
pub struct AdminState {
    /// What every handler works with, as the admin listener has it.
    pub app: AppState,
    /// How the journal is shipped elsewhere, where it is.
    pub(crate) backup: Option<Arc<Backup>>,
    /// Whether outgoing calls are held, after a restore to the past.
    pub(crate) outgoing: Arc<Outgoing>,
    /// Held while a handler reads, changes and writes back a setting.
    changes: Mutex<()>,
    verifying: Semaphore,
    /// When the state was created: by the service's clock, and by the monotonic one.
    started_at: Timestamp,
    started: Instant,
    /// The bytes of journal and index at that time.
    disk_at_start: u64,
}

/// The state, as handlers take it.
type State = web::Data<AdminState>;
/// The part of a path that names something, as handlers take it.
type PathPart = web::Path<String>;

/// The tenant and the mode of a realm.
pub(crate) fn owner(platform: &Platform, realm: RealmId) -> Option<(&Tenant, Mode)> {
    realms(platform).find(|(tenant, mode)| tenant.realm(*mode) == realm)
}

/// A response with status 200 and a JSON body.
fn ok(body: &impl Serialize) -> HttpResponse {
    json(StatusCode::OK, body)
}

/// The requester of an operator's order, which has no idempotency key.
fn requester<T>() -> Requester<T> {
    Requester {
        keyed: None,
        request_id: current::request().id,
        admitted: None,
    }
}

impl AdminState {
    /// The state of a service; its listeners share one.
    pub fn new(app: AppState, backup: Option<Arc<Backup>>, outgoing: Arc<Outgoing>) -> Arc<Self> {
        Arc::new(Self {
            started_at: app.engine.now(),
            started: Instant::now(),
            disk_at_start: app.engine.operators().stats().disk_bytes(),
            app,
            backup,
            outgoing,
            changes: Mutex::new(()),
            verifying: Semaphore::new(1),
        })
    }

    /// What tenants can read.
    pub(crate) fn queries(&self) -> Queries<'_> {
        self.app.engine.queries()
    }

    /// What operators can read and do.
    pub(crate) fn operators(&self) -> Operators<'_> {
        self.app.engine.operators()
    }

    /// The seconds since the state was created.
    pub(crate) fn uptime_seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }
}

/// Starts the admin API on a listener, with further routes next to it. Must be called inside an actix system.
///
/// # Errors
/// When the listener cannot be used.
pub fn start(
    admin_state: &Arc<AdminState>,
    listener: TcpListener,
    beside: impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static,
) -> std::io::Result<AdminListener> {
    let (addr, app) = (listener.local_addr()?, admin_state.app.clone());
    let limits = ConnectionLimits {
        connections: CONNECTIONS,
        // All monitoring may come from one address.
        per_peer: 0,
        ..ConnectionLimits::default()
    };
    let how = Listening {
        workers: WORKERS,
        bounds: Arc::new(Bounds::new(
            limits,
            Arc::clone(&app.gate),
            Arc::clone(&app.unread),
        )),
        head: app.deadlines.head,
        answer: wire::ANSWER_PATIENCE,
        grace: GRACE,
    };
    let paths: Paths = &PATHS;
    let counted = web::Data::new(Routes::new(&app.measures, paths, false));
    let data = web::Data::new(app);
    let admin_state = web::Data::from(Arc::clone(admin_state));
    let app = move || {
        App::new()
            .app_data(admin_state.clone())
            .app_data(data.clone())
            .app_data(counted.clone())
            .configure(routes)
            .configure(beside.clone())
            .default_service(web::to(not_found))
            .wrap(from_fn(frame::frame))
            .wrap(TracingLogger::<RequestSpans>::new())
    };
    let server = wire::listen(app, listener, &how)?;
    let handle = server.handle();
    actix_web::rt::spawn(server);
    Ok(AdminListener { addr, handle })
}

/// The paths in the OpenAPI document of the admin API.
static PATHS: LazyLock<PathTable> = LazyLock::new(|| PathTable::of(&openapi()));

/// The route table.
fn routes(config: &mut web::ServiceConfig) {
    config
        .configure(operations)
        .service(at("/livez", "GET").get(health::livez))
        .service(at("/readyz", "GET").get(health::readyz))
        .service(at("/metrics", "GET").get(health::metrics))
        .configure(|config| PAGES.routes(config));
}

macro_rules! routes_of {
    ($($tag:ident {
        $($method:ident $path:literal $($handler:ident)::+ $id:ident: $power:ident, $weight:ident;)+
    })+) => {
        /// The operations. [`access::authorize`] refuses a method that a path does not have.
        fn operations(config: &mut web::ServiceConfig) {
            let admin = web::scope("/admin")
                $($(.route($path, web::method(Method::$method).to($($handler)::+)))+)+
                .default_service(web::to(not_found))
                .wrap(from_fn(access::authorize));
            config.service(admin);
        }
    };
}
access::each_operation!(routes_of);

/// A path with the methods that it knows; any other gets 405.
fn at(path: &str, methods: &'static str) -> Resource {
    let refuse = move || async move {
        let methods = methods.to_owned();
        Err::<HttpResponse, _>(ApiError::from(Refusal::NoMethod { methods }))
    };
    web::resource(path).default_service(web::to(refuse))
}

/// Refuses query parameters that an operation does not have.
fn refuse_unknown(call: &ServiceRequest) -> Result<(), ApiError> {
    if call.match_pattern().is_none() {
        return Ok(());
    }
    let known = PATHS.parameters(call.method(), call.path());
    query::refuse_unknown(call.request(), known)
}

async fn not_found(request: HttpRequest) -> Result<HttpResponse, ApiError> {
    PAGES.missing(&request, Refusal::NoAdminRoute)
}
