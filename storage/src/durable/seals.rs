//! Hands segments that take no more records from the writer to the background check.

use std::sync::{Condvar, Mutex};

use crate::folder::Stamp;
use crate::journal::seal::Seal;
use crate::sync::lock;

/// A segment that takes no more records, and what its file was before it was read, if it was.
pub(super) type Fresh = (Seal, Option<Stamp>);

/// Segments that wait to be noted; the writer leaves them here.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    /// And whether the thread is to end.
    pub(super) waiting: Mutex<(Vec<Fresh>, bool)>,
    /// Signalled when something waits, or the thread is to end.
    pub(super) changed: Condvar,
}

impl Seals {
    /// A segment takes no more records, and all of them are flushed.
    pub(crate) fn push(&self, seal: Seal) {
        lock(&self.waiting).0.push((seal, None));
        self.changed.notify_all();
    }
}
