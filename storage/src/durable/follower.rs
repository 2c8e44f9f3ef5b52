//! The follower: one thread that copies the owner's records into this node's journal and index.
//!
//! **Order.** The projection is asked about each entry of a record before the record gets into this node's journal. It
//! is there, flushed, before its rows are visible. A node that may own the log takes in no record that no owner is
//! known to have acknowledged: a server that fails may lose it, and a journal that has it would refuse the log.
//!
//! **Failure.** A record that does not follow this node's journal, or cannot be written or applied,
//! poisons the store. A log that cannot be reached is asked again.

use std::sync::Arc;
use std::time::Duration;

use crate::api::StoreError;
use crate::durable::Shared;
use crate::durable::applier::Applier;
use crate::durable::cell::Cell;
use crate::durable::queue::QueueItem;
use crate::log::LogError;

/// How long one wait for the log lasts at most.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Brings a node's copy of a cell up to the end of its log, once; waits at most `most` for more
/// records.
///
/// # Errors
/// When a record cannot be added to the journal or the index.
pub(crate) fn catch_up(
    shared: &Shared,
    cell: &Cell,
    applier: &mut Applier,
    most: Duration,
) -> Result<(), LogError> {
    let mut failed = None;
    let rows = shared.projection.as_ref();
    cell.follow(most, rows, &mut |placed, sealed, entries| {
        let applied = applier.record(placed, sealed, entries);
        let applied = applied.and_then(|()| applier.settle());
        failed = applied.err();
        shared.reached(applier.mark());
        failed.is_none()
    })?;
    failed.map_or(Ok(()), |e| Err(LogError::Read(e)))
}

/// Brings a node's copy of a cell up to where it reaches now ([`Cell::reaches`]).
///
/// # Errors
/// As [`catch_up`].
pub(crate) fn to_the_end(
    shared: &Shared,
    cell: &Cell,
    applier: &mut Applier,
) -> Result<(), LogError> {
    loop {
        catch_up(shared, cell, applier, Duration::ZERO)?;
        let own = cell.tail().commit;
        if own >= cell.reaches(own, Duration::ZERO)? {
            return Ok(());
        }
    }
}

/// Works until the store closes or is lost.
pub(crate) fn run(shared: &Arc<Shared>, cell: &Cell, mut applier: Applier) {
    loop {
        match shared.queue.look() {
            None => return,
            Some(Some(QueueItem::Close(reply))) => {
                let written = shared.write_out(applier.mark());
                shared.fail_waiting(&StoreError::Closed);
                if reply.send(written).is_err() {
                    tracing::error!("the caller that waited for the store to close has gone");
                }
                return;
            }
            Some(Some(QueueItem::Commit(_, done, _) | QueueItem::Barrier(done))) => {
                super::committer::finish(done, Err(StoreError::NotOwner { address: None }));
            }
            Some(Some(QueueItem::Yield(_, reply))) => {
                super::committer::tell(&reply, Err(StoreError::NotOwner { address: None }));
            }
            Some(None) => {}
        }
        match catch_up(shared, cell, &mut applier, LOOK_EVERY) {
            Ok(()) | Err(LogError::Yet(_)) => {}
            Err(e) => {
                let lost = shared.lost(&format!("following the log: {e}"));
                return shared.fail_waiting(&lost);
            }
        }
    }
}
