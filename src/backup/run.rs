//! Ships a running service's journals, continuously, on a thread of its own.
//!
//! **Shape.** Every few seconds, and on request, ships all durable records that are not in the depot yet, of all cells
//! in the order that [`super::fleet`] defines. With several nodes, the owner of the first cell ships ([`Level`]).
//!
//! **Bounds.** One object at a time, for [`PATIENCE`] at most. The lag of a cell is the age of its oldest record that
//! is not shipped. It is counted from the start of the last round that shipped everything of the cell, so it is never
//! too small. The lag of the service is the largest of its cells.
//!
//! **Failure.** Posting never waits for a backup. A failed step is retried with growing pauses, and reported; meanwhile,
//! cells that do not depend on the failing one are shipped as often as ever. Each round checks the destination, even if
//! there is nothing to ship: while it is not what it was, the lag grows. After a panic all of it is begun again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use caudal_actors::persist::persist;
use caudal_storage::log::Tail;
use caudal_storage::{Records, Spot, Store};
use tokio::sync::{Notify, oneshot, watch};

use super::BackupError;
use super::depot::Depot;
use super::end::Choice;
use super::fleet::{Fleet, Known};
use super::level::{FIRST, Level};
use super::names::hex;
use super::ship::{Cut, Shipped};

/// How often the tail is shipped by default.
pub const EVERY: Duration = Duration::from_secs(5);
/// How long one object may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The pause after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How long the last round may take when the service stops.
const LAST: Duration = Duration::from_secs(10);

/// The destination and the pace of a service's backup.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The destination.
    pub depot: Arc<dyn Depot>,
    /// The pause between two rounds.
    pub every: Duration,
    /// The sizes at which objects are cut.
    pub cut: Cut,
}

/// The service's own view of its cells.
#[derive(Clone)]
pub struct Home {
    /// The store of the first cell; the weak reference does not keep it open.
    pub first: Weak<dyn Store>,
    /// Which node ships, and how complete each cell is here.
    pub level: Arc<dyn Level>,
    /// The backups that the service chose.
    pub choice: Arc<dyn Choice>,
}

/// The progress of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CellProgress {
    /// The last commit in the depot; `None` until it is known.
    pub commit: Option<u64>,
    /// The age of the oldest record that is not in the depot; zero when everything is there.
    pub lag: Duration,
    /// The approximate number of journal bytes that are not in the depot.
    pub lag_bytes: u64,
}

/// The progress of shipping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Whether this service ships. If it does not, it does not know the depot's lag: commits are `None`, and lags zero.
    pub ships: bool,
    /// The name of the node that ships, where there are several and it is known.
    pub shipper: Option<String>,
    /// The destination, for operators.
    pub place: String,
    /// The id of the store.
    pub store: String,
    /// The pause between two rounds.
    pub every: Duration,
    /// The first cell's last commit in the depot; `None` until it is known.
    pub commit: Option<u64>,
    /// The age of the oldest record of any cell that is not in the depot; zero when everything is there.
    pub lag: Duration,
    /// The approximate number of bytes of all journals that are not in the depot.
    pub lag_bytes: u64,
    /// The progress of each cell, the first cell's first.
    pub cells: Vec<CellProgress>,
    /// How long ago the depot had everything, if it had since the start.
    pub complete: Option<Duration>,
    /// What this service has written since the start.
    pub shipped: Shipped,
    /// The number of failed rounds since the start.
    pub failures: u64,
    /// The error of the last round, if it failed.
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug)]
struct CellState {
    reached: Option<Spot>,
    /// When the last round began that shipped everything; until there was one, the time of the start.
    complete: Instant,
    ever: bool,
}

impl CellState {
    fn is_whole(&mut self, since: Instant) {
        (self.complete, self.ever) = (since, true);
    }
}

#[derive(Debug)]
struct State {
    cells: Vec<CellState>,
    /// Whether the last round found the destination as it was.
    there: bool,
    shipped: Shipped,
    failures: u64,
    error: Option<String>,
}

/// The state of a running backup, for those that watch it or ask for a round.
pub struct Backup {
    plan: Plan,
    /// The records of each cell, the first cell's first.
    records: Vec<Records>,
    home: Home,
    state: Mutex<State>,
    ring: Notify,
    /// The number of requests for a round, and the number of them whose rounds have ended.
    asked: AtomicU64,
    answered: watch::Sender<u64>,
    stopping: AtomicBool,
}

impl std::fmt::Debug for Backup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backup")
            .field("plan", &self.plan)
            .finish_non_exhaustive()
    }
}

/// The thread that ships.
#[derive(Debug)]
pub struct Running {
    /// The state to watch.
    pub backup: Arc<Backup>,
    graceful: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
}

