//! What is known about a holder: one set of data that both families show, and the rules by which its
//! texts are taken.
//!
//! **Shape.** Every field is optional; a change sets the fields that it brings, and the rest stays. A rule
//! takes a text as it was sent and gives what is kept of it, or why it is refused. The holder's own words
//! (occupation, street …) are any [`line`] of so many characters.

use chrono::{Datelike as _, NaiveDate};
use serde::{Deserialize, Serialize};

use crate::text::{TextError, line};
use crate::time::Timestamp;

/// The highest level of [`Kyc::kyc_level`]: a business that was verified.
pub const LEVEL_MAX: u8 = 3;
/// The longest [`Kyc::document_type`] and [`Kyc::marital_status`], in characters.
pub const WORD_MAX: usize = 40;
/// The longest [`Kyc::occupation`] and [`Address::street`], in characters.
pub const LINE_MAX: usize = 100;
/// The longest number, floor or apartment of an address, in characters.
pub const DOOR_MAX: usize = 20;
/// The longest code of a town or province, in characters.
pub const CODE_MAX: usize = 40;
/// The longest postal code, in characters.
pub const POSTAL_CODE_MAX: usize = 10;
/// The longest e-mail address, in characters.
const EMAIL_MAX: usize = 254;
/// The longest phone number, and the fewest digits in one.
const PHONE_MAX: usize = 30;
const PHONE_DIGITS_MIN: usize = 6;
/// The fewest and the most digits of an identity document.
pub const DNI_DIGITS: (usize, usize) = (6, 9);
/// The digits of an activity code.
pub const ACTIVITY_DIGITS: usize = 6;
/// The first and the last year in which somebody may be born.
const BIRTH_YEARS: std::ops::RangeInclusive<i32> = 1850..=9998;
const SEXES: &[&str] = &["F", "M", "X"];
const RISK_LEVELS: &[&str] = &["low", "medium", "high"];

/// Declares data of which a change brings some fields.
macro_rules! data {
    ($(#[$about:meta])+ pub struct $name:ident {
        $($(#[$doc:meta])+ $field:ident: $type:ty,)+
    }) => {
        $(#[$about])+
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$doc])+ pub $field: $type,)+
        }

        impl $name {
            /// The data with what `change` brings; what it does not bring stays.
            #[must_use]
            pub fn merged(&self, change: &Self) -> Self {
                let mut new = self.clone();
                new.bring(change);
                new
            }
        }

        impl Bring for $name {
            fn bring(&mut self, change: &Self) {
                $(self.$field.bring(&change.$field);)+
            }
        }
    };
}

/// What takes in a change of itself.
trait Bring {
    fn bring(&mut self, change: &Self);
}

impl<T: Clone> Bring for Option<T> {
    fn bring(&mut self, change: &Self) {
        if change.is_some() {
            self.clone_from(change);
        }
    }
}

data! {
    /// KYC and registry data. Every field is optional; a change sets the fields it brings.
    pub struct Kyc {
        /// Country code, ISO 3166-1 alpha-2.
        nationality: Option<String>,
        /// Country code, ISO 3166-1 alpha-2.
        birth_country: Option<String>,
        /// `YYYY-MM-DD`.
        birth_date: Option<String>,
        /// `F`, `M` or `X`.
        sex: Option<String>,
        /// Number of the national identity document.
        dni: Option<String>,
        /// Kind of identity document.
        document_type: Option<String>,
        /// Civil status, as the tenant writes it.
        marital_status: Option<String>,
        /// Occupation, as the tenant writes it.
        occupation: Option<String>,
        /// Six-digit activity code of the tax agency; leading zeros count.
        afip_activity: Option<String>,
        /// Politically exposed person.
        pep: Option<bool>,
        /// Obliged subject before the anti-laundering unit.
        uif: Option<bool>,
        /// Taxpayer of the United States.
        fatca: Option<bool>,
        /// Tax resident elsewhere (CRS).
        ocde: Option<bool>,
        /// Postal address.
        address: Address,
        /// `low`, `medium` or `high`.
        risk_level: Option<String>,
        /// 0 (unverified) to [`LEVEL_MAX`].
        kyc_level: Option<u8>,
        /// When the data was verified.
        verified_at: Option<Timestamp>,
    }
}

