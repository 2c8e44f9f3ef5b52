//! `caudal approvals`: what one person asked for, decided by another one from the command line.
//!
//! Whoever decides needs a credential of their own: the configured admin key is nobody's, and the service refuses it.

use clap::Subcommand;
use reqwest::Method;
use serde_json::Value;

use super::Exit;
use super::admin::{Asking, table};
use super::remote::{items, shown};

/// An errand about approvals.
#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// List what waits, and the last of what was decided
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
    /// Approve one: it is carried out at once
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

/// Does it.
pub fn run(errand: Approvals) -> Result<(), Exit> {
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
        asking.run(Method::POST, &path, None, page)
    };
    match errand {
        Approvals::List { asking } => asking.run(Method::GET, "/admin/approvals", None, |list| {
            table(&COLUMNS, items(list))
        }),
        Approvals::Show { id, asking } => {
            let path = format!("/admin/approvals/{id}");
            asking.run(Method::GET, &path, None, page)
        }
        Approvals::Approve { id, asking } => decide(id, "approve", asking),
        Approvals::Reject { id, asking } => decide(id, "reject", asking),
    }
}

/// One of them, for whoever decides about it.
fn page(approval: &Value) -> String {
    let lines = [
        ("approval", "id"),
        ("state", "state"),
        ("asked by", "requestedBy"),
        ("at", "requestedAt"),
        ("ends at", "expiresAt"),
        ("action", "action"),
        ("subject", "subject"),
        ("reason", "reason"),
        ("decided by", "decidedBy"),
        ("status", "status"),
    ];
    let lines = lines.map(|(name, field)| format!("{name:<11} {}", shown(approval, field)));
    let request = approval.get("request").unwrap_or(&Value::Null);
    // What a text that cannot be written could be is not guessed.
    let request = serde_json::to_string_pretty(request).unwrap_or_else(|why| why.to_string());
    format!("{}\nrequest\n{request}", lines.join("\n"))
}
