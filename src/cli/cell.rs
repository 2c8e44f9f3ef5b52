//! `caudal cell`: the cells and their nodes, and moves of tenants from one cell to another, through the admin API.

mod spread;

use caudal_ledger::ids;
use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::admin::{self, Asking, segment};
use super::remote::{Remote, Which, shown};
use super::restore::tenant::watched;
use super::terminal::{say, wait};

/// An errand about cells.
#[derive(Debug, Subcommand)]
pub enum Cell {
    /// Show which node owns the cell, and which follow it and how far they are
    Status {
        #[command(flatten)]
        which: Which,
        /// Print the answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Hand a cell from its owner to another node: its requests pause briefly. Ask that owner's admin API
    HandOver {
        #[command(flatten)]
        which: Which,
        /// The number of the cell
        #[arg(long, value_name = "CELL", default_value_t = 0)]
        cell: u32,
        /// The node that is to own the cell; the one that lacks least unless set
        #[arg(long, value_name = "NODE")]
        to: Option<String>,
    },
    /// Hand cells over until each node that is up owns as many as the others, or one more: after a fail-over or a new node
    ///
    /// Shows the plan and asks. One cell after the other goes to its node; requests of that cell pause briefly.
    Spread {
        #[command(flatten)]
        which: Which,
        /// The address of the admin API of a further node, with the same key: each cell is handed over by its owner
        #[arg(long, value_name = "URL")]
        also: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Move a tenant's realm into another cell of a running service: its requests pause briefly at the end
    ///
    /// A client whose request waits too long gets 503 or an unknown outcome, and repeats it with the same
    /// Idempotency-Key. An interrupted move continues when this command names the same realm and cell again.
    MoveRealm {
        /// The tenant
        #[arg(long, value_name = "ID")]
        tenant: String,
        /// Which of its realms
        #[arg(long)]
        mode: admin::Mode,
        /// The number of the cell
        #[arg(long, value_name = "CELL")]
        to: u32,
        #[command(flatten)]
        asking: Asking,
    },
}

/// Runs the command.
pub fn run(errand: Cell) -> Result<(), Exit> {
    match errand {
        Cell::Status { which, json } => status(&which.find()?, json),
        Cell::HandOver { which, cell, to } => hand_over(&which.find()?, (cell, to.as_deref())),
        Cell::Spread { which, also, yes } => wait(spread::spread(&which.find()?, &also, yes)),
        Cell::MoveRealm {
            tenant,
            mode,
            to,
            asking,
        } => move_realm((&tenant, mode.into()), to, asking),
    }
}

fn status(remote: &Remote, as_json: bool) -> Result<(), Exit> {
    let cells = wait(remote.ask(Method::GET, "/admin/cells", None))?;
    if as_json {
        return say(&serde_json::to_string_pretty(&cells).map_err(Exit::failed)?);
    }
    let cells = cells.as_array().map(Vec::as_slice);
    let several = cells.is_some_and(|cells| cells.len() > 1);
    for cell in cells.unwrap_or(&[]) {
        say(&page(cell, several))?;
    }
    Ok(())
}

fn page(cell: &Value, several: bool) -> String {
    let figure = |name| shown(cell, name);
    let nodes = cell.get("nodes").and_then(Value::as_array);
    let nodes = nodes.map(Vec::as_slice).unwrap_or(&[]);
    let mut lines = vec![format!(
        "cell {}   commit {}   realms {}",
        figure("cell"),
        figure("commit"),
        figure("realms")
    )];
    if nodes.is_empty() {
        if !several {
            lines.push("one node alone: cell.listen is not set".to_owned());
        }
        return lines.join("\n");
    }
    lines.push(format!(
        "owner    {} in epoch {}, lease {} ms",
        figure("owner"),
        figure("epoch"),
        figure("leaseLeftMs")
    ));
    for node in nodes {
        let of = |name| shown(node, name);
        let there = match node.get("present") {
            Some(Value::Bool(true)) => "",
            _ => ", gone",
        };
        lines.push(format!(
            "node     {} at {}: {} commits behind, seen {} ms ago{there}",
            of("name"),
            of("address"),
            of("behind"),
            of("seenMsAgo")
        ));
    }
    lines.join("\n")
}

fn hand_over(remote: &Remote, (cell, to): (u32, Option<&str>)) -> Result<(), Exit> {
    let body = to.map_or_else(|| json!({}), |to| json!({"to": to}));
    let path = format!("/admin/cells/{cell}/hand-over");
    let given = wait(remote.ask(Method::POST, &path, Some(body)))?;
    match given.get("to").and_then(Value::as_str) {
        Some(to) => say(&format!("cell {cell} goes to {to}")),
        None => Err(Exit::failed(shown(&given, "error"))),
    }
}

fn move_realm((tenant, mode): (&str, ids::Mode), to: u32, asking: Asking) -> Result<(), Exit> {
    let (remote, as_json) = asking.find()?;
    let tenant = segment(tenant)?;
    let path = format!("/admin/tenants/{tenant}/move");
    let body = json!({"mode": mode.as_str(), "cell": to});
    // A realm may take a while to come to rest, so there is no deadline.
    let begun = wait(remote.ask_within(Method::POST, &path, Some(body), None))?;
    let tell = |done: &Value, text: String| match as_json {
        true => say(&serde_json::to_string_pretty(done).map_err(Exit::failed)?),
        false => say(&text),
    };
    if begun.get("requestedBy").is_some() {
        let id = shown(&begun, "id");
        let text = format!("the move waits for a second person: approval {id}");
        return tell(&begun, text);
    }
    let path = format!("/admin/tenants/{tenant}/restores");
    let ask = || wait(remote.ask(Method::GET, &path, None));
    let (all, copy) = watched(begun, mode, ask)?;
    let realm = all.get(mode.as_str()).unwrap_or(&Value::Null);
    if realm.get("cell").and_then(Value::as_u64) != Some(u64::from(to)) {
        return Err(Exit::failed(format!(
            "the realm is where it was: {}. The same command again goes on with the move",
            shown(&copy, "error")
        )));
    }
    let text = format!("{tenant} {} lies in cell {to}", mode.as_str());
    tell(realm, text)
}
