//! The JSON of webhooks and deliveries.

use caudal_actors::engine::webhooks::{DeliveryView, WebhookView};
use caudal_actors::ports::webhooks::{AttemptResult, NoResponse};
use caudal_ledger::deliveries::{BlockedAccount, Ending, Progress, Response, StopReason, Try};
use caudal_ledger::ids::RealmId;
use caudal_ledger::webhooks::{DeliveryId, Webhook, WebhookId};
use serde::Serialize;
use utoipa::ToSchema;

use super::texts::Instant;
use super::words::{
    AttemptWord, DeliveryStatusWord, EventTypeWord, TroubleWord, WebhookFormatWord,
    WebhookStatusWord,
};

/// A webhook.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Webhook)]
pub struct WebhookBody {
    /// Its id.
    pub id: String,
    /// Where events are sent.
    pub url: String,
    /// The types that it wants; null is all, also those to come.
    pub types: Option<Vec<String>>,
    /// A line for people.
    pub description: Option<String>,
    /// `standard` or `walletentidad`: how the body of what is sent looks.
    #[schema(value_type = WebhookFormatWord)]
    pub format: &'static str,
    /// Whether its tenant wants events to be sent.
    pub active: bool,
    /// `active`, `paused` (by its tenant), `failing` (it takes nothing; one event is tried at a
    /// time), `parked` (it took nothing for 3 days) or `gone` (it answered 410). A parked or gone
    /// webhook goes on where it was when `active: true` is sent.
    #[schema(value_type = WebhookStatusWord)]
    pub status: &'static str,
    /// How far it has come; a little behind the truth.
    pub progress: ProgressBody,
    /// When it was created.
    pub created_at: Instant,
    /// When its tenant last changed it.
    pub updated_at: Instant,
}

/// A webhook with a new secret.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(as = WebhookWithSecret)]
pub struct WithSecret {
    /// The webhook.
    #[serde(flatten)]
    pub webhook: WebhookBody,
    /// The secret to verify with, `whsec_…`: only here, only now. Null where an `Idempotency-Key` is
    /// repeated, for secrets are not kept in the clear: then ask for a new one.
    pub secret: Option<String>,
}

/// How far a webhook has come.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookProgress)]
pub struct ProgressBody {
    /// All events up to this one were looked at; null before the first.
    pub position: Option<String>,
    /// Events of the realm after it.
    pub behind: u64,
    /// Accounts whose next event waits to be sent or to be tried again.
    pub waiting: usize,
    /// Those of them whose event was not taken at its last try and is tried again.
    pub retrying: usize,
    /// Events that were delivered, redeliveries among them.
    pub delivered: u64,
    /// Events that were given up after 3 days, while others were taken.
    pub parked: u64,
    /// When it last took an event.
    pub last_success_at: Option<Instant>,
    /// Its last try that failed.
    pub last_failure: Option<AttemptBody>,
}

/// One try to deliver an event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = DeliveryAttempt)]
pub struct AttemptBody {
    /// When it began.
    pub at: Instant,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The status that was answered; null when there was no answer.
    pub response_status: Option<u16>,
    /// Why there was none: `timed_out`, `connection_failed`, `host_unresolved`,
    /// `address_forbidden`, `connection_broken` or `not_sendable`.
    #[schema(value_type = Option<TroubleWord>)]
    pub error: Option<String>,
    /// `delivered`, `failed` (it is tried again) or `parked`.
    #[schema(value_type = AttemptWord)]
    pub outcome: &'static str,
    /// When it is tried next.
    pub next_attempt_at: Option<Instant>,
}

/// What became of one event at a webhook.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Delivery)]
pub struct DeliveryBody {
    /// Its id.
    pub id: String,
    /// The webhook.
    pub webhook_id: String,
    /// The event: also the `webhook-id` of every try.
    pub event_id: String,
    /// The type of the event.
    #[schema(value_type = EventTypeWord)]
    pub event_type: &'static str,
    /// `delivered`, `failing` or `parked`: as its last try ended.
    #[schema(value_type = DeliveryStatusWord)]
    pub status: &'static str,
    /// How often it was tried.
    pub attempt_count: u32,
    /// The last tries, oldest first.
    pub attempts: Vec<AttemptBody>,
}

