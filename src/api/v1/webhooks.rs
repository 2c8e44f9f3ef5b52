//! Webhooks of the native family: their addresses, the deliveries of events to them, and redelivery.

mod secrets;

use std::num::NonZeroU32;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, get, patch, post, web};
use caudal_actors::engine::Requester;
use caudal_actors::engine::lists::{ListCursor, ListPage, SortOrder};
use caudal_actors::engine::webhooks::{DeliveryView, WebhookView};
use caudal_actors::failure::Failure;
use caudal_actors::realms::{OrderWebhook, TryWebhook};
use caudal_actors::reply::Answered;
use caudal_http::bodies::webhooks::{
    DeliveriesPage, RedeliveryBody, TestBody, WebhookBody, WithSecret, delivery, tested, webhook,
};
use caudal_http::bodies::words::{DeliveryStatusWord, EventFilterWord, OrderWord};
use caudal_http::body::read::{self as read_body, text};
use caudal_http::body::{Body, OptionalBody};
use caudal_http::caller::Caller;
use caudal_http::choice::{WebhookFormatWord, one_of};
use caudal_http::cursors;
use caudal_http::declared::{self, WebhookInPath, declared, id};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{PageParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::{LIMIT_MAX, ORDERS};
use caudal_http::query::{Query, place};
use caudal_http::rate::seconds;
use caudal_http::request::request;
use caudal_http::respond::{self, ApiCall, array, give, json, plain};
use caudal_http::webhooks::guard::{self, UrlError};
use caudal_http::whole_list::WholeParams;
use caudal_http::words::{Mistake, Refusal};
use caudal_ledger::deliveries::{Ending, Progress};
use caudal_ledger::events::{EventId, EventKind, EventKinds};
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{DeliveryId, Webhook, WebhookFormat, WebhookOrder};

use super::events::placed;
use secrets::NewSecret;

/// The longest description, in characters.
const DESCRIPTION_MAX: usize = 200;
/// The most types that a webhook may name.
const TYPES_MAX: usize = 64;
/// How long the old secret still signs after a rotation, unless the request says so, in seconds: a day.
const OVERLAP: u64 = 24 * 60 * 60;
/// The longest overlap that a request may ask for: 7 days.
const OVERLAP_MAX: u64 = 7 * OVERLAP;
/// How many test calls a realm may make to its webhooks in one burst.
pub const TEST_BURST: NonZeroU32 = NonZeroU32::new(10).unwrap();
/// How long after a burst one more may be made.
pub const TEST_EVERY: Duration = Duration::from_secs(1);

/// A webhook as an order left it, with how far it has come where that is known.
fn ordered(caller: &Caller, found: &Webhook, known: Option<WebhookView>) -> WebhookBody {
    let realm = caller.realm();
    let engine = caller.engine();
    let (progress, position) = match known {
        Some(known) => (known.progress, known.position),
        None => {
            let from = engine.queries().event_id(realm, found.after).ok().flatten();
            (Progress::new(found.after), from.filter(|id| id.number > 0))
        }
    };
    let view = WebhookView {
        webhook: found.clone(),
        progress,
        position,
        last_event: engine.queries().last_event(realm).unwrap_or(found.after),
    };
    webhook(realm, &view)
}

/// The number of the caller's webhook that a path names.
fn number(caller: &Caller, path: &str) -> Result<u64, ApiError> {
    let id = WebhookInPath::read(path)?;
    if id.realm != caller.realm() {
        return Err(Rejection::WebhookNotFound.into());
    }
    Ok(id.number)
}

/// The types that a body names.
fn types(raw: &str) -> Result<Vec<String>, Mistake> {
    let words: Vec<String> = serde_json::from_str(raw).map_err(|_| Mistake::NotEventTypes)?;
    if words.is_empty() || words.len() > TYPES_MAX {
        return Err(Mistake::EventTypeCount { max: TYPES_MAX });
    }
    match EventKinds::parse(words.iter().map(String::as_str)) {
        Ok(_) => Ok(words),
        Err(word) => {
            let word = word.to_owned();
            let all = EventKind::ALL.iter().map(|kind| kind.as_str()).collect();
            Err(Mistake::NoEventTypeOf { word, all })
        }
    }
}

/// Reads a URL, and checks that the service may send to it.
fn url(caller: &Caller) -> impl Fn(&str) -> Result<String, UrlError> {
    let reach = caller.app.hooks.reach.clone();
    move |text| {
        let checked = guard::parse(text, &reach);
        checked.map(|url| url.to_string())
    }
}

/// Sends the realm an order about a webhook. For a new webhook the number is ignored.
async fn ordered_of(
    caller: &Caller,
    number: u64,
    order: WebhookOrder,
    requester: Requester<Webhook>,
) -> Answered<Webhook> {
    let order = OrderWebhook { number, order };
    caller
        .ledger()
        .order(caller.realm(), order, requester)
        .await
}

/// Lists the webhooks of the realm.
///
/// Each with how far it has come and with its last failure.
#[utoipa::path(
    operation_id = "listWebhooks",
    tag = "Webhooks",
    params(WholeParams),
    responses((status = 200, body = Vec<WebhookBody>), Problems)
)]
#[get("/v1/webhooks")]
pub(crate) async fn list(caller: Caller, query: Query) -> HandlerResult {
    let page = WholeParams::alone(query)?;
    let realm = caller.realm();
    let found = caller.queries().webhooks(realm).await?;
    let listing = page.page(found, |_, view| view.webhook.number)?;
    Ok(array(&listing, |view| webhook(realm, view)))
}

