//! Figures as whole numbers: ratios in thousandths, times in nanoseconds, and their formats.

use caudal_http::units;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A number with three decimals, kept as thousandths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Thousandths(pub u64);

impl Thousandths {
    /// `part / whole`; 0 when there is no whole.
    pub fn ratio(part: u64, whole: u64) -> Self {
        Self(scaled(part, 1000, whole))
    }
}

impl std::fmt::Display for Thousandths {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

impl Serialize for Thousandths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw = RawValue::from_string(self.to_string()).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// `value * times / by` without overflow of the product; 0 when `by` is 0.
pub fn scaled(value: u64, times: u64, by: u64) -> u64 {
    let product = u128::from(value).saturating_mul(u128::from(times));
    let quotient = product.checked_div(u128::from(by)).unwrap_or(0);
    u64::try_from(quotient).unwrap_or(u64::MAX)
}

/// The rate per second of this count in this many nanoseconds.
pub fn per_second(count: u64, nanos: u64) -> u64 {
    scaled(count, 1_000_000_000, nanos)
}

/// Whole numbers with a space between thousands.
pub fn grouped(value: u64) -> String {
    units::grouped(&value.to_string(), ' ', '.').unwrap_or_default()
}

/// Nanoseconds as microseconds with one decimal.
pub fn micros(nanos: u64) -> String {
    format!("{}.{}", grouped(nanos / 1000), nanos / 100 % 10)
}

/// The nanoseconds of a duration.
pub fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Durations in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<u64>);

impl Times {
    /// Adds a duration.
    pub fn add(&mut self, nanos: u64) {
        self.0.push(nanos);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    /// The shortest duration that this many of a thousand do not exceed.
    pub fn quantile(&self, thousandths: u64) -> u64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = scaled(self.count(), thousandths, 1000).saturating_sub(1);
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        sorted.get(rank).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_do_not_depend_on_the_order() {
        let mut times = Times::default();
        (1..=1000).rev().for_each(|n| times.add(n));
        assert_eq!(
            [1, 500, 990, 1000].map(|of| times.quantile(of)),
            [1, 500, 990, 1000]
        );
        assert_eq!(Times::default().quantile(500), 0);
    }

    #[test]
    fn figures_are_shown_for_people() {
        assert_eq!(Thousandths::ratio(45, 100).to_string(), "0.450");
        assert_eq!(Thousandths::ratio(1, 0).to_string(), "0.000");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(999), "999");
        assert_eq!(micros(1_234_567), "1 234.5");
        let json = serde_json::to_string(&Thousandths(450)).unwrap();
        assert_eq!(json, "0.450");
    }
}
