//! Ships the journal to the backup's destination; with several nodes, the owner of the log ships it.
//!
//! **Order.** The owner's copy is complete once its store has written everything that was begun before; a barrier
//! reports that. The barrier counts only if no other node could own the log until then.
//!
//! **Bounds.** Waits for the store at most [`CATCH_UP`].
//!
//! **Failure.** A closed store receives nothing more, so if this node owned the log, everything is here.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use caudal_actors::engine::Engine;
use caudal_storage::{Records, Store, StoreError};
use tokio::sync::oneshot;

use super::{StartError, folder};
use crate::backup::BackupError;
use crate::backup::depot::Later;
use crate::backup::level::{Alone, Level};
use crate::backup::run;
use crate::http::node::Node;

/// How long to wait for the store to have everything that the log had.
const CATCH_UP: Duration = Duration::from_secs(5);
/// The pause between two looks at whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Begins to ship the journals, if a backup is configured.
///
/// # Errors
/// When the folder cannot be read, or no thread can be started for it.
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
        choice: Arc::new(folder::BackupChoice::of(data)),
    };
    let failed = |why| StartError::io("starting the backup", why);
    let running = run::start(plan, records, folder::pepper_mark(data)?, home);
    running.map(Some).map_err(failed)
}

/// How complete this node's stores are.
struct OfNode {
    node: Arc<Node>,
    /// The stores of all cells by number; the weak references do not keep them open.
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

    /// Whether this node owns the log, and no other can.
    fn owns(&self) -> bool {
        self.node.member().is_sure()
    }

    /// Checks that this node holds everything that the log had at `since`, an instant in the past; the error says why
    /// not.
    async fn has_all(&self, cell: u32, since: Instant) -> Result<(), String> {
        let left = CATCH_UP.checked_sub(since.elapsed());
        let gone = || "its store is gone".to_owned();
        if !self.owns() {
            return Err("another node owns the log".to_owned());
        }
        let done = written(&*self.store(cell).ok_or_else(gone)?);
        let done = tokio::time::timeout(left.map_or(Duration::ZERO, |left| left), done);
        let wrote = match done.await {
            Ok(wrote) => wrote.unwrap_or(Err(StoreError::Closed)),
            Err(_) => return Err("its log does not take what is written".to_owned()),
        };
        match wrote {
            // No other node could have written until now.
            Ok(_) | Err(StoreError::Closed) if self.owns() => Ok(()),
            Ok(_) => Err("another node owns the log".to_owned()),
            Err(why) => Err(why.to_string()),
        }
    }
}

/// A channel that fires when a store has written everything that was begun.
fn written(store: &dyn Store) -> oneshot::Receiver<Result<caudal_storage::CommitNo, StoreError>> {
    let (send, done) = oneshot::channel();
    store.barrier(Box::new(move |outcome| drop(send.send(outcome))));
    done
}

impl Level for OfNode {
    fn ships(&self) -> bool {
        self.node.serves()
    }

    fn shipper(&self) -> Option<Arc<str>> {
        self.node.owner()
    }

    fn age(&self, _: u32) -> Option<Duration> {
        self.owns().then_some(Duration::ZERO)
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
