//! Typed reads of webhooks and their deliveries.

use caudal_ledger::deliveries::{Delivery, Progress};
use caudal_ledger::ids::RealmId;
use caudal_ledger::webhooks::{WEBHOOKS_MAX, Webhook};
use caudal_storage::{Index, SortOrder, StoreError};

use super::{Lookup, record, under};
use crate::records::{decode, keys};

/// The webhooks of a realm, in the order of their creation.
pub fn webhooks(store: &dyn Index, realm: RealmId) -> Result<Vec<Webhook>, StoreError> {
    let prefix = keys::webhooks(realm);
    let rows = under(store, &prefix, SortOrder::Ascending, WEBHOOKS_MAX)?;
    rows.iter().map(|(_, row)| decode(row)).collect()
}

/// A webhook of a realm by its number; `None` when there is none or it was removed.
pub fn webhook(store: &dyn Index, realm: RealmId, number: u64) -> Lookup<Webhook> {
    record(store, &keys::webhook(realm, number))
}

/// The progress of a webhook, as of its courier's last note; a new webhook has made none.
pub fn progress(
    store: &dyn Index,
    realm: RealmId,
    webhook: &Webhook,
) -> Result<Progress, StoreError> {
    let known = record(store, &keys::progress(realm, webhook.number))?;
    Ok(known.unwrap_or_else(|| Progress::new(webhook.after)))
}

/// The tries to deliver one event.
pub fn delivery(store: &dyn Index, realm: RealmId, webhook: u64, event: u64) -> Lookup<Delivery> {
    record(store, &keys::delivery(realm, webhook, event))
}
