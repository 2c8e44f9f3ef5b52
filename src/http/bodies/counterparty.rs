//! The other side of a movement, as both families show it: every field is present, null if unknown.

use crate::bodies::body;
use caudal_ledger::transfers::Counterparty;
use serde::Serialize;
use utoipa::ToSchema;

/// A bank, or a PSP.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[schema(as = CounterpartyBank)]
pub struct BankBody {
    /// Its code: three digits of a bank, four of a PSP.
    pub code: Option<String>,
    /// Its name.
    pub name: Option<String>,
}

/// The other side of a movement: who paid or who was paid, as far as it was known then.
#[derive(Clone, PartialEq, Debug, Default, Serialize, ToSchema)]
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

body! {
    /// The other side of a movement (wallet shape).
    pub struct Contraparte as Contraparte from other: Counterparty {
        => let bank = other.entity();
        /// Name.
        nombre: Option<String> = other.name;
        /// Tax id.
        cuit_cuil: Option<String> = other.cuit;
        /// CBU or CVU.
        cbu_cvu: Option<String> = other.cbu;
        /// Alias.
        alias: Option<String> = other.alias;
        /// The name of the bank or PSP; its code where no name is known.
        banco: Option<String> = bank.and_then(|(code, name)| name.or(code));
        /// The id on the rail of what was moved.
        coelsa_id: Option<String> = other.coelsa_id;
        /// What it is for: the central bank's code, such as `VAR`.
        concepto: Option<String> = other.concept;
    }
}
