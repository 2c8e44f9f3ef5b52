//! An engine that rests while another node owns the cell, and wakes when this one does.
//!
//! **Shape.** At rest there are no realms: no supervisor, no courier, nothing that asks the bank. Lists are read from
//! the rows of this node, and [`Engine::look_again`] follows tenants, keys and people. To wake is to load everything from
//! the store, as a start does.
//!
//! **Order.** Whoever wakes the engine owns the cell, and the store has the log to its end. Whoever has it rest waits
//! until that is done before the cell is given away or taken again: no two lives of a realm act at once.
//!
//! **Failure.** A realm that does not come to rest is an error, and the engine rests half: it has to be waited for
//! again before it may wake.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use actix::Actor as _;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_storage::StoreError;

use super::{Engine, Realms, clock};
use crate::failure::Failure;
use crate::mailbox::{Mailbox, Waiting};
use crate::platform::{self, PlatformActor, Published};
use crate::records::{APPROVALS_STREAM, PEOPLE_STREAM, PLATFORM_STREAM, Tail};

impl Realms {
    /// Starts the platform's actor with what was loaded.
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

    fn set_rest(&self, rests: bool) {
        *self.rests.lock().unwrap_or_else(PoisonError::into_inner) = rests;
    }
}

impl Engine {
    /// Has nothing act any more, until [`Self::wake`]. When this is done, no commit, no call to the bank and no webhook
    /// follows; orders are refused, nothing done.
    ///
    /// # Errors
    /// When a realm does not come to rest; it is asked again by another call.
    pub async fn rest(&self) -> Result<(), Failure> {
        self.realms.set_rest(true);
        let realms: Vec<RealmId> = self.realms.supervisors.iter().map(|it| *it.key()).collect();
        for realm in realms {
            self.retire(realm).await?;
            self.realms.supervisors.remove(&realm);
        }
        self.realms.count_collectors();
        Ok(())
    }

    /// Whether nothing acts here, or soon nothing will.
    pub fn is_at_rest(&self) -> bool {
        *self
            .realms
            .rests
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Has everything act again, as the store knows it now.
    ///
    /// # Errors
    /// When the platform or a realm cannot be read from the store.
    pub fn wake(&self) -> Result<(), Failure> {
        let loaded = PlatformActor::load(self.cells.platform().as_ref())?;
        self.clock.begin(clock::known(&self.cells, &loaded.0)?);
        let now = Arc::new(loaded.0.clone());
        let ministry = self.realms.ministry(loaded, Arc::clone(&self.published));
        *self
            .platform
            .write()
            .unwrap_or_else(PoisonError::into_inner) = ministry;
        let office = self.realms.office()?;
        *self.staff.write().unwrap_or_else(PoisonError::into_inner) = office;
        self.realms.set_rest(false);
        self.realms.follow(&now)?;
        (self.published)(&now);
        Ok(())
    }

    /// Follows what another node has changed of tenants, keys and people; whether there was anything.
    ///
    /// # Errors
    /// When the platform or the people cannot be read from the store.
    pub fn look_again(&self) -> Result<bool, StoreError> {
        let store = self.cells.platform();
        // Each only grows, so their sum is another one when one of them is.
        let mut heads = 0_u64;
        for stream in [PLATFORM_STREAM, PEOPLE_STREAM, APPROVALS_STREAM] {
            let head = store.head(stream)?;
            heads = heads.strict_add(head.map_or(0, |head| head.seq));
        }
        if self.seen.load(Ordering::Acquire) == heads {
            return Ok(false);
        }
        let (platform, _) = PlatformActor::load(store.as_ref())?;
        (self.published)(&Arc::new(platform));
        self.office().look_again(store.as_ref())?;
        // What could not be read is looked for again.
        self.seen.store(heads, Ordering::Release);
        Ok(true)
    }
}
