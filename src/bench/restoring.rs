//! A tenant whose vouchers are measured alone, and while the realm of another one is copied as it was at an instant.
//!
//! **Bar.** The 99th hundredth beside the copy is at most [`TIMES_MAX`] of that alone.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use caudal_actors::engine::generations::Copying;
use caudal_actors::restores;
use caudal_ledger::ids::Mode;
use serde::Serialize;

use super::draw::{Mix, Over};
use super::figures::{Thousandths, grouped, micros};
use super::load::{self, End, Job, Way};
use super::neighbours::Times;
use super::site::{Layout, NEIGHBOUR, Site};
use super::tally::Tally;

/// How much longer answers may take beside the copy, in thousandths.
const TIMES_MAX: u64 = 1200;
/// Clients that fill the realm that is copied, and how many items each of their batches has.
const FILLING: (usize, usize) = (4, 1000);

/// What is to be run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Accounts of each tenant.
    pub accounts: u64,
    /// Connections of the tenant that is measured.
    pub clients: usize,
    /// How long each of the two runs counts, and how long the other realm is filled before.
    pub time: Duration,
    /// Threads.
    pub layout: Layout,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restoring {
    clients: usize,
    alone: Times,
    beside: Times,
    /// The 99th hundredth beside the copy by that alone.
    pub ratio: Thousandths,
    /// Vouchers of the realm that was copied.
    filled: u64,
    /// How many entries of it were there when the run ended.
    copied: u64,
    /// Whether the copy went on to the end of the run, so that all of it was beside one.
    throughout: bool,
    /// Answers that were not the right ones.
    pub wrong: u64,
}

impl Restoring {
    /// Whether the tenant was served as it should be.
    pub fn holds(&self) -> bool {
        self.wrong == 0 && self.throughout && self.ratio.0 <= TIMES_MAX
    }
}

impl fmt::Display for Restoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clients = self.clients;
        writeln!(
            f,
            "a tenant with {clients} clients beside a copy of another one's realm"
        )?;
        for (name, times) in [("alone", self.alone), ("beside", self.beside)] {
            let (median, slow) = (micros(times.median), micros(times.slow));
            let answers = grouped(times.answers);
            writeln!(
                f,
                "  {name:<8} {answers:>10} answers, p50 {median}, p99 {slow} µs"
            )?;
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

/// Runs it on a new store in a folder.
///
/// # Errors
/// When the service fails, or the copy.
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
    let (alone, tally) = load::run(&site, measured(), Tally::new(plan.accounts)).await?;
    let engine = Arc::clone(&site.engine);
    let now = engine.now();
    restores::begin(&engine, NEIGHBOUR, Mode::Test, now).await?;
    let (beside, _) = load::run(&site, measured(), tally).await?;
    let copy = engine.copying();
    if let Some(Err(why)) = copy.as_ref().and_then(|copy| copy.ended.clone()) {
        anyhow::bail!("the copy failed: {why}");
    }
    drop(engine);
    let held = site.close().await?;
    drop(held);
    let (alone_times, beside_times) = (Times::of(&alone.times), Times::of(&beside.times));
    Ok(Restoring {
        clients: plan.clients,
        alone: alone_times,
        beside: beside_times,
        ratio: Thousandths::ratio(beside_times.slow, alone_times.slow),
        filled: filled.vouchers,
        copied: copy.as_ref().map_or(0, |copy| copy.progress.entries()),
        throughout: copy.as_ref().is_some_and(goes_on),
        wrong: alone.wrong.saturating_add(beside.wrong),
    })
}

fn goes_on(copy: &Copying) -> bool {
    copy.ended.is_none()
}
