//! Who calls: no `Caller`, no tenant. An extractor, so that a handler without it has no realm.

use actix_web::dev::Payload;
use actix_web::http::header::HeaderName;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, web};
use caudal_actors::failure::Failure;
use caudal_ledger::ids::RealmId;

use super::Door;
use super::current;
use super::errors::ApiError;
use super::paths::Paths;
use super::query;
use super::scopes;
use super::wire;
use super::words::Refusal;
use crate::keys::Identity;

/// The header that carries the key.
pub const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

/// The one who calls, with the door through which to ask.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whom the key speaks for.
    pub identity: Identity,
    /// The door.
    pub door: web::Data<Door>,
    /// The id of the request.
    pub request_id: String,
}

impl Caller {
    /// The realm that the key of the request opens: a mode of its tenant.
    pub const fn realm(&self) -> RealmId {
        self.identity.realm
    }

    /// The door to the actors.
    pub fn engine(&self) -> &caudal_actors::engine::Engine {
        &self.door.engine
    }

    /// Whether a long answer to this caller goes on: the service takes requests and owns the cell, the key works, and the
    /// realm has the history that it had when the answer began.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] where one of that is over.
    pub fn may_go_on(&self, history: u32) -> Result<(), Failure> {
        let (door, engine) = (&self.door, self.engine());
        let key = engine.key(&self.identity.key);
        let works = key.is_some_and(|known| known.key.works_at(engine.now()));
        match works && door.gate.is_open() && door.is_owners() {
            true => engine.still(self.realm(), history),
            false => Err(Failure::ShuttingDown),
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
    type Future = std::future::Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        std::future::ready(identify(request))
    }
}

/// Refuses parameters that the operation does not have: whoever sends one expects something of it, and of
/// `dryRun` that nothing happens.
fn refuse_unknown(request: &HttpRequest) -> Result<(), ApiError> {
    if request.query_string().is_empty() {
        return Ok(());
    }
    let paths = request.app_data::<Paths>();
    let known = paths.map(|paths| paths.parameters(request.method(), request.path()));
    query::refuse_unknown(request, known.unwrap_or(&[]))
}

fn identify(request: &HttpRequest) -> Result<Caller, ApiError> {
    let door = request
        .app_data::<web::Data<Door>>()
        .ok_or(Refusal::NoKey)?
        .clone();
    if !door.gate.is_open() {
        return Err(Failure::ShuttingDown.into());
    }
    let key = only(request, &API_KEY).ok_or(Refusal::NoKey)?;
    let known = door.keyring.recognise(key, &door.engine).ok_or_else(|| {
        let (from, usual) = (request.peer_addr(), Refusal::NoKey);
        door.strangers.wrong(from, "an API key was refused", usual)
    })?;
    let identity = Identity::of(&known);
    wire::recognise(request);
    // For the request's line in the log.
    request.extensions_mut().insert(identity.clone());
    if let Some(rate) = &door.rate {
        let taken = rate.take(&identity.key, identity.realm);
        // The headers tell of the limits whether the request passes them or not.
        request.extensions_mut().insert(taken);
        taken.check()?;
    }
    if !known.open {
        return Err(Failure::RealmClosed.into());
    }
    scopes::check(&known.key, request, &door)?;
    refuse_unknown(request)?;
    Ok(Caller {
        identity,
        door,
        request_id: current::request().id,
    })
}
