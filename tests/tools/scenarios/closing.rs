//! Days that close: how long it takes, what it costs the vouchers that are posted meanwhile, and the proof of an account.
//!
//! **Shape.** Each account has a voucher of the first day. Vouchers are posted alone, and then while one day after the
//! other is closed, in turns, so that other activity of the machine affects both.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use actix_web::rt;
use anyhow::Context as _;
use caudal_actors::engine::Engine;
use caudal_bench::draw::Mix;
use caudal_bench::figures::{Thousandths, grouped, nanos, per_second};
use caudal_bench::load::{End, Job, Measured};
use caudal_bench::say;
use caudal_http::bodies::days::DayProofBody;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;

use crate::clock::ClockAhead;
use crate::report::{Report, Unit};
use crate::runner::{Reopened, Scenario, SetUp, Stage};

/// How long a run lasts before it counts.
const WARM_UP: Duration = Duration::from_millis(500);
/// How long after its end a day is closed, in milliseconds.
const GRACE: u64 = 600_000;
/// How long vouchers that were decided before the clock moved may take until they are committed: they belong to the day that is
/// over, and a service closes it only after its grace.
const SETTLE: Duration = Duration::from_secs(1);
/// Bytes that an account with a voucher takes on the disk.
const DISK: u64 = 3000;
/// The least disk that any store takes, in bytes.
const DISK_LEAST: u64 = 1 << 30;

/// Measure how days close next to vouchers
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Accounts, each with a voucher
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u64,
    /// Seconds of each measurement
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// How often vouchers are measured alone and next to closing days
    #[arg(long, default_value_t = 3)]
    turns: usize,
    /// Concurrent clients
    #[arg(long, default_value_t = 64)]
    connections: usize,
}

/// Closes one day after the other until it is to stop. Returns how long each took, and the last one.
async fn close_days(
    engine: Arc<Engine>,
    clock: Arc<ClockAhead>,
    realm: RealmId,
    stop: Arc<AtomicBool>,
) -> anyhow::Result<(Vec<Duration>, BusinessDay)> {
    let mut took = Vec::new();
    loop {
        clock.next_day();
        rt::time::sleep(SETTLE).await;
        let begun = Instant::now();
        let closed = engine.ledger().close_next_day(realm, GRACE, "closing");
        let date = closed.await?.context("no day is due")?;
        took.push(begun.elapsed());
        if stop.load(Ordering::Relaxed) {
            return Ok((took, date));
        }
    }
}

impl Args {
    async fn posted(&self, stage: &mut Stage) -> anyhow::Result<Measured> {
        let mix = Mix::Spread(usize::try_from(self.accounts.max(1))?);
        let end = End::After(WARM_UP, Duration::from_secs(self.seconds.max(1)));
        let job = Job::new(&stage.site, self.connections.max(1), mix, end);
        stage.run(job).await
    }
}

impl Scenario for Args {
    fn set_up(&self) -> SetUp {
        SetUp {
            title: format!("days of {} accounts close", grouped(self.accounts)),
            accounts: self.accounts.max(1),
            disk: self
                .accounts
                .saturating_mul(DISK)
                .saturating_add(DISK_LEAST),
            ..SetUp::default()
        }
    }

    async fn load(&self, stage: &mut Stage) -> anyhow::Result<()> {
        say("a voucher for each account");
        let [tally, _] = &mut stage.tallies;
        *tally = stage.site.fund(std::mem::take(tally)).await?;
        let (mut rows, mut ratios, mut all, mut last) = (Vec::new(), Vec::new(), Vec::new(), None);
        for turn in 1..=self.turns.max(1) {
            say(&format!("turn {turn} of {}", self.turns));
            let alone = self.posted(stage).await?;
            let stop = Arc::<AtomicBool>::default();
            let engine = Arc::clone(&stage.site.engine);
            let clock = Arc::clone(&stage.clock);
            let closing = close_days(engine, clock, stage.site.realm, Arc::clone(&stop));
            let closing = rt::spawn(closing);
            let next = self.posted(stage).await?;
            stop.store(true, Ordering::Relaxed);
            let (took, date) = closing.await??;
            let [alone, next] = [&alone, &next].map(|run| per_second(run.vouchers, run.nanos()));
            let ratio = Thousandths::ratio(next, alone);
            let longest = took.iter().copied().max().map_or(0, nanos);
            rows.push(vec![
                grouped(alone),
                grouped(next),
                ratio.to_string(),
                took.len().to_string(),
                Unit::Seconds.show(longest),
            ]);
            ratios.push(ratio.0);
            all.extend(took.into_iter().map(nanos));
            last = Some(date);
        }
        let header = [
            "alone: vouchers/s",
            "next to closing: vouchers/s",
            "by alone",
            "days closed",
            "longest",
        ];
        stage.report.table(&header, rows);
        ratios.sort_unstable();
        all.sort_unstable();
        let median = |all: &[u64]| all.get(all.len() / 2).copied().unwrap_or(0);
        let what = "vouchers next to closing days by vouchers alone";
        let report = &mut stage.report;
        report.at_least(what, median(&ratios), 900, Unit::Ratio);
        let longest = all.last().copied().unwrap_or(0);
        report.at_most(
            "the longest closing",
            longest,
            10_000_000_000,
            Unit::Seconds,
        );
        report.figure("the median closing", median(&all), Unit::Seconds);
        let cvu = Cvu::parse(stage.site.requests.cvu(0))?;
        let begun = Instant::now();
        let date = last.context("no day was closed")?;
        let queries = stage.site.engine.queries();
        let proof = queries.day_proof(stage.site.realm, date, cvu).await?;
        report.figure("making a proof", nanos(begun.elapsed()), Unit::Micros);
        let bytes = serde_json::to_vec(&DayProofBody::from(&proof))?.len();
        report.at_most("bytes of a proof", u64::try_from(bytes)?, 4096, Unit::Bytes);
        Ok(())
    }

    fn after(&self, _: &Path, _: Reopened, _: &mut Report) -> anyhow::Result<()> {
        Ok(())
    }
}