data! {
    /// A postal address as the tenant gave it; codes are kept as texts of any catalogue.
    pub struct Address {
        /// Street.
        street: Option<String>,
        /// House number.
        number: Option<String>,
        /// Floor.
        floor: Option<String>,
        /// Flat.
        apartment: Option<String>,
        /// Town, by a code of the tenant's catalogue.
        city_code: Option<String>,
        /// Province, by a code of the tenant's catalogue.
        province_code: Option<String>,
        /// Postal code.
        postal_code: Option<String>,
    }
}

/// Why a text about a holder is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KycError {
    /// It is no country code.
    #[error("must be a two-letter country code")]
    Country,
    /// It is no day on which somebody may be born.
    #[error("must be a date as YYYY-MM-DD")]
    BirthDate,
    /// It is no number of an identity document.
    #[error("must have {} to {} digits", DNI_DIGITS.0, DNI_DIGITS.1)]
    Dni,
    /// It is no activity code.
    #[error("must have {ACTIVITY_DIGITS} digits")]
    Activity,
    /// It is none of a few words.
    #[error("must be one of {}", choices.join(", "))]
    Word {
        /// The words.
        choices: &'static [&'static str],
    },
    /// It is no e-mail address.
    #[error("must be an e-mail address")]
    Email,
    /// It is no phone number.
    #[error("must be a phone number")]
    Phone,
    /// It is no line of text.
    #[error("{why} (1 to {max} characters)")]
    Line {
        /// What is wrong with it.
        why: TextError,
        /// The most characters.
        max: usize,
    },
}

fn bounded(text: &str, max: usize) -> Result<String, KycError> {
    line(text, max).map_err(|why| KycError::Line { why, max })
}

fn word(text: &str, choices: &'static [&'static str]) -> Result<String, KycError> {
    let found = choices.iter().find(|word| **word == text);
    let found = found.ok_or(KycError::Word { choices })?;
    Ok((*found).to_owned())
}

fn digits(text: &str, (min, max): (usize, usize), why: KycError) -> Result<String, KycError> {
    let good = (min..=max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    good.then(|| text.to_owned()).ok_or(why)
}

/// A country: two letters, of which lower case is raised. Whether there is such a country is not looked at.
///
/// # Errors
/// When it has another shape.
pub fn country(text: &str) -> Result<String, KycError> {
    let good = text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic());
    let code = good.then(|| text.to_ascii_uppercase());
    code.ok_or(KycError::Country)
}

/// The day of somebody's birth, `YYYY-MM-DD` from the year 1850.
///
/// # Errors
/// When it is no such day.
pub fn birth_date(text: &str) -> Result<String, KycError> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let born = day.filter(|day| text.len() == 10 && BIRTH_YEARS.contains(&day.year()));
    born.map(|day| day.to_string()).ok_or(KycError::BirthDate)
}

/// `F`, `M` or `X`.
///
/// # Errors
/// When it is another word.
pub fn sex(text: &str) -> Result<String, KycError> {
    word(text, SEXES)
}

/// `low`, `medium` or `high`.
///
/// # Errors
/// When it is another word.
pub fn risk_level(text: &str) -> Result<String, KycError> {
    word(text, RISK_LEVELS)
}

/// The number of an identity document: 6 to 9 digits.
///
/// # Errors
/// When it is anything else.
pub fn dni(text: &str) -> Result<String, KycError> {
    digits(text, DNI_DIGITS, KycError::Dni)
}

/// An activity code of the tax agency: 6 digits, of which leading zeros count.
///
/// # Errors
/// When it is anything else.
pub fn afip_activity(text: &str) -> Result<String, KycError> {
    let exactly = (ACTIVITY_DIGITS, ACTIVITY_DIGITS);
    digits(text, exactly, KycError::Activity)
}

/// An e-mail address, by its shape: something on both sides of one `@`, without spaces and commas, at most
/// 254 characters.
///
/// # Errors
/// When it has another shape.
pub fn email(text: &str) -> Result<String, KycError> {
    let email = bounded(text, EMAIL_MAX)?;
    let clean = |part: &str| !part.is_empty() && !part.contains([' ', '@', ',']);
    match email.split_once('@') {
        Some((name, domain)) if clean(name) && clean(domain) => Ok(email),
        Some(_) | None => Err(KycError::Email),
    }
}

