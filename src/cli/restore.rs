//! `caudal restore`: makes a data folder of a backup.

use std::path::PathBuf;

use caudal::backup::chain;
use caudal::backup::depot;
use caudal::backup::names::hex;
use caudal::backup::restore::{self, Until};
use caudal::service;
use caudal_ledger::time::Timestamp;
use caudal_storage::StoreOptions;
use serde_json::{Value, json};

use super::Exit;
use super::backup::found;
use super::process;
use super::terminal::{self, say, wait};
use super::verify;

/// Restore a backup into a new data folder, and verify it
///
/// Records are written as they were, the index is made anew, and everything is verified as by `caudal verify`. A restore
/// that is cut off begins anew when the command runs again.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where the backup is: a folder, or s3://BUCKET/PREFIX
    #[arg(long, value_name = "PLACE")]
    from: String,
    /// The new data folder; it may hold the file `pepper`, and nothing else
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// Which store, by the beginning of its id, where there are several
    #[arg(long, value_name = "ID")]
    store: Option<String>,
    /// Only what was committed up to this instant (2026-03-01T12:00:00Z), or the commit with this number; needs
    /// --new-history
    #[arg(long, value_name = "INSTANT|COMMIT", requires = "new_history", value_parser = until)]
    at: Option<Until>,
    /// Make it a history of its own: a store with a new id, which does not go on in the place of the one that was backed up
    #[arg(long)]
    new_history: bool,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// Reads where something is to end.
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

/// Does it.
pub fn run(args: Args) -> Result<(), Exit> {
    process::keep_files_private();
    // That the index has to be made is no news here.
    let usual = "warn,caudal_storage::durable::open=error";
    terminal::log(caudal::log::LogFormat::Text, usual)?;
    let done = wait(store(&args))?;
    let verified = verify::folder(&args.data)?;
    let ok = verified.ok;
    let verified = serde_json::to_value(verified).map_err(Exit::failed)?;
    if args.json {
        let all = json!({ "restored": done, "verified": verified });
        say(&serde_json::to_string_pretty(&all).map_err(Exit::failed)?)?;
    } else {
        show(&args, &done)?;
        verify::show(&verified)?;
    }
    match ok {
        true => Ok(()),
        false => Err(Exit::failed("what was restored differs from its journal")),
    }
}

/// Writes the journal.
async fn store(args: &Args) -> Result<Value, Exit> {
    let depot = depot::open(&args.from, false)?;
    let depot = depot.as_ref();
    let kept = chain::find(depot, args.store.as_deref()).await?;
    let mark = restore::pepper_check(depot, &kept).await?;
    let path = service::for_restore(&args.data, mark.as_deref())?;
    let _held = service::hold(&args.data)?;
    service::hold_outgoing(&args.data, args.new_history)?;
    let bar = terminal::bytes("restoring", kept.cover.bytes());
    let how = (args.at.unwrap_or(Until::End), args.new_history);
    let options = StoreOptions::default();
    let mut done = |bytes| bar.set_position(bytes);
    let restored = restore::restore(depot, &kept, &path, &options, how, &mut done).await;
    bar.finish_and_clear();
    let restored = restored?;
    let mut told = found(depot, &kept, &restored.walked);
    if let Some(told) = told.as_object_mut() {
        told.insert("became".to_owned(), hex(&restored.history).into());
        told.insert("cut".to_owned(), restored.cut.into());
    }
    Ok(told)
}

fn show(args: &Args, done: &Value) -> Result<(), Exit> {
    let part = |name| super::remote::shown(done, name);
    say(&format!(
        "{}: restored up to commit {}, the last entry of {}; chain {}",
        args.data.display(),
        part("commit"),
        part("latest"),
        part("chain"),
    ))?;
    if args.new_history {
        say(&format!(
            "It is a history of its own, store {}; it was made of store {}.",
            part("became"),
            part("store")
        ))?;
        say(
            "Transfers and webhooks are held when it is served, until POST /admin/outgoing/release.",
        )?;
    }
    Ok(())
}
