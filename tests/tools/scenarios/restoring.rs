//! How fast a backup is restored and checked, with the program as operators use it.
//!
//! **Shape.** Vouchers in batches; then `caudal backup` of the data folder, `caudal restore` of the backup into another
//! one, and `caudal verify` of that.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};
use caudal_bench::draw::Mix;
use caudal_bench::figures::{grouped, nanos, per_second};
use caudal_bench::load::{End, Job};
use caudal_bench::say;

use crate::report::{Report, Unit};
use crate::runner::{Reopened, Scenario, SetUp, Stage};

/// Vouchers in each batch.
const ITEMS: usize = 1000;
/// Concurrent clients.
const CONNECTIONS: usize = 16;
/// Bytes that a voucher takes on the disk: twice in a folder, once in the backup.
const DISK: u64 = 1500;

/// Back up, restore and verify a large ledger with the program `caudal`
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// Vouchers, in thousands
    #[arg(long, default_value_t = 10_000)]
    thousands: u64,
    /// Accounts over which they are spread
    #[arg(long, default_value_t = 1_000_000)]
    accounts: u64,
    /// The program [default: the one next to this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

impl Args {
    /// Runs a command of the program, and returns the nanoseconds that it took.
    fn caudal(&self, args: &[&str], folders: &[(&str, &Path)]) -> anyhow::Result<u64> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => std::env::current_exe()?.with_file_name("caudal"),
        };
        let mut command = Command::new(&program);
        command.args(args).stdout(Stdio::null());
        for (option, folder) in folders {
            command.arg(option).arg(folder);
        }
        say(&format!("caudal {}", args.join(" ")));
        let begun = Instant::now();
        let status = command.status();
        let status = status.with_context(|| format!("running {}", program.display()))?;
        ensure!(
            status.success(),
            "caudal {} failed: {status}",
            args.join(" ")
        );
        Ok(nanos(begun.elapsed()))
    }
}

impl Scenario for Args {
    fn set_up(&self) -> SetUp {
        let vouchers = self.thousands.saturating_mul(1000);
        SetUp {
            title: format!("a backup of {} vouchers is restored", grouped(vouchers)),
            accounts: self.accounts.max(1),
            disk: vouchers.saturating_mul(DISK).saturating_add(2 << 30),
            ..SetUp::default()
        }
    }

    async fn load(&self, stage: &mut Stage) -> anyhow::Result<()> {
        let mix = Mix::Bulk(ITEMS, usize::try_from(self.accounts.max(1))?);
        let end = End::Answers(self.thousands);
        let job = Job::new(&stage.site, CONNECTIONS, mix, end);
        let run = stage.run(job).await?;
        let rate = per_second(run.vouchers, run.nanos());
        stage
            .report
            .figure("vouchers posted in batches", rate, Unit::PerSecond);
        Ok(())
    }

    fn after(&self, data: &Path, _: Reopened, report: &mut Report) -> anyhow::Result<()> {
        let [backup, restored] = ["backup", "restored"].map(|name| data.with_file_name(name));
        let shipped = self.caudal(&["backup"], &[("--data", data), ("--to", &backup)])?;
        let folders = [("--from", backup.as_path()), ("--into", &restored)];
        let took = self.caudal(&["restore"], &folders)?;
        let verified = self.caudal(&["verify"], &[("--data", &restored)])?;
        report.figure("backup", shipped, Unit::Seconds);
        report.figure("restore, with its check", took, Unit::Seconds);
        report.figure("verify", verified, Unit::Seconds);
        let rate = per_second(self.thousands.saturating_mul(1000), took);
        report.at_least("vouchers restored", rate, 200_000, Unit::PerSecond);
        Ok(())
    }
}
