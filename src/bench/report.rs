//! The output: a table for people, JSON for programs, and whether the bars hold.

mod bars;
mod large;
mod tables;

use std::fmt;

use serde::Serialize;

use super::case::Case;
use super::cases::Compared;
use super::figures::{Thousandths, grouped, mebibytes, micros, seconds};
use super::growth::Grown;
use super::large::Large;
use super::{machine, site};
use bars::{Bar, at_least, below};
use tables::{cases, ceilings, table, tenths, threads};

/// All results of a run.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The version of the service.
    pub version: &'static str,
    /// Processors of the machine.
    pub processors: usize,
    /// Threads that serve HTTP.
    pub workers: usize,
    /// Threads for actors.
    pub arbiters: usize,
    /// Whether it was a quick run, whose figures mean little.
    pub quick: bool,
    /// The cases.
    pub compared: Option<Compared>,
    /// The long load.
    pub grown: Option<Grown>,
    /// The large load.
    pub large: Option<Large>,
}

const RATIO_BAR: Thousandths = Thousandths(450);
const HOT_BAR: Thousandths = Thousandths(800);
const BULK_BAR: u64 = 100_000;
const GROWTH_BAR: Thousandths = Thousandths(800);
const REOPEN_BAR: u64 = 5_000_000_000;
const MEMORY_BAR: u64 = 1 << 30;
/// The share of the machine used by other processes beyond which figures cannot be trusted.
const DISTURBED: Thousandths = Thousandths(100);

/// The bars of the long load.
fn growth_bars(grown: &Grown) -> Vec<Bar> {
    let what = "last tenth of the load by its first";
    let mut bars = vec![at_least(what, grown.last_to_first, GROWTH_BAR)];
    let again = &grown.reopened;
    bars.push(below(
        "ready after opening again",
        again.ready_nanos,
        REOPEN_BAR,
        seconds,
        "s",
    ));
    bars.push(below(
        "memory when ready",
        again.memory,
        MEMORY_BAR,
        mebibytes,
        "MiB",
    ));
    let what = "memory with all accounts resident";
    bars.push(below(
        what,
        again.memory_all_resident,
        MEMORY_BAR,
        mebibytes,
        "MiB",
    ));
    bars
}

impl Report {
    /// A report without results yet.
    pub fn new(layout: site::Layout, quick: bool) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            processors: machine::processors(),
            workers: layout.workers,
            arbiters: layout.arbiters,
            quick,
            compared: None,
            grown: None,
            large: None,
        }
    }

    /// Whether the ledger matches the acknowledged vouchers and every answer was right.
    pub fn passed(&self) -> bool {
        let compared = self
            .compared
            .iter()
            .map(|c| (c.audit.passed(), c.wrong_answers));
        let grown = self
            .grown
            .iter()
            .map(|g| (g.audit.passed(), g.wrong_answers));
        let large = self
            .large
            .iter()
            .map(|l| (l.audit.passed(), l.wrong_answers));
        compared
            .chain(grown)
            .chain(large)
            .all(|(right, wrong)| right && wrong == 0)
    }

    /// The audits of the ledger after the cases and after the load.
    fn ledger(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let compared = self
            .compared
            .iter()
            .map(|c| ("cases", &c.audit, c.wrong_answers, c.first_wrong.as_deref()));
        let grown = self
            .grown
            .iter()
            .map(|g| ("load", &g.audit, g.wrong_answers, g.first_wrong.as_deref()));
        let large = self.large.iter().map(|l| {
            let first = l.first_wrong.as_deref();
            ("large load", &l.audit, l.wrong_answers, first)
        });
        for (what, audit, wrong, first) in compared.chain(grown).chain(large) {
            let word = if audit.passed() && wrong == 0 {
                "ok"
            } else {
                "FAIL"
            };
            writeln!(
                f,
                "ledger after the {what}: {word}: {} vouchers, {} acknowledged, {} accounts, {} \
                 differences, {wrong} wrong answers",
                grouped(audit.vouchers),
                grouped(audit.acknowledged),
                grouped(audit.accounts),
                audit.count,
            )?;
            audit
                .differences
                .iter()
                .try_for_each(|d| writeln!(f, "  {d}"))?;
            first.map_or(Ok(()), |answer| {
                writeln!(f, "  first wrong answer: {answer}")
            })?;
        }
        Ok(())
    }

    /// Whether every bar that was measured holds.
    pub fn bars_hold(&self) -> bool {
        self.bars().iter().all(|bar| bar.holds)
    }

    /// The largest share of the machine that other processes used during any measurement.
    fn taken_by_others(&self) -> Thousandths {
        let rows = self.compared.iter().flat_map(|c| &c.rows);
        let tenths = self.grown.iter().flat_map(|g| &g.tenths);
        let tenths = tenths.chain(self.large.iter().flat_map(|l| &l.tenths));
        let rows = rows.map(|row| row.taken_by_others);
        let all = rows.chain(tenths.map(|tenth| tenth.taken_by_others));
        all.max().unwrap_or_default()
    }

    /// The bars of all measurements.
    pub fn bars(&self) -> Vec<Bar> {
        let mut bars = Vec::new();
        if let Some(compared) = &self.compared {
            let spread = compared.at_most_connections(Case::Spread);
            let noop = compared.at_most_connections(Case::Noop);
            if let (Some(spread), Some(_)) = (spread, noop) {
                let what = "voucher by no-op, at the most connections";
                bars.push(at_least(what, spread.ratio_to_noop, RATIO_BAR));
            }
            if let Some(hot) = compared.hot_to_spread {
                bars.push(at_least(
                    "one CVU by many, at the most connections",
                    hot,
                    HOT_BAR,
                ));
            }
            if let Some(found) = compared.best_bulk() {
                bars.push(Bar {
                    what: "vouchers a second in large bulks, at best".to_owned(),
                    bar: format!(">= {}", grouped(BULK_BAR)),
                    found: grouped(found),
                    holds: found >= BULK_BAR,
                });
            }
        }
        bars.extend(self.grown.iter().flat_map(growth_bars));
        bars.extend(self.large.iter().flat_map(large::bars));
        bars
    }
}

