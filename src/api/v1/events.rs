//! Events of the native family, in order, to be read again from any place.

pub(crate) mod stream;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, get};
use caudal_actors::engine::Queries;
use caudal_actors::engine::lists::{ListCursor, ListPage, Listing};
use caudal_actors::failure::Failure;
use caudal_http::bodies::events::{EventBody, event};
use caudal_http::caller::Caller;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{Limit, params};
use caudal_http::problems::Problems;
use caudal_http::query::{LIMIT_DEFAULT, Query, place};
use caudal_http::respond;
use caudal_http::rows;
use caudal_http::sheets::columns::EVENTS;
use caudal_http::words::Mistake;
use caudal_ledger::events::{Event, EventId, EventKinds};
use caudal_ledger::ids::RealmId;
use serde::Serialize;
use utoipa::ToSchema;

/// A page of events.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(as = EventPage)]
pub(crate) struct EventsPage {
    /// The events, oldest first.
    pub items: Vec<EventBody>,
    /// What to send as `cursor` (or `after`) for the next page; null when there is no more. A page of a few types
    /// may be short, even empty, and still have a next one.
    pub next: Option<String>,
}

/// The number of an event that a field names, if the log has this very event.
///
/// # Errors
/// When the log has another event there: an older copy of the store was put back.
pub(crate) async fn placed(caller: &Caller, field: &str, id: EventId) -> Result<u64, ApiError> {
    let known = caller.queries().event_place(id).await?;
    known.ok_or_else(|| ApiError::field(field, Mistake::OtherHistory))
}

/// The kinds that a list of words asks for.
pub(crate) fn kinds(text: &str) -> Result<EventKinds, Mistake> {
    let words = text.split(',').map(str::trim);
    EventKinds::parse(words).map_err(|word| Mistake::NoEventType {
        word: word.to_owned(),
    })
}

/// Reads a cursor; an empty one is the first page, as in every list.
fn cursor(realm: RealmId, last: u64, text: &str) -> Result<Option<EventId>, Mistake> {
    match text {
        "" => Ok(None),
        text => place(realm, last, text).map(Some),
    }
}

params! {
    /// Where a page of events begins.
    part struct EventsParams(realm: RealmId, last: u64) {
        /// only events after this one (an event's id); absent: from the first
        after: Option<EventId> = read("after", |text| place(realm, last, text)) as Option<String>;
        /// the same: the `next` of the page before
        cursor: Option<Option<EventId>> = read("cursor", |text| cursor(realm, last, text))
            as Option<String>;
        => |query| if after.is_some() && cursor.flatten().is_some() {
            query.mistake("cursor", Mistake::Together { other: "after" });
        };
    }
}

params! {
    /// Which events.
    part pub struct EventTypes {
        /// Only of these types, with commas between them; `hold.*` is every type that begins so.
        types: Option<EventKinds> = read("types", kinds) as Option<String>;
    }
}

/// Reads the events of the realm after a number, as pages of a list.
fn walk(
    realm: RealmId,
    after: u64,
    wanted: EventKinds,
) -> impl AsyncFn(Queries<'_>, ListPage) -> Result<Listing<Event>, Failure> {
    async move |queries: Queries<'_>, page: ListPage| {
        let after = page.cursor.map_or(after, |cursor| cursor.number);
        let found = queries.events(realm, after, wanted, page.limit).await?;
        let next = found.seen.filter(|_| found.more);
        Ok(Listing {
            items: found.items,
            next: next.map(|id| ListCursor::from(id.number)),
            ..Listing::default()
        })
    }
}

/// Events of the realm, oldest first.
///
/// Every change is an event, in the order in which it was committed, without gaps. Keep the `next`
/// of the last page, or the id of the last event, and go on from there after any outage: events are
/// kept for good.
///
/// As CSV or NDJSON all of them are one response, which ends after 1000000: continue with `after`.
#[utoipa::path(
    operation_id = "listEvents",
    tag = "Events",
    params(
        EventsParams,
        EventTypes,
        Limit,
    ),
    responses((status = 200, content((EventsPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems),
)]
#[get("/v1/events")]
pub(crate) async fn list(request: HttpRequest, caller: Caller, mut query: Query) -> HandlerResult {
    let whole = rows::whole(&request, &mut query);
    let realm = caller.realm();
    let last = caller.queries().last_event(realm)?;
    let EventsParams { after, cursor } = EventsParams::take(&mut query, realm, last);
    let wanted = EventTypes::take(&mut query).types.unwrap_or_default();
    let Limit { limit } = Limit::take(&mut query);
    let limit = limit.unwrap_or(LIMIT_DEFAULT);
    query.done()?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let after = match (after, cursor.flatten()) {
        (Some(id), _) => placed(&caller, "after", id).await?,
        (None, Some(id)) => placed(&caller, "cursor", id).await?,
        (None, None) => 0,
    };
    if let Some(style) = whole {
        let tenant = caller.identity.tenant.clone();
        let show = move |found: &Event| serde_json::json!(event(&tenant, found));
        let events = walk(realm, after, wanted);
        return rows::stream(&caller, style, EVENTS, rows::FIRST, events, show).await;
    }
    let found = caller.queries().events(realm, after, wanted, limit).await?;
    let next = found.seen.filter(|_| found.more);
    let tenant = &caller.identity.tenant;
    let page = EventsPage {
        items: found.items.iter().map(|it| event(tenant, it)).collect(),
        next: next.map(|id| id.to_string()),
    };
    Ok(respond::json(StatusCode::OK, &page))
}
