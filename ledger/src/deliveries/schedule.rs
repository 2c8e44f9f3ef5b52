//! How long to wait between tries: the published pauses, or an operator's own.

use super::BRAKE;

/// The pauses before each further try of an event, in seconds: the schedule of Standard Webhooks. After these, it is
/// retried with the last pause until [`super::KEEP_TRYING`] has passed.
pub const PAUSES: [u64; 9] = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
/// The pauses between tries of a webhook that accepts nothing, in seconds; the last one repeats.
pub const BRAKE_PAUSES: [u64; 5] = [5, 15, 60, 120, 300];

/// How long to wait between tries, in milliseconds. The actual pause is up to a fifth longer or shorter, so that tries
/// that failed together are not repeated together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The pauses before the second, third … try of an event, in milliseconds; the last one repeats.
    pub pauses: [u64; PAUSES.len()],
    /// The pauses between tries of a webhook under the brake, in milliseconds; the last one repeats.
    pub brake: [u64; BRAKE_PAUSES.len()],
}

impl Default for Schedule {
    /// The published schedule: [`PAUSES`] and [`BRAKE_PAUSES`].
    fn default() -> Self {
        Self {
            pauses: PAUSES.map(|seconds| seconds.saturating_mul(1000)),
            brake: BRAKE_PAUSES.map(|seconds| seconds.saturating_mul(1000)),
        }
    }
}

impl Schedule {
    /// How long to wait before the next try of an event that was tried `tries` times, in milliseconds.
    pub fn pause(&self, event: u64, tries: u32) -> u64 {
        let seed = event.wrapping_mul(31).wrapping_add(u64::from(tries));
        spread(step(&self.pauses, tries.saturating_sub(1)), seed)
    }

    /// How long to leave a webhook alone after `streak` failures in a row, in milliseconds.
    pub fn rest(&self, streak: u32) -> u64 {
        let millis = step(&self.brake, streak.saturating_sub(BRAKE));
        spread(millis, u64::from(streak))
    }
}

/// The pause at this position, or the last one.
fn step(pauses: &[u64], at: u32) -> u64 {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let found = pauses.get(at).or_else(|| pauses.last());
    found.copied().unwrap_or(0)
}

/// Lengthens or shortens a pause by up to a fifth, so that tries that failed together are not repeated together. That
/// needs no randomness, only different numbers.
fn spread(millis: u64, seed: u64) -> u64 {
    let mixed = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // A number from 0 to 400: the thousandths above four fifths.
    let part = mixed.wrapping_shr(32).checked_rem(401).unwrap_or(200);
    let thousandths = part.saturating_add(800);
    millis
        .saturating_mul(thousandths)
        .checked_div(1000)
        .unwrap_or(millis)
}
