//! Figures as whole numbers: ratios in thousandths, times in nanoseconds, and their formats.

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

/// The median; 0 if there are no values.
pub fn median(values: impl IntoIterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Whole numbers with a space between thousands.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len().saturating_add(digits.len() / 3));
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().saturating_sub(at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as microseconds with one decimal.
pub fn micros(nanos: u64) -> String {
    format!("{}.{}", grouped(nanos / 1000), nanos / 100 % 10)
}

/// Milliseconds as seconds with two decimals.
pub fn seconds(nanos: u64) -> String {
    let hundredths = nanos / 10_000_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// Bytes as mebibytes.
pub fn mebibytes(bytes: u64) -> String {
    grouped(bytes.saturating_add(1 << 19) >> 20)
}

/// The nanoseconds of a duration.
pub fn nanos(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The number of histogram buckets for each power of two.
const STEPS: u64 = 32;
const STEP_BITS: u32 = 5;

/// Counts of durations in buckets that are 3 % wide: fixed memory, no sorting.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
}

fn bucket(value: u64) -> u64 {
    match value.checked_ilog2() {
        Some(power) if power >= STEP_BITS => {
            let shift = power.saturating_sub(STEP_BITS);
            let step = (value >> shift) & (STEPS - 1);
            u64::from(shift).saturating_add(1).saturating_mul(STEPS) | step
        }
        Some(_) | None => value,
    }
}

/// The smallest value of a bucket.
fn floor(bucket: u64) -> u64 {
    match (bucket / STEPS).checked_sub(1) {
        None => bucket,
        Some(shift) => (STEPS | (bucket % STEPS))
            .saturating_mul(1_u64.wrapping_shl(u32::try_from(shift).unwrap_or(0))),
    }
}

impl Histogram {
    /// Counts a duration.
    pub fn add(&mut self, nanos: u64) {
        let at = usize::try_from(bucket(nanos)).unwrap_or(usize::MAX);
        if at >= self.buckets.len() {
            self.buckets.resize(at.saturating_add(1), 0);
        }
        if let Some(count) = self.buckets.get_mut(at) {
            *count += 1;
        }
        self.count += 1;
    }

    /// The number of counted durations.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The duration that this many of a thousand do not exceed (to the width of a bucket).
    pub fn quantile(&self, thousandths: u64) -> u64 {
        let rank = scaled(self.count, thousandths, 1000).max(1);
        let mut seen = 0_u64;
        for (at, count) in (0_u64..).zip(&self.buckets) {
            seen += *count;
            if seen >= rank {
                return floor(at.saturating_add(1));
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_a_bucket_that_holds_it() {
        let mut last = 0;
        for value in (0..5000).chain([u64::from(u32::MAX), 1 << 40, (1 << 40) + (1 << 36)]) {
            let bucket = bucket(value);
            assert!(
                floor(bucket) <= value && value < floor(bucket + 1),
                "{value}"
            );
            assert!(bucket >= last);
            last = bucket;
        }
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut times = Histogram::default();
        (1..=1000).for_each(|n| times.add(n * 1000));
        for (of, right) in [(500, 500_000), (990, 990_000), (1000, 1_000_000)] {
            let found = times.quantile(of);
            assert!(found >= right && found <= right + right / 16, "{found}");
        }
    }

    #[test]
    fn figures_are_shown_for_people() {
        assert_eq!(Thousandths::ratio(45, 100).to_string(), "0.450");
        assert_eq!(Thousandths::ratio(1, 0).to_string(), "0.000");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(999), "999");
        assert_eq!(micros(1_234_567), "1 234.5");
        assert_eq!(seconds(1_239_000_000), "1.23");
        assert_eq!(median([3, 1, 2]), 2);
        let json = serde_json::to_string(&Thousandths(450)).unwrap();
        assert_eq!(json, "0.450");
    }
}
