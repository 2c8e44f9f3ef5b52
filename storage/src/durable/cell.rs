//! A cell on this node: its log, the epoch under which this node appends, and the node's journal.
//!
//! **Order.** A record is sealed, appended to the log, put into this node's journal and flushed there, then shown to
//! readers. Where the journal is the log, the append has already done the later steps.
//!
//! **Failure.** When the answer to an append is lost, the record is looked up by its hash: either it is there, or it is
//! appended again, or another owner has taken over. No commit is answered meanwhile. A lost append may still arrive
//! late, so from then on a refusal of the same record no longer proves that nothing was done. A record that is found
//! counts only once a later write is durable: a visible record need not be on the standbys yet.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::api::{CommitNo, Projection, StoreError};
use crate::durable::watch::Watch;
use crate::journal::writer::{AppendedAt, JournalWriter};
use crate::log::{Epoch, Log, LogError, Sealed, Tail};
use crate::rows::no_entry;
use crate::sync::lock;

/// How often the log is asked about an append whose answer was lost before the store gives up.
const TRIES: u32 = 5;
/// A lease is renewed this many times within its length.
const RENEWALS: u32 = 3;
/// While renewal fails, it is tried at most this many times within the lease's length.
const RENEWAL_TRIES: u32 = 30;
/// The longest pause between two such tries.
const RENEWAL_PAUSE: Duration = Duration::from_millis(500);
/// How long followers wait at most to hear that the last record was acknowledged, while nothing else is written.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_millis(100);

/// A lease that must be renewed.
#[derive(Clone, Copy, Debug)]
struct HeldLease {
    length: Duration,
    /// When the lease was last requested, counting only requests that were granted.
    asked: Instant,
    /// When a renewal was last tried since then.
    tried: Option<Instant>,
}

impl HeldLease {
    /// When the next renewal is due, earlier if it has a record to acknowledge: a log that refuses at once is not asked
    /// again without a pause.
    fn due(&self, acknowledges: bool) -> Instant {
        let most = if acknowledges {
            ACKNOWLEDGED_WITHIN
        } else {
            Duration::MAX
        };
        let due = self.asked + most.min(self.length / RENEWALS);
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
    lease: Option<HeldLease>,
    /// The last commit of which followers were told that it was acknowledged.
    told: CommitNo,
    /// Whether the log is somewhere other than this node's journal; it then keeps its own deadlines, and its lease ends.
    elsewhere: bool,
    local: Arc<Mutex<JournalWriter>>,
}

impl Cell {
    /// A cell that nobody owns yet; its log is this node's journal, or is `elsewhere`.
    pub(crate) fn new(
        log: Box<dyn Log>,
        local: Arc<Mutex<JournalWriter>>,
        elsewhere: bool,
    ) -> Self {
        Self {
            log,
            epoch: Epoch::default(),
            lease: None,
            told: CommitNo::default(),
            elsewhere,
            local,
        }
    }

    /// Where the records become durable.
    pub(crate) fn log(&mut self) -> &mut dyn Log {
        self.log.as_mut()
    }

    /// Takes the lease; from now on this node appends.
    pub(crate) fn own(&mut self, name: &str, length: Duration) -> Result<(), LogError> {
        let asked = Instant::now();
        self.epoch = self.log.acquire(name, length)?;
        let lease = HeldLease {
            length,
            asked,
            tried: None,
        };
        self.lease = self.elsewhere.then_some(lease);
        Ok(())
    }

    /// How long the lease can go without renewal; `None` when it never needs one.
    pub(crate) fn rests(&self) -> Option<Duration> {
        let due = self.lease?.due(self.told < self.tail().commit);
        Some(
            due.checked_duration_since(Instant::now())
                .unwrap_or(Duration::ZERO),
        )
    }

    /// Renews the lease, if there is one to renew.
    pub(crate) fn renew(&mut self) -> Result<(), LogError> {
        if let Some(held) = &mut self.lease {
            let asked = Instant::now();
            // What is in this node's journal was acknowledged by the log before.
            let own = lock(&self.local).tail().commit;
            let renewed = self.log.renew(self.epoch, held.length, own);
            // The pause begins at the log's refusal.
            held.tried = Some(Instant::now());
            renewed?;
            (held.asked, held.tried) = (asked, None);
            self.told = own;
        }
        Ok(())
    }

    /// Until when this node is certainly the owner; `None` when there is no limit.
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

    /// Gives the lease to the named node; for a while no other node may append.
    ///
    /// # Errors
    /// When the log cannot be reached: it is unknown then whether the other node may append.
    pub(crate) fn offer(&mut self, to: &str) -> Result<(), LogError> {
        self.acknowledge();
        self.log.offer(self.epoch, to)
    }

    /// Gives up the lease, if this node has it, so that another node may append.
    pub(crate) fn release(&mut self) {
        if self.epoch == Epoch::default() {
            return;
        }
        self.acknowledge();
        if let Err(e) = self.log.release(self.epoch) {
            tracing::warn!(error = %e, "the cell was not given back; its lease ends by itself");
        }
    }

    /// Tells followers, once more before this owner leaves, that it has acknowledged everything in its journal.
    fn acknowledge(&mut self) {
        if let Err(e) = self.renew() {
            tracing::debug!(error = %e, "followers take in the last record with the next owner's first");
        }
    }

