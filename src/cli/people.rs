//! `caudal admin people …` and `caudal audit`: the people who run a service, and their actions.

use reqwest::{Method, Url};
use serde_json::{Value, json};

use super::Exit;
use super::admin::{Asking, table};
use super::remote::{items, shown};
use super::terminal::{say, wait};

/// The most entries that one request asks for.
const PAGE: u64 = 200;
/// How many changed fields and how many CVUs of an entry the table has; `--json` has all of them.
const SAID_MAX: usize = 3;

/// Commands about the people who run a service.
#[derive(Debug, clap::Subcommand)]
pub(super) enum AdminCommand {
    /// Add people with a role and a credential of their own; replace and revoke credentials
    #[command(subcommand)]
    People(PeopleCommand),
}

/// Commands about people.
#[derive(Debug, clap::Subcommand)]
pub(super) enum PeopleCommand {
    /// Add a person; the credential is shown only now
    Add {
        /// Their permanent name in the audit log: small letters, digits, . _ - @
        name: String,
        /// Their role
        #[arg(long)]
        role: RoleArg,
        #[command(flatten)]
        asking: Asking,
    },
    /// List the people, also those who were revoked
    List {
        #[command(flatten)]
        asking: Asking,
    },
    /// Give a person another role
    Role {
        /// Their name
        name: String,
        /// Their new role
        role: RoleArg,
        #[command(flatten)]
        asking: Asking,
    },
    /// Issue another credential to a person; the one before stops working
    Rotate {
        /// Their name; without it your own credential is replaced
        name: Option<String>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Revoke a person's credential at once
    Revoke {
        /// Their name
        name: String,
        #[command(flatten)]
        asking: Asking,
    },
}

/// The role of a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum RoleArg {
    /// Reads
    Viewer,
    /// Reads, the audit log too
    Auditor,
    /// Reads and acts
    Operator,
    /// Reads, acts, and decides what others ask for
    Approver,
}

impl RoleArg {
    const fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Auditor => "auditor",
            Self::Operator => "operator",
            Self::Approver => "approver",
        }
    }
}

/// Prints the audit log of a running service, newest first
#[derive(Debug, clap::Args)]
pub(super) struct AuditArgs {
    /// Only what this person did; `root` is the admin key
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only this action, for instance decideTransfer
    #[arg(long)]
    action: Option<String>,
    /// Only what was done to, asked for or shown of this tenant, key, CVU, CUIT, case or person
    #[arg(long)]
    subject: Option<String>,
    /// Only what was done in the request with this id
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Not before this date or instant
    #[arg(long, value_name = "INSTANT")]
    from: Option<String>,
    /// Not after this date (the whole day) or instant
    #[arg(long, value_name = "INSTANT")]
    to: Option<String>,
    /// How many entries at most
    #[arg(long, default_value_t = 50)]
    limit: u64,
    #[command(flatten)]
    asking: Asking,
}

/// Runs a command about people.
pub(super) fn admin(command: AdminCommand) -> Result<(), Exit> {
    let AdminCommand::People(command) = command;
    people(command)
}

fn people(command: PeopleCommand) -> Result<(), Exit> {
    const COLUMNS: [&str; 7] = [
        "name",
        "role",
        "status",
        "prefix",
        "createdAt",
        "issuedAt",
        "revokedAt",
    ];
    match command {
        PeopleCommand::Add { name, role, asking } => {
            let body = json!({"name": name, "role": role.word()});
            asking.run(Method::POST, "/admin/people", Some(body), issued)
        }
        PeopleCommand::List { asking } => asking.run(Method::GET, "/admin/people", None, |list| {
            table(&COLUMNS, items(list))
        }),
        PeopleCommand::Role { name, role, asking } => {
            let body = json!({"role": role.word()});
            asking.run(Method::PATCH, &path(&name, "")?, Some(body), |person| {
                format!("{name} is {} now", shown(person, "role"))
            })
        }
        PeopleCommand::Rotate { name, asking } => {
            let path = name.map_or(Ok("/admin/me/rotate".into()), |it| path(&it, "/rotate"))?;
            asking.run(Method::POST, &path, None, issued)
        }
        PeopleCommand::Revoke { name, asking } => {
            asking.run(Method::DELETE, &path(&name, "")?, None, |_| {
                format!("the credential of {name} is revoked")
            })
        }
    }
}

