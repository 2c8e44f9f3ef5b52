//! Gives a cell to another node on purpose: for an upgrade, or before this process ends.
//!
//! **Order.** No new request is admitted; those that are served end; the actors stop; everything submitted becomes
//! durable; only then the lease is given back, for one node by name. Requests that come meanwhile wait, and are
//! passed on to the node that took the cell.
//!
//! **Bounds.** Requests have [`DRAIN`] to end, realms [`REST`] to come to rest. The store refuses what is written
//! after that, and the answer is that the outcome is unknown. Long answers are cut, so that they take none of that
//! time.
//!
//! **Failure.** If the log does not confirm the hand-over, this node follows all the same: the log may have taken it
//! without an answer. The cell is free when its lease ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use caudal_actors::cells::FIRST;
use caudal_storage::StoreError;

use super::{Node, Seat};
use crate::http::Door;
use crate::http::gate::Gate;

/// How long requests that are served may take to end: as long as a bank may take to answer.
const DRAIN: Duration = Duration::from_secs(30);
/// How often long answers are told to end meanwhile: some of them may begin only then.
const CUT_EVERY: Duration = Duration::from_millis(50);
/// How long realms may take to come to rest.
const REST: Duration = Duration::from_secs(5);

/// Why the cell was not given away.
#[derive(Debug, thiserror::Error)]
pub enum NotGiven {
    /// The cell is not this node's.
    #[error("this node does not own the cell; ask its owner")]
    NotOwner,
    /// No node is there to take it.
    #[error("no such node follows the cell now")]
    Nobody,
    /// The log did not confirm it.
    #[error("this node follows, and the cell is free when its lease ends: {0}")]
    Store(StoreError),
}

impl Node {
    /// Keeps the cell from being given away while the guard is held; `None` where there is no such cell.
    pub async fn kept(&self, cell: u32) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        Some(self.seat(cell)?.giving.lock().await)
    }

    /// Gives a cell to the node of this name, or to the one that has applied most, and returns its name. When this
    /// returns, that node may take the cell, and need not have done so yet.
    ///
    /// # Errors
    /// When it is not given away.
    pub async fn hand_over(
        self: &Arc<Self>,
        door: &Door,
        (cell, to): (u32, Option<&str>),
    ) -> Result<Arc<str>, NotGiven> {
        if !self.seat(cell).is_some_and(Seat::is_open) {
            return Err(NotGiven::NotOwner);
        }
        self.give(door, (cell, to)).await
    }

    /// Like [`Self::hand_over`], for a node that owns a cell whether it serves it or not.
    ///
    /// # Errors
    /// When it is not given away.
    pub async fn give(
        self: &Arc<Self>,
        door: &Door,
        (cell, to): (u32, Option<&str>),
    ) -> Result<Arc<str>, NotGiven> {
        let seat = self.seat(cell).ok_or(NotGiven::NotOwner)?;
        let _giving = seat.giving.lock().await;
        if !seat.member.is_sure() {
            return Err(NotGiven::NotOwner);
        }
        let to = self.follower(cell, to).ok_or(NotGiven::Nobody)?;
        let began = Instant::now();
        self.serve(cell, false);
        let drained = tokio::time::timeout(DRAIN, self.drain(cell, &door.gate)).await;
        if cell == FIRST {
            self.platform_is_here(false);
        }
        let rested = tokio::time::timeout(REST, door.engine.rest(cell)).await;
        if drained.is_err() || !matches!(rested, Ok(Ok(()))) {
            tracing::warn!(cell, "the cell is handed over before everything has ended");
        }
        // It may have gone meanwhile; another one is better than the end of the lease.
        let there = self.follower(cell, Some(&to));
        let to = there.or_else(|| self.follower(cell, None)).unwrap_or(to);
        let (member, name) = (seat.member.clone(), Arc::clone(&to));
        let given = tokio::task::spawn_blocking(move || member.hand_over(&name)).await;
        match given.unwrap_or(Err(StoreError::Closed)) {
            Ok(()) => {
                self.passed.handed_over.fetch_add(1, Ordering::Relaxed);
                let ms = began.elapsed().as_millis();
                tracing::info!(cell, to = &*to, ms, "the cell was handed over");
                Ok(to)
            }
            Err(why) => Err(NotGiven::Store(why)),
        }
    }

    /// Waits until no request of a cell is served here any more; long answers are told to end.
    async fn drain(&self, cell: u32, gate: &Gate) {
        let emptied = async || {
            gate.interrupt();
            tokio::time::timeout(CUT_EVERY, self.emptied(cell)).await
        };
        while emptied().await.is_err() {}
    }
}
