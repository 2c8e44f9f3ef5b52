//! A clock that follows the runtime's paused clock, and can be told to panic.

use std::panic::panic_any;
use std::sync::Once;
use std::sync::atomic::{AtomicI64, Ordering};

use caudal_actors::ports::Clock;
use caudal_ledger::time::Timestamp;

/// The payload of a fuse's panic; the panic hook does not print it.
#[derive(Debug)]
pub(super) struct Blown;

/// The clock of a story; see the module.
#[derive(Debug)]
pub(super) struct StillClock {
    start: tokio::time::Instant,
    fuse: AtomicI64,
}

impl StillClock {
    /// A clock that starts now.
    pub(super) fn new() -> Self {
        static QUIET: Once = Once::new();
        QUIET.call_once(|| {
            let loud = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                if !info.payload().is::<Blown>() {
                    loud(info);
                }
            }));
        });
        Self {
            start: tokio::time::Instant::now(),
            fuse: AtomicI64::new(0),
        }
    }

    /// Makes the n-th question for the time from now on panic; 0 removes the fuse.
    pub(super) fn arm(&self, nth: i64) {
        self.fuse.store(nth, Ordering::Relaxed);
    }

    /// The time, without setting off the fuse.
    pub(super) fn peek(&self) -> Timestamp {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        Timestamp::from_millis(1_700_000_000_000 + passed)
    }
}

impl Default for StillClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for StillClock {
    fn now(&self) -> Timestamp {
        if self.fuse.load(Ordering::Relaxed) > 0 && self.fuse.fetch_sub(1, Ordering::Relaxed) == 1 {
            panic_any(Blown);
        }
        self.peek()
    }
}
