//! Slots for bulk: how many items of batches may be on their way at once, and who reads them.
//!
//! **Shape.** The processor work of a batch before and after it is posted (reading and writing a megabyte of JSON) is
//! done off the threads that serve requests, a few batches at a time. The threads that do it give way to all others: a
//! batch takes milliseconds there, and a voucher that arrives meanwhile needs a hundredth of that.
//!
//! **Bounds.** [`ITEMS_MAX`] items of all realms, [`ITEMS_OF_REALM_MAX`] of one; [`WORKS_MAX`] works of all realms at
//! once, one of each. A batch beyond that waits for its turn, first come first served among those of its realm and
//! then among the realms. If the turn does not come, the whole batch is answered `overloaded`, with nothing done. So
//! a flooding realm waits only for itself.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caudal_actors::engine::DEADLINE;
use caudal_actors::failure::Failure;
use caudal_ledger::ids::RealmId;
use rustix::process::nice;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Half of the store's queue: single postings find room beside the batches.
const ITEMS_MAX: u32 = 4096;
/// How many of them may be of one realm.
const ITEMS_OF_REALM_MAX: u32 = 2048;
/// How many batches are read or written at the same time.
const WORKS_MAX: usize = 2;
/// How many bytes are read or written on the thread that serves: so few cost less than another thread.
pub const INLINE_BYTES: usize = 16 * 1024;
/// How many items are read or written on the thread that serves.
pub const INLINE_ITEMS: usize = 64;

/// How far the threads that read and write batches give way, in steps of the system's `nice`: beside one busy thread
/// that serves they get a tenth of a processor, and all of it that nobody else wants.
const STEPS: i32 = 10;

/// Makes a thread give way for as long as it runs. If the system refuses, the thread works like the others.
fn stand_back() {
    if let Err(why) = nice(STEPS) {
        tracing::debug!(%why, "a thread for batches runs like the others");
    }
}

/// Lets other threads have the processor after each [`INLINE_ITEMS`] items that were read or written: a thread that
/// has just got a small request needs it for a moment only, and would otherwise wait for a whole time slice.
pub fn give_way(item: usize) {
    if item % INLINE_ITEMS == INLINE_ITEMS - 1 {
        std::thread::yield_now();
    }
}

/// The slots of one process.
#[derive(Debug)]
pub struct BulkSlots {
    items: Arc<Semaphore>,
    works: Arc<Semaphore>,
    realms: Mutex<HashMap<RealmId, Own>>,
    longest: Duration,
    /// The threads that read and write. Nothing else runs there, and it is there until this is dropped.
    threads: Option<Runtime>,
}

/// A realm's share of the slots.
#[derive(Clone, Debug)]
struct Own {
    items: Arc<Semaphore>,
    work: Arc<Semaphore>,
}

/// A place in the slots, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    _permits: [OwnedSemaphorePermit; 2],
}

impl Drop for BulkSlots {
    /// Waits for no work: whoever asked for it is gone.
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

fn semaphore(permits: u32) -> Arc<Semaphore> {
    let permits = usize::try_from(permits).unwrap_or(usize::MAX);
    Arc::new(Semaphore::new(permits))
}

impl BulkSlots {
    /// The room of a service. Its threads begin with the first work.
    ///
    /// # Errors
    /// What the system says when it has nothing to wait for threads with.
    pub fn start() -> io::Result<Self> {
        Self::patient(DEADLINE)
    }

    /// The same, where a batch waits so long for its turn.
    fn patient(longest: Duration) -> io::Result<Self> {
        let threads = Builder::new_current_thread()
            .max_blocking_threads(WORKS_MAX)
            .thread_name("caudal-bulk")
            .on_thread_start(stand_back)
            .build()?;
        Ok(Self {
            items: semaphore(ITEMS_MAX),
            works: Arc::new(Semaphore::new(WORKS_MAX)),
            realms: Mutex::default(),
            longest,
            threads: Some(threads),
        })
    }

    fn own(&self, realm: RealmId) -> Own {
        let new = || Own {
            items: semaphore(ITEMS_OF_REALM_MAX),
            work: semaphore(1),
        };
        let mut realms = self.realms.lock().unwrap_or_else(PoisonError::into_inner);
        realms.entry(realm).or_insert_with(new).clone()
    }

