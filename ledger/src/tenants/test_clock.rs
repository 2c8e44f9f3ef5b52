//! The clock of a test realm, which a test key advances by whole days (contract §11, Simulations).
//!
//! **Shape.** Every time in the streams of a realm is by the realm's clock: days, ends of holds, limits and statements
//! follow from it as they follow from the machine's clock in a live realm. An advance is a fact of the platform, whose
//! own stream keeps the machine's time. So the machine's time of any entry of a realm can be computed, and nothing else
//! has to be stored: a restore to an instant and the check of the machine's clock go by that.
//!
//! **Bounds.** A clock only goes forward, at most [`DAYS_AHEAD_MAX`] in all; so it has at most as many advances.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// How many days a test clock can be ahead of the machine's: ten years.
pub const DAYS_AHEAD_MAX: u32 = 3_650;
/// A day, in milliseconds: Argentina has no summer time.
const DAY: u64 = 86_400_000;

/// The point from which a clock is further ahead than before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClockAdvance {
    /// When it was advanced, by the machine's clock.
    pub at: Timestamp,
    /// How many days it is ahead of the machine's clock from then on.
    pub days: u32,
}

impl ClockAdvance {
    /// How far the clock is ahead.
    fn ahead(self) -> u64 {
        u64::from(self.days).strict_mul(DAY)
    }
}

/// The clock of a test realm: its advances, the earliest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TestClock(pub(super) Vec<ClockAdvance>);

impl TestClock {
    /// Whether it agrees with the machine's clock and always has.
    pub const fn is_usual(&self) -> bool {
        self.0.is_empty()
    }

    /// How many days it is ahead of the machine's clock now.
    pub fn days_ahead(&self) -> u32 {
        self.0.last().map_or(0, |last| last.days)
    }

    /// How far it is ahead of the machine's clock now, in milliseconds.
    pub fn ahead(&self) -> u64 {
        self.0.last().map_or(0, |last| last.ahead())
    }

    /// The machine's time when this clock showed `at`.
    pub fn machine_time(&self, at: Timestamp) -> Timestamp {
        let shown = |advance: &ClockAdvance| at.millis().checked_sub(advance.ahead());
        let mut newest_first = self.0.iter().rev();
        let found = newest_first
            .find_map(|advance| shown(advance).filter(|real| *real >= advance.at.millis()));
        found.map_or(at, Timestamp::from_millis)
    }
}
