//! Clients without a valid key: how often they may try, and how much is logged about them.
//!
//! **Shape.** A valid key is always served, whatever else came from the same address: a key has 256
//! random bits (the admin key at least 32 characters), so guessing is hopeless, and nobody can lock
//! others out by trying. The bounds limit what guessing costs everybody else.
//!
//! **Bounds.** [`WRONG_BURST`] wrong keys of a peer at once and one more every [`WRONG_EVERY`]; beyond that the
//! answer is 429. An IPv6 peer is its /64; behind a proxy all clients are one peer, and so share one allowance of
//! wrong keys. Each wrong key within the allowance gets a line in the log, at most [`LINES_PER_MINUTE`] of all peers.
//! Idle peers are forgotten each time [`SWEEP_EVERY`] wrong keys have been counted.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::errors::ApiError;
use super::wire::seats::peer;
use super::words::Refusal;

/// How many wrong keys of one peer are answered as usual in one burst.
pub const WRONG_BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How long after a burst one more wrong key of the peer is answered as usual.
pub const WRONG_EVERY: Duration = Duration::from_secs(3);
/// Lines of the log about wrong keys and signatures, of all peers together.
pub const LINES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();
/// Idle peers are forgotten once every so many wrong keys.
const SWEEP_EVERY: u64 = 10_000;

/// Counts wrong keys by the address that they come from, and slows those that send many.
#[derive(Debug)]
pub struct Strangers {
    peers: DefaultKeyedRateLimiter<IpAddr>,
    lines: DefaultDirectRateLimiter,
    seen: AtomicU64,
    clock: DefaultClock,
}

impl Default for Strangers {
    fn default() -> Self {
        Self::new(WRONG_BURST)
    }
}

impl Strangers {
    /// The limits, with this many wrong keys of each peer in one burst.
    pub fn new(burst: NonZeroU32) -> Self {
        let every = Quota::with_period(WRONG_EVERY).unwrap_or(Quota::per_second(NonZeroU32::MIN));
        Self {
            peers: RateLimiter::keyed(every.allow_burst(burst)),
            lines: RateLimiter::direct(Quota::per_minute(LINES_PER_MINUTE)),
            seen: AtomicU64::new(0),
            clock: DefaultClock::default(),
        }
    }

    /// The answer to a wrong key: the usual refusal, or 429 when the peer has shown too many.
    pub fn wrong(&self, from: Option<SocketAddr>, what: &str, usual: Refusal) -> ApiError {
        if self.seen.fetch_add(1, Ordering::Relaxed) % SWEEP_EVERY == SWEEP_EVERY.saturating_sub(1)
        {
            self.peers.retain_recent();
        }
        let ip = from.map_or(IpAddr::from([0, 0, 0, 0]), |from| peer(from.ip()));
        let Err(wait) = self.peers.check_key(&ip) else {
            if self.may_report() {
                tracing::warn!(peer = ?from.map(|from| from.ip()), "{what}");
            }
            return usual.into();
        };
        let wait = wait.wait_time_from(self.clock.now());
        let seconds = wait.as_millis().div_ceil(1000).max(1);
        ApiError::from(Refusal::TooManyAttempts).later(u32::try_from(seconds).unwrap_or(u32::MAX))
    }

    /// Whether one more line about strangers may be written.
    pub fn may_report(&self) -> bool {
        self.lines.check().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_peer_that_guesses_is_slowed_and_no_other() {
        let strangers = Strangers::default();
        let try_from = |ip: &str| {
            let from = SocketAddr::new(ip.parse().unwrap(), 1);
            let refusal = strangers.wrong(Some(from), "a test", Refusal::NoKey);
            (refusal.status.as_u16(), refusal.retry_after.unwrap_or(0))
        };
        let since = Instant::now();
        // Time goes by during the test: one more is judged per period, and one that had begun.
        let more = |every: u64| usize::try_from(since.elapsed().as_secs() / every + 1).unwrap();
        let answers: Vec<_> = (0..40).map(|_| try_from("192.0.2.7")).collect();
        assert!(
            answers[..20].iter().all(|it| *it == (401, 0)),
            "{answers:?}"
        );
        let judged = answers.iter().filter(|it| it.0 == 401).count();
        assert!(judged <= 20 + more(WRONG_EVERY.as_secs()), "{answers:?}");
        let slowed = answers.iter().filter(|it| it.0 == 429);
        assert!(
            slowed.clone().all(|it| (1..=3).contains(&it.1)),
            "{answers:?}"
        );
        assert_eq!(judged + slowed.count(), 40);
        assert_eq!(try_from("192.0.2.8"), (401, 0));
        let reported = (0..1000).filter(|_| strangers.may_report()).count();
        assert!(reported <= 60 + more(1), "{reported}");
    }
}
