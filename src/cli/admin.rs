//! `caudal tenant …` and `caudal key …`: commands for the admin API of a running service.

use caudal_ledger::tenants::scopes::SCOPES;
use clap::builder::PossibleValuesParser;
use reqwest::Method;
use serde_json::{Value, json};

use super::Exit;
use super::remote::{Remote, WhichService, items, shown};
use super::table::aligned;
use super::terminal::{say, wait};

/// Commands about tenants.
#[derive(Debug, clap::Subcommand)]
pub(super) enum TenantCommand {
    /// Create a tenant; it gets a live and a test realm
    Create {
        /// Its name
        name: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// List all tenants
    List {
        #[command(flatten)]
        asking: Asking,
    },
}

/// Commands about keys.
#[derive(Debug, clap::Subcommand)]
pub(super) enum KeyCommand {
    /// Issue a key; its text is shown only now
    Issue {
        /// The tenant's id
        tenant: String,
        /// The realm that it opens
        #[arg(long)]
        mode: Mode,
        /// A name for people
        #[arg(long)]
        label: Option<String>,
        /// What it may do, for instance `read` or `vouchers:write`; may be repeated. Everything unless set
        #[arg(long, value_name = "SCOPE", value_parser = scopes())]
        scope: Vec<String>,
        /// From which address or network it may be used, for instance 10.20.0.0/16; may be repeated.
        /// From everywhere unless set
        #[arg(long, value_name = "NETWORK")]
        allow_ip: Vec<String>,
        /// When it expires, for instance 2027-01-01T00:00:00Z; never unless set
        #[arg(long, value_name = "INSTANT", conflicts_with = "expires_in")]
        expires_at: Option<String>,
        /// After how many seconds it expires
        #[arg(long, value_name = "SECONDS")]
        expires_in: Option<u64>,
        #[command(flatten)]
        asking: Asking,
    },
    /// List the keys of a tenant by prefix
    List {
        /// The tenant's id
        tenant: String,
        #[command(flatten)]
        asking: Asking,
    },
    /// Replace a key by a new one; the old one keeps working for a while
    Rotate {
        /// The id of the old key: the letters between its second and third `_`
        id: String,
        /// How long the old key keeps working, in seconds, up to 7 days; a day unless set
        #[arg(long, value_name = "SECONDS")]
        overlap_seconds: Option<u64>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Revoke a key at once
    Revoke {
        /// The id of the key: the letters between its second and third `_`
        id: String,
        #[command(flatten)]
        asking: Asking,
    },
}

/// Which service, and how its answer is shown.
#[derive(Debug, clap::Args)]
pub(super) struct Asking {
    #[command(flatten)]
    which: WhichService,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Why you do it, for the audit log; needed by whatever changes something, as soon as there are people
    #[arg(long, value_name = "TEXT", env = "CAUDAL_REASON")]
    reason: Option<String>,
}

/// Live or test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Mode {
    /// Real money
    Live,
    /// The sandbox bank
    Test,
}

impl From<Mode> for caudal_ledger::ids::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Live => Self::Live,
            Mode::Test => Self::Test,
        }
    }
}

/// Runs a command about tenants.
pub(super) fn tenant(command: TenantCommand) -> Result<(), Exit> {
    const COLUMNS: [&str; 3] = ["id", "name", "createdAt"];
    match command {
        TenantCommand::Create { name, asking } => {
            let body = Some(json!({"name": name}));
            asking.run(Method::POST, "/admin/tenants", body, |tenant| {
                format!("tenant {} created", shown(tenant, "id"))
            })
        }
        TenantCommand::List { asking } => {
            let show = |list: &Value| table(&COLUMNS, items(list));
            asking.run(Method::GET, "/admin/tenants", None, show)
        }
    }
}

