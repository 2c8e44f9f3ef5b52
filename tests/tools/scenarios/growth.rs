//! A store as it is after years: whether it is as fast as at the beginning, and what reading an account costs.
//!
//! **Shape.** Vouchers over many accounts, by tenths; then, if only some accounts fit in memory, vouchers for accounts
//! that are there next to vouchers for any.

use std::path::Path;

use caudal_bench::draw::Mix;
use caudal_bench::figures::{Thousandths, grouped, micros, per_second, scaled};
use caudal_bench::load::{End, Job, Measured};
use caudal_bench::{machine, say};
use caudal_storage::Stats;

use crate::report::{Report, Unit, mebibytes};
use crate::runner::{Reopened, Scenario, SetUp, Stage};

/// The threads on which accounts are read.
const READERS: &str = "tokio-rt-worker";
/// Bytes that a voucher takes on the disk while the store grows.
const DISK: u64 = 1000;
/// The least disk that any store takes, in bytes: segments, and reserved room.
const DISK_LEAST: u64 = 1 << 30;
/// The concurrent clients that post on one account.
const HOT_CONNECTIONS: usize = 64;

/// Load a growing store, by tenths
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Vouchers of the load
    #[arg(long, default_value_t = 1_000_000)]
    vouchers: u64,
    /// Accounts over which they are spread
    #[arg(long, default_value_t = 100_000)]
    accounts: u64,
    /// The most accounts in memory
    #[arg(long)]
    resident: Option<u64>,
    /// Vouchers on one more account, after the load
    #[arg(long, value_name = "VOUCHERS", default_value_t = 0)]
    hot: u64,
    /// Concurrent clients
    #[arg(long, default_value_t = 256)]
    connections: usize,
}

/// Load 20 million vouchers over 2 million accounts, a tenth of which fit in memory
///
/// Takes about 45 minutes on two processors with a release build, and 20 GiB of disk.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct LargeArgs {
    /// Only one part in this many, in the same proportions
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    scale: u64,
    /// Concurrent clients
    #[arg(long, default_value_t = 256)]
    connections: usize,
}

/// A growing store.
pub(crate) struct Growth(Args);

impl Args {
    pub(crate) fn scenario(&self) -> Growth {
        Growth(self.clone())
    }
}

impl LargeArgs {
    pub(crate) fn scenario(&self) -> Growth {
        let part = |whole: u64| whole / self.scale.clamp(1, 10_000);
        Growth(Args {
            vouchers: part(20_000_000),
            accounts: part(2_000_000),
            resident: Some(part(200_000)),
            hot: 0,
            connections: self.connections,
        })
    }
}

fn rate(run: &Measured) -> u64 {
    per_second(run.times.count(), run.nanos())
}

fn tenth(nth: u64, run: &Measured) -> Vec<String> {
    let flushes = run.grew(|stats| stats.flushes);
    let flush = scaled(run.grew(|stats| stats.flush_us), 1000, flushes);
    let count = run.times.count();
    vec![
        nth.to_string(),
        grouped(rate(run)),
        Thousandths::ratio(run.grew(|stats| stats.commits), flushes).to_string(),
        micros(flush),
        grouped(scaled(run.grew(|stats| stats.journal_bytes), 1, count)),
        micros(scaled(machine::of_service(&run.cpu()), 1, count)),
        run.taken_by_others().to_string(),
        mebibytes(run.to.stats.index_disk_bytes),
        run.to.stats.index_runs.to_string(),
        mebibytes(run.to.memory),
    ]
}

impl Growth {
    fn job(&self, stage: &Stage, accounts: u64, answers: u64) -> anyhow::Result<Job> {
        let mix = Mix::Spread(usize::try_from(accounts)?);
        let connections = self.0.connections.max(1);
        Ok(Job::new(
            &stage.site,
            connections,
            mix,
            End::Answers(answers),
        ))
    }

