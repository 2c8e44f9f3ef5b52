//! The door of the clock: what the journal knows of the time, and what a person says of it.
//!
//! While the machine's clock is in doubt, orders are refused here and nothing expires; questions are
//! answered. What is under way at the bank is settled, stamped with the time that is believed.

use caudal_ledger::facts::ClockWord;
use caudal_ledger::tenants::Platform;
use caudal_ledger::time::Timestamp;
use caudal_storage::{CommitNo, StoreError};

use super::Engine;
use crate::cells::Cells;
use crate::failure::Failure;
use crate::platform::PlatformOrder;
use crate::ports::{Doubt, Known};

/// How many of the last commits are asked for their time.
const COMMITS: u64 = 64;

impl Engine {
    /// Why the machine's clock is not believed; `None` while it is.
    pub fn clock_doubt(&self) -> Option<Doubt> {
        self.clock.doubt()
    }

    /// Whether writes are possible in these cells; in none of them they are nobody's concern, whatever the clock says.
    ///
    /// # Errors
    /// When they are not: why.
    pub fn ready_in(&self, cells: impl Iterator<Item = u32>) -> Result<(), Failure> {
        let mut stores = cells.filter_map(|cell| self.cells.cell(cell)).peekable();
        if stores.peek().is_some() {
            self.certain()?;
        }
        Ok(stores.try_for_each(|store| store.ready())?)
    }

    /// Refuses while the clock is in doubt.
    pub(super) fn certain(&self) -> Result<(), Failure> {
        match self.clock.doubt() {
            None => Ok(()),
            Some(_) => Err(Failure::ClockInDoubt),
        }
    }

    /// Believes the machine's clock as it stands, because a person says so; the doubt that this ends,
    /// if there was one. It is a fact, so that the next start does not ask again.
    ///
    /// # Errors
    /// When the store takes no writes; the clock is in doubt then as before.
    pub async fn confirm_clock(
        &self,
        by: String,
        reason: String,
    ) -> Result<Option<Doubt>, Failure> {
        let Some(doubt) = self.clock.doubt() else {
            return Ok(None);
        };
        let word = ClockWord {
            says: doubt.says,
            believed: doubt.believed,
            by,
            reason,
        };
        // Where another node writes the platform, it has the word in its audit log, and this one asks again at its next start.
        if !self.is_at_rest() {
            self.instruct(PlatformOrder::ConfirmClock(word)).await?;
        }
        self.clock.confirm();
        Ok(Some(doubt))
    }
}

/// What the journals know of the time.
pub(super) fn known(cells: &Cells, platform: &Platform) -> Result<Known, StoreError> {
    let mut newest = None;
    for store in cells.all() {
        let last = store.applied().0;
        if last == 0 {
            continue;
        }
        let from = last.saturating_sub(COMMITS).saturating_add(1);
        store.replay(CommitNo(from.max(1)), &mut |_, entry| {
            newest = newest.max(Some(Timestamp::from_millis(entry.at)));
            true
        })?;
    }
    Ok(Known {
        newest,
        confirmed: platform.clock,
    })
}
