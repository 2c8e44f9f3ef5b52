//! A quiet tenant next to a flood: how long its vouchers take alone, and while another tenant sends as much as it can,
//! in turns, so that other activity of the machine affects both.
//!
//! **Shape.** Floods, each on as many connections as its kind needs: one large batch after the other, single vouchers,
//! and balances. The quiet tenant pauses after each answer. Tenants have the limits that `serve` sets by default. The
//! clients share the processors with the service, unless they are pinned to their own; the report shows how much they
//! use.

mod pin;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use caudal_bench::draw::Mix;
use caudal_bench::figures::{Thousandths, grouped, micros, per_second};
use caudal_bench::load::{self, End, Job, Measured};
use caudal_bench::machine::LOAD_THREAD;
use caudal_bench::say;

use crate::report::{Report, Unit};
use crate::runner::{Reopened, Scenario, SetUp, Stage};
use pin::Pin;

/// How long it pauses after each answer.
const PAUSE: Duration = Duration::from_millis(4);
/// How long a run lasts before it counts.
const WARM_UP: Duration = Duration::from_millis(500);
/// The limit for the ratio of its 99th percentile next to a flood to that alone, in thousandths.
const TIMES_MAX: u64 = 1200;

/// Measure a quiet tenant alone and next to floods of another one
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds of each measurement
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Accounts of each tenant
    #[arg(long, default_value_t = 10_000)]
    accounts: u64,
    /// Vouchers in each batch of the flood
    #[arg(long, default_value_t = 5000)]
    items: usize,
    /// How often the quiet tenant is measured alone and next to each flood
    #[arg(long, default_value_t = 5)]
    turns: usize,
    /// Give one half of the processors to the service, the other to the clients
    #[arg(long)]
    pin: bool,
}

/// One kind of flood.
struct Flood {
    name: String,
    clients: usize,
    mix: Mix,
}

/// A measurement of the quiet tenant alone, and one next to a flood.
struct Turn {
    alone: Measured,
    next: Measured,
    flood: Measured,
}

impl Turn {
    fn ratio(&self) -> u64 {
        let [alone, next] = [&self.alone, &self.next].map(|run| run.times.quantile(990));
        Thousandths::ratio(next, alone).0
    }

    fn row(&self, name: &str) -> Vec<String> {
        let clients = self.next.cpu().get(LOAD_THREAD).copied().unwrap_or(0);
        let of = |run: &Measured, part| micros(run.times.quantile(part));
        vec![
            name.to_owned(),
            of(&self.alone, 500),
            of(&self.alone, 990),
            of(&self.next, 500),
            of(&self.next, 990),
            Thousandths(self.ratio()).to_string(),
            grouped(per_second(self.flood.vouchers, self.flood.nanos())),
            grouped(per_second(self.flood.times.count(), self.flood.nanos())),
            grouped(self.flood.wrong),
            Thousandths::ratio(clients, self.next.nanos()).to_string(),
        ]
    }
}

impl Args {
    fn halves(&self) -> anyhow::Result<Option<Pin>> {
        self.pin.then(Pin::halves).transpose()
    }

    fn floods(&self) -> anyhow::Result<[Flood; 3]> {
        let accounts = usize::try_from(self.accounts.max(1))?;
        let flood = |clients, of: &str, mix| Flood {
            name: format!("{clients} clients with {of}"),
            clients,
            mix,
        };
        let batches = format!("batches of {}", self.items);
        Ok([
            flood(8, &batches, Mix::Bulk(self.items, accounts)),
            flood(64, "single vouchers", Mix::Spread(accounts)),
            flood(64, "balances", Mix::Balances(accounts)),
        ])
    }

    /// Runs the quiet tenant's requests on a thread that is pinned if that is asked for.
    async fn quiet(&self, stage: &mut Stage) -> anyhow::Result<Measured> {
        let mix = Mix::Spread(usize::try_from(self.accounts.max(1))?);
        let end = End::After(WARM_UP, Duration::from_secs(self.seconds.max(1)));
        let job = Job {
            pause: PAUSE,
            ..Job::new(&stage.site, 1, mix, end)
        };
        let [tally, _] = &mut stage.tallies;
        let (taken, engine) = (std::mem::take(tally), Arc::clone(&stage.site.engine));
        let pin = self.halves()?;
        let (measured, known) = load::apart(move || {
            pin.map_or(Ok(()), |pin| pin.ask(false))?;
            Ok(load::here(job, taken, engine))
        })
        .await?;
        *tally = known;
        stage.report.went(&measured);
        Ok(measured)
    }

    /// Measures the quiet tenant alone, then next to a flood.
    async fn turn(&self, stage: &mut Stage, flood: &Flood) -> anyhow::Result<Turn> {
        let alone = self.quiet(stage).await?;
        // The flood begins before the quiet tenant's measurement, and ends after it.
        let time = Duration::from_secs(self.seconds.max(1)).saturating_add(WARM_UP);
        let requests = stage
            .neighbour
            .clone()
            .context("there is no second tenant")?;
        let end = End::After(Duration::ZERO, time);
        let job = Job {
            requests,
            ..Job::new(&stage.site, flood.clients, flood.mix, end)
        };
        let [_, tally] = &mut stage.tallies;
        let (taken, engine) = (std::mem::take(tally), Arc::clone(&stage.site.engine));
        let pin = self.halves()?;
        let flood = load::apart(move || {
            pin.map_or(Ok(()), |pin| pin.ask(true))?;
            Ok(load::here(job, taken, engine))
        });
        let (next, flood) = tokio::join!(self.quiet(stage), flood);
        let (flood, known) = flood?;
        let [_, tally] = &mut stage.tallies;
        *tally = known;
        Ok(Turn {
            alone,
            next: next?,
            flood,
        })
    }
}

impl Scenario for Args {
    fn set_up(&self) -> SetUp {
        let halves = self.halves().ok().flatten();
        SetUp {
            title: "a quiet tenant, alone and next to floods of another one".to_owned(),
            accounts: self.accounts.max(1),
            neighbour: Some(self.accounts.max(1)),
            limited: true,
            workers: halves.map(|pin| pin.workers),
            disk: 2 << 30,
            ..SetUp::default()
        }
    }

    fn begin(&self) -> anyhow::Result<()> {
        self.halves()?.map_or(Ok(()), |pin| pin.serve())
    }

    async fn load(&self, stage: &mut Stage) -> anyhow::Result<()> {
        let mut rows = Vec::new();
        for flood in self.floods()? {
            let mut ratios = Vec::new();
            for turn in 1..=self.turns {
                say(&format!("turn {turn} of {}: {}", self.turns, flood.name));
                let turn = self.turn(stage, &flood).await?;
                ratios.push(turn.ratio());
                rows.push(turn.row(&flood.name));
            }
            ratios.sort_unstable();
            let median = ratios.get(ratios.len() / 2).copied().unwrap_or(0);
            let what = format!("p99 next to {} by p99 alone", flood.name);
            stage.report.at_most(&what, median, TIMES_MAX, Unit::Ratio);
        }
        let header = [
            "next to",
            "alone: p50 µs",
            "p99 µs",
            "next: p50 µs",
            "p99 µs",
            "p99 by alone",
            "flood: vouchers/s",
            "requests/s",
            "refused",
            "clients' CPUs",
        ];
        stage.report.table(&header, rows);
        Ok(())
    }

    fn after(&self, _: &Path, _: Reopened, _: &mut Report) -> anyhow::Result<()> {
        Ok(())
    }
}
