//! Rows of webhooks: each as its tenant has set it, its progress, and the tries of each event.

use caudal_ledger::deliveries::{Delivery, DeliveryFact};
use caudal_ledger::ids::RealmId;
use caudal_ledger::webhooks::WebhookFact;
use caudal_storage::{IndexWriter, StoreError};

use crate::records::{decode, encode, keys};

/// The rows that an order about a webhook adds.
pub(super) fn set(
    realm: RealmId,
    fact: &WebhookFact,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    match fact {
        WebhookFact::Set(webhook) => {
            index.put(&keys::webhook(realm, webhook.number), &encode(webhook)?);
        }
        WebhookFact::Removed { number } => index.delete(&keys::webhook(realm, *number)),
    }
    Ok(())
}

/// The rows that a courier's note adds.
pub(super) fn went(
    realm: RealmId,
    webhook: u64,
    fact: &DeliveryFact,
    index: &mut dyn IndexWriter,
) -> Result<(), StoreError> {
    for attempt in &fact.tries {
        let key = keys::delivery(realm, webhook, attempt.event);
        let row = index.get(&key)?;
        let known = row.map(|row| decode::<Delivery>(&row)).transpose()?;
        let mut delivery = known.unwrap_or(Delivery {
            event: attempt.event,
            tries: 0,
            log: Vec::new(),
        });
        delivery.note(attempt);
        index.put(&key, &encode(&delivery)?);
    }
    index.put(&keys::progress(realm, webhook), &encode(&fact.progress)?);
    Ok(())
}
