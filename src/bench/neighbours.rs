//! A quiet tenant beside a flood: how long its vouchers take alone, and while another tenant sends as much as it can,
//! in turns, so that other activity of the machine affects both.
//!
//! **Shape.** Floods, each on as many connections as its kind needs: one large batch after the other, single vouchers,
//! and balances. The quiet tenant pauses after each answer. Tenants have the limits that `serve` sets by default. The clients share the processors with the
//! service, unless they are pinned to their own; the report shows how much they use.
//!
//! **Bar.** The median over the turns of the ratio of the 99th percentile beside a flood to that alone is at most
//! [`TIMES_MAX`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use caudal::http::rate::REALM_RATE;
use serde::Serialize;

use super::client::Requests;
use super::draw::{Mix, Over};
use super::figures::{Histogram, Thousandths, grouped, median, micros, nanos, per_second};
use super::load::{self, End, Job, Measured, THREAD, Way};
use super::machine::spent;
use super::pin::Pin;
use super::site::{Layout, Site};
use super::tally::Tally;

/// Connections of the quiet tenant.
const QUIET: usize = 1;
/// How long it pauses after each answer.
const PAUSE: Duration = Duration::from_millis(4);
/// The limit for the ratio of its times beside a flood to those alone, in thousandths.
const TIMES_MAX: u64 = 1200;
/// How long a run lasts before it counts.
const WARM_UP: Duration = Duration::from_millis(500);

/// The tenants, the floods and the rounds.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Accounts of each tenant.
    pub accounts: u64,
    /// Connections of the flood of batches.
    pub clients: usize,
    /// Items of each of its batches.
    pub items: usize,
    /// Connections of the floods of single vouchers and of balances.
    pub singles: usize,
    /// How often the quiet tenant is measured alone and beside each flood.
    pub rounds: usize,
    /// How long each measurement counts.
    pub time: Duration,
    /// The processors of service and clients, if they are pinned.
    pub pin: Option<Pin>,
    /// Threads.
    pub layout: Layout,
}

impl Plan {
    /// The usual plan: five rounds of this many seconds.
    pub fn of(accounts: u64, seconds: u64, layout: Layout, pin: Option<Pin>) -> Self {
        Self {
            accounts: accounts.max(1),
            clients: 8,
            items: 5000,
            singles: 64,
            rounds: 5,
            time: Duration::from_secs(seconds.max(1)),
            pin,
            layout: Layout {
                workers: pin.map_or(layout.workers, |pin| pin.workers),
                ..layout
            },
        }
    }
}

/// The times of answers, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Times {
    /// The number of answers.
    pub(super) answers: u64,
    /// The median.
    pub(super) median: u64,
    /// The 99th percentile.
    pub(super) slow: u64,
}

/// The quiet tenant once alone, and once beside a flood.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Turn {
    alone: Times,
    beside: Times,
    /// Vouchers a second of the flood.
    flood: u64,
    /// Its answers per second, and the number of its requests that were refused.
    answers: u64,
    refused: u64,
    /// How many processors the clients of both tenants used beside the flood.
    clients: Thousandths,
}

/// The result of a flood.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Flood {
    name: String,
    turns: Vec<Turn>,
    /// The median ratio of the 99th percentile beside it to that alone.
    ratio: Thousandths,
}

/// The results.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Neighbours {
    floods: Vec<Flood>,
    /// Wrong answers to the quiet tenant.
    pub wrong: u64,
}

impl Times {
    /// The summary of a histogram.
    pub(super) fn of(times: &Histogram) -> Self {
        Self {
            answers: times.count(),
            median: times.quantile(500),
            slow: times.quantile(990),
        }
    }
}

impl Neighbours {
    /// Whether the quiet tenant was served well enough.
    pub fn holds(&self) -> bool {
        self.wrong == 0 && self.floods.iter().all(Flood::holds)
    }
}

impl Flood {
    const fn holds(&self) -> bool {
        self.ratio.0 <= TIMES_MAX
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for flood in &self.floods {
            writeln!(f, "a quiet tenant beside {}", flood.name)?;
            for turn in &flood.turns {
                let of = |times: &Times| {
                    let (median, slow) = (micros(times.median), micros(times.slow));
                    format!(
                        "{:>8} answers, p50 {median}, p99 {slow} µs",
                        grouped(times.answers)
                    )
                };
                writeln!(
                    f,
                    "  alone {}   beside {}, flood {} vouchers/s, {} answers/s, {} refused, clients {} processors",
                    of(&turn.alone),
                    of(&turn.beside),
                    grouped(turn.flood),
                    grouped(turn.answers),
                    grouped(turn.refused),
                    turn.clients
                )?;
            }
            let verdict = if flood.holds() { "ok" } else { "MISSED" };
            writeln!(f, "  p99 beside by alone {}: {verdict}", flood.ratio)?;
        }
        writeln!(f, "  wrong answers {}", self.wrong)
    }
}

