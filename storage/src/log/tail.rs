//! The last acknowledged commit of a log, and a signal for threads that wait for it to move.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::api::CommitNo;
use crate::sync::{lock, wait_for};

/// The last known commit, and the signal that it has moved.
#[derive(Debug)]
pub(crate) struct CommitWatch {
    last: Mutex<CommitNo>,
    moved: Condvar,
}

impl CommitWatch {
    /// A watch on a log whose last acknowledged commit is `last`.
    pub(crate) fn new(last: CommitNo) -> Self {
        Self {
            last: Mutex::new(last),
            moved: Condvar::new(),
        }
    }

    /// The commit as it is now.
    pub(crate) fn now(&self) -> CommitNo {
        *lock(&self.last)
    }

    /// Sets the new commit and wakes the waiting threads.
    pub(crate) fn moved(&self, last: CommitNo) {
        *lock(&self.last) = last;
        self.moved.notify_all();
    }

    /// Waits at most `most` until the commit is after `past`; returns it.
    pub(crate) fn wait_past(&self, past: CommitNo, most: Duration) -> CommitNo {
        let began = Instant::now();
        let mut last = lock(&self.last);
        while *last <= past {
            let Some(left) = most.checked_sub(began.elapsed()) else {
                break;
            };
            last = wait_for(&self.moved, last, left);
        }
        *last
    }
}
