//! Whether this node appends to the log of its cell, or only follows it, and how sure it is of that.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::api::StoreError;
use crate::durable::options::OnDeposed;
use crate::sync::lock;

/// Shared by the threads of a store. An owner that was deposed does not own again: its store is
/// opened anew.
pub(crate) struct Role {
    owns: AtomicBool,
    deposed: Option<OnDeposed>,
    /// Until when no other node can have the cell, by this node's own clock; `None` where that has no
    /// end.
    sure_until: Mutex<Option<Instant>>,
}

impl Role {
    /// Of an owner, or of a follower; `deposed` is called when it is no owner any more.
    pub(crate) fn new(owns: bool, deposed: Option<OnDeposed>) -> Self {
        Self {
            owns: AtomicBool::new(owns),
            deposed,
            sure_until: Mutex::new(None),
        }
    }

    /// The lease was taken or renewed.
    pub(crate) fn sure_until(&self, until: Option<Instant>) {
        *lock(&self.sure_until) = until;
    }

    /// Another node owns the cell from now on.
    pub(crate) fn depose(&self) {
        if self.owns.swap(false, Ordering::AcqRel) {
            tracing::error!("another node took the cell: this one appends nothing more");
            if let Some(tell) = &self.deposed {
                tell();
            }
        }
    }

    /// The error for writers on a node that does not own the cell: nothing was done.
    pub(crate) fn refusing(&self) -> Option<StoreError> {
        let owns = self.owns.load(Ordering::Acquire);
        (!owns).then_some(StoreError::NotOwner { address: None })
    }

    /// The error of an owner whose lease has ended: another node may have the cell by now.
    pub(crate) fn lapsed(&self) -> Option<StoreError> {
        let until = *lock(&self.sure_until);
        let lapsed = until.is_some_and(|until| until <= Instant::now());
        lapsed.then(|| StoreError::Unreachable(LAPSED.into()))
    }
}

/// Why an owner is not sure.
const LAPSED: &str = "the lease of the cell has ended and was not renewed";
