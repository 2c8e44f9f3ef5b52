//! A node's part in its cell, for the layer that takes requests there.
//!
//! **Shape.** It holds nothing of the store: when that is gone, the node owns nothing.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::api::StoreError;
use crate::durable::queue::Item;
use crate::durable::{DurableStore, Shared};
use crate::log::Standing;

/// A way to a node's part in its cell.
#[derive(Clone)]
pub struct Member(Weak<Shared>);

impl std::fmt::Debug for Member {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Member")
            .field("sure", &self.is_sure())
            .finish()
    }
}

impl DurableStore {
    /// This node's part in the cell, for whoever takes requests here.
    pub fn member(&self) -> Member {
        Member(Arc::downgrade(&self.shared))
    }
}

impl Member {
    /// Whether this node owns the cell and, by its own clock, no other can: what it reads now is the last word.
    pub fn is_sure(&self) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| shared.role.is_sure())
    }

    /// Whether this node owns the cell, however sure it is of that: another may, once its lease has ended.
    pub fn owns(&self) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| shared.role.refusing().is_none())
    }

    /// Whether it may take the cell when nobody has it. It may not until it is told so, and not again after it has
    /// owned the cell: whoever acts for an owner has to have ended by then.
    pub fn willing(&self, willing: bool) {
        if let Some(shared) = self.0.upgrade() {
            shared.role.willing(willing);
        }
    }

    /// Who owns the cell and who is there, as the log said last, and how long ago it was asked; `None` before it
    /// has said so.
    pub fn standing(&self) -> Option<(Standing, Duration)> {
        self.0.upgrade()?.role.standing()
    }

    /// Lets the node of this name own the cell, when everything that was submitted is durable. Blocks until that
    /// is done; this node follows then.
    ///
    /// # Errors
    /// [`StoreError::NotOwner`] when it does not own the cell, [`StoreError::Unreachable`] when the log cannot be
    /// told: this node follows all the same, and the cell is free when its lease ends.
    pub fn hand_over(&self, to: &str) -> Result<(), StoreError> {
        let (reply, done) = sync_channel(1);
        let pushed = match self.0.upgrade() {
            Some(shared) => shared.queue.push(Item::Yield(Arc::from(to), reply)),
            None => return Err(StoreError::Closed),
        };
        pushed.map_err(|refused| refused.1)?;
        done.recv().unwrap_or(Err(StoreError::Closed))
    }
}
