//! A clock that the test moves.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use caudal_actors::ports::Clock;
use caudal_ledger::time::Timestamp;

/// A clock that stands still until the test moves it.
#[derive(Debug, Default)]
pub struct TestClock(AtomicU64);

impl TestClock {
    /// A clock that stands at an instant, in milliseconds.
    pub fn standing(millis: u64) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(millis)))
    }

    pub fn at(instant: &str) -> Arc<Self> {
        let clock = Self::default();
        clock.set(instant);
        Arc::new(clock)
    }

    pub fn set(&self, instant: &str) {
        self.0.store(
            Timestamp::parse(instant).unwrap().millis(),
            Ordering::SeqCst,
        );
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}
