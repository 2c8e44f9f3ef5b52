//! `caudal backup`: ships a journal to a depot, and verifies the depot.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use caudal::backup::BackupError;
use caudal::backup::chain::{self, Kept, Walked};
use caudal::backup::depot::{self, Depot};
use caudal::backup::fleet::{Fleet, Known, Stand};
use caudal::backup::level::{Alone, Level};
use caudal::backup::names::hex;
use caudal::backup::ship::Cut;
use caudal::backup::verify;
use caudal::service::{self, BackupChoice};
use caudal_ledger::time::Timestamp;
use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::process;
use super::remote::{Which, shown};
use super::stopped::Stopped;
use super::terminal::{self, say, wait};

/// Back up the journal, or verify a backup
///
/// A running service ships by itself to its setting `backup.to`; without --data, this command makes it ship now and
/// waits. An interrupted backup continues where it was when the command runs again.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    check: Option<Check>,
    /// The data folder of a stopped service; overrides CAUDAL_ADMIN_URL
    #[arg(long, value_name = "DIR", requires = "to")]
    data: Option<PathBuf>,
    /// The destination: a folder, best on another machine, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE", requires = "data")]
    to: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Check {
    /// Verify a backup without restoring it: follow the chain of hashes from the first record to the last
    ///
    /// Exit code 1 when an object is damaged or missing, the newest ones included; the message names it, and where in its
    /// records.
    Verify(Verify),
}

