//! The engine's part in moving a realm into another cell: the realm stops, and its requests wait.
//!
//! **Order.** The passage is shut, who is inside gets an answer, the realm rests, a fact says that it leaves, what it did last
//! is copied, one fact puts the copy into force, the realm is loaded from there, the passage opens. Where there are other
//! nodes: this one has to be sure, behind the first fact, that it still owns the cell that is left. Whoever owns that cell
//! later wakes it having read the first cell to an end behind that fact, and lets the realm rest. So nothing is written
//! there that is not copied.
//!
//! Where another node owns the cell that is left, the first fact comes first, and is what has the realm rest there; that node says when
//! it does ([`Engine::rested`]) and up to which commit its cell is to be read. Requests wait at the door of each node meanwhile.
//!
//! **Failure.** Where the second fact is not written another one says that the realm stays, and it goes on where it was. Until
//! an outcome is known it rests. Where this node loses the first cell, its next owner says that ([`Platform::stays`]). A realm
//! that cannot be loaded afterwards is tried again by its keeper; whoever asks it meanwhile is refused.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_storage::StoreError;

use super::Engine;
use super::generations::NotCopied;
use super::passage::Shut;
use crate::elsewhere::Elsewhere;
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// How long answers are waited for that are under way, before the realm rests all the same: longer takes only what
/// waits for a bank, and that is answered as at a stop.
const ANSWERS: Duration = Duration::from_secs(2);

/// How long is waited before it is said again that a realm stays, where the store does not take it.
const STAYS_AGAIN: Duration = Duration::from_secs(1);
/// How long what another node's cell had when a realm came to rest there may take to come here: whoever asks the realm waits.
const READS: Duration = Duration::from_secs(3);
/// How often it is looked whether it has, or whether a fact has come.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The other nodes, and the number of the copy, where one of them may serve the realm.
pub(crate) type Far = Option<(Arc<dyn Elsewhere>, u32)>;

impl Engine {
    /// Has a realm rest for as long as `last` takes, which gives the order that is to put the copy into force; whoever
    /// asks the realm waits meanwhile. `leave` and `stay` are the orders before that, and in the place of it where it
    /// fails. Ends when the realm goes on, where it is to.
    ///
    /// # Errors
    /// Why the realm stays where it was; an order whose outcome nobody knows, where the service stops.
    pub(crate) async fn moves(
        &self,
        (realm, far): (RealmId, Far),
        (leave, stay): (PlatformOrder, PlatformOrder),
        last: impl Future<Output = Result<PlatformOrder, NotCopied>>,
    ) -> Result<Arc<Platform>, NotCopied> {
        let failed = |why: Failure| NotCopied::Failed(why.to_string());
        let _turning = self.turning.lock().await;
        let far = far.filter(|_| self.rests_for(realm));
        if self.is_at_rest() || self.rests_for(realm) && far.is_none() {
            return Err(NotCopied::Stopped);
        }
        // A clock in doubt would refuse what is said below, and the realm would rest until it is confirmed.
        self.certain().map_err(failed)?;
        if let Some(far) = far {
            return self.moves_from((realm, far), (leave, stay), last).await;
        }
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
        // Where its cell rests it is another node's to serve.
        if !self.leaves_to_others(realm) && self.is_to_go_on(realm) {
            // Where it cannot be loaded its keeper says so, and tries again.
            drop(self.resume(realm).await);
        }
        done
    }

    /// The same of a realm that another node serves: the first fact has it rest there, and whoever asks it waits at the door of
    /// each node.
    async fn moves_from(
        &self,
        (realm, (elsewhere, number)): (RealmId, (Arc<dyn Elsewhere>, u32)),
        (leave, stay): (PlatformOrder, PlatformOrder),
        last: impl Future<Output = Result<PlatformOrder, NotCopied>>,
    ) -> Result<Arc<Platform>, NotCopied> {
        let failed = |why: Failure| NotCopied::Failed(why.to_string());
        let left = self.cells.standing(realm).cell;
        let done = async {
            self.administered_surely(leave).await.map_err(failed)?;
            let end = elsewhere.rested(realm, number).await.map_err(failed)?;
            self.reads_to(left, end).await?;
            let order = last.await?;
            self.administered_surely(order).await.map_err(failed)
        };
        let done = done.await;
        if done.is_err() {
            self.stays(stay).await;
        }
        done
    }

    /// Waits until a cell is applied here up to a commit.
    async fn reads_to(&self, cell: u32, end: u64) -> Result<(), NotCopied> {
        let since = Instant::now();
        let here = self.cells.cell(cell);
        while here.is_none_or(|it| it.applied().0 < end) {
            if since.elapsed() > READS {
                return Err(NotCopied::Behind {
                    millis: READS.as_millis(),
                });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Waits until a realm that is served here rests, because it leaves for the copy of this number: the last commit of its cell
    /// then. Nothing of the realm follows it until a fact says how the move ended, whoever owns the cell.
    ///
    /// # Errors
    /// Where it does not rest, or this node may not own its cell any more; whoever asks bounds how long it takes.
    pub async fn rested(&self, realm: RealmId, number: u32) -> Result<u64, Failure> {
        let left = self.cells.standing(realm).cell;
        let leaves = || self.platform().leaves_for(realm) == Some(number);
        // Nobody has it go on behind that fact; what it had under way ends.
        let retired = loop {
            {
                // No fact is taken up between the look and the wish: one that has it go on is heard behind it.
                let _turn = self.realms.publishes();
                if leaves() {
                    break self.kept(realm)?.retiring()?;
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        };
        retired.await.map_err(|_| Failure::ShuttingDown)??;
        match leaves() && self.cells.standing(realm).cell == left && self.is_surely_owned(left) {
            true => Ok(self.cells.cell(left).ok_or(Failure::Bug)?.applied().0),
            false => Err(Failure::ShuttingDown),
        }
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