/// A page of deliveries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = DeliveryPage)]
pub struct DeliveriesPage {
    /// The deliveries, by the order of events, the newest first unless asked otherwise.
    pub items: Vec<DeliveryBody>,
    /// What to send as `cursor` for the next page, as in `X-Next-Cursor`; null when there is no more.
    pub next: Option<String>,
}

/// How a try went that was asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WebhookTest)]
pub struct TestBody {
    /// Whether the receiver took it.
    pub delivered: bool,
    /// The status that was answered; null when there was no answer.
    pub response_status: Option<u16>,
    /// Why there was none.
    #[schema(value_type = Option<TroubleWord>)]
    pub error: Option<&'static str>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What will be delivered once more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = Redelivery)]
pub struct RedeliveryBody {
    /// The first event.
    pub from: String,
    /// The last event.
    pub to: String,
}

const fn outcome(ending: Ending) -> &'static str {
    match ending {
        Ending::Delivered => "delivered",
        Ending::Failed => "failed",
        Ending::Parked => "parked",
    }
}

fn attempt(tried: &Try) -> AttemptBody {
    let (response_status, error) = match &tried.response {
        Response::Status(status) => (Some(*status), None),
        Response::Trouble(why) => (None, Some(why.clone())),
    };
    AttemptBody {
        at: tried.at.into(),
        duration_ms: tried.millis,
        response_status,
        error,
        outcome: outcome(tried.ending),
        next_attempt_at: tried.due.map(Into::into),
    }
}

fn status(webhook: &Webhook, progress: &Progress) -> &'static str {
    let stopped = progress
        .stopped
        .filter(|stop| stop.resumed >= webhook.resumed);
    match stopped.map(|stop| stop.reason) {
        _ if !webhook.active => "paused",
        Some(StopReason::Gone) => "gone",
        Some(StopReason::Unreachable) => "parked",
        None if progress.is_braked() => "failing",
        None => "active",
    }
}

fn progress(view: &WebhookView) -> ProgressBody {
    let progress = &view.progress;
    let main = progress.cursors.first();
    let number = main.map_or(0, |main| main.next.saturating_sub(1));
    let lanes = || progress.cursors.iter().flat_map(|cursor| &cursor.lanes);
    let failed = |lane: &&BlockedAccount| lane.head.is_some_and(|head| head.tries > 0);
    ProgressBody {
        position: view.position.map(|id| id.to_string()),
        behind: view.last_event.saturating_sub(number),
        waiting: lanes().count(),
        retrying: lanes().filter(failed).count(),
        delivered: progress.delivered,
        parked: progress.parked,
        last_success_at: progress.taken_at.map(Into::into),
        last_failure: progress.failed.as_ref().map(attempt),
    }
}

/// Renders a webhook of a realm, with how far it has come.
pub fn webhook(realm: RealmId, view: &WebhookView) -> WebhookBody {
    let found = &view.webhook;
    WebhookBody {
        id: WebhookId {
            realm,
            number: found.number,
        }
        .to_string(),
        url: found.url.clone(),
        types: found.types.clone(),
        description: found.description.clone(),
        format: found.format.as_str(),
        active: found.active,
        status: status(found, &view.progress),
        progress: progress(view),
        created_at: found.created_at.into(),
        updated_at: found.updated_at.into(),
    }
}

/// Renders the delivery of an event to a webhook, by the webhook's number in its realm.
pub fn delivery(realm: RealmId, number: u64, view: &DeliveryView) -> DeliveryBody {
    let DeliveryView {
        kind,
        event,
        delivery,
    } = view;
    let id = WebhookId { realm, number };
    DeliveryBody {
        id: DeliveryId {
            webhook: id,
            event: event.number,
            tag: event.tag,
        }
        .to_string(),
        webhook_id: id.to_string(),
        event_id: event.to_string(),
        event_type: kind.as_str(),
        status: match delivery.ending() {
            Some(Ending::Delivered) => "delivered",
            Some(Ending::Parked) => "parked",
            Some(Ending::Failed) | None => "failing",
        },
        attempt_count: delivery.tries,
        attempts: delivery.log.iter().map(attempt).collect(),
    }
}

/// Renders the result of a test.
pub fn tested(sent: &AttemptResult) -> TestBody {
    TestBody {
        delivered: sent.is_delivered(),
        response_status: sent.result.ok(),
        error: sent.result.err().map(NoResponse::as_str),
        duration_ms: sent.millis,
    }
}
