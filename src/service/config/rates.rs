//! The setting of the rate limit of each key.

use std::num::NonZeroU32;

use caudal_http::rate::PerSecond;
use serde::Deserialize;

/// How many requests may pass, in the long run and in a burst.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimit {
    per_second: NonZeroU32,
    burst: NonZeroU32,
}

impl RateLimit {
    pub(super) const fn rate(self) -> PerSecond {
        (self.per_second, self.burst)
    }
}
