//! Starts the realms when this node owns the log, and stops them when another node owns it.
//!
//! **Shape.** On a node at rest there are no realms: no supervisor, no courier, nothing that asks the bank. Lists are
//! read from the rows of this node. The platform and the people are written where the realms act, and nowhere else. Every
//! other node reads tenants, keys and settings from the facts that were applied there ([`Lifecycle::look_again`]). To wake
//! is to load everything from the store, as a start does.
//!
//! **Order.** A node that wakes owns the log and has read it to its end. The log is given away or taken again only after
//! the rest is complete: no two lives of a realm act at once. States of the platform are taken up one after the other:
//! realms first, then keys, so that a key opens an existing realm.
//!
//! A node wakes or comes to rest, never both at once: resting waits until waking has ended. The realms are loaded while
//! the node still rests, when nobody writes, and start at once with the state of the platform that is taken up then.
//!
//! **Failure.** If a realm does not come to rest, that is an error, and the node rests only in part: the rest has to be
//! completed before it may wake.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};

use actix::Actor as _;
use caudal_ledger::ids::RealmId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::Platform;
use caudal_storage::StoreError;

use super::following::LoadedAhead;
use super::{Core, Lifecycle, Realms, clock};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, QueueDepth};
use crate::platform::{self, Keys, KnownKey, OnPlatformChange, PlatformActor};
use crate::records::{APPROVALS_STREAM, PEOPLE_STREAM, PLATFORM_STREAM, Tail};

/// The platform as of the last change that was taken up.
type PlatformState = Arc<RwLock<Arc<Platform>>>;

/// Makes the function that takes up each state of the platform that its actor has written.
pub(super) fn publisher(
    keys: &Keys,
    realms: &Arc<Realms>,
    state: &PlatformState,
) -> OnPlatformChange {
    let (keys, realms, state) = (Arc::clone(keys), Arc::clone(realms), Arc::clone(state));
    Arc::new(move |platform: &Arc<Platform>| {
        let turn = realms.publishes();
        let parts = (&keys, &realms, &state);
        if let Err(why) = taken_up(parts, platform, LoadedAhead::new(), &turn) {
            tracing::error!(%why, "new realm could not be started");
        }
    })
}

/// Takes up a state of the platform. The turn is the one in which it was read, or the state is newer than those taken
/// up before. An error tells that some of it could not be started.
fn taken_up(
    (keys, realms, state): (&Keys, &Arc<Realms>, &PlatformState),
    platform: &Arc<Platform>,
    ahead: LoadedAhead,
    _turn: &MutexGuard<'_, ()>,
) -> Result<(), Failure> {
    let followed = realms.follow(platform, ahead);
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
    pub(super) fn start_platform(
        &self,
        loaded: (Platform, Tail),
        published: OnPlatformChange,
    ) -> Mailbox<PlatformActor> {
        let store = Arc::clone(&self.store);
        let actor = PlatformActor::new(store, Arc::clone(&self.clock), loaded, published);
        let platform = match self.arbiters.first() {
            Some(arbiter) => PlatformActor::start_in_arbiter(arbiter, move |_| actor),
            None => actor.start(),
        };
        Mailbox::new(platform, QueueDepth::default(), platform::MAILBOX)
    }

    /// Locks the taking up of platform states: none is taken up until the guard is dropped.
    pub(super) fn publishes(&self) -> MutexGuard<'_, ()> {
        self.publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the realms rest; they neither wake nor come to rest while the guard is held.
    pub(super) fn resting(&self) -> MutexGuard<'_, bool> {
        self.rests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why a realm cannot be asked here: it does not exist, another node serves it, or it is not started yet.
    pub(super) fn absent(&self, realm: RealmId) -> Failure {
        let known = self.known.read();
        let known = known
            .unwrap_or_else(PoisonError::into_inner)
            .contains(&realm);
        if known || *self.resting() {
            Failure::ShuttingDown
        } else {
            Rejection::TenantNotFound.into()
        }
    }
}

