//! Keeps a realm served: retires it, resumes it, and replaces a supervisor that panicked.
//!
//! **Shape.** Each realm has a restarter, a task that watches the present life ([`crate::realm_tasks`]). When that life is over,
//! on request or by a panic, the restarter waits until nothing of it is left and its last commit has ended. Only then is
//! the realm retired, or loaded again from the store. So two supervisors never act for one realm.
//!
//! **Bounds.** After a fall the realm is loaded at once. If it falls again before it was calm ([`STABLE_AFTER`]), it is loaded
//! after a pause that doubles from [`PAUSE_FIRST`] to [`PAUSE_LAST`], during which its orders are refused. A realm that
//! is resumed or taken up and cannot be loaded counts as failed: it is tried again in the same way.
//!
//! **Failure.** An order that nobody had taken is answered that nothing was done. The outcome of an order under way is
//! unknown to its caller, unless its commit had been submitted: the commit then answers by itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_storage::StoreError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use super::starting::{PreparedRealm, RealmTerms, StartedRealm};
use super::{Core, Lifecycle, Queries, Realms, Supervised};
use crate::failure::Failure;
use crate::lanes::Lane;
use crate::orders::Envelope;
use crate::realms::Retire;

/// A realm that has run for this long is stable: its next failure counts as the first.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// The pause after the second failure.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_LAST: Duration = Duration::from_secs(60);
/// The pause before a full store is asked again whether it has written everything.
const ASK_AGAIN: Duration = Duration::from_millis(10);
/// The most requests that wait for one restarter.
const REQUESTS_MAX: usize = 16;

/// A realm whose supervisor failed lately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DownRealm {
    /// The realm.
    pub realm: RealmId,
    /// How often it failed without a stable minute in between.
    pub falls: u32,
    /// Whether it is served again.
    pub served: bool,
}

/// A request to a restarter.
enum RestarterRequest {
    Retire(oneshot::Sender<Result<(), Failure>>),
    Resume(oneshot::Sender<Result<(), Failure>>),
}

/// The state of a realm's service.
#[derive(Clone, Copy, Debug, Default)]
struct RestartState {
    falls: u32,
    /// The pause after the last failure.
    pause: Duration,
    failed: bool,
    /// When it was served again after the last failure.
    restarted: Option<Instant>,
}

impl RestartState {
    /// Whether it has run so long that the next failure counts as the first.
    fn is_stable(&self) -> bool {
        !self.failed
            && self
                .restarted
                .is_none_or(|restarted| restarted.elapsed() >= STABLE_AFTER)
    }

    /// Records a failure. Returns the pause before the restart.
    fn record_failure(&mut self) -> Duration {
        (self.falls, self.pause) = match (self.is_stable(), self.pause) {
            (true, _) => (1, Duration::ZERO),
            (false, Duration::ZERO) => (self.falls.strict_add(1), PAUSE_FIRST),
            (false, pause) => {
                let doubled = pause.checked_mul(2).unwrap_or(PAUSE_LAST);
                (self.falls.strict_add(1), doubled.min(PAUSE_LAST))
            }
        };
        self.failed = true;
        self.pause
    }
}

/// The handle of a realm's restarter.
#[derive(Clone)]
pub(super) struct RestarterHandle {
    requests: mpsc::Sender<RestarterRequest>,
    restarts: Arc<Mutex<RestartState>>,
    /// Whether the realm is to be served, by the platform's facts.
    open: Arc<AtomicBool>,
}

impl RestarterHandle {
    async fn request(
        &self,
        request: impl FnOnce(oneshot::Sender<Result<(), Failure>>) -> RestarterRequest,
    ) -> Result<(), Failure> {
        let (reply, done) = oneshot::channel();
        let sent = self.requests.send(request(reply)).await;
        sent.map_err(|_| Failure::ShuttingDown)?;
        done.await.map_err(|_| Failure::ShuttingDown)?
    }

    /// Has the realm served or retired, as the platform's facts say, without waiting for it.
    pub(super) fn serve(&self, open: bool) {
        if self.open.swap(open, Ordering::AcqRel) != open {
            self.send(if open {
                RestarterRequest::Resume
            } else {
                RestarterRequest::Retire
            });
        }
    }

    fn send(&self, request: impl FnOnce(oneshot::Sender<Result<(), Failure>>) -> RestarterRequest) {
        if self
            .requests
            .try_send(request(oneshot::channel().0))
            .is_err()
        {
            tracing::error!("realm could not be resumed or retired: its restarter is busy");
        }
    }

