//! The door of the generations of a realm: copies under way, the generation in force, and the release of held
//! departures.
//!
//! **Order.** While another generation comes into force nothing of the realm acts, and its orders are refused with
//! nothing done. The realm rests until the outcome of the fact that switches it is known.

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

/// The pause before asking again for the outcome of a fact.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// Why a copy did not become whole.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotCopied {
    /// The store cannot be read or takes no writes, or the platform refused the final fact.
    #[error("{0}")]
    Failed(String),
    /// The appended entries are not the ones that were read.
    #[error("what was appended is not what was read; the generation cannot be used")]
    Differs,
    /// The copied ledger contradicts itself.
    #[error("its ledger contradicts itself in {count} places, the first: {first}")]
    Wrong {
        /// The number of places.
        count: u64,
        /// The contradiction in the first place.
        first: String,
    },
    /// The copy would take the disk space of the running realms.
    #[error(
        "{left} bytes of the disk are left above its floor, and a copy stops where fewer than {least} are: make room"
    )]
    NoRoom {
        /// How many bytes are left.
        left: u64,
        /// Below how many bytes a copy stops.
        least: u64,
    },
    /// An operator ended the copy.
    #[error("an operator ended the copy before it was whole")]
    Unwanted,
    /// The realm writes faster than the copy takes in.
    #[error(
        "the copy does not catch up with what the realm does: the last part of it took {millis} ms; move it when it does less"
    )]
    Behind {
        /// How long the last copied part took, in milliseconds.
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

/// The progress of a copy.
#[derive(Debug, Default)]
pub struct Progress {
    commit: AtomicU64,
    entries: AtomicU64,
    unwanted: AtomicBool,
}

impl Progress {
    /// Notes the last commit that was read, and how many entries were copied.
    pub fn note(&self, commit: u64, entries: u64) {
        self.commit.store(commit, Ordering::Relaxed);
        self.entries.store(entries, Ordering::Relaxed);
    }

    /// Whether an operator has ended the copy.
    pub fn is_unwanted(&self) -> bool {
        self.unwanted.load(Ordering::Relaxed)
    }

    /// The last commit of the journal that was read.
    pub fn commit(&self) -> u64 {
        self.commit.load(Ordering::Relaxed)
    }

    /// How many entries were copied.
    pub fn entries(&self) -> u64 {
        self.entries.load(Ordering::Relaxed)
    }
}

/// The copy under way, or the last one since the start of the process.
#[derive(Clone, Debug)]
pub struct Copying {
    /// The copied realm.
    pub realm: RealmId,
    /// The number of the generation; 0 until its fact is written.
    pub number: u32,
    /// Its progress.
    pub progress: Arc<Progress>,
    /// How it ended; `None` while it goes on.
    pub ended: Option<Result<(), NotCopied>>,
}

impl Copying {
    /// Whether it copies this realm, is under way, and nobody has ended it.
    pub fn goes_on_with(&self, realm: RealmId) -> bool {
        self.realm == realm && self.ended.is_none() && !self.progress.is_unwanted()
    }
}

impl Engine {
    /// Checks that a realm still has a history. A reader checks this after it has read something from which it will
    /// continue in that history.
    ///
    /// # Errors
    /// [`Failure::ShuttingDown`] when another history came into force: ask again.
    pub fn still(&self, realm: RealmId, history: u32) -> Result<(), Failure> {
        match self.cells().history(realm) == history {
            true => Ok(()),
            false => Err(Failure::ShuttingDown),
        }
    }

    /// The copy under way of any realm, or the last one since the start of the process.
    pub fn copying(&self) -> Option<Copying> {
        let known = self.copying.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the copy of a realm, if one is under way: it stops within moments.
    pub fn end_copy(&self, realm: RealmId) {
        let known = self.copying();
        if let Some(copy) = known.filter(|it| it.realm == realm) {
            copy.progress.unwanted.store(true, Ordering::Relaxed);
        }
    }

    /// Changes the state of the copy under way. Returns the result of `change`.
    pub(crate) fn copies<T>(&self, change: impl FnOnce(&mut Option<Copying>) -> T) -> T {
        change(&mut self.copying.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Checks whether a generation of a realm can come into force now.
    ///
    /// # Errors
    /// When the tenant or the generation does not exist, or the generation is not whole.
    pub fn may_switch(&self, id: &str, mode: Mode, number: u32) -> Result<(), Failure> {
        let order = PlatformOrder::Restore {
            id: id.to_owned(),
            mode,
            step: RestoreStep::Switch(number),
        };
        self.platform().decide(order, self.now())?;
        Ok(())
    }

    /// Puts a generation of a realm into force. If it already is, this only resumes a realm that should be served. The
    /// realm rests meanwhile.
    ///
    /// # Errors
    /// Those of every door; a generation that does not exist or is not whole; a realm that cannot be loaded afterwards.
    /// Its keeper then tries again, and a repeat of the order does so at once.
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
        // An order that is refused, or already carried out, stops no realm.
        if platform.decide(order.clone(), self.now())?.is_empty() {
            if platform.is_open(realm) && !self.rests_for(realm) {
                self.resume(realm).await?;
            }
            return Ok(platform);
        }
        self.certain()?;
        let open = platform.is_open(realm);
        // A closed realm, too: nothing of it may act in the generation that was in force.
        self.retire(realm).await?;
        // A node that has taken the realm's cell meanwhile may be serving the old generation.
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

    /// Decides an order about the platform, and waits until its outcome is known: its fact may still come into force,
    /// and nothing may act before that is known. An order is decided after those before it, so the answer to a repeat
    /// tells what became of the first.
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

    /// Releases a realm's held departures.
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
