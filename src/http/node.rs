//! One node of several that share a log: whether it owns the log, and whom it names when it does not.
//!
//! **Shape.** The owner serves; every other node returns `not_owner` with the owner's public URL ([`layer`]), and has
//! done nothing. The log says who owns it, and where clients reach each node.
//!
//! **Order.** A request is counted before it is checked that this node serves, so waiting for the last one
//! ([`Node::emptied`]) misses none. A request is admitted only while no other node can own the log, and a read is
//! answered only if none could until it was done, so it shows the latest state.
//!
//! **Failure.** What the log says of its owner may be old by a moment. A client that asks the wrong node gets `not_owner` and
//! asks again.

pub mod hand_over;
pub mod layer;

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use caudal_storage::log::{ClusterView, OFFER};
use caudal_storage::{CommitNo, Member};
use tokio::sync::{Mutex, Notify};

/// A node that was not seen for this long counts as gone.
pub const SEEN: Duration = Duration::from_secs(4);

/// The facts by which the nodes of a service and their clients know a node.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The name of this node.
    pub name: Arc<str>,
    /// Where clients, or the load balancer, reach this node.
    pub url: Arc<str>,
    /// How long a lease lasts.
    pub lease: Duration,
}

/// Counts since the start.
#[derive(Debug, Default)]
pub struct NodeCounts {
    /// Requests that were refused because this node does not own the log.
    pub refused: AtomicU64,
    /// How often this node has handed the log over.
    pub handed_over: AtomicU64,
    /// How often this node has begun to serve.
    pub turns: AtomicU64,
}

/// The node to which the log is being given.
#[derive(Clone, Debug)]
struct Successor {
    name: Arc<str>,
    /// When the log was offered to it; `None` while requests still end here.
    offered: Option<Instant>,
}

/// This node.
#[derive(Debug)]
pub struct Node {
    membership: Membership,
    member: Member,
    serves: AtomicBool,
    inside: AtomicUsize,
    left: Notify,
    /// Held while the log is given away.
    giving: Mutex<()>,
    successor: RwLock<Option<Successor>>,
    /// The counts of this node.
    pub counts: NodeCounts,
}

/// A request that is served here.
#[derive(Debug)]
pub struct Inside(Arc<Node>);

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left.notify_waiters();
        }
    }
}

impl Node {
    /// A node that does not serve yet, with its part in the log.
    pub fn new(membership: Membership, member: Member) -> Self {
        Self {
            membership,
            member,
            serves: AtomicBool::new(false),
            inside: AtomicUsize::new(0),
            left: Notify::new(),
            giving: Mutex::new(()),
            successor: RwLock::default(),
            counts: NodeCounts::default(),
        }
    }

    /// The name of this node.
    pub fn name(&self) -> &str {
        &self.membership.name
    }

    /// This node's membership in the log, from its store.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Whether requests are served here, and reads show the latest state.
    pub fn serves(&self) -> bool {
        self.serves.load(Ordering::SeqCst) && self.member.is_sure()
    }

    /// Sets whether requests are served here.
    pub fn serve(&self, serves: bool) {
        if self.serves.swap(serves, Ordering::SeqCst) != serves && serves {
            self.counts.turns.fetch_add(1, Ordering::Relaxed);
            self.succeeds(None);
        }
    }

    /// Why requests are served by no node that this one knows.
    pub fn why_waits(&self) -> String {
        let here = self.name();
        if self.member.owns() {
            format!(
                "{here} owns the log, and begins to serve or gives it away: clients repeat their requests"
            )
        } else {
            format!("{here} knows of no owner of the log: clients repeat their requests")
        }
    }

    /// Admits a request; `None` if it is not served here.
    pub fn enter(self: &Arc<Self>) -> Option<Inside> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(Arc::clone(self));
        self.serves().then_some(inside)
    }

    /// Waits until no request is served here any more; call it once none is admitted.
    pub async fn emptied(&self) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if self.inside.load(Ordering::SeqCst) == 0 {
                return;
            }
            left.await;
        }
    }

    /// Keeps the log from being given away while the guard is held.
    pub async fn kept(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.giving.lock().await
    }

    /// The owner and the nodes of the log, as this node knows them, and how long ago it asked.
    pub fn cluster_view(&self) -> Option<(ClusterView, Duration)> {
        self.member.cluster_view()
    }

    /// Whether requests are served, here or by an owner that this node knows.
    pub fn is_served(&self) -> bool {
        let other = |owner: Arc<str>| *owner != *self.name();
        self.serves() || self.owner().is_some_and(other)
    }

    /// The name of the owner, as far as this node knows. An owner whose lease has ended since counts as none.
    pub fn owner(&self) -> Option<Arc<str>> {
        let (cluster_view, ago) = self.cluster_view()?;
        cluster_view.owner_after(ago).cloned()
    }

    /// The public URL of the owner, or of the node that becomes the owner; `None` while this node knows of none.
    pub fn owner_url(&self) -> Option<Arc<str>> {
        let (cluster_view, ago) = self.cluster_view()?;
        let known = cluster_view.owner_after(ago);
        let other = known.is_some_and(|owner| **owner != *self.name());
        let Some(successor) = self.successor().filter(|_| !other) else {
            return cluster_view.url_after(ago).cloned();
        };
        let mut nodes = cluster_view.nodes.iter().map(|seen| &seen.node);
        let next = nodes.find(|node| node.name == successor.name)?;
        Some(Arc::clone(&next.url))
    }

    /// The node to which this one gives the log, as long as no other may take it.
    fn successor(&self) -> Option<Successor> {
        let successor = self.successor.read();
        let successor = successor.unwrap_or_else(PoisonError::into_inner).clone();
        successor.filter(|it| it.offered.is_none_or(|at| at.elapsed() < OFFER))
    }

    fn succeeds(&self, successor: Option<Successor>) {
        let lock = self.successor.write();
        *lock.unwrap_or_else(PoisonError::into_inner) = successor;
    }

    /// The follower that gets the log: the one named, or the one that has applied most and, among equals, was seen
    /// last.
    fn follower(&self, named: Option<&str>) -> Option<Arc<str>> {
        let (cluster_view, ago) = self.cluster_view()?;
        let here = cluster_view
            .nodes
            .iter()
            .filter(|seen| seen.ago + ago <= SEEN);
        let others = here.filter(|seen| *seen.node.name != *self.name());
        let fit = others.filter(|seen| named.is_none_or(|named| *seen.node.name == *named));
        let furthest = fit.max_by_key(|seen| (seen.node.applied, Reverse(seen.ago)));
        furthest.map(|seen| Arc::clone(&seen.node.name))
    }

    /// The last commit in the log, as this node knows it.
    pub fn head(&self) -> Option<CommitNo> {
        Some(self.cluster_view()?.0.tail.commit)
    }
}
