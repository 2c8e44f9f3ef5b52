//! Deliveries: the progress of a webhook, the next event to send, and the time of the next try.
//!
//! **Shape.** A [`Cursor`] goes through the event log from one number to another. An account with an event under way
//! has a [`BlockedAccount`] in it; later events of that account wait behind it, events of other accounts do not. A webhook has
//! its main cursor, which never ends, and one for each redelivery.
//!
//! **Order.** Within a cursor the events of an account are sent one after the other: the next one is sent once the
//! previous one was delivered, by whatever cursor, or given up.
//!
//! **Bounds.** A cursor has at most [`LANES_MAX`] lanes and stays within [`AHEAD_MAX`] numbers of a lane that is
//! moving. However many events wait, they stay in the log and take no room here.
//!
//! **Failure.** An event is retried after the pauses of a [`Schedule`], for [`KEEP_TRYING`]. If the webhook accepted
//! any other event meanwhile, only this one is parked and its account continues; if it accepted none, the whole webhook
//! stops and keeps its place. After [`BRAKE`] failures in a row, one event is tried at a time.

mod schedule;

use serde::{Deserialize, Serialize};

use crate::ids::AccountNo;
use crate::time::Timestamp;

pub use schedule::{BRAKE_PAUSES, PAUSES, Schedule};

/// The most accounts with an event under way in each cursor.
pub const LANES_MAX: usize = 256;
/// How many numbers a cursor may be ahead of a lane that is moving.
pub const AHEAD_MAX: u64 = 4096;
/// How many failures in a row put a webhook under the brake: it is tried with one event at a
/// time.
pub const BRAKE: u32 = 8;
/// How long an event is retried, in milliseconds: 3 days.
pub const KEEP_TRYING: u64 = 3 * 24 * 60 * 60 * 1000;
/// The longest pause that a receiver may ask for, in milliseconds: a day.
pub const LEAVE_ALONE_MAX: u64 = 24 * 60 * 60 * 1000;
/// How many tries of one delivery are kept in its log.
pub const LOG_MAX: usize = 20;

/// The event of an account that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The number of the event in the realm's log.
    pub event: u64,
    /// How often it was tried, not counting a try that may be under way.
    pub tries: u32,
    /// When it was first tried: [`KEEP_TRYING`] counts from here.
    pub since: Timestamp,
    /// When the next try is due.
    pub due: Timestamp,
}

impl Head {
    const fn new(event: u64, now: Timestamp) -> Self {
        Self {
            event,
            tries: 0,
            since: now,
            due: now,
        }
    }
}

/// An account in a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockedAccount {
    /// The account; 0 for events of the realm itself.
    pub account: AccountNo,
    /// All events of the account up to this number have ended.
    pub seen: u64,
    /// The event under way; `None` while the next one is looked for.
    pub head: Option<Head>,
}

/// A pass through the event log.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Cursor {
    /// The number of the replay; 0 for the main cursor.
    pub replay: u64,
    /// The next event number to look at: all events before it have ended or have a lane.
    pub next: u64,
    /// The last event number of a redelivery; `None` for the main cursor, which goes on.
    pub until: Option<u64>,
    /// Whether events of types that the webhook does not want are sent too.
    pub every_kind: bool,
    /// The accounts with an event under way, in no order.
    pub lanes: Vec<BlockedAccount>,
}

impl Cursor {
    /// A cursor that begins with the event after `number`.
    pub fn after(number: u64) -> Self {
        Self {
            next: number.saturating_add(1),
            ..Self::default()
        }
    }

    /// Whether all events of the cursor have ended.
    pub fn has_ended(&self) -> bool {
        self.lanes.is_empty() && self.until.is_some_and(|until| until < self.next)
    }

    /// The lane of an account; `None` when no event of it is under way.
    pub fn lane(&mut self, account: AccountNo) -> Option<&mut BlockedAccount> {
        self.lanes.iter_mut().find(|lane| lane.account == account)
    }

    /// How many event numbers may be looked at now; 0 while it has to wait for its lanes.
    /// `moving` says whether an account's event is being sent right now.
    pub fn room(&self, moving: impl Fn(AccountNo) -> bool) -> u64 {
        if self.lanes.len() >= LANES_MAX {
            return 0;
        }
        let slow = self
            .lanes
            .iter()
            .filter(|lane| lane.head.is_none() || moving(lane.account));
        let ahead = slow.map(|lane| self.next.saturating_sub(lane.seen)).max();
        let left = self.until.map_or(u64::MAX, |until| {
            until.saturating_add(1).saturating_sub(self.next)
        });
        AHEAD_MAX.saturating_sub(ahead.unwrap_or(0)).min(left)
    }

    /// Looks at the event `number`, which belongs to `account` and is `wanted` or not. Returns whether to send it now;
    /// it is not sent when it is not wanted or waits behind another event of the account.
    pub fn look(&mut self, number: u64, account: AccountNo, wanted: bool, now: Timestamp) -> bool {
        self.next = number.saturating_add(1);
        if !wanted || self.lane(account).is_some() {
            return false;
        }
        self.lanes.push(BlockedAccount {
            account,
            seen: number.saturating_sub(1),
            head: Some(Head::new(number, now)),
        });
        true
    }

