//! The sandbox's clock: the machine's own.

use std::time::{SystemTime, UNIX_EPOCH};

/// The present, in milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}
