//! How long commits and flushes take: histogram handles that are passed in from outside.
//!
//! **Shape.** Each handle is made once, so recording needs no lookup. The handles of [`Times::default`] record nothing.

use std::time::Instant;

use metrics::Histogram;

use crate::api::{CommitNo, Done, StoreError};

/// Where a durable store records the durations of its work.
#[derive(Clone, Debug)]
pub struct Times {
    /// From the submission of a commit until it is durable and visible, in seconds; refused commits do not count.
    pub commit: Histogram,
    /// One append of a record to the log with its flush, in seconds.
    pub flush: Histogram,
    /// How many commits a record holds.
    pub group: Histogram,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            commit: Histogram::noop(),
            flush: Histogram::noop(),
            group: Histogram::noop(),
        }
    }
}

impl Times {
    /// Records that a record of this many commits is durable.
    pub(crate) fn group_of(&self, commits: usize) {
        // The limit of a group is far below `u32::MAX`.
        if let Ok(commits) = u32::try_from(commits) {
            self.group.record(commits);
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
