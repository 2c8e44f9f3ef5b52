//! Starts the realms of the cells that this node owns, and stops those of the cells that another node
//! owns.
//!
//! **Shape.** A resting cell has no realms here: no supervisor, no courier, nothing that asks the bank. Lists are read
//! from the rows of this node. The platform and the people are written where the first cell is awake, and nowhere else.
//! Every other node reads tenants, keys and settings from the facts of the first cell that were
//! applied there ([`Engine::look_again`]), and serves the realms of its own cells by these facts. So a change of a
//! tenant needs no message between nodes: the owner of the realm's cell opens, closes and sets up the realm when the
//! fact reaches it, and a revoked key ends with the same fact. To wake is to load everything from the store, as a start
//! does.
//!
//! **Order.** A node that wakes a cell owns it, has read its log to the end, and has then read the first cell to the
//! end that its log had after that. A cell is given away or taken again only after its rest is complete: no two lives
//! of a realm act at once. A realm is only started while its cell is awake. States of the platform are taken up one
//! after the other: realms first, then keys, so that a key opens an existing realm.
//!
//! A cell wakes or rests, never both at once: resting waits until waking has ended. The realms of a waking cell are
//! loaded while it still rests, when nobody writes in it, and start at once with the state of the platform that is
//! taken up then.
//!
//! **Failure.** If a realm does not come to rest, that is an error, and its cell rests only in part: the rest has to be
//! completed before the cell may wake. A node that lacks a cell of the platform takes up nothing.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix::Actor as _;
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Platform;
use caudal_storage::StoreError;

use super::following::LoadedAhead;
use super::{Engine, Realms, clock};
use crate::cells::{Cells, FIRST};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, Waiting};
use crate::platform::{self, Keys, KnownKey, PlatformActor, Published};
use crate::records::{APPROVALS_STREAM, PEOPLE_STREAM, PLATFORM_STREAM, Tail};

/// The pause before a realm that could not be started is tried again, as long as nothing else has changed.
const START_AGAIN: Duration = Duration::from_secs(1);

/// The platform as of the last change that was taken up.
type State = Arc<RwLock<Arc<Platform>>>;

/// The cells that rest when an engine starts: all of them, or none.
pub(super) fn at_first(cells: &Cells, rests: bool) -> BTreeSet<u32> {
    let all = cells.numbered().map(|(cell, _)| cell);
    all.filter(|_| rests).collect()
}

/// Makes the function that takes up each state of the platform that its actor has written.
pub(super) fn publisher(keys: &Keys, realms: &Arc<Realms>, state: &State) -> Published {
    let (keys, realms, state) = (Arc::clone(keys), Arc::clone(realms), Arc::clone(state));
    Arc::new(move |platform: &Arc<Platform>| {
        if let Err(why) = take_up((&keys, &realms, &state), platform) {
            tracing::error!(%why, "a new realm could not be started");
        }
    })
}

/// Takes up a state of the platform. An error tells that some of it could not be started.
fn take_up(
    (keys, realms, state): (&Keys, &Arc<Realms>, &State),
    platform: &Arc<Platform>,
) -> Result<(), Failure> {
    let turn = realms.publishes();
    taken_up((keys, realms, state), platform, LoadedAhead::new(), &turn)
}

/// Takes up a state of the platform. The turn is the one in which it was read, or the state is newer than those taken
/// up before.
fn taken_up(
    (keys, realms, state): (&Keys, &Arc<Realms>, &State),
    platform: &Arc<Platform>,
    ahead: LoadedAhead,
    _turn: &MutexGuard<'_, ()>,
) -> Result<(), Failure> {
    let followed = realms.follow_with(platform, ahead);
    publish_keys(keys, platform);
    *state.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(platform);
    followed
}

/// Lets requests be recognised by the keys of a platform.
pub(super) fn publish_keys(keys: &Keys, platform: &Platform) {
    for key in platform.keys.values() {
        if let Some(tenant) = platform.tenants.get(&key.tenant) {
            let before = keys.get(&key.id);
            let used = before.map_or_else(Arc::default, |known| Arc::clone(&known.used));
            let known = KnownKey {
                used,
                key: key.clone(),
                tenant: tenant.clone(),
                open: platform.is_open(tenant.realm(key.mode)),
            };
            keys.insert(key.id.clone(), Arc::new(known));
        }
    }
}

