//! A node's part in its cell, for the layer that takes requests there.
//!
//! **Shape.** It keeps nothing of the store alive: once the store is gone, the node owns nothing.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::api::StoreError;
use crate::durable::queue::QueueItem;
use crate::durable::{DurableStore, Shared};
use crate::log::ClusterView;

/// A handle to a node's part in its cell.
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
    /// This node's part in the cell, for the layer that takes requests.
    pub fn member(&self) -> Member {
        Member(Arc::downgrade(&self.shared))
    }
}

impl Member {
    /// Whether this node owns the cell and, by its own clock, no other can: then its reads are current.
    pub fn is_sure(&self) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| shared.role.is_sure())
    }

    /// Whether this node owns the cell, even if uncertainly: once its lease has ended, another node may own it.
    pub fn owns(&self) -> bool {
        let shared = self.0.upgrade();
        shared.is_some_and(|shared| shared.role.refusing().is_none())
    }

    /// Sets whether the node may take the cell when nobody owns it. It may not until it is told so, and not again after
    /// it has owned the cell: everything that acted for the owner must have ended by then.
    pub fn willing(&self, willing: bool) {
        if let Some(shared) = self.0.upgrade() {
            shared.role.willing(willing);
        }
    }

    /// The owner and the nodes present, by the log's last answer, and how long ago it was asked; `None` before the
    /// first answer.
    pub fn cluster_view(&self) -> Option<(ClusterView, Duration)> {
        self.0.upgrade()?.role.cluster_view()
    }

    /// Hands the cell over to the named node, once everything that was submitted is durable. Blocks until then; this
    /// node follows from then on.
    ///
    /// # Errors
    /// [`StoreError::NotOwner`] when this node does not own the cell, [`StoreError::Unreachable`] when the log cannot
    /// be told: this node follows all the same, and the cell is free when its lease ends.
    pub fn hand_over(&self, to: &str) -> Result<(), StoreError> {
        let (reply, done) = sync_channel(1);
        let pushed = match self.0.upgrade() {
            Some(shared) => shared.queue.push(QueueItem::Yield(Arc::from(to), reply)),
            None => return Err(StoreError::Closed),
        };
        pushed.map_err(|refused| refused.1)?;
        done.recv().unwrap_or(Err(StoreError::Closed))
    }
}
