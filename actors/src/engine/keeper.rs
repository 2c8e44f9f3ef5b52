//! Keeps a realm served: retires it, resumes it, and replaces a supervisor that panicked.
//!
//! **Shape.** Each realm has a keeper, a task that watches the present life ([`crate::life`]). When that life is over,
//! on request or by a panic, the keeper waits until nothing of it is left and its last commit has ended. Only then is
//! the realm retired, or loaded again from the store. So two supervisors never act for one realm.
//!
//! **Bounds.** After a fall the realm is loaded at once. If it falls again before it was calm ([`CALM`]), it is loaded
//! after a pause that doubles from [`PAUSE_FIRST`] to [`PAUSE_LAST`], during which its orders are refused. A realm that
//! is resumed or taken up and cannot be loaded counts as fallen: it is tried again in the same way.
//!
//! **Failure.** An order that nobody had taken is answered that nothing was done. The outcome of an order under way is
//! unknown to its caller, unless its commit had been submitted: the commit then answers by itself.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_storage::{Store as _, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep};

use super::starting::{Ahead, Started};
use super::{Core, Lifecycle, Queries, Realms, Supervised};
use crate::banks::Relation;
use crate::failure::Failure;
use crate::lanes::Lane;
use crate::orders::Envelope;
use crate::realms::Retire;
use crate::settings::Settings;

/// A realm that has stood for this long is calm: its next fall counts as the first.
const CALM: Duration = Duration::from_secs(60);
/// The pause after the second fall.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_LAST: Duration = Duration::from_secs(60);
/// The pause before a full store is asked again whether it has written everything.
const ASK_AGAIN: Duration = Duration::from_millis(10);
/// The most wishes that wait for one keeper.
const WISHES_MAX: usize = 16;

/// A realm whose supervisor has fallen lately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Down {
    /// The fallen realm.
    pub realm: RealmId,
    /// How often it has fallen without a minute of calm in between.
    pub falls: u32,
    /// Whether it is served again.
    pub served: bool,
}

/// A request to a keeper.
enum Wish {
    Retire(oneshot::Sender<Result<(), Failure>>),
    Resume(oneshot::Sender<Result<(), Failure>>),
}

/// The state of a realm's service.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    falls: u32,
    /// The pause after the last fall.
    pause: Duration,
    fallen: bool,
    /// When it was served again after the last fall.
    raised: Option<Instant>,
}

impl Standing {
    /// Whether it has stood so long that the next fall counts as the first.
    fn is_calm(&self) -> bool {
        !self.fallen && self.raised.is_none_or(|raised| raised.elapsed() >= CALM)
    }

    /// Notes a fall. Returns the pause before the next life.
    fn fall(&mut self) -> Duration {
        (self.falls, self.pause) = match (self.is_calm(), self.pause) {
            (true, _) => (1, Duration::ZERO),
            (false, Duration::ZERO) => (self.falls.strict_add(1), PAUSE_FIRST),
            (false, pause) => {
                let doubled = pause.checked_mul(2).unwrap_or(PAUSE_LAST);
                (self.falls.strict_add(1), doubled.min(PAUSE_LAST))
            }
        };
        self.fallen = true;
        self.pause
    }
}

/// The way to a realm's keeper.
#[derive(Clone)]
pub(super) struct Kept {
    wishes: mpsc::Sender<Wish>,
    standing: Arc<Mutex<Standing>>,
    /// Whether the realm is to be served, by the platform's facts.
    open: Arc<AtomicBool>,
}

impl Kept {
    async fn wish(
        &self,
        wish: impl FnOnce(oneshot::Sender<Result<(), Failure>>) -> Wish,
    ) -> Result<(), Failure> {
        let (reply, done) = oneshot::channel();
        let sent = self.wishes.send(wish(reply)).await;
        sent.map_err(|_| Failure::ShuttingDown)?;
        done.await.map_err(|_| Failure::ShuttingDown)?
    }

    /// Has the realm served or retired, as the platform's facts say, without waiting for it.
    pub(super) fn serve(&self, open: bool) {
        if self.open.swap(open, Ordering::AcqRel) != open {
            self.send(if open { Wish::Resume } else { Wish::Retire });
        }
    }

