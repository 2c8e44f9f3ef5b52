//! `caudal status`: the state of a running service, on one page.

use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::remote::{Remote, WhichService, shown};
use super::terminal::{say, wait};

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
            say(&serde_json::to_string_pretty(&status).map_err(Exit::failed)?)
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
        say(&serde_json::to_string_pretty(&told).map_err(Exit::failed)?)?;
    } else {
        let shown = |it: &Result<Value, Exit>| match it {
            Ok(status) => page(status),
            Err(why) => format!("caudal    no answer: {}", why.message),
        };
        let pages: Vec<_> = all.iter().map(shown).collect();
        say(&pages.join("\n\n"))?;
    }
    all.into_iter().try_for_each(|it| sound(&it?))
}

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

/// A line for each problem, with what it is about and the page that says what to do.
fn needs(status: &Value) -> String {
    let line = |it: &Value| {
        let realms = it.get("realms").and_then(Value::as_array);
        let realms = realms.into_iter().flatten();
        let realms = realms.map(|it| format!("{} ({})", shown(it, "tenant"), shown(it, "mode")));
        let known = |name| {
            it.get(name)
                .filter(|it| !it.is_null())
                .map(|_| shown(it, name))
        };
        let about = realms
            .chain(known("subject"))
            .chain(known("count"))
            .chain(known("amount").map(|amount| format!("{amount} pesos")))
            .chain(known("at"))
            .chain(known("runbook"));
        format!(
            "\n          {:<6} {:<16} {}",
            shown(it, "severity"),
            shown(it, "code"),
            about.collect::<Vec<_>>().join(", "),
        )
    };
    let lines: String = problems(status).map(line).collect();
    if lines.is_empty() {
        "problems  none".to_owned()
    } else {
        format!("problems{lines}")
    }
}

/// The collector accounts.
fn treasury(status: &Value) -> String {
    let treasury = status.get("treasury").unwrap_or(&Value::Null);
    let of = |name| shown(treasury, name);
    format!(
        "treasury  {} collector accounts, {} checked, {} uncovered, {} with an unreachable bank",
        of("collectors"),
        of("checked"),
        of("uncovered"),
        of("unreachable")
    )
}

/// The webhooks.
fn webhooks(status: &Value) -> String {
    let webhooks = status.get("webhooks").unwrap_or(&Value::Null);
    let of = |name| shown(webhooks, name);
    format!(
        "webhooks  {}, {} behind by {} events, {} failing, {} stopped",
        of("count"),
        of("behind"),
        of("eventsBehind"),
        of("failing"),
        of("stopped")
    )
}

/// What still needs a pepper that is being replaced, if there is one.
fn older_pepper(status: &Value) -> Option<String> {
    let needs = status.get("olderPepper").filter(|it| !it.is_null())?;
    let of = |name| shown(needs, name);
    Some(format!(
        "pepper    an older one is needed by {} keys, {} people, {} webhooks, {} realms",
        of("keys"),
        of("people"),
        of("webhooks"),
        of("realms")
    ))
}

/// The room on the disk.
fn disk(status: &Value) -> String {
    let disk = status.get("disk").unwrap_or(&Value::Null);
    let mib = |name| {
        disk.get(name)
            .and_then(Value::as_u64)
            .map_or(0, |bytes| bytes >> 20)
    };
    let days = disk.get("daysLeft").and_then(Value::as_u64);
    format!(
        "disk      {} MiB free, writes are refused below {} MiB{}",
        mib("freeBytes"),
        mib("floorBytes"),
        days.map_or_else(String::new, |days| format!(", {days} days left"))
    )
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

fn page(status: &Value) -> String {
    let figure = |name| shown(status, name);
    let of = |part: &str, name| shown(status.get(part).unwrap_or(&Value::Null), name);
    let is = |name| status.get(name) == Some(&Value::Bool(true));
    let either = |name, yes: &'static str, no| if is(name) { yes } else { no };
    let (journal, cases) = ("journal", "cases");
    let ready = if is("ready") {
        "ready".to_owned()
    } else {
        format!("not ready: {}", figure("reason"))
    };
    let down = match of("realms", "down").as_str() {
        "0" => String::new(),
        some => format!(", {some} down"),
    };
    [
        format!(
            "caudal    {}, shard {}, {ready}",
            figure("version"),
            figure("shard")
        ),
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
        disk(status),
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
        treasury(status),
        webhooks(status),
        format!(
            "outgoing  {}",
            either("outgoingHeld", "held: see caudal outgoing show", "free")
        ),
        format!(
            "clock     {}",
            either(
                "clockInDoubt",
                "in doubt: see caudal clock show",
                "believed"
            )
        ),
    ]
    .into_iter()
    .chain(older_pepper(status))
    .chain([needs(status)])
    .chain(status.get("restored").filter(|it| !it.is_null()).map(since))
    .collect::<Vec<_>>()
    .join("\n")
}
