//! How many cases a property runs.

use proptest::test_runner::Config;

/// The configuration of a property that runs `usual` cases in the usual run.
pub fn config(usual: u32) -> Config {
    Config {
        cases: cases(usual),
        max_shrink_iters: 20_000,
        ..Config::default()
    }
}

/// `usual` scaled by `CAUDAL_PROPTEST_CASES` / 256, and never 0.
pub fn cases(usual: u32) -> u32 {
    let scale: u64 = std::env::var("CAUDAL_PROPTEST_CASES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(256);
    let scaled = u64::from(usual).saturating_mul(scale) / 256;
    u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
}