    /// Sets the next event of an account whose last one has ended. It was searched between the lane's last event and
    /// the cursor's own place; `None` when there is no further event.
    pub fn found(&mut self, account: AccountNo, event: Option<u64>, now: Timestamp) {
        let Some(event) = event else {
            self.lanes.retain(|lane| lane.account != account);
            return;
        };
        if let Some(lane) = self.lane(account) {
            lane.seen = event.saturating_sub(1);
            lane.head = Some(Head::new(event, now));
        }
    }
}

/// Why a webhook stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StopReason {
    /// The receiver answered 410: it wants no more.
    Gone,
    /// It accepted nothing for [`KEEP_TRYING`].
    Unreachable,
}

/// A webhook that stopped by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// Why the webhook stopped.
    pub reason: StopReason,
    /// When the try that stopped it ended.
    pub at: Timestamp,
    /// [`crate::webhooks::Webhook::resumed`] at that time: a higher count means that the webhook was switched on again
    /// since.
    pub resumed: u64,
}

/// How a try ended, as stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ending {
    /// The receiver accepted the event.
    Delivered,
    /// It will be retried.
    Failed,
    /// It will not be retried automatically.
    Parked,
}

/// The receiver's answer: a status, or a code for why there was none.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Response {
    /// The HTTP status of the answer.
    Status(u16),
    /// A stable code for why there was no answer, such as a timeout or a refused address.
    Trouble(String),
}

impl Response {
    /// Whether the receiver accepted the event: any 2xx, nothing else.
    pub const fn is_delivered(&self) -> bool {
        matches!(self, Self::Status(200..=299))
    }
}

/// One try of one event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Try {
    /// The number of the event in the realm's log.
    pub event: u64,
    /// When the request was begun.
    pub at: Timestamp,
    /// The duration of the request, in milliseconds.
    pub millis: u64,
    /// The receiver's answer; the journal has it under its original name.
    #[serde(rename = "word")]
    pub response: Response,
    /// The consequence for the event.
    pub ending: Ending,
    /// When the next try is due, after a failed one.
    pub due: Option<Timestamp>,
}

/// The tries of one event at one webhook.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Delivery {
    /// The number of the event in the realm's log.
    pub event: u64,
    /// How often it was tried in total; may exceed the length of [`Self::log`].
    pub tries: u32,
    /// The last tries, oldest first, at most [`LOG_MAX`].
    pub log: Vec<Try>,
}

impl Delivery {
    /// Adds a try; beyond [`LOG_MAX`] the oldest is dropped.
    pub fn note(&mut self, attempt: &Try) {
        self.tries = self.tries.saturating_add(1);
        if self.log.len() >= LOG_MAX {
            self.log.remove(0);
        }
        self.log.push(attempt.clone());
    }

    /// How the last try ended; `None` before the first.
    pub fn ending(&self) -> Option<Ending> {
        self.log.last().map(|last| last.ending)
    }
}

/// The progress of a webhook.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// The main cursor, then those of redeliveries.
    #[serde(rename = "courses")]
    pub cursors: Vec<Cursor>,
    /// The number of the last replay begun; 0 before the first.
    pub taken: u64,
    /// How many tries have failed since the webhook last accepted an event.
    pub streak: u32,
    /// When it last accepted an event.
    pub taken_at: Option<Timestamp>,
    /// The last failed try.
    pub failed: Option<Try>,
    /// Until when nothing is sent to it, because it asked for a pause or because of the brake.
    pub rest_until: Option<Timestamp>,
    /// Why it stopped by itself; `None` if it has not.
    pub stopped: Option<Stop>,
    /// How many events were delivered, including redeliveries.
    pub delivered: u64,
    /// How many events were given up.
    pub parked: u64,
}

/// The periodic record of a courier: the tries since the last record, and the webhook's progress.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DeliveryFact {
    /// The tries, in the order in which they ended.
    pub tries: Vec<Try>,
    /// The webhook's progress, including these tries.
    pub progress: Progress,
}

/// A try that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The number of the replay to whose cursor it belongs; 0 for the main cursor.
    pub replay: u64,
    /// The account whose lane waits for it; 0 for events of the realm itself.
    pub account: AccountNo,
    /// The number of the event in the realm's log.
    pub event: u64,
    /// When the request was begun.
    pub at: Timestamp,
    /// The duration of the request, in milliseconds.
    pub millis: u64,
    /// The receiver's answer.
    pub response: Response,
    /// The pause that the receiver asks for, in milliseconds.
    pub retry_after: Option<u64>,
}

impl Progress {
    /// The progress of a webhook that gets the events after a number.
    pub fn new(after: u64) -> Self {
        Self {
            cursors: vec![Cursor::after(after)],
            ..Self::default()
        }
    }

    /// Whether the webhook is tried with one event at a time.
    pub const fn is_braked(&self) -> bool {
        self.streak >= BRAKE
    }

