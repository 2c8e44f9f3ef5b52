//! A service that is one node of several: how it becomes the owner of the log, and how it gives the log up.
//!
//! **Shape.** The store reports each change of this node's role; a task acts on them. One more task follows the changes
//! that the owner writes to the platform.
//!
//! **Order.** To own the log, the node wakes the platform, the people and all realms, serves requests, and then reads
//! the banks' lists; until then it returns `not_owner`. To give the log up, the node refuses requests, interrupts
//! long-running ones and lets the realms come to rest; only then may it take the log again. A node that does not own the
//! log runs no realm: nothing of it calls a bank or a webhook.
//!
//! **Failure.** If realms cannot wake, the node retries after a pause or gives the log to another node. A node that
//! was deposed goes on as a follower in the same process. A task that panics is restarted: if it panicked while it took
//! the log, the log is given away first, if another node can take it.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::rt;
use actix_web::rt::task::JoinHandle;
use caudal_actors::failure::Failure;
use caudal_actors::persist::persist;
use caudal_bank::MayCall;
use caudal_http::AppState;
use caudal_http::node::hand_over::NotGiven;
use caudal_http::node::{Membership, Node};
use caudal_storage::{Member, RoleChange, StoreOptions};
use tokio::sync::mpsc;

use super::cell::{self, Opened};
use super::timers::Timers;
use super::{ServiceOptions, StartError};

/// The pause before another try when actors could not wake, or could not come to rest.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a follower looks for changes of tenants, keys and people.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the log says at most that they cannot be read.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// The turns that the store reports for this node.
type RoleChanges = mpsc::UnboundedReceiver<RoleChange>;

/// A node that has begun.
pub(super) struct RunningNode {
    node: Arc<Node>,
    /// One task acts on turns, and one follows the platform.
    tasks: [JoinHandle<()>; 2],
}

/// A node whose store is open, and which does not take the log yet.
pub(super) struct WaitingNode {
    pub(super) node: Arc<Node>,
    turns: RoleChanges,
}

/// Opens the store; also returns this node, if there may be others.
pub(super) fn open(options: &ServiceOptions) -> Result<(Opened, Option<WaitingNode>), StartError> {
    let membership = options.cell.as_ref().and_then(|cell| {
        Some(Membership {
            name: Arc::from(cell.node.as_str()),
            url: Arc::from(cell.url.as_deref()?),
            lease: cell.lease,
        })
    });
    let mut storage = options.storage.clone();
    let turns = membership.as_ref().map(|_| turns(&mut storage));
    let opened = cell::open(&options.data, storage, options.cell.clone())?;
    let ahead = membership.zip(opened.member.clone()).zip(turns);
    let ahead = ahead.map(|((membership, member), turns)| WaitingNode {
        node: Arc::new(Node::new(membership, member)),
        turns,
    });
    Ok((opened, ahead))
}

/// Has the store that is opened with these options send this node's turns to the returned channel.
fn turns(options: &mut StoreOptions) -> RoleChanges {
    let (tell, turns) = mpsc::unbounded_channel();
    // The send fails only after the service has ended.
    options.turned = Some(Arc::new(move |turn| {
        tell.send(turn).ok();
    }));
    turns
}

/// Banks are called while this process certainly owns the log. A log on this machine's disk has no other owner.
pub(super) fn may_call(own: Option<Member>) -> MayCall {
    match own {
        Some(own) => Arc::new(move || own.is_sure()),
        None => Arc::new(|| true),
    }
}

impl WaitingNode {
    /// Takes the log when it is free.
    pub(super) fn begin(self, app: &AppState, timers: Timers) -> RunningNode {
        let Self { node, turns } = self;
        let here = LocalNode {
            app: app.clone(),
            node: Arc::clone(&node),
            timed: TimedTasks::new(app, timers),
        };
        let takes = rt::spawn(here.take_turns(turns));
        let follows = rt::spawn(follow_platform(app.clone(), Arc::clone(&node)));
        node.member().willing(true);
        RunningNode {
            node,
            tasks: [takes, follows],
        }
    }
}

