//! The large load, as it is shown.

use std::fmt;

use super::bars::{Bar, at_least, below};
use super::tables::{shares, tenths};
use crate::figures::{Thousandths, grouped, mebibytes, seconds};
use crate::large::Large;

const GROWTH_BAR: Thousandths = Thousandths(900);
const COLD_BAR: Thousandths = Thousandths(500);
const OPENING_BAR: u64 = 3_000_000_000;
const BYTES_BAR: u64 = 400;

/// The bars of the large load.
pub fn bars(large: &Large) -> Vec<Bar> {
    vec![
        at_least(
            "last tenth of the large load by its first",
            large.last_to_first,
            GROWTH_BAR,
        ),
        at_least(
            "vouchers for any account by such for those in memory",
            large.cold_to_resident,
            COLD_BAR,
        ),
        below(
            "first balance after the kill",
            large.reopened.ready_nanos,
            OPENING_BAR,
            seconds,
            "s",
        ),
        below(
            "bytes on disk of a voucher",
            large.disk_bytes_per_posting,
            BYTES_BAR,
            grouped,
            "bytes",
        ),
    ]
}

/// The table of the tenths and what came behind them.
///
/// # Errors
/// When it cannot be written.
pub fn show(f: &mut fmt::Formatter<'_>, large: &Large) -> fmt::Result {
    let again = &large.reopened;
    writeln!(
        f,
        "large load of {} vouchers over {} CVUs by {}, at most {} of them in memory\n\n{}\n",
        grouped(large.vouchers),
        grouped(large.accounts),
        large.by,
        grouped(large.resident),
        tenths(&large.tenths),
    )?;
    writeln!(
        f,
        "last tenth by first: {}\n\
         vouchers for accounts in memory {}/s, for any account {}/s: {}\n\
         data set: {} MiB on disk, {} bytes a voucher, {} runs of the index\n\
         opened after a kill behind {} vouchers more: store {} s, actors {} s, first balance {} s; resident {} MiB",
        large.last_to_first,
        grouped(large.resident_per_second),
        grouped(large.cold_per_second),
        large.cold_to_resident,
        mebibytes(large.disk_bytes),
        grouped(large.disk_bytes_per_posting),
        large.index_runs,
        grouped(large.killed_after),
        seconds(again.store_nanos),
        seconds(again.engine_nanos),
        seconds(again.ready_nanos),
        mebibytes(again.memory),
    )?;
    let vouchers = large.audit.vouchers;
    writeln!(f, "\n{}", shares(&large.shares, vouchers))
}
