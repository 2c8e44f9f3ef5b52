//! The engine's part in moving a realm into another cell: the realm stops, and its requests wait.
//!
//! **Order.** The passage is shut, who is inside gets an answer, the realm rests, a fact says that it leaves, what it did last
//! is copied, one fact puts the copy into force, the realm is loaded from there, the passage opens. Where there are other
//! nodes: this one has to be sure, behind the first fact, that it still owns the cell that is left. Whoever owns that cell
//! later wakes it having read the first cell to an end behind that fact, and lets the realm rest. So nothing is written
//! there that is not copied.
//!
//! **Failure.** Where the second fact is not written another one says that the realm stays, and it goes on where it was. Until
//! an outcome is known it rests. Where this node loses the first cell, its next owner says that ([`Platform::stays`]). A realm
//! that cannot be loaded afterwards is tried again by its keeper; whoever asks it meanwhile is refused.

use std::sync::Arc;
use std::time::Duration;

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_storage::StoreError;

use super::Engine;
use super::generations::NotCopied;
use super::passage::Shut;
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// How long answers are waited for that are under way, before the realm rests all the same: longer takes only what
/// waits for a bank, and that is answered as at a stop.
const ANSWERS: Duration = Duration::from_secs(2);

/// How long is waited before it is said again that a realm stays, where the store does not take it.
const STAYS_AGAIN: Duration = Duration::from_secs(1);

impl Engine {
    /// Has a realm rest for as long as `last` takes, which gives the order that is to put the copy into force; whoever
    /// asks the realm waits meanwhile. `leave` and `stay` are the orders before that, and in the place of it where it
    /// fails. Ends when the realm goes on, where it is to.
    ///
    /// # Errors
    /// Why the realm stays where it was; an order whose outcome nobody knows, where the service stops.
    pub(crate) async fn moves(
        &self,
        realm: RealmId,
        (leave, stay): (PlatformOrder, PlatformOrder),
        last: impl Future<Output = Result<PlatformOrder, NotCopied>>,
    ) -> Result<Arc<Platform>, NotCopied> {
        let failed = |why: Failure| NotCopied::Failed(why.to_string());
        let _turning = self.turning.lock().await;
        if self.is_at_rest() || self.rests_for(realm) {
            return Err(NotCopied::Stopped);
        }
        // A clock in doubt would refuse what is said below, and the realm would rest until it is confirmed.
        self.certain().map_err(failed)?;
        let passage = self.realms.passage(realm).map_err(failed)?;
        let shut: Shut = passage.shut();
        if !shut.emptied(ANSWERS).await {
            tracing::warn!(realm = realm.0, "a realm moves while answers are under way");
        }
        // Also one that the platform says is closed: nothing of it may act behind what is copied last.
        self.retire(realm).await.map_err(failed)?;
        let left = self.cells.standing(realm).cell;
        let done = match self.administered_surely(leave).await {
            // It may have gone on meanwhile, where its cell was lost and taken again; behind that word it does not.
            Ok(_) if self.retire(realm).await.is_err() || !self.is_surely_owned(left) => {
                Err(NotCopied::Stopped)
            }
            Ok(_) => match last.await {
                Ok(order) => self.administered_surely(order).await.map_err(failed),
                Err(why) => Err(why),
            },
            Err(why) => Err(failed(why)),
        };
        if done.is_err() {
            self.stays(stay).await;
        }
        if self.rests_for(realm) {
            // It rests, and is another node's to serve.
            self.leaves_to_others(realm);
        } else if self.is_to_go_on(realm) {
            // Where it cannot be loaded its keeper says so, and tries again.
            drop(self.resume(realm).await);
        }
        done
    }

    /// Whether a realm is to be served, as far as is known here. Of one that leaves it is known when the fact comes that says how
    /// that ended: until then it rests.
    fn is_to_go_on(&self, realm: RealmId) -> bool {
        let platform = self.platform();
        platform.is_open(realm) && !platform.is_leaving(realm)
    }

    /// Says that a realm stays where it was, as long as this node may say so.
    async fn stays(&self, order: PlatformOrder) {
        // It says how something ended, so it is said whatever the clock.
        while let Err(why) = self.instruct(order.clone()).await {
            if self.is_at_rest() || matches!(why, Failure::Rejected(_)) {
                return;
            }
            tracing::error!(%why, "a realm that was to be moved rests until it is said that it stays");
            tokio::time::sleep(STAYS_AGAIN).await;
        }
    }

    /// Whether this node owns a cell and, by its own clock, no other can.
    pub(super) fn is_surely_owned(&self, cell: u32) -> bool {
        match self.cells.cell(cell).map(|store| store.ready()) {
            Some(Ok(())) => true,
            // A realm may leave a full disk; where there are other nodes, that might hide the end of a lease.
            Some(Err(StoreError::Full(_))) => !self.realms.shared,
            Some(Err(_)) | None => false,
        }
    }

    /// Has a realm go on that is open and rests, in its turn; nothing where it does not rest.
    ///
    /// # Errors
    /// Where it cannot be loaded.
    pub(crate) async fn resumed_in_turn(&self, realm: RealmId) -> Result<(), Failure> {
        let _turning = self.turning.lock().await;
        match self.is_to_go_on(realm) && !self.rests_for(realm) {
            true => self.resume(realm).await,
            false => Ok(()),
        }
    }
}