impl Lifecycle<'_> {
    /// Stops everything until [`Self::wake`]. When this returns, no commit, no call to the bank and no webhook follows;
    /// orders are refused with nothing done.
    ///
    /// # Errors
    /// When a realm does not come to rest; another call tries again.
    pub async fn rest(self) -> Result<(), Failure> {
        let _turn = self.0.realms.waking.lock().await;
        *self.0.realms.resting() = true;
        let all = self.0.realms.supervisors.iter().map(|it| *it.key());
        for realm in all.collect::<Vec<_>>() {
            self.retire(realm).await?;
            self.0.realms.supervisors.remove(&realm);
        }
        self.0.realms.count_collectors();
        Ok(())
    }

    /// Lets everything act again, from the store. If the engine has threads of its own, the realms are loaded off the
    /// calling thread.
    ///
    /// # Errors
    /// When the platform or a realm cannot be read from the store.
    pub async fn wake(self) -> Result<(), Failure> {
        let turn = Arc::clone(&self.0.realms.waking).lock_owned().await;
        if self.0.realms.arbiters.is_empty() {
            return self.0.woken();
        }
        let engine = Arc::clone(self.0);
        let woken = tokio::task::spawn_blocking(move || {
            // It finishes even if the caller has gone, and the realms stop only after that.
            let _turn = turn;
            engine.woken()
        });
        woken.await.map_err(|_| Failure::Bug)?
    }

    /// Follows the changes that another node has made to tenants, keys and people. Returns whether there were any. If
    /// the platform is written here, there is nothing to follow.
    ///
    /// # Errors
    /// When the platform or the people cannot be read from the store.
    pub fn look_again(self) -> Result<bool, StoreError> {
        let store = &self.0.store;
        // Each sequence only grows, so the sum changes whenever one of them does.
        let mut heads = 0_u64;
        for stream in [PLATFORM_STREAM, PEOPLE_STREAM, APPROVALS_STREAM] {
            let head = store.head(stream)?;
            heads = heads.strict_add(head.map_or(0, |head| head.seq));
        }
        if self.0.seen.load(Ordering::Acquire) == heads || !self.0.is_at_rest() {
            return Ok(false);
        }
        let turn = self.0.realms.publishes();
        let (platform, _) = PlatformActor::load(store.as_ref())?;
        let parts = (&self.0.keys, &self.0.realms, &self.0.state);
        if let Err(why) = taken_up(parts, &Arc::new(platform), LoadedAhead::new(), &turn) {
            tracing::error!(%why, "what another node has changed could not be taken up");
        }
        drop(turn);
        self.0.people_handle().look_again(store.as_ref())?;
        self.0.seen.store(heads, Ordering::Release);
        Ok(true)
    }
}

impl Core {
    /// Whether nothing acts here, or soon nothing will, because another node owns the log.
    pub(super) fn is_at_rest(&self) -> bool {
        *self.realms.resting()
    }

    fn woken(&self) -> Result<(), Failure> {
        let (known, _) = PlatformActor::load(self.store.as_ref())?;
        self.clock.begin(clock::known(self.store.as_ref(), &known)?);
        self.realms.opens();
        let ahead = self.realms.load_ahead(&known)?;
        // A state that is read in this turn is no older than those taken up before it.
        let turn = self.realms.publishes();
        let loaded = PlatformActor::load(self.store.as_ref())?;
        let now = Arc::new(loaded.0.clone());
        let start_platform = self
            .realms
            .start_platform(loaded, Arc::clone(&self.published));
        let platform = self.platform.write();
        *platform.unwrap_or_else(PoisonError::into_inner) = start_platform;
        let people_handle = self.realms.people_handle()?;
        *self.staff.write().unwrap_or_else(PoisonError::into_inner) = people_handle;
        *self.realms.resting() = false;
        let state = (&self.keys, &self.realms, &self.state);
        taken_up(state, &now, ahead, &turn)
    }
}
