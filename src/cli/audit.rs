//! `caudal audit`: what the people who run a service did, and were shown.

use reqwest::Method;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::Exit;
use super::operations::rows as table;
use super::remote::{Asking, items, shown};
use super::terminal::{say, say_json, wait};

/// The most entries that one request asks for.
const PAGE: u64 = 200;
/// How many changed fields and how many CVUs of an entry the table has; `--json` has all of them.
const SAID_MAX: usize = 3;
/// The columns of the table.
const COLUMNS: [&str; 10] = [
    "sequence", "at", "operator", "role", "action", "subject", "outcome", "status", "reason",
    "details",
];

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

/// Prints the audit log.
pub(super) fn run(args: AuditArgs) -> Result<(), Exit> {
    let filter = [
        ("operator", args.operator),
        ("action", args.action),
        ("subject", args.subject),
        ("requestId", args.request_id),
        ("from", args.from),
        ("to", args.to),
    ];
    let filter = filter
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let filter: Vec<_> = filter.collect();
    let json = args.asking.json;
    let remote = args.asking.find()?;
    let (mut rows, mut cursor) = (Vec::new(), None);
    loop {
        let seen = u64::try_from(rows.len()).map_err(Exit::failed)?;
        let Some(left @ 1..) = args.limit.checked_sub(seen) else {
            break;
        };
        let path = query(&filter, left.min(PAGE), cursor.as_deref());
        let page = wait(remote.ask(Method::GET, &path, None))?;
        rows.extend(items(&page).iter().cloned());
        let next = page.get("nextCursor").and_then(Value::as_str);
        let Some(next) = next else { break };
        cursor = Some(next.to_owned());
    }
    if json {
        return say_json(&rows);
    }
    for row in &mut rows {
        let details = Value::from(details(row));
        if let Some(row) = row.as_object_mut() {
            row.insert("details".to_owned(), details);
        }
    }
    say(&table(&rows, &COLUMNS))
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

fn query(filter: &[(&str, String)], limit: u64, cursor: Option<&str>) -> String {
    let query = Serializer::new(String::new())
        .extend_pairs(filter)
        .append_pair("limit", &limit.to_string())
        .extend_pairs(cursor.map(|cursor| ("cursor", cursor)))
        .finish();
    format!("/admin/audit?{query}")
}
