//! Adds up rows, so that two sets of them can be compared without either being kept or sorted.
//!
//! **Shape.** Each row is hashed to 128 bits under seeds that are drawn anew for each comparison, and the hashes are
//! added. So the order of rows does not matter, and a row that comes twice counts twice.
//!
//! **Bounds.** 24 bytes per set, whatever its size. Two different sets have the same sum with a probability of about
//! one in 2^120, unless the rows were made for these seeds; nobody can do that, since the seeds never leave the
//! comparison.

use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;

use crate::num::u64_of;

/// The hash seeds: two tallies can be compared only if they use the same scale.
#[derive(Clone, Debug, Default)]
pub struct Scale(RandomState, RandomState);

impl Scale {
    /// A scale with newly drawn seeds.
    pub fn new() -> Self {
        Self::default()
    }

    fn weigh(&self, key: &[u8], value: &[u8]) -> u128 {
        let half = |seeds: &RandomState| {
            let mut hasher = seeds.build_hasher();
            // hash the key's length, too, so that it is clear where the key ends
            hasher.write_u64(u64_of(key.len()));
            hasher.write(key);
            hasher.write(value);
            u128::from(hasher.finish())
        };
        half(&self.0) << 64 | half(&self.1)
    }
}

/// The sum of a set of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    sum: u128,
    /// How many rows were added.
    pub rows: u64,
}

impl Tally {
    /// Adds a row.
    pub fn add(&mut self, scale: &Scale, key: &[u8], value: &[u8]) {
        self.sum = self.sum.wrapping_add(scale.weigh(key, value));
        self.rows += 1;
    }

    /// Adds all rows of another tally of the same scale.
    pub fn join(&mut self, other: &Self) {
        self.sum = self.sum.wrapping_add(other.sum);
        self.rows += other.rows;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(scale: &Scale, rows: &[(&str, &str)]) -> Tally {
        let mut tally = Tally::default();
        for (key, value) in rows {
            tally.add(scale, key.as_bytes(), value.as_bytes());
        }
        tally
    }

    #[test]
    fn the_order_does_not_count_and_everything_else_does() {
        let scale = Scale::new();
        let right = sum(&scale, &[("a", "1"), ("b", "2")]);
        assert_eq!(right, sum(&scale, &[("b", "2"), ("a", "1")]));
        let mut joined = sum(&scale, &[("b", "2")]);
        joined.join(&sum(&scale, &[("a", "1")]));
        assert_eq!((right, right.rows), (joined, 2));
        for wrong in [
            &[("a", "1")][..],
            &[("a", "1"), ("b", "2"), ("b", "2")],
            &[("a", "2"), ("b", "1")],
            &[("a", "1"), ("", "b2")],
            &[("a", "1"), ("b2", "")],
            &[("a", "1"), ("b", "3")],
        ] {
            assert_ne!(right, sum(&scale, wrong), "{wrong:?}");
        }
    }
}