impl RunningNode {
    /// Hands the log over if this node owns it and another node can take it.
    pub(super) async fn leave(&self, app: &AppState) {
        self.node.member().willing(false);
        self.tasks.iter().for_each(JoinHandle::abort);
        match self.node.hand_over(app, None).await {
            Ok(_) | Err(NotGiven::NotOwner) => {}
            Err(why) => tracing::warn!(%why, "the service ends without handing the log over"),
        }
    }

    /// Stops taking the log.
    pub(super) fn end(self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// Reads the changes that the owner has written to the platform, until the task is aborted.
async fn follow_platform(app: AppState, node: Arc<Node>) {
    persist("platform", async |_| look_at_platform(&app, &node).await).await;
}

async fn look_at_platform(app: &AppState, node: &Node) {
    let mut told: Option<Instant> = None;
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if node.member().owns() || !app.engine.is_at_rest() {
            continue;
        }
        let Err(why) = app.engine.lifecycle().look_again() else {
            continue;
        };
        if told.is_none_or(|at| at.elapsed() > TELL_EVERY) {
            tracing::error!(%why, "tenants, keys and people cannot be read");
            told = Some(Instant::now());
        }
    }
}

/// The tasks that ask the banks at intervals.
struct TimedTasks {
    app: AppState,
    timers: Timers,
    running: RefCell<Vec<JoinHandle<()>>>,
}

impl TimedTasks {
    fn new(app: &AppState, timers: Timers) -> Self {
        Self {
            app: app.clone(),
            timers,
            running: RefCell::default(),
        }
    }

    /// Stops the running tasks, and starts new ones when `on`.
    fn turn(&self, on: bool) {
        let next = on.then(|| self.timers.start(&self.app));
        let before = self.running.replace(next.into_iter().flatten().collect());
        before.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for TimedTasks {
    fn drop(&mut self) {
        self.turn(false);
    }
}

/// This node's part in the log.
struct LocalNode {
    app: AppState,
    node: Arc<Node>,
    timed: TimedTasks,
}

impl LocalNode {
    /// Acts on each turn, until the store is gone.
    async fn take_turns(self, mut turns: RoleChanges) {
        while let Some(turn) = turns.recv().await {
            persist("turn", async |again| self.take(turn, again).await).await;
        }
    }

    /// Takes a turn. `again` means that an attempt at it panicked: another node may do better.
    async fn take(&self, turn: RoleChange, again: bool) {
        let node = &self.node;
        match turn {
            RoleChange::Owns(epoch) => {
                if !again || node.give(&self.app, None).await.is_err() {
                    self.own().await;
                }
                // A lease that is just being renewed ends no ownership.
                self.timed.turn(node.member().owns());
                let serves = node.serves();
                tracing::info!(epoch = epoch.0, serves, "this node owns the log");
            }
            RoleChange::Follows => {
                self.timed.turn(false);
                self.follow().await;
                tracing::info!("this node follows");
            }
        }
    }

    /// Wakes the realms, and serves them.
    async fn own(&self) {
        let (app, node) = (&self.app, &self.node);
        while let Err(why) = self.wake_and_serve().await {
            tracing::error!(%why, "this node owns the log, and its realms cannot wake");
            if node.give(app, None).await.is_ok() || !node.member().owns() {
                return;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Wakes the realms and serves them, if this node still owns the log. A task that gives the log away waits until
    /// this call has ended, so a log that was given away is not served again afterwards.
    async fn wake_and_serve(&self) -> Result<(), Failure> {
        let node = &self.node;
        let _kept = node.kept().await;
        if !node.member().owns() {
            return Ok(());
        }
        self.app.engine.lifecycle().wake().await?;
        node.serve(true);
        Ok(())
    }

    /// Stops serving, and lets the realms come to rest.
    async fn follow(&self) {
        let (app, node) = (&self.app, &self.node);
        node.serve(false);
        app.gate.interrupt();
        while let Err(why) = app.engine.lifecycle().rest().await {
            tracing::error!(%why, "the realms do not come to rest");
            tokio::time::sleep(AGAIN).await;
        }
        node.member().willing(true);
    }
}
