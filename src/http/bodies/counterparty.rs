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

body! {
    /// The other side of a movement: who paid or who was paid, as far as it was known then.
    #[derive(Default)]
    pub struct CounterpartyBody as Counterparty from other: Counterparty {
        => let bank = other.entity();
        /// Name.
        name: Option<String> = other.name;
        /// Tax id.
        cuit: Option<String> = other.cuit;
        /// CBU or CVU.
        cbu: Option<String> = other.cbu;
        /// Alias.
        alias: Option<String> = other.alias;
        /// The bank or PSP.
        bank: Option<BankBody> = bank.map(|(code, name)| BankBody { code, name });
        /// The id on the rail of what was moved.
        coelsa_id: Option<String> = other.coelsa_id;
        /// What it is for: the central bank's code, such as `VAR`.
        concept: Option<String> = other.concept;
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
