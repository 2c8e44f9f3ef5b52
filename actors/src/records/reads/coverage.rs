//! Typed reads for operators who watch a collector account: what its realms recorded, and the transfers that wait.

use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::treasury::Sum;
use caudal_storage::{Index, SortOrder, StoreError};

use super::{Lookup, totals, under};
use crate::records::projection::requested_at;
use crate::records::{COVERAGE, decode, keys, realm_stream};

/// Transfers that wait for the bank's answer: it may not have them yet, or has not said how they ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WaitingTransfers {
    /// How many there are, counted up to a bound.
    pub count: usize,
    /// Their sum, in centavos: of all of them.
    pub amount: Sum,
    /// When the oldest of those that are counted and that no person has to decide was requested.
    pub oldest: Option<Timestamp>,
}

impl WaitingTransfers {
    /// Those of two realms together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            amount: self.amount.plus(other.amount),
            oldest: self.oldest.into_iter().chain(other.oldest).min(),
        }
    }
}

/// The last change between covered and not covered that a realm recorded; `None` while there was none.
pub fn last(store: &dyn Index, realm: RealmId) -> Lookup<CoverageFact> {
    let stream = realm_stream(realm, COVERAGE);
    let last = store.read(stream, 1, u64::MAX, SortOrder::Descending, 1)?;
    last.first().map(|entry| decode(&entry.body)).transpose()
}

/// The transfers of a realm that wait for the bank, of which at most `most` are counted.
pub fn waiting(
    store: &dyn Index,
    realm: RealmId,
    most: usize,
) -> Result<WaitingTransfers, StoreError> {
    let amount = totals(store, realm)?.outgoing;
    if amount == Sum::default() {
        return Ok(WaitingTransfers::default());
    }
    let open = under(
        store,
        &keys::open_transfers(realm),
        SortOrder::Ascending,
        most,
    )?;
    let requested = open.iter().filter_map(|(_, row)| requested_at(row));
    Ok(WaitingTransfers {
        count: open.len(),
        amount,
        oldest: requested.min(),
    })
}
