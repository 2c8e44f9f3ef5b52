//! Copies the owner's records into this node's journal and index.
//!
//! **Order.** The projection is asked about each entry of a record before the record gets into this node's journal. It
//! is there, flushed, before its rows are visible. A node that does not own the log takes in no record that no owner is
//! known to have acknowledged: a server that fails may lose it, and a journal that has it would refuse the log.

use crate::api::CommitNo;
use crate::durable::Shared;
use crate::durable::applier::Applier;
use crate::durable::cell::Cell;
use crate::journal::position;
use crate::log::LogError;

/// Brings a node's copy of a cell up to this commit of its log.
///
/// # Errors
/// When a record cannot be read, or added to the journal or the index.
pub(crate) fn catch_up(
    shared: &Shared,
    cell: &Cell,
    applier: &mut Applier,
    end: CommitNo,
) -> Result<(), LogError> {
    let mut failed = None;
    let rows = shared.projection.as_ref();
    cell.follow(end, rows, &mut |placed, sealed| {
        let at = position(placed.segment.number, placed.offset);
        let applied = applier.record(at, sealed);
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
/// As [`catch_up`]; when the log cannot be reached.
pub(crate) fn to_the_end(
    shared: &Shared,
    cell: &Cell,
    applier: &mut Applier,
) -> Result<(), LogError> {
    loop {
        let end = cell.reaches()?;
        if cell.tail().commit >= end {
            return Ok(());
        }
        catch_up(shared, cell, applier, end)?;
    }
}
