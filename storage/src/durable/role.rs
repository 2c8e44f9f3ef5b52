//! Whether this node appends to the log of its cell or only follows it, and how certain it is of that.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::api::StoreError;
use crate::durable::options::{OnRoleChange, RoleChange};
use crate::log::{ClusterView, Epoch};
use crate::sync::lock;

/// Shared by the threads of a store. A node that was deposed, or has handed its cell over, owns it again only after it
/// was told that it may: by then everything that acted for the owner has ended.
pub(crate) struct Role {
    owns: AtomicBool,
    turned: Option<OnRoleChange>,
    /// Whether the node may take the cell.
    willing: AtomicBool,
    /// The log's last answer about its nodes, and when it was asked.
    cluster_view: Mutex<Option<(ClusterView, Instant)>>,
    /// Until when no other node can own the cell, by this node's own clock; `None` when there is no limit.
    sure_until: Mutex<Option<Instant>>,
}

impl Role {
    /// The role of an owner or a follower; `turned` is called at each change.
    pub(crate) fn new(owns: bool, turned: Option<OnRoleChange>) -> Self {
        Self {
            owns: AtomicBool::new(owns),
            turned,
            willing: AtomicBool::new(false),
            cluster_view: Mutex::new(None),
            sure_until: Mutex::new(None),
        }
    }

    /// Notes until when the lease that was taken or renewed lasts.
    pub(crate) fn sure_until(&self, until: Option<Instant>) {
        *lock(&self.sure_until) = until;
    }

    /// Notes that another node owns the cell from now on.
    pub(crate) fn depose(&self) {
        if self.owns.load(Ordering::Acquire) {
            tracing::error!("another node took over the log: this node appends nothing more");
            self.follow();
        }
    }

    /// Makes this node the owner of the cell.
    pub(crate) fn own(&self, epoch: Epoch, until: Option<Instant>) {
        self.sure_until(until);
        self.owns.store(true, Ordering::Release);
        self.turn(RoleChange::Owns(epoch));
    }

    /// Makes this node only follow from now on.
    pub(crate) fn follow(&self) {
        if self.owns.swap(false, Ordering::AcqRel) {
            self.sure_until(None);
            self.willing(false);
            self.turn(RoleChange::Follows);
        }
    }

    fn turn(&self, turn: RoleChange) {
        if let Some(tell) = &self.turned {
            tell(turn);
        }
    }

    /// Sets whether the node may take the cell when it is free.
    pub(crate) fn willing(&self, willing: bool) {
        self.willing.store(willing, Ordering::Release);
    }

    /// Whether the node may take the cell when it is free.
    pub(crate) fn is_willing(&self) -> bool {
        self.willing.load(Ordering::Acquire)
    }

    /// Stores the log's answer to a question asked at `asked`.
    pub(crate) fn saw(&self, cluster_view: ClusterView, asked: Instant) {
        *lock(&self.cluster_view) = Some((cluster_view, asked));
    }

    /// The log's last answer, and how long ago it was asked.
    pub(crate) fn cluster_view(&self) -> Option<(ClusterView, Duration)> {
        let seen = lock(&self.cluster_view);
        seen.as_ref()
            .map(|(cluster_view, asked)| (cluster_view.clone(), asked.elapsed()))
    }

    /// Whether this node certainly owns the cell.
    pub(crate) fn is_sure(&self) -> bool {
        self.refusing().is_none() && self.lapsed().is_none()
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

/// Why an owner is not certain.
const LAPSED: &str = "the lease of the cell has ended and was not renewed";
