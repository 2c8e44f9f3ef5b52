//! The sandbox's clock: the machine's own, and for each collector account how many days it is ahead of that. What is due
//! after a while is due by the machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use caudal_ledger::cvu::Cbu;
use serde::{Deserialize, Serialize};

/// The format of a line of a clock on disk.
pub(super) const FORMAT: u8 = 1;
/// The word that distinguishes a line of a clock.
pub(super) const KIND: &str = "clock";
/// A day, in milliseconds.
pub(super) const DAY_MILLIS: u64 = 86_400_000;

/// The present, in milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

/// What a clock that is this many days ahead shows when the machine's shows `now`.
pub(super) fn ahead(now: u64, days: u32) -> u64 {
    now.saturating_add(u64::from(days).strict_mul(DAY_MILLIS))
}

/// The order to put the clock of a collector account ahead.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Advance {
    /// How many days it is ahead from now on.
    pub days_ahead: u32,
}

/// A line on disk: how far the clock of a collector account is ahead.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClockLine {
    kind: String,
    format: u8,
    /// The collector account.
    pub collector: Cbu,
    /// How many days its clock is ahead.
    pub days: u32,
}

impl ClockLine {
    /// The line of a clock.
    pub(crate) fn of(collector: Cbu, days: u32) -> Self {
        Self {
            kind: KIND.to_owned(),
            format: FORMAT,
            collector,
            days,
        }
    }
}
