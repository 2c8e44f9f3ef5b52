//! Limits how many requests of a realm pass each second while other realms are active, too, and
//! spaces them evenly.
//!
//! **Shape.** One [`Pace`] for all realms of a process. A realm that is alone has the whole machine. While another one
//! has asked within [`OTHERS`], the requests of each realm pass one after another, and likewise, counted apart and two
//! as one, the items of its batches. A realm that stays below the pace hardly waits, only when its requests come at the
//! same moment. One that exceeds it waits for itself: its work reaches the processors and the disk in small pieces, and
//! in the pauses another realm is served as if it were alone. A refusal counts like any request, so a client that
//! retries at once is answered no faster.
//!
//! **Bounds.** [`WAIT_MAX`] is the longest wait of a request; one that would wait longer takes no place and is refused.
//! Items wait as long as it takes, since their batch has begun; the room for batches bounds how many there are. Memory
//! has one row for each recently active realm: beyond [`ROWS`], expired rows are dropped. [`Held`]
//! counts with one row for each realm that ever waited since the start.
//!
//! **Order.** First come, first served within a realm and a kind. Between realms there is none.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caudal_ledger::ids::RealmId;

/// This many items of a batch cost as much as one request.
const ITEMS_OF_REQUEST: u32 = 2;
/// How long another realm counts as active after a request.
const OTHERS: Duration = Duration::from_secs(10);
/// How far a realm may be ahead of its pace: a few simultaneous requests do not wait, and a late timer takes nothing
/// from the realm.
const AHEAD: Duration = Duration::from_millis(10);
/// The same for the items of its batches. Parts of them that run one behind the other keep the processors from another
/// realm for longer than any request does, so there is time for a late timer alone.
const AHEAD_OF_ITEMS: Duration = Duration::from_millis(2);
/// The longest wait of a request, and of its refusal: each holds a connection meanwhile.
pub const WAIT_MAX: Duration = Duration::from_millis(100);
/// Beyond this many rows, expired ones are dropped.
const ROWS: usize = 1024;

/// The realm sends so many requests that one more would wait longer than [`WAIT_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crowded;

/// How often and how long a realm waited for its turn, since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    /// The number of waits.
    pub count: u64,
    /// The sum of all waits.
    pub time: Duration,
}

impl Waits {
    fn add(&mut self, wait: Duration) {
        self.count = self.count.wrapping_add(1);
        let time = self.time.checked_add(wait);
        self.time = time.map_or(Duration::MAX, |time| time);
    }
}

/// How often a realm was held to its pace since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Held {
    /// Its requests.
    pub requests: Waits,
    /// The parts of its batches.
    pub parts: Waits,
    /// Requests that were refused because they would have waited longer than [`WAIT_MAX`].
    pub refused: u64,
}

/// The pace of all realms of a process.
#[derive(Debug)]
pub struct Pace {
    /// The time between two requests; `None` if nobody waits.
    each: Option<Duration>,
    traffic: Mutex<Traffic>,
}

/// The realms that are active.
#[derive(Debug, Default)]
struct Traffic {
    /// The realm that asked last.
    last: Option<RealmId>,
    /// When a realm last sent a request after another realm.
    mixed: Option<Instant>,
    realms: HashMap<RealmId, Row>,
    /// Realms that were ever held to the pace.
    held: HashMap<RealmId, Held>,
}

/// The next turns of a realm.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    request: Option<Instant>,
    item: Option<Instant>,
}

/// The wait of a caller that takes its turn now and may be so far ahead of it.
fn wait(turn: Option<Instant>, now: Instant, may: Duration) -> Duration {
    let ahead = turn.map_or(Duration::ZERO, |turn| turn.duration_since(now));
    ahead.checked_sub(may).map_or(Duration::ZERO, |wait| wait)
}

/// The turn after the ones that are taken now.
fn behind(turn: Option<Instant>, now: Instant, taken: Duration) -> Option<Instant> {
    let turn = turn.map_or(now, |turn| turn.max(now));
    turn.checked_add(taken)
}

