//! Loads accounts off the actors' threads, several at a time.
//!
//! **Shape.** An actor that needs its account joins the queue of its realm. A reader is a blocking thread that takes
//! accounts from the queue one by one, and hands over [`BATCH_MAX`] of them together, or fewer when the queue is empty
//! or [`SLOW`] is over; it ends when nothing is left. A request starts a reader if there is none, or if [`PATIENT`] wait
//! for each that there is; one that has waited for [`SLOW`] starts another, because a disk is slow or does not answer.
//! So a single account is read at once, and one thread reads for many as long as it keeps up: waking a thread for each
//! two of them made reading a third dearer.
//!
//! **Bounds.** [`READERS_MAX`] readers of a realm. The queue is no longer than the number of waiting actors.
//!
//! **Order.** First come, first read. Accounts that are handed over together begin together, so their first movements
//! share a flush.
//!
//! **Failure.** A read that does not return holds up those that the same reader has not handed over yet. If reading an
//! account panics, its actor gets [`Failure::Bug`], and the rest of the queue continues. If the runtime ends before a
//! reader has run, all requests that wait for it get the same.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Index, StoreError};
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::records::reads::{self, LoadedAccount};

/// Threads that read accounts of one realm at the same time.
const READERS_MAX: usize = 4;
/// So many requests wait for one reader, about half a millisecond if nothing is read from the disk, before another one
/// helps.
const PATIENT: usize = 32;
/// A request that has waited for longer gets a reader more, and a reader hands over what it has.
const SLOW: Duration = Duration::from_millis(2);
/// The most accounts that are handed over together.
const BATCH_MAX: usize = 32;

type Read = Result<Option<LoadedAccount>, StoreError>;

#[derive(Debug)]
struct QueuedLoad {
    number: AccountNo,
    hand_over: oneshot::Sender<Read>,
}

#[derive(Debug, Default)]
struct LoadQueue {
    waiting: VecDeque<QueuedLoad>,
    readers: usize,
}

impl LoadQueue {
    /// Counts one reader more if one is `needed` and may be; returns whether it has to be started.
    fn take_on(&mut self, needed: bool) -> bool {
        let starts = needed && self.readers < READERS_MAX;
        self.readers += usize::from(starts);
        starts
    }
}

type Load = dyn Fn(AccountNo) -> Read + Send + Sync;

/// The queue of one realm, and the function that reads its accounts.
pub struct Loads {
    line: Mutex<LoadQueue>,
    load: Box<Load>,
}

impl fmt::Debug for Loads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loads")
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

impl Loads {
    /// The queue for the accounts of a realm in a store.
    pub fn new(store: Arc<dyn Index>, realm: RealmId) -> Arc<Self> {
        Self::by(Box::new(move |number| {
            reads::load(store.as_ref(), realm, number)
        }))
    }

    fn by(load: Box<Load>) -> Arc<Self> {
        let line = Mutex::default();
        Arc::new(Self { line, load })
    }

    /// The account as of its last commit; `None` if there is none with this number.
    ///
    /// # Errors
    /// The error of the read, or [`Failure::Bug`] when the read panicked or will not happen any more.
    pub async fn read(
        self: &Arc<Self>,
        number: AccountNo,
    ) -> Result<Option<LoadedAccount>, Failure> {
        let (hand_over, mut handed) = oneshot::channel();
        if self.join(QueuedLoad { number, hand_over }) {
            self.start();
        }
        let read = match tokio::time::timeout(SLOW, &mut handed).await {
            Ok(read) => read,
            Err(_) => {
                if self.help() {
                    self.start();
                }
                handed.await
            }
        };
        Ok(read.map_err(|_| Failure::Bug)??)
    }

    /// Starts a reader that is counted already.
    fn start(self: &Arc<Self>) {
        let reader = Reader::new(self);
        tokio::task::spawn_blocking(move || reader.read());
    }

    fn line(&self) -> MutexGuard<'_, LoadQueue> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request. Returns whether a reader has to be started for it.
    fn join(&self, waiting: QueuedLoad) -> bool {
        let mut line = self.line();
        line.waiting.push_back(waiting);
        let crowded = line.waiting.len() > line.readers.strict_mul(PATIENT);
        line.take_on(crowded)
    }

    /// Returns whether a reader has to be started because one that waits has done so for long.
    fn help(&self) -> bool {
        let mut line = self.line();
        let waits = !line.waiting.is_empty();
        line.take_on(waits)
    }
}

/// One reader, counted while it works.
struct Reader {
    loads: Arc<Loads>,
    working: bool,
}

impl Reader {
    /// A reader that is counted already.
    fn new(loads: &Arc<Loads>) -> Self {
        Self {
            loads: Arc::clone(loads),
            working: true,
        }
    }

