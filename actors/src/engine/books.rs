//! The door of the books: the trial balance, now or at the end of a day. Both are one cut: the present sums are one row,
//! and those of a past day the sums of its days.

use caudal_ledger::books::{TrialBalanceLine, trial_balance};
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::{BusinessDay, Timestamp};

use super::Queries;
use super::read_slots::ReadCost;
use crate::failure::Failure;
use crate::records::reads;

/// All accounts of a realm's books with their balances at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialBalance {
    /// The instant up to which facts count, including the instant itself.
    pub as_of: Timestamp,
    /// The accounts, whose balances add up to zero.
    pub lines: Vec<TrialBalanceLine>,
}

impl Queries<'_> {
    /// The trial balance at the end of a day; at present for `None`.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn trial_balance(
        self,
        realm: RealmId,
        day: Option<BusinessDay>,
    ) -> Result<TrialBalance, Failure> {
        let as_of = day.map_or_else(|| self.0.now(), BusinessDay::end);
        let read = move |store: &dyn caudal_storage::Index| {
            Ok(match day {
                Some(day) => {
                    let sums = reads::added_until(store, realm, day.end())?;
                    let clients = sums.available.plus(sums.held);
                    trial_balance(clients, sums.suspense, &sums.house)
                }
                None => {
                    let totals = reads::totals(store, realm)?;
                    trial_balance(totals.owed(), totals.incoming, &totals.house)
                }
            })
        };
        let lines = self.0.scan(realm, ReadCost::Page, read).await?;
        Ok(TrialBalance { as_of, lines })
    }
}
