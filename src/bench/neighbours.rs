//! A quiet tenant beside a flood: how long its vouchers take alone, and while another tenant sends
//! one large batch after the other.
//!
//! **Bar.** The 99th hundredth beside the flood is at most [`TIMES_MAX`] times that alone, and at most
//! [`LONGEST`].

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::draw::{Mix, Over};
use super::figures::{Histogram, Thousandths, grouped, micros, nanos, per_second};
use super::load::{self, End, Job, Way};
use super::site::{Layout, Site};
use super::tally::Tally;

/// Connections of the quiet tenant.
const QUIET: usize = 1;
/// How much longer its answers may take beside the flood, in thousandths.
const TIMES_MAX: u64 = 3000;
/// The longest that they may take.
const LONGEST: Duration = Duration::from_millis(10);

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Accounts of each tenant.
    pub accounts: u64,
    /// Connections of the flood.
    pub clients: usize,
    /// Items of each of its batches.
    pub items: usize,
    /// How long each of the two runs counts.
    pub time: Duration,
    /// Threads.
    pub layout: Layout,
}

/// How long answers took, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Times {
    /// How many.
    pub(super) answers: u64,
    /// The median.
    pub(super) median: u64,
    /// The 99th hundredth.
    pub(super) slow: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Neighbours {
    clients: usize,
    items: usize,
    alone: Times,
    beside: Times,
    /// The 99th hundredth beside the flood by that alone.
    pub ratio: Thousandths,
    /// Vouchers a second of the flood.
    pub flood: u64,
    /// Answers to the quiet tenant that were not the right ones.
    pub wrong: u64,
}

impl Times {
    /// What a histogram says.
    pub(super) fn of(times: &Histogram) -> Self {
        Self {
            answers: times.count(),
            median: times.quantile(500),
            slow: times.quantile(990),
        }
    }
}

impl Neighbours {
    /// Whether the quiet tenant was served as it should be.
    pub fn holds(&self) -> bool {
        self.wrong == 0 && self.ratio.0 <= TIMES_MAX && self.beside.slow <= nanos(LONGEST)
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clients, items, .. } = self;
        writeln!(
            f,
            "a quiet tenant beside {clients} clients with batches of {items}"
        )?;
        for (name, times) in [("alone", self.alone), ("beside", self.beside)] {
            let (median, slow) = (micros(times.median), micros(times.slow));
            let answers = grouped(times.answers);
            writeln!(
                f,
                "  {name:<8} {answers:>10} answers, p50 {median}, p99 {slow} µs"
            )?;
        }
        let flood = grouped(self.flood);
        let verdict = if self.holds() { "ok" } else { "MISSED" };
        writeln!(
            f,
            "  p99 beside by alone {}, flood {flood} vouchers/s, wrong answers {}: {verdict}",
            self.ratio, self.wrong
        )
    }
}

/// Runs it on a new store in a folder.
///
/// # Errors
/// When the service fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Neighbours> {
    let site = Site::build(folder, plan.layout, plan.accounts).await?;
    let loud = site.neighbour(plan.accounts).await?;
    let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
    let warm_up = Duration::from_millis(500);
    let job = |connections, mix, warm_up, time| Job {
        way: Way::Http(site.addr),
        connections,
        mix,
        end: End::After(warm_up, time),
    };
    let quiet = || job(QUIET, Mix::Spread(accounts), warm_up, plan.time);
    let (alone, tally) = load::run(&site, quiet(), Tally::new(plan.accounts)).await?;
    let batches = Mix::Bulk(plan.items, Over::Many(accounts));
    // It begins before the quiet one counts, and ends after it.
    let longer = plan.time.saturating_add(warm_up);
    let flood = job(plan.clients, batches, Duration::ZERO, longer);
    let flood = load::run_as(&site, &loud, flood, Tally::new(plan.accounts));
    let (beside, flood) = tokio::join!(load::run(&site, quiet(), tally), flood);
    let ((beside, _), (flood, _)) = (beside?, flood?);
    let held = site.close().await?;
    drop(held);
    let (alone_times, beside_times) = (Times::of(&alone.times), Times::of(&beside.times));
    Ok(Neighbours {
        clients: plan.clients,
        items: plan.items,
        alone: alone_times,
        beside: beside_times,
        ratio: Thousandths::ratio(beside_times.slow, alone_times.slow),
        flood: per_second(flood.vouchers, nanos(longer)),
        wrong: alone.wrong.saturating_add(beside.wrong),
    })
}
