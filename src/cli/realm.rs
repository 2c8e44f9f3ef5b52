//! `caudal realm`: exports one tenant's live or test realm to a file, and imports it.

mod import;

use std::path::{Path, PathBuf};

use caudal_backup::BackupError;
use caudal_backup::backup_store;
use caudal_backup::chain::{self, MachineTimes, Take};
use caudal_backup::names::hex;
use caudal_backup::portable::export::{Export, ExportRequest};
use caudal_backup::portable::file::{CheckedFile, count};
use caudal_backup::portable::format::FRAME_BYTES;
use caudal_backup::portable::import::say as write;
use caudal_backup::portable::read;
use caudal_backup::restore::Until;
use caudal_http::clock;
use caudal_ledger::ids::Mode;
use caudal_ledger::tenants::moves::NotMoved;
use caudal_ledger::time::Timestamp;
use caudal_storage::Records;
use caudal_storage::log::Sealed;
use clap::Subcommand;
use serde_json::{Value, json};

use super::Exit;
use super::process;
use super::progress::ProgressLine;
use super::remote::shown;
use super::restore::until;
use super::stopped::Stopped;
use super::terminal::{self, say, say_json, wait};

/// Live or test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum RealmMode {
    /// Real money
    Live,
    /// The sandbox bank
    Test,
}

impl From<RealmMode> for Mode {
    fn from(mode: RealmMode) -> Self {
        match mode {
            RealmMode::Live => Self::Live,
            RealmMode::Test => Self::Test,
        }
    }
}

/// Export, check and import one tenant's realm; open and close it
#[derive(Debug, Subcommand)]
pub(super) enum RealmCommand {
    Export(ExportArgs),
    Check(CheckArgs),
    Import(import::Import),
    /// Serve an imported or closed realm from the next start on
    Open(WhichRealm),
    /// Stop serving a realm from the next start on, because it continues elsewhere
    ///
    /// An export that is made afterwards has all of it.
    Close(WhichRealm),
}

/// Write a realm to a file that `caudal realm import` reads
///
/// A backup (`--from`) can be read while the service runs; run `caudal backup` first to ship the newest records to it.
#[derive(Debug, clap::Args)]
pub(super) struct ExportArgs {
    /// The data folder of a stopped service
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    data: Option<PathBuf>,
    /// A backup: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    /// Which store of the backup, by the beginning of its id, where there are several
    #[arg(long, value_name = "ID", requires = "from")]
    store: Option<String>,
    /// Export what the backup has, even if newer objects were shipped and are missing
    #[arg(long, requires = "from")]
    accept_older: bool,
    /// The tenant
    #[arg(long, value_name = "ID")]
    tenant: String,
    /// Which of its realms
    #[arg(long)]
    mode: RealmMode,
    /// Only what was committed up to this instant (2026-03-01T12:00:00Z), or the commit with this number
    #[arg(long, value_name = "INSTANT|COMMIT", value_parser = until)]
    at: Option<Until>,
    /// The new file
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Check a realm's file: every byte, every stream, and what it says of itself
#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    /// The file
    file: PathBuf,
    /// Print what is in it as JSON
    #[arg(long)]
    json: bool,
}

/// A realm in the data folder of a stopped service.
#[derive(Debug, clap::Args)]
pub(super) struct WhichRealm {
    /// The data folder of a stopped service
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// The tenant
    #[arg(long, value_name = "ID")]
    tenant: String,
    /// Which of its realms
    #[arg(long)]
    mode: RealmMode,
}

/// Runs the command.
pub(super) fn run(command: RealmCommand) -> Result<(), Exit> {
    process::keep_files_private();
    // The index has to be built here, so a message about that is no news.
    let usual = "warn,caudal_storage::durable::open=error";
    terminal::log(caudal_http::log::LogFormat::Text, usual)?;
    match command {
        RealmCommand::Export(args) => export(&args),
        RealmCommand::Check(args) => {
            let checked = check(&args.file)?;
            print(&told(&checked), args.json, "it is whole")
        }
        RealmCommand::Import(args) => import::put(&args),
        RealmCommand::Open(which) => turn(&which, true),
        RealmCommand::Close(which) => turn(&which, false),
    }
}

/// The contents of a file, for people and programs.
fn told(checked: &CheckedFile) -> Value {
    let (head, ending) = (&checked.head, &checked.ending);
    json!({
        "tenantId": head.tenant,
        "mode": head.mode.as_str(),
        "realm": head.realm.0,
        "store": hex(&head.store),
        "commit": head.commit,
        "chain": hex(&head.chain),
        "latest": Timestamp::from_millis(head.latest).to_string(),
        "closed": ending.closed,
        "entries": ending.entries,
        "streams": ending.streams,
        "digest": ending.digest.to_string(),
        "file": checked.name.to_string(),
        "bytes": checked.bytes,
    })
}

