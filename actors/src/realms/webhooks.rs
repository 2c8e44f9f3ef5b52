//! The supervisor's part in webhooks: it decides the tenant's orders about them, and keeps a courier.

use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Duration;

use actix::{ActorFutureExt as _, AsyncContext as _, WrapFuture as _};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{Webhook, WebhookFact, WebhookId, WebhookOrder, Webhooks};
use caudal_storage::StoreError;

use super::{BANK_DEADLINE, RealmContext, RealmOrder, RealmSupervisor, TRIES_AT_ONCE};
use crate::commit_writer::WriteSet;
use crate::courier::{Courier, Refresh};
use crate::failure::Failure;
use crate::mailbox::Mailbox;
use crate::orders::{ContextOf, Order};
use crate::ports::webhooks::{AttemptResult, Parcel, ParcelContents};
use crate::records::{self, Tail, WEBHOOKS, reads};

/// An order about a webhook.
pub struct OrderWebhook {
    /// The number of the webhook; ignored for a new one.
    pub number: u64,
    /// The order.
    pub order: WebhookOrder,
}

impl Order for OrderWebhook {
    type Outcome = Webhook;
}

impl RealmOrder for OrderWebhook {
    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, _: &mut RealmContext) {
        match realm.decide_webhook(self.number, self.order) {
            Err(why) => realm.end(Err(why), request),
            Ok((writes, webhook)) => {
                // The courier has to exist before the order is on disk so that it can be notified. It may start before
                // the order is there to read.
                realm.ensure_courier();
                let courier = realm.courier.clone();
                let refresh = move |done| {
                    // A courier that cannot take the message looks again when it next writes.
                    if let (Ok(()), Some(courier)) = (done, courier) {
                        courier.tell(Refresh).ok();
                    }
                };
                realm
                    .writer
                    .finish_and(writes, Ok(webhook), request, refresh);
            }
        }
    }
}

/// Sends a webhook a test message, which is no event, and answers how that went. Beyond [`TRIES_AT_ONCE`] the tenant is
/// asked to come back.
pub struct TryWebhook {
    /// The number of the webhook.
    pub number: u64,
    /// The id of the test message.
    pub id: String,
}

impl Order for TryWebhook {
    type Outcome = AttemptResult;
}

impl RealmOrder for TryWebhook {
    const DEADLINE: Duration = BANK_DEADLINE;

    fn route(self, realm: &mut RealmSupervisor, request: ContextOf<Self>, ctx: &mut RealmContext) {
        let webhook = match realm.webhooks.get(self.number) {
            Ok(_) if realm.trying >= TRIES_AT_ONCE => {
                return realm.end(Err(Failure::Overloaded), request);
            }
            Ok(webhook) => webhook,
            Err(why) => return realm.end(Err(why.into()), request),
        };
        realm.trying += 1;
        let now = realm.shared.clock.now();
        let id = WebhookId {
            realm: realm.shared.realm,
            number: self.number,
        };
        let parcel = Parcel {
            caused_by: Some(request.request_id.as_str().into()),
            tenant: realm.shared.settings().tenant.clone(),
            url: webhook.url.clone(),
            secrets: webhook.signing(now),
            contents: ParcelContents::Test {
                id: self.id,
                webhook: id.to_string(),
            },
            format: webhook.format,
            at: realm.shared.clock.service_time(),
        };
        let sink = Arc::clone(&realm.shared.sink);
        let sent = async move { sink.send(parcel).await };
        ctx.spawn(sent.into_actor(realm).map(|sent, realm, _| {
            realm.trying = realm.trying.saturating_sub(1);
            realm.end(Ok(sent), request);
        }));
    }
}

impl RealmSupervisor {
    pub(super) fn load_webhooks(&mut self) -> Result<(), StoreError> {
        let stream = records::realm_stream(self.shared.realm, WEBHOOKS);
        let mut known = Webhooks::default();
        let store = self.shared.store.as_ref();
        reads::fold(store, stream, 0, |fact: WebhookFact, _, _| {
            known.apply(&fact);
        })?;
        self.webhooks = known;
        Ok(())
    }

    /// Starts the courier if the realm has webhooks and no courier lives.
    pub(super) fn ensure_courier(&mut self) {
        let lives = self.courier.as_ref().is_some_and(Mailbox::connected);
        if self.webhooks.is_empty() || lives {
            return;
        }
        match Courier::launch(Arc::clone(&self.shared)) {
            Ok(courier) => self.courier = Some(courier),
            Err(why) => {
                tracing::error!(%why, realm = self.shared.realm.0, "webhooks have no courier");
            }
        }
    }

    fn decide_webhook(
        &mut self,
        number: u64,
        order: WebhookOrder,
    ) -> Result<(WriteSet, Webhook), Failure> {
        let (store, realm) = (self.shared.store.as_ref(), self.shared.realm);
        let now = self.shared.clock.now();
        let number = self
            .webhooks
            .number_of(&order, number, self.shared.opening, now);
        let before = self.webhooks.get(number).ok().cloned();
        let taken = match &before {
            Some(webhook) => reads::webhooks::progress(store, realm, webhook)?.taken,
            None => 0,
        };
        let last_event = reads::totals(store, realm)?.events;
        let fact = self
            .webhooks
            .decide(number, order, (last_event, taken), now)?;
        let stream = records::realm_stream(realm, WEBHOOKS);
        let tail = match self.tails.entry(WEBHOOKS) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Tail::read(store, stream)?),
        };
        let entry = tail.next(stream, now, &fact)?;
        self.webhooks.apply(&fact);
        let writes = WriteSet::from(entry);
        let after = self.webhooks.get(number).ok().cloned().or(before);
        let webhook = after.ok_or(Rejection::WebhookNotFound)?;
        Ok((writes, webhook))
    }
}
