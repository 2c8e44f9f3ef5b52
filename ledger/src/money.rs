//! Money in centavos: exact, checked, never in binary floating point.

use std::fmt;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// An amount of a movement: 1 to [`Amount::MAX_CENTAVOS`] centavos of ARS.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct Amount(i64);

/// Why a text or number is not an amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AmountError {
    /// Not digits with an optional point, or signed, exponential, or with leading zeros.
    #[error("must be a decimal number such as 1234.50: digits, no sign, no exponent")]
    NotANumber,
    /// More than two decimals, not counting trailing zeros.
    #[error("must have at most 2 decimals")]
    TooPrecise,
    /// Zero, however written (`0`, `0.00`): an amount must move something.
    #[error("must be greater than 0")]
    Zero,
    /// More than [`Amount::MAX_CENTAVOS`] centavos.
    #[error("must be at most 999999999999999.99")]
    TooLarge,
}

impl Amount {
    /// The largest amount, in centavos: 999 999 999 999 999.99 pesos, 17 digits in all.
    pub const MAX_CENTAVOS: i64 = 99_999_999_999_999_999;
    /// The longest text that is parsed at all, in bytes: a bound on work, far above any amount.
    const TEXT_BYTES_MAX: usize = 64;

    /// Parses pesos from the text of a JSON number or string; trailing zeros are allowed (`10.500`).
    ///
    /// # Errors
    /// When the text is not a plain decimal, has a third decimal that is not zero, or is outside 0.01 to 999 999 999
    /// 999 999.99.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        match Self::parse_or_zero(text)? {
            0 => Err(AmountError::Zero),
            centavos => Self::from_centavos(centavos),
        }
    }

    /// Like [`Amount::parse`], but accepts zero; returns centavos, from 0 up. For limits and filters.
    ///
    /// # Errors
    /// As [`Amount::parse`], except [`AmountError::Zero`].
    pub fn parse_or_zero(text: &str) -> Result<i64, AmountError> {
        if text.len() > Self::TEXT_BYTES_MAX {
            return Err(AmountError::NotANumber);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        let leading_zero = whole.len() > 1 && whole.starts_with('0');
        if !digits(whole) || !digits(fraction) || leading_zero {
            return Err(AmountError::NotANumber);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 2 {
            return Err(AmountError::TooPrecise);
        }
        if whole.len() > 15 {
            return Err(AmountError::TooLarge);
        }
        let pesos: i64 = whole.parse().map_err(|_| AmountError::TooLarge)?;
        let cents: i64 = format!("{fraction:0<2}")
            .parse()
            .map_err(|_| AmountError::NotANumber)?;
        pesos
            .checked_mul(100)
            .and_then(|c| c.checked_add(cents))
            .ok_or(AmountError::TooLarge)
    }

    /// An amount of this many centavos, 1 to [`Amount::MAX_CENTAVOS`].
    ///
    /// # Errors
    /// When the number is outside that range; below 0 it is [`AmountError::NotANumber`].
    pub const fn from_centavos(centavos: i64) -> Result<Self, AmountError> {
        match centavos {
            ..0 => Err(AmountError::NotANumber),
            0 => Err(AmountError::Zero),
            1..=Self::MAX_CENTAVOS => Ok(Self(centavos)),
            _ => Err(AmountError::TooLarge),
        }
    }

    /// The amount in centavos: 1 to [`Amount::MAX_CENTAVOS`].
    pub const fn centavos(self) -> i64 {
        self.0
    }

    /// The amount as money of a balance.
    pub const fn money(self) -> Money {
        Money(self.0)
    }

    /// The sum; `None` if it is too large for an amount.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.money().plus(other.money())?.amount()
    }

    /// The difference; `None` unless this amount is the larger one.
    pub fn minus(self, other: Self) -> Option<Self> {
        self.money().minus(other.money())?.amount()
    }
}

impl TryFrom<i64> for Amount {
    type Error = AmountError;
    fn try_from(centavos: i64) -> Result<Self, AmountError> {
        Self::from_centavos(centavos)
    }
}

impl From<Amount> for i64 {
    fn from(amount: Amount) -> i64 {
        amount.0
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.money().fmt(f)
    }
}

/// Money of a balance or a sum, in centavos; `Display` gives exactly two decimals.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Money(i64);

impl Money {
    /// No money: 0.00 pesos.
    pub const ZERO: Self = Self(0);
    /// The characters of the longest text: 19 digits, a point, a sign.
    const TEXT_MAX: usize = 21;

    /// This many centavos; may be negative for a balance or a difference.
    pub const fn from_centavos(centavos: i64) -> Self {
        Self(centavos)
    }

    /// The money in centavos; may be negative for a difference or the bank's own balance.
    pub const fn centavos(self) -> i64 {
        self.0
    }

