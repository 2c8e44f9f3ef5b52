//! The nodes of a cell: its owner, and the nodes that follow it, as the log knows them.
//!
//! **Bounds.** At most [`NODES_MAX`] nodes are listed, the most recently seen ones.
//!
//! **Failure.** None of this decides who may append: it tells clients and operators where the owner is.

use std::sync::Arc;
use std::time::Duration;

use crate::api::CommitNo;
use crate::log::{Epoch, Tail};

/// How long a cell that was offered to a node by name is kept for that node alone.
pub const OFFER: Duration = Duration::from_secs(2);
/// The lease length of a permanent reservation: a hundred years.
pub const RESERVED: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How long the name of a node stays its own after its last report: another process must not report under it earlier.
pub const NAME_KEPT: Duration = Duration::from_secs(3);
/// The most nodes that are listed.
pub const NODES_MAX: usize = 64;

/// A node's report about itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Presence {
    /// The node's name, unique among the nodes.
    pub name: Arc<str>,
    /// The URL at which clients reach it.
    pub url: Arc<str>,
    /// How far its rows reach.
    pub applied: CommitNo,
    /// The process that reports: drawn anew at each start. Two processes with one name are two nodes.
    pub process: u64,
}

/// A node as it was last seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeenNode {
    /// Its last report.
    pub node: Presence,
    /// How long ago, by the log's clock.
    pub ago: Duration,
}

/// The owner of a cell, and the other nodes present.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ClusterView {
    /// The last epoch.
    pub epoch: Epoch,
    /// The name of the owner; `None` when the cell was released or never owned.
    pub owner: Option<Arc<str>>,
    /// For whom the cell is kept, if it was offered to a node by name or is reserved.
    pub offered: Option<Arc<str>>,
    /// How much longer the lease, offer or reservation lasts; `None` when it is over.
    pub left: Option<Duration>,
    /// The end of the log.
    pub tail: Tail,
    /// The last commit that an owner is known to have acknowledged; followers take in no later one.
    pub acknowledged: CommitNo,
    /// The nodes that were seen recently, including the owner.
    pub nodes: Vec<SeenNode>,
}

impl ClusterView {
    /// Whether `name` may take the cell, as long as this information is current.
    pub fn is_free_for(&self, name: &str) -> bool {
        self.left.is_none() || self.offered.as_deref() == Some(name)
    }

    /// The owner, if its lease has not expired since; the information is `ago` old.
    pub fn owner_after(&self, ago: Duration) -> Option<&Arc<str>> {
        let lasts = self.left.is_some_and(|left| left > ago);
        self.owner.as_ref().filter(|_| lasts)
    }

    /// The URL of the owner, if its lease has not expired since; the information is `ago` old.
    pub fn url_after(&self, ago: Duration) -> Option<&Arc<str>> {
        let owner = self.owner_after(ago)?;
        let mut known = self.nodes.iter().map(|seen| &seen.node);
        known.find(|node| node.name == *owner).map(|node| &node.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_whose_lease_has_ended_since_is_none() {
        let name: Arc<str> = Arc::from("one");
        let node = Presence {
            name: Arc::clone(&name),
            url: Arc::from("here"),
            applied: CommitNo(1),
            process: 1,
        };
        let ms = Duration::from_millis;
        let cluster_view = |left| ClusterView {
            owner: Some(Arc::clone(&name)),
            left,
            nodes: vec![SeenNode {
                node: node.clone(),
                ago: ms(0),
            }],
            ..ClusterView::default()
        };
        for (left, ago, there) in [
            (Some(ms(10)), ms(9), true),
            (Some(ms(10)), ms(10), false),
            (Some(ms(10)), ms(60_000), false),
            (None, ms(0), false),
        ] {
            let cluster_view = cluster_view(left);
            assert_eq!(
                cluster_view.owner_after(ago).is_some(),
                there,
                "{left:?} {ago:?}"
            );
            let url = cluster_view.url_after(ago).map(|it| &**it);
            assert_eq!(url, there.then_some("here"), "{left:?} {ago:?}");
        }
        let nobodys = ClusterView {
            owner: None,
            ..cluster_view(Some(ms(10)))
        };
        assert_eq!(nobodys.owner_after(ms(0)), None);
        let unseen = ClusterView {
            nodes: Vec::new(),
            ..cluster_view(Some(ms(10)))
        };
        assert_eq!(unseen.url_after(ms(0)), None);
    }
}
