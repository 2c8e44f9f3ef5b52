//! Hands segments that take no more records from the writer to the background check.

use std::sync::{Condvar, Mutex};

use crate::folder::Stamp;
use crate::journal::seal::Seal;
use crate::sync::lock;

/// A segment that takes no more records, and the stamp of its file from before it was read, if it
/// was read.
pub(super) type Fresh = (Seal, Option<Stamp>);

/// Segments that wait to be noted, where the writer leaves them.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    /// The segments, and whether the thread is to end.
    pub(super) waiting: Mutex<(Vec<Fresh>, bool)>,
    /// Signalled when a segment waits, or the thread is to end.
    pub(super) changed: Condvar,
}

impl Seals {
    /// Adds a segment that takes no more records and is flushed.
    pub(crate) fn push(&self, seal: Seal) {
        lock(&self.waiting).0.push((seal, None));
        self.changed.notify_all();
    }
}
