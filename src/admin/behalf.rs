//! On whose behalf a node asks another one, and how operations that act reach the owner of the first cell.
//!
//! **Order.** The node that receives such a request checks again, by its own data, whether the operator may still act.
//! An operation that is logged already is carried out only if this node's own copy of the audit log says that it began
//! and has not ended ([`begun`]). So nothing is done in a realm without an entry.
//!
//! **Trust.** Nodes believe each other about who the operator is. Whoever has the nodes' secret can therefore order as any
//! operator, as whoever has the admin key can; each order gets its entry. The body of an operation is compared only if a
//! second person has approved it.
//!
//! **Bounds.** Only the operations in [`CARRIED`] are carried out this way.

use std::sync::Arc;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::HeaderMap;
use actix_web::{HttpResponse, web};
use caudal_actors::cells::FIRST;
use caudal_actors::failure::Failure;
use caudal_ledger::people::Role;
use caudal_ledger::people::approvals::Proposal;
use caudal_ledger::people::audit::AuditEntry;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use super::people::{self, CARRIED, Operator, Power};
use crate::http::Door;
use crate::http::errors::ApiError;
use crate::http::node::Node;
use crate::http::node::errand::{ACTING, Done, Errand, For, is_sent_as_it_is};
use crate::http::words::Refusal;

/// The operator on whose behalf an errand is done, with the log entry if there is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Behalf {
    name: String,
    role: Role,
    credential: Option<String>,
    /// The reason, if one was given.
    reason: Option<String>,
    /// The subject, if the operation is logged already; then this node only carries it out.
    subject: Option<String>,
    /// The entry of the audit log that it began; 0 for an operation that only looks.
    entry: u64,
    /// Whether a second person has approved it.
    approved: bool,
}

impl Behalf {
    /// An operator whom this node has admitted, and their reason.
    pub(super) fn new(operator: &Operator, reason: Option<&str>) -> Self {
        Self {
            name: operator.name.clone(),
            role: operator.role,
            credential: operator.credential.clone(),
            reason: reason.map(str::to_owned),
            subject: None,
            entry: 0,
            approved: false,
        }
    }

    /// The operator in the header of an errand.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let said = headers.get(ACTING)?.to_str().ok()?;
        let said = percent_decode_str(said).decode_utf8().ok()?;
        serde_json::from_str(&said).ok()
    }

    /// The value for that header.
    ///
    /// # Errors
    /// Only if serialization fails, which is not known to happen.
    pub(super) fn said(&self) -> Result<String, Failure> {
        let text = serde_json::to_string(self).map_err(|_| Failure::Bug)?;
        Ok(utf8_percent_encode(&text, NON_ALPHANUMERIC).to_string())
    }

    /// The operator, as the other node admitted them.
    pub(super) fn operator(&self) -> Operator {
        Operator {
            name: self.name.clone(),
            role: self.role,
            credential: self.credential.clone(),
        }
    }

    /// The reason, if one was given.
    pub(super) fn reason(&self) -> Option<String> {
        self.reason.clone()
    }

    /// The same for a logged operation: its subject, its entry, and whether a second person has approved it.
    #[must_use]
    pub(super) fn written(self, subject: &str, entry: u64, approved: bool) -> Self {
        Self {
            subject: Some(subject.to_owned()),
            entry,
            approved,
            ..self
        }
    }

    /// Whether the operation is logged already.
    pub(super) const fn is_written(&self) -> bool {
        self.subject.is_some()
    }

    /// Whether a second person has approved it.
    pub(super) const fn is_approved(&self) -> bool {
        self.approved
    }
}

/// The operation that another node claims to have logged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    /// The operation.
    pub id: &'static str,
    /// The power that it requires.
    pub power: Power,
    /// Whether it acts, or only looks.
    pub acts: bool,
    /// The subject that its path names.
    pub subject: &'a str,
    /// The body, as it was sent.
    pub body: &'a [u8],
}

