//! Redeliveries to a tenant's webhook that an operator orders: one event, or a range of them.

use actix_web::http::StatusCode;
use actix_web::web;
use caudal_actors::engine::Requester;
use caudal_actors::failure::Failure;
use caudal_http::bodies::webhooks::RedeliveryBody;
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::current;
use caudal_http::declared::{declared, id};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::query::place;
use caudal_http::request::request;
use caudal_http::respond::json;
use caudal_http::words::Mistake;
use caudal_ledger::events::EventId;
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{DeliveryId, Webhook, WebhookId, WebhookOrder};

use super::AdminState;
use super::webhooks::WebhookInPath;

/// The longest id of an event, in characters.
const ID_MAX: usize = 64;

async fn again(
    admin_state: &AdminState,
    realm: RealmId,
    number: u64,
    (from, to): (EventId, EventId),
    every_kind: bool,
) -> HandlerResult {
    let requester: Requester<Webhook> = Requester {
        keyed: None,
        request_id: current::request().id,
        admitted: None,
    };
    let order = WebhookOrder::Replay {
        from: from.number,
        to: to.number,
        every_kind,
    };
    let engine = &admin_state.app.engine;
    engine
        .operators()
        .order_webhook(realm, number, order, requester)
        .await?;
    let body = RedeliveryBody {
        from: from.to_string(),
        to: to.to_string(),
    };
    Ok(json(StatusCode::OK, &body))
}

declared! {
    /// The id of a delivery, `dlv_…`
    DeliveryInPath = Path "id" as String
        => DeliveryId: id(DeliveryId::parse, Rejection::DeliveryNotFound);
}

/// Sends one event to its webhook once more, next to the others.
#[utoipa::path(
    post,
    path = "/admin/webhooks/deliveries/{id}/redeliver",
    tag = "Operation",
    params(DeliveryInPath),
    responses((status = 200, body = RedeliveryBody))
)]
pub(super) async fn one(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
) -> HandlerResult {
    let id = DeliveryInPath::read(&path)?;
    let WebhookId { realm, number } = id.webhook;
    let found = admin_state.queries().delivery(id).await?;
    again(
        &admin_state,
        realm,
        number,
        (found.event, found.event),
        true,
    )
    .await
}

request! {
    /// Which events are sent once more.
    strict struct RedeliverByOperator as RedeliveryByOperator {
        /// The id of the first event.
        from: String = required("from", line(ID_MAX)) as String;
        /// The id of the last event; the last one of now when absent.
        to: Option<String> = optional("to", line(ID_MAX)) as Option<String>;
    }
}

/// Sends a range of events to a webhook once more, next to the others: those of its types, both ends included.
#[utoipa::path(
    post,
    path = "/admin/webhooks/{id}/redeliver",
    tag = "Operation",
    params(WebhookInPath),
    request_body(content = RedeliverByOperator),
    responses((status = 200, body = RedeliveryBody))
)]
pub(super) async fn range(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
    sent: Body,
) -> HandlerResult {
    let id = WebhookInPath::read(&path)?;
    let sent = RedeliverByOperator::read(sent)?;
    ranged(&admin_state, id, sent).await
}

/// Redelivers a range.
async fn ranged(
    admin_state: &AdminState,
    WebhookId { realm, number }: WebhookId,
    RedeliverByOperator { from, to }: RedeliverByOperator,
) -> HandlerResult {
    let engine = &admin_state.app.engine;
    engine.queries().webhook(realm, number).await?;
    let last = engine.queries().last_event(realm)?;
    let named = async |field: &str, text: &str| {
        let id = place(realm, last, text).map_err(|why| ApiError::field(field, why))?;
        let known = engine
            .queries()
            .event_place(id)
            .await?
            .filter(|number| *number > 0);
        known
            .map(|_| id)
            .ok_or_else(|| ApiError::field(field, Mistake::OtherHistory))
    };
    let from = named("from", &from).await?;
    let to = match to {
        Some(to) => named("to", &to).await?,
        None => engine
            .queries()
            .event_id(realm, last)?
            .ok_or(Failure::Bug)?,
    };
    if from.number > to.number {
        return Err(ApiError::field("from", Mistake::After { other: "to" }));
    }
    again(admin_state, realm, number, (from, to), false).await
}
