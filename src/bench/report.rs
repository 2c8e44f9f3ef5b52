//! The output: a table for people, JSON for programs, and whether the bars hold.

mod bars;
mod large;
mod logs;
mod tables;

use std::fmt;

use serde::Serialize;

use super::case::Case;
use super::cases::Compared;
use super::figures::{Thousandths, grouped, mebibytes, micros, seconds};
use super::growth::Grown;
use super::history::History;
use super::large::Large;
use super::lists::Listed;
use super::logs::OnLogs;
use super::webhooks::{Hooked, State};
use super::{machine, site};
use bars::{Bar, at_least, below};
use tables::{cases, ceilings, lists, table, tenths, threads, webhooks};

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
    /// Whether accounts live on other threads than their supervisors.
    pub spread: bool,
    /// Whether it was a quick run, whose figures mean little.
    pub quick: bool,
    /// The cases.
    pub compared: Option<Compared>,
    /// The long load.
    pub grown: Option<Grown>,
    /// The lists.
    pub listed: Option<Listed>,
    /// The cost of webhooks.
    pub hooked: Option<Hooked>,
    /// The large load.
    pub large: Option<Large>,
    /// Logs on the disk and in databases.
    pub logs: Option<OnLogs>,
}

const RATIO_BAR: Thousandths = Thousandths(450);
const HOT_BAR: Thousandths = Thousandths(800);
const BULK_BAR: u64 = 100_000;
const CURSOR_BAR: Thousandths = Thousandths(1500);
const HEALTHY_BAR: Thousandths = Thousandths(850);
const DEAD_BAR: Thousandths = Thousandths(950);
/// How much memory may grow with a dead webhook: as much as a table of the index and its runs may take.
const BACKLOG_BAR: u64 = 256 << 20;
const GROWTH_BAR: Thousandths = Thousandths(800);
const REOPEN_BAR: u64 = 5_000_000_000;
const MEMORY_BAR: u64 = 1 << 30;
const HISTORY_BAR: u64 = 1_000_000;
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
    for (what, history) in [
        ("past balance, the actor's turn, p99", grown.history),
        ("past balance after opening again, p99", again.history),
    ] {
        if let Some(history) = history {
            let found = history.turn.p99_nanos;
            bars.push(below(what, found, HISTORY_BAR, micros, "µs"));
        }
    }
    bars
}

/// The bars of webhooks.
fn hook_bars(hooked: &Hooked) -> Vec<Bar> {
    let bar = |(what, state, bar)| {
        let found = hooked.ratio(state)?;
        Some(at_least(what, found, bar))
    };
    let states = [
        (
            "vouchers with a healthy webhook by none",
            State::Healthy,
            HEALTHY_BAR,
        ),
        (
            "vouchers with a refusing webhook by none",
            State::Refusing,
            DEAD_BAR,
        ),
        (
            "vouchers with a silent webhook by none",
            State::Silent,
            DEAD_BAR,
        ),
    ];
    let mut bars: Vec<Bar> = states.into_iter().filter_map(bar).collect();
    bars.push(below(
        "growth of memory behind a dead webhook",
        hooked.growth(),
        BACKLOG_BAR,
        mebibytes,
        "MiB",
    ));
    bars
}

fn hooks(f: &mut fmt::Formatter<'_>, hooked: &Hooked) -> fmt::Result {
    let kept = &hooked.backlog;
    let [first, second, third] = kept.memory.map(mebibytes);
    let [deliveries, connections] = hooked.deliveries.map(grouped);
    writeln!(
        f,
        "\nwebhooks, vouchers over {} CVUs on {} connections\n\n{}\n\n\
         {} events that waited: delivered in {} s; each cost {} µs of CPU and {} bytes of journal\n\
         {deliveries} deliveries in all, for which {connections} connections were made\n\
         resident {first} MiB, {second} MiB after {} vouchers with no webhook, {third} MiB after as \
         many more behind a dead one; {} bytes on disk for each of these",
        grouped(hooked.accounts),
        hooked.connections,
        webhooks(hooked),
        grouped(kept.events),
        seconds(kept.drain_nanos),
        micros(kept.cpu_nanos_per_delivery),
        kept.journal_bytes_per_delivery,
        grouped(kept.undelivered),
        grouped(kept.disk_bytes_per_voucher),
    )
}

