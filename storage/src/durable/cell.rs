//! A cell on this node: its log, the epoch under which this node appends, and the node's journal.
//!
//! **Order.** Sealed, appended to the log, put into this node's journal and flushed there, shown to
//! readers. Where the journal is the log, the last steps find it done.
//!
//! **Failure.** When the answer to an append is lost, the record is looked up by its hash: it is
//! there, or it is appended again, or another owner has taken over. No commit is answered meanwhile. A
//! lost try may still arrive, so from then on a refusal of the same record no longer proves that
//! nothing was done. A record that is found counts only when a later write is durable: being visible
//! does not mean that the standbys have it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::api::{CommitNo, StoreError};
use crate::durable::watch::Watch;
use crate::journal::writer::{Placed, Refused, Writer};
use crate::log::{Epoch, Lease, Log, LogError, Sealed, Tail};
use crate::sync::lock;

/// How often an append whose answer is lost is asked about before the store gives up.
const TRIES: u32 = 5;
/// A lease is renewed this often in its length.
const RENEWALS: u32 = 3;
/// At most so often in its length is it tried to be renewed while that fails.
const RENEWAL_TRIES: u32 = 30;
/// The longest pause between such tries.
const RENEWAL_PAUSE: Duration = Duration::from_millis(500);

/// A lease that has to be renewed.
#[derive(Clone, Copy, Debug)]
struct Held {
    length: Duration,
    /// When it was last asked for, of those times that it was given.
    asked: Instant,
    /// When it was last tried to be renewed since.
    tried: Option<Instant>,
}

impl Held {
    /// When it is to be renewed: a log that refuses, and says so at once, is not asked without a pause.
    fn due(&self) -> Instant {
        let due = self.asked + self.length / RENEWALS;
        let pause = RENEWAL_PAUSE.min(self.length / RENEWAL_TRIES);
        self.tried.map_or(due, |tried| due.max(tried + pause))
    }
}

/// The log of a cell, and this node's part in it.
#[derive(Debug)]
pub(crate) struct Cell {
    log: Box<dyn Log>,
    /// The epoch of this node's lease; 0 on a follower.
    epoch: Epoch,
    lease: Option<Held>,
    /// The log is not this node's journal: it keeps deadlines of its own.
    elsewhere: bool,
    local: Arc<Mutex<Writer>>,
}

impl Cell {
    /// A cell that nobody owns yet, whose log is this node's journal or `elsewhere`.
    pub(crate) fn new(log: Box<dyn Log>, local: Arc<Mutex<Writer>>, elsewhere: bool) -> Self {
        Self {
            log,
            epoch: Epoch::default(),
            lease: None,
            elsewhere,
            local,
        }
    }

    /// Where the records become durable.
    pub(crate) fn log(&mut self) -> &mut dyn Log {
        self.log.as_mut()
    }

    /// From now on this node appends.
    ///
    /// # Errors
    /// As [`Log::acquire`].
    pub(crate) fn own(&mut self, name: &str, length: Duration) -> Result<(), LogError> {
        let asked = Instant::now();
        let lease = self.log.acquire(name, length)?;
        self.epoch = lease.epoch;
        self.holds(&lease, asked);
        Ok(())
    }

    fn holds(&mut self, lease: &Lease, asked: Instant) {
        self.lease = lease.length.map(|length| Held {
            length,
            asked,
            tried: None,
        });
    }

    /// How long the lease need not be renewed; `None` where it never has to be.
    pub(crate) fn rests(&self) -> Option<Duration> {
        let due = self.lease?.due();
        Some(
            due.checked_duration_since(Instant::now())
                .unwrap_or(Duration::ZERO),
        )
    }

    /// Renews the lease, if there is one to renew.
    ///
    /// # Errors
    /// As [`Log::renew`].
    pub(crate) fn renew(&mut self) -> Result<(), LogError> {
        if let Some(held) = &mut self.lease {
            let asked = Instant::now();
            let renewed = self.log.renew(self.epoch, held.length);
            // The pause begins when the log has said no.
            held.tried = Some(Instant::now());
            self.holds(&renewed?, asked);
        }
        Ok(())
    }

    /// Until when this node is surely the owner; `None` where that has no end.
    pub(crate) fn sure_until(&self) -> Option<Instant> {
        self.lease.map(|held| held.asked + held.length)
    }

    /// The epoch under which this node appends.
    pub(crate) fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// From now on this node only follows.
    pub(crate) fn forget(&mut self) {
        (self.epoch, self.lease) = (Epoch::default(), None);
    }

    /// Lets the node of this name append, and no other for a while.
    ///
    /// # Errors
    /// When the log cannot be reached: nobody knows whether the other node may append.
    pub(crate) fn offer(&mut self, to: &str) -> Result<(), LogError> {
        self.log.offer(self.epoch, to)
    }

    /// Lets somebody else append, if this node may.
    pub(crate) fn release(&mut self) {
        if self.epoch != Epoch::default()
            && let Err(e) = self.log.release(self.epoch)
        {
            tracing::warn!(error = %e, "the cell was not given back; its lease ends by itself");
        }
    }