#[derive(Debug, clap::Args)]
struct Verify {
    /// Where the backup is: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// Which store, by the beginning of its id, where there are several
    #[arg(long, value_name = "ID")]
    store: Option<String>,
    /// Fail if the backup ends before this commit of the first cell, such as the metric `caudal_backup_commit` showed
    #[arg(long, value_name = "COMMIT")]
    at_least: Option<u64>,
    /// Verify what is there, even if newer objects were shipped and are missing
    #[arg(long)]
    accept_older: bool,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

impl From<BackupError> for Exit {
    fn from(why: BackupError) -> Self {
        match why {
            BackupError::Refused(why) => Self::usage(why),
            BackupError::Store(why) => service::StartError::from(why).into(),
            BackupError::Depot { .. }
            | BackupError::Damaged { .. }
            | BackupError::Incomplete(_)
            | BackupError::Journal(_) => Self::failed(why),
        }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<(), Exit> {
    match (args.check, args.data, args.to) {
        (Some(Check::Verify(args)), _, _) => {
            terminal::log(caudal::log::LogFormat::Text, "warn")?;
            wait(check(args))
        }
        (None, Some(data), Some(to)) => {
            process::keep_files_private();
            terminal::log(caudal::log::LogFormat::Text, "warn")?;
            let done = folder(&data, &to)?;
            print(&done, args.json, "stored up to commit")
        }
        (None, _, _) => running(args.which, args.json),
    }
}

fn print(done: &Value, json: bool, what: &str) -> Result<(), Exit> {
    if json {
        return say(&serde_json::to_string_pretty(done).map_err(Exit::failed)?);
    }
    let part = |name| shown(done, name);
    say(&format!(
        "{}: {what} {} of store {}; {} objects and {} bytes written",
        part("to"),
        part("commit"),
        part("store"),
        part("objects"),
        part("bytes")
    ))
}

/// Backs up the folder of a stopped service.
fn folder(data: &Path, to: &str) -> Result<Value, Exit> {
    let depot = depot::open(to, true)?;
    let line = terminal::progress("opening");
    let stopped = Stopped::open(data, false, &line)?;
    let records = std::iter::once(&stopped.records).chain(&stopped.further);
    let records: Vec<_> = records.cloned().collect();
    line.finish_and_clear();
    let mark = service::pepper_mark(data)?;
    let history = hex(&stopped.records.history());
    let done = wait(async {
        let known = Known {
            pepper_check: mark.as_deref(),
            choice: &BackupChoice::of(data),
            shipped: Vec::new(),
        };
        let level: Arc<dyn Level> = Arc::new(Alone);
        let mut fleet = Fleet::begin(&depot, (&records, level), Cut::default(), known).await?;
        let all = fleet.behind();
        let bar = terminal::bytes("shipping", all);
        while fleet.step().await? {
            bar.set_position(all - fleet.behind().min(all));
        }
        bar.finish_and_clear();
        if let Some(why) = fleet.failure() {
            return Err(why.into());
        }
        let shipped = fleet.shipped();
        let stands = fleet.stands().into_iter().enumerate();
        let told = |(cell, it): (usize, Stand)| {
            json!({
                "to": to,
                "store": history,
                "cell": cell,
                "commit": it.reached.map(|it| it.tail().commit.0),
                "objects": shipped.objects,
                "bytes": shipped.bytes,
            })
        };
        Ok(together(stands.map(told).collect()))
    });
    let closed = stopped.cells.close().map_err(Exit::failed);
    let done = done?;
    closed.map(|()| done)
}

/// Makes a running service ship now.
fn running(which: Which, json: bool) -> Result<(), Exit> {
    let remote = which.find()?;
    let line = terminal::progress("the service ships");
    line.enable_steady_tick(std::time::Duration::from_millis(100));
    // The first backup ships everything, so no deadline fits.
    let asked = wait(remote.ask_within(Method::POST, "/admin/backup", None, None));
    line.finish_and_clear();
    let done = asked?;
    if let Some(why) = done.get("error").and_then(Value::as_str) {
        return Err(Exit::failed(format!("the backup does not go on: {why}")));
    }
    if shown(&done, "to") == "-" {
        return Err(Exit::failed(
            "the service has no place for backups: set backup.to in its settings, or stop it and use --data and --to",
        ));
    }
    if done.get("lagSeconds").is_none_or(Value::is_null) {
        let by = shown(&done, "shippedBy");
        return Err(Exit::failed(format!(
            "this node does not ship: the owner of cell 0 does ({by}). Ask that node"
        )));
    }
    print(&done, json, "shipped up to commit")
}

/// Follows the chain of each cell with a progress bar, and compares the others with the first cell's facts about them.
async fn check(args: Verify) -> Result<(), Exit> {
    let depot = depot::open(&args.from, false)?;
    let depot = depot.as_ref();
    let whole = chain::whole(depot, args.store.as_deref(), args.accept_older).await?;
    let last = whole.first.last();
    if let Some(least) = args.at_least.filter(|least| last < *least) {
        let place = depot.place();
        return Err(Exit::failed(format!(
            "{place} ends with commit {last}, before commit {least}: newer objects are missing, or were not shipped there"
        )));
    }
    let bar = terminal::bytes("verifying", whole.bytes());
    let walked = verify::follow(depot, &whole, &mut |bytes| bar.set_position(bytes)).await;
    bar.finish_and_clear();
    let walked = walked?;
    let cells: Vec<_> = walked
        .iter()
        .map(|(kept, it)| found(depot, kept, it))
        .collect();
    if args.json {
        let all = together(cells);
        return say(&serde_json::to_string_pretty(&all).map_err(Exit::failed)?);
    }
    let several = cells.len() > 1;
    for found in &cells {
        let part = |name| shown(found, name);
        let cell = match several {
            true => format!(" cell {}", part("cell")),
            false => String::new(),
        };
        say(&format!(
            "{}: store {}{cell} is whole: {} objects, commits 1 to {} in {} records, {} entries, the last of {}; chain {}",
            part("from"),
            part("store"),
            part("objects"),
            part("commit"),
            part("records"),
            part("entries"),
            part("latest"),
            part("chain"),
        ))?;
    }
    match several {
        true => say("The cells fit together."),
        false => Ok(()),
    }
}

/// The report on the first cell, with `cells` as the reports on all cells where there are several.
pub fn together(cells: Vec<Value>) -> Value {
    let mut told = cells.first().map_or(Value::Null, Value::clone);
    if let Some(told) = told.as_object_mut().filter(|_| cells.len() > 1) {
        told.insert("cells".to_owned(), cells.into());
    }
    told
}

/// The result of a walk, for a person or a program.
pub fn found(depot: &dyn Depot, kept: &Kept, walked: &Walked) -> Value {
    json!({
        "from": depot.place(),
        "store": hex(&kept.history),
        "cell": kept.cell,
        "objects": walked.objects,
        "commit": walked.commits,
        "records": walked.records,
        "entries": walked.entries,
        "bytes": walked.bytes,
        "latest": Timestamp::from_millis(walked.latest).to_string(),
        "chain": hex(&walked.hash),
    })
}
