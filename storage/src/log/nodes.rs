//! Who is there: the owner of a cell, and the nodes that follow it, as the log knows them.
//!
//! **Bounds.** [`NODES_MAX`] nodes are told of, those that were seen last.
//!
//! **Failure.** None of this decides who may append: it is for whoever passes requests on, and for operators.

use std::sync::Arc;
use std::time::Duration;

use crate::api::CommitNo;
use crate::log::{Epoch, Tail};

/// How long a cell that was given to a node by name waits for that node alone.
pub const OFFER: Duration = Duration::from_secs(2);
/// How long a cell is reserved that is reserved for good: a hundred years.
pub const RESERVED: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How many nodes are told of at most.
pub const NODES_MAX: usize = 64;

/// What a node says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Presence {
    /// Its name, which no other node has.
    pub name: Arc<str>,
    /// Where other nodes reach it.
    pub address: Arc<str>,
    /// How far its rows reach.
    pub applied: CommitNo,
}

/// A node as it was last seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// What it said.
    pub node: Presence,
    /// How long ago, by the log's clock.
    pub ago: Duration,
}

/// Who owns a cell, and who is there besides.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Standing {
    /// The last epoch.
    pub epoch: Epoch,
    /// The name of its owner; `None` when the cell was given back, or was never owned.
    pub owner: Option<Arc<str>>,
    /// For whom the cell is kept, when it was given to a node by name or is reserved.
    pub offered: Option<Arc<str>>,
    /// How long the lease, the offer or the reservation lasts still; `None` when it is over.
    pub left: Option<Duration>,
    /// The end of the log.
    pub tail: Tail,
    /// The nodes that were seen lately, the owner among them.
    pub nodes: Vec<Seen>,
}

impl Standing {
    /// Whether `name` may take the cell, as far as this is true still.
    pub fn is_free_for(&self, name: &str) -> bool {
        self.left.is_none() || self.offered.as_deref() == Some(name)
    }

    /// Where the owner is reached, while its lease lasts.
    pub fn address(&self) -> Option<&Arc<str>> {
        self.left?;
        let owner = self.owner.as_ref()?;
        let mut known = self.nodes.iter().map(|seen| &seen.node);
        known
            .find(|node| node.name == *owner)
            .map(|node| &node.address)
    }
}
