//! Ships a running service's journal, continuously, on a thread of its own.
//!
//! **Shape.** Every few seconds, and on request, ships all durable records that are not in the backup store yet. With several
//! nodes, the owner of the log ships ([`ShippingRole`]).
//!
//! **Bounds.** One object at a time, for [`PATIENCE`] at most. The lag is the age of the oldest record that is not
//! shipped. It is counted from the start of the last round that shipped everything, so it is never too small.
//!
//! **Failure.** Posting never waits for a backup. A failed round is tried again with growing pauses, and reported. Each
//! round checks the destination, even if there is nothing to ship: while it is not what it was, the lag grows. After a
//! panic all of it is restarted.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caudal_actors::persist::persist;
use caudal_storage::{Records, Spot};
use tokio::sync::{Notify, oneshot, watch};

use super::BackupError;
use super::backup_store::BackupStore;
use super::end::BackupChoices;
use super::names::hex;
use super::ship::{KnownBackup, ObjectLimits, Shipment, Shipped};

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
pub struct BackupPlan {
    /// The destination.
    pub backup_store: Arc<dyn BackupStore>,
    /// The pause between two rounds.
    pub every: Duration,
    /// The sizes at which objects are cut.
    pub cut: ObjectLimits,
}

/// Which node ships.
pub trait ShippingRole: std::fmt::Debug + Send + Sync {
    /// Whether this service ships. Two nodes may believe so for a moment: what they write is consistent.
    fn ships(&self) -> bool;
    /// The name of the node that ships; `None` where there are no other nodes, or it is not known.
    fn shipper(&self) -> Option<Arc<str>>;
}

/// A service without other nodes.
#[derive(Clone, Copy, Debug)]
pub struct SingleNode;

impl ShippingRole for SingleNode {
    fn ships(&self) -> bool {
        true
    }

    fn shipper(&self) -> Option<Arc<str>> {
        None
    }
}

/// The service's own view of its backup.
#[derive(Clone)]
pub struct ServiceView {
    /// Which node ships.
    pub role: Arc<dyn ShippingRole>,
    /// The backups that the service chose.
    pub choice: Arc<dyn BackupChoices>,
}

/// The progress of shipping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Whether this service ships. If it does not, it does not know the backup store's lag: the commit is `None`, and lags are zero.
    pub ships: bool,
    /// The name of the node that ships, where there are several and it is known.
    pub shipper: Option<String>,
    /// The destination, for operators.
    pub place: String,
    /// The id of the store.
    pub store: String,
    /// The pause between two rounds.
    pub every: Duration,
    /// The last commit in the backup store; `None` until it is known.
    pub commit: Option<u64>,
    /// The age of the oldest record that is not in the backup store; zero when everything is there.
    pub lag: Duration,
    /// The approximate number of bytes of the journal that are not in the backup store.
    pub lag_bytes: u64,
    /// How long ago the backup store had everything, if it had since the start.
    pub complete: Option<Duration>,
    /// What this service has written since the start.
    pub shipped: Shipped,
    /// The number of failed rounds since the start.
    pub failures: u64,
    /// The error of the last round, if it failed.
    pub error: Option<String>,
}

#[derive(Debug)]
struct BackupState {
    reached: Option<Spot>,
    /// When the last round began that shipped everything; until there was one, the time of the start.
    complete: Instant,
    ever: bool,
    /// Whether the last round found the destination as it was.
    there: bool,
    shipped: Shipped,
    failures: u64,
    error: Option<String>,
}

impl BackupState {
    fn is_whole(&mut self, since: Instant) {
        (self.complete, self.ever) = (since, true);
    }
}

/// The state of a running backup, for those that watch it or ask for a round.
pub struct Backup {
    plan: BackupPlan,
    records: Records,
    pepper_check: Option<Vec<u8>>,
    home: ServiceView,
    state: Mutex<BackupState>,
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
pub struct ShippingThread {
    /// The state to watch.
    pub backup: Arc<Backup>,
    graceful: Arc<AtomicBool>,
    ended: oneshot::Receiver<()>,
}

/// Starts to ship whenever this service is the one that ships.
///
/// # Errors
/// When the thread cannot be started.
pub fn start(
    plan: BackupPlan,
    records: Records,
    pepper_check: Option<Vec<u8>>,
    home: ServiceView,
) -> std::io::Result<ShippingThread> {
    let state = BackupState {
        reached: None,
        complete: Instant::now(),
        ever: false,
        there: false,
        shipped: Shipped::default(),
        failures: 0,
        error: None,
    };
    let backup = Arc::new(Backup {
        plan,
        records,
        pepper_check,
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
            let ships = async |_| shipping.run(&last).await;
            runtime.block_on(persist("backup", ships));
            // A folder that hangs blocks only its own thread.
            runtime.shutdown_background();
            drop(shipping);
            end.send(()).ok();
        })?;
    Ok(ShippingThread {
        backup,
        graceful,
        ended,
    })
}

impl ShippingThread {
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
            tracing::warn!("the backup did not finish in time; stopping without it");
        }
    }

    fn end(&self) {
        self.backup.stopping.store(true, Ordering::Release);
        self.backup.ring.notify_one();
    }
}

