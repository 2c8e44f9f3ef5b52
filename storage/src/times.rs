//! How long commits and flushes take: histogram handles that are passed in from outside.
//!
//! **Shape.** A handle is made once and recorded to without a look-up. The ones of [`Times::default`] count nothing.

use std::time::Instant;

use metrics::Histogram;

use crate::api::{CommitNo, Done, StoreError};

/// Where a durable store counts what it does.
#[derive(Clone, Debug)]
pub struct Times {
    /// From the submission of a commit until it is durable and visible, in seconds; refused ones do not count.
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
    /// A record of this many commits is durable.
    pub(crate) fn group_of(&self, commits: usize) {
        // A group has a limit far below what this takes.
        if let Ok(commits) = u32::try_from(commits) {
            self.group.record(commits);
        }
    }

    /// A group has ended, before anybody is told.
    pub(crate) fn ended(&self, outcomes: &[(Done, Result<CommitNo, StoreError>, Option<Instant>)]) {
        let now = Instant::now();
        for (_, result, came) in outcomes {
            if let (Ok(_), Some(came)) = (result, came) {
                self.commit.record(now.duration_since(*came));
            }
        }
    }
}
