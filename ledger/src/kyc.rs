//! The data known about a holder: one set that both families show, and the rules for accepting its texts.
//!
//! **Shape.** Every field is optional; a change sets the fields that it brings, clears those that it marks, and the
//! rest stays. A rule takes a text as it was sent and returns the text to store, or why it is refused. The holder's own
//! words (occupation, street …) are any [`line()`] of bounded length.

use chrono::{Datelike as _, NaiveDate};
use serde::{Deserialize, Serialize};

use crate::text::{TextError, line};
use crate::time::Timestamp;

/// The highest value of [`Kyc::kyc_level`]: a verified business.
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
/// The fewest and the most digits of a DNI.
pub const DNI_DIGITS: (usize, usize) = (6, 9);
/// The fewest and the most letters and digits of any other identity document.
pub const DOCUMENT_CHARS: (usize, usize) = (3, 20);
/// The kind of identity document whose number has only digits.
const DNI: &str = "DNI";
/// The digits of an activity code.
pub const ACTIVITY_DIGITS: usize = 6;
/// The first and the last accepted year of birth.
const BIRTH_YEARS: std::ops::RangeInclusive<i32> = 1850..=9998;
/// The accepted values of [`sex`].
pub const SEXES: &[&str] = &["F", "M", "X"];
/// The accepted values of [`risk_level`].
pub const RISK_LEVELS: &[&str] = &["low", "medium", "high"];

/// Declares data of which a change brings some fields and clears others.
macro_rules! data {
    ($(#[$about:meta])+ pub struct $name:ident, cleared by $marks:ident {
        $($(#[$doc:meta])+ $field:ident: $type:ty,)+
    }) => {
        $(#[$about])+
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$doc])+
                #[serde(skip_serializing_if = "crate::words::is_default")]
                pub $field: $type,
            )+
        }

        #[doc = concat!("The fields of [`", stringify!($name), "`] that a change clears.")]
        #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $marks {
            $(
                #[doc = concat!("Of [`", stringify!($name), "::", stringify!($field), "`].")]
                #[serde(skip_serializing_if = "crate::words::is_default")]
                pub $field: <$type as Bring>::Marks,
            )+
        }

        impl $name {
            /// The data with what `change` brings; what it does not bring stays.
            #[must_use]
            pub fn merged(&self, change: &Self) -> Self {
                let mut new = self.clone();
                new.bring(change);
                new
            }

            /// The data without the fields that are marked.
            #[must_use]
            pub fn without(&self, marks: &$marks) -> Self {
                let mut new = self.clone();
                new.clear(marks);
                new
            }
        }

        impl Bring for $name {
            type Marks = $marks;

            fn bring(&mut self, change: &Self) {
                $(self.$field.bring(&change.$field);)+
            }

            fn clear(&mut self, marks: &$marks) {
                $(self.$field.clear(&marks.$field);)+
            }
        }

        impl Marks for $marks {
            fn all() -> Self {
                Self { $($field: Marks::all(),)+ }
            }
        }
    };
}

/// Data to which a change of itself can be applied.
pub trait Bring {
    /// The marks of the fields that a change clears.
    type Marks: Marks;

    /// Sets the fields that a change brings; the rest stays.
    fn bring(&mut self, change: &Self);

    /// Clears the marked fields.
    fn clear(&mut self, marks: &Self::Marks);
}

/// Marks of the fields that a change clears.
pub trait Marks: Default + PartialEq {
    /// The marks that clear everything.
    fn all() -> Self;
}

impl Marks for bool {
    fn all() -> Self {
        true
    }
}

impl<T: Clone> Bring for Option<T> {
    type Marks = bool;

    fn bring(&mut self, change: &Self) {
        if change.is_some() {
            self.clone_from(change);
        }
    }

    fn clear(&mut self, marked: &bool) {
        if *marked {
            *self = None;
        }
    }
}

data! {
    /// KYC and registry data. Every field is optional; a change sets the fields it brings.
    pub struct Kyc, cleared by KycMarks {
        /// Nationality: a country code, ISO 3166-1 alpha-2.
        nationality: Option<String>,
        /// Country of birth: a country code, ISO 3166-1 alpha-2.
        birth_country: Option<String>,
        /// Day of birth, `YYYY-MM-DD`: see [`birth_date`].
        birth_date: Option<String>,
        /// Sex as in the identity document: a word of [`SEXES`].
        sex: Option<String>,
        /// Number of the identity document, of the DNI or of [`Self::document_type`]: see [`Kyc::document_fits`].
        dni: Option<String>,
        /// Kind of identity document, at most [`WORD_MAX`] characters; a DNI where none is said.
        document_type: Option<String>,
        /// Civil status, as the tenant writes it, at most [`WORD_MAX`] characters.
        marital_status: Option<String>,
        /// Occupation, as the tenant writes it, at most [`LINE_MAX`] characters.
        occupation: Option<String>,
        /// Activity code of the tax agency (CLAE of ARCA, once AFIP): [`ACTIVITY_DIGITS`] digits; leading zeros count.
        afip_activity: Option<String>,
        /// Whether the person is politically exposed (PEP).
        pep: Option<bool>,
        /// Whether the holder has duties of its own before the anti-laundering unit (UIF).
        uif: Option<bool>,
        /// Whether the holder is a taxpayer of the United States (FATCA).
        fatca: Option<bool>,
        /// Whether the holder is a tax resident of another country (CRS of the OECD).
        ocde: Option<bool>,
        /// Postal address, field by field.
        address: Address,
        /// The tenant's judgement of the risk: a word of [`RISK_LEVELS`].
        risk_level: Option<String>,
        /// How far the holder was verified: 0 (not at all) to [`LEVEL_MAX`].
        kyc_level: Option<u8>,
        /// When the data was last verified, by the tenant's word.
        verified_at: Option<Timestamp>,
    }
}