    /// The end of this node's journal.
    pub(crate) fn tail(&self) -> Tail {
        lock(&self.local).tail()
    }

    /// Makes a record durable and returns its place in this node's journal; `watch` measures how long the disk takes.
    ///
    /// # Errors
    /// As [`Log::append`], but never `Unknown`: an answer that stays lost makes the log `Lost`.
    pub(crate) fn append(
        &mut self,
        sealed: &Sealed<'_>,
        watch: &Watch,
    ) -> Result<AppendedAt, LogError> {
        if !self.elsewhere {
            watch.begin();
        }
        let appended = match self.log.append(self.epoch, sealed) {
            Err(LogError::Unknown(why)) => self.resolve(sealed, &why),
            done => done,
        };
        watch.begin();
        let placed = appended.and_then(|()| {
            // The record before this one was in the journal, so it had been acknowledged.
            self.told = CommitNo(sealed.first_commit().0.saturating_sub(1));
            self.take(sealed)
        });
        watch.end();
        placed
    }

    /// Puts a record that is in the log into this node's journal, and flushes it.
    ///
    /// # Errors
    /// When it is not the next record, or cannot be written.
    pub(crate) fn take(&self, sealed: &Sealed<'_>) -> Result<AppendedAt, LogError> {
        let mut local = lock(&self.local);
        // The record is already in the log: a refusal here does not undo it there.
        let put = local.put(sealed).map_err(|why| match why {
            LogError::Yet(e) => LogError::Lost(Arc::from(e.to_string())),
            why => why,
        });
        let placed = put?;
        local.sync()?;
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
                    // An earlier append may have arrived meanwhile, or may still arrive.
                    Err(LogError::Unknown(_) | LogError::Yet(_) | LogError::Gap { .. }) => {}
                    done => return done,
                },
                (Err(_), _) => {}
            }
        }
        Err(LogError::Lost(Arc::from(why)))
    }

    /// How far this node may take in the log: an owner to its end, a follower to the last acknowledged commit. It may own
    /// the log after a server that fails has lost the rest.
    ///
    /// # Errors
    /// When the log cannot be reached.
    pub(crate) fn reaches(&self) -> Result<CommitNo, LogError> {
        if self.epoch == Epoch::default() {
            return Ok(self.log.cluster_view()?.acknowledged);
        }
        Ok(self.log.tail()?.commit)
    }

    /// Takes in the records between the end of this node's journal and `end`. Each is put into the journal and flushed,
    /// then visited, until `visit` returns `false`.
    ///
    /// # Errors
    /// As [`Log::read`] and [`Self::take`], and `Read` for a record with an unreadable entry, or one that `projection`
    /// does not know: it is not put into the journal. Records that were visited before it stay there.
    pub(crate) fn follow(
        &self,
        end: CommitNo,
        projection: &dyn Projection,
        visit: &mut dyn FnMut(&AppendedAt, &Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        let own = self.tail().commit;
        let mut failed = None;
        self.log.read(CommitNo(own.0 + 1), &mut |sealed| {
            if sealed.tail().commit > end {
                return false;
            }
            match readable(sealed, projection).and_then(|()| self.take(sealed)) {
                Ok(placed) => visit(&placed, sealed),
                Err(e) => {
                    failed = Some(e);
                    false
                }
            }
        })?;
        failed.map_or(Ok(()), Err)
    }
}

/// Refuses a record with an entry that this program cannot read: the entry's rows would be missing, and the next start
/// would refuse the journal.
fn readable(sealed: &Sealed<'_>, projection: &dyn Projection) -> Result<(), LogError> {
    let (mut entry, mut unknown) = (no_entry(), None);
    let whole = sealed.record().visit(&mut |commit, _, found| {
        found.copy_to(&mut entry);
        let known = projection.knows(&entry);
        unknown = known
            .err()
            .map(|e| format!("an entry of commit {commit} in the log: {e}"));
        unknown.is_none()
    });
    let first = sealed.first_commit().0;
    let broken =
        || format!("an entry in the record of commit {first} in the log fails its checksum");
    let Some(why) = unknown.or_else(|| (!whole).then(broken)) else {
        return Ok(());
    };
    let why =
        format!("{why}; a newer version may have written it: compare the versions of all nodes");
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
            let mut held = HeldLease {
                length: ms(length),
                asked,
                tried: None,
            };
            assert_eq!(held.due(false), asked + ms(length) / 3);
            // A failed renewal before the due time changes nothing.
            held.tried = Some(asked);
            assert_eq!(held.due(false), asked + ms(length) / 3);
            let mut tries = 0;
            while held.due(false) < asked + held.length {
                let at = held.due(false);
                assert!(held.tried.is_none_or(|tried| at >= tried + ms(pause)));
                held.tried = Some(at);
                tries += 1;
            }
            assert!((19..=82).contains(&tries), "{length}: {tries}");
            // A record to acknowledge makes the renewal due soon.
            held.tried = None;
            let due = held.due(true).duration_since(asked);
            assert!(due <= ACKNOWLEDGED_WITHIN && due <= ms(length) / 3);
        }
    }
}