impl Traffic {
    /// Notes a request of a realm. Returns its row while another realm is active, too.
    fn row(&mut self, realm: RealmId, now: Instant) -> Option<&mut Row> {
        let before = self.last.replace(realm);
        if before.is_some_and(|before| before != realm) {
            self.mixed = Some(now);
        }
        let mixed = self.mixed?;
        if now.duration_since(mixed) >= OTHERS {
            self.mixed = None;
            self.realms.clear();
            return None;
        }
        if self.realms.len() >= ROWS && !self.realms.contains_key(&realm) {
            let waits = |turn: Option<Instant>| turn.is_some_and(|turn| turn > now);
            let says = |row: &Row| waits(row.request) || waits(row.item);
            self.realms.retain(|_, row| says(row));
        }
        Some(self.realms.entry(realm).or_default())
    }

    /// Counts a wait of a realm, unless there was none.
    fn waits(&mut self, realm: RealmId, wait: Duration, of: fn(&mut Held) -> &mut Waits) {
        if !wait.is_zero() {
            of(self.held.entry(realm).or_default()).add(wait);
        }
    }

    fn refuses(&mut self, realm: RealmId) {
        let held = self.held.entry(realm).or_default();
        held.refused = held.refused.wrapping_add(1);
    }
}

impl Pace {
    /// A pace of this many requests in a second; `None` lets everything pass.
    pub fn new(per_second: Option<NonZeroU32>) -> Self {
        Self {
            each: per_second.map(|number| Duration::from_secs(1) / number.get()),
            traffic: Mutex::default(),
        }
    }

    /// Whether a pace is set.
    pub const fn is_set(&self) -> bool {
        self.each.is_some()
    }

