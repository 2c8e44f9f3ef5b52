//! The courier of a realm: delivers its events to its webhooks.
//!
//! **Shape.** It follows what others write: the tenant's orders about webhooks (rows that the supervisor writes) and
//! the event log. Its own work is written to disk from time to time, as a note of each webhook: the tries since the
//! last note, and the webhook's progress. The rules are in `caudal_ledger::deliveries`; this module has the turns, the
//! clock and the log.
//!
//! **Bounds.** For each webhook: [`IN_FLIGHT`] tries under way, [`RATE`] in a second, and [`TRIES_MAX`] tries that are
//! not written yet. Waiting events are in the log, not in memory. A turn scans [`LOOKS`] numbers; the next turn
//! continues from there.
//!
//! While the realm is held no event is taken, so after the release each one goes where the tenant then wants it.
//!
//! **Order.** Webhooks do not wait for each other, and within one only events of the same account do.
//!
//! **Failure.** A crash loses the last note, so the tries since then are made again: at least once.
//! A note that cannot be written stops the courier; the supervisor starts another one from disk. A webhook whose
//! events cannot be read sends those that were, and is looked at again after a pause.

pub(crate) mod endpoint;
mod route;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{
    Actor, ActorContext as _, ActorFutureExt as _, AsyncContext as _, Context, Handler,
    SpawnHandle, WrapFuture as _,
};
use caudal_ledger::deliveries::{Ended, Response};
use caudal_ledger::events::Subject;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Commit, StoreError};
use tokio::sync::oneshot;

use crate::commit_writer::Shared;
use crate::mailbox::{HasResponder, Mailbox, QueueDepth, Queued};
use crate::ports::webhooks::{AttemptResult, Parcel, ParcelContents};
use crate::records::reads;
use crate::reply::Responder;
use endpoint::{Endpoint, Job};

/// The most tries of one webhook that are under way at the same time.
pub const IN_FLIGHT: usize = 16;
/// The most tries of one webhook that begin in a second: beyond that a feed serves better.
pub const RATE: u32 = 1000;
/// The most tries of one webhook that are not written down yet.
pub const TRIES_MAX: usize = 1024;
/// The most redeliveries of one webhook that are under way at the same time.
pub const REPLAYS_AT_ONCE: usize = 2;
/// How many numbers of the event log one turn scans for one webhook.
pub const LOOKS: usize = 2048;
/// The time between two notes of an active webhook: at most four notes in a second.
pub const NOTE_EVERY: Duration = Duration::from_millis(250);
/// The most messages that wait for a courier: there is only one kind.
const MAILBOX: usize = 64;

/// Tells a courier that an order about a webhook is on disk.
#[derive(Clone, Copy, Debug)]
pub struct Refresh;

impl HasResponder for Refresh {
    fn responder(&mut self) -> Option<&mut dyn Responder> {
        None
    }
}

/// The courier of one realm, with its webhooks.
#[derive(Debug)]
pub struct Courier {
    shared: Arc<Shared>,
    /// The orders about webhooks that are on disk and not read yet.
    orders: QueueDepth,
    endpoints: BTreeMap<u64, Endpoint>,
    /// Whether it waits for the next event.
    listening: bool,
    /// Whether it waits for the end of the hold.
    held: bool,
    /// The alarm for its next own turn.
    alarm: Option<SpawnHandle>,
    /// Whether a note is scheduled.
    noting: bool,
}

impl Courier {
    /// Starts a courier with the webhooks in the store.
    pub fn launch(shared: Arc<Shared>) -> Result<Mailbox<Self>, StoreError> {
        let thread = shared.couriers.clone();
        shared.trail.follow();
        let orders = QueueDepth::default();
        let mut courier = Self {
            shared,
            orders: orders.clone(),
            endpoints: BTreeMap::new(),
            listening: false,
            held: false,
            alarm: None,
            noting: false,
        };
        courier.refresh()?;
        let addr = match thread {
            Some(thread) => Self::start_in_arbiter(&thread, move |_| courier),
            None => courier.start(),
        };
        Ok(Mailbox::new(addr, orders, MAILBOX))
    }

