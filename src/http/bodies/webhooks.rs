//! The JSON of webhooks and deliveries.

use caudal_actors::engine::webhooks::{DeliveryView, WebhookView};
use caudal_actors::ports::webhooks::{AttemptResult, NoResponse};
use caudal_ledger::deliveries::{BlockedAccount, Ending, Progress, Response, StopReason, Try};
use caudal_ledger::ids::RealmId;
use caudal_ledger::webhooks::{DeliveryId, Webhook, WebhookId};
use serde::Serialize;
use utoipa::ToSchema;

use super::body;
use super::texts::Instant;
use super::words::{
    AttemptWord, DeliveryStatusWord, EventTypeWord, TroubleWord, WebhookFormatWord,
    WebhookStatusWord,
};

body! {
    /// A webhook.
    pub struct WebhookBody as Webhook by webhook(realm: RealmId, view: &WebhookView) {
        => let found = &view.webhook;
        /// Its id.
        id: String = WebhookId {
            realm,
            number: found.number,
        }
        .to_string();
        /// Where events are sent.
        url: String = found.url.clone();
        /// The types that it wants; null is all, also those to come.
        types: Option<Vec<String>> = found.types.clone();
        /// A line for people.
        description: Option<String> = found.description.clone();
        /// `standard` or `walletentidad`: how the body of what is sent looks.
        format: &'static str as WebhookFormatWord = found.format.as_str();
        /// Whether its tenant wants events to be sent.
        active: bool = found.active;
        /// `active`, `paused` (by its tenant), `failing` (it takes nothing; one event is tried at a
        /// time), `parked` (it took nothing for 3 days) or `gone` (it answered 410). A parked or gone
        /// webhook goes on where it was when `active: true` is sent.
        status: &'static str as WebhookStatusWord = status(found, &view.progress);
        /// How far it has come; a little behind the truth.
        progress: ProgressBody = progress(view);
        /// When it was created.
        created_at: Instant = found.created_at.into();
        /// When its tenant last changed it.
        updated_at: Instant = found.updated_at.into();
    }
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

body! {
    /// How far a webhook has come.
    pub struct ProgressBody as WebhookProgress by progress(view: &WebhookView) {
        => let progress = &view.progress;
        => let main = progress.cursors.first();
        => let number = main.map_or(0, |main| main.next.saturating_sub(1));
        => let lanes = || progress.cursors.iter().flat_map(|cursor| &cursor.lanes);
        => let failed = |lane: &&BlockedAccount| lane.head.is_some_and(|head| head.tries > 0);
        /// All events up to this one were looked at; null before the first.
        position: Option<String> = view.position.map(|id| id.to_string());
        /// Events of the realm after it.
        behind: u64 = view.last_event.saturating_sub(number);
        /// Accounts whose next event waits to be sent or to be tried again.
        waiting: usize = lanes().count();
        /// Those of them whose event was not taken at its last try and is tried again.
        retrying: usize = lanes().filter(failed).count();
        /// Events that were delivered, redeliveries among them.
        delivered: u64 = progress.delivered;
        /// Events that were given up after 3 days, while others were taken.
        parked: u64 = progress.parked;
        /// When it last took an event.
        last_success_at: Option<Instant> = progress.taken_at.map(Into::into);
        /// Its last try that failed.
        last_failure: Option<AttemptBody> = progress.failed.as_ref().map(AttemptBody::from);
    }
}

body! {
    /// One try to deliver an event.
    pub struct AttemptBody as DeliveryAttempt from tried: &Try {
        => let (response_status, error) = match &tried.response {
            Response::Status(status) => (Some(*status), None),
            Response::Trouble(why) => (None, Some(why.clone())),
        };
        /// When it began.
        at: Instant = tried.at.into();
        /// How long it took, in milliseconds.
        duration_ms: u64 = tried.millis;
        /// The status that was answered; null when there was no answer.
        response_status: Option<u16> = response_status;
        /// Why there was none: `timed_out`, `connection_failed`, `host_unresolved`,
        /// `address_forbidden`, `connection_broken` or `not_sendable`.
        error: Option<String> as Option<TroubleWord> = error;
        /// `delivered`, `failed` (it is tried again) or `parked`.
        outcome: &'static str as AttemptWord = match tried.ending {
            Ending::Delivered => "delivered",
            Ending::Failed => "failed",
            Ending::Parked => "parked",
        };
        /// When it is tried next.
        next_attempt_at: Option<Instant> = tried.due.map(Into::into);
    }
}

body! {
    /// What became of one event at a webhook.
    pub struct DeliveryBody as Delivery
        by delivery(realm: RealmId, number: u64, view: &DeliveryView)
    {
        => let DeliveryView {
            kind,
            event,
            delivery,
        } = view;
        => let id = WebhookId { realm, number };
        /// Its id.
        id: String = DeliveryId {
            webhook: id,
            event: event.number,
            tag: event.tag,
        }
        .to_string();
        /// The webhook.
        webhook_id: String = id.to_string();
        /// The event: also the `webhook-id` of every try.
        event_id: String = event.to_string();
        /// The type of the event.
        event_type: &'static str as EventTypeWord = kind.as_str();
        /// `delivered`, `failing` or `parked`: as its last try ended.
        status: &'static str as DeliveryStatusWord = match delivery.ending() {
            Some(Ending::Delivered) => "delivered",
            Some(Ending::Parked) => "parked",
            Some(Ending::Failed) | None => "failing",
        };
        /// How often it was tried.
        attempt_count: u32 = delivery.tries;
        /// The last tries, oldest first.
        attempts: Vec<AttemptBody> = delivery.log.iter().map(AttemptBody::from).collect();
    }
}

/// A page of deliveries.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(as = DeliveryPage)]
pub struct DeliveriesPage {
    /// The deliveries, by the order of events, the newest first unless asked otherwise.
    pub items: Vec<DeliveryBody>,
    /// What to send as `cursor` for the next page, as in `X-Next-Cursor`; null when there is no more.
    pub next: Option<String>,
}

body! {
    /// How a try went that was asked for.
    pub struct TestBody as WebhookTest by tested(sent: &AttemptResult) {
        /// Whether the receiver took it.
        delivered: bool = sent.is_delivered();
        /// The status that was answered; null when there was no answer.
        response_status: Option<u16> = sent.result.ok();
        /// Why there was none.
        error: Option<&'static str> as Option<TroubleWord>
            = sent.result.err().map(NoResponse::as_str);
        /// How long it took, in milliseconds.
        duration_ms: u64 = sent.millis;
    }
}

/// What will be delivered once more.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(as = Redelivery)]
pub struct RedeliveryBody {
    /// The first event.
    pub from: String,
    /// The last event.
    pub to: String,
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
