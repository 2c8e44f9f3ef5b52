//! The report of a scenario: figures, tables and bars, for people and as JSON.

use std::fmt;

use caudal_bench::audit::Audit;
use caudal_bench::figures::{Thousandths, grouped, micros};
use caudal_bench::load::Measured;
use caudal_bench::table::{Bar, bars, table};
use serde::{Deserialize, Serialize};

/// The share of the machine used by other processes beyond which figures cannot be trusted, in thousandths.
const DISTURBED: u64 = 100;

/// Bytes as mebibytes.
pub(crate) fn mebibytes(bytes: u64) -> String {
    grouped(bytes.saturating_add(1 << 19) >> 20)
}

/// Nanoseconds as seconds with two decimals.
fn seconds(nanos: u64) -> String {
    let hundredths = nanos / 10_000_000;
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// What a figure counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Unit {
    Number,
    PerSecond,
    /// Nanoseconds that are shown as microseconds.
    Micros,
    /// Nanoseconds that are shown as seconds.
    Seconds,
    /// Bytes that are shown as mebibytes.
    Mebibytes,
    Bytes,
    /// Thousandths.
    Ratio,
}

impl Unit {
    pub(crate) fn show(self, value: u64) -> String {
        match self {
            Self::Number => grouped(value),
            Self::PerSecond => format!("{}/s", grouped(value)),
            Self::Micros => format!("{} µs", micros(value)),
            Self::Seconds => format!("{} s", seconds(value)),
            Self::Mebibytes => format!("{} MiB", mebibytes(value)),
            Self::Bytes => format!("{} bytes", grouped(value)),
            Self::Ratio => Thousandths(value).to_string(),
        }
    }
}

/// A figure with its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Figure {
    what: String,
    value: u64,
    unit: Unit,
}

/// Cells as they are shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The results of a scenario.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    pub(crate) scenario: String,
    pub(crate) figures: Vec<Figure>,
    pub(crate) tables: Vec<Table>,
    pub(crate) bars: Vec<Bar>,
    pub(crate) wrong_answers: u64,
    pub(crate) first_wrong: Option<String>,
    /// The largest share of the machine that other processes used during a load, in thousandths.
    pub(crate) taken_by_others: u64,
    pub(crate) ledger: Option<Audit>,
}

impl Report {
    pub(crate) fn figure(&mut self, what: &str, value: u64, unit: Unit) {
        self.figures.push(Figure {
            what: what.to_owned(),
            value,
            unit,
        });
    }

    pub(crate) fn at_least(&mut self, what: &str, value: u64, bar: u64, unit: Unit) {
        let bar = Bar::at_least(what, value, bar, |value| unit.show(value));
        self.bars.push(bar);
    }

    pub(crate) fn at_most(&mut self, what: &str, value: u64, bar: u64, unit: Unit) {
        let bar = Bar::at_most(what, value, bar, |value| unit.show(value));
        self.bars.push(bar);
    }

    pub(crate) fn table(&mut self, header: &[&str], rows: Vec<Vec<String>>) {
        self.tables.push(Table {
            header: header.iter().map(|cell| (*cell).to_owned()).collect(),
            rows,
        });
    }

    /// Takes over how a load went, whose answers all have to be right.
    pub(crate) fn went(&mut self, run: &Measured) {
        self.disturbed(run);
        self.wrong_answers += run.wrong;
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&run.first_wrong);
        }
    }

    /// Takes over only how much of the machine others had during a load.
    pub(crate) fn disturbed(&mut self, run: &Measured) {
        self.taken_by_others = self.taken_by_others.max(run.taken_by_others().0);
    }

    /// Whether the ledger matches the acknowledged vouchers and every answer was right.
    pub(crate) fn passed(&self) -> bool {
        self.wrong_answers == 0 && self.ledger.as_ref().is_some_and(Audit::passed)
    }

    pub(crate) fn bars_hold(&self) -> bool {
        self.bars.iter().all(|bar| bar.holds)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.scenario)?;
        for Table { header, rows } in &self.tables {
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            writeln!(f, "{}", table(&header, rows))?;
        }
        let figures = self.figures.iter();
        let figures = figures.map(|it| vec![it.what.clone(), it.unit.show(it.value)]);
        writeln!(
            f,
            "{}",
            table(&["figure", ""], &figures.collect::<Vec<_>>())
        )?;
        if !self.bars.is_empty() {
            writeln!(f, "{}", bars(&self.bars))?;
        }
        if self.taken_by_others > DISTURBED {
            let others = Thousandths(self.taken_by_others);
            writeln!(
                f,
                "other processes had up to {others} of the machine meanwhile: rates are too low, and ratios may be off"
            )?;
        }
        if let Some(ledger) = &self.ledger {
            write!(f, "{}", ledger.summary(self.wrong_answers))?;
        }
        let mut first = self.first_wrong.iter();
        first.try_for_each(|answer| writeln!(f, "  first wrong answer: {answer}"))
    }
}
