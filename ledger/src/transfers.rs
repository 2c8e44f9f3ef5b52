//! Transfers: money that leaves an account for another, inside the realm or through the bank.
//!
//! **States** (domain §6.2). An internal transfer is final at once: two vouchers in one commit. A
//! transfer through the bank is `requested` (the money is held, the intent is on disk), then
//! `in_progress` once the bank has it or may have it, and ends `completed` or `rejected`; what the
//! bank itself has given up on is in `audit` until a person decides; what comes back after
//! completion makes it `reversed`.
//!
//! **Failure.** Only the bank's own word ends a transfer. A timeout or a 5xx is no word: the money
//! stays held and the bank is asked again.

use serde::{Deserialize, Serialize};

use crate::alias::Alias;
use crate::cvu::Cbu;

/// Where a transfer goes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Destination {
    /// A CBU or CVU.
    Key(Cbu),
    /// An alias.
    Alias(Alias),
}

/// What a transfer is for: the central bank's three-letter concepts (domain §5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Concept {
    /// Rent.
    Alq,
    /// A share or fee of membership.
    Cuo,
    /// Expenses of a building.
    Exp,
    /// An invoice.
    Fac,
    /// A loan.
    Pre,
    /// Insurance.
    Seg,
    /// Professional fees.
    Hon,
    /// Salaries.
    Hab,
    /// Anything else.
    #[default]
    Var,
}

impl Concept {
    /// Every concept.
    pub const ALL: [Self; 9] = [
        Self::Alq,
        Self::Cuo,
        Self::Exp,
        Self::Fac,
        Self::Pre,
        Self::Seg,
        Self::Hon,
        Self::Hab,
        Self::Var,
    ];

    /// The code on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Alq => "ALQ",
            Self::Cuo => "CUO",
            Self::Exp => "EXP",
            Self::Fac => "FAC",
            Self::Pre => "PRE",
            Self::Seg => "SEG",
            Self::Hon => "HON",
            Self::Hab => "HAB",
            Self::Var => "VAR",
        }
    }
}

/// How far a transfer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferStatus {
    /// The money is held; the bank has not answered yet.
    Requested,
    /// The bank has it, or may have it.
    InProgress,
    /// The bank itself does not know and has given up; a person decides.
    Audit,
    /// The money has left.
    Completed,
    /// The bank refused; the money was released.
    Rejected,
    /// It had left and came back.
    Reversed,
}

impl TransferStatus {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Requested,
        Self::InProgress,
        Self::Audit,
        Self::Completed,
        Self::Rejected,
        Self::Reversed,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::InProgress => "in_progress",
            Self::Audit => "audit",
            Self::Completed => "completed",
            Self::Rejected => "rejected",
            Self::Reversed => "reversed",
        }
    }

    /// Whether the bank's word is still awaited.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Requested | Self::InProgress | Self::Audit)
    }
}

/// What the bank says of a transfer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BankWord {
    /// It is done.
    Completed,
    /// It will not be: the money never left.
    Failed {
        /// Why, in the bank's words.
        reason: String,
    },
    /// It is on its way, or the bank does not know yet.
    InProgress,
    /// The bank does not know and will not find out.
    Lost,
}

/// A transfer as the bank tells it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BankTransfer {
    /// The bank's own id of it.
    pub bank_id: String,
    /// The id on the rail, once it has one.
    pub coelsa_id: Option<String>,
    /// How far it is.
    pub word: BankWord,
}

/// The other side of a movement through the bank.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counterparty {
    /// Tax id, when the bank gives one.
    pub cuit: Option<String>,
    /// Name.
    pub name: Option<String>,
    /// CBU or CVU.
    pub cbu: Option<String>,
    /// Alias.
    pub alias: Option<String>,
    /// The name of the bank or PSP.
    pub bank: Option<String>,
}
