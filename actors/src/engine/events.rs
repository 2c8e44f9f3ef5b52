//! The door of the events: the history of a realm, oldest first, and the wait for more.
//!
//! **Shape.** Numbers run from 1 without gaps, so a place in the log is a number and a page is a range. A page of a few
//! kinds scans at most [`LOOKS_MAX`] numbers: it may be short, even empty, and still tell where to continue.
//!
//! **An id is more than its number.** If an older copy of the store was put back, a number may belong to another event
//! than the one a reader knows. [`Queries::event_place`] refuses such a place: a reader that continued from it would
//! miss the events that took the numbers before it. A page that was read while the realm got another history is
//! refused, too ([`Engine::still`]).

use std::sync::Arc;

use caudal_ledger::events::{Event, EventId, EventKinds};
use caudal_ledger::ids::{AccountNo, RealmId, Tag};
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::Queries;
use super::read_slots::ReadCost;
use crate::failure::Failure;
use crate::records::reads;

/// The most events that one page scans for those of the wanted kinds.
pub const LOOKS_MAX: usize = 10_000;
/// How many rows are read at once.
const LOOK_PAGE: usize = 500;

/// A page of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventPage {
    /// The events, oldest first.
    pub items: Vec<Event>,
    /// How far the page has scanned: the next one begins after it. `None` if it scanned nothing.
    pub seen: Option<EventId>,
    /// Whether there are more events after it.
    pub more: bool,
}

impl Queries<'_> {
    /// The events of a realm after a number, of the wanted kinds, at most `limit`.
    ///
    /// # Errors
    /// Those of every reading door.
    pub async fn events(
        self,
        realm: RealmId,
        after: u64,
        kinds: EventKinds,
        limit: usize,
    ) -> Result<EventPage, Failure> {
        let cost = ReadCost::scan_if(kinds != EventKinds::EVERY);
        let read = move |store: &dyn Index| page(store, realm, after, kinds, limit);
        self.0.scan(realm, cost, read).await
    }

    /// The newest events of one account, newest first, at most `limit`, among the newest [`LOOKS_MAX`] of its realm;
    /// and whether older events were left unscanned.
    pub async fn account_events(
        self,
        realm: RealmId,
        account: AccountNo,
        limit: usize,
    ) -> Result<(Vec<Event>, bool), Failure> {
        let read = move |store: &dyn Index| of_account(store, (realm, account), limit);
        self.0.scan(realm, ReadCost::Scan, read).await
    }

    /// The events of a realm from about one instant until another, oldest first, at most `limit`. Around the first
    /// instant, commits that are out of the order of their times may be missing.
    ///
    /// # Errors
    /// Those of every reading door.
    pub async fn events_between(
        self,
        realm: RealmId,
        (from, until): (Timestamp, Timestamp),
        limit: usize,
    ) -> Result<Vec<Event>, Failure> {
        let read = move |store: &dyn Index| between(store, realm, from, until, limit);
        self.0.scan(realm, ReadCost::Page, read).await
    }

    /// The number of an id, if the log of its realm has exactly this event; `None` if it has another event of that
    /// number, or none yet. Number 0 is the beginning of every log.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn event_place(self, id: EventId) -> Result<Option<u64>, Failure> {
        let read = move |store: &dyn Index| self::id(store, id.realm, id.number);
        let known = self.0.scan(id.realm, ReadCost::Point, read).await?;
        Ok((known == Some(id)).then_some(id.number))
    }

    /// The id of a recent event, by its number; `None` if there is none. This read is for recent events, which are in
    /// memory: others are read by [`Self::event_place`] and [`Self::events`].
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn event_id(self, realm: RealmId, number: u64) -> Result<Option<EventId>, Failure> {
        Ok(id(self.0.store.as_ref(), realm, number)?)
    }

    /// The number of the last event of a realm; 0 when there is none.
    pub fn last_event(self, realm: RealmId) -> Result<u64, Failure> {
        Ok(reads::totals(self.0.store.as_ref(), realm)?.events)
    }

    /// Waits until a realm has an event after a number, with no time limit.
    pub async fn event_after(self, realm: RealmId, number: u64) -> Result<(), Failure> {
        let found = self.0.realms.supervisors.get(&realm);
        let published = found.map(|known| Arc::clone(&known.parts.published));
        let published = published.ok_or_else(|| self.0.realms.absent(realm))?;
        loop {
            let next = published.notified();
            tokio::pin!(next);
            // From here on no commit is missed, so the read below is not too old.
            next.as_mut().enable();
            if self.last_event(realm)? > number {
                return Ok(());
            }
            next.await;
        }
    }
}

