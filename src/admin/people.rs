//! The operators of the admin listener, and their entries in the audit log.
//!
//! **Shape.** A credential belongs to a person; the configured admin key belongs to nobody and acts as `root`. The
//! admin API and the console both come through here: [`recognise`] checks a credential, [`still`] checks again whether
//! an admitted operator may stay, and [`audit`] writes the log.
//!
//! **Order.** The entry that announces an action is durable before the action. With several nodes, the owner of the
//! first cell writes it, whichever node is asked.
//!
//! **Bounds.** Another node has [`NOTE`] to write an entry.

use std::sync::Arc;
use std::time::Duration;

use actix_web::body::to_bytes_limited;
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpResponse, web};
use caudal_actors::cells::FIRST;
use caudal_actors::failure::Failure;
use caudal_ledger::people::audit::AuditEntry;
use caudal_ledger::people::{Person, ROOT};
use serde::{Deserialize, Serialize};

use crate::http::Door;
use crate::http::body::BODY_BYTES_MAX;
use crate::http::bytes::Bytes;
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::node::Node;
use crate::http::node::errand::{Done, Errand, For};
use crate::http::respond::json;
use crate::http::words::Refusal;

pub use caudal_ledger::people::audit::Outcome;
pub use caudal_ledger::people::{Power, Role};

/// The path at which nodes accept entries from other nodes.
pub(super) const AUDIT: &str = "/node/audit";
/// Operations that the owner of the first cell logs and then passes to the owner of the realm's cell.
pub(super) const CARRIED: [&str; 9] = [
    "readActor",
    "passivateActor",
    "setFeeSchedule",
    "suspendAccountByOperator",
    "reactivateAccountByOperator",
    "decideCase",
    "decideTransfer",
    "redeliverRangeByOperator",
    "redeliverByOperator",
];
/// How long this node waits for the owner of the first cell to write an entry; a request that only looks waits as long.
const NOTE: Duration = Duration::from_secs(5);
/// The largest answer to an entry, in bytes.
const ENTRY_BYTES: usize = 4 << 10;

/// A person or the admin key, as admitted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// The name of the person; `root` is the configured admin key.
    pub name: String,
    /// What the role may do: see [`Role::may`].
    pub role: Role,
    /// The public id of the credential; `root` has none.
    pub credential: Option<String>,
}

impl Operator {
    fn root() -> Self {
        Self {
            name: ROOT.to_owned(),
            role: Role::Root,
            credential: None,
        }
    }

    /// Whether it is a person, and not the configured admin key.
    pub fn is_person(&self) -> bool {
        self.role != Role::Root
    }
}

impl From<&Person> for Operator {
    fn from(person: &Person) -> Self {
        Self {
            name: person.name.to_string(),
            role: person.role,
            credential: Some(person.credential.id.clone()),
        }
    }
}

/// The operator of a credential; `None` whatever the reason that it is not accepted. Takes the same time for every
/// secret. A caller that gets `None` counts it by [`crate::http::strangers::Strangers::wrong`] and refuses.
pub fn recognise(door: &Door, shown: &str) -> Option<Operator> {
    let person = door.keyring.person(shown, &door.engine);
    let root = door.root.as_ref().is_some_and(|root| root.is(shown));
    match person {
        Some(person) => Some(Operator::from(&person)),
        None => root.then(Operator::root),
    }
}

/// The current state of an operator admitted before; `None` when their credential was revoked or replaced since, or the
/// admin key is switched off. A session calls this at every request.
pub fn still(door: &Door, known: &Operator) -> Option<Operator> {
    let Some(id) = &known.credential else {
        return door.root.as_ref().map(|_| Operator::root());
    };
    let people = door.engine.staff().people;
    people.with_credential(id).map(Operator::from)
}

/// The operator `root`, for somebody who proved possession of the admin key in another way; `None` when the key is
/// switched off.
pub fn root(door: &Door) -> Option<Operator> {
    door.root.as_ref().map(|_| Operator::root())
}