request! {
    /// A new webhook.
    strict struct CreateWebhook as CreateWebhookDto(caller: &Caller) {
        /// Where events go: https, port 443 or 8443, at a public address.
        url: String = required("url", read_body::text(url(caller)))
            as String { max_length = 2048, example = "https://psp.example/caudal" };
        /// The types that it wants, such as `voucher.created` or `hold.*`; all when absent.
        types: Option<Vec<String>> = optional("types", types)
            as Option<Vec<EventFilterWord>> { min_items = 1, max_items = 64 };
        /// A line for people.
        description: Option<String> = optional("description", read_body::line(DESCRIPTION_MAX))
            as Option<String> { min_length = 1, max_length = 200 };
        /// `standard` (when absent) or `walletentidad`.
        format: Option<WebhookFormat> = optional("format", text(one_of))
            as Option<WebhookFormatWord>;
    }
}

request! {
    /// Changes of a webhook; absent fields stay as they are.
    strict struct ChangeWebhook as UpdateWebhookDto(caller: &Caller) {
        /// Where events go.
        url: Option<String> = optional("url", read_body::text(url(caller)))
            as Option<String> { max_length = 2048 };
        /// The types that it wants; null is all.
        types: Option<Option<Vec<String>>> = nullable("types", types)
            as Option<Vec<EventFilterWord>> { min_items = 1, max_items = 64 };
        /// A line for people; null removes it.
        description: Option<Option<String>> =
            nullable("description", read_body::line(DESCRIPTION_MAX))
            as Option<String> { min_length = 1, max_length = 200 };
        /// `standard` or `walletentidad`, for what is sent from now on.
        format: Option<WebhookFormat> = optional("format", text(one_of))
            as Option<WebhookFormatWord>;
        /// Whether events are sent; true also lets a parked or gone webhook go on.
        active: Option<bool> = optional("active", read_body::boolean) as Option<bool>;
    }
}

/// Creates a webhook: events from now on are sent to it.
///
/// Every event is sent as a POST with the headers of Standard Webhooks (`webhook-id`,
/// `webhook-timestamp`, `webhook-signature`) and an `Event` as its body, at least once, those of one
/// account in their order. Any 2xx takes it; anything else is tried again after 5 s, 5 min, 30 min,
/// 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, for 3 days. `Retry-After` is heeded; 410 ends the webhook.
/// Redirects are not followed.
///
/// A webhook of the format `walletentidad` is sent flat notices instead, under the same headers, and only of
/// the events of which there is one.
///
/// Besides `webhooks:write`, the key needs the scope to read what the webhook receives: `events:read`, or, with
/// `types`, the scope to read each of them, such as `vouchers:read` for `voucher.created`.
#[utoipa::path(
    operation_id = "createWebhook",
    tag = "Webhooks",
    params(declared::IdempotencyKey),
    request_body(content = CreateWebhook),
    responses((status = 201, body = WithSecret), Problems)
)]
#[post("/v1/webhooks")]
pub(crate) async fn create(mut call: ApiCall) -> HandlerResult {
    let secret = NewSecret::make(&call.caller)?;
    let requester = secret.requester(StatusCode::CREATED, &call, None)?;
    let sent = CreateWebhook::read(call.take_body(), &call.caller)?;
    call.caller.may_read_events(sent.types.as_deref())?;
    let order = WebhookOrder::Create {
        url: sent.url,
        types: sent.types,
        description: sent.description,
        format: sent.format.unwrap_or(WebhookFormat::Standard),
        secret: secret.sealed.clone(),
    };
    let made = ordered_of(&call.caller, 0, order, requester).await;
    secret.give(StatusCode::CREATED, &call.caller, made, None)
}

