//! The settings of rate limits.

use std::num::NonZeroU32;

use serde::Deserialize;

use super::wrong::Wrong;
use crate::http::rate::Rate;

/// The slowest pace of a realm: at this pace the largest batch completes before its client gives up.
const PACE_MIN: u32 = 2000;
/// The fastest pace of a realm.
const PACE_MAX: u32 = 1_000_000;

/// How many requests may pass, in the long run and in a burst.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RateLimit {
    per_second: NonZeroU32,
    burst: NonZeroU32,
}

impl RateLimit {
    pub(super) const fn of((per_second, burst): Rate) -> Self {
        Self { per_second, burst }
    }

    pub(super) const fn rate(self) -> Rate {
        (self.per_second, self.burst)
    }
}

/// The pace of each realm; `None` if it is off.
pub(super) fn pace(set: Option<u32>, wrong: &mut Wrong) -> Option<NonZeroU32> {
    match set {
        None | Some(0) => None,
        Some(number) => {
            wrong.range("realm_pace", number, PACE_MIN, PACE_MAX);
            NonZeroU32::new(number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_of_a_realm_is_set_or_off() {
        let read = |set| {
            let mut wrong = Wrong::default();
            let pace = pace(set, &mut wrong);
            (pace.map(NonZeroU32::get), wrong.0)
        };
        assert_eq!(read(None), (None, Vec::new()));
        assert_eq!(read(Some(0)), (None, Vec::new()));
        assert_eq!(read(Some(PACE_MIN)), (Some(PACE_MIN), Vec::new()));
        let (_, why) = read(Some(PACE_MIN - 1));
        assert_eq!(why, ["realm_pace is 1999; it must be from 2000 to 1000000"]);
    }
}
