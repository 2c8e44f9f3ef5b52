//! Readers of what identifies and reaches a person, for both families.

use caudal_ledger::cuit::{Cuit, CuitError};

use super::body::read as read_body;
use super::caller::Caller;
use super::words::Mistake;

/// A CUIT; its check digit counts unless the realm's policy relaxes it.
pub fn cuit(caller: &Caller) -> impl FnOnce(&str) -> Result<Cuit, Mistake> + use<> {
    let relaxed = caller.identity.relaxed_cuit;
    read_body::text::<_, CuitError>(move |text| parse_cuit(relaxed, text))
}

/// A CUIT by the rules of a realm.
///
/// # Errors
/// Why it is none.
pub fn parse_cuit(relaxed: bool, text: &str) -> Result<Cuit, CuitError> {
    if relaxed {
        Cuit::parse_relaxed(text)
    } else {
        Cuit::parse(text)
    }
}

/// An e-mail address.
///
/// # Errors
/// Why it is none.
pub fn email(raw: &str) -> Result<String, Mistake> {
    let email = read_body::line(254)(raw)?;
    let good = email.split_once('@').is_some_and(|(name, domain)| {
        let clean = |part: &str| !part.is_empty() && !part.contains([' ', '@', ',']);
        clean(name) && clean(domain)
    });
    if good {
        Ok(email)
    } else {
        Err(Mistake::NotAnEmail)
    }
}

/// A phone number.
///
/// # Errors
/// Why it is none.
pub fn phone(raw: &str) -> Result<String, Mistake> {
    let phone = read_body::line(30)(raw)?;
    let good = phone
        .chars()
        .all(|c| c.is_ascii_digit() || "+-() .".contains(c));
    let digits = phone.chars().filter(char::is_ascii_digit).count();
    if good && digits >= 6 {
        Ok(phone)
    } else {
        Err(Mistake::NotAPhone)
    }
}
