//! The end of a log, and a signal for threads that wait for it to move.

use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use crate::api::CommitNo;
use crate::log::Tail;
use crate::sync::{lock, wait_for};

/// The last known end, and the signal that it has moved.
#[derive(Debug)]
pub(crate) struct TailWatch {
    tail: Mutex<Tail>,
    moved: Condvar,
}

impl TailWatch {
    /// A watch on a log that ends at `tail`.
    pub(crate) fn new(tail: Tail) -> Self {
        Self {
            tail: Mutex::new(tail),
            moved: Condvar::new(),
        }
    }

    /// The end as it is now.
    pub(crate) fn now(&self) -> Tail {
        *lock(&self.tail)
    }

    /// Sets the new end and wakes the waiting threads.
    pub(crate) fn moved(&self, tail: Tail) {
        *lock(&self.tail) = tail;
        self.moved.notify_all();
    }

    /// Waits at most `most` until the end is after `past`; returns the end.
    pub(crate) fn wait_past(&self, past: CommitNo, most: Duration) -> Tail {
        let began = Instant::now();
        let mut tail = lock(&self.tail);
        while tail.commit <= past {
            let Some(left) = most.checked_sub(began.elapsed()) else {
                break;
            };
            tail = wait_for(&self.moved, tail, left);
        }
        *tail
    }
}
