//! The body of the events of the treasury: the collector account next to what clients own.

use caudal_ledger::coverage::CoverageFact;
use serde::Serialize;
use utoipa::ToSchema;

use crate::bodies::texts::{Instant, Pesos};

/// The collector account next to what clients own, at one instant. Where other realms share the account, nobody can
/// say whose its money is: the amounts are null.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TreasuryCoverage)]
pub struct CoverageBody {
    /// When the bank read the balance.
    pub as_of: Instant,
    /// What the collector account has.
    pub bank_balance: Option<Pesos>,
    /// What belongs to clients.
    pub client_funds: Option<Pesos>,
    /// The part of the balance that belongs to no client; negative while money is missing.
    pub free_balance: Option<Pesos>,
    /// The share of the clients' money that is there, four decimals, rounded down; null when nothing is owed.
    pub coverage_ratio: Option<String>,
    /// Whether all of it is there.
    pub covered: bool,
    /// Whether other realms share the collector account; the ratio is that of all of them together.
    pub shared: bool,
}

/// Renders what a check found for a tenant.
pub(super) fn coverage(fact: &CoverageFact) -> CoverageBody {
    let own = !fact.shared;
    CoverageBody {
        as_of: fact.at.into(),
        bank_balance: own.then(|| fact.bank.into()),
        client_funds: own.then(|| fact.owed.into()),
        free_balance: own.then(|| fact.free.into()),
        coverage_ratio: fact.ratio.map(|ratio| ratio.to_string()),
        covered: fact.covered,
        shared: fact.shared,
    }
}