/// Reads a webhook.
///
/// With how far it has come and its last failure. The secret is shown once, when the webhook is made.
#[utoipa::path(
    operation_id = "readWebhook",
    tag = "Webhooks",
    params(WebhookInPath),
    responses((status = 200, body = WebhookBody), Problems)
)]
#[get("/v1/webhooks/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let realm = caller.realm();
    let view = caller
        .queries()
        .webhook(realm, number(&caller, &path)?)
        .await?;
    Ok(json(StatusCode::OK, &webhook(realm, &view)))
}

/// Changes what is sent: absent fields stay as they are.
///
/// `active: true` also lets a parked or gone webhook go on where it was: nothing is lost meanwhile. To change `url` or
/// `types`, the key needs the scope to read what the webhook receives before and after.
#[utoipa::path(
    operation_id = "changeWebhook",
    tag = "Webhooks",
    params(WebhookInPath),
    request_body(content = ChangeWebhook),
    responses((status = 200, body = WebhookBody), Problems)
)]
#[patch("/v1/webhooks/{id}")]
pub(crate) async fn change(caller: Caller, path: web::Path<String>, body: Body) -> HandlerResult {
    let number = number(&caller, &path)?;
    let sent = ChangeWebhook::read(body, &caller)?;
    if sent.url.is_some() || sent.types.is_some() {
        // What it received before may still be on its way, or be sent again.
        let before = caller.queries().webhook(caller.realm(), number).await?;
        caller.may_read_events(before.webhook.types.as_deref())?;
    }
    if let Some(types) = &sent.types {
        caller.may_read_events(types.as_deref())?;
    }
    let order = WebhookOrder::Change {
        url: sent.url,
        types: sent.types,
        description: sent.description,
        format: sent.format,
        active: sent.active,
    };
    let realm = caller.realm();
    let changed = ordered_of(&caller, number, order, plain(&caller)).await;
    let known = caller.queries().webhook(realm, number).await.ok();
    give(changed, |changed| {
        json(StatusCode::OK, &ordered(&caller, &changed, known))
    })
}

/// Removes a webhook: nothing more is sent to it.
///
/// What is being sent at this moment may still arrive.
#[utoipa::path(
    operation_id = "deleteWebhook",
    tag = "Webhooks",
    params(WebhookInPath),
    responses((status = 204, description = "removed"), Problems)
)]
#[delete("/v1/webhooks/{id}")]
pub(crate) async fn remove(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let number = number(&caller, &path)?;
    let order = WebhookOrder::Remove;
    let removed = ordered_of(&caller, number, order, plain(&caller)).await;
    give(removed, |_| HttpResponse::NoContent().finish())
}

request! {
    /// How long the old secret goes on signing.
    strict struct RotateSecret as RotateSecretDto {
        /// In seconds; a day when absent, 0 ends it at once.
        overlap_seconds: Option<u64> =
            optional("overlapSeconds", read_body::integer(0, OVERLAP_MAX))
            as Option<u64> { minimum = 0, maximum = 604_800 };
    }
}