impl Report {
    /// A report without results yet.
    pub fn new(layout: site::Layout, quick: bool) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            processors: machine::processors(),
            workers: layout.workers,
            arbiters: layout.arbiters,
            spread: layout.spread,
            quick,
            compared: None,
            grown: None,
            listed: None,
            hooked: None,
            large: None,
            logs: None,
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
        let hooked = self
            .hooked
            .iter()
            .map(|h| (h.audit.passed(), h.wrong_answers.max(h.wrong_deliveries)));
        let large = self.large.iter().flat_map(|l| {
            let audits = [&l.audit, &l.compressed.audit];
            audits.map(|audit| (audit.passed(), l.wrong_answers))
        });
        let logs = self.logs.iter().flat_map(|logs| {
            let audits = logs.audits.iter();
            audits.map(|(_, audit)| (audit.passed(), logs.wrong_answers))
        });
        compared
            .chain(grown)
            .chain(hooked)
            .chain(large)
            .chain(logs)
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
        let hooked = self.hooked.iter().map(|h| {
            let wrong = h.wrong_answers.max(h.wrong_deliveries);
            ("webhooks", &h.audit, wrong, h.first_wrong.as_deref())
        });
        let large = self.large.iter().flat_map(|l| {
            let (wrong, first) = (l.wrong_answers, l.first_wrong.as_deref());
            let audits = [
                ("large load", &l.audit),
                ("large load, compressed", &l.compressed.audit),
            ];
            audits.map(|(what, audit)| (what, audit, wrong, first))
        });
        let logs = self.logs.iter().flat_map(|logs| {
            let (wrong, first) = (logs.wrong_answers, logs.first_wrong.as_deref());
            let audits = logs.audits.iter();
            audits.map(move |(place, audit)| (place.vouchers(), audit, wrong, first))
        });
        for (what, audit, wrong, first) in
            compared.chain(grown).chain(hooked).chain(large).chain(logs)
        {
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
        let hooked = self.hooked.iter().flat_map(|hooked| &hooked.lines);
        let all = rows.chain(tenths.map(|tenth| tenth.taken_by_others));
        let all = all.chain(hooked.map(|line| line.taken_by_others));
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
        if let Some(found) = self.listed.as_ref().and_then(Listed::dearest_cursor) {
            bars.push(Bar {
                what: "page behind a cursor by the first of its list, at worst".to_owned(),
                bar: format!("<= {CURSOR_BAR}"),
                found: found.to_string(),
                holds: found <= CURSOR_BAR,
            });
        }
        bars.extend(self.grown.iter().flat_map(growth_bars));
        bars.extend(self.hooked.iter().flat_map(hook_bars));
        bars.extend(self.large.iter().flat_map(large::bars));
        bars.extend(self.logs.iter().flat_map(logs::bars));
        bars
    }
}

fn past(f: &mut fmt::Formatter<'_>, when: &str, history: Option<History>) -> fmt::Result {
    let Some(History {
        vouchers,
        turn,
        engine,
    }) = history
    else {
        return Ok(());
    };
    writeln!(
        f,
        "past balance {when}, {} vouchers: turn {} µs (p99 {}, first {}), engine {} µs (p99 {}, \
         first {})",
        grouped(vouchers),
        micros(turn.p50_nanos),
        micros(turn.p99_nanos),
        micros(turn.first_nanos),
        micros(engine.p50_nanos),
        micros(engine.p99_nanos),
        micros(engine.first_nanos),
    )
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
    past(f, "while running", grown.history)?;
    past(f, "after opening again", again.history)
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
            "caudal {}: {} processors, {} HTTP workers, {} threads for actors{}{}\n",
            self.version,
            self.processors,
            self.workers,
            self.arbiters,
            if self.spread {
                ", accounts beside their supervisors"
            } else {
                ""
            },
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
        if let Some(listed) = &self.listed {
            writeln!(
                f,
                "\nlists of {} accounts and {} vouchers, {} of them on one CVU; deep pages skip {}; \
                 the small store has {} accounts\n\n{}",
                grouped(listed.accounts),
                grouped(listed.vouchers),
                grouped(listed.hot),
                grouped(listed.offset),
                grouped(listed.small),
                lists(&listed.lines),
            )?;
        }
        if let Some(hooked) = &self.hooked {
            hooks(f, hooked)?;
        }
        if let Some(large) = &self.large {
            large::show(f, large)?;
        }
        if let Some(logs) = &self.logs {
            writeln!(f, "{}", logs::rows(&logs.rows))?;
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
