//! Passes requests on to the owner of their cell ([`super::aim`]).
//!
//! **Shape.** The innermost layer of both listeners of a node: that of clients, and that of the other nodes, where
//! nothing is served without the secret that nodes share. A request from another node is served if this node owns the
//! cell, or else refused, and [`parcel::MOVED`] says which; it is never passed on again. The owner checks keys,
//! limits and scopes, for the peer that the other node names. A client's path cannot become one of the nodes' own: it is
//! sent only if sending does not change it ([`parcel`]), and an errand names its cell in a header that no client can send.
//!
//! **Order.** Each try first checks whether this node serves, so a request that waits is served here once this node
//! owns the cell.
//!
//! **Bounds.** Bodies that are kept have [`super::BODIES_BYTES`]. Requests without a key that this node knows have
//! [`super::STRANGERS_BYTES`] of it, and notices of banks as much: strangers cannot take the room of tenants.
//!
//! **Failure.** A request that another node refused, or never got, is tried again until the patience is over. If the
//! other node got it and did not answer, its outcome is unknown: a reading, a notice and a request with an
//! idempotency key are tried again, any other is answered as unknown. A new epoch ends the wait for the answer of an
//! earlier owner. Where certificates are refused, a request tries again every [`UNTRUSTED_EVERY`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::{CONTENT_LENGTH, HeaderName, HeaderValue, TRANSFER_ENCODING};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::web::{self, Bytes};
use actix_web::{Error, FromRequest as _, HttpResponse, ResponseError as _};
use caudal_actors::cells::FIRST;
use caudal_actors::failure::Failure;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::aim::{Aim, For};
use super::parcel::{
    self, BODY_BYTES, MOVED, NOTHING, PEER, PERHAPS, Parcel, SECRET, SERVED, Says, is_errand,
};
use super::{Inside, Node, Owner};
use crate::http::bytes;
use crate::http::caller::{API_KEY, only};
use crate::http::errors::ApiError;
use crate::http::words::Refusal;
use crate::http::{Door, Entrance, tls, wire};

/// How often a request that waits looks for an owner.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The same after the owner and this node refused each other's certificates: people have to mend that, and each try
/// costs a handshake.
const UNTRUSTED_EVERY: Duration = Duration::from_secs(1);
/// The answers of this layer: its own, or those of the handlers.
pub type Through<B> = ServiceResponse<EitherBody<B, BoxBody>>;

/// The layer; see above.
///
/// # Errors
/// The errors of the inner service.
pub async fn layer<B: MessageBody + 'static>(
    call: ServiceRequest,
    next: Next<B>,
) -> Result<Through<B>, Error> {
    let door = call.app_data::<web::Data<Door>>().cloned();
    let Some((door, node)) = door.and_then(|door| Some((door.clone(), door.node.clone()?))) else {
        return Ok(next.call(call).await?.map_into_left_body());
    };
    match door.entrance {
        Entrance::Clients if travels(call.match_info().as_str()) => {
            pass(call, next, (&door, &node)).await
        }
        Entrance::Clients => Ok(next.call(call).await?.map_into_left_body()),
        Entrance::Nodes => serve(call, next, (&door, &node)).await,
    }
}

/// Whether only the owner answers a path, as the routes match it; health and pages are each node's own.
fn travels(path: &str) -> bool {
    let of = ["/v1", "/wallet", parcel::NOTICES];
    of.iter().any(|family| path.starts_with(family))
}

/// Whether another node may ask for this: a client's request that it passes on, or an errand, which names its owner.
fn is_askable(call: &ServiceRequest) -> bool {
    let path = call.match_info().as_str();
    travels(path) || is_errand(path) && For::of(call).is_some()
}

/// Serves a request that another node passes on.
async fn serve<B: MessageBody + 'static>(
    mut call: ServiceRequest,
    next: Next<B>,
    (door, node): (&Door, &Arc<Node>),
) -> Result<Through<B>, Error> {
    let shown = call.headers_mut().remove(SECRET).next();
    let known = shown.is_some_and(|shown| node.knows(shown.as_bytes()));
    if !known || !is_askable(&call) {
        let refusal = ApiError::from(Refusal::NoRoute);
        return Ok(call
            .into_response(refusal.error_response())
            .map_into_right_body());
    }
    wire::recognise(call.request());
    let peer = call.headers_mut().remove(PEER).next();
    let peer = peer.and_then(|peer| peer.to_str().ok()?.parse().ok());
    call.head_mut().peer_addr = peer;
    let admitted = match aimed(&mut call, (door, node)).await {
        Ok(Some(cell)) => node.enter(cell).map(|inside| (cell, inside)),
        Ok(None) | Err(_) => None,
    };
    let Some((cell, inside)) = admitted else {
        let refusal = ApiError::from(Failure::ShuttingDown);
        let mut answer = call.into_response(refusal.error_response());
        says(&mut answer, NOTHING);
        return Ok(answer.map_into_right_body());
    };
    let mut answer = next.call(call).await?;
    let unavailable = answer.status() == StatusCode::SERVICE_UNAVAILABLE;
    let sure = !unavailable || node.serves(cell);
    says(&mut answer, if sure { SERVED } else { PERHAPS });
    drop(inside);
    Ok(answer.map_into_left_body())
}

