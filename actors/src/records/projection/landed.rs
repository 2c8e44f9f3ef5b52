//! The row of an id of the rail: the place of the money that it brought.

use caudal_ledger::cases::SuspensePlace;
use caudal_ledger::ids::AccountNo;
use serde::{Deserialize, Serialize};

/// The place where money from the rail has landed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Landed {
    /// The account; 0 if it is unknown.
    pub account: AccountNo,
    /// The sequence of the voucher, or of the record of suspense.
    pub sequence: u64,
    /// Whether the money waits for a person.
    pub suspended: bool,
    /// The record of suspense from which a person credited it.
    #[serde(default)]
    pub case: Option<SuspensePlace>,
}
