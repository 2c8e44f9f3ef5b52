//! Loads accounts off the actors' threads, several at a time.
//!
//! **Shape.** An actor that needs its account joins the queue of its realm. A reader is a blocking thread that
//! takes its share of the queue ([`BATCH_MAX`] at most), reads those accounts, and hands all of them over
//! together; then it takes the next ones. Each request starts a reader, up to [`READERS_MAX`], and a reader ends
//! when the queue is empty. So a single account is read at once, and under load no thread is woken for each
//! account.
//!
//! **Bounds.** [`READERS_MAX`] readers of a realm. The queue is no longer than the number of waiting actors.
//!
//! **Order.** First come, first read. Accounts that are handed over together begin together, so their first movements
//! share a flush.
//!
//! **Failure.** If reading an account panics, its actor gets [`Failure::Bug`], and the rest of the queue continues. If
//! the runtime ends before a reader has run, all requests that wait for it get the same.

use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_storage::{Store, StoreError};
use tokio::sync::oneshot;

use crate::failure::Failure;
use crate::records::reads::{self, Loaded};

/// Threads that read accounts of one realm at the same time.
const READERS_MAX: usize = 4;
/// The most accounts that a reader takes at once.
const BATCH_MAX: usize = 16;

type Read = Result<Option<Loaded>, StoreError>;

#[derive(Debug)]
struct Waiting {
    number: AccountNo,
    hand_over: oneshot::Sender<Read>,
}

#[derive(Debug, Default)]
struct Line {
    waiting: VecDeque<Waiting>,
    readers: usize,
}

type Load = dyn Fn(AccountNo) -> Read + Send + Sync;

/// The queue of one realm, and the function that reads its accounts.
pub struct Loads {
    line: Mutex<Line>,
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
    pub fn new(store: Arc<dyn Store>, realm: RealmId) -> Arc<Self> {
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
    pub async fn read(self: &Arc<Self>, number: AccountNo) -> Result<Option<Loaded>, Failure> {
        let (hand_over, handed) = oneshot::channel();
        if self.join(Waiting { number, hand_over }) {
            let reader = Reader {
                loads: Arc::clone(self),
                working: true,
            };
            tokio::task::spawn_blocking(move || reader.read());
        }
        Ok(handed.await.map_err(|_| Failure::Bug)??)
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a request. Returns whether a reader has to be started for it.
    fn join(&self, waiting: Waiting) -> bool {
        let mut line = self.line();
        line.waiting.push_back(waiting);
        let starts = line.readers < READERS_MAX;
        line.readers += usize::from(starts);
        starts
    }
}

/// One reader, counted while it works.
struct Reader {
    loads: Arc<Loads>,
    working: bool,
}

impl Reader {
    fn read(mut self) {
        while let Some(batch) = self.next_batch() {
            let read = |one: Waiting| {
                let load = || (self.loads.load)(one.number);
                let loaded = catch_unwind(AssertUnwindSafe(load)).ok();
                if loaded.is_none() {
                    tracing::error!(account = one.number.0, "an account was not read");
                }
                loaded.map(|loaded| (one.hand_over, loaded))
            };
            let read: Vec<_> = batch.into_iter().filter_map(read).collect();
            for (hand_over, loaded) in read {
                // An actor that is gone needs nothing any more.
                let _gone = hand_over.send(loaded);
            }
        }
    }

    /// The next requests to read. If there are none, the reader no longer counts, so that the next request starts
    /// another one.
    fn next_batch(&mut self) -> Option<Vec<Waiting>> {
        let mut line = self.loads.line();
        let share = line.waiting.len().div_ceil(READERS_MAX);
        let most = share.min(BATCH_MAX);
        if most == 0 {
            line.readers = line.readers.strict_sub(1);
            self.working = false;
            return None;
        }
        Some(line.waiting.drain(..most).collect())
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A queue of this many accounts, of which none has been read yet, and how many readers they asked for.
    fn crowd(loads: &Loads, accounts: u64) -> (Vec<(u64, oneshot::Receiver<Read>)>, usize) {
        let mut readers = 0;
        let join = |number| {
            let (hand_over, handed) = oneshot::channel();
            let waiting = Waiting {
                number: AccountNo(number),
                hand_over,
            };
            readers += usize::from(loads.join(waiting));
            (number, handed)
        };
        let asked = (0..accounts).map(join).collect();
        (asked, readers)
    }

    #[test]
    fn a_crowd_is_read_in_batches_and_each_gets_its_own_answer() {
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
        let (asked, readers) = crowd(&loads, 100);
        assert_eq!(readers, READERS_MAX, "a crowd starts no more readers");
        let readers: Vec<_> = (0..readers)
            .map(|_| Reader {
                loads: Arc::clone(&loads),
                working: true,
            })
            .collect();
        std::thread::scope(|threads| {
            for reader in readers {
                threads.spawn(|| reader.read());
            }
        });
        for (number, handed) in asked {
            match (number, handed.blocking_recv()) {
                (7, said) => assert!(said.is_err(), "{said:?}"),
                (8, said) => assert!(matches!(said, Ok(Err(_))), "{said:?}"),
                (_, said) => assert!(matches!(said, Ok(Ok(None))), "{said:?}"),
            }
        }
        assert_eq!(reads.load(Ordering::SeqCst), 100);
        assert_eq!(
            loads.line().readers,
            0,
            "whoever comes next starts a reader"
        );
    }

    #[test]
    fn a_reader_takes_its_share_of_the_line_and_never_more_than_a_batch() {
        let loads = Loads::by(Box::new(|_| Ok(None)));
        let (_asked, _readers) = crowd(&loads, 70);
        let mut reader = Reader {
            loads: Arc::clone(&loads),
            working: true,
        };
        let mut taken = Vec::new();
        while let Some(batch) = reader.next_batch() {
            taken.push(batch.len());
        }
        assert_eq!(taken[..4], [16, 14, 10, 8]);
        assert_eq!(taken.iter().sum::<usize>(), 70);
        assert_eq!(taken.last(), Some(&1));
    }

    #[actix::test]
    async fn a_reader_that_never_ran_leaves_nobody_waiting() {
        let loads = Loads::by(Box::new(|_| Ok(None)));
        let (hand_over, handed) = oneshot::channel();
        let number = AccountNo(1);
        assert!(loads.join(Waiting { number, hand_over }));
        drop(Reader {
            loads: Arc::clone(&loads),
            working: true,
        });
        handed.await.unwrap_err();
        assert!(matches!(loads.read(number).await, Ok(None)));
    }
}