/// The id of the event with a number; for 0, the beginning of the log.
pub(super) fn id(
    store: &dyn Index,
    realm: RealmId,
    number: u64,
) -> Result<Option<EventId>, StoreError> {
    if number == 0 {
        let tag = Tag::NONE;
        return Ok(Some(EventId { realm, number, tag }));
    }
    let event = reads::events::row_at(store, realm, number)?;
    Ok(event.map(|event| event.id(realm, number)))
}

fn of_account(
    store: &dyn Index,
    (realm, account): (RealmId, AccountNo),
    limit: usize,
) -> Result<(Vec<Event>, bool), StoreError> {
    let (mut found, mut looks) = (Vec::new(), LOOKS_MAX);
    let mut last = reads::totals(store, realm)?.events;
    while last > 0 && looks > 0 && found.len() < limit {
        let wanted = looks.min(LOOK_PAGE);
        let order = SortOrder::Descending;
        let rows = reads::events::rows_within(store, realm, (1, last), order, wanted)?;
        if rows.is_empty() {
            break;
        }
        for (number, row) in rows {
            last = number.saturating_sub(1);
            looks = looks.saturating_sub(1);
            if row.account == account {
                found.push(reads::events::event(store, realm, number, &row)?);
                if found.len() == limit {
                    break;
                }
            }
        }
    }
    Ok((found, last > 0))
}

fn between(
    store: &dyn Index,
    realm: RealmId,
    from: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<Event>, StoreError> {
    let last = reads::totals(store, realm)?.events;
    let (mut before, mut behind) = (0, last.strict_add(1));
    // Finds the first number whose time is not before the instant: each step reads one row and one entry.
    while behind.abs_diff(before) > 1 {
        let middle = u64::midpoint(before, behind);
        let row = reads::events::row_at(store, realm, middle)?;
        let at = row
            .map(|row| reads::events::time(store, &row))
            .transpose()?;
        if at.is_some_and(|at| at < from) {
            before = middle
        } else {
            behind = middle
        }
    }
    let mut found = Vec::new();
    for (number, row) in reads::events::rows_after(store, realm, before, limit)? {
        if reads::events::time(store, &row)? > until {
            break;
        }
        found.push(reads::events::event(store, realm, number, &row)?);
    }
    Ok(found)
}

/// One page of the log, as of now.
pub fn page(
    store: &dyn Index,
    realm: RealmId,
    after: u64,
    kinds: EventKinds,
    limit: usize,
) -> Result<EventPage, StoreError> {
    let mut found = EventPage::default();
    let mut seen = after;
    let mut looks = LOOKS_MAX;
    while looks > 0 {
        let wanted = looks.min(LOOK_PAGE);
        let rows = reads::events::rows_after(store, realm, seen, wanted)?;
        let ended = rows.len() < wanted;
        for (number, event) in rows {
            if found.items.len() == limit {
                found.more = true;
                return Ok(found);
            }
            seen = number;
            found.seen = Some(event.id(realm, number));
            if kinds.has(event.kind) {
                let event = reads::events::event(store, realm, number, &event)?;
                found.items.push(event);
            }
        }
        if ended {
            return Ok(found);
        }
        looks = looks.saturating_sub(wanted);
    }
    let rest = reads::events::rows_after(store, realm, seen, 1)?;
    found.more = !rest.is_empty();
    Ok(found)
}
