//! The room on the volume of the data folder: what is free, what the service keeps back, and for how long it lasts.

use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;

/// The service has to run for this many seconds before its growth says how long the room lasts.
const OBSERVED_MIN: u64 = 3600;
/// The seconds of a day.
const DAY: u64 = 86_400;

/// The room on the volume of the data folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = StatusOfDisk)]
pub(crate) struct DiskFigures {
    /// Bytes that are free for the service.
    pub(crate) free_bytes: u64,
    /// Below this many free bytes writes are refused; 0 if they never are for that reason.
    pub(crate) floor_bytes: u64,
    /// How many days are left until then, if journal and index grow as they did since the start; null within an hour of
    /// the start, and while they do not grow.
    pub(crate) days_left: Option<u64>,
}

impl DiskFigures {
    /// The present figures.
    pub(crate) fn now(admin_state: &AdminState) -> Self {
        let stats = admin_state.operators().stats();
        let (free_bytes, floor_bytes) = (stats.disk_free_bytes, stats.disk_floor_bytes);
        let grown = stats.disk_bytes().checked_sub(admin_state.disk_at_start);
        let left = free_bytes.checked_sub(floor_bytes);
        let seconds = admin_state.uptime_seconds();
        let days_left = left
            .zip(grown)
            .and_then(|(left, grown)| days_left(left, grown, seconds));
        Self {
            free_bytes,
            floor_bytes,
            days_left,
        }
    }
}

/// How many days this many bytes last, after that many were taken in so many seconds.
fn days_left(left: u64, grown: u64, seconds: u64) -> Option<u64> {
    if seconds < OBSERVED_MIN {
        return None;
    }
    let days = u128::from(left) * u128::from(seconds) / u128::from(DAY);
    let days = days.checked_div(u128::from(grown))?;
    u64::try_from(days).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_room_lasts_as_long_as_it_grows_like_before() {
        // Ten bytes in an hour are 240 a day.
        assert_eq!(days_left(2400, 10, 3600), Some(10));
        assert_eq!(days_left(2399, 10, 3600), Some(9));
        assert_eq!(days_left(2400, 0, 3600), None);
        assert_eq!(days_left(2400, 10, 3599), None);
        assert_eq!(days_left(u64::MAX, 1, u64::MAX), None);
    }
}