fn path(name: &str, rest: &str) -> Result<String, Exit> {
    Ok(format!("/admin/people/{}{rest}", segment(name)?))
}

/// A name as one segment of a path.
fn segment(name: &str) -> Result<&str, Exit> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@');
    if !name.trim_matches('.').is_empty() && name.bytes().all(good) {
        Ok(name)
    } else {
        Err(Exit::usage(format!("{name:?} is no name of a person")))
    }
}

fn issued(person: &Value) -> String {
    let text = shown(person, "credential");
    format!("{text}\n\nThis credential is shown this once: hand it over on a safe way.")
}

/// Prints the audit log.
pub(super) fn audit(args: AuditArgs) -> Result<(), Exit> {
    const COLUMNS: [&str; 10] = [
        "sequence", "at", "operator", "role", "action", "subject", "outcome", "status", "reason",
        "details",
    ];
    let AuditArgs {
        operator,
        action,
        subject,
        request_id,
        from,
        to,
        limit,
        asking,
    } = args;
    let filter = [
        ("operator", operator),
        ("action", action),
        ("subject", subject),
        ("requestId", request_id),
        ("from", from),
        ("to", to),
    ];
    let filter = filter
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let filter: Vec<_> = filter.collect();
    let (remote, json) = asking.find()?;
    let (mut rows, mut cursor) = (Vec::new(), None);
    loop {
        let seen = u64::try_from(rows.len()).map_err(Exit::failed)?;
        let Some(left @ 1..) = limit.checked_sub(seen) else {
            break;
        };
        let path = query(&filter, left.min(PAGE), cursor.as_deref())?;
        let page = wait(remote.ask(Method::GET, &path, None))?;
        rows.extend(items(&page).iter().cloned());
        let next = page.get("nextCursor").and_then(Value::as_str);
        let Some(next) = next else { break };
        cursor = Some(next.to_owned());
    }
    if json {
        return say(&serde_json::to_string_pretty(&rows).map_err(Exit::failed)?);
    }
    for row in &mut rows {
        let details = Value::from(details(row));
        if let Some(row) = row.as_object_mut() {
            row.insert("details".to_owned(), details);
        }
    }
    say(&table(&COLUMNS, &rows))
}

/// Who approved an entry, what changed, and which CVUs were shown, in a few words.
fn details(row: &Value) -> String {
    let mut said = Vec::new();
    if row.get("approvedBy").is_some_and(Value::is_string) {
        let [by, why] = ["approvedBy", "approvalReason"].map(|name| shown(row, name));
        said.push(format!("approved by {by}: {why}"));
    }
    let changes = row.get("changes").and_then(Value::as_array);
    for change in changes.into_iter().flatten().take(SAID_MAX) {
        let [field, before, after] = ["field", "before", "after"].map(|name| shown(change, name));
        said.push(format!("{field}: {before} → {after}"));
    }
    let cvus = row.get("shown").and_then(Value::as_object);
    for (cvu, times) in cvus.into_iter().flatten().take(SAID_MAX) {
        said.push(format!("{cvu} ×{times}"));
    }
    let counts = [changes.map(Vec::len), cvus.map(serde_json::Map::len)];
    let left = counts.into_iter().flatten();
    let left = left.filter_map(|count| count.checked_sub(SAID_MAX));
    said.extend(left.filter(|left| *left > 0).map(|left| format!("+{left}")));
    said.join("; ")
}

fn query(filter: &[(&str, String)], limit: u64, cursor: Option<&str>) -> Result<String, Exit> {
    // Only the query of this URL is used.
    let mut url: Url = "http://localhost/admin/audit"
        .parse()
        .map_err(Exit::failed)?;
    url.query_pairs_mut()
        .extend_pairs(filter)
        .append_pair("limit", &limit.to_string())
        .extend_pairs(cursor.map(|cursor| ("cursor", cursor)));
    Ok(url
        .as_str()
        .trim_start_matches("http://localhost")
        .to_owned())
}
