//! The other side of a movement, as both families show it: every field is present, null if unknown.

use caudal_ledger::transfers::Counterparty;
use serde::Serialize;
use utoipa::ToSchema;

/// A bank, or a PSP.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[schema(as = CounterpartyBank)]
pub struct BankBody {
    /// Its code: three digits of a bank, four of a PSP.
    pub code: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// The other side of a movement: who paid or who was paid, as far as it was known then.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Counterparty)]
pub struct CounterpartyBody {
    /// Name.
    pub name: Option<String>,
    /// Tax id.
    pub cuit: Option<String>,
    /// CBU or CVU.
    pub cbu: Option<String>,
    /// Alias.
    pub alias: Option<String>,
    /// The bank or PSP.
    pub bank: Option<BankBody>,
    /// The id on the rail of what was moved.
    pub coelsa_id: Option<String>,
    /// What it is for: the central bank's code, such as `VAR`.
    pub concept: Option<String>,
}

impl From<Counterparty> for CounterpartyBody {
    fn from(other: Counterparty) -> Self {
        let bank = other.entity();
        Self {
            name: other.name,
            cuit: other.cuit,
            cbu: other.cbu,
            alias: other.alias,
            bank: bank.map(|(code, name)| BankBody { code, name }),
            coelsa_id: other.coelsa_id,
            concept: other.concept,
        }
    }
}

/// The other side of a movement (wallet shape).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Contraparte)]
pub struct Contraparte {
    /// Name.
    pub nombre: Option<String>,
    /// Tax id.
    pub cuit_cuil: Option<String>,
    /// CBU or CVU.
    pub cbu_cvu: Option<String>,
    /// Alias.
    pub alias: Option<String>,
    /// The name of the bank or PSP; its code where no name is known.
    pub banco: Option<String>,
    /// The id on the rail of what was moved.
    pub coelsa_id: Option<String>,
    /// What it is for: the central bank's code, such as `VAR`.
    pub concepto: Option<String>,
}

impl From<Counterparty> for Contraparte {
    fn from(other: Counterparty) -> Self {
        let bank = other.entity();
        Self {
            nombre: other.name,
            cuit_cuil: other.cuit,
            cbu_cvu: other.cbu,
            alias: other.alias,
            banco: bank.and_then(|(code, name)| name.or(code)),
            coelsa_id: other.coelsa_id,
            concepto: other.concept,
        }
    }
}