    /// Whether the webhook has stopped by itself and was not switched on again since; `resumed` is how often it has
    /// been switched on.
    pub fn is_stopped(&self, resumed: u64) -> bool {
        self.stopped.is_some_and(|stop| stop.resumed >= resumed)
    }

    /// Notes that the webhook was switched on again: everything may be tried at once, and the time to try it starts
    /// anew.
    pub fn resume(&mut self, now: Timestamp) {
        self.stopped = None;
        self.streak = 0;
        self.rest_until = None;
        self.wake(now);
        for head in self.heads() {
            head.since = head.since.max(now);
        }
    }

    /// Makes everything that waits for its time due now.
    fn wake(&mut self, now: Timestamp) {
        for head in self.heads() {
            head.due = head.due.min(now);
        }
    }

    fn heads(&mut self) -> impl Iterator<Item = &mut Head> {
        let lanes = self.cursors.iter_mut().flat_map(|it| &mut it.lanes);
        lanes.filter_map(|lane| lane.head.as_mut())
    }

    /// If the receiver got an event by one cursor, the others stop waiting for it, so that a redelivery lets the
    /// account continue. An event that is due may be on its way, and ends by itself.
    fn arrived(&mut self, account: AccountNo, event: u64, now: Timestamp) {
        for cursor in &mut self.cursors {
            let lane = cursor.lane(account);
            let waits = |head: Head| head.event == event && head.due > now;
            if let Some(lane) = lane.filter(|lane| lane.head.is_some_and(waits)) {
                (lane.seen, lane.head) = (event, None);
            }
        }
    }

    /// Begins a redelivery: a cursor of its own next to the main one.
    pub fn replay(&mut self, replay: &crate::webhooks::Replay) {
        self.taken = self.taken.max(replay.number);
        self.cursors.push(Cursor {
            replay: replay.number,
            next: replay.from,
            until: Some(replay.to),
            every_kind: replay.every_kind,
            lanes: Vec::new(),
        });
    }

    /// The cursor of a replay; 0 is the main one.
    pub fn cursor(&mut self, replay: u64) -> Option<&mut Cursor> {
        self.cursors
            .iter_mut()
            .find(|cursor| cursor.replay == replay)
    }

    /// Records how a try ended; returns the try to store, or `None` for a try that no lane waits for. `resumed` is how
    /// often the webhook has been switched on.
    pub fn settle(
        &mut self,
        ended: Ended,
        resumed: u64,
        schedule: &Schedule,
        now: Timestamp,
    ) -> Option<Try> {
        let braked = self.is_braked();
        let taken_at = self.taken_at;
        let lane = self.cursor(ended.replay)?.lane(ended.account)?;
        let head = lane.head.filter(|head| head.event == ended.event)?;
        let mut attempt = Try {
            event: ended.event,
            at: ended.at,
            millis: ended.millis,
            response: ended.response,
            ending: Ending::Delivered,
            due: None,
        };
        if attempt.response.is_delivered() {
            (lane.seen, lane.head) = (ended.event, None);
            self.delivered = self.delivered.saturating_add(1);
            self.streak = 0;
            self.taken_at = Some(now);
            self.rest_until = None;
            if braked {
                self.wake(now);
            }
            self.arrived(ended.account, ended.event, now);
            return Some(attempt);
        }
        let first = if head.tries == 0 {
            ended.at
        } else {
            head.since
        };
        let tries = head.tries.saturating_add(1);
        let over = now >= first.plus_millis(KEEP_TRYING);
        let took_others = taken_at.is_some_and(|at| at > first);
        if over && took_others {
            (lane.seen, lane.head) = (ended.event, None);
            attempt.ending = Ending::Parked;
            self.parked = self.parked.saturating_add(1);
        } else {
            let due = now.plus_millis(schedule.pause(ended.event, tries));
            lane.head = Some(Head {
                event: ended.event,
                tries,
                since: first,
                due,
            });
            attempt.ending = Ending::Failed;
            attempt.due = Some(due);
        }
        self.streak = self.streak.saturating_add(1);
        self.rest(ended.retry_after, schedule, now);
        let reason = match attempt.response {
            Response::Status(410) => Some(StopReason::Gone),
            _ if over && !took_others => Some(StopReason::Unreachable),
            Response::Status(_) | Response::Trouble(_) => None,
        };
        if let Some(reason) = reason {
            self.stopped = Some(Stop {
                reason,
                at: now,
                resumed,
            });
        }
        self.failed = Some(attempt.clone());
        Some(attempt)
    }

    /// Sets how long the webhook is left alone after a failure.
    fn rest(&mut self, asked: Option<u64>, schedule: &Schedule, now: Timestamp) {
        let asked = asked.map(|millis| millis.min(LEAVE_ALONE_MAX));
        let braked = self.is_braked().then(|| schedule.rest(self.streak));
        if let Some(millis) = asked.max(braked) {
            let until = now.plus_millis(millis);
            self.rest_until = Some(self.rest_until.map_or(until, |known| known.max(until)));
        }
    }
}

#[cfg(test)]
mod tests;