    /// The realms that were held to the pace since the start, and how often.
    pub fn held(&self) -> HashMap<RealmId, Held> {
        self.traffic().held.clone()
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a turn for a request of a realm. Returns how long the request has to wait for it.
    ///
    /// # Errors
    /// When the wait would be too long; no turn is then taken.
    pub fn request(&self, realm: RealmId) -> Result<Duration, Crowded> {
        self.request_at(realm, Instant::now)
    }

    /// Takes turns for this many items of a realm. Returns how long they have to wait.
    pub fn items(&self, realm: RealmId, items: usize) -> Duration {
        self.items_at(realm, items, Instant::now)
    }

    fn request_at(
        &self,
        realm: RealmId,
        now: impl FnOnce() -> Instant,
    ) -> Result<Duration, Crowded> {
        let Some(each) = self.each else {
            return Ok(Duration::ZERO);
        };
        let now = now();
        let mut traffic = self.traffic();
        let Some(row) = traffic.row(realm, now) else {
            return Ok(Duration::ZERO);
        };
        let wait = wait(row.request, now, AHEAD);
        if wait > WAIT_MAX {
            traffic.refuses(realm);
            return Err(Crowded);
        }
        row.request = behind(row.request, now, each);
        traffic.waits(realm, wait, |held| &mut held.requests);
        Ok(wait)
    }

    fn items_at(&self, realm: RealmId, items: usize, now: impl FnOnce() -> Instant) -> Duration {
        let Some(each) = self.each else {
            return Duration::ZERO;
        };
        let taken = u32::try_from(items)
            .ok()
            .and_then(|it| each.checked_mul(it))
            .map(|it| it / ITEMS_OF_REQUEST);
        let now = now();
        let mut traffic = self.traffic();
        let Some(row) = traffic.row(realm, now) else {
            return Duration::ZERO;
        };
        let wait = wait(row.item, now, AHEAD_OF_ITEMS);
        row.item = behind(row.item, now, taken.map_or(Duration::MAX, |taken| taken));
        traffic.waits(realm, wait, |held| &mut held.parts);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: RealmId = RealmId(1);
    const QUIET: RealmId = RealmId(2);

    /// A pace of a thousand in a second, and a clock that can be set.
    struct Rig(Pace, Instant);

    impl Rig {
        fn new() -> Self {
            Self(Pace::new(NonZeroU32::new(1000)), Instant::now())
        }

        fn request(&self, realm: RealmId, at_ms: u64) -> Result<u128, Crowded> {
            let now = self.1 + Duration::from_millis(at_ms);
            self.0.request_at(realm, || now).map(|it| it.as_millis())
        }

        fn items(&self, realm: RealmId, items: usize, at_ms: u64) -> u128 {
            let now = self.1 + Duration::from_millis(at_ms);
            self.0.items_at(realm, items, || now).as_millis()
        }

        /// The requests and parts of batches that waited, with the milliseconds, and the requests that were refused.
        fn held(&self, realm: RealmId) -> [(u64, u128); 3] {
            let held = self.0.held().remove(&realm).unwrap_or_default();
            let waits = |it: Waits| (it.count, it.time.as_millis());
            [waits(held.requests), waits(held.parts), (held.refused, 0)]
        }
    }

    #[test]
    fn a_realm_alone_never_waits_and_beside_another_one_passes_evenly() {
        let rig = Rig::new();
        assert!((0..5000).all(|_| rig.request(LOUD, 0) == Ok(0)));
        assert_eq!(rig.items(LOUD, 10_000, 0), 0);
        assert_eq!(rig.request(QUIET, 1), Ok(0));
        let waits: Vec<_> = (0..15).map(|_| rig.request(LOUD, 1)).collect();
        let ahead = vec![Ok(0); 11];
        assert_eq!(waits, [ahead, vec![Ok(1), Ok(2), Ok(3), Ok(4)]].concat());
        // The quiet realm waits for nobody, and with time every turn comes.
        assert!((2..100).all(|at| rig.request(QUIET, at) == Ok(0)));
        assert_eq!(rig.request(LOUD, 100), Ok(0));
        // Alone again.
        assert!((0..5000).all(|_| rig.request(LOUD, 10_100) == Ok(0)));
    }

    #[test]
    fn who_would_wait_too_long_is_refused_and_takes_no_place() {
        let rig = Rig::new();
        assert_eq!(rig.request(QUIET, 0), Ok(0));
        let passed = (0..3000).filter(|_| rig.request(LOUD, 0).is_ok()).count();
        // Those allowed ahead, those that wait up to the bound, and the first.
        assert_eq!(passed, 10 + 100 + 1);
        assert_eq!(rig.request(LOUD, 0), Err(Crowded));
        assert_eq!(rig.request(LOUD, 1), Ok(100));
        assert_eq!(rig.request(QUIET, 1), Ok(0));
        let waited = (101, (1..=100).sum::<u128>() + 100);
        assert_eq!(rig.held(LOUD), [waited, (0, 0), (3000 - 111 + 1, 0)]);
        assert!(!rig.0.held().contains_key(&QUIET));
    }

    #[test]
    fn items_wait_for_items_as_long_as_it_takes() {
        let rig = Rig::new();
        assert_eq!(rig.request(QUIET, 0), Ok(0));
        assert_eq!(rig.items(LOUD, 5000, 0), 0);
        assert_eq!(rig.items(LOUD, 16, 0), 2498);
        assert_eq!(rig.items(LOUD, 1, 0), 2506);
        assert_eq!(rig.request(LOUD, 0), Ok(0));
        assert_eq!(rig.items(QUIET, 5000, 0), 0);
        // A time beyond the clock's range is waited for like the longest before it.
        let far = rig.items(QUIET, usize::MAX, 0);
        assert_eq!((far, rig.items(QUIET, 1, 0)), (2498, 0));
        assert_eq!(rig.held(LOUD), [(0, 0), (2, 2498 + 2506), (0, 0)]);
        assert_eq!(rig.held(QUIET), [(0, 0), (1, 2498), (0, 0)]);
    }

    #[test]
    fn without_a_pace_nobody_waits_and_rows_that_say_nothing_go() {
        let none = Pace::new(None);
        for realm in [LOUD, QUIET].repeat(5000) {
            assert_eq!(none.request(realm), Ok(Duration::ZERO));
            assert_eq!(none.items(realm, 10_000), Duration::ZERO);
        }
        let rig = Rig::new();
        for realm in 0..4 * u32::try_from(ROWS).unwrap() {
            rig.request(RealmId(realm), u64::from(realm)).unwrap();
        }
        assert!(rig.0.traffic.lock().unwrap().realms.len() <= ROWS);
        assert!(rig.0.is_set() && !none.is_set() && none.held().is_empty());
    }
}