/// The cell of a request that another node passes on.
async fn aimed(
    call: &mut ServiceRequest,
    (door, node): (&Door, &Arc<Node>),
) -> Result<Option<u32>, ApiError> {
    let mut aim = Aim::of(call, node);
    if aim.needs_body() {
        let (request, payload) = call.parts_mut();
        let body = bytes::Bytes::<BODY_BYTES>::from_request(request, payload).await?;
        aim = aim.with(&body.0);
        put(call, body.0);
    }
    Ok(aim.cell(door, node).await?)
}

/// Puts a body that was read back where its handler finds it.
fn put(call: &mut ServiceRequest, body: Bytes) {
    let (_, mut again) = actix_http::h1::Payload::create(true);
    again.unread_data(body);
    call.set_payload(Payload::from(again));
}

fn says<B>(answer: &mut ServiceResponse<B>, what: &'static str) {
    let headers = answer.headers_mut();
    headers.insert(
        HeaderName::from_static(MOVED),
        HeaderValue::from_static(what),
    );
}

/// Serves a client's request, or passes it on.
async fn pass<B: MessageBody + 'static>(
    mut call: ServiceRequest,
    next: Next<B>,
    (door, node): (&Door, &Arc<Node>),
) -> Result<Through<B>, Error> {
    let aim = Aim::of(&call, node);
    if !aim.needs_body()
        && let Ok(Some(cell)) = aim.cell(door, node).await
        && let Some(inside) = node.enter(cell)
    {
        let answer = next.call(call).await?;
        drop(inside);
        return Ok(answer.map_into_left_body());
    }
    let refused = match Held::of(&mut call, (door, node), aim).await {
        Ok(held) => match settle((&held.parcel, &held.aim), (door, node), node.patience()).await {
            Ok(Settled::Answered(answer)) => {
                // only the owner knows whether the key is right
                if answer.status().is_success() {
                    wire::recognise(call.request());
                }
                return Ok(call.into_response(answer).map_into_right_body());
            }
            Ok(Settled::Here(inside)) => {
                put(&mut call, held.parcel.body.clone());
                let answer = next.call(call).await?;
                drop(inside);
                return Ok(answer.map_into_left_body());
            }
            Err(failure) => failure.into(),
        },
        Err(refused) => refused,
    };
    Ok(call
        .into_response(refused.error_response())
        .map_into_right_body())
}

/// How a request that was not served at once was settled.
pub(super) enum Settled {
    /// It may be served here now.
    Here(Inside),
    /// Another node has answered it.
    Answered(HttpResponse<BoxBody>),
}

/// The result of one try.
enum Tried {
    Answered(HttpResponse<BoxBody>),
    Nothing,
    /// Nothing was done, because one of the nodes refused the other's certificate.
    Untrusted,
    Unknown,
}

/// A request that is kept until a node has answered it.
struct Held<'a> {
    parcel: Parcel,
    aim: Aim,
    _room: Room<'a>,
}

/// The room that a body has: of all bodies, and of those without a key that this node knows where it is one of these.
struct Room<'a> {
    _all: SemaphorePermit<'a>,
    _part: Option<SemaphorePermit<'a>>,
}

impl<'a> Room<'a> {
    /// Takes room for so many bytes, from a part of all room if there is one for it; `None` where it is full.
    fn take(all: &'a Semaphore, bytes: u32, part: Option<&'a Semaphore>) -> Option<Self> {
        let part = match part {
            Some(part) => Some(part.try_acquire_many(bytes).ok()?),
            None => None,
        };
        Some(Self {
            _all: all.try_acquire_many(bytes).ok()?,
            _part: part,
        })
    }
}

