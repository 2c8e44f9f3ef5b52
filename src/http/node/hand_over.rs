//! Gives the cell to another node on purpose: for an upgrade, or before this process ends.
//!
//! **Order.** No request is taken in; those that are served end; nothing acts any more; what was submitted is durable;
//! only then the lease is given back, for one node by name. Requests that come meanwhile wait, and are passed on
//! to the node that took the cell.
//!
//! **Bounds.** Requests have [`DRAIN`] to end, realms [`REST`] to come to rest. What has not by then is refused by the
//! store, and is answered as unknown.
//!
//! **Failure.** Where the log cannot be told, this node goes on as the owner.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_storage::StoreError;

use super::Node;

/// How long requests that are served have to end.
const DRAIN: Duration = Duration::from_secs(2);
/// How long realms have to come to rest.
const REST: Duration = Duration::from_secs(5);

/// Why the cell was not given away.
#[derive(Debug, thiserror::Error)]
pub enum NotGiven {
    /// It is not this node's.
    #[error("this node does not own the cell; ask its owner")]
    NotOwner,
    /// Nobody is there to take it.
    #[error("no such node follows the cell now")]
    Nobody,
    /// The log cannot be told.
    #[error("the cell stays where it is: {0}")]
    Store(StoreError),
    /// It was not given away, and cannot go on here.
    #[error("the cell was not given away, and the actors cannot go on: {0}")]
    Asleep(Failure),
}

impl Node {
    /// Gives the cell to the node of this name, or to the one that is furthest; gives its name. When this returns, it
    /// may take the cell, and has not yet.
    ///
    /// # Errors
    /// When it is not given away.
    pub async fn hand_over(
        self: &Arc<Self>,
        engine: &Engine,
        to: Option<&str>,
    ) -> Result<Arc<str>, NotGiven> {
        if !self.serves() {
            return Err(NotGiven::NotOwner);
        }
        self.give(engine, to).await
    }

    /// The same of a node that owns the cell, whether it serves or not.
    ///
    /// # Errors
    /// When it is not given away.
    pub async fn give(
        self: &Arc<Self>,
        engine: &Engine,
        to: Option<&str>,
    ) -> Result<Arc<str>, NotGiven> {
        let _giving = self.giving.lock().await;
        if !self.member.is_sure() {
            return Err(NotGiven::NotOwner);
        }
        let to = self.follower(to).ok_or(NotGiven::Nobody)?;
        let began = Instant::now();
        self.serve(false);
        let drained = tokio::time::timeout(DRAIN, self.emptied()).await;
        let rested = tokio::time::timeout(REST, engine.rest()).await;
        if drained.is_err() || !matches!(rested, Ok(Ok(()))) {
            tracing::warn!("the cell is handed over before everything has ended");
        }
        let (member, name) = (self.member.clone(), Arc::clone(&to));
        let given = tokio::task::spawn_blocking(move || member.hand_over(&name)).await;
        match given.unwrap_or(Err(StoreError::Closed)) {
            Ok(()) => {
                self.passed.handed_over.fetch_add(1, Ordering::Relaxed);
                let ms = began.elapsed().as_millis();
                tracing::info!(to = &*to, ms, "the cell was handed over");
                Ok(to)
            }
            Err(why) => {
                engine.wake().map_err(NotGiven::Asleep)?;
                self.serve(true);
                Err(NotGiven::Store(why))
            }
        }
    }
}
