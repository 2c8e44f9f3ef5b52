//! `caudal approvals`: decides requests that another person made, from the command line.
//!
//! A decision needs a person's own credential: the configured admin key belongs to nobody, and the service refuses it.

use clap::Subcommand;
use reqwest::Method;
use serde_json::Value;

use super::Exit;
use super::admin::{Asking, table};
use super::remote::{items, refusal, shown};

/// A command about approvals.
#[derive(Debug, Subcommand)]
pub(super) enum ApprovalsCommand {
    /// List what waits, and the latest decisions
    List {
        #[command(flatten)]
        asking: Asking,
    },
    /// Show one with the request that would be carried out
    Show {
        /// Its number
        id: u64,
        #[command(flatten)]
        asking: Asking,
    },
    /// Approve one: it is carried out at once; 1 when that fails
    Approve {
        /// Its number
        id: u64,
        #[command(flatten)]
        asking: Asking,
    },
    /// Refuse one: it is not carried out
    Reject {
        /// Its number
        id: u64,
        #[command(flatten)]
        asking: Asking,
    },
}

/// Runs the command.
pub(super) fn run(command: ApprovalsCommand) -> Result<(), Exit> {
    const COLUMNS: [&str; 8] = [
        "id",
        "state",
        "requestedBy",
        "action",
        "subject",
        "reason",
        "requestedAt",
        "decidedBy",
    ];
    let decide = |id: u64, word: &str, asking: Asking| {
        let path = format!("/admin/approvals/{id}/{word}");
        asking.answered(Method::POST, &path, None, page)
    };
    match command {
        ApprovalsCommand::List { asking } => {
            asking.run(Method::GET, "/admin/approvals", None, |list| {
                table(&COLUMNS, items(list))
            })
        }
        ApprovalsCommand::Show { id, asking } => {
            let path = format!("/admin/approvals/{id}");
            asking.run(Method::GET, &path, None, page)
        }
        ApprovalsCommand::Approve { id, asking } => {
            carried_out(id, &decide(id, "approve", asking)?)
        }
        ApprovalsCommand::Reject { id, asking } => decide(id, "reject", asking).map(drop),
    }
}

/// Checks that an approved operation was done.
fn carried_out(id: u64, approval: &Value) -> Result<(), Exit> {
    match approval.get("state").and_then(Value::as_str) {
        Some("failed") => {
            let why = approval.get("answer").map(refusal);
            let why = why.unwrap_or_else(|| format!("status {}", shown(approval, "status")));
            Err(Exit::failed(format!(
                "approval {id} could not be carried out: {why}"
            )))
        }
        Some("approved") => Err(Exit::failed(format!(
            "nobody knows yet how approval {id} ended: see `caudal audit`"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// One request, with the facts that its approver needs.
fn page(approval: &Value) -> String {
    let lines = [
        ("approval", "id"),
        ("state", "state"),
        ("asked by", "requestedBy"),
        ("at", "requestedAt"),
        ("ends at", "expiresAt"),
        ("action", "action"),
        ("subject", "subject"),
        ("tenant", "tenantName"),
        ("reason", "reason"),
        ("decided by", "decidedBy"),
        ("because", "decisionReason"),
        ("status", "status"),
    ];
    let lines = lines.map(|(name, field)| format!("{name:<11} {}", shown(approval, field)));
    let request = approval.get("request").unwrap_or(&Value::Null);
    // If a value cannot be formatted, show the error instead.
    let pretty =
        |it: &Value| serde_json::to_string_pretty(it).unwrap_or_else(|why| why.to_string());
    let mut text = format!("{}\nrequest\n{}", lines.join("\n"), pretty(request));
    let there = |it: &&Value| !it.is_null() && it.as_array().is_none_or(|all| !all.is_empty());
    let more = [
        ("changes", "changes"),
        ("case", "case"),
        ("accounts", "accounts"),
        ("key to replace", "key"),
    ];
    for (name, field) in more {
        if let Some(found) = approval.get(field).filter(there) {
            text.push_str(&format!("\n{name}\n{}", pretty(found)));
        }
    }
    if let Some(answer) = approval.get("answer") {
        text.push_str(&format!("\nanswer\n{}", pretty(answer)));
    }
    text
}
