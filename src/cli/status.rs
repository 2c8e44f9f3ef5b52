//! `caudal status`: the state of a running service, on one page.

use reqwest::Method;
use serde_json::Value;

use super::Exit;
use super::remote::{Which, shown};
use super::terminal::{say, wait};

/// Show how a running service is: version, whether it is ready and why not, realms, journal, memory, open cases, webhooks.
/// Exit code 1 when it is not ready.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Shows the status.
pub fn run(args: Args) -> Result<(), Exit> {
    let remote = args.which.find()?;
    let status = wait(remote.ask(Method::GET, "/admin/status", None))?;
    if args.json {
        say(&serde_json::to_string_pretty(&status).map_err(Exit::failed)?)?;
    } else {
        say(&page(&status))?;
    }
    match status.get("ready") {
        Some(Value::Bool(true)) => Ok(()),
        _ => Err(Exit::failed(format!(
            "not ready: {}",
            shown(&status, "reason")
        ))),
    }
}

fn backup(status: &Value) -> String {
    match status.get("backup") {
        None | Some(Value::Null) => {
            "backup    none here: backup.to is not set, or another node ships".to_owned()
        }
        Some(it) => match it.get("error").and_then(Value::as_str) {
            None => format!("backup    {} s behind", shown(it, "lagSeconds")),
            Some(why) => format!("backup    {} s behind: {why}", shown(it, "lagSeconds")),
        },
    }
}

fn page(status: &Value) -> String {
    let figure = |name| shown(status, name);
    let of = |part: &str, name| shown(status.get(part).unwrap_or(&Value::Null), name);
    let (journal, cases, webhooks) = ("journal", "cases", "webhooks");
    let ready = match status.get("ready") {
        Some(Value::Bool(true)) => "ready".to_owned(),
        _ => format!("not ready: {}", figure("reason")),
    };
    let down = match of("realms", "down").as_str() {
        "0" => String::new(),
        some => format!(", {some} down"),
    };
    [
        format!("caudal    {}, {ready}", figure("version")),
        format!(
            "started   {}, {} s ago",
            figure("startedAt"),
            figure("uptimeSeconds")
        ),
        format!(
            "realms    {} of {} tenants{down}",
            of("realms", "count"),
            figure("tenants")
        ),
        format!(
            "journal   commit {}, {} waiting, {} bytes",
            of(journal, "lastCommit"),
            of(journal, "queued"),
            of(journal, "diskBytes")
        ),
        backup(status),
        format!(
            "memory    {} bytes of {}, {} accounts",
            of("memory", "takenBytes"),
            of("memory", "limitBytes"),
            of("memory", "accounts")
        ),
        format!(
            "cases     {} open, the oldest since {}",
            of(cases, "open"),
            of(cases, "oldestSince")
        ),
        format!(
            "webhooks  {}, {} behind by {} events, {} failing, {} stopped",
            of(webhooks, "count"),
            of(webhooks, "behind"),
            of(webhooks, "eventsBehind"),
            of(webhooks, "failing"),
            of(webhooks, "stopped")
        ),
        format!(
            "outgoing  {}",
            match status.get("outgoingHeld") {
                Some(Value::Bool(true)) => "held: see /admin/outgoing",
                _ => "free",
            }
        ),
        format!(
            "clock     {}",
            match status.get("clockInDoubt") {
                Some(Value::Bool(true)) => "in doubt: see /admin/clock",
                _ => "believed",
            }
        ),
    ]
    .join("\n")
}
