//! A node among others: it follows its cell, takes it when it is free and owns it until it is deposed or hands it
//! over, and follows again.
//!
//! **Order.** The lease is taken, the log is applied to its end under it, and only then does this node act as
//! the owner and accept commits. An owner that steps down first stops accepting commits; the node takes the
//! cell again only after everything that acted for it has ended ([`super::Member::willing`]).
//!
//! The projection is asked about each entry of a record before the record gets into this node's journal. It is there,
//! flushed, before its rows are visible. A node that does not own the log takes in no record that no owner is known to
//! have acknowledged: a server that fails may lose it, and a journal that has it would refuse the log.
//!
//! **Bounds.** A follower looks at the log every [`LOOK_EVERY`].
//!
//! **Failure.** While the log cannot be reached no cell is taken, and the view of the other nodes becomes stale.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::api::{CommitNo, StoreError};
use crate::durable::Shared;
use crate::durable::applier::Applier;
use crate::durable::cell::Cell;
use crate::durable::committer::{Committer, refuse, tell};
use crate::durable::heartbeat::{Heartbeat, look};
use crate::durable::queue::QueueItem;
use crate::journal::position;
use crate::log::LogError;

/// How long a follower waits between two looks at the log.
const LOOK_EVERY: Duration = Duration::from_millis(25);
/// The parts that a node needs in either role.
type NodeParts = (Cell, Applier, Heartbeat);

/// Works until the store closes or is lost.
pub(crate) fn run(shared: &Arc<Shared>, kit: NodeParts, lease: Duration) {
    let mut kit = Some(kit);
    while let Some((cell, applier, heartbeat)) = kit.and_then(|kit| follow(shared, kit, lease)) {
        kit = Committer::new(Arc::clone(shared), cell, applier, Some(heartbeat)).run();
    }
}

/// Follows until this node owns the cell; `None` when the store has closed or is lost.
fn follow(
    shared: &Shared,
    (mut cell, mut applier, mut heartbeat): NodeParts,
    lease: Duration,
) -> Option<NodeParts> {
    loop {
        // rows of notes in the group are dropped: a follower takes none
        let group = shared.queue.take(usize::MAX, u64::MAX, Some(LOOK_EVERY))?;
        let items = group.items.into_iter().map(|(_, item)| item);
        if refuse_all(shared, items, &applier) {
            return None;
        }
        heartbeat.show(shared, &mut cell, applier.mark());
        let Some(cluster_view) = look(shared, &mut cell) else {
            continue;
        };
        let end = cluster_view.acknowledged;
        if end > cell.tail().commit
            && let Err(e) = caught_up(catch_up(shared, &cell, &mut applier, end))
        {
            let lost = shared.lost(&format!("following the log: {e}"));
            shared.fail_waiting(&lost);
            return None;
        }
        if !may_take(shared) || !cluster_view.is_free_for(&heartbeat.name) {
            continue;
        }
        match take(shared, (&mut cell, &mut applier, &heartbeat), lease) {
            Ok(true) => return Some((cell, applier, heartbeat)),
            Ok(false) => {}
            Err(e) => {
                let lost = shared.lost(&format!("taking the cell: {e}"));
                shared.fail_waiting(&lost);
                return None;
            }
        }
    }
}

/// Whether this node may take the cell and would be able to write as its owner.
fn may_take(shared: &Shared) -> bool {
    let health = &shared.health;
    let fit = health.damaged().is_none() && health.refusing().is_none();
    fit && shared.role.is_willing()
}

/// Refuses requests to a follower, or closes; returns whether one of them was to close.
fn refuse_all(shared: &Shared, items: impl Iterator<Item = QueueItem>, applier: &Applier) -> bool {
    let mut closes = false;
    for item in items {
        if let QueueItem::Close(reply) = item {
            let written = shared.write_out(applier.mark());
            shared.fail_waiting(&StoreError::Closed);
            tell(&reply, written);
            closes = true;
        } else {
            refuse(item, &StoreError::NotOwner { address: None });
        }
    }
    closes
}

/// Passes on the errors of following except those that call for waiting.
fn caught_up(outcome: Result<(), LogError>) -> Result<(), LogError> {
    match outcome {
        Err(LogError::Yet(e)) => {
            tracing::debug!(error = %e, "the log cannot be followed yet");
            Ok(())
        }
        other => other,
    }
}

/// Refuses to own a log that has lost records which this node has seen: new records would not follow them.
fn same_end(cell: &mut Cell) -> Result<(), LogError> {
    let (own, tail) = (cell.tail(), cell.log().tail()?);
    if own == tail {
        return Ok(());
    }
    let offered = own.commit;
    Err(LogError::Gap { tail, offered })
}

/// Takes the cell, unless another node was quicker; returns whether this node owns it now.
fn take(
    shared: &Shared,
    (cell, applier, heartbeat): (&mut Cell, &mut Applier, &Heartbeat),
    lease: Duration,
) -> Result<bool, LogError> {
    match cell.own(&heartbeat.name, lease) {
        Ok(()) => {}
        Err(LogError::Held { .. }) => return Ok(false),
        Err(e) => {
            tracing::warn!(error = %e, "taking over the log failed; retrying");
            return Ok(false);
        }
    }
    let began = Instant::now();
    let reached = to_the_end(shared, cell, applier).and_then(|()| same_end(cell));
    if let Err(e) = reached {
        cell.release();
        cell.forget();
        return caught_up(Err(e)).map(|()| false);
    }
    let epoch = cell.epoch();
    look(shared, cell);
    tracing::info!(
        epoch = epoch.0,
        commit = applier.mark().commit,
        ms = began.elapsed().as_millis(),
        "this node owns the cell"
    );
    shared.role.own(epoch, cell.sure_until());
    Ok(true)
}

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
