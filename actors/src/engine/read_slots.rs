//! Slots for reads of the store. A bounded number of reads runs at a time, off the actors' threads and off those that
//! serve requests.
//!
//! **Bounds.** A page that costs only its own rows waits for other pages, never for a scan. There are few slots for
//! scans, so that they leave processors to the rest, and no realm gets all of them. A read that has waited as long as
//! its caller waits for an answer fails: the service is overloaded.

use std::any::Any;
use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_storage::{Index, Store};
use dashmap::DashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{Core, DEADLINE, Realms};
use crate::failure::Failure;

/// How many point reads run at the same time.
const POINTS_MAX: usize = 64;
/// How many pages are read at the same time.
const PAGES_MAX: usize = 32;
/// How many scans run at the same time.
const SCANS_MAX: usize = 4;
/// How many of these scans may be of one realm.
const SCANS_OF_REALM_MAX: usize = 2;

/// The cost of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadCost {
    /// A few rows, however much data there is.
    Point,
    /// Only its own rows, however much data there is.
    Page,
    /// More, the more data there is.
    Scan,
}

impl ReadCost {
    /// `Scan` if `is` is true, otherwise `Page`.
    pub(super) const fn scan_if(is: bool) -> Self {
        if is { Self::Scan } else { Self::Page }
    }
}

/// Bounds the reads that run at a time, and queues the others.
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
    /// Waits for a turn, first in the realm's own queue, then in the common one. The turn ends when the permits are
    /// dropped.
    async fn take(
        &self,
        realm: RealmId,
        cost: ReadCost,
    ) -> Result<Vec<OwnedSemaphorePermit>, Failure> {
        let queues = match cost {
            ReadCost::Point => vec![Arc::clone(&self.points)],
            ReadCost::Page => vec![Arc::clone(&self.pages)],
            ReadCost::Scan => {
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

/// A read with its result, whatever their types are.
type Job = Box<dyn FnOnce(&ReadAccess) -> Box<dyn Any + Send> + Send>;

/// The data that a reader may use.
pub(super) struct ReadAccess {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The realms of this process.
    pub realms: Arc<Realms>,
}

impl Core {
    /// Reads rows off the serving threads, when its turn comes.
    pub(super) async fn scan<T: Send + 'static, E: Into<Failure>>(
        &self,
        realm: RealmId,
        cost: ReadCost,
        work: impl FnOnce(&dyn Index) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Failure> {
        self.look(realm, cost, move |books| {
            work(books.store.as_ref()).map_err(Into::into)
        })
        .await
    }

    /// Reads off the serving threads, when its turn comes.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        realm: RealmId,
        cost: ReadCost,
        work: impl FnOnce(&ReadAccess) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let job: Job = Box::new(move |books| Box::new(work(books)));
        let result = self.read(realm, cost, job).await?;
        *result.downcast().map_err(|_| Failure::Bug)?
    }

    /// As [`Self::look`], not compiled for each kind of read.
    async fn read(
        &self,
        realm: RealmId,
        cost: ReadCost,
        job: Job,
    ) -> Result<Box<dyn Any + Send>, Failure> {
        let turn = self.read_slots.take(realm, cost).await?;
        let books = ReadAccess {
            store: Arc::clone(&self.store),
            realms: Arc::clone(&self.realms),
        };
        let done = tokio::task::spawn_blocking(move || {
            let result = job(&books);
            drop(turn);
            result
        });
        // Such a thread only reads, so a panic there leaves nothing behind.
        done.await.map_err(|why| {
            tracing::error!(%why, "read did not finish in time");
            Failure::Bug
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_page_waits_for_no_scan_and_no_realm_has_all_scans() {
        let slots = ReadSlots::default();
        let (one, other) = (RealmId(1), RealmId(2));
        let first = slots.take(one, ReadCost::Scan).await.unwrap();
        let second = slots.take(one, ReadCost::Scan).await.unwrap();
        let refused = slots.take(one, ReadCost::Scan).await;
        assert_eq!(refused.unwrap_err(), Failure::Overloaded);
        let others = [
            slots.take(other, ReadCost::Scan).await.unwrap(),
            slots.take(other, ReadCost::Scan).await.unwrap(),
        ];
        let third = slots.take(RealmId(3), ReadCost::Scan).await;
        assert_eq!(third.unwrap_err(), Failure::Overloaded);
        slots.take(one, ReadCost::Page).await.unwrap();
        drop((first, second));
        slots.take(one, ReadCost::Scan).await.unwrap();
        drop(others);
    }
}
