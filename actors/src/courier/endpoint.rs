//! One webhook as its courier knows it: its settings, its progress, the tries under way, and the tries that are not
//! written down yet.

use std::collections::BTreeSet;

use caudal_ledger::deliveries::{DeliveryFact, Ended, Progress, Schedule, Try};
use caudal_ledger::events::{Event, EventKinds};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_ledger::time::Timestamp;
use caudal_ledger::webhooks::Webhook;
use caudal_storage::{Entry, Index, StoreError, StreamId};

use super::route::{CursorRoute, EventSelection};
use super::{IN_FLIGHT, LOOKS, RATE, REPLAYS_AT_ONCE, TRIES_MAX, Wakeup};
use crate::records::{DELIVERIES, Tail, reads};

/// How long a webhook's sends are counted together, in milliseconds.
const WINDOW: u64 = 100;
/// The pause before a webhook is looked at again after the event log could not be read, in milliseconds.
const READ_AGAIN: u64 = 1000;

/// A webhook that is served.
#[derive(Debug)]
pub(crate) struct Endpoint {
    /// The webhook as its tenant has set it.
    pub webhook: Webhook,
    kinds: EventKinds,
    progress: Progress,
    tail: Tail,
    /// The accounts with a try under way, by cursor.
    flying: BTreeSet<(u64, AccountNo)>,
    /// Tries that are not written down yet.
    tries: Vec<Try>,
    /// Whether it has moved since the last note.
    moved: bool,
    /// Whether a note is being written.
    writing: bool,
    /// When the present count of sends began, and how many there were.
    window: (Timestamp, u32),
}

/// An event that leaves now.
#[derive(Debug)]
pub(crate) struct Job {
    /// The number of the replay to whose cursor it belongs; 0 for the main cursor.
    pub replay: u64,
    /// The account of the event; 0 for events of the realm itself.
    pub account: AccountNo,
    /// The number of the event.
    pub number: u64,
    /// The whole event, to be rendered.
    pub event: Event,
}

/// What a webhook does now.
#[derive(Debug, Default)]
pub(crate) struct Pumped {
    /// The events that leave now, also those that were found before a read failed.
    pub jobs: Vec<Job>,
    /// What to wait for.
    pub next: Wakeup,
    /// Why the event log could not be read to the end; it is read again at [`Self::next`].
    pub failed: Option<StoreError>,
}

fn stream(realm: RealmId, number: u64) -> StreamId {
    StreamId {
        realm: realm.0,
        kind: DELIVERIES,
        number,
    }
}

impl Endpoint {
    /// Loads a webhook from the store.
    pub(crate) fn load(
        store: &dyn Index,
        realm: RealmId,
        webhook: Webhook,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let mut loaded = Self {
            kinds: webhook.kinds(),
            progress: reads::webhooks::progress(store, realm, &webhook)?,
            tail: Tail::read(store, stream(realm, webhook.number))?,
            flying: BTreeSet::new(),
            tries: Vec::new(),
            moved: false,
            writing: false,
            window: (now, 0),
            webhook,
        };
        loaded.take_up(now);
        Ok(loaded)
    }

    /// Takes in the tenant's change of the webhook.
    pub(crate) fn change(&mut self, webhook: Webhook, now: Timestamp) {
        self.kinds = webhook.kinds();
        self.webhook = webhook;
        self.take_up(now);
    }

    /// Resumes after a stop, if the webhook was switched on since.
    fn take_up(&mut self, now: Timestamp) {
        let stopped = self.progress.stopped.is_some();
        if stopped && !self.progress.is_stopped(self.webhook.resumed) {
            self.progress.resume(now);
            self.moved = true;
        }
    }

    /// Whether there is something to write down and no note is being written.
    pub(crate) fn is_due(&self) -> bool {
        (self.moved || !self.tries.is_empty()) && !self.writing
    }

    /// The entry that writes down the tries since the last one, and the webhook's progress.
    pub(crate) fn note(&mut self, realm: RealmId, now: Timestamp) -> Result<Entry, StoreError> {
        let fact = DeliveryFact {
            tries: std::mem::take(&mut self.tries),
            progress: self.progress.clone(),
        };
        (self.moved, self.writing) = (false, true);
        self.tail
            .next(stream(realm, self.webhook.number), now, &fact)
    }

