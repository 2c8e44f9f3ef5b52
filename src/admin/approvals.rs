//! Four eyes: one person asks for an operation, and another decides.
//!
//! **Shape.** When the tenant's policy requires a second person, the handler stores the request ([`ask`]) and answers
//! 202 with its number. An approval runs the same code that would have run at once, and that code checks the request
//! again against the current state.
//!
//! **Order.** The approval and the entry that the operation begins are durable before anything is done. Approving and
//! carrying out happen in one task of their own, so that both complete even if the approver's connection ends.
//!
//! **Failure.** If the process stops in between, the proposal stays approved without an end: see
//! [`caudal_ledger::people::approvals`].

pub(super) mod voting;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::failure::Failure;
use caudal_ledger::people::approvals::{Approval, ApprovalOrder, Proposal};
use caudal_ledger::people::audit::AuditEntry;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::OperatorDesk;
use super::access::Acting;
use super::people::Outcome;
use super::shapes::List;
use crate::http::current;
use crate::http::errors::ApiError;
use crate::http::respond::json;

type Answer = Result<HttpResponse, ApiError>;

/// What one person asked for, and what became of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Approval)]
pub(super) struct ApprovalBody {
    id: u64,
    /// `waiting`, `expired`, `rejected`, `approved` (being carried out, or nobody knows how it ended), `done` or
    /// `failed`.
    state: &'static str,
    /// The id of the operation that was asked for.
    action: String,
    /// What it is about.
    subject: String,
    requested_by: String,
    requested_at: String,
    /// Why.
    reason: String,
    expires_at: String,
    /// The body of the request.
    #[schema(value_type = Object)]
    request: Value,
    decided_by: Option<String>,
    decided_at: Option<String>,
    /// Why it was approved or rejected.
    decision_reason: Option<String>,
    /// The HTTP status with which it was carried out.
    status: Option<u16>,
    /// What was answered when it was carried out; in the answer to the approval alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    answer: Option<Value>,
}

fn shown(approval: &Approval, now: Timestamp, answer: Option<Value>) -> ApprovalBody {
    let Approval {
        proposal,
        vote,
        status,
        ..
    } = approval;
    let request: Option<Value> = serde_json::from_str(&proposal.body).ok();
    ApprovalBody {
        id: proposal.number,
        state: approval.state(now),
        action: proposal.action.clone(),
        subject: proposal.subject.clone(),
        requested_by: proposal.by.clone(),
        requested_at: approval.asked_at.to_string(),
        reason: proposal.reason.clone(),
        expires_at: proposal.expires_at.to_string(),
        request: request.unwrap_or(Value::Null),
        decided_by: vote.as_ref().map(|vote| vote.by.clone()),
        decided_at: vote.as_ref().map(|vote| vote.at.to_string()),
        decision_reason: vote.as_ref().map(|vote| vote.reason.clone()),
        status: *status,
        answer,
    }
}

/// Stores a request until another person decides: 202 with the proposal.
///
/// # Errors
/// When too many requests wait, or the store takes no writes.
pub(super) async fn ask(desk: &OperatorDesk, acting: &Acting) -> Answer {
    if acting.passed {
        // The node that passed the request here stores it.
        return Ok(HttpResponse::Accepted().finish());
    }
    let engine = &desk.door.engine;
    let Acting {
        operator,
        operation,
        subject,
        ..
    } = acting;
    let body = std::str::from_utf8(&acting.body);
    let proposal = Proposal {
        number: 0,
        by: operator.name.clone(),
        role: operator.role,
        action: operation.id.to_owned(),
        subject: subject.clone(),
        reason: acting.why().to_owned(),
        // The body parsed as JSON before.
        body: body.map_err(|_| Failure::Bug)?.to_owned(),
        expires_at: Timestamp::default(),
    };
    let entry = entry(&proposal, proposal.reason.clone(), Outcome::Begun);
    let asked = engine.approve(ApprovalOrder::Ask(proposal), Some(entry));
    let done = asked.await?;
    tracing::warn!(
        approval = done.number,
        by = operator.name,
        "an approval waits"
    );
    let approval = done.staff.approvals.numbered(done.number)?;
    let body = shown(approval, engine.now(), None);
    Ok(json(StatusCode::ACCEPTED, &body))
}

/// An audit entry about a proposal, under the name of the person who asked.
fn entry(proposal: &Proposal, reason: String, outcome: Outcome) -> AuditEntry {
    AuditEntry {
        operator: proposal.by.clone(),
        role: proposal.role,
        action: proposal.action.clone(),
        subject: proposal.subject.clone(),
        reason,
        request_id: current::request().id,
        outcome,
    }
}

/// Lists what one person asked for and another one decides, newest first; of what does not wait the last 200.
#[utoipa::path(
    get,
    path = "/admin/approvals",
    operation_id = "listApprovals",
    tag = "People",
    responses((status = 200, body = List<ApprovalBody>))
)]
pub async fn list(desk: web::Data<OperatorDesk>) -> HttpResponse {
    let (approvals, now) = (desk.door.engine.staff().approvals, desk.door.engine.now());
    let items = approvals.all().rev().map(|it| shown(it, now, None));
    json(StatusCode::OK, &List::of(items.collect()))
}

fn number(text: &str) -> Result<u64, Rejection> {
    text.parse().map_err(|_| Rejection::ApprovalNotFound)
}

/// Reads what was asked for.
#[utoipa::path(
    get,
    path = "/admin/approvals/{id}",
    operation_id = "readApproval",
    tag = "People",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = ApprovalBody))
)]
pub async fn one(desk: web::Data<OperatorDesk>, path: web::Path<String>) -> Answer {
    let (approvals, now) = (desk.door.engine.staff().approvals, desk.door.engine.now());
    let approval = approvals.numbered(number(&path)?)?;
    Ok(json(StatusCode::OK, &shown(approval, now, None)))
}
