//! The clock of a realm: the service's clock, and in a test realm how far a test key has advanced it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use caudal_ledger::time::Timestamp;

use crate::ports::{Clock, ClockDoubt};

/// The clock by which the actors of a realm decide, and whose time is in the realm's streams.
#[derive(Debug)]
pub struct RealmClock {
    service: Arc<dyn Clock>,
    /// How far it is ahead of the service's clock, in milliseconds.
    ahead: AtomicU64,
}

impl RealmClock {
    /// A clock that agrees with the service's.
    pub fn new(service: Arc<dyn Clock>) -> Self {
        Self {
            service,
            ahead: AtomicU64::new(0),
        }
    }

    /// Sets how far it is ahead of the service's clock, in milliseconds.
    pub fn follow(&self, ahead: u64) {
        self.ahead.store(ahead, Ordering::Release);
    }

    /// The present time by the service's clock: for what another machine compares with its own clock.
    pub fn service_time(&self) -> Timestamp {
        self.service.now()
    }

    /// When this clock shows what the service's clock showed at an instant.
    pub fn of_service(&self, at: Timestamp) -> Timestamp {
        at.plus_millis(self.ahead.load(Ordering::Acquire))
    }

    /// The present time of the realm.
    pub fn now(&self) -> Timestamp {
        self.of_service(self.service.now())
    }

    /// Why the machine's clock is not believed; `None` while it is.
    pub fn doubt(&self) -> Option<ClockDoubt> {
        self.service.doubt()
    }
}
