//! `caudal node`: the nodes of a log, and giving it to another one, through the admin API.

use clap::Subcommand;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::remote::{Remote, WhichService, shown};
use super::terminal::{say, wait};

/// A command about nodes.
#[derive(Debug, Subcommand)]
pub(super) enum NodeCommand {
    /// Show which node owns the log, and which follow it and how far they are; any node answers
    Status {
        #[command(flatten)]
        which: WhichService,
        /// Print the answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Hand the log from its owner to another node; clients repeat their requests for a moment. Ask that owner's admin API
    HandOver {
        #[command(flatten)]
        which: WhichService,
        /// The node that is to own the log; the one that lacks least unless set
        #[arg(long, value_name = "NODE")]
        to: Option<String>,
    },
}

/// Runs the command.
pub(super) fn run(command: NodeCommand) -> Result<(), Exit> {
    match command {
        NodeCommand::Status { which, json } => status(&which.find()?, json),
        NodeCommand::HandOver { which, to } => hand_over(&which.find()?, to.as_deref()),
    }
}

fn status(remote: &Remote, as_json: bool) -> Result<(), Exit> {
    let nodes = wait(remote.ask(Method::GET, "/admin/node", None))?;
    if as_json {
        return say(&serde_json::to_string_pretty(&nodes).map_err(Exit::failed)?);
    }
    say(&page(&nodes))
}

fn page(all: &Value) -> String {
    let figure = |name| shown(all, name);
    let nodes = all.get("nodes").and_then(Value::as_array);
    let nodes = nodes.map(Vec::as_slice).unwrap_or(&[]);
    if nodes.is_empty() {
        return format!(
            "commit {}, one node: cell.public_url is not set",
            figure("commit")
        );
    }
    let mut lines = vec![
        format!("log      commit {}", figure("commit")),
        format!(
            "owner    {} at {} in epoch {}, lease {} ms",
            figure("owner"),
            figure("ownerUrl"),
            figure("epoch"),
            figure("leaseLeftMs")
        ),
    ];
    for node in nodes {
        let of = |name| shown(node, name);
        let there = match node.get("present") {
            Some(Value::Bool(true)) => "",
            _ => ", gone",
        };
        lines.push(format!(
            "node     {} at {}: {} commits behind, seen {} ms ago{there}",
            of("name"),
            of("url"),
            of("behind"),
            of("seenMsAgo")
        ));
    }
    lines.join("\n")
}

fn hand_over(remote: &Remote, to: Option<&str>) -> Result<(), Exit> {
    let body = to.map_or_else(|| json!({}), |to| json!({"to": to}));
    let given = wait(remote.ask(Method::POST, "/admin/node/hand-over", Some(body)))?;
    match given.get("to").and_then(Value::as_str) {
        Some(to) => say(&format!("the log goes to {to}")),
        None => Err(Exit::failed(shown(&given, "error"))),
    }
}
