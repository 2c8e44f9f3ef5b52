//! A clock that days can be skipped on.

use std::sync::atomic::{AtomicU64, Ordering};

use caudal_actors::ports::{Clock, KnownTimes};
use caudal_http::clock::GuardedClock;
use caudal_ledger::time::Timestamp;

/// The machine's clock, some days ahead of it.
#[derive(Debug)]
pub(crate) struct ClockAhead {
    machine: GuardedClock,
    millis: AtomicU64,
}

impl Default for ClockAhead {
    fn default() -> Self {
        Self {
            machine: GuardedClock::of_machine(),
            millis: AtomicU64::new(0),
        }
    }
}

impl ClockAhead {
    /// Moves the clock ahead by a day.
    pub(crate) fn next_day(&self) {
        self.millis
            .fetch_add(24 * 60 * 60 * 1000, Ordering::Relaxed);
    }
}

impl Clock for ClockAhead {
    fn now(&self) -> Timestamp {
        let ahead = self.millis.load(Ordering::Relaxed);
        self.machine.now().plus_millis(ahead)
    }

    fn begin(&self, known: KnownTimes) {
        self.machine.begin(known);
    }
}
