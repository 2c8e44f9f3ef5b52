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

pub(crate) mod voting;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_actors::failure::Failure;
use caudal_actors::realms::Target;
use caudal_http::bodies::body;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::respond::json;
use caudal_http::{AppState, current, shown};
use caudal_ledger::accounts::Account;
use caudal_ledger::cases::CaseId;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::TransferId;
use caudal_ledger::people::approvals::{Approval, ApprovalOrder, Proposal};
use caudal_ledger::people::audit::{AuditDetails, AuditEntry, FieldChange};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::tenants::{ApiKey, Platform, Tenant};
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::access::Acting;
use super::cases::CaseBody;
use super::changes::{ChangeBody, proposed, state};
use super::people::AuditOutcome;
use super::shapes::{KeyBody, List};
use super::{AdminState, PathPart, State, cases, ok, owner};
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
    /// The tenant that it is about, if it is about a tenant, a key or a case.
    tenant_id: Option<String>,
    tenant_name: Option<String>,
    /// The fields that would change: as long as it waits, from how they are now; afterwards, from how they were when it
    /// was asked for.
    changes: Vec<ChangeBody>,
    /// The case or the transfer that would be decided; in the answers about one approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    case: Option<CaseBody>,
    /// The accounts of the case, and the one that would be credited, as they are now; in the answers about one approval.
    accounts: Vec<AccountBody>,
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

body! {
    /// An account that a request is about.
    pub(crate) struct AccountBody as AccountInvolved of(cvu: Cvu, account: &Account) {
        /// Its CVU.
        cvu: String = cvu.to_string();
        /// The name of its first holder.
        holder_name: String = account.holder.name.to_string();
        /// The CUIT of its first holder.
        cuit: String = account.holder.cuit.to_string();
        /// `registered`, `active`, `suspended` or `closed`.
        status: &'static str = account.status.as_str();
        /// What is available.
        available: String = account.balance.available.to_string();
        /// What is held.
        held: String = account.balance.held.to_string();
    }
}

fn body(
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
    let changes = changes(app, approval, now);
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
        changes: changes.into_iter().map(ChangeBody::from).collect(),
        case: None,
        accounts: Vec::new(),
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
        let of_case = case_of(proposal).and_then(|id| owner(platform, cases::realm_of(id)));
        let of_case = of_case.map(|(tenant, _)| tenant);
        Self {
            tenant: platform.tenants.get(tenant).or(of_case),
            key,
        }
    }
}

/// The fields that an approval is about: those that it would change now, as long as it waits.
pub(crate) fn changes(app: &AppState, approval: &Approval, now: Timestamp) -> Vec<FieldChange> {
    let proposal = &approval.proposal;
    if approval.waits_at(now) {
        proposed(app, &proposal.action, &proposal.subject, &proposal.body)
    } else {
        proposal.changes.clone()
    }
}

/// The case that a request would decide, whatever its state.
pub(crate) fn case_of(proposal: &Proposal) -> Option<CaseId> {
    match proposal.action.as_str() {
        "decideCase" => CaseId::parse(&proposal.subject),
        "decideTransfer" => TransferId::parse(&proposal.subject).map(CaseId::Transfer),
        _ => None,
    }
}

/// The accounts here whose CVUs are in some text, as they are now.
///
/// # Errors
/// Those of every read.
pub(crate) async fn accounts_in(app: &AppState, text: &str) -> Result<Vec<AccountBody>, ApiError> {
    let engine = &app.engine;
    let mut found = Vec::new();
    for cvu in shown::cvus(text.as_bytes()) {
        let (realm, number) = match engine.operators().locate(cvu).await {
            Ok(found) => found,
            // It is an account of somebody else.
            Err(Failure::Rejected(_)) => continue,
            Err(why) => return Err(why.into()),
        };
        let target = Target::Account(number);
        let view = engine.queries().view(realm, target).await?;
        found.push(AccountBody::of(cvu, &view.account));
    }
    Ok(found)
}

/// An approval with its number, as it is shown.
fn numbered(
    admin_state: &AdminState,
    number: u64,
    answer: Option<Value>,
) -> Result<(ApprovalBody, Proposal), ApiError> {
    let app = &admin_state.app;
    let approvals = app.engine.operators().staff().approvals;
    let approval = approvals.numbered(number)?;
    let body = body(app, approval, app.engine.now(), answer);
    Ok((body, approval.proposal.clone()))
}

impl ApprovalBody {
    /// Adds the case that a request is about, and the accounts.
    ///
    /// # Errors
    /// Those of every read.
    async fn with_case(&mut self, admin_state: &AdminState, of: Proposal) -> Result<(), ApiError> {
        let Some(id) = case_of(&of) else {
            return Ok(());
        };
        self.case = match cases::read(admin_state, id).await {
            Ok(case) => Some(case),
            // Without its case the request says what it says.
            Err(why) if why.status == StatusCode::NOT_FOUND => None,
            Err(why) => return Err(why),
        };
        let text = format!("{} {}", of.body, state(&self.case));
        self.accounts = accounts_in(&admin_state.app, &text).await?;
        Ok(())
    }
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
    // The body parsed as JSON before.
    let sent = std::str::from_utf8(&acting.body).map_err(|_| Failure::Bug)?;
    let changes = proposed(&admin_state.app, operation.id, subject, sent);
    let proposal = Proposal {
        number: 0,
        by: operator.name.clone(),
        role: operator.role,
        action: operation.id.to_owned(),
        subject: subject.clone(),
        reason: acting.why().to_owned(),
        body: sent.to_owned(),
        expires_at: Timestamp::default(),
        changes: changes.clone(),
    };
    let details = AuditDetails::of_changes(changes);
    let entry = entry(&proposal, AuditOutcome::Begun, details);
    let order = ApprovalOrder::Ask(proposal);
    let done = engine.operators().approve(order, Some(entry)).await?;
    tracing::warn!(
        approval = done.number,
        by = operator.name,
        "an approval waits"
    );
    let approval = done.staff.approvals.numbered(done.number)?;
    let body = body(&admin_state.app, approval, engine.now(), None);
    Ok(json(StatusCode::ACCEPTED, &body))
}

/// An audit entry about a proposal, under the name of the person who asked.
fn entry(proposal: &Proposal, outcome: AuditOutcome, details: AuditDetails) -> AuditEntry {
    AuditEntry {
        operator: proposal.by.clone(),
        role: proposal.role,
        action: proposal.action.clone(),
        subject: proposal.subject.clone(),
        reason: proposal.reason.clone(),
        request_id: current::request().id,
        outcome,
        omitted: 0,
        details,
    }
}

/// Lists what one person asked for and another one decides, newest first; of what does not wait the last 200.
#[utoipa::path(
    get,
    path = "/admin/approvals",
    responses((status = 200, body = List<ApprovalBody>))
)]
pub(crate) async fn list(admin_state: State) -> HttpResponse {
    let now = admin_state.app.engine.now();
    let approvals = admin_state.operators().staff().approvals;
    let items = approvals.all().rev();
    let items = items.map(|it| body(&admin_state.app, it, now, None));
    ok(&List::of(items.collect()))
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
    params(ApprovalInPath),
    responses((status = 200, body = ApprovalBody))
)]
pub(crate) async fn one(admin_state: State, path: PathPart) -> HandlerResult {
    let (mut body, proposal) = numbered(&admin_state, ApprovalInPath::read(&path)?, None)?;
    body.with_case(&admin_state, proposal).await?;
    Ok(ok(&body))
}