/// Gives a webhook a new secret; the old one goes on signing for a while.
///
/// Until then each request carries a signature of both, separated by a space.
#[utoipa::path(
    operation_id = "rotateWebhookSecret",
    tag = "Webhooks",
    params(
        WebhookInPath,
        declared::IdempotencyKey,
    ),
    request_body(content = Option<RotateSecret>),
    responses((status = 200, body = WithSecret), Problems)
)]
#[post("/v1/webhooks/{id}/rotate-secret")]
pub(crate) async fn rotate(
    mut call: ApiCall<OptionalBody>,
    path: web::Path<String>,
) -> HandlerResult {
    let number = number(&call.caller, &path)?;
    let secret = NewSecret::make(&call.caller)?;
    // A new secret does not change how far the webhook has come.
    let (queries, realm) = (call.caller.queries(), call.caller.realm());
    let known = queries.webhook(realm, number).await.ok();
    let requester = secret.requester(StatusCode::OK, &call, known.clone())?;
    let sent = RotateSecret::read(call.take_body())?;
    let overlap = sent.overlap_seconds.unwrap_or(OVERLAP);
    let order = WebhookOrder::Rotate {
        secret: secret.sealed.clone(),
        overlap,
    };
    let rotated = ordered_of(&call.caller, number, order, requester).await;
    secret.give(StatusCode::OK, &call.caller, rotated, known)
}

/// Sends a webhook an event of type `webhook.test` now, and says how that went.
///
/// It is signed like any other. It is in no list of events and changes nothing of how far the webhook has
/// come. A realm may make 10 such calls at once and one more each second; beyond that the answer is 429.
#[utoipa::path(
    operation_id = "testWebhook",
    tag = "Webhooks",
    params(
        WebhookInPath,
        declared::IdempotencyKey,
    ),
    responses((status = 200, body = TestBody), Problems)
)]
#[post("/v1/webhooks/{id}/test")]
pub(crate) async fn test(
    mut call: ApiCall<OptionalBody>,
    path: web::Path<String>,
) -> HandlerResult {
    let number = number(&call.caller, &path)?;
    let (requester, answer) = call.order(StatusCode::OK, tested)?;
    call.take_body().fields().done()?;
    let (caller, realm) = (&call.caller, call.caller.realm());
    let allowed = caller.app.hooks.tests.take(&realm);
    allowed.map_err(|wait| {
        let (burst, every) = (TEST_BURST.get(), TEST_EVERY.as_secs());
        ApiError::from(Refusal::TestRate {
            burst,
            seconds: every,
        })
        .later(seconds(wait))
    })?;
    let id = format!("evt_test_{}", uuid::Uuid::now_v7().simple());
    let order = TryWebhook { number, id };
    answer.give(caller.ledger().order(realm, order, requester).await)
}

const ENDINGS: [(&str, Ending); 3] = [
    ("delivered", Ending::Delivered),
    ("failing", Ending::Failed),
    ("parked", Ending::Parked),
];

params! {
    /// Which deliveries.
    struct DeliveryParams {
        /// only deliveries whose last try ended so
        status: Option<Ending> = choice("status", &ENDINGS) as Option<DeliveryStatusWord>;
        /// Rows of the page, 1–200; 50 when absent.
        limit: Option<u64> = integer("limit", 1, LIMIT_MAX)
            as Option<u32> { minimum = 1, maximum = 200 };
        /// `asc` or `desc` (when absent).
        order: Option<SortOrder> = choice("order", &ORDERS) as Option<OrderWord>;
        /// A value of `X-Next-Cursor`.
        cursor: Option<ListCursor> = cursor("cursor") as Option<String>;
    }
}

