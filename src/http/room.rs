//! Room for bulk: how many items of batches may be on their way at once.
//!
//! **Bounds.** [`ITEMS_MAX`]. Each item of another account is a commit of its own, and the store's
//! queue refuses what it has no place for. Beyond it a batch waits for its turn, first come first
//! served, and is answered `overloaded` as a whole, with nothing done, when the turn does not come.

use std::time::Duration;

use caudal_actors::engine::DEADLINE;
use caudal_actors::failure::Failure;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Half of what the store's queue holds: single postings find place beside the batches.
const ITEMS_MAX: u32 = 4096;

/// The room of one process.
#[derive(Debug)]
pub struct Room {
    free: Semaphore,
    longest: Duration,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(DEADLINE)
    }
}

impl Room {
    fn new(longest: Duration) -> Self {
        let free = usize::try_from(ITEMS_MAX).unwrap_or(usize::MAX);
        Self {
            free: Semaphore::new(free),
            longest,
        }
    }

    /// Waits until so many items have room; a batch that is larger than the room has it alone. They
    /// have it until what is given is dropped.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] when that takes too long.
    pub async fn enter(&self, items: usize) -> Result<SemaphorePermit<'_>, Failure> {
        let items = u32::try_from(items).unwrap_or(u32::MAX).min(ITEMS_MAX);
        let turn = tokio::time::timeout(self.longest, self.free.acquire_many(items)).await;
        turn.ok().and_then(Result::ok).ok_or(Failure::Overloaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn a_batch_waits_until_others_have_left() {
        let room = Room::new(Duration::from_millis(5));
        let first = room.enter(4000).await.unwrap();
        let second = room.enter(96).await.unwrap();
        assert_eq!(room.enter(1).await.unwrap_err(), Failure::Overloaded);
        drop(first);
        // The largest has to be alone.
        assert!(room.enter(10_000).await.is_err());
        drop(second);
        assert!(room.enter(10_000).await.is_ok());
        // Who gave up waiting stands in nobody's way.
        assert!(room.enter(1).await.is_ok());
    }
}
