//! Typed reads of webhooks and their deliveries.

use caudal_ledger::deliveries::{Delivery, Progress};
use caudal_ledger::ids::RealmId;
use caudal_ledger::webhooks::{WEBHOOKS_MAX, Webhook};
use caudal_storage::{Index, SortOrder, StoreError};

use crate::records::{decode, keys};

/// The webhooks of a realm, in the order of their creation.
pub fn webhooks(store: &dyn Index, realm: RealmId) -> Result<Vec<Webhook>, StoreError> {
    let from = keys::webhooks(realm);
    let to = keys::after_prefix(&from);
    let rows = store.scan(&from, &to, SortOrder::Ascending, WEBHOOKS_MAX)?;
    rows.iter().map(|(_, row)| decode(row)).collect()
}

/// A webhook of a realm by its number; `None` when there is none or it was removed.
///
/// # Errors
/// When the index cannot be read, or the row is damaged.
pub fn webhook(
    store: &dyn Index,
    realm: RealmId,
    number: u64,
) -> Result<Option<Webhook>, StoreError> {
    let row = store.get(&keys::webhook(realm, number))?;
    row.map(|row| decode(&row)).transpose()
}

/// The progress of a webhook, as of its courier's last note; a new webhook has made none.
pub fn progress(
    store: &dyn Index,
    realm: RealmId,
    webhook: &Webhook,
) -> Result<Progress, StoreError> {
    let row = store.get(&keys::progress(realm, webhook.number))?;
    let known = row.map(|row| decode(&row)).transpose()?;
    Ok(known.unwrap_or_else(|| Progress::new(webhook.after)))
}

/// The tries to deliver one event.
pub fn delivery(
    store: &dyn Index,
    realm: RealmId,
    webhook: u64,
    event: u64,
) -> Result<Option<Delivery>, StoreError> {
    let row = store.get(&keys::delivery(realm, webhook, event))?;
    row.map(|row| decode(&row)).transpose()
}
