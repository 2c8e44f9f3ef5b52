//! The one place that reads the machine's clock.

mod guard;

use std::time::{SystemTime, UNIX_EPOCH};

use caudal_ledger::time::Timestamp;

pub use guard::{DOWN_MAX, GuardedClock, JUMP_MAX, Machine, Sources};

/// The current time by the machine's clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
