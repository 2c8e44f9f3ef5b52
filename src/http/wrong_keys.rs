//! Clients without a valid key: how often they may try, and how much is logged about them.
//!
//! **Shape.** A wrong key is always refused with 401: only the time until the refusal grows with the wrong keys that
//! its address has sent. The address is the one that counts for a key's `ipAllow` ([`super::origin`]), so that clients
//! behind a trusted proxy are told apart. A request with a valid key is never delayed: a key has 256 random bits (the
//! admin key at least 32 characters), so guessing is hopeless, and the bounds limit what guessing costs everybody else.
//!
//! **Bounds.** [`WRONG_BURST`] wrong keys of an address are refused at once, and one more every [`WRONG_EVERY`]; every
//! further one waits until then. An IPv6 address counts by its /64. At most one connection in [`DELAYED_SHARE`] of the
//! listener's, and [`DELAYED_MAX`], wait at the same time; a further wrong key is refused at once. Each wrong key
//! that is refused at once by its allowance has a line in the log, at most [`LINES_PER_MINUTE`] of all addresses.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpMessage as _, HttpRequest};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::gate::Gate;
use super::rate::Rate;
use super::wire::connections::{CONNECTIONS, peer};
use super::{AppState, origin};

/// How many wrong keys of an address are refused without a delay in one burst.
pub const WRONG_BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How long after a burst one more wrong key of the address is refused without a delay; also the longest delay.
pub const WRONG_EVERY: Duration = Duration::from_secs(3);
/// The most refusals that wait at a listener.
pub const DELAYED_MAX: usize = 256;
/// Refusals wait on at most one in so many connections of a listener.
pub const DELAYED_SHARE: usize = 16;
/// Lines of the log about wrong keys and signatures, of all addresses together.
pub const LINES_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60).unwrap();
const MINUTE: Duration = Duration::from_secs(60);

/// Counts wrong keys by the address that they come from, and delays the refusals of addresses that send many. Each
/// listener has its own.
#[derive(Debug)]
pub struct WrongKeys {
    addresses: Rate<IpAddr>,
    lines: Rate<()>,
    /// The refusals that may wait.
    delayed: Arc<Semaphore>,
}

/// How long the answer to a request waits.
#[derive(Clone, Debug)]
pub struct Delay {
    time: Duration,
    gate: Arc<Gate>,
    /// Its place among the refusals that wait.
    place: Rc<OwnedSemaphorePermit>,
}

impl Delay {
    /// Waits, but not longer than the service takes requests.
    pub async fn wait(self) {
        // The end of the time is the end of the delay.
        timeout(self.time, self.gate.shut()).await.ok();
        drop(self.place);
    }
}

impl Default for WrongKeys {
    fn default() -> Self {
        Self::new(WRONG_BURST, CONNECTIONS)
    }
}

impl WrongKeys {
    /// The limits of a listener with this many connections, with this many wrong keys of each address in one burst.
    pub fn new(burst: NonZeroU32, connections: usize) -> Self {
        let delayed = connections.div_euclid(DELAYED_SHARE).min(DELAYED_MAX);
        Self {
            addresses: Rate::new(burst, WRONG_EVERY),
            lines: Rate::new(LINES_PER_MINUTE, MINUTE / LINES_PER_MINUTE.get()),
            delayed: Arc::new(Semaphore::new(delayed)),
        }
    }

    /// Counts a wrong key that a request shows, and notes on the request how long its answer waits; [`super::frame`]
    /// waits. The refusal itself is decided at once, so that nothing else about the request changes it.
    pub fn wrong(&self, request: &HttpRequest, app: &AppState, what: &str) {
        let from = request.peer_addr().map(|from| from.ip());
        let from = origin::of(request, &app.proxies).or(from);
        if let Some(time) = self.count(from, what)
            && let Ok(place) = Arc::clone(&self.delayed).try_acquire_owned()
        {
            let (gate, place) = (Arc::clone(&app.gate), Rc::new(place));
            request.extensions_mut().insert(Delay { time, gate, place });
        }
    }

    /// Counts a wrong key; returns how long its refusal waits, if it does.
    fn count(&self, from: Option<IpAddr>, what: &str) -> Option<Duration> {
        let ip = from.map_or(IpAddr::from([0, 0, 0, 0]), peer);
        match self.addresses.take(&ip) {
            Err(wait) => Some(wait),
            Ok(_) => {
                if self.may_report() {
                    tracing::warn!(peer = ?from, "{what}");
                }
                None
            }
        }
    }

    /// Whether one more line about wrong keys may be written.
    pub fn may_report(&self) -> bool {
        self.lines.take(&()).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn an_address_that_guesses_is_delayed_and_no_other() {
        let wrong_keys = WrongKeys::default();
        let try_from = |ip: &str| wrong_keys.count(Some(ip.parse().unwrap()), "a test");
        let since = Instant::now();
        // Time goes by during the test: one more is refused at once per period, and one that had begun.
        let more = |every: u64| usize::try_from(since.elapsed().as_secs() / every + 1).unwrap();
        let waits: Vec<_> = (0..40).map(|_| try_from("192.0.2.7")).collect();
        assert!(waits[..20].iter().all(Option::is_none), "{waits:?}");
        let at_once = waits.iter().filter(|it| it.is_none()).count();
        assert!(at_once <= 20 + more(WRONG_EVERY.as_secs()), "{waits:?}");
        let delayed = waits.iter().flatten();
        assert!(delayed.clone().all(|it| *it <= WRONG_EVERY), "{waits:?}");
        assert_eq!(at_once + delayed.count(), 40);
        assert_eq!(try_from("192.0.2.8"), None);
        let reported = (0..1000).filter(|_| wrong_keys.may_report()).count();
        assert!(reported <= 60 + more(1), "{reported}");
    }

    #[test]
    fn few_refusals_wait_at_a_small_listener() {
        for (connections, delayed) in [(4096, 256), (100_000, 256), (64, 4), (15, 0)] {
            let wrong_keys = WrongKeys::new(WRONG_BURST, connections);
            assert_eq!(wrong_keys.delayed.available_permits(), delayed);
        }
    }
}
