//! Conversions between the integer widths of memory and of files, saturating instead of wrapping.
//!
//! Every caller works on values that named limits keep far below the saturation points (a record
//! is under 4 GiB, a segment too); saturating only keeps a broken length from passing for a small
//! one.

/// A length in memory as a number in files.
pub(crate) fn u64_of(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// A number from a file as a length in memory.
pub(crate) fn usize_of(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// A number from a file as a length in memory.
pub(crate) fn usize_of32(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// A length in memory as a 32-bit number in files.
pub(crate) fn u32_of(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The low 32 bits of a 64-bit number that is known to be small.
pub(crate) fn low32(n: u64) -> u32 {
    u32::try_from(n & 0xFFFF_FFFF).unwrap_or(u32::MAX)
}

/// The length of a key, or of a value stored in its block: bounds keep both far below 64 KiB.
#[expect(
    clippy::expect_used,
    reason = "a length written wrong would be damage on disk"
)]
pub(crate) fn u16_of(n: usize) -> u16 {
    u16::try_from(n).expect("a length below 64 KiB")
}