    fn send(&self, wish: impl FnOnce(oneshot::Sender<Result<(), Failure>>) -> Wish) {
        if self.wishes.try_send(wish(oneshot::channel().0)).is_err() {
            tracing::error!("a realm could not be told to go on, or to rest");
        }
    }

    fn standing(&self) -> Standing {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Realms {
    /// Takes up a realm that is new here, and keeps it: served if it is open, at rest if not. `ahead` is the part of it
    /// that was already loaded.
    ///
    /// # Errors
    /// When an open realm cannot be loaded. It counts as fallen then: its keeper tries again.
    pub(super) fn add(
        self: &Arc<Self>,
        realm: RealmId,
        settings: Settings,
        relation: Relation,
        open: bool,
        ahead: Option<Ahead>,
    ) -> Result<(), Failure> {
        let new = || self.unloaded(settings.clone(), relation.clone());
        let Ahead {
            settings: place,
            bank,
            published,
            loaded,
        } = ahead.unwrap_or_else(new);
        // Changes since it was loaded apply to it, too.
        bank.follow(&self.outside.banks, relation);
        *place.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        let start = || match loaded {
            Some(loaded) => Ok(self.begin(loaded)),
            None => {
                let (settings, bank) = (Arc::clone(&place), Arc::clone(&bank));
                self.start(realm, settings, bank, Arc::clone(&published))
            }
        };
        let (started, done) = match open.then(start).transpose() {
            Ok(started) => (started, Ok(())),
            Err(why) => (None, Err(why)),
        };
        let (mailbox, lane) = match &started {
            Some(started) => (started.mailbox.clone(), Arc::clone(&started.lane)),
            None => self.nobody(realm),
        };
        let kept = keep(self, realm, open, started);
        let known = Supervised {
            settings: place,
            bank,
            published,
            mailbox,
            lane,
            kept,
        };
        self.supervisors.insert(realm, known);
        done
    }
}

/// Starts the keeper of a realm: with its first supervisor, or without one if the realm rests or could not be loaded.
fn keep(realms: &Arc<Realms>, realm: RealmId, open: bool, started: Option<Started>) -> Kept {
    let (wishes, wanted) = mpsc::channel(WISHES_MAX);
    let standing = Arc::default();
    let keeper = Keeper {
        realms: Arc::downgrade(realms),
        realm,
        wanted,
        standing: Arc::clone(&standing),
    };
    let work = keeper.run(open, started);
    match realms.arbiters.first() {
        Some(arbiter) => {
            // A stopped thread serves nobody.
            arbiter.spawn(work);
        }
        None => drop(actix::spawn(work)),
    }
    Kept {
        wishes,
        standing,
        open: Arc::new(AtomicBool::new(open)),
    }
}

struct Keeper {
    realms: Weak<Realms>,
    realm: RealmId,
    wanted: mpsc::Receiver<Wish>,
    standing: Arc<Mutex<Standing>>,
}

impl Keeper {
    /// Runs until the engine is gone.
    async fn run(mut self, open: bool, started: Option<Started>) {
        let first = match started {
            Some(started) => Some(started),
            None if open => self.raise().await,
            None => self.rest().await,
        };
        let Some(mut started) = first else { return };
        while let Some(next) = self.attend(started).await {
            started = next;
        }
    }

    /// Attends a life to its end. Returns the next one; `None` when the engine is gone.
    async fn attend(&mut self, started: Started) -> Option<Started> {
        let Started {
            mailbox,
            lane,
            mut gone,
        } = started;
        let retire = || drop(mailbox.put(mailbox.reserve(), Envelope::from(Retire)));
        let retired = loop {
            tokio::select! {
                () = gone.wait() => break None,
                wish = self.wanted.recv() => match wish {
                    Some(Wish::Resume(reply)) => drop(reply.send(Ok(()))),
                    Some(Wish::Retire(reply)) => {
                        retire();
                        gone.wait().await;
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
                tracing::info!(realm = self.realm.0, "a realm is retired");
                drop(reply.send(Ok(())));
                self.rest().await
            }
            None => self.raise().await,
        }
    }

    /// Waits until the realm is to go on.
    async fn rest(&mut self) -> Option<Started> {
        loop {
            match self.wanted.recv().await? {
                Wish::Retire(reply) => drop(reply.send(Ok(()))),
                Wish::Resume(reply) => {
                    let started = self.start();
                    drop(reply.send(started.as_ref().map(|_| ()).map_err(Clone::clone)));
                    match started {
                        Ok(started) => {
                            tracing::info!(realm = self.realm.0, "a realm goes on");
                            return Some(started);
                        }
                        // The realm is wanted: the caller need not ask again.
                        Err(why) => {
                            tracing::error!(%why, realm = self.realm.0, "a realm cannot be loaded");
                            return Box::pin(self.raise()).await;
                        }
                    }
                }
            }
        }
    }

    /// Starts another supervisor after a fall, or after a failed start, until one runs.
    async fn raise(&mut self) -> Option<Started> {
        loop {
            let (pause, falls) = self.stand(|standing| (standing.fall(), standing.falls));
            tracing::error!(
                realm = self.realm.0,
                falls,
                pause_ms = pause.as_millis(),
                "the supervisor of a realm has fallen, or could not be started; the realm is loaded again"
            );
            let mut resumed = None;
            tokio::select! {
                biased;
                wish = self.wanted.recv() => match wish? {
                    Wish::Retire(reply) => {
                        self.stand(|standing| *standing = Standing::default());
                        drop(reply.send(Ok(())));
                        return self.rest().await;
                    }
                    Wish::Resume(reply) => resumed = Some(reply),
                },
                () = sleep(pause) => {}
            }
            let started = self.start();
            if let Some(reply) = resumed {
                drop(reply.send(started.as_ref().map(|_| ()).map_err(Clone::clone)));
            }
            match started {
                Ok(started) => return Some(started),
                Err(why) => tracing::error!(%why, realm = self.realm.0, "a realm cannot be loaded"),
            }
        }
    }

    /// Loads the realm from the store, and directs orders to its new supervisor.
    fn start(&self) -> Result<Started, Failure> {
        let realms = self.realms.upgrade().ok_or(Failure::ShuttingDown)?;
        // Held until the realm is started: the log may be given to another node.
        let resting = realms.resting();
        if *resting {
            return Err(Failure::ShuttingDown);
        }
        let known = realms.supervisors.get(&self.realm);
        let known = known.map(|known| known.value().clone());
        let known = known.ok_or(Rejection::TenantNotFound)?;
        let load = || realms.start(self.realm, known.settings, known.bank, known.published);
        let started = catch_unwind(AssertUnwindSafe(load)).unwrap_or(Err(Failure::Bug))?;
        if let Some(mut known) = realms.supervisors.get_mut(&self.realm) {
            known.mailbox = started.mailbox.clone();
            known.lane = Arc::clone(&started.lane);
        }
        self.stand(|standing| {
            if std::mem::take(&mut standing.fallen) {
                standing.raised = Some(Instant::now());
            }
        });
        Ok(started)
    }

    fn stand<T>(&self, change: impl FnOnce(&mut Standing) -> T) -> T {
        change(&mut self.standing.lock().unwrap_or_else(PoisonError::into_inner))
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
        self.0.kept(realm)?.wish(Wish::Retire).await
    }

    /// Resumes a realm that rests, from the store; does nothing if it does not rest.
    ///
    /// # Errors
    /// When there is no such realm, or it cannot be loaded.
    pub async fn resume(self, realm: RealmId) -> Result<(), Failure> {
        self.0.kept(realm)?.wish(Wish::Resume).await
    }

    /// The realms whose supervisor fell within the last minute, or is not back yet.
    pub fn down(self) -> Vec<Down> {
        let known = self.0.realms.supervisors.iter();
        let standings = known.map(|known| (*known.key(), known.value().kept.standing()));
        let fallen = standings.filter(|(_, standing)| !standing.is_calm());
        let down = fallen.map(|(realm, standing)| Down {
            realm,
            falls: standing.falls,
            served: !standing.fallen,
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
    pub(super) fn kept(&self, realm: RealmId) -> Result<Kept, Failure> {
        let known = self.realms.supervisors.get(&realm);
        let kept = known.map(|known| known.value().kept.clone());
        kept.ok_or_else(|| self.realms.absent(realm))
    }
}