    /// The note is on disk.
    pub(crate) fn noted(&mut self) {
        self.writing = false;
    }

    /// Takes in how a try ended.
    pub(crate) fn settle(&mut self, ended: Ended, schedule: &Schedule, now: Timestamp) {
        self.flying.remove(&(ended.replay, ended.account));
        let resumed = self.webhook.resumed;
        if let Some(attempt) = self.progress.settle(ended, resumed, schedule, now) {
            self.tries.push(attempt);
        }
        self.moved = true;
    }

    /// Ends the redeliveries that are complete, and begins new ones while few are under way.
    fn replays(&mut self) {
        let before = self.progress.cursors.len();
        self.progress.cursors.retain(|cursor| !cursor.has_ended());
        let taken = self.progress.taken;
        let waiting = self
            .webhook
            .replays
            .iter()
            .filter(|replay| replay.number > taken);
        let free = REPLAYS_AT_ONCE
            .saturating_add(1)
            .saturating_sub(self.progress.cursors.len());
        let begun: Vec<_> = waiting.take(free).copied().collect();
        self.moved |= before != self.progress.cursors.len() || !begun.is_empty();
        for replay in begun {
            self.progress.replay(&replay);
        }
    }

    /// How many sends may leave now, and when there may be more.
    fn allowance(&mut self, now: Timestamp) -> (usize, Option<Timestamp>) {
        let most = if self.progress.is_braked() {
            1
        } else {
            IN_FLIGHT
        };
        let free = most.saturating_sub(self.flying.len());
        if let Some(rest) = self.progress.rest_until.filter(|until| now < *until) {
            return (0, Some(rest));
        }
        let end = self.window.0.plus_millis(WINDOW);
        if now >= end || now < self.window.0 {
            self.window = (now, 0);
        }
        let each = RATE.checked_div(10).unwrap_or(1);
        let left = usize::try_from(each.saturating_sub(self.window.1)).unwrap_or(0);
        let room = TRIES_MAX.saturating_sub(self.tries.len().saturating_add(self.flying.len()));
        let next = (left == 0).then(|| self.window.0.plus_millis(WINDOW));
        (free.min(left).min(room), next)
    }

    /// The events up to number `horizon` that leave now, and what to wait for.
    pub(crate) fn pump(
        &mut self,
        store: &dyn Index,
        realm: RealmId,
        horizon: u64,
        now: Timestamp,
    ) -> Pumped {
        let mut pumped = Pumped::default();
        if !self.webhook.active || self.progress.is_stopped(self.webhook.resumed) {
            return pumped;
        }
        self.replays();
        let (mut free, later) = self.allowance(now);
        pumped.next.at = later;
        let mut looks = LOOKS;
        let braked = self.progress.is_braked();
        for cursor in &mut self.progress.cursors {
            let flying = |account| self.flying.contains(&(cursor.replay, account));
            let flying: BTreeSet<_> = cursor
                .lanes
                .iter()
                .map(|lane| lane.account)
                .filter(|account| flying(*account))
                .collect();
            let replay = cursor.replay;
            let mut route = CursorRoute {
                store,
                realm,
                wants: EventSelection {
                    store,
                    realm,
                    kinds: if cursor.every_kind {
                        EventKinds::EVERY
                    } else {
                        self.kinds
                    },
                    format: self.webhook.format,
                },
                cursor,
                flying,
                horizon,
                now,
                looks: &mut looks,
            };
            let walked = route.walk(braked, free);
            if free > walked.jobs.len() {
                pumped.next = pumped.next.and(route.wait());
            }
            free = free.saturating_sub(walked.jobs.len());
            self.moved |= walked.moved;
            for (account, number, event) in walked.jobs {
                self.flying.insert((replay, account));
                self.window.1 = self.window.1.saturating_add(1);
                pumped.jobs.push(Job {
                    replay,
                    account,
                    number,
                    event,
                });
            }
            // The other cursors may lead through other parts of the log.
            pumped.failed = pumped.failed.or(walked.failed);
        }
        if pumped.failed.is_some() {
            let again = now.plus_millis(READ_AGAIN);
            pumped.next.at = Some(pumped.next.at.map_or(again, |at| at.min(again)));
        } else if looks == 0 {
            // There may be more events; other actors have their turns first.
            pumped.next.at = Some(now);
        }
        pumped
    }
}
