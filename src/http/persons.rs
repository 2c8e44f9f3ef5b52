//! Readers of the identification of a person, for both families.

use caudal_ledger::cuit::{Cuit, CuitError};

use super::body::read as read_body;
use super::caller::Caller;
use super::words::Mistake;

/// A CUIT of 11 digits; its check digit must be right unless the policy of the caller's realm relaxes that.
///
/// # Errors
/// When the value is no CUIT.
pub fn cuit(caller: &Caller) -> impl FnOnce(&str) -> Result<Cuit, Mistake> + use<> {
    let relaxed = caller.identity.relaxed_cuit;
    read_body::text::<_, CuitError>(move |text| parse_cuit(relaxed, text))
}

/// A CUIT by the rules of a realm.
///
/// # Errors
/// The reason why it is no CUIT.
pub fn parse_cuit(relaxed: bool, text: &str) -> Result<Cuit, CuitError> {
    if relaxed {
        Cuit::parse_relaxed(text)
    } else {
        Cuit::parse(text)
    }
}