impl Realms {
    /// Starts the platform's actor with its loaded state.
    pub(super) fn ministry(
        &self,
        loaded: (Platform, Tail),
        published: Published,
    ) -> Mailbox<PlatformActor> {
        let store = Arc::clone(self.cells.platform());
        let actor = PlatformActor::new(store, Arc::clone(&self.clock), loaded, published);
        let platform = match self.arbiters.first() {
            Some(arbiter) => PlatformActor::start_in_arbiter(arbiter, move |_| actor),
            None => actor.start(),
        };
        Mailbox::new(platform, Waiting::default(), platform::MAILBOX)
    }

    /// Locks the taking up of platform states: none is taken up until the guard is dropped.
    pub(super) fn publishes(&self) -> MutexGuard<'_, ()> {
        self.publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The cells that rest; none wakes or comes to rest while the guard is held.
    pub(super) fn resting(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lock of a cell, held while it wakes or comes to rest.
    fn turn_of(&self, cell: u32) -> Arc<tokio::sync::Mutex<()>> {
        Arc::clone(&self.waking.entry(cell).or_default())
    }

    /// Whether nothing of a realm acts here because its cell rests.
    pub(super) fn rests_for(&self, realm: RealmId) -> bool {
        self.resting().contains(&self.cells.cell_of(realm))
    }

    /// Why a realm cannot be asked here: it does not exist, another node serves it, or it is not started yet, because its
    /// cell wakes.
    pub(super) fn absent(&self, realm: RealmId) -> Failure {
        // Given back at once: which cells rest may not be known before a realm has been started.
        let known = self.known.read();
        let known = known
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&realm);
        match known || self.rests_for(realm) {
            true => Failure::ShuttingDown,
            false => Rejection::TenantNotFound.into(),
        }
    }

    /// Whether this node may own some cells and other nodes the others.
    pub(super) fn are_parted(&self) -> bool {
        self.cells.numbered().nth(1).is_some()
    }

    /// Drops the supervisor of a realm. Another node may go on with it, so its bank stays known.
    fn lets_go(&self, realm: RealmId) {
        let gone = self.supervisors.remove(&realm);
        if let Some((_, gone)) = gone.filter(|_| self.are_parted()) {
            self.elsewhere.insert(realm, gone.bank);
        }
    }
}

impl Engine {
    /// Stops everything of a cell until [`Self::wake`]. When this returns, no commit, no call to the bank and no
    /// webhook of its realms follows; orders are refused with nothing done.
    ///
    /// # Errors
    /// When a realm does not come to rest; another call tries again.
    pub async fn rest(&self, cell: u32) -> Result<(), Failure> {
        let turn = self.realms.turn_of(cell);
        let _turn = turn.lock().await;
        self.realms.resting().insert(cell);
        let all = self.realms.supervisors.iter().map(|it| *it.key());
        let all: Vec<RealmId> = all.collect();
        let here = |realm: &RealmId| self.cells.cell_of(*realm) == cell;
        for realm in all.into_iter().filter(here) {
            self.retire(realm).await?;
            self.realms.lets_go(realm);
        }
        self.realms.count_collectors();
        Ok(())
    }

    /// Whether the platform and its people are not written here, or soon will not be: the first cell rests.
    pub fn is_at_rest(&self) -> bool {
        self.rests(FIRST)
    }

    /// Whether nothing of a cell acts here, or soon nothing will.
    pub fn rests(&self, cell: u32) -> bool {
        self.realms.resting().contains(&cell)
    }

    /// Whether nothing of a realm acts here, or soon nothing will, because its cell rests.
    pub fn rests_for(&self, realm: RealmId) -> bool {
        self.realms.rests_for(realm)
    }

