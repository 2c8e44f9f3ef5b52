//! How much one realm has in flight: the one limit at the door.
//!
//! **Shape.** A request that passes the door is [`Admitted`]: it counts 1 from then until its answer is made and, if it
//! is an order, until the order has ended, even if the client has left. A batch of *n* items counts *n*, but at most
//! half of the limit ([`weight`]). The count is given back when the last holder drops the [`Admitted`], so no way out (an
//! answer, a client that leaves, a timeout, a panic) can forget it. Notices of banks do not
//! count, and have a bound of their own ([`InFlight::notice`]); nor do operators' requests, which the connections of
//! their listener bound.
//!
//! **Bounds.** [`InFlight::new`] sets the limit of each realm. What follows it is so large that whoever was admitted
//! finds room all the way ([`room`]): mailboxes and the realm's lane refuse nobody in normal operation.
//!
//! **Failure.** Beyond the limit a request is refused ([`TooMany`]) with the limit and what is in flight; nothing was
//! done, and the refusal is counted.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use caudal_ledger::ids::RealmId;
use dashmap::DashMap;

/// What a realm may have in flight, unless set.
pub const LIMIT: NonZeroU32 = NonZeroU32::new(4096).unwrap();
/// The most items of a batch.
pub const BATCH_ITEMS_MAX: usize = 10_000;
/// At most this many batches are larger than their weight at the same time, since each counts half of the limit.
const LARGE_BATCHES: usize = 2;
/// How many notices of banks may be under way at once, of all banks.
const NOTICES: NonZeroU32 = NonZeroU32::new(256).unwrap();
/// Room for what does not count: notices of banks, operators' orders, what the bank says about transfers, holds that
/// expire, and reads whose callers have left.
const OWN: usize = 4096;

/// What an order with this many items counts: each item 1, all together at most half of the limit, and at least 1.
pub fn weight(items: usize, limit: NonZeroU32) -> u32 {
    let items = u32::try_from(items).unwrap_or(u32::MAX);
    items.min(limit.get() / 2).max(1)
}

/// How many messages or commits of a realm can be under way at once: everything that was admitted, counting what two of
/// the largest batches have beyond their weights, and the realm's own business. Mailboxes and the lane have this much
/// room.
pub fn room(limit: NonZeroU32) -> usize {
    let admitted = usize::try_from(limit.get()).unwrap_or(usize::MAX);
    let beyond = LARGE_BATCHES.saturating_mul(BATCH_ITEMS_MAX);
    admitted.saturating_add(beyond).saturating_add(OWN)
}

/// A realm has too much in flight to take one more request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany {
    /// What it may have in flight.
    pub limit: u32,
    /// What it has.
    pub in_flight: u32,
}

/// What a realm has in flight, and how many of its requests were refused since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Flight {
    /// What it has in flight.
    pub now: u32,
    /// How many requests were refused.
    pub refused: u64,
}

/// The counters of one realm.
#[derive(Debug, Default)]
struct Counters {
    now: AtomicU32,
    refused: AtomicU64,
}

/// What each realm has in flight.
#[derive(Debug)]
pub struct InFlight {
    limit: NonZeroU32,
    /// One row for each realm that ever asked.
    realms: DashMap<RealmId, Arc<Counters>>,
    notices: Arc<Counters>,
}

impl InFlight {
    /// The same limit for each realm.
    pub fn new(limit: NonZeroU32) -> Self {
        Self {
            limit,
            realms: DashMap::new(),
            notices: Arc::default(),
        }
    }

    /// The limit of each realm.
    pub const fn limit(&self) -> NonZeroU32 {
        self.limit
    }

    /// Lets one request of a realm in.
    ///
    /// # Errors
    /// When the realm has as much in flight as it may.
    pub fn admit(&self, realm: RealmId) -> Result<Arc<Admitted>, TooMany> {
        let counters = Arc::clone(&self.realms.entry(realm).or_default());
        Admitted::one(counters, self.limit).map(Arc::new)
    }

    /// Lets a notice of a bank in. It counts in no realm.
    ///
    /// # Errors
    /// When there are as many as there may be.
    pub fn notice(&self) -> Result<Admitted, TooMany> {
        Admitted::one(Arc::clone(&self.notices), NOTICES)
    }

    /// What a realm has in flight.
    pub fn of(&self, realm: RealmId) -> Flight {
        let counters = self.realms.get(&realm);
        counters.map_or_else(Flight::default, |counters| Flight {
            now: counters.now.load(Ordering::Acquire),
            refused: counters.refused.load(Ordering::Relaxed),
        })
    }
}

/// A request that was let in. It stops counting when this is dropped.
#[derive(Debug)]
pub struct Admitted {
    counters: Arc<Counters>,
    limit: NonZeroU32,
    /// What it counts.
    weight: AtomicU32,
}

impl Admitted {
    fn one(counters: Arc<Counters>, limit: NonZeroU32) -> Result<Self, TooMany> {
        let admitted = Self {
            counters,
            limit,
            weight: AtomicU32::new(0),
        };
        admitted.take(1)?;
        Ok(admitted)
    }