impl Drop for ShippingThread {
    fn drop(&mut self) {
        self.end();
    }
}

impl Backup {
    fn state(&self) -> MutexGuard<'_, BackupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The current progress.
    pub fn progress(&self) -> Progress {
        let role = &self.home.role;
        let ships = role.ships();
        let shipper = role.shipper().map(|name| name.to_string());
        let state = self.state();
        let reached = state.reached.unwrap_or_else(|| self.records.beginning());
        let lag_bytes = if ships {
            self.records.behind(&reached)
        } else {
            0
        };
        let lag = if ships && !(lag_bytes == 0 && state.there) {
            state.complete.elapsed()
        } else {
            Duration::ZERO
        };
        Progress {
            ships,
            shipper,
            place: self.plan.backup_store.place(),
            store: hex(&self.records.history()),
            every: self.plan.every,
            commit: state.reached.filter(|_| ships).map(|it| it.tail().commit.0),
            lag,
            lag_bytes,
            complete: Some(state.complete.elapsed()).filter(|_| state.ever),
            shipped: state.shipped,
            failures: state.failures,
            error: state.error.clone(),
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

    async fn run(&self, graceful: &AtomicBool) {
        let mut shipment = None;
        let mut pause = FIRST_PAUSE;
        loop {
            let last = self.stopping.load(Ordering::Acquire);
            if last && !graceful.load(Ordering::Acquire) {
                break;
            }
            let asked = self.asked.load(Ordering::Acquire);
            let began = Instant::now();
            let round = self.round(&mut shipment, began, last);
            let outcome =
                match tokio::time::timeout(if last { LAST } else { Duration::MAX }, round).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(BackupError::backup_store(
                        "the last round",
                        "it took too long",
                    )),
                };
            let wait = match &outcome {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    self.plan.every
                }
                Err(_) => {
                    // After a failure the backup store is listed again.
                    shipment = None;
                    let wait = pause.max(self.plan.every.min(LONGEST_PAUSE));
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    wait
                }
            };
            self.note(outcome, shipment.is_some());
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
        shipment: &mut Option<Shipment>,
        began: Instant,
        last: bool,
    ) -> Result<(), BackupError> {
        let role = &self.home.role;
        let done = if role.ships() {
            self.shipped(shipment, began, last).await
        } else {
            Ok(())
        };
        if role.ships() {
            return done;
        }
        // Another node ships or is about to, so the backup store has to be listed again before this one ships.
        *shipment = None;
        let mut state = self.state();
        state.reached = None;
        state.is_whole(began);
        Ok(())
    }

    /// Ships until nothing is left, or the service stops.
    async fn shipped(
        &self,
        shipment: &mut Option<Shipment>,
        began: Instant,
        last: bool,
    ) -> Result<(), BackupError> {
        let BackupPlan {
            backup_store, cut, ..
        } = &self.plan;
        let late = |_| BackupError::backup_store(backup_store.place(), "it does not answer");
        let mut ship = match shipment.take() {
            Some(mut ship) => {
                ship.begins_anew();
                ship
            }
            None => {
                let known = KnownBackup {
                    pepper_check: self.pepper_check.as_deref(),
                    choice: self.home.choice.as_ref(),
                    shipped: self.state().reached.map(|it| it.tail()),
                };
                let begin = Shipment::begin(backup_store, self.records.clone(), *cut, known);
                let begun = tokio::time::timeout(PATIENCE, begin).await;
                begun.map_err(late)??
            }
        };
        loop {
            self.shown(&ship);
            let step = tokio::time::timeout(PATIENCE, ship.step()).await;
            // A failed step can be repeated; after an interrupted one, the backup store has to be listed again.
            if !step.map_err(late)?? {
                self.state().is_whole(began);
                break;
            }
            let ends = !last && self.stopping.load(Ordering::Acquire);
            if ends || !self.home.role.ships() {
                break;
            }
        }
        self.shown(&ship);
        *shipment = Some(ship);
        Ok(())
    }

    fn shown(&self, shipment: &Shipment) {
        let mut state = self.state();
        state.shipped = shipment.shipped();
        state.reached = Some(shipment.reached());
    }

    fn note(&self, outcome: Result<(), BackupError>, there: bool) {
        let mut state = self.state();
        state.there = there;
        match outcome {
            Ok(()) => {
                if state.error.take().is_some() {
                    tracing::info!("backup resumed");
                }
            }
            Err(why) => {
                state.failures += 1;
                let why = why.to_string();
                if state.error.as_ref() != Some(&why) {
                    tracing::error!(%why, "backup interrupted; retrying");
                }
                state.error = Some(why);
            }
        }
    }
}