fn print(done: &Value, json: bool, what: &str) -> Result<(), Exit> {
    if json {
        return say_json(done);
    }
    let part = |name| shown(done, name);
    say(&format!(
        "{} {} (realm {}) of store {}, up to commit {} of {}: {what}; {} entries in {} streams, digest {}",
        part("tenantId"),
        part("mode"),
        part("realm"),
        part("store"),
        part("commit"),
        part("latest"),
        part("entries"),
        part("streams"),
        part("digest"),
    ))
}

fn check(file: &Path) -> Result<CheckedFile, Exit> {
    let all = std::fs::metadata(file).map_or(0, |it| it.len());
    let bar = ProgressLine::bytes("checking", all);
    let checked = read::check(file, &mut |bytes| bar.set_position(bytes));
    bar.clear();
    Ok(checked?)
}

/// Writes a realm's file from its source.
fn export(args: &ExportArgs) -> Result<(), Exit> {
    let wanted = ExportRequest {
        tenant: args.tenant.clone(),
        mode: args.mode.into(),
        until: args.at.unwrap_or(Until::End),
        frame_bytes: FRAME_BYTES,
    };
    let export = match (&args.data, &args.from) {
        (Some(data), _) => from_folder(data, &args.to, wanted)?,
        (None, Some(from)) => wait(from_backup_store(args, from, wanted))?,
        (None, None) => {
            return Err(Exit::usage(
                "name a folder with --data, or a backup with --from",
            ));
        }
    };
    print(&told(&export.finish()?), args.json, "written")
}

/// Passes each record after a place to `take`, until that wants no more.
fn each(
    records: &Records,
    take: &mut dyn FnMut(&Sealed<'_>, u64) -> Result<bool, BackupError>,
) -> Result<(), BackupError> {
    let from = records.beginning();
    let all = records.behind(&from);
    let bar = ProgressLine::bytes("exporting", all);
    let (mut read, mut wrong) = (0, None);
    let mut times = MachineTimes::default();
    records.read(&from, &mut |record| {
        read += count(record.bytes().len());
        bar.set_position(read.min(all));
        let latest = times.latest(record);
        let taken = latest.and_then(|latest| take(record, latest));
        taken.unwrap_or_else(|why| {
            wrong = Some(why);
            false
        })
    })?;
    bar.clear();
    wrong.map_or(Ok(()), Err)
}

fn from_folder(data: &Path, to: &Path, wanted: ExportRequest) -> Result<Export, Exit> {
    let stopped = Stopped::open(data, false)?;
    let mut export = Export::begin(to, stopped.records.history(), wanted)?;
    let exported = each(&stopped.records, &mut |record, at| {
        export.record(record, at)
    });
    stopped.store.close().map_err(Exit::failed)?;
    exported?;
    Ok(export)
}

async fn from_backup_store(
    args: &ExportArgs,
    from: &str,
    wanted: ExportRequest,
) -> Result<Export, Exit> {
    let backup_store = backup_store::open(from, false)?;
    let backup_store = backup_store.as_ref();
    let kept = chain::kept(backup_store, args.store.as_deref(), args.accept_older).await?;
    let mut export = Export::begin(&args.to, kept.history, wanted)?;
    let bar = ProgressLine::bytes("exporting", kept.bytes());
    let mut done = |it| bar.set_position(it);
    let take: Take<'_> = &mut |record, latest| export.record(record, latest);
    let walked = chain::walk(backup_store, &kept, take, &mut done).await;
    bar.clear();
    walked?;
    Ok(export)
}

/// Writes to the store with the platform's facts that a realm is open or closed.
fn set(
    platform: &dyn caudal_storage::Store,
    tenant: &str,
    mode: Mode,
    open: bool,
) -> Result<(), BackupError> {
    write(platform, clock::now(), |platform| {
        let fact = if open {
            platform.open_realm(tenant, mode)
        } else {
            platform.close_realm(tenant, mode)
        };
        Ok(vec![fact?])
    })
}

/// Opens or closes a realm.
fn turn(which: &WhichRealm, open: bool) -> Result<(), Exit> {
    let what = if open { "an opening" } else { "a closing" };
    let stopped = Stopped::to_write(&which.data, what)?;
    let mode = which.mode.into();
    let done = set(stopped.store.as_ref(), &which.tenant, mode, open);
    stopped.store.close().map_err(Exit::failed)?;
    done?;
    let word = if open { "open" } else { "closed" };
    say(&format!(
        "{} {} is {word} from the next start on",
        which.tenant,
        mode.as_str()
    ))
}

impl From<NotMoved> for Exit {
    fn from(why: NotMoved) -> Self {
        Self::usage(why)
    }
}