    /// Makes the request count as a batch of this many items.
    ///
    /// # Errors
    /// When that is more than the realm may have in flight; the request goes on counting what it did.
    pub fn weigh(&self, items: usize) -> Result<(), TooMany> {
        let now = self.weight.load(Ordering::Acquire);
        self.take(weight(items, self.limit).saturating_sub(now))
    }

    fn take(&self, more: u32) -> Result<(), TooMany> {
        let limit = self.limit.get();
        let then = |now: u32| now.checked_add(more).filter(|then| *then <= limit);
        let taken = self
            .counters
            .now
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, then);
        match taken {
            Ok(_) => {
                self.weight.fetch_add(more, Ordering::AcqRel);
                Ok(())
            }
            Err(in_flight) => {
                self.counters.refused.fetch_add(1, Ordering::Relaxed);
                Err(TooMany { limit, in_flight })
            }
        }
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let weight = self.weight.load(Ordering::Acquire);
        let before = self.counters.now.fetch_sub(weight, Ordering::AcqRel);
        debug_assert!(before >= weight, "{before} in flight, less than {weight}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RealmId = RealmId(1);
    const OTHER: RealmId = RealmId(2);

    fn limit(limit: u32) -> NonZeroU32 {
        NonZeroU32::new(limit).unwrap()
    }

    #[test]
    fn a_batch_counts_its_items_and_at_most_half_of_the_limit() {
        for (items, of, counts) in [
            (0, 4096, 1),
            (1, 4096, 1),
            (2, 4096, 2),
            (1000, 4096, 1000),
            (2047, 4096, 2047),
            (2048, 4096, 2048),
            (2049, 4096, 2048),
            (10_000, 4096, 2048),
            (usize::MAX, 4096, 2048),
            (10_000, 1_000_000, 10_000),
            (5, 7, 3),
            (5, 2, 1),
            (5, 1, 1),
        ] {
            assert_eq!(weight(items, limit(of)), counts, "{items} of {of}");
        }
    }

    #[test]
    fn whatever_is_in_flight_never_exceeds_the_limit_and_ends_at_nothing() {
        // A walk over admissions, weights and ends, in an order that looks random.
        let flights = InFlight::new(limit(100));
        let mut held: Vec<(Arc<Admitted>, u32)> = Vec::new();
        let (mut dice, mut refused) = (7_u64, 0);
        for _ in 0..20_000 {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let roll = usize::try_from(dice >> 33).unwrap();
            if roll.is_multiple_of(3) && !held.is_empty() {
                held.swap_remove(roll % held.len());
            } else {
                let items = roll % 130;
                match flights.admit(ONE) {
                    Err(_) => refused += 1,
                    Ok(admitted) => match admitted.weigh(items) {
                        Ok(()) => held.push((admitted, weight(items, limit(100)))),
                        Err(why) => {
                            refused += 1;
                            assert_eq!(why.limit, 100);
                        }
                    },
                }
            }
            let sum: u32 = held.iter().map(|(_, counts)| *counts).sum();
            assert!(sum <= 100);
            let now = flights.of(ONE);
            assert_eq!((now.now, now.refused), (sum, refused));
        }
        assert!(refused > 100);
        held.clear();
        assert_eq!(flights.of(ONE).now, 0);
        assert_eq!(flights.of(OTHER), Flight::default());
    }

    #[test]
    fn a_realm_that_is_full_refuses_itself_only_until_one_has_ended() {
        let flights = InFlight::new(limit(4));
        let (first, second) = (flights.admit(ONE).unwrap(), flights.admit(ONE).unwrap());
        first.weigh(10).unwrap();
        let third = flights.admit(ONE).unwrap();
        let full = TooMany {
            limit: 4,
            in_flight: 4,
        };
        assert_eq!(second.weigh(9), Err(full));
        let none = flights.admit(ONE).unwrap_err();
        assert_eq!(none.in_flight, 4);
        assert!(flights.admit(OTHER).is_ok());
        // The order of a client that has left holds it, too.
        let order = Arc::clone(&first);
        drop(first);
        assert!(flights.admit(ONE).is_err());
        drop(order);
        assert!(second.weigh(9).is_ok());
        drop((second, third));
        assert_eq!(flights.of(ONE).now, 0);
        assert_eq!(flights.of(ONE).refused, 3);
    }

    #[test]
    fn notices_have_a_bound_of_their_own() {
        let flights = InFlight::new(limit(1));
        let _realm = flights.admit(ONE).unwrap();
        let all: Vec<_> = (0..NOTICES.get())
            .map(|_| flights.notice().unwrap())
            .collect();
        assert!(flights.notice().is_err());
        drop(all);
        assert!(flights.notice().is_ok());
    }

    #[test]
    fn a_panic_gives_back_what_was_in_flight() {
        let flights = InFlight::new(LIMIT);
        let admitted = flights.admit(ONE).unwrap();
        let work = std::panic::AssertUnwindSafe(move || {
            admitted.weigh(500).unwrap();
            assert_eq!(
                admitted.counters.now.load(Ordering::Acquire),
                0,
                "as wanted"
            );
        });
        assert!(std::panic::catch_unwind(work).is_err());
        assert_eq!(flights.of(ONE).now, 0);
    }
}