    /// Waits until there is room for this many items; a batch that is larger than its realm's share takes the whole
    /// share. The items keep their room until the [`Turn`] is dropped.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] when that takes too long.
    pub async fn enter(&self, realm: RealmId, items: usize) -> Result<Turn, Failure> {
        let items = u32::try_from(items).unwrap_or(u32::MAX);
        let items = items.min(ITEMS_OF_REALM_MAX);
        let own = self.own(realm).items;
        self.turn([own, Arc::clone(&self.items)], items).await
    }

    /// Does work off the thread that serves, when it is the realm's turn.
    ///
    /// # Errors
    /// [`Failure::Overloaded`] when the turn does not come; [`Failure::Bug`] when the work panics.
    pub async fn work<T: Send + 'static>(
        &self,
        realm: RealmId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let own = self.own(realm).work;
        let turn = self.turn([own, Arc::clone(&self.works)], 1).await?;
        let threads = self.threads.as_ref().ok_or(Failure::Bug)?;
        let done = threads.spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        });
        done.await.map_err(|why| {
            tracing::error!(%why, "a batch could not be read or written");
            Failure::Bug
        })
    }

    /// Waits in the realm's own queue first, then in that of all realms.
    async fn turn(&self, queues: [Arc<Semaphore>; 2], permits: u32) -> Result<Turn, Failure> {
        let [own, all] = queues;
        let both = async {
            let own = own.acquire_many_owned(permits).await.ok()?;
            let all = all.acquire_many_owned(permits).await.ok()?;
            Some(Turn {
                _permits: [own, all],
            })
        };
        let turn = tokio::time::timeout(self.longest, both).await;
        turn.ok().flatten().ok_or(Failure::Overloaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: RealmId = RealmId(1);
    const QUIET: RealmId = RealmId(2);

    #[actix_web::test]
    async fn a_batch_waits_until_others_of_its_realm_have_left() {
        let room = BulkSlots::patient(Duration::from_millis(5)).unwrap();
        let first = room.enter(LOUD, 2000).await.unwrap();
        let second = room.enter(LOUD, 48).await.unwrap();
        assert_eq!(room.enter(LOUD, 1).await.unwrap_err(), Failure::Overloaded);
        // Another realm has its own share.
        let other = room.enter(QUIET, 10_000).await.unwrap();
        let third = room.enter(RealmId(3), 1).await;
        assert_eq!(third.unwrap_err(), Failure::Overloaded);
        drop((first, other));
        // The largest needs the whole share.
        assert!(room.enter(LOUD, 10_000).await.is_err());
        drop(second);
        assert!(room.enter(LOUD, 10_000).await.is_ok());
        // A batch that gave up waiting blocks nobody.
        assert!(room.enter(LOUD, 1).await.is_ok());
    }

    #[actix_web::test]
    async fn one_work_of_a_realm_is_done_at_once_and_a_panic_is_a_bug() {
        let room = BulkSlots::patient(Duration::from_millis(5)).unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let busy = room.work(LOUD, move || wait.recv().is_ok());
        let others = async {
            let own = room.work(LOUD, || ()).await;
            assert_eq!(own.unwrap_err(), Failure::Overloaded);
            assert_eq!(room.work(QUIET, || 7).await, Ok(7));
            go.send(()).unwrap();
        };
        let (busy, ()) = tokio::join!(busy, others);
        assert_eq!(busy, Ok(true));
        let panics = room.work(LOUD, || assert!(room_is_on_fire(), "as the test wants"));
        assert_eq!(panics.await.unwrap_err(), Failure::Bug);
        assert_eq!(room.work(LOUD, || 1).await, Ok(1));
    }

    #[actix_web::test]
    async fn the_threads_of_batches_give_way_to_those_that_serve() {
        let room = BulkSlots::start().unwrap();
        let steps = || nice(0).unwrap();
        let here = steps();
        for _ in 0..2 {
            // no thread can give way further than 19 steps
            assert_eq!(room.work(LOUD, steps).await, Ok((here + STEPS).min(19)));
        }
        assert_eq!(steps(), here);
    }

    const fn room_is_on_fire() -> bool {
        false
    }
}
