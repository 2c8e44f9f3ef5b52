//! Figures of the log for operators, which live as long as a handle to them.

use std::sync::{Mutex, PoisonError};

/// Shared by a log and the code that shows its figures.
#[derive(Debug, Default)]
pub struct Status(pub(crate) Mutex<Figures>);

/// Figures since the handle was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Records that the server acknowledged.
    pub appends: u64,
    /// Appends whose answer was lost.
    pub unknown: u64,
    /// Statements that were sent again.
    pub retries: u64,
    /// Connections that were made.
    pub connections: u64,
    /// How many synchronous standbys must have a record before it counts as appended.
    pub standbys: u64,
    /// Bytes of the records that were appended.
    pub bytes: u64,
    /// Compressed bytes of those records.
    pub packed: u64,
}

impl Figures {
    /// How many copies of a record exist once it counts as appended.
    pub fn copies(&self) -> u64 {
        self.standbys + 1
    }
}

impl Status {
    /// The figures as of now.
    pub fn figures(&self) -> Figures {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
