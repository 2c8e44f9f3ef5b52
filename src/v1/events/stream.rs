//! The stream of events: server-sent events over the same log as the feed and the webhooks.
//!
//! **Shape.** A stream is a reader with a place in the log. It reads pages from there as long as
//! there are any, then waits for the next event; a client that is cut off comes back with the id of
//! the last event it has (`Last-Event-ID`, which browsers send by themselves).
//!
//! **Bounds.** [`STREAMS_MAX`] of a realm, [`PAGE`] events in memory for each. A client that does not
//! read stops its own stream, nobody else's.
//!
//! **Failure.** A stream ends when the service stops, the key no longer works, or the log cannot be
//! read; the client comes back and misses nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, get};
use caudal_actors::engine::events::EventPage;
use caudal_actors::failure::Failure;
use caudal_ledger::events::{EventId, EventKinds};
use caudal_ledger::ids::RealmId;
use futures_util::stream::unfold;

use super::{Answer, event, kinds, place};
use crate::http::caller::{Caller, only};
use crate::http::errors::ApiError;
use crate::http::query::Query;
use crate::v1::Problems;

/// Streams of one realm at the same time.
pub const STREAMS_MAX: usize = 64;
/// Events that are read at once.
pub const PAGE: usize = 100;
/// How long a stream is silent at most, and how soon it ends when its key no longer works.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// How soon a client that was cut off should come back, in milliseconds.
const RETRY: u32 = 2000;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How many streams each realm has.
#[derive(Debug, Default)]
pub struct Streams(Arc<Mutex<HashMap<RealmId, usize>>>);

/// One stream, counted as long as it lives.
struct Seat {
    streams: Arc<Mutex<HashMap<RealmId, usize>>>,
    realm: RealmId,
}

impl Streams {
    fn take(&self, realm: RealmId) -> Option<Seat> {
        let mut seats = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = seats.entry(realm).or_default();
        if *count >= STREAMS_MAX {
            return None;
        }
        *count = count.saturating_add(1);
        Some(Seat {
            streams: Arc::clone(&self.0),
            realm,
        })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = seats.get_mut(&self.realm) {
            *count = count.saturating_sub(1);
        }
    }
}

/// A reader with its place in the log.
struct Reader {
    caller: Caller,
    wanted: EventKinds,
    after: u64,
    begun: bool,
    _seat: Seat,
}

impl Reader {
    /// What is sent next; `None` ends the stream.
    async fn next(mut self) -> Option<(Result<Bytes, Failure>, Self)> {
        if !self.begun {
            self.begun = true;
            let first = format!("retry: {RETRY}\n\n");
            return Some((Ok(first.into()), self));
        }
        loop {
            if !self.may_go_on() {
                return None;
            }
            let (realm, engine) = (self.caller.realm(), self.caller.engine());
            let page = engine.events(realm, self.after, self.wanted, PAGE).await;
            let page = match page {
                Ok(page) => page,
                Err(why) => {
                    tracing::warn!(%why, "a stream of events ends early");
                    return None;
                }
            };
            self.after = page.seen;
            if !page.items.is_empty() {
                let text = self.render(&page);
                return Some((Ok(text.into()), self));
            }
            if page.more {
                continue;
            }
            let gate = Arc::clone(&self.caller.door.gate);
            tokio::select! {
                biased;
                () = gate.closed() => return None,
                told = engine.event_after(realm, self.after) => told.ok()?,
                () = tokio::time::sleep(HEARTBEAT) => {
                    let beat = self.heartbeat();
                    return Some((Ok(beat.into()), self));
                }
            }
        }
    }

    /// Whether the service takes requests and the key still works.
    fn may_go_on(&self) -> bool {
        let (door, engine) = (&self.caller.door, self.caller.engine());
        let key = engine.key(&self.caller.identity.key);
        door.gate.is_open() && key.is_some_and(|known| known.key.works_at(engine.now()))
    }

    fn render(&self, page: &EventPage) -> String {
        let tenant = &self.caller.identity.tenant;
        let mut text = String::new();
        for item in &page.items {
            let body = event(tenant, item);
            let data = serde_json::to_string(&body).unwrap_or_default();
            text.push_str(&format!(
                "id: {}\nevent: {}\ndata: {data}\n\n",
                body.id, body.kind
            ));
        }
        text
    }

    /// A sign of life, with the place that has been reached: what was not wanted need not be looked
    /// at again.
    fn heartbeat(&self) -> String {
        let realm = self.caller.realm();
        let number = self.after;
        match number {
            0 => ": alive\n\n".to_owned(),
            _ => format!(": alive\nid: {}\n\n", EventId { realm, number }),
        }
    }
}

/// Streams events of the realm as they happen (server-sent events).
///
/// `Last-Event-ID` or `after` says after which event to begin; without either, only what happens from
/// now on is sent. Each message has the event's id, its type as `event`, and the `Event` as `data`.
/// A comment every 15 seconds shows that the stream is alive. Come back with the last id after any
/// cut: nothing is missed.
#[utoipa::path(
    operation_id = "streamEvents",
    tag = "Events",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "only events after this one"),
        ("after" = Option<String>, Query, description = "the same, for clients that cannot send the header"),
        ("types" = Option<String>, Query, description = "only of these types, with commas between them; `hold.*` is every type that begins so"),
    ),
    responses((status = 200, content_type = "text/event-stream", body = String), Problems),
)]
#[get("/v1/events/stream")]
pub async fn follow(request: HttpRequest, caller: Caller, mut query: Query) -> Answer {
    let realm = caller.realm();
    let asked = query.read("after", |text| place(realm, text));
    let wanted = query.read("types", kinds).unwrap_or_default();
    query.done()?;
    let after = match only(&request, &LAST_EVENT_ID).filter(|text| !text.is_empty()) {
        Some(text) => place(realm, text).map_err(|why| ApiError::field("Last-Event-ID", why))?,
        None => match asked {
            Some(after) => after,
            None => caller.engine().last_event(realm)?,
        },
    };
    let seat = caller.door.hooks.streams.take(realm).ok_or_else(|| {
        let message = format!("the realm has {STREAMS_MAX} streams open already; close one first");
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", message).later(5)
    })?;
    let reader = Reader {
        caller,
        wanted,
        after,
        begun: false,
        _seat: seat,
    };
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((BUFFERING, "no"))
        .streaming(unfold(reader, Reader::next)))
}
