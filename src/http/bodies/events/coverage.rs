//! The body of the events of the treasury: the collector account next to what clients own.

use crate::bodies::body;
use caudal_ledger::coverage::CoverageFact;

use crate::bodies::texts::{Instant, Pesos};

body! {
    /// The collector account next to what clients own, at one instant. Where other realms share the account, nobody can
    /// say whose its money is: the amounts are null.
    pub struct CoverageBody as TreasuryCoverage from fact: &CoverageFact {
        => let own = !fact.shared;
        /// When the bank read the balance.
        as_of: Instant = fact.at.into();
        /// What the collector account has.
        bank_balance: Option<Pesos> = own.then(|| fact.bank.into());
        /// What belongs to clients.
        client_funds: Option<Pesos> = own.then(|| fact.owed.into());
        /// The part of the balance that belongs to no client; negative while money is missing.
        free_balance: Option<Pesos> = own.then(|| fact.free.into());
        /// The share of the clients' money that is there, four decimals, rounded down; null when nothing is owed.
        coverage_ratio: Option<String> = fact.ratio.map(|ratio| ratio.to_string());
        /// Whether all of it is there.
        covered: bool = fact.covered;
        /// Whether other realms share the collector account; the ratio is that of all of them together.
        shared: bool = fact.shared;
    }
}
