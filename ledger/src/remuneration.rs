//! Remuneration of balances: an account enrolled in a money-market fund, and the value of its
//! units. None of this is money of the ledger: nothing here moves a balance.
//!
//! **Units.** Units of the fund have 4 decimals; their price is for [`LOT`] units and has 6. Both
//! are integers, every formula is exact in 128 bits and rounded once, half away from zero; a result
//! out of range is `None`, never a wrong figure.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bank::BankRefusal;
use crate::ids::{AccountNo, RealmId};
use crate::money::{Amount, Money};
use crate::time::{BusinessDay, Timestamp};

/// The number of units for which a fund's price is published (CAFCI publishes it per 1000).
pub const LOT: u64 = 1000;
/// The days of a year in a yearly rate.
const YEAR: i128 = 365;
/// Centavos of 10⁻⁴ units × 10⁻⁶ pesos for [`LOT`] of them.
const SCALE: i128 = 100_000_000_000;
/// Millionths of a percent in one.
const ONE_DAILY: i128 = 100_000_000;
/// Hundredths of a percent in one.
const ONE_YEARLY: i128 = 10_000;
/// The longest code of a brokerage account and name of a fund, in characters.
pub const NAME_MAX: usize = 40;

/// The state of an enrolment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnrolmentState {
    /// Requested; the fund has not answered yet.
    Pending,
    /// The fund has accepted the account.
    Active,
    /// The fund refused. Final.
    Rejected,
    /// The fund has suspended it.
    Suspended,
    /// It has ended. Final.
    Ended,
}

impl EnrolmentState {
    /// Whether the fund has given its final answer; another enrolment may then begin.
    pub const fn is_final(self) -> bool {
        match self {
            Self::Rejected | Self::Ended => true,
            Self::Pending | Self::Active | Self::Suspended => false,
        }
    }

    /// Whether the fund's answer `next` changes anything: a final state stays, and nothing goes
    /// back to pending.
    pub fn becomes(self, next: Self) -> bool {
        self != next && !self.is_final() && next != Self::Pending
    }
}

/// The code of a securities account at a broker (cuenta comitente): 1 to [`NAME_MAX`] visible ASCII
/// characters, kept as given.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BrokerageAccount(String);

/// The error for a text that is not the code of a brokerage account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be 1 to 40 visible ASCII characters")]
pub struct BadBrokerageAccount;

text!(BrokerageAccount, BadBrokerageAccount);

impl BrokerageAccount {
    /// Parses a code.
    ///
    /// # Errors
    /// When it is empty, longer than [`NAME_MAX`], or has a space or a character outside ASCII.
    pub fn parse(text: &str) -> Result<Self, BadBrokerageAccount> {
        let good =
            (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if good {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadBrokerageAccount)
        }
    }
}

/// The order to enrol an account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enrol {
    /// The holder's account at the broker.
    pub brokerage_account: BrokerageAccount,
    /// The fund; `None` lets the bank choose.
    pub fund: Option<String>,
}

/// An enrolment of an account.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Enrolment {
    /// The sequence of the fact that requested it: its number in the account.
    pub number: u64,
    /// The holder's account at the broker.
    pub brokerage_account: BrokerageAccount,
    /// The fund that was asked for or that the bank has chosen.
    pub fund: Option<String>,
    /// Its state.
    pub state: EnrolmentState,
    /// The bank's answer when it refused.
    pub refusal: Option<BankRefusal>,
    /// When it was requested.
    pub requested_at: Timestamp,
    /// The reference by which the bank knows it; `None` if its number implies it.
    #[serde(default)]
    pub reference: Option<String>,
}

impl Enrolment {
    /// The reference by which the bank knows it. It is on disk before the bank is asked, so no
    /// crash can enrol twice. In facts that do not contain it, it is made of account and number.
    pub fn reference(&self, realm: RealmId, account: AccountNo) -> String {
        let kept = self.reference.clone();
        kept.unwrap_or_else(|| format!("{}-{}", account.cvu_record(realm), self.number))
    }

    /// Whether an order asks for this enrolment: the same brokerage account, and no other fund.
    pub fn is_of(&self, order: &Enrol) -> bool {
        let fund = order.fund.is_none() || order.fund == self.fund;
        self.brokerage_account == order.brokerage_account && fund
    }
}

/// The fund's answer about an enrolment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FundWord {
    /// The state of the enrolment.
    pub state: EnrolmentState,
    /// The name of the fund.
    pub fund: Option<String>,
}

/// Writes an integer of 10^-`decimals` units as a decimal.
fn write_decimal(value: i64, decimals: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let sign = if value < 0 { "-" } else { "" };
    let digits = format!(
        "{:0>width$}",
        value.unsigned_abs(),
        width = decimals.saturating_add(1)
    );
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(decimals));
    write!(f, "{sign}{whole}.{fraction}")
}