    fn restarts(&self) -> RestartState {
        *self.restarts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Realms {
    /// Takes up a realm that is new here, and keeps it: served if it is open, at rest if not. `ahead` is the part of it
    /// that was already loaded.
    ///
    /// # Errors
    /// When an open realm cannot be loaded. It counts as failed then: its restarter tries again.
    pub(super) fn add(
        self: &Arc<Self>,
        realm: RealmId,
        terms: RealmTerms,
        open: bool,
        ahead: Option<PreparedRealm>,
    ) -> Result<(), Failure> {
        let PreparedRealm { parts, loaded } = ahead.unwrap_or_else(|| self.unloaded(terms.clone()));
        // Changes since it was loaded apply to it, too.
        parts.follow(&self.outside.banks, terms);
        let start = || match loaded {
            Some(loaded) => Ok(self.begin(loaded)),
            None => self.start(realm, parts.clone()),
        };
        let (started, done) = match open.then(start).transpose() {
            Ok(started) => (started, Ok(())),
            Err(why) => (None, Err(why)),
        };
        let (mailbox, lane) = match &started {
            Some(started) => (started.mailbox.clone(), Arc::clone(&started.lane)),
            None => self.nobody(realm),
        };
        let restarter = start_restarter(self, realm, open, started);
        let known = Supervised {
            parts,
            mailbox,
            lane,
            restarter,
        };
        self.supervisors.insert(realm, known);
        done
    }
}

/// Starts the restarter of a realm: with its first supervisor, or without one if the realm rests or could not be loaded.
fn start_restarter(
    realms: &Arc<Realms>,
    realm: RealmId,
    open: bool,
    started: Option<StartedRealm>,
) -> RestarterHandle {
    let (requests, wanted) = mpsc::channel(REQUESTS_MAX);
    let restarts = Arc::default();
    let restarter = RealmRestarter {
        realms: Arc::downgrade(realms),
        realm,
        wanted,
        restarts: Arc::clone(&restarts),
    };
    let work = restarter.run(open, started);
    match realms.arbiters.first() {
        Some(arbiter) => {
            // A stopped thread serves nobody.
            arbiter.spawn(work);
        }
        None => drop(actix::spawn(work)),
    }
    RestarterHandle {
        requests,
        restarts,
        open: Arc::new(AtomicBool::new(open)),
    }
}

struct RealmRestarter {
    realms: Weak<Realms>,
    realm: RealmId,
    wanted: mpsc::Receiver<RestarterRequest>,
    restarts: Arc<Mutex<RestartState>>,
}

impl RealmRestarter {
    /// Runs until the engine is gone.
    async fn run(mut self, open: bool, started: Option<StartedRealm>) {
        let first = match started {
            Some(started) => Some(started),
            None if open => self.restart().await,
            None => self.wait_until_resumed().await,
        };
        let Some(mut started) = first else { return };
        while let Some(next) = self.supervise(started).await {
            started = next;
        }
    }

    /// Watches an incarnation to its end. Returns the next one; `None` when the engine is gone.
    async fn supervise(&mut self, started: StartedRealm) -> Option<StartedRealm> {
        let StartedRealm {
            mailbox,
            lane,
            mut tasks_done,
        } = started;
        let retire = || drop(mailbox.put(mailbox.reserve(), Envelope::from(Retire)));
        let retired = loop {
            tokio::select! {
                () = tasks_done.wait() => break None,
                request = self.wanted.recv() => match request {
                    Some(RestarterRequest::Resume(reply)) => drop(reply.send(Ok(()))),
                    Some(RestarterRequest::Retire(reply)) => {
                        retire();
                        tasks_done.wait().await;
                        break Some(reply);
                    }
                    None => {
                        retire();
                        return None;
                    }
                },
            }
        };
        drained(&lane).await;
        match retired {
            Some(reply) => {
                tracing::info!(realm = self.realm.0, "realm retired");
                drop(reply.send(Ok(())));
                self.wait_until_resumed().await
            }
            None => self.restart().await,
        }
    }

    /// Waits until the realm is to go on.
    async fn wait_until_resumed(&mut self) -> Option<StartedRealm> {
        loop {
            match self.wanted.recv().await? {
                RestarterRequest::Retire(reply) => drop(reply.send(Ok(()))),
                RestarterRequest::Resume(reply) => {
                    let started = self.start();
                    drop(reply.send(started.as_ref().map(|_| ()).map_err(Clone::clone)));
                    match started {
                        Ok(started) => {
                            tracing::info!(realm = self.realm.0, "realm resumed");
                            return Some(started);
                        }
                        // The realm is wanted: the caller need not ask again.
                        Err(why) => {
                            tracing::error!(%why, realm = self.realm.0, "realm could not be loaded");
                            return Box::pin(self.restart()).await;
                        }
                    }
                }
            }
        }
    }

    /// Starts another supervisor after a failure, or after a failed start, until one runs.
    async fn restart(&mut self) -> Option<StartedRealm> {
        loop {
            let (pause, falls) =
                self.update(|restarts| (restarts.record_failure(), restarts.falls));
            tracing::error!(
                realm = self.realm.0,
                falls,
                pause_ms = pause.as_millis(),
                "realm supervisor failed or could not be started; reloading the realm"
            );
            let mut resumed = None;
            tokio::select! {
                biased;
                request = self.wanted.recv() => match request? {
                    RestarterRequest::Retire(reply) => {
                        self.update(|restarts| *restarts = RestartState::default());
                        drop(reply.send(Ok(())));
                        return self.wait_until_resumed().await;
                    }
                    RestarterRequest::Resume(reply) => resumed = Some(reply),
                },
                () = sleep(pause) => {}
            }
            let started = self.start();
            if let Some(reply) = resumed {
                drop(reply.send(started.as_ref().map(|_| ()).map_err(Clone::clone)));
            }
            match started {
                Ok(started) => return Some(started),
                Err(why) => {
                    tracing::error!(%why, realm = self.realm.0, "realm could not be loaded")
                }
            }
        }
    }

    /// Loads the realm from the store, and directs orders to its new supervisor.
    fn start(&self) -> Result<StartedRealm, Failure> {
        let realms = self.realms.upgrade().ok_or(Failure::ShuttingDown)?;
        // Held until the realm is started: the log may be given to another node.
        let resting = realms.resting();
        if *resting {
            return Err(Failure::ShuttingDown);
        }
        let known = realms.supervisors.get(&self.realm);
        let known = known.map(|known| known.value().clone());
        let known = known.ok_or(Rejection::TenantNotFound)?;
        let load = || realms.start(self.realm, known.parts);
        let started = catch_unwind(AssertUnwindSafe(load)).unwrap_or(Err(Failure::Bug))?;
        if let Some(mut known) = realms.supervisors.get_mut(&self.realm) {
            known.mailbox = started.mailbox.clone();
            known.lane = Arc::clone(&started.lane);
        }
        self.update(|restarts| {
            if std::mem::take(&mut restarts.failed) {
                restarts.restarted = Some(Instant::now());
            }
        });
        Ok(started)
    }

    fn update<T>(&self, change: impl FnOnce(&mut RestartState) -> T) -> T {
        change(&mut self.restarts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Waits until everything in a lane was written or refused.
async fn drained(lane: &Lane) {
    loop {
        let (send, ended) = oneshot::channel();
        lane.barrier(Box::new(move |done| drop(send.send(done))));
        match ended.await {
            Ok(Err(StoreError::Overloaded)) => sleep(ASK_AGAIN).await,
            // A closed or lost store writes nothing more.
            Ok(Ok(_) | Err(_)) | Err(_) => return,
        }
    }
}

impl Lifecycle<'_> {
    /// Retires a realm: later orders are refused ([`Failure::ShuttingDown`], nothing was done). When this returns,
    /// nothing of the realm acts any more: no commit, no call to the bank, no webhook. Lists can still be read.
    ///
    /// # Errors
    /// When there is no such realm, or the engine stops.
    pub async fn retire(self, realm: RealmId) -> Result<(), Failure> {
        self.0
            .restarter(realm)?
            .request(RestarterRequest::Retire)
            .await
    }

    /// Resumes a realm that rests, from the store; does nothing if it does not rest.
    ///
    /// # Errors
    /// When there is no such realm, or it cannot be loaded.
    pub async fn resume(self, realm: RealmId) -> Result<(), Failure> {
        self.0
            .restarter(realm)?
            .request(RestarterRequest::Resume)
            .await
    }

    /// The realms whose supervisor fell within the last minute, or is not back yet.
    pub fn down(self) -> Vec<DownRealm> {
        let known = self.0.realms.supervisors.iter();
        let states = known.map(|known| (*known.key(), known.value().restarter.restarts()));
        let failed = states.filter(|(_, restarts)| !restarts.is_stable());
        let down = failed.map(|(realm, restarts)| DownRealm {
            realm,
            falls: restarts.falls,
            served: !restarts.failed,
        });
        down.collect()
    }
}

impl Queries<'_> {
    /// How many claims the realm's orders under way hold.
    #[cfg(test)]
    pub(crate) fn claims_of(self, realm: RealmId) -> usize {
        self.0.realms.claims.held(realm)
    }
}

impl Core {
    pub(super) fn restarter(&self, realm: RealmId) -> Result<RestarterHandle, Failure> {
        let known = self.realms.supervisors.get(&realm);
        let restarter = known.map(|known| known.value().restarter.clone());
        restarter.ok_or_else(|| self.realms.absent(realm))
    }
}
