//! Whether the collector account of a realm has what its clients own, as it is recorded when that changes.
//!
//! The service compares both sides at intervals. A realm records a fact when money is missing, and one when it is there
//! again, so the last fact of a realm is its state; a realm without a fact has its money covered.

use serde::{Deserialize, Serialize};

use crate::money::Money;
use crate::time::Timestamp;
use crate::treasury::{Coverage, Ratio, Sum};

/// A collector account compared with what all realms on it owe their clients, at one instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CoverageFact {
    /// When the bank read the balance.
    pub at: Timestamp,
    /// The balance of the collector account, in centavos; may be negative.
    pub bank: Money,
    /// The money that belongs to clients of all realms on the account, in centavos.
    pub owed: Sum,
    /// The part of the balance that belongs to no client, in centavos; negative while money is missing.
    pub free: Sum,
    /// The share of the clients' money that is there; `None` when nothing is owed.
    pub ratio: Option<Ratio>,
    /// Whether all of the clients' money is there.
    pub covered: bool,
    /// Whether other realms have the same collector account. Their tenants see no amounts of each other.
    pub shared: bool,
}

impl CoverageFact {
    /// The comparison at an instant.
    pub const fn new(
        at: Timestamp,
        (bank, owed): (Money, Sum),
        coverage: Coverage,
        shared: bool,
    ) -> Self {
        Self {
            at,
            bank,
            owed,
            free: coverage.free,
            ratio: coverage.ratio,
            covered: coverage.covered,
            shared,
        }
    }

    /// The money that is missing, in centavos; negative or zero while all is covered.
    pub const fn missing(&self) -> Sum {
        Sum::from_centavos(0).minus(self.free)
    }
}
