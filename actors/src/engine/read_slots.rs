//! Slots for reads of the store: they run off the actors' threads and off those that serve requests,
//! a bounded number at a time.
//!
//! **Bounds.** A page that costs what its rows cost waits for other pages only, never for a scan.
//! There are few slots for scans, so that they leave processors to the rest, and no realm gets all
//! of them. A read that has waited as long as its caller waits for an answer is told that the
//! service is overloaded.

use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_storage::{Index, StoreError};
use dashmap::DashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{DEADLINE, Engine, Realms};
use crate::cells::Cells;
use crate::failure::Failure;
use crate::pace::Pace;

/// How many single things are looked up at the same time.
const POINTS_MAX: usize = 64;
/// How many pages are read at the same time.
const PAGES_MAX: usize = 32;
/// How many scans run at the same time.
const SCANS_MAX: usize = 4;
/// How many of them are of one realm.
const SCANS_OF_REALM_MAX: usize = 2;

/// What a list costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cost {
    /// A few rows, however many there are.
    Point,
    /// What its rows cost, whatever there is besides.
    Page,
    /// More, the more there is.
    Scan,
}

impl Cost {
    /// A scan, if it is one.
    pub const fn scan_if(is: bool) -> Self {
        if is { Self::Scan } else { Self::Page }
    }
}

/// How many reads run at a time, and whose turn is next.
#[derive(Debug)]
pub(super) struct ReadSlots {
    points: Arc<Semaphore>,
    pages: Arc<Semaphore>,
    scans: Arc<Semaphore>,
    realms: DashMap<RealmId, Arc<Semaphore>>,
}

impl Default for ReadSlots {
    fn default() -> Self {
        Self {
            points: Arc::new(Semaphore::new(POINTS_MAX)),
            pages: Arc::new(Semaphore::new(PAGES_MAX)),
            scans: Arc::new(Semaphore::new(SCANS_MAX)),
            realms: DashMap::new(),
        }
    }
}

impl ReadSlots {
    /// Waits for a turn, first among the realm's own, then among all; it ends when what is given is
    /// dropped.
    async fn take(&self, realm: RealmId, cost: Cost) -> Result<Vec<OwnedSemaphorePermit>, Failure> {
        let queues = match cost {
            Cost::Point => vec![Arc::clone(&self.points)],
            Cost::Page => vec![Arc::clone(&self.pages)],
            Cost::Scan => {
                let new = || Arc::new(Semaphore::new(SCANS_OF_REALM_MAX));
                let own = Arc::clone(&self.realms.entry(realm).or_insert_with(new));
                vec![own, Arc::clone(&self.scans)]
            }
        };
        let all = async {
            let mut permits = Vec::with_capacity(queues.len());
            for queue in queues {
                let permit = queue.acquire_owned().await;
                permits.push(permit.map_err(|_| Failure::ShuttingDown)?);
            }
            Ok(permits)
        };
        let waited = timeout(DEADLINE, all).await;
        waited.map_err(|_| Failure::Overloaded)?
    }
}

/// What a reader has before it.
pub(super) struct Books {
    /// The stores that may be read.
    pub cells: Cells,
    /// The realms that there are.
    pub realms: Arc<Realms>,
}

impl Engine {
    /// How much of a realm passes while others ask, too.
    pub fn pace(&self) -> &Pace {
        &self.realms.pace
    }

    /// Reads rows off the threads that serve, when it is its turn.
    pub(super) async fn scan<T: Send + 'static>(
        &self,
        realm: RealmId,
        cost: Cost,
        work: impl FnOnce(&dyn Index) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.look(realm, cost, move |books| {
            Ok(work(books.cells.of(realm).as_ref())?)
        })
        .await
    }

    /// Reads off the threads that serve, when it is its turn.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        realm: RealmId,
        cost: Cost,
        work: impl FnOnce(&Books) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let turn = self.read_slots.take(realm, cost).await?;
        let books = Books {
            cells: self.cells.clone(),
            realms: Arc::clone(&self.realms),
        };
        let done = tokio::task::spawn_blocking(move || {
            let result = work(&books);
            drop(turn);
            result
        });
        // A thread that reads does nothing but read, so a panic there leaves nothing behind.
        done.await.map_err(|why| {
            tracing::error!(%why, "a read did not end");
            Failure::Bug
        })?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_page_waits_for_no_scan_and_no_realm_has_all_scans() {
        let slots = ReadSlots::default();
        let (one, other) = (RealmId(1), RealmId(2));
        let first = slots.take(one, Cost::Scan).await.unwrap();
        let second = slots.take(one, Cost::Scan).await.unwrap();
        let refused = slots.take(one, Cost::Scan).await;
        assert_eq!(refused.unwrap_err(), Failure::Overloaded);
        let others = [
            slots.take(other, Cost::Scan).await.unwrap(),
            slots.take(other, Cost::Scan).await.unwrap(),
        ];
        let third = slots.take(RealmId(3), Cost::Scan).await;
        assert_eq!(third.unwrap_err(), Failure::Overloaded);
        slots.take(one, Cost::Page).await.unwrap();
        drop((first, second));
        slots.take(one, Cost::Scan).await.unwrap();
        drop(others);
    }
}
