//! Keeps a realm served: retires it, resumes it, and replaces a supervisor that has panicked.
//!
//! **Shape.** Each realm has a keeper, a task that knows the life of now ([`crate::life`]). When that is
//! over, wanted or by a panic, the keeper waits until nothing of it is left and its last commit has
//! ended; only then the realm is retired, or loaded again from the store. So two supervisors never act
//! for one realm.
//!
//! **Bounds.** After a fall the realm is loaded at once; when it falls again before it was calm
//! ([`CALM`]), after a pause that doubles from [`PAUSE_FIRST`] to [`PAUSE_LAST`], in which its orders are
//! refused. A realm that is resumed and cannot be loaded counts as fallen: it is tried again in the same way.
//!
//! **Failure.** An order that nobody had taken is answered that nothing was done. Of one that was under
//! way the outcome is unknown to its asker, unless its commit had left: that answers by itself.

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
use super::{Engine, Realms, Supervised};
use crate::banks::Relation;
use crate::failure::Failure;
use crate::lanes::Lane;
use crate::realms::RealmMessage;
use crate::settings::Settings;

/// A realm that has stood so long is calm: its next fall is a first.
const CALM: Duration = Duration::from_secs(60);
/// The pause after the second fall.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
/// The longest pause.
const PAUSE_LAST: Duration = Duration::from_secs(60);
/// The pause before a full store is asked again whether it has written all.
const ASK_AGAIN: Duration = Duration::from_millis(10);
/// Wishes that wait for one keeper at most.
const WISHES_MAX: usize = 16;

/// A realm whose supervisor has fallen lately.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Down {
    /// The realm that nobody supervises now.
    pub realm: RealmId,
    /// How often, without a minute of calm in between.
    pub falls: u32,
    /// Whether it is served again.
    pub served: bool,
}

/// What is wanted of a keeper.
enum Wish {
    Retire(oneshot::Sender<Result<(), Failure>>),
    Resume(oneshot::Sender<Result<(), Failure>>),
}

