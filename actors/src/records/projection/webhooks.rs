//! Rows of webhooks: each as its tenant has set it, its progress, and the tries of each event.

use caudal_ledger::deliveries::{Delivery, DeliveryFact};
use caudal_ledger::webhooks::WebhookFact;
use caudal_storage::StoreError;

use super::EntryRows;
use crate::records::keys;

/// The rows that an order about a webhook adds.
pub(super) fn set(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let key = |number| keys::webhook(rows.realm, number);
    match rows.fact()? {
        WebhookFact::Set(webhook) => rows.put(&key(webhook.number), &webhook)?,
        WebhookFact::Removed { number } => rows.index.delete(&key(number)),
    }
    Ok(())
}

/// The rows that a courier's note adds.
pub(super) fn went(rows: &mut EntryRows<'_>) -> Result<(), StoreError> {
    let fact: DeliveryFact = rows.fact()?;
    let (realm, webhook) = (rows.realm, rows.entry.stream.number);
    for attempt in &fact.tries {
        let key = keys::delivery(realm, webhook, attempt.event);
        let known: Option<Delivery> = rows.get(&key)?;
        let mut delivery = known.unwrap_or(Delivery {
            event: attempt.event,
            tries: 0,
            log: Vec::new(),
        });
        delivery.note(attempt);
        rows.put(&key, &delivery)?;
    }
    rows.put(&keys::progress(realm, webhook), &fact.progress)
}
