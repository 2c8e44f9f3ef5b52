//! How complete each cell is on this node, where other nodes write some of them.
//!
//! **Shape.** Where each cell has an owner of its own, the owner of the first cell ships all of them: the others from
//! its copies, which follow their logs. [`Level`] reports how complete they are; [`Alone`] is a service that writes all
//! of its cells.
//!
//! **Order.** A copy has only durable records, in the order of the log, and may lag. So what a log had at some moment
//! is certain to be here only after a [`Level::level`] that was called later.
//!
//! **Failure.** Waiting for a log that cannot be followed is bounded.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::depot::Later;

/// The number of the first cell.
pub const FIRST: u32 = 0;

/// How complete each cell is on this node, and which node ships.
pub trait Level: Debug + Send + Sync {
    /// Whether this service ships. Two nodes may believe so for a moment: what they write is consistent.
    fn ships(&self) -> bool;
    /// The name of the node that ships; `None` where there are no other nodes, or it is not known.
    fn shipper(&self) -> Option<Arc<str>>;
    /// How long ago this node had everything that a cell's log had then; `None` while something is missing.
    fn age(&self, cell: u32) -> Option<Duration>;
    /// Waits until this node has everything that a cell's log had when this was called.
    ///
    /// Fails when that takes too long; the message says what to look at.
    fn level(&self, cell: u32) -> Later<'_, ()>;
}

/// A service that writes all of its cells itself.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Level for Alone {
    fn ships(&self) -> bool {
        true
    }

    fn shipper(&self) -> Option<Arc<str>> {
        None
    }

    fn age(&self, _cell: u32) -> Option<Duration> {
        Some(Duration::ZERO)
    }

    fn level(&self, _cell: u32) -> Later<'_, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
