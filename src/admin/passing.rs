//! Operations that an operator requests at one node and another node carries out.
//!
//! **Shape.** An operator may ask any node. The owner of the first cell, which has the platform and the audit log,
//! checks and logs operations that act ([`super::access`]); it passes on those that only the owner of a realm's cell
//! can do ([`in_realm`]). Operations on a node itself (its log, its clock, its cells) run on that node, and the owner
//! of the first cell logs them, as it logs looks ([`super::people`]). The operator's identity travels along
//! ([`Behalf`]); the handler is the same everywhere.
//!
//! **Order.** An operation that is passed to the owner of a realm's cell has its first entry already, and gets the
//! second when the answer is back. A second person is asked for where the operation is logged: the realm's owner
//! reports that one is needed, and nothing is done.
//!
//! **Bounds.** A request waits for an owner as clients' requests do. After another node has done the work, the request
//! waits a short time until this node knows of it ([`crate::http::node::Node::follows_now`]).
//!
//! **Failure.** A request that was sent and never answered is not sent again: its outcome is unknown, and the entry
//! that it began stands alone, as after a crash. A request that the owner did not take was not done.

use actix_web::HttpResponse;
use actix_web::body::to_bytes_limited;
use actix_web::http::{Method, StatusCode};
use caudal_actors::cells::FIRST;
use caudal_actors::failure::Failure;
use caudal_ledger::ids::RealmId;

use serde_json::Value;

use super::OperatorDesk;
use super::access::{Acting, Operation};
use super::approvals;
use super::behalf::Behalf;
use super::people::{self, Operator};
use crate::http::Door;
use crate::http::errors::ApiError;
use crate::http::node::errand::{Done, Errand, For};

/// The largest refusal of another node that is read, in bytes.
pub(super) const REFUSAL_BYTES: usize = 64 << 10;

type Answer = Result<HttpResponse, ApiError>;

/// Has the owner of the first cell do an operation that another door of this listener asks for; `None` if this node is
/// the owner.
pub(super) async fn asked_of_first(
    door: &Door,
    operator: &Operator,
    operation: &Operation,
    (subject, reason): (&str, &str),
    body: String,
) -> Result<Option<HttpResponse>, ApiError> {
    let Some(node) = people::owner_elsewhere(door) else {
        return Ok(None);
    };
    let reason = Some(reason).filter(|reason| !reason.is_empty());
    let errand = Errand {
        to: For::Cell(FIRST),
        method: method(operation)?,
        path: operation.at(subject),
        acting: Some(Behalf::new(operator, reason).said()?),
        body: body.into(),
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

fn method(operation: &Operation) -> Result<Method, Failure> {
    Method::from_bytes(operation.method.as_bytes()).map_err(|_| Failure::Bug)
}

/// Does work in a realm: here, or by the same operation on the node that owns its cell.
pub(super) async fn in_realm(
    desk: &OperatorDesk,
    acting: &Acting,
    realm: RealmId,
    work: impl Future<Output = Answer>,
) -> Answer {
    let door = &desk.door;
    let Some(node) = door.node.as_ref() else {
        return work.await;
    };
    // An operation passed to this node was admitted because this node owns the cell.
    if acting.passed || door.serves(realm) {
        return work.await;
    }
    let behalf = Behalf::new(&acting.operator, acting.reason.as_deref());
    let behalf = behalf.written(&acting.subject, acting.entry, acting.approved);
    let errand = Errand {
        to: For::Realm(realm),
        method: method(acting.operation)?,
        path: acting.operation.at(&acting.subject),
        acting: Some(behalf.said()?),
        body: acting.body.clone(),
        repeats: acting.operation.method == Method::GET.as_str(),
        most: None,
    };
    match node.run(door, errand).await? {
        Done::Here(inside) => {
            let done = work.await;
            drop(inside);
            done
        }
        Done::There(answer) if answer.status() == StatusCode::ACCEPTED => {
            approvals::ask(desk, acting).await
        }
        Done::There(answer) if answer.status() == StatusCode::SERVICE_UNAVAILABLE => {
            refused(answer).await
        }
        Done::There(answer) => Ok(answer),
    }
}

/// The error of a realm's owner that did not do the operation, or does not know whether it did.
async fn refused(answer: HttpResponse) -> Answer {
    let (head, body) = answer.into_parts();
    let body = to_bytes_limited(body, REFUSAL_BYTES).await;
    let body = body
        .ok()
        .and_then(Result::ok)
        .ok_or(Failure::OutcomeUnknown)?;
    let said = serde_json::from_slice::<Value>(&body).map_err(|_| Failure::OutcomeUnknown)?;
    let unknown = ApiError::from(Failure::OutcomeUnknown);
    let code = said.get("code").and_then(Value::as_str);
    match code {
        None => Err(unknown),
        Some(code) if code == unknown.code() => Err(unknown),
        Some(_) => Ok(head.set_body(body).map_into_boxed_body()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[actix_web::test]
    async fn what_may_have_been_done_elsewhere_is_no_refusal() {
        for (body, unknown) in [
            (r#"{"code":"outcome_unknown"}"#, true),
            ("no answer of a node", true),
            ("", true),
            (r#"{"code":"shutting_down"}"#, false),
            (r#"{"code":"overloaded"}"#, false),
        ] {
            let answer = HttpResponse::ServiceUnavailable().body(body);
            match refused(answer).await {
                Err(why) => assert!(unknown && why.is_unknown(), "{body}"),
                Ok(answer) => {
                    let same = to_bytes_limited(answer.into_body(), REFUSAL_BYTES).await;
                    assert!(!unknown && same.unwrap().unwrap() == body, "{body}");
                }
            }
        }
    }
}
