//! The bank's statements: about a transfer, its concept, and a request that the bank did not
//! accept.

use serde::{Deserialize, Serialize};

use crate::money::Amount;

/// The bank's own answer to a request that it did not accept. It is shown to the tenant as stored
/// here.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BankRefusal {
    /// The HTTP status of the bank, 100 to 599.
    pub status: u16,
    /// The body of the answer as JSON text, cut at a limit and without other clients' data.
    pub body: String,
}

words! {
    /// The purpose of a transfer: the three-letter concepts of the central bank (BCRA) for immediate
    /// transfers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    #[serde(rename_all = "UPPERCASE")]
    pub enum Concept {
        /// Rent (`alquileres`).
        Alq = "ALQ",
        /// A membership fee or an instalment (`cuotas`).
        Cuo = "CUO",
        /// Maintenance fees of a building (`expensas`).
        Exp = "EXP",
        /// An invoice (`facturas`).
        Fac = "FAC",
        /// A loan (`préstamos`).
        Pre = "PRE",
        /// Insurance (`seguros`).
        Seg = "SEG",
        /// Professional fees (`honorarios`).
        Hon = "HON",
        /// Salaries (`haberes`).
        Hab = "HAB",
        /// Anything else (`varios`); used for an order without a concept.
        #[default]
        Var = "VAR",
    }
}

/// The bank's statement about the state of a transfer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BankWord {
    /// The money has left the sender for good.
    Completed,
    /// It failed for good: the money never left.
    Failed {
        /// The reason, in the bank's words.
        reason: String,
    },
    /// It is on its way, or the bank does not know yet; the bank will be asked again.
    InProgress,
    /// The bank does not know and will not find out; a person decides.
    Lost,
}

/// A transfer as the bank reports it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BankTransfer {
    /// The bank's own id of the transfer.
    pub bank_id: String,
    /// The id on the rail, once it has one.
    pub coelsa_id: Option<String>,
    /// How far it is.
    pub word: BankWord,
    /// What the bank says it moves.
    #[serde(default)]
    pub moved: BankMoved,
}

/// What the bank says that a transfer moves, as far as it says it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BankMoved {
    /// The amount, in hundredths of [`Self::currency`]: centavos where that is ARS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// The code of its currency, as the bank writes it; orders are in
    /// [`crate::transfers::CURRENCY`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// The CVU that sends, as the bank writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cvu: Option<String>,
    /// The CBU or CVU that receives, as the bank writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_key: Option<String>,
    /// The alias that receives, as the bank writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_alias: Option<String>,
}