/// The service with both tenants.
struct Stage {
    site: Site,
    loud: Arc<Requests>,
    plan: Plan,
    /// Vouchers on any of a tenant's accounts.
    vouchers: Mix,
    /// The requests of both tenants so far.
    tallies: [Tally; 2],
    wrong: u64,
}

/// Runs the measurement on a new store in a folder.
///
/// # Errors
/// When the service fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Neighbours> {
    if let Some(pin) = &plan.pin {
        pin.serve()?;
    }
    let rate = Some(REALM_RATE);
    let mut site = Site::build_limited(folder, plan.layout, plan.accounts, rate).await?;
    site.pinned = plan.pin;
    let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
    let vouchers = Mix::Spread(accounts);
    let mut stage = Stage {
        vouchers,
        loud: site.neighbour(plan.accounts).await?,
        site,
        plan: *plan,
        tallies: [(); 2].map(|()| Tally::new(plan.accounts)),
        wrong: 0,
    };
    let (clients, items, singles) = (plan.clients, plan.items, plan.singles);
    let batches = Mix::Bulk(items, Over::Many(accounts));
    let mut floods = Vec::new();
    for (name, clients, mix) in [
        (
            format!("{clients} clients with batches of {items}"),
            clients,
            batches,
        ),
        (
            format!("{singles} clients with single vouchers"),
            singles,
            vouchers,
        ),
        (
            format!("{singles} clients with balances"),
            singles,
            Mix::Balances(accounts),
        ),
    ] {
        let mut turns = Vec::new();
        for _ in 0..plan.rounds {
            turns.push(stage.turn(clients, mix).await?);
        }
        let ratios = turns
            .iter()
            .map(|it| Thousandths::ratio(it.beside.slow, it.alone.slow).0);
        let ratio = Thousandths(median(ratios));
        floods.push(Flood { name, turns, ratio });
    }
    let wrong = stage.wrong;
    let held = stage.site.close().await?;
    drop(held);
    Ok(Neighbours { floods, wrong })
}

impl Stage {
    /// Measures the quiet tenant alone, then beside a flood.
    async fn turn(&mut self, clients: usize, mix: Mix) -> anyhow::Result<Turn> {
        let to = self.site.addr;
        let quiet = || Job {
            way: Way::Calm(to, PAUSE),
            connections: QUIET,
            mix: self.vouchers,
            end: End::After(WARM_UP, self.plan.time),
        };
        let [own, theirs] = self.tallies.clone();
        let (alone, own) = load::run(&self.site, quiet(), own).await?;
        // The flood begins before the quiet tenant's measurement, and ends after it.
        let longer = self.plan.time.saturating_add(WARM_UP);
        let flood = Job {
            way: Way::Http(to),
            connections: clients,
            mix,
            end: End::After(Duration::ZERO, longer),
        };
        let flood = load::run_as(&self.site, &self.loud, flood, theirs);
        let (beside, flood) = tokio::join!(load::run(&self.site, quiet(), own), flood);
        let ((beside, own), (flood, theirs)) = (beside?, flood?);
        self.tallies = [own, theirs];
        for run in [&alone, &beside] {
            self.wrong = self.wrong.saturating_add(run.wrong);
        }
        Ok(Turn {
            alone: Times::of(&alone.times),
            beside: Times::of(&beside.times),
            flood: per_second(flood.vouchers, counted(&flood)),
            answers: per_second(flood.times.count(), counted(&flood)),
            refused: flood.wrong,
            clients: of_clients(&beside),
        })
    }
}

/// How long a run counted, in nanoseconds: that of a flood lasts until each of its clients got an answer.
fn counted(run: &Measured) -> u64 {
    let ends = run.readings.first().zip(run.readings.last());
    ends.map_or(0, |(from, to)| nanos(to.at.duration_since(from.at)))
}

/// How many processors the load's threads used while a run counted.
fn of_clients(run: &Measured) -> Thousandths {
    let ends = run.readings.first().zip(run.readings.last());
    ends.map_or(Thousandths(0), |(from, to)| {
        let took = spent(&from.cpu, &to.cpu).get(THREAD).copied();
        Thousandths::ratio(
            took.map_or(0, |nanos| nanos),
            nanos(to.at.duration_since(from.at)),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_is_answered_rightly_alone_and_beside_each_flood() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            accounts: 20,
            clients: 2,
            items: 9,
            singles: 2,
            rounds: 1,
            time: Duration::from_millis(60),
            pin: None,
            layout: Layout {
                workers: 1,
                arbiters: 1,
                memory: None,
                resident: None,
            },
        };
        let found = crate::on_system(run(folder.path(), &plan)).unwrap();
        assert_eq!((found.wrong, found.floods.len()), (0, 3));
        assert!(
            found
                .floods
                .iter()
                .flat_map(|it| &it.turns)
                .all(|it| it.alone.answers > 0)
        );
        let mut found = found;
        for flood in &mut found.floods {
            flood.ratio = Thousandths(TIMES_MAX);
        }
        assert!(found.holds());
        found.floods[1].ratio = Thousandths(TIMES_MAX + 1);
        assert!(!found.holds() && found.to_string().contains("MISSED"));
    }
}