/// Writes an entry to the audit log and returns its sequence once it is durable; 0 for a look or a denial beyond the
/// operator's allowance, which is counted instead ([`crate::http::audit_rate`]). Texts are cut at the lengths that
/// [`caudal_ledger::people::audit`] names. `action` is the admin API's operation id where there is one.
///
/// # Errors
/// When the store takes no writes. The caller must then not act.
pub async fn audit(
    door: &Door,
    operator: &Operator,
    action: &str,
    subject: &str,
    reason: &str,
    outcome: Outcome,
) -> Result<u64, Failure> {
    let (name, rate) = (&operator.name, &door.audit_rate);
    if matches!(outcome, Outcome::Looked | Outcome::Denied) && !rate.admits(name) {
        return Ok(0);
    }
    let omitted = rate.taken(name);
    let entry = AuditEntry {
        operator: name.clone(),
        role: operator.role,
        action: action.to_owned(),
        subject: subject.to_owned(),
        reason: reason.to_owned(),
        request_id: current::request().id,
        outcome,
        omitted,
    };
    let noted = noted(door, entry, operator.credential.clone()).await;
    if noted.is_err() {
        rate.add(name, omitted);
    }
    noted
}

/// This node, if another one owns the first cell.
pub(super) fn owner_elsewhere(door: &Door) -> Option<&Arc<Node>> {
    door.node.as_ref().filter(|_| !door.is_owners())
}

/// An entry as it is sent to the owner of the first cell.
#[derive(Serialize, Deserialize)]
struct Sent {
    #[serde(flatten)]
    entry: AuditEntry,
    /// The public id of the credential that the operator showed; `root` has none. The owner checks it, because an
    /// operator whose credential was replaced still has the name.
    credential: Option<String>,
}

/// The answer of the owner of the first cell to an entry.
#[derive(Serialize, Deserialize)]
struct Noted {
    entry: u64,
}

/// Has the owner of the first cell write an entry; returns its sequence once it is durable.
///
/// # Errors
/// When it could not be written, or the outcome is unknown.
async fn noted(door: &Door, entry: AuditEntry, credential: Option<String>) -> Result<u64, Failure> {
    let Some(node) = owner_elsewhere(door) else {
        return door.engine.audit(entry).await;
    };
    let sent = Sent { entry, credential };
    let errand = Errand {
        to: For::Cell(FIRST),
        method: Method::POST,
        path: AUDIT.to_owned(),
        acting: None,
        body: serde_json::to_vec(&sent).map_err(|_| Failure::Bug)?.into(),
        repeats: false,
        most: Some(NOTE),
    };
    match node.run(door, errand).await? {
        Done::Here(_inside) => door.engine.audit(sent.entry).await,
        Done::There(answer) if answer.status().is_success() => {
            let body = to_bytes_limited(answer.into_body(), ENTRY_BYTES).await;
            let body = body.ok().and_then(Result::ok);
            let noted = body.and_then(|body| serde_json::from_slice::<Noted>(&body).ok());
            noted.map(|it| it.entry).ok_or(Failure::OutcomeUnknown)
        }
        Done::There(_) => Err(Failure::ShuttingDown),
    }
}

/// Writes an entry for another node, if the operator it names may still act.
pub(super) async fn take(
    door: web::Data<Door>,
    Bytes(sent): Bytes<BODY_BYTES_MAX>,
) -> Result<HttpResponse, ApiError> {
    let Sent { entry, credential } = serde_json::from_slice(&sent).map_err(|_| Refusal::NoRoute)?;
    let people = door.engine.staff().people;
    let works = match (entry.role, credential) {
        (Role::Root, None) => entry.operator == ROOT && root(&door).is_some(),
        (role, Some(id)) if role != Role::Root => {
            let person = people.with_credential(&id);
            person.is_some_and(|it| it.name.as_str() == entry.operator && it.role == role)
        }
        _ => false,
    };
    let may = match entry.outcome {
        // The end of an operation is logged whatever the operator's rights are by now, if the same operator began it.
        Outcome::Done { of, .. } | Outcome::Failed { of, .. } => {
            let begun = door.engine.audited(of).await?;
            let whose = |it: &AuditEntry| (it.operator.clone(), it.role, it.action.clone());
            begun.is_some_and(|it| it.outcome == Outcome::Begun && whose(&it) == whose(&entry))
        }
        // The owner of the first cell itself begins the operations that it passes on.
        Outcome::Begun => works && !CARRIED.contains(&entry.action.as_str()),
        Outcome::Looked | Outcome::Denied => works,
        Outcome::Asked { .. } => false,
    };
    if !may {
        return Err(Refusal::NoAdminKey.into());
    }
    let entry = door.engine.audit(entry).await?;
    Ok(json(StatusCode::OK, &Noted { entry }))
}