/// Starts to ship all cells, the first one first, whenever this service is the one that ships.
///
/// # Errors
/// When the thread cannot be started.
pub fn start(
    plan: Plan,
    records: Vec<Records>,
    pepper_check: Option<Vec<u8>>,
    home: Home,
) -> std::io::Result<Running> {
    let cell = CellState {
        reached: None,
        complete: Instant::now(),
        ever: false,
    };
    let state = State {
        cells: vec![cell; records.len()],
        there: false,
        shipped: Shipped::default(),
        failures: 0,
        error: None,
    };
    let backup = Arc::new(Backup {
        plan,
        records,
        home,
        state: Mutex::new(state),
        ring: Notify::new(),
        asked: AtomicU64::new(0),
        answered: watch::Sender::new(0),
        stopping: AtomicBool::new(false),
    });
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let graceful = Arc::new(AtomicBool::new(false));
    let (end, ended) = oneshot::channel();
    let (shipping, last) = (Arc::clone(&backup), Arc::clone(&graceful));
    std::thread::Builder::new()
        .name("caudal-backup".to_owned())
        .spawn(move || {
            let ships = async |_| shipping.run(pepper_check.as_deref(), &last).await;
            runtime.block_on(persist("backup", ships));
            // A folder that hangs blocks only its own thread.
            runtime.shutdown_background();
            drop(shipping);
            end.send(()).ok();
        })?;
    Ok(Running {
        backup,
        graceful,
        ended,
    })
}

impl Running {
    /// Stops shipping and waits for the end. If graceful, everything durable is shipped first, unless that takes too
    /// long.
    pub async fn stop(mut self, gracefully: bool) {
        self.graceful.store(gracefully, Ordering::Release);
        self.end();
        let patience = LAST + Duration::from_secs(5);
        if tokio::time::timeout(patience, &mut self.ended)
            .await
            .is_err()
        {
            tracing::warn!("the backup does not end; the service ends without it");
        }
    }
}

