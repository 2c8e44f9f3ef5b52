//! A cell on this node: its log, the epoch under which this node appends, and the node's journal.
//!
//! **Order.** Sealed, appended to the log, put into this node's journal and flushed there, shown to
//! readers. Where the journal is the log, the last steps find it done.
//!
//! **Failure.** When the answer to an append is lost, the record is asked for by its hash: it is
//! there, or it is appended again, or another owner has come. Nobody is answered meanwhile.

use std::sync::{Arc, Mutex};

use crate::api::CommitNo;
use crate::journal::writer::{Placed, Refused, Writer};
use crate::log::{Epoch, Log, LogError, Sealed, Tail};
use crate::sync::lock;

/// How often an append whose answer is lost is asked about before the store gives up.
const TRIES: u32 = 5;

/// The log of a cell, and this node's part in it.
#[derive(Debug)]
pub(crate) struct Cell {
    log: Box<dyn Log>,
    /// The epoch of this node's lease; 0 on a follower.
    epoch: Epoch,
    local: Arc<Mutex<Writer>>,
}

impl Cell {
    /// A cell that nobody owns yet.
    pub(crate) fn new(log: Box<dyn Log>, local: Arc<Mutex<Writer>>) -> Self {
        Self {
            log,
            epoch: Epoch::default(),
            local,
        }
    }

    /// Where the records become durable.
    pub(crate) fn log(&mut self) -> &mut dyn Log {
        self.log.as_mut()
    }

    /// From now on this node appends, under this epoch.
    pub(crate) fn own(&mut self, epoch: Epoch) {
        self.epoch = epoch;
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

    /// Makes a record durable and gives its place in this node's journal.
    ///
    /// # Errors
    /// As [`Log::append`], but never `Unknown`: an answer that stays lost makes the log `Lost`.
    pub(crate) fn append(&mut self, sealed: &Sealed<'_>) -> Result<Placed, LogError> {
        match self.log.append(self.epoch, sealed) {
            Ok(()) => {}
            Err(LogError::Unknown(why)) => self.resolve(sealed, &why)?,
            Err(e) => return Err(e),
        }
        self.take(sealed)
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
                (Ok(()), Some(hash)) if hash == sealed.hash() => return Ok(()),
                (Ok(()), Some(_)) => {
                    return Err(LogError::Deposed {
                        epoch: Epoch(self.epoch.0 + 1),
                    });
                }
                (Ok(()), None) => match self.log.append(self.epoch, sealed) {
                    Err(LogError::Unknown(_)) => {}
                    done => return done,
                },
                (Err(_), _) => {}
            }
        }
        Err(LogError::Lost(Arc::from(why)))
    }

    /// Waits a while for records behind this node's journal, and visits each once it is in it.
    pub(crate) fn follow(
        &self,
        most: std::time::Duration,
        visit: &mut dyn FnMut(&Placed, &Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        let own = self.tail().commit;
        let tail = self.log.watch(own, most)?;
        if tail.commit <= own {
            return Ok(());
        }
        let mut failed = None;
        self.log
            .read(CommitNo(own.0 + 1), &mut |sealed| match self.take(sealed) {
                Ok(placed) => visit(&placed, sealed),
                Err(e) => {
                    failed = Some(e);
                    false
                }
            })?;
        failed.map_or(Ok(()), Err)
    }
}
