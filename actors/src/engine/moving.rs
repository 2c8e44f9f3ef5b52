//! The door of a realm that goes into another cell: it rests, and whoever asks it waits.
//!
//! **Order.** The passage is shut, who is inside gets an answer, the realm rests, what it did last is copied, one fact puts
//! the copy into force, the realm is loaded from there, the passage opens.
//!
//! **Failure.** Where the fact is not written the realm goes on where it was. Until its outcome is known it rests.

use std::sync::Arc;
use std::time::Duration;

use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;

use super::Engine;
use super::generations::NotCopied;
use super::passage::Shut;
use crate::failure::Failure;
use crate::platform::PlatformOrder;

/// How long answers are waited for that are under way, before the realm rests all the same: longer takes only what
/// waits for a bank, and that is answered as at a stop.
const ANSWERS: Duration = Duration::from_secs(2);

impl Engine {
    /// Has a realm rest for as long as `last` takes, which gives the order that is to put the copy into force; whoever
    /// asks the realm waits meanwhile.
    ///
    /// # Errors
    /// Why the realm stays where it was; an order whose outcome nobody knows, where the service stops.
    pub(crate) async fn moves(
        &self,
        realm: RealmId,
        last: impl Future<Output = Result<PlatformOrder, NotCopied>>,
    ) -> Result<Arc<Platform>, NotCopied> {
        let failed = |why: Failure| NotCopied::Failed(why.to_string());
        let _turning = self.turning.lock().await;
        if self.is_at_rest() {
            return Err(NotCopied::Stopped);
        }
        let passage = self.realms.passage(realm).map_err(failed)?;
        let shut: Shut = passage.shut();
        let open = self.platform().is_open(realm);
        if open {
            if !shut.emptied(ANSWERS).await {
                tracing::warn!(realm = realm.0, "a realm moves while answers are under way");
            }
            self.retire(realm).await.map_err(failed)?;
        }
        let done = match last.await {
            Ok(order) => self.administered_surely(order).await.map_err(failed),
            Err(why) => Err(why),
        };
        if open && !self.is_at_rest() {
            let resumed = self.resume(realm).await;
            if let Err(why) = resumed {
                tracing::error!(%why, realm = realm.0, "a realm that was to move still rests");
            }
        }
        drop(shut);
        done
    }
}
