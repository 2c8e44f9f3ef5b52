//! The other side of a movement: who paid, or who was paid, as far as known at that time.
//!
//! **Shape.** Texts as the bank or the tenant gave them; each may be missing. A voucher keeps only what it does not say
//! elsewhere: the bank follows from the CBU, and the rail's id of incoming money is what the voucher belongs to.
//! Vouchers of adjustments, holds and fees have no counterparty.

use serde::{Deserialize, Serialize};

use crate::chain::Canonical;
use crate::cvu::Cbu;

/// The other side of a movement.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Counterparty {
    /// Tax id (CUIT, CUIL or CDI), if the bank gives one; its check digit is not verified.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub cuit: Option<String>,
    /// The person's or firm's name, as the bank or the tenant wrote it.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CBU or CVU, 22 digits; not verified if the bank gave it.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub cbu: Option<String>,
    /// The alias by which the order or the bank named it.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The name of the bank or PSP, if the bank gave one.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub bank: Option<String>,
    /// The id of the movement on the rail (COELSA).
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub coelsa_id: Option<String>,
    /// What the money is for: a code of [`crate::bank::Concept`].
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub concept: Option<String>,
}

impl Counterparty {
    /// The code and the name of its bank or PSP. Both follow from the CBU, but a name that the bank gave takes
    /// precedence. `None` when neither is known.
    pub fn entity(&self) -> Option<(Option<String>, Option<String>)> {
        let key = self.cbu.as_deref().and_then(|key| Cbu::parse(key).ok());
        let code = key.map(|key| key.entity().to_owned());
        let known = || key.and_then(|key| key.entity_name().map(str::to_owned));
        let name = self.bank.clone().or_else(known);
        (code.is_some() || name.is_some()).then_some((code, name))
    }

    /// Whether `has` finds what it looks for in the name, tax id, CBU or alias.
    pub fn mentions(&self, has: impl Fn(&str) -> bool) -> bool {
        let texts = [&self.name, &self.cuit, &self.cbu, &self.alias];
        texts.into_iter().flatten().any(|text| has(text))
    }

    /// Adds all its fields to a canonical form.
    pub(crate) fn canonical(&self, form: Canonical) -> Canonical {
        let Self {
            cuit,
            name,
            cbu,
            alias,
            bank,
            coelsa_id,
            concept,
        } = self;
        [cuit, name, cbu, alias, bank, coelsa_id, concept]
            .into_iter()
            .fold(form, |form, text| form.optional(text.as_deref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bank_follows_from_the_key_unless_it_was_told() {
        let of = |cbu: Option<&str>, bank: Option<&str>| {
            let other = Counterparty {
                cbu: cbu.map(str::to_owned),
                bank: bank.map(str::to_owned),
                ..Counterparty::default()
            };
            other.entity()
        };
        let text = |text: &str| Some(text.to_owned());
        let table = [
            (None, None, None),
            (None, Some("Uno"), Some((None, text("Uno")))),
            (
                Some("0110012920000091344977"),
                None,
                Some((text("011"), text("Nación"))),
            ),
            (
                Some("0110012920000091344977"),
                Some("Uno"),
                Some((text("011"), text("Uno"))),
            ),
            (
                Some("2850590940090418135201"),
                None,
                Some((text("285"), text("Macro"))),
            ),
            (
                Some("0000003100062244154712"),
                None,
                Some((text("0003"), None)),
            ),
            (Some("12"), None, None),
        ];
        for (cbu, bank, expected) in table {
            assert_eq!(of(cbu, bank), expected, "{cbu:?} {bank:?}");
        }
    }
}
