//! Ships the journals of all cells to where they are kept besides, of several nodes at the owner of the first cell.
//!
//! **Order.** A cell that this node owns has everything here once its store has written what was begun before: a barrier
//! tells. It counts if nobody else could own the cell until then. A copy of another node's cell has everything that its
//! log had when it was asked for its end, once the copy has come there.
//!
//! **Bounds.** A cell is waited for for [`CATCH_UP`].
//!
//! **Failure.** What is closed gets nothing more: whoever owned it has all of it here.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use caudal_actors::cells::FIRST;
use caudal_actors::engine::Engine;
use caudal_storage::{Records, Store, StoreError};
use tokio::sync::oneshot;

use super::{StartError, folder};
use crate::backup::BackupError;
use crate::backup::depot::Later;
use crate::backup::level::{Alone, Level};
use crate::backup::run;
use crate::http::node::Node;

/// How long a cell is waited for until everything is here that its log had.
const CATCH_UP: Duration = Duration::from_secs(5);
/// How often it is looked whether it is.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Begins to ship the journals, if they are to be kept anywhere.
///
/// # Errors
/// When the folder cannot be read, or there is no thread for it.
pub(super) fn ship(
    plan: Option<run::Plan>,
    records: Vec<Records>,
    engine: &Engine,
    data: &Path,
    node: &Option<Arc<Node>>,
) -> Result<Option<run::Running>, StartError> {
    let Some(plan) = plan else { return Ok(None) };
    let level: Arc<dyn Level> = match node {
        None => Arc::new(Alone),
        Some(node) => Arc::new(OfNode {
            node: Arc::clone(node),
            stores: engine.cells().all().map(Arc::downgrade).collect(),
        }),
    };
    let home = run::Home {
        first: Arc::downgrade(engine.cells().platform()),
        level,
    };
    let failed = |why| StartError::io("starting the backup", why);
    let running = run::start(plan, records, folder::pepper_mark(data)?, home);
    running.map(Some).map_err(failed)
}

/// What a node has of each cell.
struct OfNode {
    node: Arc<Node>,
    /// The stores of all cells by their numbers, which are not kept open.
    stores: Vec<Weak<dyn Store>>,
}

impl fmt::Debug for OfNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OfNode").finish_non_exhaustive()
    }
}

impl OfNode {
    fn store(&self, cell: u32) -> Option<Arc<dyn Store>> {
        self.stores.get(usize::try_from(cell).ok()?)?.upgrade()
    }

    /// Whether this node owns a cell, and no other can.
    fn owns(&self, cell: u32) -> bool {
        let seat = self.node.seat(cell);
        seat.is_some_and(|seat| seat.member().is_sure())
    }

    /// Whether everything is here that the log of a cell had at an instant, which is in the past; why not, if it is not.
    async fn has_all(&self, cell: u32, since: Instant) -> Result<(), String> {
        let left = CATCH_UP.checked_sub(since.elapsed());
        let gone = || "its store is gone".to_owned();
        if self.owns(cell) {
            let done = written(&*self.store(cell).ok_or_else(gone)?);
            let wrote =
                match tokio::time::timeout(left.map_or(Duration::ZERO, |left| left), done).await {
                    Ok(Ok(wrote)) => wrote,
                    Ok(Err(_)) => Err(StoreError::Closed),
                    Err(_) => return Err("its log does not take what is written".to_owned()),
                };
            match wrote {
                // Until now nobody else could have written.
                Ok(_) | Err(StoreError::Closed) if self.owns(cell) => return Ok(()),
                Ok(_) | Err(StoreError::Closed | StoreError::NotOwner { .. }) => {}
                Err(why) => return Err(why.to_string()),
            }
        }
        let store = self.store(cell).ok_or_else(gone)?;
        let at = self.node.has_all_as_of(&*store, cell);
        let lacks = || "its copy here has not caught up with its log".to_owned();
        at.filter(|at| *at >= since).map(drop).ok_or_else(lacks)
    }
}

/// Is told when a store has written everything that was begun.
fn written(store: &dyn Store) -> oneshot::Receiver<Result<caudal_storage::CommitNo, StoreError>> {
    let (send, done) = oneshot::channel();
    store.barrier(Box::new(move |outcome| drop(send.send(outcome))));
    done
}

impl Level for OfNode {
    fn ships(&self) -> bool {
        self.node.serves(FIRST)
    }

    fn shipper(&self) -> Option<Arc<str>> {
        self.node.owner_of(FIRST)
    }

    fn age(&self, cell: u32) -> Option<Duration> {
        if self.owns(cell) {
            return Some(Duration::ZERO);
        }
        let at = self.node.has_all_as_of(&*self.store(cell)?, cell)?;
        Some(at.elapsed())
    }

    fn level(&self, cell: u32) -> Later<'_, ()> {
        Box::pin(async move {
            let since = Instant::now();
            loop {
                let Err(why) = self.has_all(cell, since).await else {
                    return Ok(());
                };
                if since.elapsed() >= CATCH_UP {
                    let within = CATCH_UP.as_secs();
                    return Err(BackupError::Refused(format!(
                        "not all of cell {cell} is on this node within {within} s: {why}"
                    )));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        })
    }
}