    /// Reads the tenant's webhooks.
    fn refresh(&mut self) -> Result<(), StoreError> {
        let (store, realm) = (self.shared.store.as_ref(), self.shared.realm);
        let wanted = reads::webhooks::webhooks(store, realm)?;
        let now = self.shared.clock.now();
        let is_wanted = |number: &u64| wanted.iter().any(|webhook| webhook.number == *number);
        self.endpoints.retain(|number, _| is_wanted(number));
        for webhook in wanted {
            match self.endpoints.get_mut(&webhook.number) {
                Some(known) => known.change(webhook, now),
                None => {
                    let number = webhook.number;
                    let loaded = Endpoint::load(store, realm, webhook, now)?;
                    self.endpoints.insert(number, loaded);
                }
            }
        }
        Ok(())
    }

    /// The last event that may leave in this turn; the webhooks are read as of that event, or later.
    ///
    /// An order that was answered before this event happened counts in `orders` by now, even if its message is still to
    /// come. So no later event is signed with a secret that was given up, or sent to a webhook that was switched off.
    fn horizon(&mut self) -> Result<u64, StoreError> {
        let last = reads::totals(self.shared.store.as_ref(), self.shared.realm)?.events;
        if self.orders.count() > 0 {
            self.refresh()?;
        }
        Ok(last)
    }

    /// Sends everything that may leave now, and schedules its next turn.
    fn pump(&mut self, ctx: &mut Context<Self>) {
        if self.is_held(ctx) {
            return;
        }
        // From here on no event is missed: an event that comes while the log is read wakes the courier at once.
        let published = Arc::clone(&self.shared.published).notified_owned();
        let mut published = Box::pin(published);
        published.as_mut().enable();
        let now = self.shared.clock.now();
        let horizon = match self.horizon() {
            Ok(horizon) => horizon,
            Err(why) => {
                tracing::error!(%why, "webhooks cannot be read");
                return ctx.stop();
            }
        };
        let (mut jobs, mut next) = (Vec::new(), Wakeup::default());
        for (number, endpoint) in &mut self.endpoints {
            let store = self.shared.store.as_ref();
            let pumped = endpoint.pump(store, self.shared.realm, horizon, now);
            if let Some(why) = pumped.failed {
                tracing::error!(%why, webhook = *number, "the event log cannot be read");
            }
            jobs.extend(pumped.jobs.into_iter().map(|job| (*number, job)));
            next = next.and(pumped.next);
        }
        for (number, job) in jobs {
            self.send(number, job, now, ctx);
        }
        if next.events && !self.listening {
            self.listening = true;
            ctx.spawn(published.into_actor(self).map(|(), courier, ctx| {
                courier.listening = false;
                courier.pump(ctx);
            }));
        }
        if let Some(handle) = self.alarm.take() {
            ctx.cancel_future(handle);
        }
        if let Some(at) = next.at {
            let pause = Duration::from_millis(at.millis().saturating_sub(now.millis()));
            self.alarm = Some(ctx.run_later(pause, |courier, ctx| {
                courier.alarm = None;
                courier.pump(ctx);
            }));
        }
        self.note_soon(ctx);
    }

    /// Whether nothing may leave; the courier has another turn when the hold ends.
    fn is_held(&mut self, ctx: &mut Context<Self>) -> bool {
        let outgoing = &self.shared.outgoing;
        if outgoing.is_held() && !self.held {
            self.held = true;
            let outgoing = Arc::clone(outgoing);
            let left = async move { outgoing.leave().await };
            ctx.spawn(left.into_actor(self).map(|(), courier, ctx| {
                courier.held = false;
                courier.pump(ctx);
            }));
        }
        self.held
    }

    /// Sends one event.
    fn send(&mut self, number: u64, job: Job, now: Timestamp, ctx: &mut Context<Self>) {
        let Some(endpoint) = self.endpoints.get(&number) else {
            return;
        };
        let caused_by = match &job.event.subject {
            Subject::Voucher(voucher) => self.shared.trail.of(job.event.account, voucher.sequence),
            _ => None,
        };
        let parcel = Parcel {
            caused_by,
            tenant: self.shared.settings().tenant.clone(),
            url: endpoint.webhook.url.clone(),
            secrets: endpoint.webhook.signing(now),
            contents: ParcelContents::Event(Box::new(job.event)),
            format: endpoint.webhook.format,
            at: self.shared.clock.service_time(),
        };
        let ended = Ended {
            replay: job.replay,
            account: job.account,
            event: job.number,
            at: now,
            millis: 0,
            response: Response::Status(0),
            retry_after: None,
        };
        let sink = Arc::clone(&self.shared.sink);
        let sent = async move { sink.send(parcel).await };
        ctx.spawn(sent.into_actor(self).map(move |sent, courier, ctx| {
            courier.sent(number, as_answered(ended, sent), ctx);
        }));
    }

