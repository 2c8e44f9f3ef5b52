//! How long commits and flushes take: histograms that are passed in from outside.
//!
//! **Shape.** Each handle is made once, so recording needs no lookup. The handles of [`Times::default`] record nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::api::{CommitNo, Done, StoreError};

/// Counts values by their size. Clones count together; that of [`Histogram::default`] counts nothing.
#[derive(Clone, Debug, Default)]
pub struct Histogram(Option<Arc<Buckets>>);

#[derive(Debug)]
struct Buckets {
    /// The highest value of each bucket but the last, rising.
    bounds: Vec<u64>,
    counts: Vec<AtomicU64>,
    sum: AtomicU64,
}

/// What a histogram has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// The highest value of each bucket, with how many values are in it and those before it.
    pub up_to: Vec<(u64, u64)>,
    /// How many values there are.
    pub count: u64,
    /// The sum of all values.
    pub sum: u64,
}

impl Histogram {
    /// A histogram with a bucket up to each of these bounds, which rise, and one more beyond the last.
    pub fn new(bounds: Vec<u64>) -> Self {
        debug_assert!(bounds.is_sorted_by(|one, next| one < next), "{bounds:?}");
        let counts = (0..=bounds.len()).map(|_| AtomicU64::default()).collect();
        Self(Some(Arc::new(Buckets {
            bounds,
            counts,
            sum: AtomicU64::default(),
        })))
    }

    /// A histogram of durations, in nanoseconds, with a bucket up to each of these.
    pub fn of_times(bounds: &[Duration]) -> Self {
        Self::new(bounds.iter().copied().map(nanos).collect())
    }

    /// Counts a value.
    pub fn count(&self, value: u64) {
        let Some(buckets) = &self.0 else {
            return;
        };
        let at = buckets.bounds.partition_point(|bound| *bound < value);
        if let Some(bucket) = buckets.counts.get(at) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        buckets.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// Counts a duration, in nanoseconds.
    pub fn record(&self, took: Duration) {
        self.count(nanos(took));
    }

    /// What was counted so far. Values that are counted meanwhile may be in a bucket and not yet in the sum.
    pub fn read(&self) -> Counted {
        let Some(buckets) = &self.0 else {
            return Counted::default();
        };
        let mut counted = Counted::default();
        let mut bounds = buckets.bounds.iter();
        for bucket in &buckets.counts {
            counted.count += bucket.load(Ordering::Relaxed);
            if let Some(bound) = bounds.next() {
                counted.up_to.push((*bound, counted.count));
            }
        }
        counted.sum = buckets.sum.load(Ordering::Relaxed);
        counted
    }
}

/// The nanoseconds of a duration; 64 bits are 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Where a durable store records the durations of its work.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// From the submission of a commit until it is durable and visible; refused commits do not count.
    pub commit: Histogram,
    /// One append of a record to the log with its flush.
    pub flush: Histogram,
    /// How many commits a record holds.
    pub group: Histogram,
}

impl Times {
    /// Records that a record of this many commits is durable.
    pub(crate) fn group_of(&self, commits: usize) {
        // The limit of a group is far below `u32::MAX`.
        if let Ok(commits) = u32::try_from(commits) {
            self.group.count(commits.into());
        }
    }

    /// Records the durations of a group's commits, before the callbacks run.
    pub(crate) fn ended(&self, outcomes: &[(Done, Result<CommitNo, StoreError>, Option<Instant>)]) {
        let now = Instant::now();
        for (_, result, came) in outcomes {
            if let (Ok(_), Some(came)) = (result, came) {
                self.commit.record(now.duration_since(*came));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_the_first_bucket_that_it_fits() {
        let bounds = [10, 100].map(Duration::from_nanos);
        let histogram = Histogram::of_times(&bounds);
        for value in [0, 10, 11, 100, 101] {
            histogram.clone().count(value);
        }
        histogram.record(Duration::from_nanos(5));
        let right = Counted {
            up_to: vec![(10, 3), (100, 5)],
            count: 6,
            sum: 227,
        };
        assert_eq!(histogram.read(), right);
        let none = Histogram::default();
        none.count(1);
        assert_eq!(none.read(), Counted::default());
    }
}
