//! Who acts at the admin listener, and what the audit log says of it.
//!
//! **Shape.** A credential is that of a person, or the configured admin key, which is nobody's and acts as `root`.
//! The admin API and the console both come through here: [`recognise`] takes a credential, [`still`] looks again
//! whether whoever was let in may still be here, [`audit`] writes what they do.
//!
//! **Order.** An entry that says what is about to be done is durable before it is done.

use caudal_actors::failure::Failure;
use caudal_ledger::people::audit::AuditEntry;
use caudal_ledger::people::{Person, ROOT};

use crate::http::Door;
use crate::http::current;

pub use caudal_ledger::people::audit::Outcome;
pub use caudal_ledger::people::{Power, Role};

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
    door.engine.audit(entry).await
}
