//! Gives the log to another node on purpose: for an upgrade, or before this process ends.
//!
//! **Order.** No new request is admitted: it is `not_owner`, with the URL of the node that gets the log. Those that are
//! served end; the actors stop; everything submitted becomes durable; only then the lease is given back, for one node by
//! name.
//!
//! **Bounds.** Requests have [`DRAIN`] to end, realms [`REST`] to come to rest. The store refuses what is written
//! after that, and the answer is that the outcome is unknown. Long answers are cut, so that they take none of that
//! time, and a request whose body has not arrived is not waited for.
//!
//! **Failure.** If the log does not confirm the hand-over, this node follows all the same: the log may have taken it
//! without an answer. The log is free when its lease ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use caudal_storage::StoreError;

use super::{Node, Successor};
use crate::AppState;
use crate::gate::Gate;

/// How long requests that are served may take to end: as long as a bank may take to answer.
const DRAIN: Duration = Duration::from_secs(30);
/// How often long answers are told to end meanwhile: some of them may begin only then.
const CUT_EVERY: Duration = Duration::from_millis(50);
/// How long realms may take to come to rest.
const REST: Duration = Duration::from_secs(5);

/// Why the log was not given away.
#[derive(Debug, thiserror::Error)]
pub enum NotGiven {
    /// The log is not this node's.
    #[error("this node does not own the log; ask its owner")]
    NotOwner,
    /// No node is there to take it.
    #[error("no such node follows the log now")]
    Nobody,
    /// The log did not confirm it.
    #[error("this node follows, and the log is free when its lease ends: {0}")]
    Store(StoreError),
}

impl Node {
    /// Gives the log to the node of this name, or to the one that has applied most, and returns its name. When this
    /// returns, that node may take the log, and need not have done so yet.
    ///
    /// # Errors
    /// When it is not given away.
    pub async fn hand_over(
        self: &Arc<Self>,
        app: &AppState,
        to: Option<&str>,
    ) -> Result<Arc<str>, NotGiven> {
        if self.serves() {
            self.give(app, to).await
        } else {
            Err(NotGiven::NotOwner)
        }
    }

    /// Like [`Self::hand_over`], for a node that owns the log whether it serves or not.
    ///
    /// # Errors
    /// When it is not given away.
    pub async fn give(
        self: &Arc<Self>,
        app: &AppState,
        to: Option<&str>,
    ) -> Result<Arc<str>, NotGiven> {
        let _giving = self.giving.lock().await;
        if !self.member.is_sure() {
            return Err(NotGiven::NotOwner);
        }
        let to = self.follower(to).ok_or(NotGiven::Nobody)?;
        let began = Instant::now();
        let next = |name: &Arc<str>, offered| {
            let name = Arc::clone(name);
            self.succeeds(Some(Successor { name, offered }));
        };
        next(&to, None);
        self.serve(false);
        let drained = tokio::time::timeout(DRAIN, self.drain(&app.gate)).await;
        // Afterwards another node writes.
        let counted = app.key_reads.write(&app.engine);
        if !matches!(tokio::time::timeout(REST, counted).await, Ok(Ok(()))) {
            tracing::warn!("the latest reads of keys are not in the audit log");
        }
        let rested = tokio::time::timeout(REST, app.engine.lifecycle().rest()).await;
        if drained.is_err() || !matches!(rested, Ok(Ok(()))) {
            tracing::warn!("the log is handed over before everything has ended");
        }
        // It may have gone meanwhile; another one is better than the end of the lease.
        let there = self.follower(Some(&to));
        let to = there.or_else(|| self.follower(None)).unwrap_or(to);
        let (member, name) = (self.member.clone(), Arc::clone(&to));
        let given = tokio::task::spawn_blocking(move || member.hand_over(&name)).await;
        next(&to, Some(Instant::now()));
        match given.unwrap_or(Err(StoreError::Closed)) {
            Ok(()) => {
                self.counts.handed_over.fetch_add(1, Ordering::Relaxed);
                let ms = began.elapsed().as_millis();
                tracing::info!(to = &*to, ms, "the log was handed over");
                Ok(to)
            }
            Err(why) => Err(NotGiven::Store(why)),
        }
    }

    /// Waits until no request is served here any more; long answers are told to end.
    async fn drain(&self, gate: &Gate) {
        let emptied = async || {
            gate.interrupt();
            tokio::time::timeout(CUT_EVERY, self.emptied()).await
        };
        while emptied().await.is_err() {}
    }
}
