//! `caudal backup`: ships a journal to a backup store, and verifies the backup store.

use std::path::{Path, PathBuf};

use caudal_backup::BackupError;
use caudal_backup::backup_store::{self, BackupStore};
use caudal_backup::chain::{self, ChainSummary, ShippedStore};
use caudal_backup::names::hex;
use caudal_backup::ship::{KnownBackup, ObjectLimits, Shipment};
use caudal_ledger::time::Timestamp;
use caudal_service::{self as service, BackupChoice};
use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::operations::{Shown, shown_as};
use super::process;
use super::progress::ProgressLine;
use super::remote::{Asking, WhichService, shown};
use super::stopped::Stopped;
use super::terminal::{self, say, say_json, wait};

/// Back up the journal, or verify a backup
///
/// A running service ships by itself to its setting `backup.to`; without --data, this command makes it ship now and
/// waits. An interrupted backup continues where it was when the command runs again.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct BackupArgs {
    #[command(subcommand)]
    check: Option<BackupCheck>,
    /// The data folder of a stopped service; overrides CAUDAL_ADMIN_URL
    #[arg(long, value_name = "DIR", requires = "to")]
    data: Option<PathBuf>,
    /// The destination: a folder, best on another machine, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE", requires = "data")]
    to: Option<String>,
    #[command(flatten)]
    which: WhichService,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum BackupCheck {
    /// Show where a running service ships its journal to, and how far that is behind
    Show {
        #[command(flatten)]
        asking: Asking,
    },
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
    /// Fail if the backup ends before this commit, such as the metric `caudal_backup_commit` showed
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
            BackupError::BackupStore { .. }
            | BackupError::Damaged { .. }
            | BackupError::Incomplete(_)
            | BackupError::Journal(_) => Self::failed(why),
        }
    }
}

/// Runs the command.
pub(super) fn run(args: BackupArgs) -> Result<(), Exit> {
    match (args.check, args.data, args.to) {
        (Some(BackupCheck::Show { asking }), _, _) => show(asking),
        (Some(BackupCheck::Verify(args)), _, _) => {
            terminal::log(caudal_http::log::LogFormat::Text, "warn")?;
            wait(check(args))
        }
        (None, Some(data), Some(to)) => {
            process::keep_files_private();
            terminal::log(caudal_http::log::LogFormat::Text, "warn")?;
            let done = folder(&data, &to)?;
            print(&done, args.json, "stored up to commit")
        }
        (None, _, _) => running(args.which, args.json),
    }
}

fn show(asking: Asking) -> Result<(), Exit> {
    let as_json = asking.json;
    let backup = wait(asking.find()?.ask(Method::GET, "/admin/backup", None))?;
    if as_json {
        say_json(&backup)
    } else if backup.get("to").is_none_or(Value::is_null) {
        say("Nothing is shipped: set backup.to in the settings of the service.")
    } else {
        say(&shown_as(&Shown::Page(""), &backup))
    }
}

fn print(done: &Value, json: bool, what: &str) -> Result<(), Exit> {
    if json {
        return say_json(done);
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
    let backup_store = backup_store::open(to, true)?;
    let stopped = Stopped::open(data, false)?;
    let mark = service::pepper_mark(data)?;
    let history = hex(&stopped.records.history());
    let done = wait(async {
        let known = KnownBackup {
            pepper_check: mark.as_deref(),
            choice: &BackupChoice::of(data),
            shipped: None,
        };
        let records = stopped.records.clone();
        let mut shipment =
            Shipment::begin(&backup_store, records, ObjectLimits::default(), known).await?;
        let all = shipment.behind();
        let bar = ProgressLine::bytes("shipping", all);
        while shipment.step().await? {
            bar.set_position(all - shipment.behind().min(all));
        }
        bar.clear();
        let shipped = shipment.shipped();
        Ok(json!({
            "to": to,
            "store": history,
            "commit": shipment.reached().tail().commit.0,
            "objects": shipped.objects,
            "bytes": shipped.bytes,
        }))
    });
    let closed = stopped.store.close().map_err(Exit::failed);
    let done = done?;
    closed.map(|()| done)
}

/// Makes a running service ship now.
fn running(which: WhichService, json: bool) -> Result<(), Exit> {
    let remote = which.find()?;
    let line = ProgressLine::new("the service ships");
    // The first backup ships everything, so no deadline fits.
    let reply = wait(remote.send(Method::POST, "/admin/backup", None, None));
    line.clear();
    let done = reply?.json;
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
            "this node does not ship: the owner of the log does ({by}). Ask that node"
        )));
    }
    print(&done, json, "shipped up to commit")
}

/// Follows the chain with a progress bar.
async fn check(args: Verify) -> Result<(), Exit> {
    let backup_store = backup_store::open(&args.from, false)?;
    let backup_store = backup_store.as_ref();
    let kept = chain::kept(backup_store, args.store.as_deref(), args.accept_older).await?;
    let last = kept.last();
    if let Some(least) = args.at_least.filter(|least| last < *least) {
        let place = backup_store.place();
        return Err(Exit::failed(format!(
            "{place} ends with commit {last}, before commit {least}: newer objects are missing, or were not shipped there"
        )));
    }
    let bar = ProgressLine::bytes("verifying", kept.bytes());
    let mut done = |bytes| bar.set_position(bytes);
    let walked = chain::walk(backup_store, &kept, &mut |_, _| Ok(true), &mut done).await;
    bar.clear();
    let found = found(backup_store, &kept, &walked?);
    if args.json {
        return say_json(&found);
    }
    let part = |name| shown(&found, name);
    say(&format!(
        "{}: store {} is whole: {} objects, commits 1 to {} in {} records, {} entries, the last of {}; chain {}",
        part("from"),
        part("store"),
        part("objects"),
        part("commit"),
        part("records"),
        part("entries"),
        part("latest"),
        part("chain"),
    ))
}

/// The result of a walk, for a person or a program.
pub(super) fn found(
    backup_store: &dyn BackupStore,
    kept: &ShippedStore,
    walked: &ChainSummary,
) -> Value {
    json!({
        "from": backup_store.place(),
        "store": hex(&kept.history),
        "objects": walked.objects,
        "commit": walked.commits,
        "records": walked.records,
        "entries": walked.entries,
        "bytes": walked.bytes,
        "latest": Timestamp::from_millis(walked.latest).to_string(),
        "chain": hex(&walked.hash),
    })
}
