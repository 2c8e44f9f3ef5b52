//! Who acts at the admin listener, and what the audit log says of it.
//!
//! **Shape.** A credential is that of a person, or the configured admin key, which is nobody's and acts as `root`.
//! The admin API and the console both come through here: [`recognise`] takes a credential, [`still`] looks again
//! whether whoever was let in may still be here, [`audit`] writes what they do.
//!
//! **Order.** An entry that says what is about to be done is durable before it is done. Of several nodes the owner of the first
//! cell writes it, whoever is asked.
//!
//! **Bounds.** Another node has [`NOTE`] to write it.

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

/// Where entries are taken from other nodes.
pub(super) const AUDIT: &str = "/node/audit";
/// What the owner of the first cell passes on to that of a realm's cell, once it is written down.
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
/// How long an entry waits for another node that owns the first cell: whoever looks waits so long for it.
const NOTE: Duration = Duration::from_secs(5);
/// The largest answer to an entry, in bytes.
const ENTRY_BYTES: usize = 4 << 10;

/// Who acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operator {
    /// The name of the person; `root` is the configured admin key.
    pub name: String,
    /// What they may do: see [`Role::may`].
    pub role: Role,
    /// The public id of the credential that they showed; `root` has none.
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

/// Who shows this credential; `None` for every reason why it is nobody who may be here. It takes the same time for
/// every secret. Whoever gets `None` counts the try with [`crate::http::strangers::Strangers::wrong`].
pub fn recognise(door: &Door, shown: &str) -> Option<Operator> {
    let person = door.keyring.person(shown, &door.engine);
    let root = door.root.as_ref().is_some_and(|root| root.is(shown));
    match person {
        Some(person) => Some(Operator::from(&person)),
        None => root.then(Operator::root),
    }
}

/// Whoever was let in before, as they are now; `None` when their credential was revoked or replaced since, or the
/// admin key is switched off. A session asks this at every request.
pub fn still(door: &Door, known: &Operator) -> Option<Operator> {
    let Some(id) = &known.credential else {
        return door.root.as_ref().map(|_| Operator::root());
    };
    let people = door.engine.staff().people;
    people.with_credential(id).map(Operator::from)
}

/// The configured admin key, for whoever showed on another way that they have it; `None` when it is switched off.
pub fn root(door: &Door) -> Option<Operator> {
    door.root.as_ref().map(|_| Operator::root())
}

/// Writes an entry into the audit log; its sequence, when it is durable. Texts are cut at the lengths that
/// [`caudal_ledger::people::audit`] names. `action` is the operation id of the admin API where there is one.
///
/// # Errors
/// When the store takes no writes. Whoever was about to act does not, then.
pub async fn audit(
    door: &Door,
    operator: &Operator,
    action: &str,
    subject: &str,
    reason: &str,
    outcome: Outcome,
) -> Result<u64, Failure> {
    let entry = AuditEntry {
        operator: operator.name.clone(),
        role: operator.role,
        action: action.to_owned(),
        subject: subject.to_owned(),
        reason: reason.to_owned(),
        request_id: current::request().id,
        outcome,
    };
    noted(door, entry, operator.credential.clone()).await
}

/// The other owner of the first cell, where this node is not it.
pub(super) fn owner_elsewhere(door: &Door) -> Option<&Arc<Node>> {
    door.node.as_ref().filter(|_| !door.is_owners())
}

/// An entry as it is sent to the owner of the first cell.
#[derive(Serialize, Deserialize)]
struct Sent {
    #[serde(flatten)]
    entry: AuditEntry,
    /// The public id of the credential that the operator showed; `root` has none. The owner asks about it and not
    /// about the name: somebody whose credential was replaced has the name still.
    credential: Option<String>,
}

/// What the owner of the first cell says of an entry.
#[derive(Serialize, Deserialize)]
struct Noted {
    entry: u64,
}

/// Has an entry written into the audit log by whoever may; its sequence, when it is durable.
///
/// # Errors
/// When it could not be, or nobody knows.
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

/// Writes what another node does or shows, if whoever it lets in may still be there.
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
        // How something ended is written whoever they are by now, if they have begun it.
        Outcome::Done { of, .. } | Outcome::Failed { of, .. } => {
            let begun = door.engine.audited(of).await?;
            let whose = |it: &AuditEntry| (it.operator.clone(), it.role, it.action.clone());
            begun.is_some_and(|it| it.outcome == Outcome::Begun && whose(&it) == whose(&entry))
        }
        // What is carried out by that is begun here and nowhere else.
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
