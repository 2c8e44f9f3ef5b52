//! Rates: how often a caller may do something. Of keys (off unless configured), of test calls to webhooks, of an
//! operator's entries in the audit log, and of wrong keys by address.
//!
//! **Shape.** [`Rate`] keeps one instant for each caller: when its allowance will be whole again. Each use moves that
//! instant by the time between two uses; a use that would move it too far ahead has to wait.
//!
//! **Bounds.** There is a row for each caller that is not at rest: rows that say nothing any more are dropped whenever
//! as many again as were left the last time, and at least [`ROWS_MIN`], have come.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

use super::errors::ApiError;
use super::words::Refusal;

/// No rows are dropped before there are so many.
const ROWS_MIN: usize = 1024;

/// Requests a second in the long run, and in one burst.
pub type PerSecond = (NonZeroU32, NonZeroU32);

/// A wait in whole seconds, at least one.
pub fn seconds(wait: Duration) -> u32 {
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    u32::try_from(seconds).unwrap_or(u32::MAX)
}

/// A rate for each of some callers: so many in a burst, then one in so long.
#[derive(Debug)]
pub struct Rate<K> {
    burst: NonZeroU32,
    every: Duration,
    rows: Mutex<Rows<K>>,
}

#[derive(Debug)]
struct Rows<K> {
    /// When the allowance of a caller will be whole again.
    whole: HashMap<K, Instant>,
    /// At how many rows those that say nothing are dropped.
    most: usize,
}

impl<K: Hash + Eq + Clone> Rate<K> {
    /// This many in a burst, and one more after each period.
    pub fn new(burst: NonZeroU32, every: Duration) -> Self {
        let rows = Rows {
            whole: HashMap::new(),
            most: ROWS_MIN,
        };
        Self {
            burst,
            every,
            rows: Mutex::new(rows),
        }
    }

    /// Takes one of a caller's allowance. Returns how many are left.
    ///
    /// # Errors
    /// The time until there is one.
    pub fn take(&self, whose: &K) -> Result<u32, Duration> {
        self.take_at(whose, Instant::now())
    }

    fn take_at(&self, whose: &K, now: Instant) -> Result<u32, Duration> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let known = rows.whole.get(whose).copied();
        let ahead = known.map_or(Duration::ZERO, |whole| whole.saturating_duration_since(now));
        let most = self.every.saturating_mul(self.burst.get());
        let then = ahead.saturating_add(self.every);
        if let Some(wait) = then.checked_sub(most).filter(|wait| !wait.is_zero()) {
            return Err(wait);
        }
        if known.is_none() && rows.whole.len() >= rows.most {
            rows.whole.retain(|_, whole| *whole > now);
            rows.most = rows.whole.len().saturating_mul(2).max(ROWS_MIN);
        }
        if let Some(whole) = now.checked_add(then) {
            rows.whole.insert(whose.clone(), whole);
        }
        let left = most.saturating_sub(then).as_nanos();
        let left = left.checked_div(self.every.as_nanos());
        Ok(left.map_or(0, |left| u32::try_from(left).unwrap_or(u32::MAX)))
    }
}

/// Limits the requests of each key.
#[derive(Debug)]
pub struct KeyRate {
    rate: Rate<String>,
    per_second: PerSecond,
}

/// The rest of a key's allowance after a request, for the headers of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowance {
    burst: u32,
    window_seconds: u32,
    remaining: u32,
    /// Seconds until a request passes again, when this one did not.
    pause: Option<u32>,
}

impl KeyRate {
    /// The same limit for each key.
    pub fn new(per_second: PerSecond) -> Self {
        let (rate, burst) = per_second;
        let every = Duration::from_secs(1) / rate.get();
        Self {
            rate: Rate::new(burst, every),
            per_second,
        }
    }

    /// Takes one request out of the allowance of a key.
    pub fn take(&self, key: &String) -> Allowance {
        let (rate, burst) = self.per_second;
        let (remaining, pause) = match self.rate.take(key) {
            Ok(left) => (left, None),
            Err(wait) => (0, Some(seconds(wait))),
        };
        Allowance {
            burst: burst.get(),
            window_seconds: burst.get().div_ceil(rate.get()),
            remaining,
            pause,
        }
    }
}

impl Allowance {
    /// Whether the request may pass.
    ///
    /// # Errors
    /// 429 when nothing is left, with the seconds until there is.
    pub fn check(self) -> Result<(), ApiError> {
        match self.pause {
            None => Ok(()),
            Some(pause) => Err(ApiError::from(Refusal::KeyRate).later(pause)),
        }
    }

    /// Writes the headers of the draft standard.
    pub fn write(self, headers: &mut HeaderMap) {
        let Self {
            burst,
            window_seconds,
            remaining,
            pause: _,
        } = self;
        let policy = format!("\"key\";q={burst};w={window_seconds}");
        let limit = format!("\"key\";r={remaining};t={window_seconds}");
        for (name, text) in [("ratelimit-policy", policy), ("ratelimit", limit)] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(number: u32) -> NonZeroU32 {
        NonZeroU32::new(number).unwrap()
    }

    #[test]
    fn a_burst_passes_then_one_in_each_period_and_each_caller_has_its_own() {
        let rate = Rate::new(whole(3), Duration::from_secs(2));
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let take = |whose: &'static str, millis| rate.take_at(&whose, at(millis));
        assert_eq!([(); 3].map(|()| take("a", 0)), [Ok(2), Ok(1), Ok(0)]);
        assert_eq!(take("a", 0), Err(Duration::from_secs(2)));
        assert_eq!(take("a", 1500), Err(Duration::from_millis(500)));
        assert_eq!(take("a", 2000), Ok(0));
        assert_eq!(take("b", 2000), Ok(2));
        // After a rest the whole burst is there again, and no more than that.
        assert_eq!([(); 3].map(|()| take("a", 60_000)), [Ok(2), Ok(1), Ok(0)]);
        assert!(take("a", 60_000).is_err());
    }

    #[test]
    fn callers_at_rest_are_forgotten() {
        let rate = Rate::new(whole(1), Duration::from_millis(1));
        let start = Instant::now();
        for caller in 0..100_000_u64 {
            let now = start + Duration::from_millis(caller);
            assert_eq!(rate.take_at(&caller, now), Ok(0));
        }
        assert!(rate.rows.lock().unwrap().whole.len() <= ROWS_MIN);
    }

    #[test]
    fn a_rate_limited_key_gets_retry_after() {
        let limit = KeyRate::new((whole(1), whole(2)));
        let (a, b) = ("a".to_owned(), "b".to_owned());
        let taken = [(); 3].map(|()| limit.take(&a));
        assert_eq!(taken.map(|it| it.remaining), [1, 0, 0]);
        assert!(taken[0].check().is_ok() && taken[1].check().is_ok());
        let refused = taken[2].check().unwrap_err();
        assert_eq!(
            (refused.code(), refused.retry_after),
            ("rate_limited", Some(1))
        );
        assert!(limit.take(&b).check().is_ok());
        let mut headers = HeaderMap::new();
        taken[0].write(&mut headers);
        let text = |name| headers.get(name).unwrap().to_str().unwrap();
        assert_eq!(text("ratelimit-policy"), "\"key\";q=2;w=2");
        assert_eq!(text("ratelimit"), "\"key\";r=1;t=2");
    }
}
