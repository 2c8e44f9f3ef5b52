//! The output of the large load.

use std::fmt;

use super::bars::{Bar, at_least, at_most, below};
use super::tables::tenths;
use crate::figures::{Thousandths, grouped, mebibytes, micros, seconds};
use crate::large::Large;

const GROWTH_BAR: Thousandths = Thousandths(900);
const COLD_BAR: Thousandths = Thousandths(500);
const OPENING_BAR: u64 = 3_000_000_000;
const BYTES_BAR: u64 = 400;
const COMING_BAR: u64 = 12_000;
const MEMORY_BAR: Thousandths = Thousandths(1_100);

/// The bars of the large load.
pub fn bars(large: &Large) -> Vec<Bar> {
    let mut bars = vec![
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
            "CPU of reading an account, for a voucher of any",
            large.coming.nanos,
            COMING_BAR,
            micros,
            "µs",
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
    ];
    let most = large.tenths.iter().map(|tenth| tenth.memory).max();
    if let Some((limit, most)) = large.memory_limit.zip(most) {
        let what = "memory at the end of any tenth by its setting";
        bars.push(at_most(what, Thousandths::ratio(most, limit), MEMORY_BAR));
    }
    bars
}

/// The table of the tenths and the figures after it.
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
         a voucher for any account: {} rows asked for in the index, {} blocks read there, {} µs on the threads that \
         read accounts; for one in memory {} rows\n\
         data set: {} MiB on disk, {} bytes a voucher, {} runs of the index\n\
         opened after a kill behind {} vouchers more: store {} s, actors {} s, first balance {} s; resident {} MiB",
        large.last_to_first,
        grouped(large.resident_per_second),
        grouped(large.cold_per_second),
        large.cold_to_resident,
        large.coming.gets,
        large.coming.blocks,
        micros(large.coming.nanos),
        large.resident_gets,
        mebibytes(large.disk_bytes),
        grouped(large.disk_bytes_per_posting),
        large.index_runs,
        grouped(large.killed_after),
        seconds(again.store_nanos),
        seconds(again.engine_nanos),
        seconds(again.ready_nanos),
        mebibytes(again.memory),
    )
}