data! {
    /// A postal address as the tenant gave it; codes are kept as texts of any catalogue.
    pub struct Address, cleared by AddressMarks {
        /// Name of the street, at most [`LINE_MAX`] characters.
        street: Option<String>,
        /// House number, at most [`DOOR_MAX`] characters.
        number: Option<String>,
        /// Floor, at most [`DOOR_MAX`] characters.
        floor: Option<String>,
        /// Flat, at most [`DOOR_MAX`] characters.
        apartment: Option<String>,
        /// Town, by a code of the tenant's catalogue, at most [`CODE_MAX`] characters.
        city_code: Option<String>,
        /// Province, by a code of the tenant's catalogue, at most [`CODE_MAX`] characters.
        province_code: Option<String>,
        /// Postal code, at most [`POSTAL_CODE_MAX`] characters.
        postal_code: Option<String>,
        /// The long postal code (CPA), at most [`POSTAL_CODE_MAX`] characters.
        cpa: Option<String>,
        /// The name of the town, at most [`LINE_MAX`] characters.
        city_name: Option<String>,
        /// The name of the province, at most [`LINE_MAX`] characters.
        province_name: Option<String>,
    }
}

/// Why a text about a holder is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KycError {
    /// Not a country code.
    #[error("must be a two-letter country code")]
    Country,
    /// Not a possible day of birth.
    #[error("must be a date as YYYY-MM-DD")]
    BirthDate,
    /// Not the number of a DNI.
    #[error("must have {} to {} digits, unless documentType is another than DNI", DNI_DIGITS.0, DNI_DIGITS.1)]
    Dni,
    /// Not the number of any identity document.
    #[error("must have {} to {} letters and digits", DOCUMENT_CHARS.0, DOCUMENT_CHARS.1)]
    Document,
    /// Not an activity code.
    #[error("must have {ACTIVITY_DIGITS} digits")]
    Activity,
    /// Not one of the accepted words.
    #[error("must be one of {}", choices.join(", "))]
    Word {
        /// The accepted words.
        choices: &'static [&'static str],
    },
    /// Not an e-mail address.
    #[error("must be an e-mail address")]
    Email,
    /// Not a phone number.
    #[error("must be a phone number")]
    Phone,
    /// Not a line of text.
    #[error("{why} (1 to {max} characters)")]
    Line {
        /// What is wrong with it.
        why: TextError,
        /// The most characters that it may have.
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

/// A country code: two letters, converted to upper case. Whether such a country exists is not checked.
///
/// # Errors
/// When it has another form.
pub fn country(text: &str) -> Result<String, KycError> {
    let good = text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic());
    let code = good.then(|| text.to_ascii_uppercase());
    code.ok_or(KycError::Country)
}

/// A day of birth, `YYYY-MM-DD` from the year 1850.
///
/// # Errors
/// When it is not such a day.
pub fn birth_date(text: &str) -> Result<String, KycError> {
    let day = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let born = day.filter(|day| text.len() == 10 && BIRTH_YEARS.contains(&day.year()));
    born.map(|day| day.to_string()).ok_or(KycError::BirthDate)
}

/// Parses a sex: `F`, `M` or `X`.
///
/// # Errors
/// When it is another text.
pub fn sex(text: &str) -> Result<String, KycError> {
    word(text, SEXES)
}

/// Parses a risk level: `low`, `medium` or `high`.
///
/// # Errors
/// When it is another text.
pub fn risk_level(text: &str) -> Result<String, KycError> {
    word(text, RISK_LEVELS)
}

/// The number of an identity document of any kind: 3 to 20 unaccented letters and digits. [`Kyc::document_fits`] checks
/// whether it fits the kind of document.
///
/// # Errors
/// When it is anything else.
pub fn document(text: &str) -> Result<String, KycError> {
    let (min, max) = DOCUMENT_CHARS;
    let good = (min..=max).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
    good.then(|| text.to_owned()).ok_or(KycError::Document)
}

impl Kyc {
    /// Whether the number of the identity document fits its kind: a DNI has 6 to 9 digits, and so has a number of only
    /// digits when the kind is unknown.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn document_fits(&self) -> Result<(), KycError> {
        let Some(number) = &self.dni else {
            return Ok(());
        };
        let digits_alone = number.bytes().all(|b| b.is_ascii_digit());
        let is_dni = match &self.document_type {
            Some(kind) => kind.eq_ignore_ascii_case(DNI),
            None => digits_alone,
        };
        if is_dni {
            digits(number, DNI_DIGITS, KycError::Dni).map(drop)
        } else {
            document(number).map(drop)
        }
    }
}

/// An activity code of the tax agency: 6 digits; leading zeros count.
///
/// # Errors
/// When it is anything else.
pub fn afip_activity(text: &str) -> Result<String, KycError> {
    let exactly = (ACTIVITY_DIGITS, ACTIVITY_DIGITS);
    digits(text, exactly, KycError::Activity)
}

/// An e-mail address, judged by its form: something on both sides of one `@`, without spaces and commas, at most 254
/// characters.
///
/// # Errors
/// When it has another form.
pub fn email(text: &str) -> Result<String, KycError> {
    let email = bounded(text, EMAIL_MAX)?;
    let clean = |part: &str| !part.is_empty() && !part.contains([' ', '@', ',']);
    match email.split_once('@') {
        Some((name, domain)) if clean(name) && clean(domain) => Ok(email),
        Some(_) | None => Err(KycError::Email),
    }
}

/// A phone number as written: at least 6 digits, with spaces and `+-().` among them, at most 30 characters.
///
/// # Errors
/// When it has another form.
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
mod tests;