/// How a realm is served.
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
    /// Whether it has stood so long that the next fall is a first.
    fn is_calm(&self) -> bool {
        !self.fallen && self.raised.is_none_or(|raised| raised.elapsed() >= CALM)
    }

    /// Notes a fall; gives the pause before the next life.
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
    /// Whether it is to be served, by the platform's facts.
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

    /// Has the realm rest; what to wait for. Nobody waits here, so it may be said while others must not be heard.
    ///
    /// # Errors
    /// When too much is asked of its keeper.
    pub(super) fn retiring(&self) -> Result<oneshot::Receiver<Result<(), Failure>>, Failure> {
        let (reply, done) = oneshot::channel();
        let sent = self.wishes.try_send(Wish::Retire(reply));
        sent.map_err(|_| Failure::Overloaded)?;
        Ok(done)
    }

    /// Has the realm served or at rest, as the platform's facts say; nobody waits for it.
    pub(super) fn serve(&self, open: bool) {
        if self.open.swap(open, Ordering::AcqRel) != open {
            self.send(if open { Wish::Resume } else { Wish::Retire });
        }
    }

    /// Has a realm that is served rest, and loaded again where it is to go on; nobody waits for it.
    pub(super) fn reload(&self, goes_on: bool) {
        self.send(Wish::Retire);
        if goes_on {
            self.send(Wish::Resume);
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
    /// Takes up a realm that is new here, and has it kept: served where it is open, at rest where not. `ahead` is what was
    /// loaded of it already, as it stands now.
    pub(super) fn add(
        self: &Arc<Self>,
        realm: RealmId,
        settings: Settings,
        relation: Relation,
        (open, held): (bool, bool),
        ahead: Option<Ahead>,
    ) -> Result<(), Failure> {
        let made = match ahead {
            Some(ahead) => ahead,
            None => self.ahead(realm, settings.clone(), relation.clone(), (open, held))?,
        };
        let Ahead {
            settings: place,
            bank,
            published,
            loaded,
        } = made;
        // What changed since it was loaded holds for it, too.
        bank.follow(&self.outside.banks, relation);
        bank.hold().set(held);
        *place.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        let started = loaded.filter(|_| open).map(|loaded| self.begin(loaded));
        let started = match started {
            None if open => {
                let (settings, bank) = (Arc::clone(&place), Arc::clone(&bank));
                Some(self.start(realm, settings, bank, Arc::clone(&published))?)
            }
            started => started,
        };
        let (mailbox, lane) = match &started {
            Some(started) => (started.mailbox.clone(), Arc::clone(&started.lane)),
            None => self.nobody(realm),
        };
        let kept = keep(self, realm, started);
        let known = Supervised {
            settings: place,
            bank,
            published,
            mailbox,
            lane,
            kept,
            passage: Arc::default(),
        };
        self.supervisors.insert(realm, known);
        self.elsewhere.remove(&realm);
        Ok(())
    }
}

/// Has a realm kept whose first supervisor was started, or which rests.
pub(super) fn keep(realms: &Arc<Realms>, realm: RealmId, started: Option<Started>) -> Kept {
    let (wishes, wanted) = mpsc::channel(WISHES_MAX);
    let standing = Arc::default();
    let open = Arc::new(AtomicBool::new(started.is_some()));
    let keeper = Keeper {
        realms: Arc::downgrade(realms),
        realm,
        wanted,
        standing: Arc::clone(&standing),
    };
    let work = keeper.run(started);
    match realms.arbiters.first() {
        Some(arbiter) => {
            // A thread that is gone serves nobody.
            arbiter.spawn(work);
        }
        None => drop(actix::spawn(work)),
    }
    Kept {
        wishes,
        standing,
        open,
    }
}

struct Keeper {
    realms: Weak<Realms>,
    realm: RealmId,
    wanted: mpsc::Receiver<Wish>,
    standing: Arc<Mutex<Standing>>,
}

impl Keeper {
    /// Goes on until the engine is gone.
    async fn run(mut self, started: Option<Started>) {
        let first = match started {
            Some(started) => Some(started),
            None => self.rest().await,
        };
        let Some(mut started) = first else { return };
        while let Some(next) = self.attend(started).await {
            started = next;
        }
    }

    /// Stays with a life to its end; gives the next one. `None` when the engine is gone.
    async fn attend(&mut self, started: Started) -> Option<Started> {
        let Started {
            mailbox,
            lane,
            mut gone,
        } = started;
        let retire = || drop(mailbox.put(mailbox.reserve(), RealmMessage::Retire));
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
                        // It is wanted: whoever asked for it need not ask again.
                        Err(why) => {
                            tracing::error!(%why, realm = self.realm.0, "a realm cannot be loaded");
                            return Box::pin(self.raise()).await;
                        }
                    }
                }
            }
        }
    }

    /// Starts another supervisor after a fall, or where the first one could not be started, until there is one.
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

    /// Loads the realm from the store, and lets orders go to its new supervisor.
    fn start(&self) -> Result<Started, Failure> {
        let realms = self.realms.upgrade().ok_or(Failure::ShuttingDown)?;
        // Held until it is started: its cell may be given to another node.
        let resting = realms.resting();
        if resting.contains(&realms.cells.standing(self.realm).cell) {
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

/// Waits until all that a lane has was written, or refused.
async fn drained(lane: &Lane) {
    loop {
        let (send, ended) = oneshot::channel();
        lane.barrier(Box::new(move |done| drop(send.send(done))));
        match ended.await {
            Ok(Err(StoreError::Overloaded)) => sleep(ASK_AGAIN).await,
            // A store that is closed or lost writes nothing more.
            Ok(Ok(_) | Err(_)) | Err(_) => return,
        }
    }
}

impl Engine {
    /// Lets a realm rest: orders that come later are refused ([`Failure::ShuttingDown`], nothing was
    /// done). When this is done, nothing of the realm acts any more: no commit, no call to the bank, no
    /// webhook. Lists can still be read.
    ///
    /// # Errors
    /// When there is no such realm, or the engine stops.
    pub async fn retire(&self, realm: RealmId) -> Result<(), Failure> {
        self.kept(realm)?.wish(Wish::Retire).await
    }

    /// Has a realm that rests go on, as the store knows it; nothing where it does not rest.
    ///
    /// # Errors
    /// When there is no such realm, or it cannot be loaded.
    pub async fn resume(&self, realm: RealmId) -> Result<(), Failure> {
        self.kept(realm)?.wish(Wish::Resume).await
    }

    /// The realms whose supervisor has fallen within the last minute, or is not back yet.
    pub fn down(&self) -> Vec<Down> {
        let known = self.realms.supervisors.iter();
        let standings = known.map(|known| (*known.key(), known.value().kept.standing()));
        let fallen = standings.filter(|(_, standing)| !standing.is_calm());
        let down = fallen.map(|(realm, standing)| Down {
            realm,
            falls: standing.falls,
            served: !standing.fallen,
        });
        down.collect()
    }

    /// How much of a realm is claimed by orders under way.
    #[cfg(test)]
    pub(crate) fn claims_of(&self, realm: RealmId) -> usize {
        self.realms.claims.held(realm)
    }

    pub(super) fn kept(&self, realm: RealmId) -> Result<Kept, Failure> {
        let known = self.realms.supervisors.get(&realm);
        let kept = known.map(|known| known.value().kept.clone());
        kept.ok_or_else(|| self.realms.absent(realm))
    }
}
