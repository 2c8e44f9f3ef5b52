//! This node in one cell: acts on each of its turns. Beside the turns, it follows the platform, and reads the banks'
//! lists while this node owns a cell.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::cells::FIRST;
use caudal_actors::engine::Engine;
use caudal_actors::persist::persist;
use caudal_storage::Turn;

use crate::http::Door;
use crate::http::node::{KNOWN_FOR, Node};
use crate::service::turning::Turns;
use crate::service::{catch_up, cells};

/// The pause before another try when actors could not wake, or could not come to rest.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a node that cannot read the platform gives its cells away.
const GIVE_EVERY: Duration = Duration::from_secs(5);
/// How often a follower of one cell looks for changes of tenants and keys.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The same pause where there are several cells: their owners depend on the platform's tenants and keys.
const LOOK_OFTEN: Duration = Duration::from_millis(50);

/// The number of each cell except the first, and the id of its store.
pub(super) type Others = Arc<[(u32, String)]>;

/// Sets whether this node may take a cell when it is free.
pub(super) fn willing(node: &Node, cell: u32, willing: bool) {
    if let Some(seat) = node.seat(cell) {
        seat.member().willing(willing);
    }
}

/// Reads the changes that another node has written to the platform, until the task is aborted.
pub(super) async fn follow_platform(door: Door, node: Arc<Node>) {
    persist("platform", async |_| look_at_platform(&door, &node).await).await;
}

async fn look_at_platform(door: &Door, node: &Arc<Node>) {
    let every = match node.is_whole() {
        true => LOOK_EVERY,
        false => LOOK_OFTEN,
    };
    let mut given: Option<Instant> = None;
    loop {
        tokio::time::sleep(every).await;
        if !door.engine.is_at_rest() {
            continue;
        }
        // The read below includes at least everything that the log had at this point.
        let first = door.engine.cells().platform();
        let Some(at) = node.has_all_as_of(first.as_ref(), FIRST) else {
            continue;
        };
        match door.engine.look_again() {
            Ok(_) => {
                node.knows_as_of(at);
                given = None;
            }
            Err(why) if given.is_none_or(|at| at.elapsed() > GIVE_EVERY) => {
                tracing::error!(%why, "tenants and keys cannot be read: nothing is served by them, and cells are given away");
                given = Some(Instant::now());
                give_all(door, node);
            }
            Err(_) => {}
        }
    }
}

/// Gives away the cells that this node owns, if another node can take them, without waiting for the outcome.
fn give_all(door: &Door, node: &Arc<Node>) {
    for cell in node.cells() {
        let (node, door) = (Arc::clone(node), door.clone());
        rt::spawn(async move { drop(node.give(&door, (cell, None)).await) });
    }
}

/// The task that reads the banks' lists, for all realms that are served here.
pub(super) struct Lists {
    engine: Arc<Engine>,
    every: Option<Duration>,
    running: RefCell<Option<JoinHandle<()>>>,
}

impl Lists {
    pub(super) fn new(door: &Door, every: Option<Duration>) -> Self {
        Self {
            engine: Arc::clone(&door.engine),
            every,
            running: RefCell::new(None),
        }
    }

    /// Stops the running task, and starts a new one when `on`.
    fn turn(&self, on: bool) {
        let every = self.every.filter(|_| on);
        let next = every.map(|every| catch_up::start(Arc::clone(&self.engine), every));
        if let Some(before) = self.running.replace(next) {
            before.abort();
        }
    }
}

/// This node in one cell.
pub(super) struct Here {
    pub(super) door: Door,
    pub(super) node: Arc<Node>,
    pub(super) others: Others,
    pub(super) cell: u32,
}

impl Here {
    /// Acts on each turn, until the store is gone.
    pub(super) async fn take_turns(self, mut turns: Turns, lists: Rc<Lists>) {
        while let Some(turn) = turns.recv().await {
            persist("turn", async |again| self.take(turn, again, &lists).await).await;
        }
    }

    /// Takes a turn. `again` means that an attempt at it panicked: another node may do better.
    async fn take(&self, turn: Turn, again: bool, lists: &Lists) {
        let Self {
            door, node, cell, ..
        } = self;
        match turn {
            Turn::Owns(epoch) => {
                if !again || node.give(door, (*cell, None)).await.is_err() {
                    self.own().await;
                }
                // A lease that is just being renewed ends no ownership.
                lists.turn(node.owns_any());
                let serves = node.serves(*cell);
                tracing::info!(cell, epoch = epoch.0, serves, "this node has a turn");
            }
            Turn::Follows => {
                if !node.owns_any() {
                    lists.turn(false);
                }
                self.follow().await;
                tracing::info!(cell, "this node follows");
            }
        }
    }

    /// Whether this node still owns the cell.
    fn owns(&self) -> bool {
        let seat = self.node.seat(self.cell);
        seat.is_some_and(|seat| seat.member().owns())
    }

    /// Wakes the realms of the cell, and serves them.
    async fn own(&self) {
        let (door, node, cell) = (&self.door, &self.node, self.cell);
        let taken = Instant::now();
        // The realms must obey everything that another node wrote to the platform before this node took the cell.
        while cell != FIRST && !node.writes_platform() && !node.knows_since(Some(taken)) {
            let lacks = taken.elapsed() > KNOWN_FOR;
            if !self.owns() || lacks && node.give(door, (cell, None)).await.is_ok() {
                return;
            }
            tokio::time::sleep(if lacks { AGAIN } else { LOOK_OFTEN }).await;
        }
        while let Err(why) = self.wake_and_serve().await {
            tracing::error!(
                why,
                cell,
                "this node owns the cell, and its realms cannot wake"
            );
            if node.give(door, (cell, None)).await.is_ok() || !self.owns() {
                return;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Wakes the cell and serves it, if this node still owns it. A task that gives the cell away waits until this call
    /// has ended, so a cell that was given away is not served again afterwards.
    async fn wake_and_serve(&self) -> Result<(), String> {
        let (node, cell) = (&self.node, self.cell);
        let _kept = node.kept(cell).await;
        if !self.owns() {
            return Ok(());
        }
        self.wake().await?;
        if cell == FIRST {
            node.platform_is_here(true);
        }
        node.serve(cell, true);
        Ok(())
    }

    async fn wake(&self) -> Result<(), String> {
        let engine = &self.door.engine;
        if self.cell == FIRST && !self.others.is_empty() {
            let (first, now) = (Arc::clone(engine.cells().platform()), engine.now());
            let others = Arc::clone(&self.others);
            let announced = move || cells::announce(first.as_ref(), &others, now);
            let announced = tokio::task::spawn_blocking(announced).await;
            let announced = announced.map_err(|why| why.to_string())?;
            announced.map_err(|why| why.to_string())?;
        }
        engine.wake(self.cell).await.map_err(|why| why.to_string())
    }

    /// Stops serving the cell, and lets its realms come to rest.
    async fn follow(&self) {
        let (door, node, cell) = (&self.door, &self.node, self.cell);
        node.serve(cell, false);
        if cell == FIRST {
            node.platform_is_here(false);
        }
        door.gate.interrupt();
        while let Err(why) = door.engine.rest(cell).await {
            tracing::error!(%why, cell, "the realms of the cell do not come to rest");
            tokio::time::sleep(AGAIN).await;
        }
        willing(node, cell, true);
    }
}