/// Parses a decimal with at most `decimals` decimals as an integer of 10^-`decimals` units.
fn read_decimal(text: &str, decimals: usize) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || text.len() > 64 {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > decimals {
        return None;
    }
    format!("{whole}{fraction:0<decimals$}").parse().ok()
}

/// Units of a fund (`cuotapartes`), in ten-thousandths of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Units(i64);

impl Units {
    /// Parses a decimal with at most 4 decimals; `None` if it is not one or out of range.
    pub fn parse(text: &str) -> Option<Self> {
        read_decimal(text, 4).map(Self)
    }

    /// The units that a subscription buys: amount × [`LOT`] ÷ price, to 4 decimals; `None` if that
    /// is out of range.
    pub fn bought(amount: Amount, price: UnitPrice) -> Option<Self> {
        let worth = i128::from(amount.centavos()).checked_mul(SCALE)?;
        let units = divided(worth, i128::from(price.0))?;
        i64::try_from(units).ok().map(Self)
    }

    /// Their value: units × price ÷ [`LOT`], to the centavo; `None` if that is out of range.
    pub fn valued(self, price: UnitPrice) -> Option<Money> {
        let worth = i128::from(self.0).checked_mul(i128::from(price.0))?;
        let centavos = i64::try_from(divided(worth, SCALE)?).ok()?;
        Some(Money::from_centavos(centavos))
    }
}

impl fmt::Display for Units {
    /// Exactly 4 decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(self.0, 4, f)
    }
}

/// The price of [`LOT`] units, in millionths of a peso.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnitPrice(i64);

impl UnitPrice {
    /// Parses a decimal greater than 0 with at most 6 decimals; `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        read_decimal(text, 6).and_then(Self::from_millionths)
    }

    /// This many millionths of a peso, at least 1.
    pub const fn from_millionths(millionths: i64) -> Option<Self> {
        match millionths {
            ..=0 => None,
            _ => Some(Self(millionths)),
        }
    }
}

impl fmt::Display for UnitPrice {
    /// Exactly 6 decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(self.0, 6, f)
    }
}

/// A rate in percent, with this many decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Percent<const DECIMALS: usize>(i64);

/// The yield of a day, in percent with 6 decimals.
pub type DailyYield = Percent<6>;
/// A nominal yearly rate (TNA), in percent with 2 decimals.
pub type YearlyRate = Percent<2>;

impl<const DECIMALS: usize> fmt::Display for Percent<DECIMALS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_decimal(self.0, DECIMALS, f)
    }
}

/// A price with its business day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DayPrice {
    /// The business day for which the fund published it.
    pub day: BusinessDay,
    /// The price of [`LOT`] units.
    pub price: UnitPrice,
}

impl DayPrice {
    /// The gain since an earlier price, times a factor, over a divisor of days.
    fn gain(self, earlier: Self, factor: i128, days: i128) -> Option<i64> {
        let (now, then) = (i128::from(self.price.0), i128::from(earlier.price.0));
        let gain = now.checked_sub(then)?.checked_mul(factor)?;
        i64::try_from(divided(gain, then.checked_mul(days)?)?).ok()
    }

    /// The yield since the price of the previous business day: price ÷ that price − 1. After a
    /// weekend it includes the weekend.
    pub fn daily_yield(self, before: Self) -> Option<DailyYield> {
        self.gain(before, ONE_DAILY, 1).map(Percent)
    }

    /// The nominal yearly rate since an earlier price: (price ÷ that price − 1) × 365 ÷ n, where n
    /// is the number of calendar days between them; `None` if the other price is not earlier.
    pub fn yearly_rate(self, earlier: Self) -> Option<YearlyRate> {
        let days = self.day.date().signed_duration_since(earlier.day.date());
        let days = i128::from(days.num_days());
        if days < 1 {
            return None;
        }
        let factor = ONE_YEARLY.checked_mul(YEAR)?;
        self.gain(earlier, factor, days).map(Percent)
    }
}

/// A quotient, rounded half away from zero; `None` for a divisor that is not positive.
fn divided(dividend: i128, divisor: i128) -> Option<i128> {
    if divisor < 1 {
        return None;
    }
    let (whole, rest) = (
        dividend.checked_div(divisor)?,
        dividend.checked_rem(divisor)?,
    );
    let half = rest.checked_abs()?.checked_mul(2)? >= divisor;
    let step = if half { dividend.signum() } else { 0 };
    whole.checked_add(step)
}

/// An account's units in its fund, with the fund's prices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FundPosition {
    /// The units of the account.
    pub units: Units,
    /// The last published price.
    pub price: DayPrice,
    /// The price of the business day before.
    pub before: Option<DayPrice>,
    /// The price some 30 days before, or the oldest one available.
    pub month: Option<DayPrice>,
}

impl FundPosition {
    /// The value of the units, in centavos; `None` if that is out of range.
    pub fn value(&self) -> Option<Money> {
        self.units.valued(self.price.price)
    }

    /// The yield of the last business day; `None` without a price before it.
    pub fn daily_yield(&self) -> Option<DailyYield> {
        self.before
            .and_then(|before| self.price.daily_yield(before))
    }

