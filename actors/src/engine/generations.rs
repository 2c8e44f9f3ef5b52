//! The door of the generations of a realm: which copy is made, which one is in force, and what is held.
//!
//! **Order.** While another generation comes into force nothing of the realm acts, and its orders are refused, nothing
//! done. Until the outcome of the fact that says so is known, the realm rests.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use caudal_ledger::ids::{Mode, RealmId};
use caudal_ledger::tenants::Platform;
use caudal_ledger::tenants::restores::RestoreStep;
use caudal_storage::StoreError;

use super::Engine;
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// How long is waited before it is asked again what became of a fact.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Why a copy did not become whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotCopied {
    /// The store reads or takes nothing, or the platform did not take the end.
    #[error("{0}")]
    Failed(String),
    /// What was appended is not what was read.
    #[error("what was appended is not what was read; the generation cannot be used")]
    Differs,
    /// Its ledger contradicts itself.
    #[error("its ledger contradicts itself in {count} places, the first: {first}")]
    Wrong {
        /// In how many.
        count: u64,
        /// What is wrong in the first.
        first: String,
    },
    /// It would take the room of those who go on.
    #[error(
        "{left} bytes of the disk are left above its floor, and a copy stops where fewer than {least} are: make room"
    )]
    NoRoom {
        /// How many are left.
        left: u64,
        /// At how many it stops.
        least: u64,
    },
    /// An operator has ended it.
    #[error("an operator ended the copy before it was whole")]
    Unwanted,
    /// The realm does more than the copy takes in.
    #[error(
        "the copy does not catch up with what the realm does: the last part of it took {millis} ms; move it when it does less"
    )]
    Behind {
        /// How long the last part took that was copied.
        millis: u128,
    },
    /// The service stops, or another node has taken the cell.
    #[error("the service stopped before the copy was whole")]
    Stopped,
}

impl From<StoreError> for NotCopied {
    fn from(why: StoreError) -> Self {
        Self::Failed(why.to_string())
    }
}

/// How far a copy has come.
#[derive(Debug, Default)]
pub struct Progress {
    commit: AtomicU64,
    entries: AtomicU64,
    unwanted: AtomicBool,
}

impl Progress {
    /// Notes up to which commit was read, and how many entries are there.
    pub fn note(&self, commit: u64, entries: u64) {
        self.commit.store(commit, Ordering::Relaxed);
        self.entries.store(entries, Ordering::Relaxed);
    }

    /// Whether an operator has ended it.
    pub fn is_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }

    /// Up to which commit the journal was read.
    pub fn commit(&self) -> u64 {
        self.commit.load(Ordering::Relaxed)
    }

    /// How many entries are there.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }
}

/// A copy that is made, or was made last since the start of the process.
#[derive(Clone, Debug)]
pub struct Copying {
    /// Of which realm.
    pub realm: RealmId,
    /// The number of the generation; 0 until its fact is written.
    pub number: u32,
    /// How far it has come.
    pub progress: Arc<Progress>,
    /// How it ended; `None` while it goes on.
    pub ended: Option<Result<(), NotCopied>>,
}

impl Copying {
    /// Whether it is of this realm, is being made, and nobody has ended it.
    pub fn goes_on_with(&self, realm: RealmId) -> bool {
        self.realm == realm && self.ended.is_none() && !self.progress.is_unwanted()
    }
}

impl Engine {
    /// Whether a realm has a history still: whoever read something of it that goes on from a place in that history asks
    /// afterwards.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] where another one came into force: ask again.
    pub fn still(&self, realm: RealmId, history: u32) -> Result<(), Failure> {
        match self.cells().history(realm) == history {
            true => Ok(()),
            false => Err(Failure::ShuttingDown),
        }
    }

    /// The copy of a realm that is made, or was made last since the start of the process.
    pub fn copying(&self) -> Option<Copying> {
        let known = self.copying.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the copy of a realm that is made, where one is: within moments it is interrupted.
    pub fn end_copy(&self, realm: RealmId) {
        let known = self.copying();
        if let Some(copy) = known.filter(|it| it.realm == realm) {
            copy.progress.unwanted.store(true, Ordering::Relaxed);
        }
    }

    /// Changes what is known of the copy that is made; what `change` gives.
    pub(crate) fn copies<T>(&self, change: impl FnOnce(&mut Option<Copying>) -> T) -> T {
        change(&mut self.copying.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a generation of a realm can come into force now.
    ///
    /// # Errors
    /// A tenant or a generation that is not, a generation that is not whole.
    pub fn may_switch(&self, id: &str, mode: Mode, number: u32) -> Result<(), Failure> {
        let order = PlatformOrder::Restore {
            id: id.to_owned(),
            mode,
            step: RestoreStep::Switch(number),
        };
        self.platform().decide(order, self.now())?;
        Ok(())
    }

    /// Puts a generation of a realm into force; nothing where it is, but a realm that should be served is. The realm
    /// rests meanwhile.
    ///
    /// # Errors
    /// Those of every door; a generation that is not, or is not whole; a realm that cannot be loaded afterwards: its
    /// keeper tries again, and the same order again does at once.
    pub async fn switch(
        &self,
        id: &str,
        mode: Mode,
        number: u32,
    ) -> Result<Arc<Platform>, Failure> {
        let _turning = self.turning.lock().await;
        let platform = self.platform();
        let realm = platform.tenant(id)?.realm(mode);
        let order = PlatformOrder::Restore {
            id: id.to_owned(),
            mode,
            step: RestoreStep::Switch(number),
        };
        // What is refused, or is so already, stops nobody.
        if platform.decide(order.clone(), self.now())?.is_empty() {
            if platform.is_open(realm) && !self.rests_for(realm) {
                self.resume(realm).await?;
            }
            return Ok(platform);
        }
        self.certain()?;
        let open = platform.is_open(realm);
        // Also one that is closed: nothing of it may act in what was in force.
        self.retire(realm).await?;
        // Who has taken its cell meanwhile may be serving what was in force.
        let done = match self.is_surely_owned(self.cells.standing(realm).cell) {
            true => self.administered_surely(order).await,
            false => Err(Failure::ShuttingDown),
        };
        if !open || self.rests_for(realm) {
            return done;
        }
        let resumed = self.resume(realm).await;
        let done = done?;
        resumed.map(|()| done)
    }

    /// Orders something of the platform, and waits until it is known what became of it: its fact may come into force
    /// yet, and nothing may act before that is known. An order is decided after those before it, so one that was
    /// decided says what became of the first.
    pub(super) async fn administered_surely(
        &self,
        order: PlatformOrder,
    ) -> Result<Arc<Platform>, Failure> {
        let mut done = self.administer(order.clone()).await;
        let unknown = matches!(done, Err(Failure::OutcomeUnknown));
        while unknown && !matches!(done, Ok(_) | Err(Failure::Rejected(_))) && !self.is_at_rest() {
            tokio::time::sleep(ASK_AGAIN).await;
            done = self.instruct(order.clone()).await;
        }
        done
    }

    /// Releases what is held.
    ///
    /// # Errors
    /// Those of every door.
    pub async fn release(&self, id: &str, mode: Mode) -> Result<Arc<Platform>, Failure> {
        let id = id.to_owned();
        let step = RestoreStep::Release;
        let order = PlatformOrder::Restore { id, mode, step };
        self.administer(order).await
    }
}
