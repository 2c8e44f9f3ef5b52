//! The log of a cell that lives on one machine: this node's own journal, flushed record by record.
//!
//! **Order.** The lock on the store's folder is the lease: one process has it, the system releases
//! it when the process dies, and nobody can depose a live owner. So there is only one epoch.
//!
//! **Failure.** A failed write or flush is final ([`LogError::Lost`]); a next segment that does not
//! exist yet is not.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::api::CommitNo;
use crate::journal::Journal;
use crate::journal::writer::JournalWriter;
use crate::log::{ClusterView, Epoch, Log, LogError, LogId, Presence, Sealed, Tail};
use crate::sync::lock;

/// The only epoch.
const EPOCH: Epoch = Epoch(1);

/// The journal of this node as the log of its cell.
#[derive(Debug)]
pub struct DiskLog {
    id: LogId,
    local: Arc<Mutex<JournalWriter>>,
    journal: Arc<Journal>,
}

impl DiskLog {
    /// A log over the journal that `local` writes and `journal` reads, both of an open store.
    pub(crate) fn new(id: LogId, local: Arc<Mutex<JournalWriter>>, journal: Arc<Journal>) -> Self {
        Self { id, local, journal }
    }
}

/// Refuses every epoch but the only one.
fn own(epoch: Epoch) -> Result<(), LogError> {
    if epoch == EPOCH {
        Ok(())
    } else {
        Err(LogError::Deposed { epoch: EPOCH })
    }
}

impl Log for DiskLog {
    fn id(&self) -> LogId {
        self.id
    }

    fn acquire(&mut self, _owner: &str, _length: Duration) -> Result<Epoch, LogError> {
        Ok(EPOCH)
    }

    /// No other process can take the cell, so it need not be reserved.
    fn reserve(&mut self, _name: &str) -> Result<Epoch, LogError> {
        Ok(EPOCH)
    }

    fn renew(
        &mut self,
        epoch: Epoch,
        _length: Duration,
        _acknowledged: CommitNo,
    ) -> Result<(), LogError> {
        own(epoch)
    }

    fn release(&mut self, _epoch: Epoch) -> Result<(), LogError> {
        Ok(())
    }

    /// No other node can take the cell, so there is nobody to offer it to.
    fn offer(&mut self, _epoch: Epoch, _to: &str) -> Result<(), LogError> {
        Ok(())
    }

    fn report(&mut self, _node: &Presence) -> Result<(), LogError> {
        Ok(())
    }

    fn cluster_view(&self) -> Result<ClusterView, LogError> {
        let tail = lock(&self.local).tail();
        Ok(ClusterView {
            epoch: EPOCH,
            tail,
            acknowledged: tail.commit,
            ..ClusterView::default()
        })
    }

    fn append(&mut self, epoch: Epoch, record: &Sealed<'_>) -> Result<(), LogError> {
        own(epoch)?;
        let mut local = lock(&self.local);
        let tail = local.tail();
        if !record.follows(&tail) {
            let offered = record.first_commit();
            return Err(LogError::Gap { tail, offered });
        }
        let placed = local.put(record)?;
        local.sync()?;
        local.show(&placed);
        Ok(())
    }

    fn tail(&self) -> Result<Tail, LogError> {
        Ok(lock(&self.local).tail())
    }

    fn read(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(&Sealed<'_>) -> bool,
    ) -> Result<(), LogError> {
        let start = self.journal.segment_of(from.0);
        let read = self.journal.records(start, &mut |_, record| {
            Ok(record.header.last_commit() < from.0 || visit(&Sealed::of(*record)))
        });
        read.map_err(LogError::Read)
    }
}
