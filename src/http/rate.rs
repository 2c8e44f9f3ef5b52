//! Rate limits: one for each key, off unless configured, and one for each realm, over all its keys.
//!
//! **Bounds.** The buckets are as many as there are keys and realms that were used lately; idle ones
//! are dropped whenever [`SWEEP_EVERY`] requests have passed.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use caudal_ledger::ids::RealmId;
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::errors::ApiError;
use super::words::Refusal;

/// Idle buckets are dropped once every so many requests.
const SWEEP_EVERY: u64 = 10_000;

/// Requests a second in the long run, and in one burst.
pub type Rate = (NonZeroU32, NonZeroU32);

/// The allowance that `serve` grants each realm unless it is configured: more than a working realm needs, and less
/// than one machine can serve, so that no realm takes all of it.
pub const REALM_RATE: Rate = (whole(5000), whole(10_000));

const fn whole(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

/// A wait in whole seconds, at least one.
fn seconds(wait: Duration) -> u32 {
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

/// A rate for each of some callers: so many in a burst, then one in so long.
pub struct SlowRate<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    clock: DefaultClock,
}

impl<K: Hash + Eq + Clone> std::fmt::Debug for SlowRate<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} callers", self.limiter.len())
    }
}

impl<K: Hash + Eq + Clone> SlowRate<K> {
    /// This many in a burst, and one more after each period.
    pub fn new(burst: NonZeroU32, every: Duration) -> Self {
        let quota = Quota::with_period(every).unwrap_or(Quota::per_second(NonZeroU32::MIN));
        Self {
            limiter: RateLimiter::keyed(quota.allow_burst(burst)),
            clock: DefaultClock::default(),
        }
    }

    /// Takes one of a caller's allowance.
    ///
    /// # Errors
    /// The seconds until there is one.
    pub fn take(&self, whose: &K) -> Result<(), u32> {
        let taken = self.limiter.check_key(whose);
        taken.map_err(|wait| seconds(wait.wait_time_from(self.clock.now())))
    }
}

/// Limits the requests of each key and of each realm.
#[derive(Debug)]
pub struct RateLimit {
    key: Option<Buckets<String>>,
    realm: Option<Buckets<RealmId>>,
    seen: AtomicU64,
}

/// The rest of the allowances after a request, for the headers of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowances {
    key: Option<Allowance>,
    realm: Option<Allowance>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Allowance {
    burst: u32,
    window_seconds: u32,
    remaining: u32,
    /// Seconds until a request passes again, when this one did not.
    pause: Option<u32>,
}

struct Buckets<K: Hash + Eq + Clone> {
    limiter: RateLimiter<K, DefaultKeyedStateStore<K>, DefaultClock, StateInformationMiddleware>,
    rate: Rate,
    clock: DefaultClock,
}

impl<K: Hash + Eq + Clone> std::fmt::Debug for Buckets<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/s, burst {}", self.rate.0, self.rate.1)
    }
}

impl<K: Hash + Eq + Clone> Buckets<K> {
    fn new(rate: Rate) -> Self {
        let quota = Quota::per_second(rate.0).allow_burst(rate.1);
        Self {
            limiter: RateLimiter::keyed(quota).with_middleware(),
            rate,
            clock: DefaultClock::default(),
        }
    }

    fn take(&self, whose: &K) -> Allowance {
        let (per_second, burst) = (self.rate.0.get(), self.rate.1.get());
        let (remaining, pause) = match self.limiter.check_key(whose) {
            Ok(state) => (state.remaining_burst_capacity(), None),
            Err(wait) => (0, Some(seconds(wait.wait_time_from(self.clock.now())))),
        };
        Allowance {
            burst,
            window_seconds: burst.div_ceil(per_second),
            remaining,
            pause,
        }
    }
}

impl RateLimit {
    /// The limits for each key and for each realm; `None` is no limit.
    pub fn new(key: Option<Rate>, realm: Option<Rate>) -> Self {
        Self {
            key: key.map(Buckets::new),
            realm: realm.map(Buckets::new),
            seen: AtomicU64::new(0),
        }
    }

    /// Takes one request out of the buckets of a key and of its realm. A request that the key's limit refuses does
    /// not count against its realm.
    pub fn take(&self, key: &String, realm: RealmId) -> Allowances {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed);
        if seen % SWEEP_EVERY == SWEEP_EVERY.saturating_sub(1) {
            self.key.iter().for_each(|it| it.limiter.retain_recent());
            self.realm.iter().for_each(|it| it.limiter.retain_recent());
        }
        let key = self.key.as_ref().map(|buckets| buckets.take(key));
        let refused = key.is_some_and(|key| key.pause.is_some());
        let buckets = self.realm.as_ref().filter(|_| !refused);
        let realm = buckets.map(|buckets| buckets.take(&realm));
        Allowances { key, realm }
    }
}