fn growth(f: &mut fmt::Formatter<'_>, grown: &Grown) -> fmt::Result {
    writeln!(
        f,
        "\nload of {} vouchers over {} CVUs by {}: {}/s, p50 {} µs, p99 {} µs\n\n{}\n",
        grouped(grown.vouchers),
        grouped(grown.accounts),
        grown.by,
        grouped(grown.per_second),
        micros(grown.p50_nanos),
        micros(grown.p99_nanos),
        tenths(&grown.tenths),
    )?;
    let again = &grown.reopened;
    writeln!(
        f,
        "last tenth by first: rate {}, CPU for a voucher {}",
        grown.last_to_first, grown.last_to_first_cpu
    )?;
    writeln!(
        f,
        "data set: {} vouchers, {} MiB on disk, {} bytes a voucher",
        grouped(grown.audit.vouchers),
        mebibytes(grown.disk_bytes),
        grouped(grown.disk_bytes_per_posting),
    )?;
    writeln!(
        f,
        "opened again: store {} s, actors {} s, first balance {} s; resident {} MiB (peak {}), \
         with all {} actors {} MiB after {} s",
        seconds(again.store_nanos),
        seconds(again.engine_nanos),
        seconds(again.ready_nanos),
        mebibytes(again.memory),
        mebibytes(again.memory_peak),
        grouped(grown.accounts),
        mebibytes(again.memory_all_resident),
        seconds(again.all_resident_nanos),
    )?;
    Ok(())
}

impl Report {
    fn compared(&self, f: &mut fmt::Formatter<'_>, compared: &Compared) -> fmt::Result {
        writeln!(f, "{}\n", cases(&compared.rows))?;
        writeln!(f, "{}\n", threads(compared))?;
        writeln!(f, "{}\n", ceilings(compared, self.workers))?;
        for (what, ratio) in [
            ("vouchers in bulk by single ones", compared.bulk_to_spread),
            ("transfers by single vouchers", compared.transfer_to_spread),
        ] {
            if let Some(ratio) = ratio {
                writeln!(f, "{what}, at the most connections: {ratio}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "caudal {}: {} processors, {} HTTP workers, {} threads for actors{}\n",
            self.version,
            self.processors,
            self.workers,
            self.arbiters,
            if self.quick {
                "; a quick run: the figures mean little"
            } else {
                ""
            },
        )?;
        if let Some(compared) = &self.compared {
            self.compared(f, compared)?;
        }
        if let Some(grown) = &self.grown {
            growth(f, grown)?;
        }
        if let Some(large) = &self.large {
            large::show(f, large)?;
        }
        let others = self.taken_by_others();
        if others > DISTURBED {
            writeln!(
                f,
                "\nother processes had up to {others} of the machine meanwhile: rates are too low, \
                 and ratios may be off"
            )?;
        }
        let bars = self.bars().into_iter().map(|bar| {
            let word = if bar.holds { "holds" } else { "MISSED" };
            vec![bar.what.to_owned(), bar.bar, bar.found, word.to_owned()]
        });
        writeln!(
            f,
            "\n{}\n",
            table(&["bar", "", "found", ""], bars.collect())
        )?;
        self.ledger(f)
    }
}