    fn read(mut self) {
        while self.working {
            let began = Instant::now();
            let mut read = Vec::with_capacity(BATCH_MAX);
            while read.len() < BATCH_MAX
                && began.elapsed() <= SLOW
                && let Some(one) = self.next(read.is_empty())
            {
                let load = || (self.loads.load)(one.number);
                match catch_unwind(AssertUnwindSafe(load)) {
                    Ok(loaded) => read.push((one.hand_over, loaded)),
                    Err(_) => tracing::error!(account = one.number.0, "an account was not read"),
                }
            }
            for (hand_over, loaded) in read {
                // An actor that is gone needs nothing any more.
                let _gone = hand_over.send(loaded);
            }
        }
    }

    /// The next request. If there is none, and this reader has `nothing` to hand over, it no longer counts, so that the
    /// next request starts another one.
    fn next(&mut self, nothing: bool) -> Option<QueuedLoad> {
        let mut line = self.loads.line();
        let next = line.waiting.pop_front();
        if next.is_none() && nothing {
            line.readers = line.readers.strict_sub(1);
            self.working = false;
        }
        next
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.working {
            return;
        }
        let mut line = self.loads.line();
        line.readers = line.readers.strict_sub(1);
        if line.readers == 0 {
            line.waiting.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A queue of this many accounts, of which none has been read yet, and how many readers they asked for.
    fn queue(loads: &Loads, accounts: u64) -> (Vec<(u64, oneshot::Receiver<Read>)>, usize) {
        let mut readers = 0;
        let join = |number| {
            let (hand_over, handed) = oneshot::channel();
            let waiting = QueuedLoad {
                number: AccountNo(number),
                hand_over,
            };
            readers += usize::from(loads.join(waiting));
            (number, handed)
        };
        let asked = (0..accounts).map(join).collect();
        (asked, readers)
    }

    #[actix::test]
    async fn many_loads_are_read_in_batches_and_each_gets_its_own_answer() {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let loads = Loads::by(Box::new(move |number| {
            counted.fetch_add(1, Ordering::SeqCst);
            match number.0 {
                7 => panic!("an account that cannot be read"),
                8 => Err(StoreError::Corrupt("account 8".into())),
                _ => Ok(None),
            }
        }));
        let (asked, readers) = queue(&loads, 200);
        assert_eq!(readers, READERS_MAX, "many accounts start no more readers");
        for _ in 0..readers {
            let reader = Reader::new(&loads);
            tokio::task::spawn_blocking(move || reader.read());
        }
        for (number, handed) in asked {
            match (number, handed.await) {
                (7, said) => assert!(said.is_err(), "{said:?}"),
                (8, said) => assert!(matches!(said, Ok(Err(_))), "{said:?}"),
                (_, said) => assert!(matches!(said, Ok(Ok(None))), "{said:?}"),
            }
        }
        assert_eq!(reads.load(Ordering::SeqCst), 200);
        // They end, so that whoever comes next starts one.
        while loads.line().readers > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[test]
    fn one_reader_takes_all_until_too_many_wait_for_it() {
        let loads = Loads::by(Box::new(|_| Ok(None)));
        let patient = u64::try_from(PATIENT).unwrap();
        let mut asked = Vec::new();
        let mut readers = |accounts| {
            let (these, readers) = queue(&loads, accounts);
            asked.extend(these);
            readers
        };
        assert_eq!(
            [1, patient - 1, 1, patient - 1, 1].map(&mut readers),
            [1, 0, 1, 0, 1]
        );
        assert!(loads.help(), "one has waited for long");
        assert!(!loads.help(), "there are no more");
        assert_eq!(readers(1000), 0);
        // the first reader alone takes all of them, in order, and those that come later find no work
        Reader::new(&loads).read();
        assert!(asked.iter_mut().all(|(_, one)| one.try_recv().is_ok()));
        assert_eq!(loads.line().readers, READERS_MAX - 1);
        assert!(!loads.help(), "nobody waits");
    }

    #[actix::test]
    async fn loads_behind_a_slow_read_get_another_reader() {
        // Each read waits until as many as there may be readers are at work.
        let together = Barrier::new(READERS_MAX);
        let loads = Loads::by(Box::new(move |_| {
            together.wait();
            Ok(None)
        }));
        let accounts = 0..u64::try_from(READERS_MAX).unwrap();
        let read = accounts.map(|number| {
            let loads = Arc::clone(&loads);
            actix::spawn(async move { loads.read(AccountNo(number)).await })
        });
        for read in read.collect::<Vec<_>>() {
            assert!(matches!(read.await.unwrap(), Ok(None)));
        }
    }

    #[actix::test]
    async fn a_reader_that_never_ran_leaves_nobody_waiting() {
        let loads = Loads::by(Box::new(|_| Ok(None)));
        let (hand_over, handed) = oneshot::channel();
        let number = AccountNo(1);
        assert!(loads.join(QueuedLoad { number, hand_over }));
        drop(Reader::new(&loads));
        handed.await.unwrap_err();
        assert!(matches!(loads.read(number).await, Ok(None)));
    }
}