impl<'a> Held<'a> {
    /// Reads a request, if there is room for it.
    async fn of(
        call: &mut ServiceRequest,
        (door, node): (&Door, &'a Node),
        aim: Aim,
    ) -> Result<Self, ApiError> {
        let key = only(call.request(), &API_KEY);
        let known = key.is_some_and(|key| door.keyring.recognise(key, &door.engine).is_some());
        let own = match aim.needs_body() {
            true => &node.notices,
            false => &node.strangers,
        };
        let length = call.headers().get(CONTENT_LENGTH);
        let length = length.and_then(|length| length.to_str().ok()?.parse().ok());
        let bare = matches!(*call.method(), Method::GET | Method::OPTIONS)
            && !call.headers().contains_key(TRANSFER_ENCODING);
        let most = if bare { 0 } else { BODY_BYTES };
        let most = u32::try_from(length.unwrap_or(most).min(BODY_BYTES));
        let room = most
            .ok()
            .and_then(|most| Room::take(&node.room, most, (!known).then_some(own)));
        let room = room.ok_or(Failure::Overloaded)?;
        let parcel = Parcel::of(call, node).await?;
        Ok(Self {
            aim: aim.with(&parcel.body),
            parcel,
            _room: room,
        })
    }
}

/// Waits until the request is answered, or may be served here.
pub(super) async fn settle(
    (parcel, aim): (&Parcel, &Aim),
    (door, node): (&Door, &Arc<Node>),
    most: Duration,
) -> Result<Settled, Failure> {
    let count = |figure: &AtomicU64| figure.fetch_add(1, Ordering::Relaxed);
    let until = Instant::now() + most;
    let mut unknown = false;
    loop {
        let found = aim.cell(door, node).await?;
        // A realm that is moving into another cell is looked for again, like one that has no owner.
        let cell = found.map_or(FIRST, |cell| cell);
        let mut turns = node.seat(cell).ok_or(Failure::Bug)?.serves.subscribe();
        if let Some(inside) = found.and_then(|cell| node.enter(cell)) {
            return Ok(Settled::Here(inside));
        }
        let mut pause = LOOK_EVERY;
        let tried = match found.and_then(|cell| node.owner(cell)) {
            Some(owner) => try_at(parcel, node, (cell, &owner)).await,
            None => Tried::Nothing,
        };
        match tried {
            Tried::Answered(answer) => {
                count(&node.passed.answered);
                return Ok(Settled::Answered(answer));
            }
            Tried::Unknown if !parcel.repeats => {
                count(&node.passed.unknown);
                return Err(Failure::OutcomeUnknown);
            }
            Tried::Unknown => unknown = true,
            Tried::Nothing => {}
            Tried::Untrusted => pause = UNTRUSTED_EVERY,
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            count(&node.passed.refused);
            return Err(match unknown {
                true => Failure::OutcomeUnknown,
                false => Failure::ShuttingDown,
            });
        }
        count(&node.passed.again);
        tokio::select! {
            _ = turns.changed() => {}
            () = tokio::time::sleep(pause.min(left)) => {}
        }
    }
}

async fn try_at(parcel: &Parcel, node: &Node, (cell, owner): (u32, &Owner)) -> Tried {
    let sent = async {
        let answer = parcel.to(node, &owner.address).send().await;
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) if why.is_connect() || tls::is_refused(&why) => {
                if let Some(why) = tls::refusal(&why) {
                    node.met_untrusted(&owner.address, &why);
                    return Tried::Untrusted;
                }
                return Tried::Nothing;
            }
            Err(why) => {
                // Without its URL, which names accounts.
                tracing::debug!(why = %why.without_url(), "the owner did not answer");
                return Tried::Unknown;
            }
        };
        let says = parcel::says(&answer);
        if !matches!(says, Says::Stranger) {
            node.met_friend(&owner.address);
        }
        match (says, answer.status()) {
            (Says::Nothing, _) => return Tried::Nothing,
            (Says::Perhaps, _) => return Tried::Unknown,
            (Says::Served, _) => {}
            // With this node's own headers the head is too large for the owner's listener. Retries change nothing.
            (Says::Stranger, reqwest::StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE) => {}
            // the answer to a wrong secret
            (Says::Stranger, reqwest::StatusCode::NOT_FOUND) => {
                node.met_stranger(&owner.address);
                return Tried::Nothing;
            }
            (Says::Stranger, status) => {
                tracing::debug!(%status, address = %owner.address, "an answer of no node of this cell");
                return Tried::Nothing;
            }
        }
        match parcel::answer(answer).await {
            Ok(answer) => Tried::Answered(answer),
            Err(_) => Tried::Unknown,
        }
    };
    tokio::select! {
        biased;
        tried = sent => tried,
        () = succeeded(node, (cell, owner)) => Tried::Unknown,
        () = tokio::time::sleep(parcel.answer) => Tried::Unknown,
    }
}

/// Waits until an epoch after that of an owner has begun.
async fn succeeded(node: &Node, (cell, owner): (u32, &Owner)) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let now = node.standing(cell);
        if now.is_some_and(|(standing, _)| standing.epoch > owner.epoch) {
            return;
        }
    }
}