    /// Vouchers for accounts that are in memory, and for any.
    async fn cold(&self, stage: &mut Stage, resident: u64) -> anyhow::Result<()> {
        let few = self.0.vouchers / 40;
        // Half of the accounts that fit in memory, requested until nearly each of them has been loaded.
        let warm = (resident / 2).max(1);
        say("vouchers for accounts that are in memory");
        let job = self.job(stage, warm, warm.saturating_mul(4))?;
        stage.run(job).await?;
        let job = self.job(stage, warm, few)?;
        let warm = stage.run(job).await?;
        say("vouchers for any account");
        let job = self.job(stage, self.0.accounts, few / 10)?;
        stage.run(job).await?;
        let job = self.job(stage, self.0.accounts, few)?;
        let any = stage.run(job).await?;
        let each = |of: fn(&Stats) -> u64| Thousandths::ratio(any.grew(of), any.times.count()).0;
        let readers = any.cpu().get(READERS).copied().unwrap_or(0);
        let report = &mut stage.report;
        report.figure(
            "vouchers for accounts in memory",
            rate(&warm),
            Unit::PerSecond,
        );
        report.figure("vouchers for any account", rate(&any), Unit::PerSecond);
        report.figure(
            "rows asked for by such a voucher",
            each(|it| it.index_gets),
            Unit::Ratio,
        );
        report.figure(
            "blocks read for it",
            each(|it| it.index_blocks_read),
            Unit::Ratio,
        );
        let ratio = Thousandths::ratio(rate(&any), rate(&warm)).0;
        let what = "vouchers for any account by such for those in memory";
        report.at_least(what, ratio, 500, Unit::Ratio);
        let reading = scaled(readers, 1, any.times.count());
        let what = "CPU of reading an account, for a voucher of any";
        report.at_most(what, reading, 12_000, Unit::Micros);
        Ok(())
    }
}

impl Scenario for Growth {
    fn set_up(&self) -> SetUp {
        let Args {
            vouchers,
            accounts,
            hot,
            ..
        } = self.0;
        let extra = u64::from(hot > 0);
        SetUp {
            title: format!(
                "{} vouchers over {} accounts",
                grouped(vouchers),
                grouped(accounts)
            ),
            accounts: accounts.max(1).saturating_add(extra),
            resident: self.0.resident,
            disk: vouchers
                .saturating_add(hot)
                .saturating_mul(DISK)
                .saturating_add(DISK_LEAST),
            ..SetUp::default()
        }
    }

    async fn load(&self, stage: &mut Stage) -> anyhow::Result<()> {
        let mut tenths = Vec::new();
        for nth in 1..=10_u64 {
            let job = self.job(stage, self.0.accounts.max(1), self.0.vouchers / 10)?;
            let run = stage.run(job).await?;
            say(&format!("tenth {nth} of 10: {}/s", grouped(rate(&run))));
            tenths.push(run);
        }
        let header = [
            "tenth",
            "vouchers/s",
            "group",
            "flush µs",
            "journal bytes",
            "CPU µs",
            "others",
            "index MiB",
            "runs",
            "memory MiB",
        ];
        let rows = (1..).zip(&tenths).map(|(nth, run)| tenth(nth, run));
        stage.report.table(&header, rows.collect());
        if let [first, .., last] = tenths.as_slice() {
            let ratio = Thousandths::ratio(rate(last), rate(first)).0;
            stage
                .report
                .at_least("last tenth by the first", ratio, 900, Unit::Ratio);
        }
        if self.0.hot > 0 {
            say("vouchers on one account");
            let mix = Mix::Hot(usize::try_from(self.0.accounts.max(1))?);
            let end = End::Answers(self.0.hot);
            let job = Job::new(&stage.site, HOT_CONNECTIONS, mix, end);
            stage.run(job).await?;
        }
        match self.0.resident {
            Some(resident) => self.cold(stage, resident).await,
            None => Ok(()),
        }
    }

    fn after(&self, _: &Path, reopened: Reopened, report: &mut Report) -> anyhow::Result<()> {
        let ready = reopened.ready_nanos;
        report.at_most(
            "first balance after the kill",
            ready,
            3_000_000_000,
            Unit::Seconds,
        );
        let bytes = reopened.disk_bytes_of_voucher;
        report.at_most("bytes on disk of a voucher", bytes, 400, Unit::Bytes);
        Ok(())
    }
}