/// Lists what became of events at a webhook, the newest first.
///
/// An event is listed once it was tried. With `status` only part of the list is looked at for each
/// page, so a page may be short and still have an `X-Next-Cursor`.
#[utoipa::path(
    operation_id = "listWebhookDeliveries",
    tag = "Webhooks",
    params(
        WebhookInPath,
        DeliveryParams,
    ),
    responses((status = 200, body = DeliveriesPage), Problems)
)]
#[get("/v1/webhooks/{id}/deliveries")]
pub(crate) async fn deliveries(
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> HandlerResult {
    let number = number(&caller, &path)?;
    let sent = DeliveryParams::read(query)?;
    let page = ListPage::from(PageParams {
        limit: sent.limit,
        offset: None,
        order: sent.order,
        cursor: sent.cursor,
    });
    let realm = caller.realm();
    let listing = caller
        .queries()
        .deliveries(realm, number, sent.status, page)
        .await?;
    let items = listing
        .items
        .iter()
        .map(|view| delivery(realm, number, view));
    let body = DeliveriesPage {
        items: items.collect(),
        next: cursors::written(&listing),
    };
    Ok(respond::next(&listing, json(StatusCode::OK, &body)))
}

declared! {
    /// the id of a delivery, `dlv_…`
    DeliveryInPath = Path "id" as String
        => DeliveryId: id(DeliveryId::parse, Rejection::DeliveryNotFound);
}

/// Sends one event to its webhook once more, next to the others.
///
/// With the same `webhook-id` as before, so that a receiver that has it already can tell.
#[utoipa::path(
    operation_id = "redeliver",
    tag = "Webhooks",
    params(
        DeliveryInPath,
        declared::IdempotencyKey,
    ),
    responses((status = 202, body = RedeliveryBody), Problems)
)]
#[post("/v1/webhooks/deliveries/{id}/redeliver")]
pub(crate) async fn redeliver(
    call: ApiCall<OptionalBody>,
    path: web::Path<String>,
) -> HandlerResult {
    let id = DeliveryInPath::read(&path)?;
    if id.webhook.realm != call.caller.realm() {
        return Err(Rejection::DeliveryNotFound.into());
    }
    call.body.clone_fields().fields().done()?;
    let number = id.webhook.number;
    let DeliveryView { event, kind, .. } = call.caller.queries().delivery(id).await?;
    let types = [kind.as_str().to_owned()];
    call.caller.may_read_events(Some(&types))?;
    again(&call, number, (event, event), true).await
}

request! {
    /// Which events to send once more.
    strict struct Redeliver as RedeliverDto(realm: RealmId, last: u64) {
        /// The id of the first event.
        from: EventId = required("from", text(|id| event(realm, last, id))) as String;
        /// The id of the last event; the last one of now when absent.
        to: Option<EventId> = optional("to", text(|id| event(realm, last, id))) as Option<String>;
        => |fields| if from.is_some_and(|from| from.number > to.map_or(last, |to| to.number)) {
            fields.mistake("from", Mistake::After { other: "to" });
        };
    }
}

/// Reads the id of an event of a realm whose last event has the number `last`.
fn event(realm: RealmId, last: u64, id: &str) -> Result<EventId, Mistake> {
    let found = place(realm, last, id).ok().filter(|id| id.number > 0);
    found.ok_or(Mistake::NoEvent)
}

/// Sends a range of events to a webhook once more, next to the others: those of its types.
///
/// `from` and `to` are ids of events, both included; without `to` up to the last event of now.
#[utoipa::path(
    operation_id = "redeliverRange",
    tag = "Webhooks",
    params(
        WebhookInPath,
        declared::IdempotencyKey,
    ),
    request_body(content = Redeliver),
    responses((status = 202, body = RedeliveryBody), Problems)
)]
#[post("/v1/webhooks/{id}/redeliver")]
pub(crate) async fn redeliver_range(call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let caller = &call.caller;
    let (number, realm) = (number(caller, &path)?, caller.realm());
    let last = caller.queries().last_event(realm)?;
    let Redeliver { from, to } = Redeliver::read(call.body.clone_fields(), realm, last)?;
    placed(caller, "from", from).await?;
    let to = match to {
        Some(to) => {
            placed(caller, "to", to).await?;
            to
        }
        None => caller
            .queries()
            .event_id(realm, last)?
            .ok_or(Failure::Bug)?,
    };
    again(&call, number, (from, to), false).await
}

async fn again<B>(
    call: &ApiCall<B>,
    number: u64,
    (from, to): (EventId, EventId),
    every_kind: bool,
) -> HandlerResult {
    let shown = RedeliveryBody {
        from: from.to_string(),
        to: to.to_string(),
    };
    let render = move |_: &Webhook| shown.clone();
    let (requester, answer) = call.order(StatusCode::ACCEPTED, render)?;
    let order = WebhookOrder::Replay {
        from: from.number,
        to: to.number,
        every_kind,
    };
    answer.give(ordered_of(&call.caller, number, order, requester).await)
}
