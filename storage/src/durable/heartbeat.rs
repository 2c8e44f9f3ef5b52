//! How a node announces itself to the others of its cell, and what it knows about them.
//!
//! **Bounds.** It announces itself every [`SHOW_EVERY`].

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::CommitNo;
use crate::durable::Shared;
use crate::durable::cell::Cell;
use crate::index::manifest::JournalMark;
use crate::log::nodes::NAME_KEPT;
use crate::log::{ClusterView, LogError, Presence};

/// How often a node announces itself to the others.
const SHOW_EVERY: Duration = Duration::from_secs(1);
/// The pause between two tries to announce a node under a name that is taken.
const CLAIM_PAUSE: Duration = Duration::from_millis(100);

/// How a node announces itself to the others, and when it last did.
pub(crate) struct Heartbeat {
    pub(crate) name: Arc<str>,
    url: Arc<str>,
    process: u64,
    shown: Option<Instant>,
}

impl Heartbeat {
    /// The sign of the named node, which clients reach at this URL.
    pub(crate) fn new(name: &Arc<str>, url: &Arc<str>) -> Self {
        Self {
            name: Arc::clone(name),
            url: Arc::clone(url),
            process: RandomState::new().hash_one(std::process::id()),
            shown: None,
        }
    }

    /// Announces the node for the first time; waits until its name is free, because the process before it may have
    /// ended a moment ago.
    ///
    /// # Errors
    /// [`LogError::NameTaken`] while another process goes on reporting under the name; as [`crate::log::Log::report`].
    pub(crate) fn claim(&self, cell: &mut Cell) -> Result<(), LogError> {
        let began = Instant::now();
        let presence = self.presence(cell.tail().commit);
        loop {
            match cell.log().report(&presence) {
                Err(LogError::NameTaken { .. }) if began.elapsed() < NAME_KEPT + SHOW_EVERY => {
                    std::thread::sleep(CLAIM_PAUSE);
                }
                done => return done,
            }
        }
    }

    fn presence(&self, applied: CommitNo) -> Presence {
        Presence {
            name: Arc::clone(&self.name),
            url: Arc::clone(&self.url),
            applied,
            process: self.process,
        }
    }

    /// How long until the node must announce itself again.
    pub(crate) fn rests(&self) -> Duration {
        let left = |shown: Instant| SHOW_EVERY.checked_sub(shown.elapsed());
        self.shown.and_then(left).unwrap_or(Duration::ZERO)
    }

    /// Announces the node, if it is time, and asks the log which nodes are present.
    pub(crate) fn show(&mut self, shared: &Shared, cell: &mut Cell, mark: JournalMark) {
        if self.shown.is_some_and(|shown| shown.elapsed() < SHOW_EVERY) {
            return;
        }
        self.shown = Some(Instant::now());
        let presence = self.presence(CommitNo(mark.commit));
        if let Err(e) = cell.log().report(&presence) {
            tracing::warn!(error = %e, "heartbeat could not be written");
        }
        look(shared, cell);
    }
}

/// Asks the log which nodes are present; `None` while it does not answer.
pub(crate) fn look(shared: &Shared, cell: &mut Cell) -> Option<ClusterView> {
    let asked = Instant::now();
    match cell.log().cluster_view() {
        Ok(cluster_view) => {
            shared.role.saw(cluster_view.clone(), asked);
            Some(cluster_view)
        }
        Err(e) => {
            tracing::debug!(error = %e, "the owner of the log is unknown");
            None
        }
    }
}
