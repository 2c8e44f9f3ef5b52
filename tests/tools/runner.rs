//! The scenario runner: set-up, load, kill, opening again, check of the ledger, report; the same for every scenario.
//!
//! **Shape.** This program starts itself once more with a folder ([`Options::inside`]). That process makes the data
//! folder of a service, serves it, loads it, writes what it measured ([`Outcome`]), and kills itself. So whatever is
//! opened afterwards was left by a kill, and the time and memory of opening are those of a fresh process.
//!
//! **Bounds.** A scenario that needs more disk than there is does not start.
//!
//! **Failure.** A difference in the ledger or a wrong answer fails the scenario, a missed bar only with `--strict`.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use caudal_actors::in_flight::LIMIT;
use caudal_actors::realms::Target;
use caudal_bench::client::Requests;
use caudal_bench::figures::{nanos, scaled};
use caudal_bench::load::{self, Job, Measured};
use caudal_bench::machine;
use caudal_bench::site::{Layout, Site};
use caudal_bench::tally::Tally;
use caudal_bench::{Folder, audit, on_system, publish, say};
use caudal_ledger::ids::{AccountNo, RealmId};
use caudal_service::Service;
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};

use crate::Options;
use crate::clock::ClockAhead;
use crate::report::{Report, Unit, mebibytes};

/// The file with the [`Outcome`] of a load.
const OUTCOME: &str = "outcome.json";

/// What a scenario needs before its load.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetUp {
    /// One line about the scenario.
    pub(crate) title: String,
    /// Accounts of the first tenant.
    pub(crate) accounts: u64,
    /// Accounts of a second tenant, if there is one.
    pub(crate) neighbour: Option<u64>,
    /// The most accounts in memory.
    pub(crate) resident: Option<u64>,
    /// Whether a realm may have only as much in flight as `serve` allows.
    pub(crate) limited: bool,
    /// Threads that serve HTTP, unless that is given.
    pub(crate) workers: Option<usize>,
    /// Bytes of disk that it takes.
    pub(crate) disk: u64,
}

/// What opening again took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reopened {
    /// Nanoseconds until the first balance was read.
    pub(crate) ready_nanos: u64,
    /// Bytes of the store on the disk, by voucher.
    pub(crate) disk_bytes_of_voucher: u64,
}

/// A measurement with its set-up and its load.
pub(crate) trait Scenario {
    /// What it needs.
    fn set_up(&self) -> SetUp;

    /// Before the threads of the service are started.
    fn begin(&self) -> anyhow::Result<()> {
        Ok(())
    }

    /// Loads the service, and reports what is measured meanwhile.
    async fn load(&self, stage: &mut Stage) -> anyhow::Result<()>;

    /// Reports what is measured on the data folder after the kill, when nothing serves it.
    fn after(&self, data: &Path, reopened: Reopened, report: &mut Report) -> anyhow::Result<()>;
}

/// The service under load, and what is known of its ledger.
pub(crate) struct Stage {
    pub(crate) site: Site,
    /// Its clock.
    pub(crate) clock: Arc<ClockAhead>,
    /// The requests of the second tenant.
    pub(crate) neighbour: Option<Arc<Requests>>,
    /// What the tenants were acknowledged.
    pub(crate) tallies: [Tally; 2],
    pub(crate) report: Report,
}

impl Stage {
    /// Runs a load of the first tenant, whose answers all have to be right.
    pub(crate) async fn run(&mut self, job: Job) -> anyhow::Result<Measured> {
        let [own, _] = &mut self.tallies;
        let (measured, known) = load::run(&self.site, job, std::mem::take(own)).await?;
        *own = known;
        self.report.went(&measured);
        Ok(measured)
    }
}

/// What the process of the load leaves.
#[derive(Serialize, Deserialize)]
struct Outcome {
    report: Report,
    realms: Vec<(RealmId, Tally)>,
}

/// Runs a scenario; returns whether it passed.
///
/// # Errors
/// When there is not enough room, or the service fails.
pub(crate) fn run(scenario: &impl Scenario, options: &Options) -> anyhow::Result<bool> {
    if let Some(folder) = &options.inside {
        scenario.begin()?;
        return on_system(inside(scenario, folder, options.threads.layout()));
    }
    let set_up = scenario.set_up();
    let folder = Folder::new(options.dir.as_deref(), options.keep)?;
    let disk = rustix::fs::statvfs(&folder.path)?;
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    ensure!(
        free >= set_up.disk,
        "this takes up to {} MiB, and {} MiB are free for {}: name another disk with --dir",
        mebibytes(set_up.disk),
        mebibytes(free),
        folder.path.display()
    );
    say(&set_up.title);
    let mut program = Command::new(std::env::current_exe()?);
    program.args(std::env::args_os().skip(1));
    let status = program.arg("--inside").arg(&folder.path).status()?;
    ensure!(
        status.signal() == Some(Signal::KILL.as_raw()),
        "the process of the load failed: {status}"
    );
    let file = File::open(folder.path.join(OUTCOME)).context("what the load measured")?;
    let Outcome { mut report, realms } = serde_json::from_reader(BufReader::new(file))?;
    report.scenario = set_up.title;
    let data = folder.path.join("data");
    let reopened = on_system(after_kill(&data, &realms, &mut report))?;
    scenario.after(&data, reopened, &mut report)?;
    drop(folder);
    publish(&report, options.json)?;
    Ok(report.passed() && (report.bars_hold() || !options.strict))
}

