//! `caudal cell`: the nodes of a cell, through the admin API of any of them.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::remote::{Remote, Which, shown};
use super::terminal::{say, wait};

/// An errand about the cell.
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
    /// Have the owner give the cell to another node: requests wait for a moment, none fails. Ask the owner's admin API
    HandOver {
        #[command(flatten)]
        which: Which,
        /// The node that is to own the cell; the one that lacks least unless set
        #[arg(long, value_name = "NODE")]
        to: Option<String>,
    },
}

/// Does it.
pub fn run(errand: Cell) -> Result<(), Exit> {
    match errand {
        Cell::Status { which, json } => status(&which.find()?, json),
        Cell::HandOver { which, to } => hand_over(&which.find()?, to.as_deref()),
    }
}

fn status(remote: &Remote, as_json: bool) -> Result<(), Exit> {
    let cells = wait(remote.ask(Method::GET, "/admin/cells", None))?;
    if as_json {
        return say(&serde_json::to_string_pretty(&cells).map_err(Exit::failed)?);
    }
    let cells = cells.as_array().map(Vec::as_slice);
    for cell in cells.unwrap_or(&[]) {
        say(&page(cell))?;
    }
    Ok(())
}

fn page(cell: &Value) -> String {
    let figure = |name| shown(cell, name);
    let nodes = cell.get("nodes").and_then(Value::as_array);
    let nodes = nodes.map(Vec::as_slice).unwrap_or(&[]);
    let mut lines = vec![format!(
        "cell {}   commit {}",
        figure("cell"),
        figure("commit")
    )];
    if nodes.is_empty() {
        lines.push("one node alone: cell.listen is not set".to_owned());
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

fn hand_over(remote: &Remote, to: Option<&str>) -> Result<(), Exit> {
    let body = to.map_or_else(|| json!({}), |to| json!({"to": to}));
    let asked = remote.ask(Method::POST, "/admin/cells/0/hand-over", Some(body));
    let given = wait(asked)?;
    match given.get("to").and_then(Value::as_str) {
        Some(to) => say(&format!("the cell goes to {to}")),
        None => Err(Exit::failed(shown(&given, "error"))),
    }
}
