//! The report: a table for people, JSON for programs, and whether the machine is good enough.

use std::fmt;

use serde::Serialize;

use super::cases::{Case, Found};
use super::figures::{Thousandths, grouped, micros};
use super::machine;
use super::site::Layout;
use super::table::{Bar, bars, table};

/// What a machine should reach at any number of connections, in vouchers or answers a second: one tenant at its
/// default limit of 5,000 requests a second.
const RATES: [(Case, u64); 8] = [
    (Case::Empty, 10_000),
    (Case::Spread, 5_000),
    (Case::Hot, 5_000),
    (Case::Transfer, 5_000),
    (Case::Bulk, 20_000),
    (Case::BulkHot, 20_000),
    (Case::Balance, 5_000),
    (Case::Cold, 2_500),
];
/// How long 99 of 100 flushes may take.
const FLUSH_MAX: u64 = 10_000_000;
/// The share of the machine used by other processes beyond which figures cannot be trusted.
const DISTURBED: Thousandths = Thousandths(100);

/// All results of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    version: &'static str,
    processors: usize,
    workers: usize,
    arbiters: usize,
    /// Whether it was a quick run, whose figures mean little.
    quick: bool,
    #[serde(flatten)]
    pub(crate) found: Found,
    bars: Vec<Bar>,
}

impl Report {
    pub(crate) fn new(layout: Layout, quick: bool, found: Found) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            processors: machine::processors(),
            workers: layout.workers,
            arbiters: layout.arbiters,
            quick,
            bars: reached(&found),
            found,
        }
    }

    /// Whether the ledgers match the acknowledged vouchers and every answer was right.
    pub(crate) fn passed(&self) -> bool {
        let audits = &self.found.audits;
        self.found.wrong_answers == 0 && audits.iter().all(|audit| audit.passed())
    }

    pub(crate) fn bars_hold(&self) -> bool {
        self.bars.iter().all(|bar| bar.holds)
    }

    fn rows(&self) -> String {
        let header = [
            "case",
            "connections",
            "requests/s",
            "vouchers/s",
            "p50 µs",
            "p99 µs",
            "to empty",
            "flushes/s",
            "flush µs",
            "CPU µs",
            "others",
        ];
        let rows = self.found.rows.iter().map(|row| {
            let some = |value: u64, text: String| match value {
                0 => "-".to_owned(),
                _ => text,
            };
            let (vouchers, flushes) = (row.vouchers_per_second, row.flushes_per_second);
            let ratio = row.to_empty.unwrap_or_default();
            vec![
                row.name.clone(),
                row.connections.to_string(),
                grouped(row.per_second),
                some(vouchers, grouped(vouchers)),
                micros(row.p50_nanos),
                micros(row.p99_nanos),
                some(ratio.0, ratio.to_string()),
                some(flushes, grouped(flushes)),
                some(flushes, micros(row.mean_flush_nanos)),
                some(row.cpu_nanos, micros(row.cpu_nanos)),
                row.taken_by_others.to_string(),
            ]
        });
        table(&header, &rows.collect::<Vec<_>>())
    }
}

/// The bars of the cases that were run.
fn reached(found: &Found) -> Vec<Bar> {
    let of = |case| found.rows.iter().filter(move |row| row.case == case);
    let flush = of(Case::Flush).map(|row| {
        let shown = |nanos: u64| format!("{} µs", micros(nanos));
        let what = format!("{}, 99 of 100 within", row.name);
        Bar::at_most(&what, row.p99_nanos, FLUSH_MAX, shown)
    });
    let rates = RATES.iter().filter_map(|(case, bar)| {
        let best = of(*case).max_by_key(|row| row.rate())?;
        let shown = |rate| format!("{}/s", grouped(rate));
        Some(Bar::at_least(&best.name, best.rate(), *bar, shown))
    });
    flush.chain(rates).collect()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quick = if self.quick {
            "; a quick run: the figures mean little"
        } else {
            ""
        };
        writeln!(
            f,
            "caudal {}: {} processors, {} HTTP workers, {} threads for actors{quick}\n",
            self.version, self.processors, self.workers, self.arbiters,
        )?;
        writeln!(f, "{}\n{}", self.rows(), bars(&self.bars))?;
        let others = self.found.rows.iter().map(|row| row.taken_by_others);
        let others = others.max().unwrap_or_default();
        if others > DISTURBED {
            writeln!(
                f,
                "other processes had up to {others} of the machine meanwhile: rates are too low, and ratios may be off"
            )?;
        }
        let wrong = self.found.wrong_answers;
        let mut audits = self.found.audits.iter();
        audits.try_for_each(|audit| write!(f, "{}", audit.summary(wrong)))?;
        let mut first = self.found.first_wrong.iter();
        first.try_for_each(|answer| writeln!(f, "  first wrong answer: {answer}"))
    }
}
