//! The business that has not left a realm yet: for operators who have to release the realm.
//!
//! **Bounds.** At most [`COUNTED_MAX`] of each kind are counted.

use caudal_ledger::ids::RealmId;
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, StoreError};

use super::Engine;
use super::read_slots::Cost;
use crate::failure::Failure;
use crate::records::{keys, reads};

/// The most of a kind that are counted.
pub const COUNTED_MAX: usize = 1000;

/// The business of a realm that waits to leave it or for the bank's answer, as far as it was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leaving {
    /// Transfers that have not ended.
    pub transfers: usize,
    /// Returns of money in suspense that the bank is asked for.
    pub returns: usize,
    /// Accounts whose enrolment waits for the fund.
    pub enrolments: usize,
    /// The sum of all transfers that have not ended, also of those that were not counted.
    pub amount: Sum,
}

impl Engine {
    /// Counts a realm's business that waits to leave it or for the bank's answer.
    ///
    /// # Errors
    /// Those of every reading door.
    pub async fn leaving(&self, realm: RealmId) -> Result<Leaving, Failure> {
        self.scan(realm, Cost::Page, move |store| leaving(store, realm))
            .await
    }
}

fn leaving(store: &dyn Index, realm: RealmId) -> Result<Leaving, StoreError> {
    let open = keys::open_transfers(realm);
    Ok(Leaving {
        transfers: reads::money::numbers(store, &open, None, COUNTED_MAX)?.len(),
        returns: reads::cases::open_returns(store, realm, COUNTED_MAX)?.len(),
        enrolments: reads::enrolling(store, realm, COUNTED_MAX)?.len(),
        amount: reads::totals(store, realm)?.outgoing,
    })
}
