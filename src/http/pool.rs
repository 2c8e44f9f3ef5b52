//! A small pool of threads that read and write long JSON and long statements.
//!
//! **Shape.** A megabyte of JSON keeps a processor for milliseconds, and a voucher that arrives meanwhile needs a
//! hundredth of that. So such work is done off the threads that serve requests, and the threads that do it give way to
//! all others. Nobody is admitted or refused here: whoever comes was let in at the door.
//!
//! **Bounds.** [`WORKS_MAX`] works of all realms at once, one of each, so a realm that sends many batches waits only
//! for itself. How many wait is bounded by what a realm may have in flight ([`caudal_actors::in_flight`]).

use std::any::Any;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use caudal_actors::failure::Failure;
use caudal_ledger::ids::RealmId;
use rustix::process::nice;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;

/// How many works are done at the same time.
const WORKS_MAX: usize = 2;
/// How many bytes are read or written on the thread that serves: so few cost less than another thread.
pub const INLINE_BYTES: usize = 16 * 1024;
/// How many items are read or written on the thread that serves.
pub const INLINE_ITEMS: usize = 64;

/// How far the threads give way, in steps of the system's `nice`: next to one busy thread that serves they get a tenth
/// of a processor, and all of it that nobody else wants.
const STEPS: i32 = 10;

/// Makes a thread give way for as long as it runs. If the system refuses, the thread works like the others.
fn stand_back() {
    if let Err(why) = nice(STEPS) {
        tracing::debug!(%why, "a thread for long JSON runs like the others");
    }
}

/// Lets other threads have the processor after each [`INLINE_ITEMS`] items that were read or written: a thread that
/// has just got a small request needs it for a moment only, and would otherwise wait for a whole time slice.
pub fn give_way(item: usize) {
    if item % INLINE_ITEMS == INLINE_ITEMS - 1 {
        std::thread::yield_now();
    }
}

/// Work with its result, whatever their types are.
type Work = Box<dyn FnOnce() -> Box<dyn Any + Send> + Send>;

/// The pool of one process.
#[derive(Debug)]
pub struct Pool {
    works: Arc<Semaphore>,
    /// The turns of each realm's works.
    realms: Mutex<HashMap<RealmId, Arc<Semaphore>>>,
    /// The threads. Nothing else runs there, and they are there until this is dropped.
    threads: Option<Runtime>,
}

impl Drop for Pool {
    /// Waits for no work: whoever asked for it is gone.
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

impl Pool {
    /// The pool of a service. Its threads begin with the first work.
    ///
    /// # Errors
    /// What the system says when it has nothing to wait for threads with.
    pub fn start() -> io::Result<Self> {
        let threads = Builder::new_current_thread()
            .max_blocking_threads(WORKS_MAX)
            .thread_name("caudal-json")
            .on_thread_start(stand_back)
            .build()?;
        Ok(Self {
            works: Arc::new(Semaphore::new(WORKS_MAX)),
            realms: Mutex::default(),
            threads: Some(threads),
        })
    }

    /// Does work off the thread that serves, when it is the realm's turn.
    ///
    /// # Errors
    /// [`Failure::Bug`] when the work panics.
    pub async fn work<T: Send + 'static>(
        &self,
        realm: RealmId,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let result = self.run(realm, Box::new(move || Box::new(work()))).await?;
        result.downcast().map(|it| *it).map_err(|_| Failure::Bug)
    }

    /// As [`Self::work`], not compiled for each kind of work.
    async fn run(&self, realm: RealmId, work: Work) -> Result<Box<dyn Any + Send>, Failure> {
        let new = || Arc::new(Semaphore::new(1));
        let own = {
            let mut realms = self.realms.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(realms.entry(realm).or_insert_with(new))
        };
        // Neither is ever closed.
        let own = own.acquire_owned().await.map_err(|_| Failure::Bug)?;
        let all = Arc::clone(&self.works).acquire_owned().await;
        let turn = (own, all.map_err(|_| Failure::Bug)?);
        let threads = self.threads.as_ref().ok_or(Failure::Bug)?;
        let done = threads.spawn_blocking(move || {
            let result = work();
            drop(turn);
            result
        });
        done.await.map_err(|why| {
            tracing::error!(%why, "long JSON could not be read or written");
            Failure::Bug
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOUD: RealmId = RealmId(1);
    const QUIET: RealmId = RealmId(2);

    #[actix_web::test]
    async fn one_job_of_a_realm_runs_at_a_time_and_a_panic_is_a_bug() {
        let pool = Pool::start().unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let busy = pool.work(LOUD, move || wait.recv().is_ok());
        let next = pool.work(LOUD, || 1);
        let others = async {
            assert_eq!(pool.work(QUIET, || 7).await, Ok(7));
            go.send(()).unwrap();
        };
        let (busy, next, ()) = tokio::join!(busy, next, others);
        assert_eq!((busy, next), (Ok(true), Ok(1)));
        let panics = pool.work(LOUD, || assert!(room_is_on_fire(), "as the test wants"));
        assert_eq!(panics.await.unwrap_err(), Failure::Bug);
        assert_eq!(pool.work(LOUD, || 1).await, Ok(1));
    }

    #[actix_web::test]
    async fn background_threads_yield_to_request_threads() {
        let pool = Pool::start().unwrap();
        let steps = || nice(0).unwrap();
        let here = steps();
        for _ in 0..2 {
            // no thread can give way further than 19 steps
            assert_eq!(pool.work(LOUD, steps).await, Ok((here + STEPS).min(19)));
        }
        assert_eq!(steps(), here);
    }

    const fn room_is_on_fire() -> bool {
        false
    }
}