    /// The sum; `None` if it would overflow.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference; `None` if it would overflow.
    pub fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The money as a decimal with two places, for formulas with rates.
    pub fn decimal(self) -> Decimal {
        Decimal::new(self.0, 2)
    }

    /// The money as an amount; `None` if nothing or less can move, or too much.
    pub fn amount(self) -> Option<Amount> {
        Amount::from_centavos(self.0).ok()
    }
}

impl fmt::Display for Money {
    /// Writes the digits from last to first without formatting machinery: every answer and every list is full of
    /// amounts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [b'-'; Self::TEXT_MAX];
        let mut rest = self.0.unsigned_abs();
        let mut left = Self::TEXT_MAX;
        for (place, byte) in text.iter_mut().rev().enumerate() {
            if place > 3 && rest == 0 {
                break;
            }
            left = left.strict_sub(1);
            if place == 2 {
                *byte = b'.';
                continue;
            }
            let [.., digit] = (rest % 10).to_be_bytes();
            *byte = b'0'.strict_add(digit);
            rest /= 10;
        }
        if self.0 < 0 {
            left = left.strict_sub(1);
        }
        let text = text.get(left..).ok_or(fmt::Error)?;
        f.write_str(std::str::from_utf8(text).map_err(|_| fmt::Error)?)
    }
}

/// A sum over accounts in centavos, wide enough for the largest balance of every possible account;
/// `Display` gives exactly two decimals.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Sum(i128);

impl Sum {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// A sum of this many centavos; may be negative.
    pub const fn from_centavos(centavos: i128) -> Self {
        Self(centavos)
    }

    /// The sum in centavos.
    pub const fn centavos(self) -> i128 {
        self.0
    }

    /// The sum of both; beyond 128 bits it saturates, which no number of accounts reaches.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference; negative if the other sum is larger.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Money> for Sum {
    fn from(money: Money) -> Self {
        Self(money.centavos().into())
    }
}

impl From<Amount> for Sum {
    fn from(amount: Amount) -> Self {
        amount.money().into()
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let centavos = self.0.unsigned_abs();
        let (pesos, cents) = (centavos / 100, centavos % 100);
        write!(f, "{sign}{pesos}.{cents:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_written_with_two_decimals_whatever_its_size() {
        let wanted = [
            (0, "0.00"),
            (1, "0.01"),
            (10, "0.10"),
            (99, "0.99"),
            (100, "1.00"),
            (1_005, "10.05"),
            (-1, "-0.01"),
            (-100, "-1.00"),
            (i64::MAX, "92233720368547758.07"),
            (i64::MIN, "-92233720368547758.08"),
        ];
        for (centavos, text) in wanted {
            assert_eq!(Money::from_centavos(centavos).to_string(), text);
        }
    }

    #[test]
    fn amounts_are_read_exactly_or_refused() {
        let good = [
            ("1", 100),
            ("0.01", 1),
            ("10.10", 1010),
            ("10.1", 1010),
            ("10.500000", 1050),
            ("999999999999999.99", Amount::MAX_CENTAVOS),
            ("99999999999999.99", 9_999_999_999_999_999),
        ];
        for (text, centavos) in good {
            assert_eq!(
                Amount::parse(text).map(Amount::centavos),
                Ok(centavos),
                "{text}"
            );
        }
        let bad = [
            ("0", AmountError::Zero),
            ("0.00", AmountError::Zero),
            ("0.001", AmountError::TooPrecise),
            ("1000000000000000", AmountError::TooLarge),
            ("", AmountError::NotANumber),
            (".5", AmountError::NotANumber),
            ("5.", AmountError::NotANumber),
            ("-1", AmountError::NotANumber),
            ("+1", AmountError::NotANumber),
            ("1e2", AmountError::NotANumber),
            ("01", AmountError::NotANumber),
            ("1_000", AmountError::NotANumber),
            ("NaN", AmountError::NotANumber),
            ("1,5", AmountError::NotANumber),
            ("١", AmountError::NotANumber),
        ];
        for (text, why) in bad {
            assert_eq!(Amount::parse(text), Err(why), "{text}");
        }
        assert_eq!(
            Amount::parse(&"1".repeat(1 << 20)),
            Err(AmountError::NotANumber)
        );
    }

    #[test]
    fn money_is_written_with_two_decimals() {
        for (centavos, text) in [
            (0, "0.00"),
            (5, "0.05"),
            (-5, "-0.05"),
            (-12_345, "-123.45"),
            (100, "1.00"),
        ] {
            assert_eq!(Money::from_centavos(centavos).to_string(), text);
        }
        assert_eq!(
            Money::from_centavos(i64::MIN).to_string(),
            "-92233720368547758.08"
        );
        assert_eq!(Money::from_centavos(1050).decimal().to_string(), "10.50");
    }
}
