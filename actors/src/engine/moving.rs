//! The engine's part in moving a realm into another cell: the realm stops, and its requests wait.
//!
//! **Order.** The passage is shut; callers inside get their answers; the realm rests; a fact states that the realm
//! leaves; its last entries are copied; one fact puts the copy into force; the realm is loaded from there; the passage
//! opens. If there are other nodes, this one has to be sure, after the first fact, that it still owns the cell that is
//! left. A later owner of that cell wakes it after reading the first cell beyond that fact, and keeps the realm at
//! rest. So everything that is written there is copied.
//!
//! If another node owns the cell that is left, the first fact comes first and retires the realm on that node. The node
//! reports when the realm rests ([`Engine::rested`]) and up to which commit its cell has to be read. Requests meanwhile
//! wait at the door of each node.
//!
//! **Failure.** If the second fact is not written, another one states that the realm stays, and the realm goes on where
//! it was. It rests until the outcome is known. If this node loses the first cell, the next owner writes that fact
//! ([`Platform::stays`]). If the realm cannot be loaded afterwards, its keeper tries again, and callers are refused
//! meanwhile.

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

/// How long the move waits for answers under way before the realm rests all the same. Only requests that wait for a
/// bank take longer, and these are answered as at a stop.
const ANSWERS: Duration = Duration::from_secs(2);

/// The pause before the order that a realm stays is tried again after a failure.
const STAYS_AGAIN: Duration = Duration::from_secs(1);
/// How long this node may take to apply the other node's cell up to the commit at which the realm came to rest there:
/// the realm's callers wait meanwhile.
const READS: Duration = Duration::from_secs(3);
/// How often this node checks whether that commit, or a fact, has arrived.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The other nodes and the number of the copy, if one of these nodes may serve the realm.
pub(crate) type Far = Option<(Arc<dyn Elsewhere>, u32)>;

impl Engine {
    /// Has a realm rest while `last` runs, which returns the order that puts the copy into force; callers of the realm
    /// wait meanwhile. `leave` is the order before that, and `stay` replaces it if it fails. Returns when the realm
    /// goes on, if it should.
    ///
    /// # Errors
    /// Why the realm stays where it was; or an order's outcome is unknown because the service stops.
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
        // With the clock in doubt the orders below would be refused, and the realm would rest until a person confirms
        // the clock.
        self.certain().map_err(failed)?;
        if let Some(far) = far {
            return self.moves_from((realm, far), (leave, stay), last).await;
        }
        let passage = self.realms.passage(realm).map_err(failed)?;
        let shut: Shut = passage.shut();
        if !shut.emptied(ANSWERS).await {
            tracing::warn!(realm = realm.0, "a realm moves while answers are under way");
        }
        // A realm that is closed, too: nothing of it may act after the last copied entry.
        self.retire(realm).await.map_err(failed)?;
        let left = self.cells.standing(realm).cell;
        let done = match self.administered_surely(leave).await {
            // The realm may have gone on meanwhile, if its cell was lost and taken again; after that fact it does not.
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
        // If its cell rests, another node serves the realm.
        if !self.leaves_to_others(realm) && self.is_to_go_on(realm) {
            // If the realm cannot be loaded, its keeper logs that and tries again.
            drop(self.resume(realm).await);
        }
        done
    }

    /// The same for a realm that another node serves: the first fact retires it there, and its callers wait at the door
    /// of each node.
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

    /// Waits until this node has applied a cell up to a commit.
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

    /// Waits until a realm that is served here rests because it leaves for the copy of this number. Returns the last
    /// commit of its cell at that point. Nothing of the realm follows that commit until a fact states how the move
    /// ended, whichever node owns the cell.
    ///
    /// # Errors
    /// When the realm does not rest, or this node may no longer own its cell. The caller bounds how long this takes.
    pub async fn rested(&self, realm: RealmId, number: u32) -> Result<u64, Failure> {
        let left = self.cells.standing(realm).cell;
        let leaves = || self.platform().leaves_for(realm) == Some(number);
        // After that fact nobody resumes the realm; its business under way ends.
        let retired = loop {
            {
                // No fact is taken up between this check and the wish, so a wish to resume comes after this one.
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

    /// Whether a realm is to be served, as far as this node knows. A realm that leaves rests until the fact arrives
    /// that states how the move ended.
    fn is_to_go_on(&self, realm: RealmId) -> bool {
        let platform = self.platform();
        platform.is_open(realm) && !platform.is_leaving(realm)
    }

    /// Orders that a realm stays where it was, and repeats that while this node may do so.
    async fn stays(&self, order: PlatformOrder) {
        // The order records how the move ended, so it does not depend on the clock.
        while let Err(why) = self.instruct(order.clone()).await {
            if self.is_at_rest() || matches!(why, Failure::Rejected(_)) {
                return;
            }
            tracing::error!(%why, "a realm that was to be moved rests until it is said that it stays");
            tokio::time::sleep(STAYS_AGAIN).await;
        }
    }

    /// Whether this node owns a cell and, by its own clock, no other node can.
    pub(super) fn is_surely_owned(&self, cell: u32) -> bool {
        match self.cells.cell(cell).map(|store| store.ready()) {
            Some(Ok(())) => true,
            // A realm may leave a full disk; but with other nodes, the full disk might hide the end of a lease.
            Some(Err(StoreError::Full(_))) => !self.realms.shared,
            Some(Err(_)) | None => false,
        }
    }

    /// Resumes a realm that is open and rests, in its turn; does nothing if it does not rest.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub(crate) async fn resumed_in_turn(&self, realm: RealmId) -> Result<(), Failure> {
        let _turning = self.turning.lock().await;
        match self.is_to_go_on(realm) && !self.rests_for(realm) {
            true => self.resume(realm).await,
            false => Ok(()),
        }
    }
}
