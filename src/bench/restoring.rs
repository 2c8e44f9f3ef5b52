//! A tenant whose vouchers are measured alone, and while the realm of another tenant is copied as it was at an instant,
//! in turns, so that other activity of the machine affects both.
//!
//! **Bar.** The median over the turns of the ratio of the 99th percentile beside the copy to that alone is at most
//! [`TIMES_MAX`].

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use caudal_actors::engine::generations::Copying;
use caudal_actors::restores;
use caudal_ledger::ids::Mode;
use serde::Serialize;

use super::draw::{Mix, Over};
use super::figures::{Thousandths, grouped, median, micros};
use super::load::{self, End, Job, Way};
use super::neighbours::Times;
use super::site::{Layout, NEIGHBOUR, Site};
use super::tally::Tally;

/// The limit for the ratio of the times beside the copy to those alone, in thousandths.
const TIMES_MAX: u64 = 1200;
/// How long a copy may take to end once it was stopped.
const PATIENCE: Duration = Duration::from_secs(30);
/// The number of clients that fill the realm to copy, and of the items in each of their batches.
const FILLING: (usize, usize) = (4, 1000);

/// The tenants and the rounds.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Accounts of each tenant.
    pub accounts: u64,
    /// Connections of the tenant that is measured.
    pub clients: usize,
    /// How often both states are measured.
    pub rounds: usize,
    /// How long each measurement counts, and how long the other realm is filled before.
    pub time: Duration,
    /// Threads.
    pub layout: Layout,
}

/// The results.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restoring {
    clients: usize,
    /// The times alone and beside a copy, turn by turn.
    turns: Vec<(Times, Times)>,
    /// The median ratio of the 99th percentile beside a copy to that alone.
    pub ratio: Thousandths,
    /// Vouchers of the realm that was copied.
    filled: u64,
    /// How many of its entries were copied, over all turns.
    copied: u64,
    /// Whether each copy lasted to the end of its turn.
    throughout: bool,
    /// The number of wrong answers.
    pub wrong: u64,
}

impl Restoring {
    /// Whether the tenant was served well enough.
    pub fn holds(&self) -> bool {
        self.wrong == 0 && self.throughout && self.ratio.0 <= TIMES_MAX
    }
}

impl fmt::Display for Restoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clients = self.clients;
        writeln!(
            f,
            "a tenant with {clients} clients beside copies of another one's realm"
        )?;
        for (alone, beside) in &self.turns {
            let of = |times: &Times| {
                let answers = grouped(times.answers);
                format!(
                    "{answers:>9} answers, p50 {}, p99 {} µs",
                    micros(times.median),
                    micros(times.slow)
                )
            };
            writeln!(f, "  alone {}   beside {}", of(alone), of(beside))?;
        }
        let until = if self.throughout {
            "all along"
        } else {
            "in part"
        };
        let verdict = if self.holds() { "ok" } else { "MISSED" };
        writeln!(
            f,
            "  p99 beside by alone {}, {} entries copied of a realm of {} vouchers, {until}, wrong answers {}: {verdict}",
            self.ratio,
            grouped(self.copied),
            grouped(self.filled),
            self.wrong
        )
    }
}

/// Runs the measurement on a new store in a folder.
///
/// # Errors
/// When the service or the copy fails.
pub async fn run(folder: &Path, plan: &Plan) -> anyhow::Result<Restoring> {
    let site = Site::build(folder, plan.layout, plan.accounts).await?;
    let other = site.neighbour(plan.accounts).await?;
    let accounts = usize::try_from(plan.accounts).unwrap_or(usize::MAX);
    let job = |connections, mix, warm_up| Job {
        way: Way::Http(site.addr),
        connections,
        mix,
        end: End::After(warm_up, plan.time),
    };
    let (clients, items) = FILLING;
    let batches = Mix::Bulk(items, Over::Many(accounts));
    let fill = job(clients, batches, Duration::ZERO);
    let (filled, _) = load::run_as(&site, &other, fill, Tally::new(plan.accounts)).await?;
    let measured = || {
        job(
            plan.clients,
            Mix::Spread(accounts),
            Duration::from_millis(500),
        )
    };
    let (mut tally, mut turns) = (Tally::new(plan.accounts), Vec::new());
    let (mut copied, mut wrong, mut throughout) = (0_u64, 0_u64, true);
    for _ in 0..plan.rounds {
        let (alone, after) = load::run(&site, measured(), tally).await?;
        let copy = begun(&site).await?;
        let (beside, after) = load::run(&site, measured(), after).await?;
        tally = after;
        throughout &= is_made(&site)?;
        copied = copied.saturating_add(copy.progress.entries());
        wrong = wrong
            .saturating_add(alone.wrong)
            .saturating_add(beside.wrong);
        ended(&site, &copy).await?;
        turns.push((Times::of(&alone.times), Times::of(&beside.times)));
    }
    let held = site.close().await?;
    drop(held);
    let ratios = turns
        .iter()
        .map(|(alone, beside)| Thousandths::ratio(beside.slow, alone.slow).0);
    let ratio = Thousandths(median(ratios));
    Ok(Restoring {
        clients: plan.clients,
        ratio,
        turns,
        filled: filled.vouchers,
        copied,
        throughout,
        wrong,
    })
}

/// Begins a copy of the other realm as it is now.
async fn begun(site: &Site) -> anyhow::Result<Copying> {
    let now = site.engine.now();
    restores::begin(&site.engine, (NEIGHBOUR, Mode::Test), now, None).await?;
    site.engine.copying().context("no copy is made")
}

/// Whether the copy is still in progress.
fn is_made(site: &Site) -> anyhow::Result<bool> {
    let copy = site.engine.copying().context("no copy was made")?;
    match copy.ended {
        None => Ok(true),
        Some(Ok(())) => Ok(false),
        Some(Err(why)) => Err(why.into()),
    }
}

/// Stops the copy, and waits for its end.
async fn ended(site: &Site, copy: &Copying) -> anyhow::Result<()> {
    site.engine.end_copy(copy.realm);
    let since = Instant::now();
    while site.engine.copying().is_some_and(|it| it.ended.is_none()) {
        anyhow::ensure!(since.elapsed() < PATIENCE, "a copy does not end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}
