//! `caudal status`: the state of a running service, on one page.

use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::operations::{Shown, rows, shown_as};
use super::remote::{Remote, WhichService, shown};
use super::terminal::{say, say_json, wait};

/// Show how a running service is: version, whether it is ready and why not, realms, journal, disk, memory, open cases,
/// treasury, webhooks, and what needs a person. Exit code 1 when a person is needed now, 5 when the next working day is soon
/// enough.
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    which: WhichService,
    /// The admin URL of a further service, such as another shard; with the same key
    #[arg(long, value_name = "URL")]
    also: Vec<String>,
    /// Print the answer as JSON: with --also a list
    #[arg(long)]
    json: bool,
}

/// Shows the status of each service. One that does not answer keeps none of the others from being shown.
pub(super) fn run(args: StatusArgs) -> Result<(), Exit> {
    let remote = args.which.find()?;
    let others = args.also.iter().map(|url| remote.also(url));
    let others = others.collect::<Result<Vec<_>, _>>()?;
    let ask = |remote: &Remote| wait(remote.ask(Method::GET, "/admin/status", None));
    if others.is_empty() {
        let status = ask(&remote)?;
        return if args.json {
            say_json(&status)
        } else {
            say(&page(&status))
        }
        .and_then(|()| sound(&status));
    }
    let all: Vec<_> = std::iter::once(&remote).chain(&others).map(ask).collect();
    if args.json {
        let told = |it: &Result<Value, Exit>| match it {
            Ok(status) => status.clone(),
            Err(why) => json!({"ready": false, "reason": why.message}),
        };
        let told: Vec<_> = all.iter().map(told).collect();
        say_json(&told)?;
    } else {
        let shown = |it: &Result<Value, Exit>| match it {
            Ok(status) => page(status),
            Err(why) => format!("no answer: {}", why.message),
        };
        let pages: Vec<_> = all.iter().map(shown).collect();
        say(&pages.join("\n\n"))?;
    }
    all.into_iter().try_for_each(|it| sound(&it?))
}

/// The columns of the table of problems.
const COLUMNS: [&str; 8] = [
    "severity", "code", "realms", "subject", "count", "amount", "at", "runbook",
];
/// The exit code when a person is needed, and the next working day is soon enough.
const NEEDS_SOMEBODY: u8 = 5;

/// What needs a person.
fn problems(status: &Value) -> impl Iterator<Item = &Value> {
    let all = status.get("problems").and_then(Value::as_array);
    all.into_iter().flatten()
}

/// An error if a service needs a person.
fn sound(status: &Value) -> Result<(), Exit> {
    let of = |severity: &str| {
        let all = problems(status).filter(|it| shown(it, "severity") == severity);
        let mut codes: Vec<_> = all.map(|it| shown(it, "code")).collect();
        codes.dedup();
        codes.join(", ")
    };
    match (of("page"), of("ticket")) {
        (now, _) if !now.is_empty() => Err(Exit::failed(format!("needs a person now: {now}"))),
        (_, later) if !later.is_empty() => Err(Exit {
            code: NEEDS_SOMEBODY,
            message: format!("needs a person on the next working day: {later}"),
        }),
        (_, _) => Ok(()),
    }
}

/// The lists of a restore to the past.
pub(super) fn since(since: &Value) -> String {
    let lines = |title: &str, name| {
        let all = since.get(name).and_then(Value::as_array);
        let all = all.into_iter().flatten();
        let line = |it: &Value| {
            format!(
                "\n          {} {}: {}",
                shown(it, "what"),
                shown(it, "id"),
                shown(it, "change")
            )
        };
        let lines: String = all.map(line).collect();
        if lines.is_empty() {
            String::new()
        } else {
            format!("\n          {title}:{lines}")
        }
    };
    let unlisted = match shown(since, "unlisted").as_str() {
        "0" => String::new(),
        some => format!("\n          and {some} more"),
    };
    let incomplete = match since.get("incomplete").and_then(Value::as_str) {
        None => String::new(),
        Some(why) => format!("\n          the rest of the backup could not be read: {why}"),
    };
    format!(
        "restored  to {}; what was taken away up to {} (commit {}) stays so, what happened later is unknown{incomplete}{}{}{unlisted}",
        shown(since, "restoredUntil"),
        shown(since, "knownUntil"),
        shown(since, "knownCommit"),
        lines("taken over", "takenOver"),
        lines("issued or changed later, not in force", "locked"),
    )
}

/// The problems as a table, and below it everything else.
fn page(status: &Value) -> String {
    let found: Vec<_> = problems(status).cloned().collect();
    let table = if found.is_empty() {
        "No problems.".to_owned()
    } else {
        rows(&found, &COLUMNS)
    };
    let mut rest = status.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.remove("problems");
    }
    format!("{table}\n\n{}", shown_as(&Shown::Page(""), &rest))
}