/// Refuses an operation that this node's copy of the audit log does not show as begun. Reads have no entry: for these
/// the operator's rights are checked.
pub(super) async fn begun(door: &Door, behalf: &Behalf, said: Said<'_>) -> Result<(), ApiError> {
    let refused = || ApiError::from(Refusal::NoAdminKey);
    if !CARRIED.contains(&said.id) || behalf.subject.as_deref() != Some(said.subject) {
        return Err(refused());
    }
    if let Some(node) = &door.node {
        node.told().await?;
    }
    if !said.acts {
        let who = people::still(door, &behalf.operator());
        let may = who.is_some_and(|it| it.role.may(said.power));
        return may.then_some(()).ok_or_else(refused);
    }
    let entry = door.engine.begun(behalf.entry).await?;
    let same = entry.filter(|it| {
        let named = match behalf.approved {
            true => is_approved(door, (&behalf.name, said.body), it),
            false => it.operator == behalf.name,
        };
        let what = (it.action.as_str(), it.subject.as_str()) == (said.id, said.subject);
        named && what && it.role == behalf.role && it.role.may(said.power)
    });
    same.map(drop).ok_or_else(refused)
}

/// Whether a second person has approved the operation of an entry, with this body and for this operator, and it has not
/// ended.
fn is_approved(door: &Door, (both, body): (&str, &[u8]), entry: &AuditEntry) -> bool {
    let approvals = door.engine.staff().approvals;
    let same = |it: &Proposal| {
        (&it.by, &it.action, &it.subject) == (&entry.operator, &entry.action, &entry.subject)
            && it.body.as_bytes() == body
    };
    approvals.all().any(|it| {
        let vote = it.vote.as_ref().filter(|vote| vote.approved);
        let named = vote.is_some_and(|vote| together(&it.proposal.by, &vote.by) == both);
        it.status.is_none() && same(&it.proposal) && named
    })
}

/// The name of two people: the one who asked, and the one who approved.
pub(super) fn together(asked: &str, approved: &str) -> String {
    format!("{asked} + {approved}")
}

/// Has the owner of the first cell do and log an operator's request; `None` if this node is the owner by now, and then
/// the body is available to the handler again.
pub(super) async fn to_first(
    door: &Door,
    node: &Arc<Node>,
    (operator, reason): (&Operator, Option<&str>),
    (call, body): (&ServiceRequest, &web::Bytes),
) -> Result<Option<HttpResponse>, ApiError> {
    let path = call.uri().path_and_query();
    let path = path.map_or_else(|| call.path().to_owned(), ToString::to_string);
    if !is_sent_as_it_is(&path) {
        return Err(Refusal::NoRoute.into());
    }
    let errand = Errand {
        to: For::Cell(FIRST),
        method: call.method().clone(),
        path,
        acting: Some(Behalf::new(operator, reason).said()?),
        body: body.clone(),
        repeats: false,
        most: None,
    };
    match node.run(door, errand).await? {
        Done::There(answer) => {
            if answer.status().is_success() {
                node.follows_now(door).await;
            }
            Ok(Some(answer))
        }
        Done::Here(_) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn for_whom_an_errand_is_travels_along_whatever_they_said() {
        let operator = Operator {
            name: "Ñandú, \"Ana\"".to_owned(),
            role: Role::Operator,
            credential: Some("abc".to_owned()),
        };
        let said = Behalf::new(&operator, Some("línea\u{7f} % \u{1f600}")).said();
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_str(&said.unwrap()).unwrap();
        headers.insert(HeaderName::from_static(ACTING), value);
        let found = Behalf::of(&headers).unwrap();
        assert_eq!(found.operator(), operator);
        assert_eq!(found.reason().as_deref(), Some("línea\u{7f} % \u{1f600}"));
        assert!(!found.is_written());
        let written = found.written("tnt_1", 7, true);
        assert!(written.is_written() && written.is_approved());
    }
}
