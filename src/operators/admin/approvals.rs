//! Four eyes: one person asks for an operation, and another decides.
//!
//! **Shape.** When the tenant's policy requires a second person, the handler stores the request ([`ask`]) and answers
//! 202 with its number. An approval runs the same code that would have run at once, and that code checks the request
//! again against the current state.
//!
//! **Secrets.** A request has none, and none is stored: a key is made when its request is carried out. The answer to the
//! approval has it, once.
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
use caudal_http::body::Body;
use caudal_http::errors::HandlerResult;
use caudal_http::respond::json;
use caudal_http::{AppState, current};
use caudal_ledger::people::approvals::{Approval, ApprovalOrder, Proposal};
use caudal_ledger::people::audit::AuditEntry;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::{ApiKey, Mode, Platform, Tenant};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::access::Acting;
use super::people::AuditOutcome;
use super::requests::ChangeTenant;
use super::shapes::{KeyBody, List};
use super::{AdminState, relations};
use caudal_http::declared::{declared, id};

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
    /// The tenant that it is about, if it is about a tenant or a key.
    tenant_id: Option<String>,
    tenant_name: Option<String>,
    /// What would change, as long as it waits: of a tenant's relation to its bank.
    changes: Vec<ChangeBody>,
    /// The key that would be replaced.
    key: Option<KeyBody>,
    decided_by: Option<String>,
    decided_at: Option<String>,
    /// Why it was approved or rejected.
    decision_reason: Option<String>,
    /// The HTTP status with which it was carried out.
    status: Option<u16>,
    /// What was answered when it was carried out; in the answer to the approval alone. A key that was issued is in it as
    /// `key`, and is shown nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false)]
    answer: Option<Value>,
}

/// A field that a request would change.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProposedChange)]
pub(crate) struct ChangeBody {
    /// Its name.
    pub field: String,
    /// Its value now; null where the platform's counts.
    pub before: Option<String>,
    /// Its value once the request is approved.
    pub after: Option<String>,
}

fn shown(
    app: &AppState,
    approval: &Approval,
    now: Timestamp,
    answer: Option<Value>,
) -> ApprovalBody {
    let Approval {
        proposal,
        vote,
        status,
        ..
    } = approval;
    let request: Option<Value> = serde_json::from_str(&proposal.body).ok();
    let platform = app.engine.platform();
    let ApprovalSubject { tenant, key } = ApprovalSubject::of(&platform, proposal);
    let waits = approval.waits_at(now);
    let changes = tenant.filter(|_| waits && proposal.action == "changeTenant");
    let changes = changes.map(|tenant| bank_changes(tenant, &proposal.body));
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
        tenant_id: tenant.map(|tenant| tenant.id.clone()),
        tenant_name: tenant.map(|tenant| tenant.name.clone()),
        changes: changes.into_iter().flatten().collect(),
        key: key.map(|key| KeyBody::of(app, key, None)),
        decided_by: vote.as_ref().map(|vote| vote.by.clone()),
        decided_at: vote.as_ref().map(|vote| vote.at.to_string()),
        decision_reason: vote.as_ref().map(|vote| vote.reason.clone()),
        status: *status,
        answer,
    }
}

/// The tenant and the key that a request is about, as they are now.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ApprovalSubject<'a> {
    /// The tenant.
    pub tenant: Option<&'a Tenant>,
    /// The key.
    pub key: Option<&'a ApiKey>,
}

impl<'a> ApprovalSubject<'a> {
    /// The tenant and the key of a request: what its subject names depends on the operation.
    pub(crate) fn of(platform: &'a Platform, proposal: &Proposal) -> Self {
        let key = platform.keys.get(&proposal.subject);
        let key = key.filter(|_| proposal.action == "rotateKey");
        let tenant = key.map_or(proposal.subject.as_str(), |key| key.tenant.as_str());
        Self {
            tenant: platform.tenants.get(tenant),
            key,
        }
    }
}

/// The fields of a tenant's bank relations that the body of a request would change.
pub(crate) fn bank_changes(tenant: &Tenant, body: &str) -> Vec<ChangeBody> {
    let sent = Body::parse(body.as_bytes()).map(ChangeTenant::read);
    let banks = sent.ok().and_then(Result::ok).and_then(|sent| sent.banks);
    let new = banks.map(|banks| banks.over(&tenant.banks));
    let mut found = Vec::new();
    for mode in [Mode::Live, Mode::Test] {
        let old = relations::fields(tenant.banks.of(mode));
        let new = new.iter().flat_map(|new| relations::fields(new.of(mode)));
        for ((name, before), (_, after)) in old.into_iter().zip(new) {
            if before != after {
                found.push(ChangeBody {
                    field: format!("bank.{}.{name}", mode.as_str()),
                    before,
                    after,
                });
            }
        }
    }
    found
}

/// Stores a request until another person decides: 202 with the proposal.
///
/// # Errors
/// When too many requests wait, or the store takes no writes.
pub(super) async fn ask(admin_state: &AdminState, acting: &Acting) -> HandlerResult {
    let engine = &admin_state.app.engine;
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
    let entry = entry(&proposal, proposal.reason.clone(), AuditOutcome::Begun);
    let asked = engine
        .operators()
        .approve(ApprovalOrder::Ask(proposal), Some(entry));
    let done = asked.await?;
    tracing::warn!(
        approval = done.number,
        by = operator.name,
        "an approval waits"
    );
    let approval = done.staff.approvals.numbered(done.number)?;
    let body = shown(&admin_state.app, approval, engine.now(), None);
    Ok(json(StatusCode::ACCEPTED, &body))
}

/// An audit entry about a proposal, under the name of the person who asked.
fn entry(proposal: &Proposal, reason: String, outcome: AuditOutcome) -> AuditEntry {
    AuditEntry {
        operator: proposal.by.clone(),
        role: proposal.role,
        action: proposal.action.clone(),
        subject: proposal.subject.clone(),
        reason,
        request_id: current::request().id,
        outcome,
        omitted: 0,
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
pub(crate) async fn list(admin_state: web::Data<AdminState>) -> HttpResponse {
    let (approvals, now) = (
        admin_state.app.engine.operators().staff().approvals,
        admin_state.app.engine.now(),
    );
    let items = approvals.all().rev();
    let items = items.map(|it| shown(&admin_state.app, it, now, None));
    json(StatusCode::OK, &List::of(items.collect()))
}

declared! {
    /// Its id
    ApprovalInPath = Path "id" as String
        => u64: id(|text: &str| text.parse().ok(), Rejection::ApprovalNotFound);
}

/// Reads what was asked for.
#[utoipa::path(
    get,
    path = "/admin/approvals/{id}",
    operation_id = "readApproval",
    tag = "People",
    params(ApprovalInPath),
    responses((status = 200, body = ApprovalBody))
)]
pub(crate) async fn one(
    admin_state: web::Data<AdminState>,
    path: web::Path<String>,
) -> HandlerResult {
    let (approvals, now) = (
        admin_state.app.engine.operators().staff().approvals,
        admin_state.app.engine.now(),
    );
    let approval = approvals.numbered(ApprovalInPath::read(&path)?)?;
    Ok(json(
        StatusCode::OK,
        &shown(&admin_state.app, approval, now, None),
    ))
}