    /// The end of this node's journal.
    pub(crate) fn tail(&self) -> Tail {
        lock(&self.local).tail()
    }

    /// Makes a record durable and gives its place in this node's journal; `watch` sees how long the
    /// disk takes.
    ///
    /// # Errors
    /// As [`Log::append`], but never `Unknown`: an answer that stays lost makes the log `Lost`.
    pub(crate) fn append(
        &mut self,
        sealed: &Sealed<'_>,
        watch: &Watch,
    ) -> Result<Placed, LogError> {
        if !self.elsewhere {
            watch.begin();
        }
        let appended = match self.log.append(self.epoch, sealed) {
            Err(LogError::Unknown(why)) => self.resolve(sealed, &why),
            done => done,
        };
        watch.begin();
        let placed = appended.and_then(|()| self.take(sealed));
        watch.end();
        placed
    }

    /// Puts a record that is in the log into this node's journal, and flushes it.
    ///
    /// # Errors
    /// When it is not the next record, or cannot be written.
    pub(crate) fn take(&self, sealed: &Sealed<'_>) -> Result<Placed, LogError> {
        let mut local = lock(&self.local);
        // It is in the log: what is refused here is not undone there.
        let put = local.put(sealed).map_err(|why| match why {
            Refused::Yet(e) => LogError::Lost(Arc::from(e.to_string())),
            why => LogError::from(why),
        });
        let placed = put?;
        local.sync().map_err(Refused::from)?;
        local.show(&placed);
        Ok(placed)
    }

    /// Finds out whether a record was appended, and appends it if it was not.
    fn resolve(&mut self, sealed: &Sealed<'_>, why: &str) -> Result<(), LogError> {
        for _ in 0..TRIES {
            tracing::warn!(
                why,
                "asking the log for a record whose outcome is not known"
            );
            let mut found = None;
            let asked = self.log.read(sealed.first_commit(), &mut |record| {
                found = Some(record.hash());
                false
            });
            match (asked, found) {
                (Ok(()), Some(hash)) if hash == sealed.hash() => match self.renew() {
                    Err(LogError::Yet(_) | LogError::Unknown(_)) => {}
                    done => return done,
                },
                (Ok(()), Some(_)) => {
                    return Err(LogError::Deposed {
                        epoch: Epoch(self.epoch.0 + 1),
                    });
                }
                (Ok(()), None) => match self.log.append(self.epoch, sealed) {
                    // What was sent before may have arrived meanwhile, or may yet.
                    Err(LogError::Unknown(_) | LogError::Yet(_) | LogError::Gap { .. }) => {}
                    done => return done,
                },
                (Err(_), _) => {}
            }
        }
        Err(LogError::Lost(Arc::from(why)))
    }

    /// Waits, at most so long, for records behind this node's journal. Each is put into the journal and
    /// flushed, then visited, until `visit` says stop (`false`).
    ///
    /// # Errors
    /// As [`Log::watch`], [`Log::read`] and [`Self::take`], and `Read` for a record with an entry that cannot be read, which is
    /// not put into the journal. Records that were visited before stay there.
    pub(crate) fn follow(
        &self,
        most: Duration,
        visit: &mut dyn FnMut(&Placed, &Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        let own = self.tail().commit;
        let tail = self.log.watch(own, most)?;
        if tail.commit <= own {
            return Ok(());
        }
        let mut failed = None;
        self.log
            .read(CommitNo(own.0 + 1), &mut |sealed| match readable(sealed)
                .and_then(|()| self.take(sealed))
            {
                Ok(placed) => visit(&placed, sealed),
                Err(e) => {
                    failed = Some(e);
                    false
                }
            })?;
        failed.map_or(Ok(()), Err)
    }
}

/// Refuses a record with an entry that this program cannot read: its rows would lack, and the journal be refused at the next
/// start.
fn readable(sealed: &Sealed<'_>) -> Result<(), LogError> {
    if sealed.visit(&mut |_| true) {
        return Ok(());
    }
    let first = sealed.first_commit().0;
    let why = format!(
        "an entry in the record of commit {first} in the log fails its checksum, or is of a newer version: compare the \
         versions of all nodes"
    );
    Err(LogError::Read(StoreError::Corrupt(Arc::from(why))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_is_not_renewed_is_tried_again_after_a_pause_until_it_ends() {
        let asked = Instant::now();
        let ms = Duration::from_millis;
        for (length, pause) in [(5_000, 166), (2_000, 66), (60_000, 500)] {
            let mut held = Held {
                length: ms(length),
                asked,
                tried: None,
            };
            assert_eq!(held.due(), asked + ms(length) / 3);
            // One that fails before it is time moves nothing.
            held.tried = Some(asked);
            assert_eq!(held.due(), asked + ms(length) / 3);
            let mut tries = 0;
            while held.due() < asked + held.length {
                let at = held.due();
                assert!(held.tried.is_none_or(|tried| at >= tried + ms(pause)));
                held.tried = Some(at);
                tries += 1;
            }
            assert!((19..=82).contains(&tries), "{length}: {tries}");
        }
    }
}
