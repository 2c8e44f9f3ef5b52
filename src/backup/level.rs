//! How much of each cell is here, where other nodes write some of them.
//!
//! **Shape.** Where each cell has an owner of its own, the owner of the first cell ships all of them: the others from its
//! copies, which follow their logs. [`Level`] is what it knows of them; [`Alone`] is a service that writes all of its cells.
//!
//! **Order.** A copy has durable records alone, in the order of the log, and may lag. So what was asked of a cell before is
//! there only after a [`Level::level`] that was asked later.
//!
//! **Failure.** A log that cannot be followed is waited for for a bounded time.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::depot::Later;

/// The number of the first cell.
pub const FIRST: u32 = 0;

/// How much of each cell is here, and who ships.
pub trait Level: Debug + Send + Sync {
    /// Whether this service ships. Two may believe so for a moment: what they write fits together.
    fn ships(&self) -> bool;
    /// Who ships, by the name of the node; `None` where there are no other nodes, or nobody is known to.
    fn shipper(&self) -> Option<Arc<str>>;
    /// How long ago all that the log of a cell had then was here; `None` while some of it is not.
    fn age(&self, cell: u32) -> Option<Duration>;
    /// Waits until everything is here that the log of a cell had when this was asked.
    ///
    /// Fails when it is not in time; the message says what to look at.
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
