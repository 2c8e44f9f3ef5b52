//! Starts a store that was checked: its threads, the rows that the index lacks, and its part in the
//! cell.
//!
//! **Order.** The index is brought to the end of this node's journal; an owner takes the lease;
//! then journal and index are brought to the end of the log. Only then does the store answer
//! requests.
//!
//! **Failure.** A journal that is longer than the log is refused: nothing of it is overwritten.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::api::StoreError;
use crate::background::give_way;
use crate::durable::applier::Applier;
use crate::durable::cell::Cell;
use crate::durable::committer::Committer;
use crate::durable::heartbeat::Heartbeat;
use crate::durable::identity::Identity;
use crate::durable::obsolete_indexes::drop_old;
use crate::durable::options::{NodePart, Progress};
use crate::durable::{DurableStore, Shared, node, watch};
use crate::error::OpenError;
use crate::index::SortedRows;
use crate::log::{LogError, Sealed, Tail};
use crate::num::u64_of;

/// The pause between two tries to take a cell that another owner has.
const HELD_PAUSE: Duration = Duration::from_millis(50);

/// A store that was checked and whose threads have not started.
pub(crate) struct Opened {
    /// Which store it is, and which log it keeps.
    pub(super) identity: Identity,
    /// What all its threads share.
    pub(super) shared: Arc<Shared>,
}

/// Starts the threads, brings the index up to the journal and the log, and takes the lease if this
/// node is to own the cell.
///
/// # Errors
/// `Rebuild` when an entry cannot be projected, `Corrupt` when the journal is not a beginning of the
/// log, `Log` when the log refuses the lease or cannot be read, `Io` when a thread cannot be
/// started. On any error but `Io` the threads that were started have ended.
pub(super) fn start(
    opened: Opened,
    mut cell: Cell,
    part: &NodePart,
) -> Result<Arc<DurableStore>, OpenError> {
    let Opened { identity, shared } = opened;
    let heartbeat = announced(&mut cell, part)?;
    let mut threads = Vec::new();
    let mut spawn = |name: &str, work: Box<dyn FnOnce() + Send>| -> Result<(), OpenError> {
        let health = Arc::clone(&shared.health);
        let what = format!("the thread {name} panicked");
        let guarded = move || {
            if catch_unwind(AssertUnwindSafe(work)).is_err() {
                health.poison(&what);
            }
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(guarded);
        threads.push(
            thread
                .map_err(|e| OpenError::io("starting the threads of", &shared.context.path, e))?,
        );
        Ok(())
    };
    let flush = behind(&shared.index, SortedRows::flush_loop);
    spawn("caudal-storage-flush", flush)?;
    let merge = behind(&shared.index, SortedRows::merge_loop);
    spawn("caudal-storage-merge", merge)?;
    let applier = match apply(&shared, &mut cell, part) {
        Ok(applier) => applier,
        Err(e) => {
            shared.index.stop();
            stop(threads);
            return Err(e);
        }
    };
    // the index that was moved aside is useless once the new one holds the journal's rows
    if let Err(e) = drop_old(&shared.context.folder) {
        tracing::warn!(error = %e, "the index that was replaced could not be removed");
    }
    let run = work(Arc::clone(&shared), cell, applier, heartbeat);
    spawn("caudal-storage-commit", run)?;
    let watched = Arc::clone(&shared);
    spawn(
        "caudal-storage-watch",
        Box::new(move || watch::run(&watched)),
    )?;
    let seen = Arc::clone(&shared);
    let work = move || seen.witness.run(&seen.health);
    spawn("caudal-storage-witness", Box::new(work))?;
    let check = behind(&shared, |shared| shared.checker.run());
    spawn("caudal-storage-check", check)?;
    shared.witness.tell("the store is open");
    let ids = threads
        .iter()
        .map(|t: &JoinHandle<()>| t.thread().id())
        .collect();
    let closed = std::sync::atomic::AtomicBool::new(false);
    Ok(Arc::new(DurableStore {
        shared,
        identity,
        closed,
        threads: Mutex::new(threads),
        ids,
    }))
}

/// The work of a thread in the background, which gives way to the threads that serve.
fn behind<T: Send + Sync + 'static>(of: &Arc<T>, work: fn(&T)) -> Box<dyn FnOnce() + Send> {
    let of = Arc::clone(of);
    Box::new(move || {
        give_way();
        work(&of);
    })
}

