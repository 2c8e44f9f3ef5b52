//! Whether this node appends to the log of its cell, or only follows it.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::api::StoreError;

/// Shared by the threads of a store. An owner that was deposed does not own again: its store is
/// opened anew.
#[derive(Debug)]
pub(crate) struct Role {
    owns: AtomicBool,
}

impl Role {
    /// Of an owner, or of a follower.
    pub(crate) fn new(owns: bool) -> Self {
        Self {
            owns: AtomicBool::new(owns),
        }
    }

    /// Another node owns the cell from now on.
    pub(crate) fn depose(&self) {
        if self.owns.swap(false, Ordering::AcqRel) {
            tracing::error!("another node took the cell: this one appends nothing more");
        }
    }

    /// The error for writers on a node that does not own the cell: nothing was done.
    pub(crate) fn refusing(&self) -> Option<StoreError> {
        let owns = self.owns.load(Ordering::Acquire);
        (!owns).then_some(StoreError::NotOwner { address: None })
    }
}
