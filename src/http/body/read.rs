//! Readers of raw JSON values.
//!
//! **Shape.** Each takes the text of one value, as it was sent and without white space around it, and gives its
//! meaning or the mistake in it. Numbers never pass through binary floating point.

use std::borrow::Cow;

use caudal_ledger::money::{Amount, Money};
use caudal_ledger::time::Timestamp;

use crate::words::Mistake;

/// A string, copied only if it is written with escapes; `None` when it is anything else.
pub fn string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw
        .strip_prefix('"')
        .and_then(|raw| raw.strip_suffix('"'))?;
    if inner.contains('\\') {
        serde_json::from_str(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

/// A string, read further by `parse`.
///
/// # Errors
/// When the value is no string, and the errors of `parse`.
pub fn text<T, E: Into<Mistake>>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(&str) -> Result<T, Mistake> {
    |raw| {
        let text = string(raw).ok_or(Mistake::NotAString)?;
        parse(&text).map_err(Into::into)
    }
}

/// A line of text for people: trimmed, of 1 to `max` characters, without control characters and marks that
/// hide text.
///
/// # Errors
/// When it is anything else.
pub fn line(max: usize) -> impl FnOnce(&str) -> Result<String, Mistake> {
    text(move |text| caudal_ledger::text::line(text, max).map_err(|why| Mistake::Line { why, max }))
}

/// `true` or `false`, not as strings.
///
/// # Errors
/// When it is anything else.
pub fn boolean(raw: &str) -> Result<bool, Mistake> {
    serde_json::from_str(raw).map_err(|_| Mistake::NotABoolean)
}

/// A whole number from `min` to `max`, both included; written without fraction and exponent, and not as a text.
///
/// # Errors
/// When it is anything else, or does not fit `T`.
pub fn integer<T: TryFrom<u64>>(min: u64, max: u64) -> impl FnOnce(&str) -> Result<T, Mistake> {
    move |raw| {
        let number: Option<u64> = serde_json::from_str(raw).ok();
        let number = number.filter(|number| (min..=max).contains(number));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or(Mistake::OutOfRange { min, max })
    }
}

/// An instant, RFC 3339 with any offset; one before 1970 counts as the first of 1970.
///
/// # Errors
/// When it is anything else.
pub fn instant(text: &str) -> Result<Timestamp, Mistake> {
    Timestamp::parse(text).ok_or(Mistake::NotAnInstant)
}

/// The text of a number, or of a string that holds one; never through binary floating point.
fn number(raw: &str) -> Result<Cow<'_, str>, Mistake> {
    if raw.starts_with('"') {
        return string(raw).ok_or(Mistake::NotANumber);
    }
    let digit = raw.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if digit {
        Ok(Cow::Borrowed(raw))
    } else {
        Err(Mistake::NotANumberOrString)
    }
}

/// An amount greater than 0, with at most 2 decimals, as a number or as a text of one.
///
/// # Errors
/// When it is anything else, or beyond the largest amount.
pub fn amount(raw: &str) -> Result<Amount, Mistake> {
    Ok(Amount::parse(&number(raw)?)?)
}

/// Like [`amount`], from 0 up and in centavos.
///
/// # Errors
/// When it is anything else, or beyond the largest amount.
pub fn centavos(raw: &str) -> Result<i64, Mistake> {
    Ok(Amount::parse_or_zero(&number(raw)?)?)
}

/// Like [`amount`], from 0 up.
///
/// # Errors
/// When it is anything else, or beyond the largest amount.
pub fn money(raw: &str) -> Result<Money, Mistake> {
    centavos(raw).map(Money::from_centavos)
}
