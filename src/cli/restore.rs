//! `caudal restore`: fills an empty data folder or log from a backup, a folder or a log.

mod logs;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use caudal_backup::backup_store;
use caudal_backup::chain;
use caudal_backup::names::hex;
use caudal_backup::restore::{self, RestoreRequest, Until};
use caudal_http::clock;
use caudal_ledger::time::Timestamp;
use caudal_service::{self as service, Restoring};
use caudal_storage::StoreOptions;
use serde_json::{Value, json};

use super::Exit;
use super::backup::found;
use super::process;
use super::progress::ProgressLine;
use super::terminal::{self, say, say_json, wait};
use super::verify;

/// Restore a backup, a data folder or a log into a new data folder or an empty log, and verify it
///
/// Records are written as they were, the index is rebuilt, and everything is verified as by `caudal verify`. An
/// interrupted restore begins anew, or continues, when the command runs again; until it has finished, nothing else uses
/// the folder or the log. From a data folder or a log, the service has to be stopped: it is superseded, and no service
/// starts on it any more. A password of a database comes from `cell.log_password` of the settings, or
/// CAUDAL_CELL__LOG_PASSWORD.
#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// What is restored: a backup (a folder, or s3://BUCKET/PREFIX), the data folder of a stopped service, or a log
    /// (postgres://USER@HOST:PORT/DATABASE)
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// The new data folder, which may hold the file `pepper`, and nothing else; or an empty log (postgres://…)
    #[arg(long, value_name = "DIR|URL")]
    into: String,
    /// Only read and verify what is restored, and say how long that took
    #[arg(long)]
    dry_run: bool,
    /// The settings of the service, with the password and the authorities of the database in `cell`
    #[arg(long, value_name = "FILE", env = "CAUDAL_CONFIG")]
    config: Option<PathBuf>,
    /// Which store, by the beginning of its id, where there are several
    #[arg(long, value_name = "ID")]
    store: Option<String>,
    /// Only what was committed up to this instant (2026-03-01T12:00:00Z), or the commit with this number; needs
    /// --new-history
    #[arg(long, value_name = "INSTANT|COMMIT", value_parser = until)]
    at: Option<Until>,
    /// Make it a new history: a store with a new id, which does not replace the one that was backed up
    #[arg(long)]
    new_history: bool,
    /// Restore what is there, even if newer objects were shipped and are missing
    #[arg(long)]
    accept_older: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Reads the end of a restore: a commit or an instant.
pub(super) fn until(text: &str) -> Result<Until, String> {
    if let Ok(commit) = text.parse() {
        return Ok(Until::Commit(commit));
    }
    let instant = Timestamp::parse(text);
    instant
        .map(|at| Until::Instant(at.millis()))
        .ok_or_else(|| {
            "write the number of a commit, or an instant as 2026-03-01T12:00:00Z".to_owned()
        })
}

/// Restores a store.
pub(super) fn run(args: &RestoreArgs) -> Result<(), Exit> {
    if let Some(Until::Instant(at)) = args.at
        && Timestamp::from_millis(at) > clock::now()
    {
        return Err(Exit::usage(
            "--at is later than now. Without --at, all of the backup is restored",
        ));
    }
    if args.at.is_some() && !args.new_history {
        return Err(Exit::usage(
            "--at needs --new-history: the past is a history of its own",
        ));
    }
    process::keep_files_private();
    // The index has to be built here, so a message about that is no news.
    let usual = "warn,caudal_storage::durable::open=error";
    terminal::log(caudal_http::log::LogFormat::Text, usual)?;
    let (from, into) = (args.from.as_str(), args.into.as_str());
    if args.dry_run || logs::is_log(from) || logs::is_log(into) || logs::is_store(from)? {
        return logs::run(args);
    }
    let data = Path::new(into);
    let began = Instant::now();
    let (done, restoring) = wait(store(args))?;
    let verified = verify::folder(data, Some(restoring.held()?))?;
    if verified.ok {
        restoring.finish()?;
    }
    let took = began.elapsed();
    let (ok, vouchers) = (verified.ok, verified.vouchers);
    let verified = serde_json::to_value(verified).map_err(Exit::failed)?;
    if args.json {
        let all = json!({
            "restored": done,
            "verified": verified,
            "millis": took.as_millis(),
            "vouchersPerSecond": rate(vouchers, took),
        });
        say_json(&all)?;
    } else {
        show(args, &done)?;
        verify::show(&verified)?;
        say(&format!(
            "It took {}.{} s: {} vouchers a second",
            took.as_secs(),
            took.subsec_millis() / 100,
            rate(vouchers, took),
        ))?;
    }
    if ok {
        Ok(())
    } else {
        Err(Exit::failed(
            "what was restored differs from its journal, so the folder is not used",
        ))
    }
}

/// How many per second, for a number and a duration.
fn rate(many: u64, took: Duration) -> u128 {
    u128::from(many) * 1000 / took.as_millis().max(1)
}

/// Restores the journal from the backup. The folder is not finished then: it has to be verified.
async fn store(args: &RestoreArgs) -> Result<(Value, Restoring), Exit> {
    let data = Path::new(&args.into);
    let backup_store = backup_store::open(&args.from, false)?;
    let backup_store = backup_store.as_ref();
    let kept = chain::kept(backup_store, args.store.as_deref(), args.accept_older).await?;
    let until = args.at.unwrap_or(Until::End);
    restore::may(&kept, until)?;
    let mark = restore::pepper_check(backup_store, &kept).await?;
    let restoring = Restoring::begin(data, mark.as_deref(), args.new_history)?;
    let bar = ProgressLine::bytes("restoring", kept.bytes());
    let command = RestoreRequest {
        backup_store,
        kept: &kept,
        store: &restoring.store(),
        options: &StoreOptions::default(),
        until,
        new_history: args.new_history,
    };
    let restored = restore::restore(command, &mut |bytes| bar.set_position(bytes)).await;
    bar.clear();
    let (restored, since) = restored?;
    if args.new_history {
        service::list_since(data, &since)?;
    }
    let mut told = found(backup_store, &kept, &restored.walked);
    if let Some(told) = told.as_object_mut() {
        told.insert("became".to_owned(), hex(&restored.history).into());
        told.insert("cut".to_owned(), restored.cut.into());
        if args.new_history {
            let since = serde_json::to_value(&since).map_err(Exit::failed)?;
            told.insert("since".to_owned(), since);
        }
    }
    Ok((told, restoring))
}

fn show(args: &RestoreArgs, done: &Value) -> Result<(), Exit> {
    let part = |name| super::remote::shown(done, name);
    say(&format!(
        "{}: restored up to commit {}, the last entry of {}; chain {}",
        args.into,
        part("commit"),
        part("latest"),
        part("chain"),
    ))?;
    if args.at.is_some() && done.get("cut") == Some(&Value::Bool(false)) {
        say("The backup has nothing later than --at: all of it was restored.")?;
    }
    if args.new_history {
        say(&format!(
            "It is a history of its own, store {}; it was made of store {}.",
            part("became"),
            part("store")
        ))?;
        say(
            "Transfers and webhooks are held when it is served, until POST /admin/outgoing/release.",
        )?;
        if let Some(since) = done.get("since") {
            say(&super::status::since(since))?;
        }
    }
    Ok(())
}