/// Announces a node to the others under its name; nothing else announces itself.
fn announced(cell: &mut Cell, part: &NodePart) -> Result<Option<(Heartbeat, Duration)>, OpenError> {
    let NodePart::Node { name, url, lease } = part else {
        return Ok(None);
    };
    let heartbeat = Heartbeat::new(name, url);
    heartbeat.claim(cell).map_err(OpenError::Log)?;
    Ok(Some((heartbeat, *lease)))
}

/// The work of the thread that appends or follows; `heartbeat` is that of a node among others, with the length of its
/// lease.
fn work(
    shared: Arc<Shared>,
    cell: Cell,
    applier: Applier,
    heartbeat: Option<(Heartbeat, Duration)>,
) -> Box<dyn FnOnce() + Send> {
    Box::new(move || {
        let work = AssertUnwindSafe(|| match heartbeat {
            Some((heartbeat, lease)) => node::run(&shared, (cell, applier, heartbeat), lease),
            None => drop(Committer::new(Arc::clone(&shared), cell, applier, None).run()),
        });
        if catch_unwind(work).is_err() {
            shared.health.poison("the committer panicked");
        }
        if let Some(e) = shared.health.poisoned() {
            shared.fail_waiting(&e);
        }
    })
}

fn stop(threads: Vec<JoinHandle<()>>) {
    for thread in threads {
        if thread.join().is_err() {
            tracing::error!("store thread panicked");
        }
    }
}

/// Indexes the part of the journal that the index lacks, takes the cell if this node is to own it,
/// and brings journal and index to the end of the log.
fn apply(shared: &Arc<Shared>, cell: &mut Cell, part: &NodePart) -> Result<Applier, OpenError> {
    let index = Arc::clone(&shared.index);
    let projection = Arc::clone(&shared.projection);
    let mut applier = Applier::new(index, projection, shared.options.heads_max);
    catch_up(shared, &mut applier, cell.tail()).map_err(OpenError::Rebuild)?;
    compare(cell)?;
    if let NodePart::Owner {
        name,
        lease,
        patience,
    } = part
    {
        let began = Instant::now();
        loop {
            match cell.own(name, *lease) {
                Err(LogError::Held { .. }) if began.elapsed() < *patience => {
                    std::thread::sleep(HELD_PAUSE);
                }
                done => break done.map_err(OpenError::Log)?,
            }
        }
        shared.role.sure_until(cell.sure_until());
    }
    node::to_the_end(shared, cell, &mut applier).map_err(OpenError::Log)?;
    let last = &shared.counters.last_commit;
    last.store(applier.mark().commit, Ordering::Release);
    Ok(applier)
}

/// Refuses a journal that is not a prefix of the log.
fn compare(cell: &mut Cell) -> Result<(), OpenError> {
    let own = cell.tail();
    let refused = |why: &str| {
        let commit = own.commit.0;
        Err(OpenError::Corrupt(Arc::from(format!(
            "this node's journal ends with commit {commit}, and the log of its cell {why}. Nothing \
             was changed: compare the two before anything is appended"
        ))))
    };
    if cell.log().tail().map_err(OpenError::Log)?.commit < own.commit {
        return refused("ends before it");
    }
    let mut found = None;
    let read = cell.log().read(own.commit, &mut |record| {
        found = Some(record.tail());
        false
    });
    match (read, found) {
        (Err(e), _) => Err(OpenError::Log(e)),
        (Ok(()), Some(tail)) if own.commit.0 > 0 && tail != own => {
            refused("holds another record in its place")
        }
        (Ok(()), _) => Ok(()),
    }
}

/// Indexes the part of the journal that the index lacks.
fn catch_up(shared: &Shared, applier: &mut Applier, end: Tail) -> Result<(), StoreError> {
    let (from, last) = (applier.mark(), end.commit.0);
    if from.commit == last {
        return Ok(());
    }
    tracing::info!(from = from.commit, to = last, "indexing the journal");
    let mut reported = Instant::now();
    let mut bytes = 0;
    shared.journal.records(from.end, &mut |at, record| {
        applier.record(at, &Sealed::of(*record))?;
        applier.settle()?;
        bytes += u64_of(record.bytes.len());
        if reported.elapsed().as_secs() >= 1 {
            reported = Instant::now();
            let commit = applier.mark().commit;
            let progress = Progress::Indexing { commit, of: last };
            shared.options.report(progress);
            tracing::info!(commit, of = last, "indexing");
        }
        Ok(true)
    })?;
    if (applier.mark().commit, applier.mark().chain) != (last, end.hash) {
        let why = "the journal does not end where it ended when it was checked";
        return Err(StoreError::Corrupt(why.into()));
    }
    shared.checker.read_more(bytes);
    Ok(())
}
