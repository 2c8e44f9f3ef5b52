//! The stream of events: server-sent events over the same log as the feed and the webhooks.
//!
//! **Shape.** A stream is a reader with a place in the log. It reads pages from there as long as there are any, then
//! waits for the next event; a client that is cut off comes back with the id of the last event it has
//! (`Last-Event-ID`, which browsers send by themselves). The place is sent before anything else and with each sign of
//! life, so that a client that is cut off before the first event, or while no wanted event comes, misses nothing
//! either.
//!
//! **Bounds.** A limited number for each realm ([`caudal_http::streams`]), [`PAGE`] events in memory for each. A
//! client that does not read stops only its own stream. A client that goes away without closing is noticed when
//! something is written: two heartbeats at most.
//!
//! **Failure.** A stream ends when the service stops or no longer owns the cell, the key no longer works, or
//! the log cannot be read; the client comes back and misses nothing.

use super::EventTypes;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, get};
use caudal_actors::engine::events::EventPage;
use caudal_actors::failure::Failure;
use caudal_http::bodies::events::event;
use caudal_http::caller::{Caller, only};
use caudal_http::declared::declared;
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::query::place;
use caudal_http::streams::StreamPermit;
use caudal_http::text;
use caudal_http::words::Mistake;
use caudal_ledger::events::{EventId, EventKinds};
use caudal_ledger::ids::RealmId;
use futures_util::stream::unfold;

use super::{HandlerResult, placed};

/// How many events are read at a time.
pub(crate) const PAGE: usize = 100;
/// How soon a client that was cut off should come back, in milliseconds.
const RETRY: u32 = 2000;

/// The header's name as clients write it.
const RESUMED: &str = "Last-Event-ID";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A reader with its place in the log.
struct StreamReader {
    caller: Caller,
    wanted: EventKinds,
    after: EventId,
    begun: bool,
    _permit: StreamPermit,
}

impl StreamReader {
    /// The next bytes to send; `None` ends the stream.
    async fn next(mut self) -> Option<(Result<Bytes, Failure>, Self)> {
        if !self.begun {
            self.begun = true;
            let first = format!("retry: {RETRY}\nid: {}\n\n", self.after);
            return Some((Ok(first.into()), self));
        }
        let app = self.caller.app.clone();
        // Counts from the last bytes that were sent, however many unwanted events have happened since.
        let beat = tokio::time::sleep(app.hooks.streams.options().heartbeat);
        tokio::pin!(beat);
        loop {
            self.caller.may_go_on().ok()?;
            let (realm, engine) = (self.caller.realm(), self.caller.engine());
            let page = engine
                .queries()
                .events(realm, self.after.number, self.wanted, PAGE)
                .await;
            let page = match page {
                Ok(page) => page,
                Err(why) => {
                    tracing::warn!(%why, "event stream aborted");
                    return None;
                }
            };
            // Unwanted events need not be read again.
            self.after = page.seen.unwrap_or(self.after);
            if !page.items.is_empty() {
                let text = self.render(&page);
                return Some((Ok(text.into()), self));
            }
            let more = async {
                if page.more {
                    Ok(())
                } else {
                    engine.queries().event_after(realm, self.after.number).await
                }
            };
            tokio::select! {
                biased;
                // Whether it is this stream that is to end is asked at once.
                () = app.gate.closed() => {}
                () = &mut beat => {
                    let text = format!(": alive\nid: {}\n\n", self.after);
                    return Some((Ok(text.into()), self));
                }
                page = more => page.ok()?,
            }
        }
    }

    fn render(&self, page: &EventPage) -> String {
        let tenant = &self.caller.identity.tenant;
        let mut text = String::new();
        for item in &page.items {
            let body = event(tenant, item);
            let data = text::json(&body);
            text.push_str(&format!(
                "id: {}\nevent: {}\ndata: {data}\n\n",
                body.id, body.kind
            ));
        }
        text
    }
}

declared! {
    /// only events after this one
    LastEventId = Header "Last-Event-ID" as Option<String>;
}

params! {
    /// Where a stream begins.
    struct StreamParams(realm: RealmId, last: u64) {
        /// the same, for clients that cannot send the header
        after: Option<EventId> = read("after", |text| place(realm, last, text)) as Option<String>;
    }
}

/// Streams events of the realm as they happen (server-sent events).
///
/// `Last-Event-ID` or `after` says after which event to begin; without either, only what happens from
/// now on is sent. Each message has the event's id, its type as `event`, and the `Event` as `data`.
/// The first lines say the place where the stream begins as an `id` without data, and so does a
/// comment every 15 seconds, which shows that the stream is alive. Come back with the last id after
/// any cut: nothing is missed.
#[utoipa::path(
    operation_id = "streamEvents",
    tag = "Events",
    params(
        LastEventId,
        StreamParams,
        EventTypes,
    ),
    responses((status = 200, content_type = "text/event-stream", body = String), Problems),
)]
#[get("/v1/events/stream")]
pub(crate) async fn follow(
    request: HttpRequest,
    caller: Caller,
    mut query: Query,
) -> HandlerResult {
    let realm = caller.realm();
    let last = caller.queries().last_event(realm)?;
    let wanted = EventTypes::take(&mut query).types.unwrap_or_default();
    let asked = StreamParams::read(query, realm, last)?.after;
    // The header is newer: a browser that comes back sends it to the address with which it began.
    let after = match resumed(&request)? {
        Some(text) => {
            let id = place(realm, last, text).map_err(|why| ApiError::field(RESUMED, why))?;
            Some((RESUMED, id))
        }
        None => asked.map(|id| ("after", id)),
    };
    let after = match after {
        Some((field, id)) => {
            placed(&caller, field, id).await?;
            id
        }
        None => caller
            .queries()
            .event_id(realm, last)?
            .ok_or(Failure::Bug)?,
    };
    let permit = caller.app.hooks.streams.permit(realm)?;
    let reader = StreamReader {
        caller,
        wanted,
        after,
        begun: false,
        _permit: permit,
    };
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "text/event-stream"))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((BUFFERING, "no"))
        .streaming(unfold(reader, StreamReader::next)))
}

/// The id of the last event that the client has; an empty one counts as absent.
fn resumed(request: &HttpRequest) -> Result<Option<&str>, ApiError> {
    if !request.headers().contains_key(&LAST_EVENT_ID) {
        return Ok(None);
    }
    // An unreadable id must not begin a stream at some other place.
    let text = only(request, &LAST_EVENT_ID)
        .ok_or_else(|| ApiError::field(RESUMED, Mistake::EventHeader))?;
    Ok(Some(text).filter(|text| !text.is_empty()))
}
