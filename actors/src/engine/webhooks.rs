//! The door of webhooks: where a tenant's events go, and the delivery of each.

use caudal_ledger::deliveries::{Delivery, Ending, Progress};
use caudal_ledger::events::{EventId, EventKind};
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::webhooks::{DeliveryId, Webhook, WebhookId};
use caudal_storage::{Index, SortOrder, StoreError};

use super::Queries;
use super::events::id;
use super::lists::{ListCursor, ListPage, Listing};
use super::read_slots::ReadCost;
use crate::failure::Failure;
use crate::records::{decode, keys, reads};

/// The most deliveries that one page scans for those with the wanted ending.
const LOOKS_MAX: usize = 10_000;
/// How many rows are read at once.
const LOOK_PAGE: usize = 500;

/// A webhook with its progress.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebhookView {
    /// The webhook as its tenant has set it.
    pub webhook: Webhook,
    /// Its progress, as of the courier's last note.
    pub progress: Progress,
    /// The event that its main cursor has reached, apart from retried events; `None` for the beginning of the log.
    pub position: Option<EventId>,
    /// The number of the realm's last event; 0 when there is none.
    pub last_event: u64,
}

/// The delivery of one event to a webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryView {
    /// The kind of the event.
    pub kind: EventKind,
    /// The id of the event.
    pub event: EventId,
    /// The tries of the event at this webhook.
    pub delivery: Delivery,
}

impl Queries<'_> {
    /// The webhooks of a realm.
    pub async fn webhooks(self, realm: RealmId) -> Result<Vec<WebhookView>, Failure> {
        let read = move |store: &dyn Index| {
            let views = reads::webhooks::webhooks(store, realm)?.into_iter();
            let views = views.map(|webhook| shown(store, realm, webhook));
            views.collect::<Result<_, StoreError>>()
        };
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// A webhook by its number in the realm, with its progress.
    ///
    /// # Errors
    /// [`Rejection::WebhookNotFound`] when the realm has none of this number or it was removed; otherwise as every read
    /// of the index.
    pub async fn webhook(self, realm: RealmId, number: u64) -> Result<WebhookView, Failure> {
        let found = self.0.scan(realm, ReadCost::Point, move |store| {
            let found = reads::webhooks::webhook(store, realm, number)?;
            found
                .map(|webhook| shown(store, realm, webhook))
                .transpose()
        });
        Ok(found.await?.ok_or(Rejection::WebhookNotFound)?)
    }

    /// The deliveries to a webhook, in the order of events. With an ending, a page may scan only a part of the list,
    /// and `next` tells where to continue. There is no total.
    pub async fn deliveries(
        self,
        realm: RealmId,
        number: u64,
        ending: Option<Ending>,
        page: ListPage,
    ) -> Result<Listing<DeliveryView>, Failure> {
        self.webhook(realm, number).await?;
        let cost = ReadCost::scan_if(ending.is_some());
        let read = move |store: &dyn Index| deliveries(store, realm, number, ending, &page);
        self.0.scan(realm, cost, read).await
    }

    /// The delivery of one event to a webhook.
    ///
    /// # Errors
    /// When there is none with this id; those of every reading door.
    pub async fn delivery(self, id: DeliveryId) -> Result<DeliveryView, Failure> {
        let DeliveryId {
            webhook: WebhookId { realm, number },
            event,
            tag,
        } = id;
        let found = self.0.scan(realm, ReadCost::Point, move |store| {
            // The deliveries of a removed webhook are still on disk.
            let delivery = match reads::webhooks::webhook(store, realm, number)? {
                Some(_) => reads::webhooks::delivery(store, realm, number, event)?,
                None => None,
            };
            let view = |delivery| view(store, realm, delivery);
            delivery.map(view).transpose()
        });
        let found = found.await?.filter(|found| found.event.tag == tag);
        Ok(found.ok_or(Rejection::DeliveryNotFound)?)
    }
}

fn shown(store: &dyn Index, realm: RealmId, webhook: Webhook) -> Result<WebhookView, StoreError> {
    let progress = reads::webhooks::progress(store, realm, &webhook)?;
    let main = progress.cursors.first();
    let number = main.map_or(webhook.after, |main| main.next.saturating_sub(1));
    Ok(WebhookView {
        webhook,
        progress,
        position: id(store, realm, number)?.filter(|id| id.number > 0),
        last_event: reads::totals(store, realm)?.events,
    })
}

fn view(store: &dyn Index, realm: RealmId, delivery: Delivery) -> Result<DeliveryView, StoreError> {
    let event = reads::events::row_at(store, realm, delivery.event)?;
    let event = event.ok_or_else(|| StoreError::Corrupt("a delivery of no event".into()))?;
    Ok(DeliveryView {
        kind: event.kind,
        event: event.id(realm, delivery.event),
        delivery,
    })
}

fn deliveries(
    store: &dyn Index,
    realm: RealmId,
    number: u64,
    ending: Option<Ending>,
    page: &ListPage,
) -> Result<Listing<DeliveryView>, StoreError> {
    let prefix = keys::deliveries(realm, number);
    let (mut from, mut to) = (prefix.clone(), keys::after_prefix(&prefix));
    match (page.after(), page.order) {
        (Some(seen), SortOrder::Ascending) => {
            from = keys::delivery(realm, number, seen.saturating_add(1));
        }
        (Some(seen), SortOrder::Descending) => to = keys::delivery(realm, number, seen),
        (None, _) => {}
    }
    let (mut items, mut looked) = (Vec::new(), 0_usize);
    loop {
        let rows = store.scan(&from, &to, page.order, LOOK_PAGE)?;
        for (key, row) in &rows {
            let delivery: Delivery = decode(row)?;
            let full = items.len() == page.limit;
            if full || looked == LOOKS_MAX {
                let last = match page.order {
                    SortOrder::Ascending => delivery.event.saturating_sub(1),
                    SortOrder::Descending => delivery.event.saturating_add(1),
                };
                return Ok(listing(items, Some(last)));
            }
            looked += 1;
            match page.order {
                SortOrder::Ascending => from = [key.as_slice(), &[0]].concat(),
                SortOrder::Descending => to.clone_from(key),
            }
            if ending.is_none_or(|ending| delivery.ending() == Some(ending)) {
                items.push(view(store, realm, delivery)?);
            }
        }
        if rows.len() < LOOK_PAGE {
            return Ok(listing(items, None));
        }
    }
}

fn listing(items: Vec<DeliveryView>, next: Option<u64>) -> Listing<DeliveryView> {
    let total = u64::try_from(items.len()).unwrap_or(u64::MAX);
    Listing::of(items, total, next.map(ListCursor::from))
}