    /// The yearly rate of the last 30 days, or of as many days as the fund has prices for.
    pub fn yearly_rate(&self) -> Option<YearlyRate> {
        let earlier = self.month.or(self.before);
        earlier.and_then(|earlier| self.price.yearly_rate(earlier))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(day: &str, price: &str) -> DayPrice {
        DayPrice {
            day: BusinessDay::parse(day).unwrap(),
            price: UnitPrice::parse(price).unwrap(),
        }
    }

    fn shown(value: Option<impl fmt::Display>) -> String {
        value.map_or("none".into(), |value| value.to_string())
    }

    #[test]
    fn units_are_valued_to_the_centavo() {
        for (units, price, value) in [
            ("656402.1234", "1523.456789", "1000000.27"),
            ("656402.1234", "1524.891234", "1000941.84"),
            ("0", "1524.891234", "0.00"),
            // Half a centavo is rounded up, anything less is rounded down.
            ("1", "5", "0.01"),
            ("1", "4.999999", "0.00"),
            ("0.0001", "0.000001", "0.00"),
            ("4294967295", "1000000", "4294967295000.00"),
            ("4294967295", "4294967295000", "none"),
        ] {
            let (parsed, price) = (
                Units::parse(units).unwrap(),
                UnitPrice::parse(price).unwrap(),
            );
            assert_eq!(shown(parsed.valued(price)), value, "{units} at {price}");
        }
    }

    #[test]
    fn a_subscription_buys_units_to_four_decimals() {
        for (amount, price, units) in [
            ("100000.00", "1524.891234", "65578.4477"),
            ("0.01", "1000", "0.0100"),
            ("0.01", "3", "3.3333"),
            ("0.02", "3", "6.6667"),
            ("999999999999999.99", "0.000001", "none"),
        ] {
            let amount = Amount::parse(amount).unwrap();
            let price = UnitPrice::parse(price).unwrap();
            assert_eq!(
                shown(Units::bought(amount, price)),
                units,
                "{amount} at {price}"
            );
        }
    }

    #[test]
    fn yields_are_those_of_the_vectors() {
        for (then, now, daily, yearly) in [
            (
                at("2026-03-02", "1523.456789"),
                at("2026-03-03", "1524.891234"),
                "0.094157",
                "34.37",
            ),
            // The price of the next business day includes a weekend, which counts three days in the
            // yearly rate.
            (
                at("2026-02-27", "1000"),
                at("2026-03-02", "1003"),
                "0.300000",
                "36.50",
            ),
            (
                at("2026-03-02", "1000"),
                at("2026-03-03", "999.5"),
                "-0.050000",
                "-18.25",
            ),
            (
                at("2026-03-02", "1000"),
                at("2026-03-03", "1000"),
                "0.000000",
                "0.00",
            ),
            (
                at("2026-03-02", "1000"),
                at("2026-03-02", "1001"),
                "0.100000",
                "none",
            ),
            (
                at("2026-03-02", "0.000001"),
                at("2026-03-03", "4294967295000"),
                "none",
                "none",
            ),
        ] {
            let found = (shown(now.daily_yield(then)), shown(now.yearly_rate(then)));
            assert_eq!(
                found,
                (daily.to_owned(), yearly.to_owned()),
                "{then:?} {now:?}"
            );
        }
    }

    #[test]
    fn decimals_are_read_exactly_or_not_at_all() {
        for (text, units) in [
            ("656402.1234", "656402.1234"),
            ("7", "7.0000"),
            ("0.5000000", "0.5000"),
            ("0.00001", "none"),
            ("-1", "none"),
            ("1e3", "none"),
            (".5", "none"),
            ("5.", "none"),
            ("", "none"),
            ("99999999999999999999", "none"),
        ] {
            assert_eq!(shown(Units::parse(text)), units, "{text}");
        }
        assert_eq!(shown(UnitPrice::parse("1524.891234")), "1524.891234");
        assert_eq!(
            (UnitPrice::parse("0"), UnitPrice::parse("1.0000001")),
            (None, None)
        );
    }

    #[test]
    fn a_final_answer_stays_final() {
        use EnrolmentState::{Active, Ended, Pending, Rejected, Suspended};
        let all = [Pending, Active, Rejected, Suspended, Ended];
        for from in all {
            for to in all {
                let expected = match (from, to) {
                    (Rejected | Ended, _) | (_, Pending) => false,
                    (from, to) => from != to,
                };
                assert_eq!(from.becomes(to), expected, "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn codes_of_brokerage_accounts_are_kept_as_given() {
        for good in ["1", "00123", "A-12/3", &"9".repeat(NAME_MAX)] {
            assert_eq!(BrokerageAccount::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", " ", "1 2", "ñ", &"9".repeat(NAME_MAX + 1)] {
            assert!(BrokerageAccount::parse(bad).is_err(), "{bad}");
        }
    }
}
