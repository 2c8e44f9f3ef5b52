//! `caudal bench`: measures whether a machine is good enough for Caudal, and checks the ledger afterwards.
//!
//! **Shape.** The service as it is served, with one extra route that does nothing, and the load, in one process on one
//! machine, so that ratios mean something even where absolute rates do not. Each [`Case`] is a row of the report. Its
//! parts (client, load, figures) are public for `tests/tools`, which measures everything else.
//!
//! **Failure.** A ledger that differs from the acknowledged vouchers, or a wrong answer, is a FAIL and exit code 1. A
//! missed bar is shown, and counts only with `--strict`: a busy machine is not a broken ledger.

pub mod audit;
mod cases;
pub mod client;
pub mod draw;
pub mod figures;
mod flush;
pub mod load;
pub mod machine;
mod report;
pub mod site;
pub mod table;
pub mod tally;

use std::fmt::Display;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use clap::ValueEnum as _;

use serde::Serialize;

use cases::{Case, Plan};
use report::Report;
use site::Layout;

/// How long a run of a case lasts before measuring begins.
const WARM_UP: Duration = Duration::from_millis(300);

/// Measure whether this machine is good enough, and check the ledger afterwards
///
/// Starts the service in a new folder, loads it from this process, and prints one row for each case and number of
/// connections: empty requests, flushes of the disk, vouchers one by one on many CVUs and on one, internal transfers,
/// vouchers in bulk, balances, and vouchers on accounts that are not in memory. The bars below the table say whether
/// the machine serves one tenant at its default limit. Takes about two minutes; --quick takes seconds.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Where the stores are made: a folder of the disk that is to be measured. They are removed afterwards.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Print the figures as JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// A run of a few seconds, to see that everything works; its figures mean little.
    #[arg(long)]
    quick: bool,
    /// A missed bar is a failure too.
    #[arg(long)]
    strict: bool,
    /// Run only these cases.
    #[arg(long, value_name = "CASE", value_delimiter = ',', value_enum)]
    only: Vec<Case>,
    /// Connections of each case.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 256])]
    connections: Vec<usize>,
    /// Seconds of each run of a case.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Accounts over which the cases are spread.
    #[arg(long, default_value_t = 10_000)]
    accounts: u64,
    /// Vouchers in each bulk, at most 10 000.
    #[arg(long, value_name = "VOUCHERS", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    bulk: u16,
    #[command(flatten)]
    threads: Threads,
}

/// The threads and the memory of the measured service.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Threads {
    /// Threads that serve HTTP [default: as many as there are processors].
    #[arg(long)]
    workers: Option<usize>,
    /// Threads for actors.
    #[arg(long, default_value_t = 2)]
    arbiters: usize,
    /// The memory that the process aims at, the load's own included, like the setting `memory_bytes`.
    #[arg(long, value_name = "BYTES")]
    memory_bytes: Option<u64>,
}

impl Threads {
    /// The layout of a service with these threads.
    pub fn layout(self) -> Layout {
        Layout {
            workers: self.workers.unwrap_or_else(machine::processors).max(1),
            arbiters: self.arbiters,
            memory: self.memory_bytes,
            ..Layout::default()
        }
    }
}

impl Args {
    fn plan(&self) -> Plan {
        let mut cases = self.only.clone();
        if cases.is_empty() {
            cases = Case::value_variants().to_vec();
        }
        let plan = Plan {
            cases,
            connections: self.connections.clone(),
            time: (WARM_UP, Duration::from_secs(self.seconds.max(1))),
            accounts: self.accounts.max(1),
            bulk: usize::from(self.bulk),
            layout: self.threads.layout(),
        };
        if !self.quick {
            return plan;
        }
        Plan {
            time: (Duration::from_millis(20), Duration::from_millis(150)),
            accounts: self.accounts.min(200),
            bulk: plan.bulk.min(20),
            ..plan
        }
    }
}

/// Measures, prints, and returns whether every check passed.
///
/// # Errors
/// When the service cannot be started or fails.
pub fn run(args: &Args) -> anyhow::Result<bool> {
    let folder = Folder::new(args.dir.as_deref(), false)?;
    let plan = args.plan();
    let found = on_system(cases::run(&folder.path, &plan))?;
    drop(folder);
    let report = Report::new(plan.layout, args.quick, found);
    publish(&report, args.json)?;
    Ok(report.passed() && (report.bars_hold() || !args.strict))
}

/// Prints a report, as JSON or for people.
pub fn publish<R: Serialize + Display>(report: &R, json: bool) -> anyhow::Result<()> {
    let text = if json {
        serde_json::to_string_pretty(report)?
    } else {
        report.to_string()
    };
    Ok(writeln!(std::io::stdout().lock(), "{}", text.trim_end())?)
}

/// Runs the work on an actix system of its own, and ends its threads.
pub fn on_system<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let system = actix::System::new();
    let outcome = system.block_on(work);
    actix::System::current().stop();
    system.run()?;
    outcome
}

/// Prints the current step on standard error.
pub fn say(what: &str) {
    let mut out = std::io::stderr().lock();
    // If this fails, nobody is watching.
    drop(writeln!(out, "bench: {what}"));
}

/// The folder of the stores, which is removed at the end.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    keep: bool,
}

impl Folder {
    /// Makes the folder in a given one, or else in the current one.
    pub fn new(inside: Option<&Path>, keep: bool) -> anyhow::Result<Self> {
        let name = format!("caudal-bench-{}", std::process::id());
        // Not the system's folder for temporary files: that may be memory, or another disk.
        let path = inside.unwrap_or(Path::new("")).join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self { path, keep })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.keep {
            say(&format!("the stores are in {}", self.path.display()));
        } else if let Err(why) = std::fs::remove_dir_all(&self.path) {
            say(&format!("{} stays: {why}", self.path.display()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_of_every_case_finds_the_ledger_right() {
        let folder = tempfile::tempdir().unwrap();
        let plan = Plan {
            cases: Case::value_variants().to_vec(),
            connections: vec![1, 16],
            time: (Duration::from_millis(5), Duration::from_millis(60)),
            accounts: 40,
            bulk: 9,
            layout: Layout {
                workers: 1,
                arbiters: 1,
                ..Layout::default()
            },
        };
        let found = on_system(cases::run(folder.path(), &plan)).unwrap();
        assert_eq!((found.wrong_answers, &found.first_wrong), (0, &None));
        // One store for accounts in memory, one for those that are not.
        assert_eq!(found.audits.len(), 2);
        for audit in &found.audits {
            assert!(audit.passed() && audit.acknowledged > 0, "{audit:?}");
        }
        // Flushes are measured on one thread only.
        assert_eq!(found.rows.len(), 2 * Case::value_variants().len() - 1);
        // On a busy machine a single window may pass without an answer, but not all of them.
        assert!(found.rows.iter().any(|row| row.per_second > 0));
        let mut report = Report::new(plan.layout, true, found);
        let shown = report.to_string();
        assert!(report.passed() && shown.contains("ledger: ok"), "{shown}");
        report.found.wrong_answers = 1;
        assert!(!report.passed() && report.to_string().contains("FAIL"));
    }
}
