//! An adjustment as a realm gets it, how it names its voucher type, and the realm's report about its actors.

use caudal_ledger::ids::VoucherId;
use caudal_ledger::money::Amount;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ExternalDate, VoucherDetails};

use super::Target;

/// How an order names a voucher type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeRef {
    /// By its code, which is unique in the realm while the type lives.
    Code(TypeCode),
    /// By its numeric id.
    Legacy(u64),
    /// The type of a voucher, in the opposite direction: the adjustment reverses that voucher.
    Reverses {
        /// The voucher, of the same account.
        id: VoucherId,
        /// Whether its fee and tax are given back in proportion.
        refund_fees: bool,
    },
}

/// An adjustment as it was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adjustment {
    /// The account to which it is posted.
    pub target: Target,
    /// The type of the voucher, which says whether it credits or debits.
    pub voucher_type: TypeRef,
    /// How much it moves, in centavos; `None` only for all that is left of a voucher that it reverses.
    pub amount: Option<Amount>,
    /// The tenant's own id.
    pub external_id: ExternalId,
    /// A line for people.
    pub description: Option<String>,
    /// The tenant's own date.
    pub external_date: Option<ExternalDate>,
    /// What only some vouchers have.
    pub details: Option<Box<VoucherDetails>>,
    /// Only say what would happen.
    pub dry_run: bool,
}

/// The state of a realm's actors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RealmReport {
    /// Account actors that are in memory now.
    pub resident: usize,
    /// Messages that wait in these actors' mailboxes.
    pub queued: usize,
    /// Commits that are not durable yet.
    pub in_flight: usize,
    /// Actors that wait for the bank.
    pub waiting_for_bank: usize,
    /// Actors that were started.
    pub starts: u64,
    /// Actors that were replaced after a panic or a failed commit.
    pub restarts: u64,
    /// Actors that were passivated.
    pub passivations: u64,
}