    /// Takes in how a try ended.
    fn sent(&mut self, number: u64, ended: Ended, ctx: &mut Context<Self>) {
        let now = self.shared.clock.now();
        if let Some(endpoint) = self.endpoints.get_mut(&number) {
            endpoint.settle(ended, &self.shared.schedule, now);
        }
        self.pump(ctx);
    }

    /// Schedules a note, if one is due: all webhooks are noted at once.
    fn note_soon(&mut self, ctx: &mut Context<Self>) {
        if !self.noting && self.endpoints.values().any(Endpoint::is_due) {
            self.noting = true;
            ctx.run_later(NOTE_EVERY, |courier, ctx| {
                courier.noting = false;
                courier.note(ctx);
            });
        }
    }

    /// Writes down the tries since the last note, and the progress of each webhook.
    fn note(&mut self, ctx: &mut Context<Self>) {
        let now = self.shared.clock.now();
        let due = self.endpoints.iter_mut().filter(|(_, it)| it.is_due());
        let mut notes = Vec::new();
        for (number, endpoint) in due {
            match endpoint.note(self.shared.realm, now) {
                Ok(entry) => notes.push((*number, entry)),
                Err(why) => {
                    tracing::error!(%why, "a webhook cannot be written down");
                    return ctx.stop();
                }
            }
        }
        for (number, entry) in notes {
            let (tell, written) = oneshot::channel();
            let commit = Commit {
                entries: vec![entry],
                ..Commit::default()
            };
            let done = Box::new(move |done: Result<_, StoreError>| {
                // If the courier has stopped, nothing reads the reply.
                tell.send(done.map(drop)).ok();
            });
            self.shared.lane.submit(commit, done);
            ctx.spawn(written.into_actor(self).map(move |done, courier, ctx| {
                courier.noted(number, done.unwrap_or(Err(StoreError::Closed)), ctx);
            }));
        }
    }

    fn noted(&mut self, number: u64, done: Result<(), StoreError>, ctx: &mut Context<Self>) {
        if let Err(why) = done {
            tracing::warn!(%why, webhook = number, "record could not be written; reloading from disk");
            return ctx.stop();
        }
        if let Some(endpoint) = self.endpoints.get_mut(&number) {
            endpoint.noted();
        }
        self.pump(ctx);
    }
}

/// The events and the time for which a courier waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wakeup {
    /// Whether the next event of the realm wakes it, whichever webhook wants the event.
    events: bool,
    /// The latest instant at which it wakes; `None` if no time matters.
    pub(crate) at: Option<Timestamp>,
}

impl Wakeup {
    /// The earlier of both.
    fn and(self, other: Self) -> Self {
        Self {
            events: self.events || other.events,
            at: self.at.into_iter().chain(other.at).min(),
        }
    }
}

/// A try with its result.
fn as_answered(ended: Ended, sent: AttemptResult) -> Ended {
    let millis = |pause: Duration| u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
    Ended {
        millis: sent.millis,
        response: match sent.result {
            Ok(status) => Response::Status(status),
            Err(why) => Response::Trouble(why.as_str().to_owned()),
        },
        retry_after: sent.retry_after.map(millis),
        ..ended
    }
}

impl Actor for Courier {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        let over = Arc::clone(&self.shared.tasks).cancelled().into_actor(self);
        ctx.spawn(over.map(|(), _, ctx| ctx.stop()));
        self.pump(ctx);
    }
}

impl Handler<Queued<Refresh>> for Courier {
    type Result = ();

    fn handle(&mut self, queued: Queued<Refresh>, ctx: &mut Context<Self>) {
        let Refresh = queued.take();
        if let Err(why) = self.refresh() {
            tracing::error!(%why, "webhooks cannot be read");
            return ctx.stop();
        }
        self.pump(ctx);
    }
}