/// Makes the data folder, serves and loads it, leaves what was measured, and kills this process.
async fn inside(scenario: &impl Scenario, folder: &Path, threads: Layout) -> anyhow::Result<bool> {
    let set_up = scenario.set_up();
    let layout = Layout {
        resident: set_up.resident.map(usize::try_from).transpose()?,
        in_flight: set_up.limited.then_some(LIMIT),
        workers: set_up.workers.unwrap_or(threads.workers),
        ..threads
    };
    say("opening accounts");
    let clock = Arc::<ClockAhead>::default();
    let mut options = layout.options(&folder.join("data"))?;
    options.clock = Arc::<ClockAhead>::clone(&clock);
    let site = Site::build(options, set_up.accounts).await?;
    let (mut neighbour, mut realms) = (None, vec![site.realm]);
    if let Some(accounts) = set_up.neighbour {
        let (realm, requests) = site.neighbour(accounts).await?;
        neighbour = Some(requests);
        realms.push(realm);
    }
    let tallies = [set_up.accounts, set_up.neighbour.unwrap_or(0)].map(Tally::new);
    let mut stage = Stage {
        site,
        clock,
        neighbour,
        tallies,
        report: Report::default(),
    };
    scenario.load(&mut stage).await?;
    let outcome = Outcome {
        report: stage.report,
        realms: realms.into_iter().zip(stage.tallies).collect(),
    };
    let mut file = BufWriter::new(File::create(folder.join(OUTCOME))?);
    serde_json::to_writer(&mut file, &outcome)?;
    file.into_inner()?.sync_all()?;
    // The service still runs: the kill is to find it so.
    kill_process(getpid(), Signal::KILL)?;
    bail!("a process outlives its own kill")
}

/// Opens the store that a kill has left, and compares its ledger with what was acknowledged.
async fn after_kill(
    data: &Path,
    realms: &[(RealmId, Tally)],
    report: &mut Report,
) -> anyhow::Result<Reopened> {
    say("opening the store after the kill");
    let begun = Instant::now();
    let layout = Layout {
        arbiters: 2,
        ..Layout::default()
    };
    let service = Service::start(layout.options(data)?)?;
    let engine = Arc::clone(&service.engine);
    let actors_nanos = nanos(begun.elapsed());
    let [(realm, _), ..] = realms else {
        bail!("a load without a tenant");
    };
    engine
        .queries()
        .balance(*realm, Target::Account(AccountNo(1)))
        .await?;
    let ready_nanos = nanos(begun.elapsed());
    report.figure("opened after a kill", actors_nanos, Unit::Seconds);
    report.figure("its first balance", ready_nanos, Unit::Seconds);
    report.figure("memory then", machine::memory(), Unit::Mebibytes);
    say("checking the ledger");
    let known: Vec<_> = realms
        .iter()
        .map(|(realm, tally)| (*realm, tally))
        .collect();
    let ledger = audit::ledger(engine.store().as_ref(), &known)?;
    drop(engine);
    service.stop().await?;
    let disk_bytes = disk_bytes(&data.join("store"));
    let disk_bytes_of_voucher = scaled(disk_bytes, 1, ledger.vouchers);
    report.figure("the store on the disk", disk_bytes, Unit::Mebibytes);
    report.figure(
        "of a voucher, accounts included",
        disk_bytes_of_voucher,
        Unit::Bytes,
    );
    report.ledger = Some(ledger);
    Ok(Reopened {
        ready_nanos,
        disk_bytes_of_voucher,
    })
}

/// Bytes that a folder takes on the disk.
fn disk_bytes(folder: &Path) -> u64 {
    let items = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = items.filter_map(|item| {
        let meta = item.metadata().ok()?;
        Some(if meta.is_dir() {
            disk_bytes(&item.path())
        } else {
            meta.blocks().saturating_mul(512)
        })
    });
    bytes.fold(0, u64::saturating_add)
}