impl Running {
    fn end(&self) {
        self.backup.stopping.store(true, Ordering::Release);
        self.backup.ring.notify_one();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Backup {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current progress.
    pub fn progress(&self) -> Progress {
        let level = &self.home.level;
        let ships = level.ships();
        let shipper = level.shipper().map(|name| name.to_string());
        let state = self.state();
        let cell = |(number, (cell, records)): (u32, (&CellState, &Records))| {
            let reached = cell.reached.unwrap_or_else(|| records.beginning());
            let lag_bytes = match ships {
                true => records.behind(&reached),
                false => 0,
            };
            // Records that are in the log but not in this node's copy are not in the depot either.
            let all = level.age(number).filter(|_| lag_bytes == 0 && state.there);
            CellProgress {
                commit: cell.reached.filter(|_| ships).map(|it| it.tail().commit.0),
                lag: match ships {
                    true => all.unwrap_or_else(|| cell.complete.elapsed()),
                    false => Duration::ZERO,
                },
                lag_bytes,
            }
        };
        let cells = state.cells.iter().zip(&self.records);
        let cells: Vec<_> = (FIRST..).zip(cells).map(cell).collect();
        let ever = state.cells.iter().all(|it| it.ever);
        let since = state.cells.iter().map(|it| it.complete.elapsed()).max();
        let lags = cells.iter().map(|it| it.lag);
        Progress {
            ships,
            shipper,
            place: self.plan.depot.place(),
            store: self
                .records
                .first()
                .map_or_else(String::new, |it| hex(&it.history())),
            every: self.plan.every,
            commit: cells.first().and_then(|it| it.commit),
            lag: lags.fold(Duration::ZERO, Duration::max),
            lag_bytes: cells.iter().map(|it| it.lag_bytes).sum(),
            complete: since.filter(|_| ever),
            shipped: state.shipped,
            failures: state.failures,
            error: state.error.clone(),
            cells,
        }
    }

    /// Ships at once, and returns the progress when that round has ended, whether it succeeded or failed.
    pub async fn now(&self) -> Progress {
        let mine = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        self.ring.notify_one();
        let mut answered = self.answered.subscribe();
        // The sender lives as long as `self`.
        answered.wait_for(|it| *it >= mine).await.ok();
        self.progress()
    }

    async fn run(&self, pepper_check: Option<&[u8]>, graceful: &AtomicBool) {
        let mut fleet = None;
        let mut pause = FIRST_PAUSE;
        // When to retry a cell that failed, while the other cells go on.
        let mut again: Option<Instant> = None;
        let mut served = 0;
        loop {
            let last = self.stopping.load(Ordering::Acquire);
            if last && !graceful.load(Ordering::Acquire) {
                break;
            }
            let asked = self.asked.load(Ordering::Acquire);
            let began = Instant::now();
            let due = |at: Instant| at <= began || asked != served || last;
            if again.is_some_and(due) {
                (fleet, again) = (None, None);
            }
            served = asked;
            let round = self.round(&mut fleet, (pepper_check, began), last);
            let outcome =
                match tokio::time::timeout(if last { LAST } else { Duration::MAX }, round).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(BackupError::depot("the last round", "it took too long")),
                };
            let wait = match &outcome {
                Ok(()) => {
                    (pause, again) = (FIRST_PAUSE, None);
                    self.plan.every
                }
                Err(_) => {
                    let wait = pause.max(self.plan.every.min(LONGEST_PAUSE));
                    if again.is_none() {
                        again = Some(Instant::now() + wait);
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                    // Meanwhile the fleet kept from the round ships the other cells.
                    match fleet.is_some() {
                        true => wait.min(self.plan.every),
                        false => wait,
                    }
                }
            };
            self.note(outcome, fleet.is_some());
            self.answered.send_replace(asked);
            if last {
                break;
            }
            tokio::select! {
                () = self.ring.notified() => {}
                () = tokio::time::sleep(wait) => {}
            }
        }
        self.answered.send_replace(u64::MAX);
    }

    /// Ships, if this service is the one that ships.
    async fn round(
        &self,
        fleet: &mut Option<Fleet>,
        begun: (Option<&[u8]>, Instant),
        last: bool,
    ) -> Result<(), BackupError> {
        let level = &self.home.level;
        let done = match level.ships() {
            true => self.shipped(fleet, begun, last).await,
            false => Ok(()),
        };
        if level.ships() {
            return done;
        }
        // Another node ships or is about to, so the depot has to be listed again before this one ships.
        *fleet = None;
        for cell in &mut self.state().cells {
            cell.reached = None;
            cell.is_whole(begun.1);
        }
        Ok(())
    }

    /// Ships until nothing is left, or the service stops.
    async fn shipped(
        &self,
        fleet: &mut Option<Fleet>,
        (pepper_check, began): (Option<&[u8]>, Instant),
        last: bool,
    ) -> Result<(), BackupError> {
        let Plan { depot, cut, .. } = &self.plan;
        let late = |_| BackupError::depot(depot.place(), "it does not answer");
        let mut ship = match fleet.take() {
            Some(mut ship) => {
                ship.begins_anew();
                ship
            }
            None => {
                let known = Known {
                    pepper_check,
                    choice: self.home.choice.as_ref(),
                    shipped: self.reached(),
                };
                let cells = (self.records.as_slice(), Arc::clone(&self.home.level));
                let begin = Fleet::begin(depot, cells, *cut, known);
                let begun = tokio::time::timeout(PATIENCE, begin).await;
                begun.map_err(late)??
            }
        };
        loop {
            self.shown(&ship);
            let step = tokio::time::timeout(PATIENCE, ship.step()).await;
            // A failed step can be repeated; after an interrupted one, the depot has to be listed again.
            if !step.map_err(late)?? {
                break;
            }
            let ends = !last && self.stopping.load(Ordering::Acquire);
            if ends || !self.home.level.ships() {
                break;
            }
        }
        self.shown(&ship);
        for (cell, stand) in self.state().cells.iter_mut().zip(ship.stands()) {
            if stand.whole {
                cell.is_whole(began);
            }
        }
        let failed = ship.failure();
        if failed.is_none() || ship.leads_on() {
            *fleet = Some(ship);
        }
        failed.map_or(Ok(()), Err)
    }

    /// The end of what the depot has of each cell, as far as it is known.
    fn reached(&self) -> Vec<Option<Tail>> {
        let state = self.state();
        let cells = state.cells.iter();
        cells.map(|it| it.reached.map(|it| it.tail())).collect()
    }

    fn shown(&self, fleet: &Fleet) {
        let mut state = self.state();
        state.shipped = fleet.shipped();
        for (cell, stand) in state.cells.iter_mut().zip(fleet.stands()) {
            cell.reached = stand.reached.or(cell.reached);
        }
    }

    fn note(&self, outcome: Result<(), BackupError>, there: bool) {
        let mut state = self.state();
        state.there = there;
        match outcome {
            Ok(()) => {
                if state.error.take().is_some() {
                    tracing::info!("the backup goes on");
                }
            }
            Err(why) => {
                state.failures += 1;
                let why = why.to_string();
                if state.error.as_ref() != Some(&why) {
                    tracing::error!(%why, "the backup does not go on; it is tried again");
                }
                state.error = Some(why);
            }
        }
    }
}
