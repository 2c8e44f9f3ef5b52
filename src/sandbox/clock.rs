//! The sandbox's clock: the machine's own, and for each collector account how many days it is ahead of that. What is due
//! after a while is due by the machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;

/// A day, in milliseconds.
pub(super) const DAY_MILLIS: u64 = 86_400_000;

/// The present, in milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// What a clock that is this many days ahead shows when the machine's shows `now`.
pub(super) fn ahead(now: u64, days: u32) -> u64 {
    now.saturating_add(u64::from(days).strict_mul(DAY_MILLIS))
}

/// The order to put the clock of a collector account ahead.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Advance {
    /// How many days it is ahead from now on.
    pub days_ahead: u32,
}