/// A phone number, as it is written: at least 6 digits, among them spaces and `+-().`, at most 30
/// characters.
///
/// # Errors
/// When it has another shape.
pub fn phone(text: &str) -> Result<String, KycError> {
    let phone = bounded(text, PHONE_MAX)?;
    let good = |c: char| c.is_ascii_digit() || "+-() .".contains(c);
    let digits = phone.chars().filter(char::is_ascii_digit).count();
    if phone.chars().all(good) && digits >= PHONE_DIGITS_MIN {
        Ok(phone)
    } else {
        Err(KycError::Phone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&str) -> Result<String, KycError>;

    #[test]
    fn each_rule_keeps_what_is_right_and_says_why_it_refuses() {
        let long = format!("{}@x", "a".repeat(253));
        let cases: Vec<(Rule, &str, Result<&str, KycError>)> = vec![
            (country, "ar", Ok("AR")),
            (country, "ARG", Err(KycError::Country)),
            (country, "A1", Err(KycError::Country)),
            (country, "ñ", Err(KycError::Country)),
            (birth_date, "1989-02-16", Ok("1989-02-16")),
            (birth_date, "1850-01-01", Ok("1850-01-01")),
            (birth_date, "1849-12-31", Err(KycError::BirthDate)),
            (birth_date, "1989-02-30", Err(KycError::BirthDate)),
            (birth_date, "1989-2-16", Err(KycError::BirthDate)),
            (birth_date, "16/02/1989", Err(KycError::BirthDate)),
            (birth_date, "", Err(KycError::BirthDate)),
            (sex, "X", Ok("X")),
            (sex, "f", Err(KycError::Word { choices: SEXES })),
            (risk_level, "medium", Ok("medium")),
            (
                risk_level,
                "alto",
                Err(KycError::Word {
                    choices: RISK_LEVELS,
                }),
            ),
            (dni, "123456", Ok("123456")),
            (dni, "12345", Err(KycError::Dni)),
            (dni, "1234567890", Err(KycError::Dni)),
            (dni, "12.345.678", Err(KycError::Dni)),
            (afip_activity, "000007", Ok("000007")),
            (afip_activity, "7", Err(KycError::Activity)),
            (afip_activity, "٠٠٠", Err(KycError::Activity)),
            (email, " a@b.example ", Ok("a@b.example")),
            (email, "a.example", Err(KycError::Email)),
            (email, "@b", Err(KycError::Email)),
            (email, "a@", Err(KycError::Email)),
            (email, "a@b@c", Err(KycError::Email)),
            (email, "a b@c", Err(KycError::Email)),
            (email, "a@b,c@d", Err(KycError::Email)),
            (
                email,
                &long,
                Err(KycError::Line {
                    why: TextError::TooLong,
                    max: 254,
                }),
            ),
            (
                email,
                " ",
                Err(KycError::Line {
                    why: TextError::Empty,
                    max: 254,
                }),
            ),
            (phone, "+54 (11) 5555-5555", Ok("+54 (11) 5555-5555")),
            (phone, "12345", Err(KycError::Phone)),
            (phone, "11 5555 x5", Err(KycError::Phone)),
        ];
        for (rule, sent, kept) in cases {
            assert_eq!(rule(sent), kept.map(str::to_owned), "{sent}");
        }
    }

    #[test]
    fn a_refusal_says_what_would_be_right() {
        for (why, text) in [
            (KycError::Dni, "must have 6 to 9 digits"),
            (KycError::Activity, "must have 6 digits"),
            (KycError::Word { choices: SEXES }, "must be one of F, M, X"),
            (
                KycError::Line {
                    why: TextError::Empty,
                    max: 254,
                },
                "must not be empty (1 to 254 characters)",
            ),
        ] {
            assert_eq!(why.to_string(), text);
        }
    }

    #[test]
    fn a_change_sets_what_it_brings_and_nothing_else() {
        let text = |text: &str| Some(text.to_owned());
        let address = |street, number| Address {
            street,
            number,
            ..Address::default()
        };
        let old = Kyc {
            nationality: text("AR"),
            pep: Some(true),
            address: address(text("Florida"), text("1")),
            ..Kyc::default()
        };
        let change = Kyc {
            pep: Some(false),
            kyc_level: Some(LEVEL_MAX),
            address: address(None, text("2")),
            ..Kyc::default()
        };
        let new = Kyc {
            nationality: text("AR"),
            pep: Some(false),
            kyc_level: Some(LEVEL_MAX),
            address: address(text("Florida"), text("2")),
            ..Kyc::default()
        };
        assert_eq!(old.merged(&Kyc::default()), old);
        assert_eq!(old.merged(&change), new);
    }
}
