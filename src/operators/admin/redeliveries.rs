//! Redeliveries to a tenant's webhook that an operator orders: one event, or a range of them.

use caudal_actors::failure::Failure;
use caudal_actors::realms::OrderWebhook;
use caudal_http::bodies::webhooks::RedeliveryBody;
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::declared::{declared, id};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::query::place;
use caudal_http::request::request;
use caudal_http::words::Mistake;
use caudal_ledger::events::EventId;
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{DeliveryId, WebhookId, WebhookOrder};

use super::webhooks::WebhookInPath;
use super::{AdminState, PathPart, State, ok, requester};

/// The longest id of an event, in characters.
const ID_MAX: usize = 64;

async fn again(
    admin_state: &AdminState,
    realm: RealmId,
    number: u64,
    (from, to): (EventId, EventId),
    every_kind: bool,
) -> HandlerResult {
    let order = WebhookOrder::Replay {
        from: from.number,
        to: to.number,
        every_kind,
    };
    let ledger = admin_state.app.engine.ledger();
    ledger
        .order(realm, OrderWebhook { number, order }, requester())
        .await?;
    let body = RedeliveryBody {
        from: from.to_string(),
        to: to.to_string(),
    };
    Ok(ok(&body))
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
    params(DeliveryInPath),
    responses((status = 200, body = RedeliveryBody))
)]
pub(super) async fn one(admin_state: State, path: PathPart) -> HandlerResult {
    let id = DeliveryInPath::read(&path)?;
    let WebhookId { realm, number } = id.webhook;
    let event = admin_state.queries().delivery(id).await?.event;
    again(&admin_state, realm, number, (event, event), true).await
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
    params(WebhookInPath),
    request_body(content = RedeliverByOperator),
    responses((status = 200, body = RedeliveryBody))
)]
pub(super) async fn range(admin_state: State, path: PathPart, sent: Body) -> HandlerResult {
    let WebhookId { realm, number } = WebhookInPath::read(&path)?;
    let RedeliverByOperator { from, to } = RedeliverByOperator::read(sent)?;
    let queries = admin_state.queries();
    queries.webhook(realm, number).await?;
    let last = queries.last_event(realm)?;
    let named = async |field: &str, text: &str| {
        let id = place(realm, last, text).map_err(|why| ApiError::field(field, why))?;
        let known = queries.event_place(id).await?;
        let known = known.filter(|number| *number > 0).map(|_| id);
        known.ok_or_else(|| ApiError::field(field, Mistake::OtherHistory))
    };
    let from = named("from", &from).await?;
    let to = match to {
        Some(to) => named("to", &to).await?,
        None => queries.event_id(realm, last)?.ok_or(Failure::Bug)?,
    };
    if from.number > to.number {
        return Err(ApiError::field("from", Mistake::After { other: "to" }));
    }
    again(&admin_state, realm, number, (from, to), false).await
}
