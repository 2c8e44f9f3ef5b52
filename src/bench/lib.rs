//! `caudal bench`: measures this machine, and checks the ledger afterwards.
//!
//! **Shape.** The service as it is served, with one extra route that does nothing, and the load, in one process on one
//! machine, so that ratios mean something even where absolute rates do not. The instructions of one answer are counted
//! separately ([`guard`]). First come the [`cases`] side by side, then the [`growth`] of one large store. The [`large`]
//! load is separate.
//!
//! A crate above the service, which it starts and loads; only the program depends on it.
//!
//! **Failure.** A ledger that differs from the acknowledged vouchers, or a wrong answer, is a FAIL and exit code 1. A
//! missed bar is shown, and counts only with `--strict`: a busy machine is not a broken ledger.

pub mod audit;
pub mod bulk;
pub mod callgrind;
pub mod case;
pub mod cases;
pub mod client;
pub mod counted;
pub mod draw;
pub mod figures;
pub mod growth;
pub mod guard;
pub mod killed;
pub mod large;
pub mod load;
pub mod machine;
pub mod neighbours;
pub mod overload;
pub mod pin;
pub mod reopen;
pub mod report;
pub mod rows;
pub mod site;
pub mod tally;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use case::{Bulk, Case};
use report::Report;
use site::Layout;

/// How long a run of a case lasts before measuring begins.
const WARM_UP: Duration = Duration::from_millis(300);

/// Measure this machine, and check the ledger afterwards
///
/// The cases are a no-op, vouchers, bulks, transfers, balances, a long load, and opening again.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Where the stores are made; the folder is removed afterwards.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Keep the stores.
    #[arg(long)]
    keep: bool,
    /// Write the figures as JSON to a file, or with `-` to the standard output (and the table to
    /// the standard error).
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
    /// A run of a few seconds, to see that everything works; its figures mean little.
    #[arg(long)]
    quick: bool,
    /// A missed bar is a failure too.
    #[arg(long)]
    strict: bool,
    /// The cases to run.
    #[arg(long, value_delimiter = ',', value_enum)]
    only: Vec<Case>,
    /// Connections of each case.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64, 256])]
    connections: Vec<usize>,
    /// Seconds of each run of a case.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// How often each case is run; 0 leaves the cases out.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Accounts over which the cases are spread.
    #[arg(long, default_value_t = 10_000)]
    accounts: u64,
    /// Vouchers in each request of the cases with many, at most 10 000.
    #[arg(long, value_name = "VOUCHERS", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    bulk: u16,
    /// Vouchers of the long load; 0 leaves it out.
    #[arg(long, value_name = "VOUCHERS", default_value_t = 1_000_000)]
    load: u64,
    /// Accounts over which the long load is spread.
    #[arg(long, default_value_t = 100_000)]
    load_accounts: u64,
    /// Connections of the long load.
    #[arg(long, default_value_t = 256)]
    load_connections: usize,
    /// Load through the engine directly instead of over HTTP.
    #[arg(long)]
    engine: bool,
    /// Vouchers on one more account, after the long load.
    #[arg(long, value_name = "VOUCHERS", default_value_t = 0)]
    hot: u64,
    /// Only measure a quiet tenant alone and beside another one's floods, five times for this many seconds
    /// each.
    #[arg(long, value_name = "SECONDS", conflicts_with = "overload")]
    neighbours: Option<u64>,
    /// With --neighbours: give one half of the processors to the service, the other to the clients.
    #[arg(long, requires = "neighbours")]
    pin: bool,
    /// Only send twice the load that the service can take, for this many seconds; raise the limit of
    /// open files first (`ulimit -n 20000`).
    #[arg(long, value_name = "SECONDS")]
    overload: Option<u64>,
    /// Only the large load: 20 million vouchers over 2 million accounts by tenths, then cold accounts, a kill, and the whole
    /// ledger. About 45 minutes and 20 GiB of disk with a release build; it says so first.
    #[arg(long, conflicts_with_all = ["neighbours", "overload", "instructions"])]
    large: bool,
    /// With --large: run only one part in this many; its figures mean little.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "large",
        value_parser = clap::value_parser!(u64).range(1..=large::PARTS_MAX))]
    scale: u64,
    /// Only count the instructions of an answer of each kind (needs valgrind) and compare them with the table of this
    /// program; it is a failure if one costs more than 5 % more.
    #[arg(long)]
    instructions: bool,
    /// Write these counts to a file as a new table, and compare nothing.
    #[arg(long, value_name = "FILE", requires = "instructions")]
    instructions_to: Option<PathBuf>,
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

impl Args {
    fn layout(&self) -> Layout {
        Layout {
            workers: self.workers.unwrap_or_else(machine::processors).max(1),
            arbiters: self.arbiters,
            memory: self.memory_bytes,
            resident: None,
        }
    }

    fn cases(&self) -> cases::Plan {
        let all = || Case::ALL.to_vec();
        let plan = cases::Plan {
            cases: Some(self.only.clone())
                .filter(|only| !only.is_empty())
                .unwrap_or_else(all),
            connections: self.connections.clone(),
            rounds: self.rounds,
            time: (WARM_UP, Duration::from_secs(self.seconds.max(1))),
            accounts: self.accounts.max(1),
            bulk: Bulk {
                small: 50,
                large: usize::from(self.bulk),
            },
            layout: self.layout(),
        };
        if self.quick {
            cases::Plan {
                rounds: self.rounds.min(1),
                time: (Duration::from_millis(20), Duration::from_millis(150)),
                accounts: self.accounts.min(200),
                bulk: Bulk {
                    small: 5,
                    large: 20,
                },
                ..plan
            }
        } else {
            plan
        }
    }

