//! `caudal verify`: replays every account's history and compares it with the derived data stored next to it.

use std::fs::File;
use std::path::{Path, PathBuf};

use caudal_actors::verify;
use caudal_operators::admin::VerifyBody;
use reqwest::Method;
use serde_json::Value;

use super::Exit;
use super::progress::ProgressLine;
use super::remote::{WhichService, shown};
use super::stopped::Stopped;
use super::terminal::{self, say, say_json, wait};

/// Verify the ledger: replay every history and compare it with the index and the actors
///
/// The histories come from the journal. The actors are compared in a running service only. Prints every difference; the
/// exit code is 1 if there is one.
#[derive(Debug, clap::Args)]
pub(super) struct VerifyArgs {
    /// The data folder of a stopped service; overrides CAUDAL_ADMIN_URL. Without it, a running
    /// service verifies itself
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    which: WhichService,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Verifies a folder or a running service.
pub(super) fn run(args: VerifyArgs) -> Result<(), Exit> {
    let report = match args.data {
        Some(data) => {
            terminal::log(caudal_http::log::LogFormat::Text, "warn")?;
            serde_json::to_value(folder(&data, None)?).map_err(Exit::failed)?
        }
        None => {
            let remote = args.which.find()?;
            let line = ProgressLine::new("the service verifies");
            // The service reads everything that was ever written, so no deadline fits.
            let reply = wait(remote.send(Method::POST, "/admin/verify", None, None));
            line.clear();
            reply?.json
        }
    };
    if args.json {
        say_json(&report)?;
    } else {
        show(&report)?;
    }
    match report.get("ok") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err(Exit::failed("what is kept differs from the journal")),
    }
}

/// Verifies the folder of a stopped service; `held` is its lock, if this process has it already.
pub(super) fn folder(data: &Path, held: Option<File>) -> Result<VerifyBody, Exit> {
    let line = ProgressLine::new("opening");
    let stopped = Stopped::held(data, true, held, &line)?;
    line.set_what("entries replayed:");
    let mut seen = |entries: u64| line.set_position(entries);
    let verified = verify::store(stopped.store.as_ref(), &mut seen);
    let (report, _) = verified.map_err(|why| Exit {
        code: 3,
        message: why.to_string(),
    })?;
    line.clear();
    stopped.store.close().map_err(Exit::failed)?;
    Ok(VerifyBody::from(report))
}

/// Shows the report.
pub(super) fn show(report: &Value) -> Result<(), Exit> {
    let figure = |name| shown(report, name);
    say(&format!(
        "{} entries up to commit {}: {} accounts, {} vouchers, {} live actors, {} entries of the audit log",
        figure("entries"),
        figure("commit"),
        figure("accounts"),
        figure("vouchers"),
        figure("actors"),
        figure("auditEntries"),
    ))?;
    let differences = report.get("differences").and_then(Value::as_array);
    let differences = differences.map(Vec::as_slice).unwrap_or_default();
    if differences.is_empty() {
        return say("nothing differs");
    }
    for difference in differences {
        say(&format!("  {}", difference.as_str().unwrap_or_default()))?;
    }
    say(&format!("{} differences in all", figure("count")))
}
