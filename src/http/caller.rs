//! The caller of a request: no `Caller`, no tenant. An extractor, so that a handler without it has no realm.
//!
//! **Bounds.** A request of a tenant that comes this far counts in what its realm has in flight
//! ([`caudal_actors::in_flight`]), and is refused with 429 when that is too much.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderName;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, web};
use caudal_actors::engine::{Engine, Ledger, Operators, Queries};
use caudal_actors::failure::Failure;
use caudal_actors::in_flight::{Admitted, TooMany};
use caudal_actors::platform::KnownKey;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;

use super::AppState;
use super::accept;
use super::current;
use super::errors::ApiError;
use super::paths::Paths;
use super::query;
use super::scopes;
use super::words::Refusal;
use crate::keys::Identity;

/// The seconds after which a realm that has too much in flight should try again.
const RETRY_IN_FLIGHT: u32 = 1;
/// The header that carries the key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The caller, with the door to the actors.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The tenant, mode and key that call.
    pub identity: Identity,
    /// The door.
    pub app: web::Data<AppState>,
    /// The id of the request.
    pub request_id: String,
    /// The request, as it was let in: it counts as in flight until all of this is dropped.
    pub admitted: Arc<Admitted>,
}

impl Caller {
    /// The present time of the realm.
    pub fn now(&self) -> Timestamp {
        self.engine().queries().now(self.realm())
    }

    /// The realm that the key of the request opens: a mode of its tenant.
    pub const fn realm(&self) -> RealmId {
        self.identity.realm
    }

    /// The door to the actors.
    pub fn engine(&self) -> &Engine {
        &self.app.engine
    }

    /// Its side for reads.
    pub fn queries(&self) -> Queries<'_> {
        self.app.engine.queries()
    }

    /// Its side for orders.
    pub fn ledger(&self) -> Ledger<'_> {
        self.app.engine.ledger()
    }

    /// Its side for the administration.
    pub fn operators(&self) -> Operators<'_> {
        self.app.engine.operators()
    }

    /// Checks that the key may read the events that these words name; `None` is all events.
    ///
    /// # Errors
    /// 403 that names the missing scope; 401 when the key no longer exists.
    pub fn may_read_events(&self, types: Option<&[String]>) -> Result<(), ApiError> {
        let known = self.engine().key(&self.identity.key);
        let known = known.ok_or(Refusal::NoKey)?;
        scopes::check_events(&known.key, types)
    }

    /// Whether a long answer to this caller goes on: the service takes requests and owns the log, and the key works.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] where one of these no longer holds.
    pub fn may_go_on(&self) -> Result<(), Failure> {
        let (app, engine) = (&self.app, self.engine());
        let key = engine.key(&self.identity.key);
        let works = key.is_some_and(|known| known.key.works_at(engine.now()));
        if works && app.gate.is_open() && app.is_owners() {
            Ok(())
        } else {
            Err(Failure::ShuttingDown)
        }
    }
}

/// The only value of a header; `None` when it is absent, repeated or not text.
pub fn only<'a>(request: &'a HttpRequest, name: &HeaderName) -> Option<&'a str> {
    let mut values = request.headers().get_all(name);
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Identified>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(recognise(request).and_then(|(app, known)| identify(request, app, &known)))
    }
}

/// The caller, or why there is none.
type Identified = Result<Caller, ApiError>;

/// Refuses parameters that the operation does not have: a client that sends one expects an effect, and with `dryRun`
/// it expects that nothing happens.
fn refuse_unknown(request: &HttpRequest) -> Result<(), ApiError> {
    if request.query_string().is_empty() {
        return Ok(());
    }
    let paths = request.app_data::<Paths>();
    let known = paths.map(|paths| paths.parameters(request.method(), request.path()));
    query::refuse_unknown(request, known.unwrap_or(&[]))
}

/// The key that a request shows, with the door.
fn recognise(request: &HttpRequest) -> Result<(web::Data<AppState>, Arc<KnownKey>), ApiError> {
    let app = request
        .app_data::<web::Data<AppState>>()
        .ok_or(Refusal::NoKey)?
        .clone();
    if !app.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    let key = only(request, &API_KEY).ok_or(Refusal::NoKey)?;
    let known = app.keyring.recognise(key, &app.engine).ok_or_else(|| {
        let what = "an API key was refused";
        app.wrong_keys.wrong(request, &app, what);
        Refusal::NoKey
    })?;
    Ok((app, known))
}

/// The refusal of a realm that has too much in flight, with the figures.
pub fn too_many(TooMany { limit, in_flight }: TooMany) -> ApiError {
    let details = serde_json::json!({"limit": limit, "inFlight": in_flight});
    ApiError::from(Refusal::TooManyInFlight { limit, in_flight })
        .later(RETRY_IN_FLIGHT)
        .with(details)
}

/// Whether the key may make this request now, and whether there is room for it.
fn identify(request: &HttpRequest, app: web::Data<AppState>, known: &KnownKey) -> Identified {
    let identity = Identity::of(known);
    // For the request's line in the log.
    request.extensions_mut().insert(identity.clone());
    if let Some(rate) = &app.rate {
        let taken = rate.take(&identity.key);
        // Refused requests get the headers about the limit, too.
        request.extensions_mut().insert(taken);
        taken.check()?;
    }
    if !known.open {
        return Err(Failure::RealmClosed.into());
    }
    scopes::check(&known.key, request, &app)?;
    refuse_unknown(request)?;
    accept::check(request, request.app_data::<Paths>().copied())?;
    let admitted = app.engine.in_flight().admit(identity.realm);
    let admitted = admitted.map_err(too_many)?;
    Ok(Caller {
        identity,
        app,
        admitted,
        request_id: current::request().id,
    })
}