    fn growth(&self) -> growth::Plan {
        let plan = growth::Plan {
            vouchers: self.load,
            accounts: self.load_accounts.max(1),
            connections: self.load_connections.max(1),
            engine: self.engine,
            hot: self.hot,
            layout: self.layout(),
        };
        if self.quick {
            growth::Plan {
                vouchers: self.load.min(5000),
                accounts: self.load_accounts.min(500),
                hot: self.hot.min(1000),
                ..plan
            }
        } else {
            plan
        }
    }
}

impl Args {
    fn large_plan(&self) -> large::Plan {
        large::Plan {
            part: self.scale,
            connections: self.load_connections.max(1),
            engine: self.engine,
            layout: self.layout(),
        }
    }
}

/// Measures, prints, and returns whether every check passed.
///
/// # Errors
/// When the service cannot be started or fails.
pub fn run(args: &Args) -> anyhow::Result<bool> {
    let folder = Folder::new(args)?;
    if args.instructions {
        let (holds, text) = guard::run(&folder.path, args.instructions_to.as_deref())?;
        std::io::stdout().lock().write_all(text.as_bytes())?;
        return Ok(holds);
    }
    if let Some(seconds) = args.neighbours {
        let pin = args.pin.then(pin::Pin::halves).transpose()?;
        let plan = neighbours::Plan::of(args.accounts, seconds, args.layout(), pin);
        let found = on_system(neighbours::run(&folder.path, &plan))?;
        write!(std::io::stdout().lock(), "{found}")?;
        return Ok(found.wrong == 0 && (found.holds() || !args.strict));
    }
    if let Some(seconds) = args.overload {
        let plan = overload::Plan {
            accounts: args.accounts.max(1),
            // Below the service's limit, so that a client that reconnects finds a free place.
            connections: 3500,
            time: Duration::from_secs(seconds.max(1)),
            layout: args.layout(),
        };
        let found = on_system(overload::run(&folder.path, &plan))?;
        write!(std::io::stdout().lock(), "{found}")?;
        return Ok(found.passed());
    }
    let report = measure(args, &folder.path)?;
    drop(folder);
    publish(args, &report)?;
    Ok(report.passed() && (report.bars_hold() || !args.strict))
}

/// Runs only the large load if that is requested, or else everything.
fn measure(args: &Args, folder: &Path) -> anyhow::Result<Report> {
    if args.large {
        let mut report = Report::new(args.layout(), args.scale > 1);
        let plan = args.large_plan();
        report.large = Some(large::run(&folder.join("large"), &plan)?);
        return Ok(report);
    }
    let mut report = Report::new(args.layout(), args.quick);
    let plan = args.cases();
    if plan.rounds > 0 {
        let store = folder.join("cases");
        report.compared = Some(on_system(cases::run(&store, &plan))?);
    }
    let plan = args.growth();
    if plan.vouchers > 0 {
        report.grown = Some(growth::run(&folder.join("load"), &plan)?);
    }
    Ok(report)
}

fn publish(args: &Args, report: &Report) -> anyhow::Result<()> {
    let text = report.to_string();
    let json = match &args.json {
        None => return Ok(std::io::stdout().lock().write_all(text.as_bytes())?),
        Some(file) => file,
    };
    let figures = serde_json::to_vec_pretty(report)?;
    if json.as_path() == Path::new("-") {
        std::io::stderr().lock().write_all(text.as_bytes())?;
        std::io::stdout().lock().write_all(&figures)?;
    } else {
        std::io::stdout().lock().write_all(text.as_bytes())?;
        std::fs::write(json, figures).with_context(|| format!("writing {}", json.display()))?;
    }
    Ok(())
}

/// Runs the work on an actix system of its own, and ends its threads.
fn on_system<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let system = actix::System::new();
    let outcome = system.block_on(work);
    actix::System::current().stop();
    system.run()?;
    outcome
}

/// Prints the current step on standard error.
fn say(what: &str) {
    let mut out = std::io::stderr().lock();
    // If this fails, nobody is watching.
    drop(writeln!(out, "bench: {what}"));
}

/// The folder of the stores, which is removed at the end.
struct Folder {
    path: PathBuf,
    keep: bool,
}

impl Folder {
    fn new(args: &Args) -> anyhow::Result<Self> {
        let name = format!("caudal-bench-{}", std::process::id());
        // Not the system's folder for temporary files: that may be memory, or another disk.
        let path = args.dir.clone().unwrap_or_default().join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        let keep = args.keep;
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
        let plan = cases::Plan {
            cases: Case::ALL.to_vec(),
            connections: vec![1, 16],
            rounds: 1,
            time: (Duration::from_millis(5), Duration::from_millis(60)),
            accounts: 20,
            bulk: Bulk { small: 3, large: 9 },
            layout: Layout {
                workers: 1,
                arbiters: 1,
                memory: None,
                resident: None,
            },
        };
        let compared = on_system(cases::run(folder.path(), &plan)).unwrap();
        assert_eq!(compared.first_wrong, None);
        assert!(compared.audit.passed(), "{:?}", compared.audit);
        assert!(compared.audit.acknowledged > 0);
        assert_eq!(compared.rows.len(), 18);
        assert!(compared.best_bulk() > Some(0) && compared.transfer_to_spread.is_some());
        // On a busy machine a single window may pass without an answer, but not all of them.
        assert!(compared.rows.iter().any(|row| row.per_second > 0));
        let mut report = Report::new(plan.layout, true);
        report.compared = Some(compared);
        let shown = report.to_string();
        assert!(
            report.passed() && shown.contains("ledger after the cases: ok"),
            "{shown}"
        );
        report.compared.as_mut().unwrap().wrong_answers = 1;
        assert!(!report.passed() && report.to_string().contains("FAIL"));
    }
}