    /// Lets everything of a cell act again, from the store. If the engine has threads of its own, the cell's realms are
    /// loaded off the calling thread, and no other cell waits for it.
    ///
    /// # Errors
    /// When the platform or a realm cannot be read from the store, or this process lacks a cell.
    pub async fn wake(self: &Arc<Self>, cell: u32) -> Result<(), Failure> {
        let turn = self.realms.turn_of(cell).lock_owned().await;
        if self.realms.arbiters.is_empty() {
            return self.woken(cell);
        }
        let engine = Arc::clone(self);
        let woken = tokio::task::spawn_blocking(move || {
            // It runs to its end even if nobody waits for it any more, before the cell may rest.
            let _turn = turn;
            engine.woken(cell)
        });
        woken.await.map_err(|_| Failure::Bug)?
    }

    fn woken(&self, cell: u32) -> Result<(), Failure> {
        // If the platform's actor is here, its state is used; otherwise the platform is read as it lies.
        let written = cell != FIRST && !self.is_at_rest();
        let known = match written {
            true => self.platform(),
            false => Arc::new(PlatformActor::load(self.cells.platform().as_ref())?.0),
        };
        self.cells.all_here(&known)?;
        if !written {
            self.clock.begin(clock::known(&self.cells, &known)?);
        }
        self.realms.opens();
        let ahead = self.realms.load_ahead(&known, cell)?;
        // A state that is read in this turn is no older than those taken up before it.
        let turn = self.realms.publishes();
        if cell != FIRST && !self.is_at_rest() {
            // The last state that the platform's actor has published is the one that counts.
            self.realms.resting().remove(&cell);
            return self.realms.follow_with(&self.platform(), ahead);
        }
        let loaded = PlatformActor::load(self.cells.platform().as_ref())?;
        self.cells.all_here(&loaded.0)?;
        let now = Arc::new(loaded.0.clone());
        if cell == FIRST {
            let ministry = self.realms.ministry(loaded, Arc::clone(&self.published));
            let platform = self.platform.write();
            *platform.unwrap_or_else(PoisonError::into_inner) = ministry;
            let office = self.realms.office()?;
            *self.staff.write().unwrap_or_else(PoisonError::into_inner) = office;
        }
        self.realms.resting().remove(&cell);
        let state = (&self.keys, &self.realms, &self.state);
        taken_up(state, &now, ahead, &turn)
    }

    fn taken_up(&self, platform: &Arc<Platform>, turn: &MutexGuard<'_, ()>) -> Result<(), Failure> {
        let state = (&self.keys, &self.realms, &self.state);
        taken_up(state, platform, LoadedAhead::new(), turn)
    }

    /// Follows the changes that another node has made to tenants, keys and people. Returns whether there were any. If
    /// the platform is written here, there is nothing to follow.
    ///
    /// # Errors
    /// When the platform or the people cannot be read from the store, or this process lacks a cell.
    pub fn look_again(&self) -> Result<bool, StoreError> {
        let store = self.cells.platform();
        // Each sequence only grows, so the sum changes whenever one of them does.
        let mut heads = 0_u64;
        for stream in [PLATFORM_STREAM, PEOPLE_STREAM, APPROVALS_STREAM] {
            let head = store.head(stream)?;
            heads = heads.strict_add(head.map_or(0, |head| head.seq));
        }
        if self.seen.load(Ordering::Acquire) == heads || !self.is_at_rest() {
            return Ok(false);
        }
        let mut failed = self
            .unstarted
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let again = failed.is_some_and(|(of, at)| of == heads && at.elapsed() < START_AGAIN);
        if again {
            return Ok(false);
        }
        let turn = self.realms.publishes();
        let (platform, _) = PlatformActor::load(store.as_ref())?;
        self.cells.all_here(&platform)?;
        let taken_up = self.taken_up(&Arc::new(platform), &turn);
        drop(turn);
        self.office().look_again(store.as_ref())?;
        // A state that could not be read or started is taken up again later.
        *failed = match taken_up {
            Ok(()) => {
                self.seen.store(heads, Ordering::Release);
                None
            }
            Err(why) => {
                tracing::error!(%why, "a realm that another node has changed could not be started, and is tried again");
                Some((heads, Instant::now()))
            }
        };
        Ok(true)
    }
}
