//! What of a realm has not left it yet: for operators who have to release it.
//!
//! **Bounds.** Of each kind [`COUNTED_MAX`] are counted at most.

use caudal_ledger::ids::RealmId;
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, StoreError};

use super::Engine;
use super::read_slots::Cost;
use crate::failure::Failure;
use crate::records::{keys, reads};

/// How many of a kind are counted at most.
pub const COUNTED_MAX: usize = 1000;

/// What of a realm waits to leave it or for the bank's answer, as far as it was counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leaving {
    /// Transfers that have not ended.
    pub transfers: usize,
    /// Returns of money in suspense that the bank is asked for.
    pub returns: usize,
    /// Accounts whose enrolment waits for the fund.
    pub enrolments: usize,
    /// The amounts of those transfers, all of them.
    pub amount: Sum,
}

impl Engine {
    /// What of a realm waits to leave it or for the bank's answer.
    ///
    /// # Errors
    /// Those of every door that reads.
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
