//! `caudal cell`: the cells and their nodes, through the admin API.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::remote::{Remote, Which, shown};
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
}

/// Runs the command.
pub fn run(errand: Cell) -> Result<(), Exit> {
    match errand {
        Cell::Status { which, json } => status(&which.find()?, json),
        Cell::HandOver { which, cell, to } => hand_over(&which.find()?, (cell, to.as_deref())),
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
