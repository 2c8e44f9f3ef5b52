//! The operators of the admin listener, and their entries in the audit log.
//!
//! **Shape.** A credential belongs to a person; the configured admin key belongs to nobody and acts as `root`. The
//! admin API and the console both come through here: [`recognise`] checks a credential, [`still`] checks again whether
//! an admitted operator may stay, and [`audit`] writes the log.
//!
//! **Order.** The entry that announces an action is durable before the action. With several nodes, only the owner of the
//! log writes it.

use caudal_actors::failure::Failure;
use caudal_http::AppState;
use caudal_http::current;
use caudal_ledger::people::audit::{AuditDetails, AuditEntry};
use caudal_ledger::people::{Person, ROOT};

pub(crate) use caudal_ledger::people::audit::AuditOutcome;
pub(crate) use caudal_ledger::people::{Power, Role};

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
/// secret. A caller that gets `None` counts it by [`caudal_http::wrong_keys::WrongKeys::wrong`] and refuses.
pub(crate) fn recognise(app: &AppState, shown: &str) -> Option<Operator> {
    let person = app.keyring.person(shown, &app.engine);
    let root = app.root.as_ref().is_some_and(|root| root.is(shown));
    match person {
        Some(person) => Some(Operator::from(&person)),
        None => root.then(Operator::root),
    }
}

/// The current state of an operator admitted before; `None` when their credential was revoked or replaced since, or the
/// admin key is switched off. A session calls this at every request.
pub(crate) fn still(app: &AppState, known: &Operator) -> Option<Operator> {
    let Some(id) = &known.credential else {
        return app.root.as_ref().map(|_| Operator::root());
    };
    let people = app.engine.operators().staff().people;
    people.with_credential(id).map(Operator::from)
}

/// The operator `root`, for somebody who proved possession of the admin key in another way; `None` when the key is
/// switched off.
pub(crate) fn root(app: &AppState) -> Option<Operator> {
    app.root.as_ref().map(|_| Operator::root())
}

/// Writes an entry to the audit log and returns its sequence once it is durable; 0 for a login or a denial beyond the
/// operator's allowance, which is counted instead ([`caudal_http::audit_rate`]). Texts are cut at the lengths that
/// [`caudal_ledger::people::audit`] names. `action` is the admin API's operation id where there is one. Looks go through
/// [`super::looks`].
///
/// # Errors
/// When the store takes no writes. The caller must then not act.
pub(crate) async fn audit(
    app: &AppState,
    operator: &Operator,
    action: &str,
    subject: &str,
    reason: &str,
    outcome: AuditOutcome,
    details: AuditDetails,
) -> Result<u64, Failure> {
    let rate = &app.audit_rate;
    let light = matches!(outcome, AuditOutcome::Looked | AuditOutcome::Denied);
    if light && !rate.admits(&operator.name) {
        return Ok(0);
    }
    write(app, operator, (action, subject), reason, outcome, details).await
}

/// Writes an entry to the audit log, whatever the operator's allowance.
///
/// # Errors
/// When the store takes no writes.
pub(super) async fn write(
    app: &AppState,
    operator: &Operator,
    (action, subject): (&str, &str),
    reason: &str,
    outcome: AuditOutcome,
    details: AuditDetails,
) -> Result<u64, Failure> {
    let (name, rate) = (&operator.name, &app.audit_rate);
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
        details,
    };
    let noted = app.engine.operators().audit(entry).await;
    if noted.is_err() {
        rate.add(name, omitted);
    }
    noted
}
