//! Requests counted by duration: the buckets of the exported histogram, for the console to read.
//!
//! **Shape.** One counter for each bucket, incremented wherever the histogram is recorded. The difference between two
//! readings is the activity in between ([`DurationCounts::since`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const fn micros(n: u64) -> Duration {
    Duration::from_micros(n)
}

/// The upper bounds of the buckets of every histogram of time; one more bucket is beyond them.
pub const BOUNDS: [Duration; 20] = [
    micros(5),
    micros(25),
    micros(100),
    micros(250),
    micros(500),
    micros(1_000),
    micros(2_500),
    micros(5_000),
    micros(10_000),
    micros(25_000),
    micros(50_000),
    micros(100_000),
    micros(250_000),
    micros(500_000),
    micros(1_000_000),
    micros(2_500_000),
    micros(5_000_000),
    micros(10_000_000),
    micros(20_000_000),
    micros(30_000_000),
];
const BUCKETS: usize = BOUNDS.len() + 1;

/// Counters of requests by duration.
#[derive(Debug, Default)]
pub struct DurationTally([AtomicU64; BUCKETS]);

/// A reading of a [`DurationTally`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DurationCounts([u64; BUCKETS]);

impl DurationTally {
    /// Counts a request of this duration.
    pub fn count(&self, took: Duration) {
        let at = BOUNDS.partition_point(|bound| *bound < took);
        if let Some(bucket) = self.0.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The counts so far.
    pub fn read(&self) -> DurationCounts {
        let Self(buckets) = self;
        DurationCounts(std::array::from_fn(|at| {
            buckets.get(at).map_or(0, |it| it.load(Ordering::Relaxed))
        }))
    }
}

impl DurationCounts {
    /// The requests counted since an earlier reading.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut both = self.0.iter().zip(before.0);
        Self(std::array::from_fn(|_| {
            both.next().map_or(0, |(now, then)| now.abs_diff(then))
        }))
    }

    /// The number of requests.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The duration within which this percentage of requests ended, interpolated linearly within its bucket; beyond the
    /// last bound it is that bound. `None` if there was no request.
    pub fn within(&self, percent: u64) -> Option<Duration> {
        let wanted = (u128::from(self.sum()) * u128::from(percent)).div_ceil(100);
        let (mut passed, mut from) = (0_u128, Duration::ZERO);
        if wanted == 0 {
            return None;
        }
        for (count, bound) in self.0.iter().zip(BOUNDS) {
            let after = passed + u128::from(*count);
            if after >= wanted {
                let width = bound.abs_diff(from).as_micros();
                let part = (width * (wanted - passed)).checked_div(u128::from(*count));
                let part = part.and_then(|part| u64::try_from(part).ok());
                return Some(from + Duration::from_micros(part?));
            }
            (passed, from) = (after, bound);
        }
        Some(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_rise() {
        assert!(BOUNDS.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn the_time_of_so_many_of_a_hundred_lies_in_its_bucket() {
        let tally = DurationTally::default();
        assert_eq!(tally.read().within(50), None);
        let before = tally.read();
        for _ in 0..98 {
            tally.count(micros(1_000));
        }
        tally.count(micros(40_000));
        let first = tally.read();
        assert_eq!((first.sum(), first.within(99)), (99, Some(micros(50_000))));
        assert_eq!(first.within(50), Some(micros(755)));
        tally.count(Duration::from_secs(3600));
        let later = tally.read();
        assert_eq!(later.since(&first).within(50), BOUNDS.last().copied());
        assert_eq!(later.since(&before).sum(), 100);
        assert_eq!(later.since(&later), DurationCounts::default());
    }
}
