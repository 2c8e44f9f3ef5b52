//! The door of the clocks: the times in the journal, a person's confirmation of the machine's time, and the advance of a
//! test realm's clock.
//!
//! While the machine's clock is in doubt, orders are refused here and nothing expires; queries are answered. Business
//! under way at the bank is settled, stamped with the believed time.

use caudal_ledger::facts::ClockWord;
use caudal_ledger::ids::RealmId;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_storage::{CommitNo, Store, StoreError};

use super::{Core, Ledger, Lifecycle};
use crate::failure::Failure;
use crate::platform::PlatformOrder;
use crate::ports::{ClockDoubt, KnownTimes};
use crate::realms::Sweep;

/// How many of the last commits are checked for their time.
const COMMITS: u64 = 64;

impl Lifecycle<'_> {
    /// Why the machine's clock is not believed; `None` while it is.
    pub fn clock_doubt(self) -> Option<ClockDoubt> {
        self.0.clock.doubt()
    }

    /// Believes the machine's clock as it stands, because a person confirms it. Returns the doubt that this ends, if
    /// there was one. The confirmation is a fact, so that the next start does not ask again.
    ///
    /// # Errors
    /// When the store takes no writes; the clock then stays in doubt.
    pub async fn confirm_clock(
        self,
        by: String,
        reason: String,
    ) -> Result<Option<ClockDoubt>, Failure> {
        let Some(doubt) = self.0.clock.doubt() else {
            return Ok(None);
        };
        let word = ClockWord {
            says: doubt.says,
            believed: doubt.believed,
            by,
            reason,
        };
        // If another node writes the platform, the confirmation is in that node's audit log, and this node asks again
        // at its next start.
        if !self.0.is_at_rest() {
            self.0.instruct(PlatformOrder::ConfirmClock(word)).await?;
        }
        self.0.clock.confirm();
        Ok(Some(doubt))
    }
}

impl Ledger<'_> {
    /// Puts the clock of `realm`, the test realm of a tenant, this many days ahead of the machine's. The clock of its
    /// bank is not touched.
    ///
    /// # Errors
    /// Those of an order to the platform.
    pub async fn advance_clock(
        self,
        tenant: &str,
        realm: RealmId,
        days: u32,
    ) -> Result<(), Failure> {
        self.0.certain()?;
        let order = PlatformOrder::AdvanceTestClock(tenant.to_owned(), days);
        self.0.instruct(order).await?;
        // What is due now happens now, and not with the next sweep.
        self.0.ask(realm, Sweep).await
    }
}

impl Core {
    /// Refuses while the clock is in doubt.
    pub(super) fn certain(&self) -> Result<(), Failure> {
        match self.clock.doubt() {
            None => Ok(()),
            Some(_) => Err(Failure::ClockInDoubt),
        }
    }
}

/// The times that the journal knows.
pub(super) fn known(store: &dyn Store, platform: &Platform) -> Result<KnownTimes, StoreError> {
    let mut newest = None;
    let last = store.applied().0;
    if last > 0 {
        let from = last.saturating_sub(COMMITS).saturating_add(1);
        store.replay(CommitNo(from.max(1)), &mut |_, entry| {
            let at = Timestamp::from_millis(entry.at);
            let at = platform.machine_time(RealmId(entry.stream.realm), at);
            newest = newest.max(Some(at));
            true
        })?;
    }
    Ok(KnownTimes {
        newest,
        confirmed: platform.clock,
    })
}