impl Allowances {
    /// Whether the request may pass.
    ///
    /// # Errors
    /// 429 when a bucket is empty, with the seconds until it is not.
    pub fn check(self) -> Result<(), ApiError> {
        let refused = |allowance: Option<Allowance>| allowance.and_then(|it| it.pause);
        let (refusal, pause) = match (refused(self.key), refused(self.realm)) {
            (None, None) => return Ok(()),
            (Some(pause), _) => (Refusal::KeyRate, pause),
            (None, Some(pause)) => (Refusal::RealmRate, pause),
        };
        Err(ApiError::from(refusal).later(pause))
    }

    /// Writes the headers of the draft standard.
    pub fn write(self, headers: &mut HeaderMap) {
        let (mut policy, mut limit) = (String::new(), String::new());
        for (name, allowance) in [("key", self.key), ("realm", self.realm)] {
            let Some(Allowance {
                burst,
                window_seconds,
                remaining,
                pause: _,
            }) = allowance
            else {
                continue;
            };
            let comma = if policy.is_empty() { "" } else { ", " };
            policy += &format!("{comma}\"{name}\";q={burst};w={window_seconds}");
            limit += &format!("{comma}\"{name}\";r={remaining};t={window_seconds}");
        }
        for (name, text) in [("ratelimit-policy", policy), ("ratelimit", limit)] {
            if let Ok(value) = HeaderValue::from_str(&text)
                && !text.is_empty()
            {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::errors::Why;
    use super::*;

    const ONE: RealmId = RealmId(1);

    fn rate(per_second: u32, burst: u32) -> Option<Rate> {
        Some((NonZeroU32::new(per_second)?, NonZeroU32::new(burst)?))
    }

    fn headers(taken: Allowances) -> (String, String) {
        let mut headers = HeaderMap::new();
        taken.write(&mut headers);
        let text = |name| headers.get(name).unwrap().to_str().unwrap().to_owned();
        (text("ratelimit-policy"), text("ratelimit"))
    }

    /// The requests taken within less than a second, so that no bucket refills meanwhile: a machine that is too slow
    /// for that tries again with new buckets.
    fn at_once<T>(take: impl Fn() -> T) -> T {
        loop {
            let since = Instant::now();
            let taken = take();
            if since.elapsed() < Duration::from_secs(1) {
                return taken;
            }
        }
    }

    #[test]
    fn a_bucket_empties_for_its_key_alone() {
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let (limit, [first, last, refused]) = at_once(|| {
            let limit = RateLimit::new(rate(1, 2), None);
            let taken = [(); 3].map(|()| limit.take(&a, ONE));
            (limit, taken)
        });
        assert!(first.check().is_ok());
        assert_eq!(last.key.unwrap().remaining, 0);
        assert!(last.check().is_ok());
        let refused = refused.check().unwrap_err();
        assert_eq!(
            (refused.code(), refused.retry_after),
            ("rate_limited", Some(1))
        );
        assert!(limit.take(&b, ONE).check().is_ok());
        assert_eq!(headers(limit.take(&b, ONE)).0, "\"key\";q=2;w=2");
    }

    #[test]
    fn all_keys_of_a_realm_share_its_bucket() {
        let key = |n: u32| format!("key-{n}");
        let (limit, taken, refused) = at_once(|| {
            let limit = RateLimit::new(rate(10, 10), rate(1, 3));
            let taken = [0, 1, 2].map(|n| limit.take(&key(n), ONE));
            let refused = limit.take(&key(3), ONE);
            (limit, taken, refused)
        });
        assert!(taken.into_iter().all(|one| one.check().is_ok()));
        let (policy, left) = headers(refused);
        assert_eq!(policy, "\"key\";q=10;w=1, \"realm\";q=3;w=3");
        assert_eq!(left, "\"key\";r=9;t=1, \"realm\";r=0;t=3");
        let why = refused.check().unwrap_err();
        assert_eq!(why.why, Why::Refused(Refusal::RealmRate));
        assert!(why.retry_after.unwrap() >= 1);
        assert!(limit.take(&key(0), RealmId(2)).check().is_ok());
    }
}