/// Runs a command about keys.
pub(super) fn key(command: KeyCommand) -> Result<(), Exit> {
    const COLUMNS: [&str; 10] = [
        "id",
        "prefix",
        "mode",
        "label",
        "status",
        "scopes",
        "ipAllow",
        "createdAt",
        "expiresAt",
        "lastUsedAt",
    ];
    match command {
        KeyCommand::Issue {
            tenant,
            mode,
            label,
            scope,
            allow_ip,
            expires_at,
            expires_in,
            asking,
        } => {
            let mode = match mode {
                Mode::Live => "live",
                Mode::Test => "test",
            };
            let listed = |texts: Vec<String>| (!texts.is_empty()).then_some(texts);
            let body = sent([
                ("mode", json!(mode)),
                ("label", json!(label)),
                ("scopes", json!(listed(scope))),
                ("ipAllow", json!(listed(allow_ip))),
                ("expiresAt", json!(expires_at)),
                ("expiresIn", json!(expires_in)),
            ]);
            let path = format!("/admin/tenants/{}/keys", segment(&tenant)?);
            asking.run(Method::POST, &path, Some(body), issued)
        }
        KeyCommand::List { tenant, asking } => {
            let path = format!("/admin/tenants/{}/keys", segment(&tenant)?);
            asking.run(Method::GET, &path, None, |list| {
                table(&COLUMNS, items(list))
            })
        }
        KeyCommand::Rotate {
            id,
            overlap_seconds,
            asking,
        } => {
            let body = overlap_seconds.map_or(json!({}), |s| json!({"overlapSeconds": s}));
            let path = format!("/admin/keys/{}/rotate", segment(&id)?);
            asking.run(Method::POST, &path, Some(body), issued)
        }
        KeyCommand::Revoke { id, asking } => {
            let path = format!("/admin/keys/{}", segment(&id)?);
            asking.run(Method::DELETE, &path, None, |_| format!("key {id} revoked"))
        }
    }
}

/// The words of scopes, for completion and for a check before the request.
fn scopes() -> PossibleValuesParser {
    SCOPES.map(|(word, _)| word).into()
}

/// A body with the fields that are set.
fn sent<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let set = fields.into_iter().filter(|(_, value)| !value.is_null());
    set.map(|(name, value)| (name.to_owned(), value))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// A key that was made, or the request for one that waits for a second person, who then gets it.
fn issued(key: &Value) -> String {
    if key.get("state").is_some() {
        let id = shown(key, "id");
        return format!(
            "Approval {id} waits for a second person: `caudal approvals approve {id}` makes the key and shows it, this once."
        );
    }
    let text = shown(key, "key");
    format!("{text}\n\nThis key is shown this once: keep it in a safe place.")
}

/// An id as one segment of a path.
pub(super) fn segment(id: &str) -> Result<&str, Exit> {
    let good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !id.is_empty() && id.bytes().all(good) {
        Ok(id)
    } else {
        Err(Exit::usage(format!("{id:?} is no id")))
    }
}

/// The named fields of each row, as a table for people.
pub(super) fn table<const N: usize>(columns: &[&str; N], rows: &[Value]) -> String {
    let cells = |row: &Value| columns.map(|column| shown(row, column));
    aligned(*columns, rows.iter().map(cells))
}

impl Asking {
    /// The service to call, and whether its answer is shown as JSON.
    pub(super) fn find(self) -> Result<(Remote, bool), Exit> {
        let remote = self.which.find()?;
        Ok((remote.because(self.reason), self.json))
    }

    /// Sends a request, and shows the answer.
    pub(super) fn run(
        self,
        method: Method,
        path: &str,
        body: Option<Value>,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<(), Exit> {
        self.answered(method, path, body, show).map(drop)
    }

    /// Sends a request, shows the answer, and returns it: for answers that may still mean a failure.
    pub(super) fn answered(
        self,
        method: Method,
        path: &str,
        body: Option<Value>,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<Value, Exit> {
        let (remote, json) = self.find()?;
        let answer = wait(remote.ask(method, path, body))?;
        let text = if json {
            serde_json::to_string_pretty(&answer).map_err(Exit::failed)?
        } else {
            show(&answer)
        };
        say(&text)?;
        Ok(answer)
    }
}
