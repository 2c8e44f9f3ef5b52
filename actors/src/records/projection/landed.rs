//! The row of an id of the rail: where the money that it brought is.

use caudal_ledger::cases::SuspensePlace;
use caudal_ledger::ids::AccountNo;
use serde::{Deserialize, Serialize};

/// Where money that the rail brought has landed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Landed {
    /// The account; 0 when nobody knows one.
    pub account: AccountNo,
    /// The sequence of the voucher, or of the record of suspense.
    pub sequence: u64,
    /// Whether it waits for a person.
    pub suspended: bool,
    /// The record of suspense from which a person had it credited.
    #[serde(default)]
    pub case: Option<SuspensePlace>,
}
