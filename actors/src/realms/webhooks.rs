//! The supervisor's part in webhooks: it decides the tenant's orders about them, and keeps a courier.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use actix::{ActorFutureExt as _, AsyncContext as _, Context, WrapFuture as _};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{Webhook, WebhookFact, WebhookId, WebhookOrder, Webhooks};
use caudal_storage::StoreError;

use super::{RealmSupervisor, TRIES_AT_ONCE};
use crate::courier::{Courier, Refresh};
use crate::failure::Failure;
use crate::mailbox::{Asked, Mailbox};
use crate::ports::webhooks::{Contents, Parcel, Sent};
use crate::records::{self, Tail, WEBHOOKS, reads};
use crate::reply::Waits;
use crate::scribe::{Ticket, Write};

/// What a supervisor can be asked about webhooks.
#[derive(Debug)]
pub enum WebhookMessage {
    /// An order about a webhook: its number (ignored for a new one), the order, and the caller's ticket.
    Order(u64, WebhookOrder, Ticket<Webhook>),
    /// Sends a webhook something now, outside the order of events: its number, the id of the test message, and the
    /// caller's ticket.
    Try(u64, String, Ticket<Sent>),
}

impl Asked for WebhookMessage {
    fn asker(&mut self) -> Option<&mut dyn Waits> {
        match self {
            Self::Order(_, _, ticket) => Some(ticket),
            Self::Try(_, _, ticket) => Some(ticket),
        }
    }
}

impl RealmSupervisor {
    /// Routes messages about webhooks.
    pub(super) fn webhook(&mut self, message: WebhookMessage, ctx: &mut Context<Self>) {
        match message {
            WebhookMessage::Order(number, order, ticket) => {
                self.order_webhook(number, order, ticket);
            }
            WebhookMessage::Try(number, id, ticket) => self.try_webhook(number, id, ticket, ctx),
        }
    }

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

    /// Decides an order about a webhook; `number` is ignored for a new one.
    fn order_webhook(&mut self, number: u64, order: WebhookOrder, ticket: Ticket<Webhook>) {
        let Some(ticket) = self.let_in(ticket) else {
            return;
        };
        match self.decide_webhook(number, order) {
            Err(why) => self.end(Err(why), ticket),
            Ok((page, webhook)) => {
                // The courier has to exist before the order is on disk so that it can be notified. It may start before
                // the order is there to read.
                self.ensure_courier();
                let courier = self.courier.clone();
                self.scribe
                    .finish_and(page, Ok(webhook), ticket, move |done| {
                        // A courier that cannot take the message looks again when it next writes.
                        if let (Ok(()), Some(courier)) = (done, courier) {
                            courier.tell(Refresh).ok();
                        }
                    });
            }
        }
    }

    fn decide_webhook(
        &mut self,
        number: u64,
        order: WebhookOrder,
    ) -> Result<(Write, Webhook), Failure> {
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
        let page = Write {
            entries: vec![entry],
            ..Write::default()
        };
        let after = self.webhooks.get(number).ok().cloned().or(before);
        let webhook = after.ok_or(Rejection::WebhookNotFound)?;
        Ok((page, webhook))
    }

    /// Sends a webhook a test message, which is no event, and answers how that went. Beyond [`TRIES_AT_ONCE`] the
    /// tenant is asked to come back.
    fn try_webhook(
        &mut self,
        number: u64,
        id: String,
        ticket: Ticket<Sent>,
        ctx: &mut Context<Self>,
    ) {
        let Some(ticket) = self.let_in(ticket) else {
            return;
        };
        let webhook = match self.webhooks.get(number) {
            Ok(webhook) => webhook,
            Err(why) => return self.end(Err(why.into()), ticket),
        };
        if self.trying >= TRIES_AT_ONCE {
            return self.end(Err(Failure::Overloaded), ticket);
        }
        self.trying += 1;
        let now = self.shared.clock.now();
        let realm = self.shared.realm;
        let parcel = Parcel {
            caused_by: Some(ticket.request_id.as_str().into()),
            tenant: self.shared.settings().tenant.clone(),
            url: webhook.url.clone(),
            secrets: webhook.signing(now),
            contents: Contents::Test {
                id,
                webhook: WebhookId { realm, number }.to_string(),
            },
            format: webhook.format,
            at: now,
        };
        let sink = Arc::clone(&self.shared.sink);
        let sent = async move { sink.send(parcel).await };
        ctx.spawn(sent.into_actor(self).map(|sent, supervisor, _| {
            supervisor.trying = supervisor.trying.saturating_sub(1);
            supervisor.end(Ok(sent), ticket);
        }));
    }
}
