//! The rate limit of a key: off unless configured, one bucket per key.
//!
//! **Bounds.** The buckets are as many as there are keys that were used lately; idle ones are
//! dropped whenever [`SWEEP_EVERY`] requests have passed.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DefaultKeyedStateStore;
use governor::{Quota, RateLimiter};

use super::errors::ApiError;

/// After so many requests idle buckets are dropped.
const SWEEP_EVERY: u64 = 10_000;

type Buckets =
    RateLimiter<String, DefaultKeyedStateStore<String>, DefaultClock, StateInformationMiddleware>;

/// Limits the requests of each key.
pub struct RateLimit {
    buckets: Buckets,
    per_second: NonZeroU32,
    burst: NonZeroU32,
    seen: AtomicU64,
    clock: DefaultClock,
}

impl std::fmt::Debug for RateLimit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RateLimit({}/s, burst {})", self.per_second, self.burst)
    }
}

/// What is left of a key's allowance, for the headers of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowance {
    burst: u32,
    window_seconds: u32,
    remaining: u32,
}

impl RateLimit {
    /// So many requests a second in the long run, and so many at once.
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32) -> Self {
        let quota = Quota::per_second(per_second).allow_burst(burst);
        let buckets = RateLimiter::keyed(quota).with_middleware();
        let seen = AtomicU64::new(0);
        Self {
            buckets,
            per_second,
            burst,
            seen,
            clock: DefaultClock::default(),
        }
    }

    fn window_seconds(&self) -> u32 {
        self.burst.get().div_ceil(self.per_second.get())
    }

    /// The allowance of a key whose bucket is empty.
    pub fn nothing_left(&self) -> Allowance {
        Allowance {
            burst: self.burst.get(),
            window_seconds: self.window_seconds(),
            remaining: 0,
        }
    }

    /// Takes one request out of a key's bucket.
    ///
    /// # Errors
    /// 429 when the bucket is empty, with the seconds until it is not.
    pub fn take(&self, key: &str) -> Result<Allowance, ApiError> {
        if self.seen.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY.saturating_sub(1)
        {
            self.buckets.retain_recent();
        }
        match self.buckets.check_key(&key.to_owned()) {
            Ok(state) => Ok(Allowance {
                burst: self.burst.get(),
                window_seconds: self.window_seconds(),
                remaining: state.remaining_burst_capacity(),
            }),
            Err(wait) => {
                let pause = wait
                    .wait_time_from(self.clock.now())
                    .as_millis()
                    .div_ceil(1000)
                    .max(1);
                let message = "too many requests with this key; wait and try again";
                Err(ApiError {
                    retry_after: Some(u32::try_from(pause).unwrap_or(u32::MAX)),
                    ..ApiError::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", message)
                })
            }
        }
    }
}

impl Allowance {
    /// Writes the headers of the draft standard.
    pub fn write(self, headers: &mut HeaderMap) {
        let Self {
            burst,
            window_seconds,
            remaining,
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

    #[test]
    fn a_bucket_empties_for_its_key_alone() {
        let two = NonZeroU32::new(2).unwrap();
        let limit = RateLimit::new(NonZeroU32::MIN, two);
        assert_eq!(limit.take("a").unwrap().remaining, 1);
        assert_eq!(limit.take("a").unwrap().remaining, 0);
        let refused = limit.take("a").unwrap_err();
        assert_eq!(
            (refused.code, refused.retry_after),
            ("rate_limited", Some(1))
        );
        assert!(limit.take("b").is_ok());
        let mut headers = HeaderMap::new();
        limit.take("b").unwrap().write(&mut headers);
        assert_eq!(headers.get("ratelimit-policy").unwrap(), "\"key\";q=2;w=2");
    }
}
