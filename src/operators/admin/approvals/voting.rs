//! The decision on a proposal, and the execution of an approved one.

use actix_web::ResponseError as _;
use caudal_actors::failure::Failure;
use caudal_http::AppState;
use caudal_http::current;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_ledger::people::approvals::{Approval, ApprovalOrder, Proposal};
use caudal_ledger::people::audit::{AuditDetails, AuditEntry, SecondPerson};
use caudal_ledger::people::{Person, Role};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use serde_json::Value;

use super::{ApprovalBody, ApprovalInPath, entry, numbered};
use crate::admin::access::{Acting, AdminOperation, CreatedSubject, outcome};
use crate::admin::dispatch::{self, read};
use crate::admin::people::{AuditOutcome, Operator, Power};
use crate::admin::{AdminState, PathPart, State, changes, ok};

/// Whether the person who asked may still do it: revoking or replacing a credential also ends the requests made with
/// it.
fn may_still(app: &AppState, approval: &Approval) -> bool {
    let (staff, proposal) = (app.engine.operators().staff(), &approval.proposal);
    let person = staff.people.named(&proposal.by);
    let same = |it: &Person| it.works() && it.issued_at <= approval.asked_at;
    let works = person.is_some_and(|it| same(it) && it.role.may(Power::Act));
    works || (proposal.role == Role::Root && app.root.is_some())
}

/// What an operator may decide about a request that waits: whether to approve it, and whether to reject it.
pub(crate) fn choices(app: &AppState, operator: &Operator, approval: &Approval) -> (bool, bool) {
    let another = approval.proposal.by != operator.name;
    let waits = approval.waits_at(app.engine.now());
    let rejects = waits && another && operator.role.may(Power::Approve);
    let here = was_here(app, operator, approval.asked_at);
    (rejects && here && may_still(app, approval), rejects)
}

/// Whether the approver had their credential and their role before the request was made: nobody can create a second
/// person to approve their own request, neither by a new credential nor by a new role.
fn was_here(app: &AppState, approver: &Operator, asked_at: Timestamp) -> bool {
    let people = app.engine.operators().staff().people;
    let id = approver.credential.as_deref();
    let person = id.and_then(|id| people.with_credential(id));
    person.is_some_and(|it| it.issued_at <= asked_at && it.role_since <= asked_at)
}

async fn vote(
    admin_state: &AdminState,
    path: &str,
    acting: &Acting,
    approved: bool,
) -> Result<(Proposal, SecondPerson, u64), ApiError> {
    let engine = &admin_state.app.engine;
    let number = ApprovalInPath::read(path)?;
    let approvals = engine.operators().staff().approvals;
    let approval = approvals.numbered(number)?.clone();
    if approved && !may_still(&admin_state.app, &approval) {
        return Err(Rejection::ApprovalEnded.into());
    }
    if approved && !was_here(&admin_state.app, &acting.operator, approval.asked_at) {
        return Err(Rejection::ApprovalOwn.into());
    }
    let proposal = approval.proposal;
    let second = SecondPerson {
        approval: number,
        by: acting.operator.name.clone(),
        reason: acting.why().to_owned(),
    };
    let begins = || entry(&proposal, AuditOutcome::Begun, by(second.clone()));
    let order = ApprovalOrder::Decide {
        number,
        by: second.by.clone(),
        approved,
        reason: second.reason.clone(),
    };
    let entry = approved.then(begins);
    let done = engine.operators().approve(order, entry).await?;
    tracing::warn!(approval = number, approved, "an approval was decided");
    Ok((proposal, second, done.entry))
}

/// The details of an entry about what a second person approved.
fn by(second: SecondPerson) -> AuditDetails {
    AuditDetails {
        second: Some(second),
        ..AuditDetails::default()
    }
}

/// Approves what another person asked for, and has it carried out. The answer says how that ended.
#[utoipa::path(
    post,
    path = "/admin/approvals/{id}/approve",
    params(ApprovalInPath),
    responses((status = 200, body = ApprovalBody))
)]
pub(crate) async fn approve(admin_state: State, path: PathPart, acting: Acting) -> HandlerResult {
    let (number, answer) = approved(&admin_state, &path, acting).await?;
    shown(&admin_state, number, answer).await
}

/// Approves a request and has it carried out; returns its number and the answer of the operation. A key that the
/// operation made is in that answer and nowhere else.
pub(in crate::admin) async fn approved(
    admin_state: &State,
    path: &str,
    acting: Acting,
) -> Result<(u64, Option<Value>), ApiError> {
    let (admin_state, path) = (State::clone(admin_state), path.to_owned());
    // One task for both, so that an approved operation is not left undone because the approver's connection ended.
    let work = async move {
        let (proposal, second, begun) = vote(&admin_state, &path, &acting, true).await?;
        let number = proposal.number;
        let answer = carry_out(admin_state, proposal, second, begun).await;
        Ok((number, answer))
    };
    let work = current::answering(current::request(), work);
    let done = actix_web::rt::spawn(work).await;
    done.map_err(|_| Failure::OutcomeUnknown)?
}

/// Rejects what another person asked for.
#[utoipa::path(
    post,
    path = "/admin/approvals/{id}/reject",
    params(ApprovalInPath),
    responses((status = 200, body = ApprovalBody))
)]
pub(crate) async fn reject(admin_state: State, path: PathPart, acting: Acting) -> HandlerResult {
    let (proposal, ..) = vote(&admin_state, &path, &acting, false).await?;
    shown(&admin_state, proposal.number, None).await
}

/// An approval after the decision.
async fn shown(admin_state: &AdminState, number: u64, answer: Option<Value>) -> HandlerResult {
    let (mut body, proposal) = numbered(admin_state, number, answer)?;
    // The decision stands, whatever can be read of its case now.
    if let Err(why) = body.with_case(admin_state, proposal).await {
        tracing::warn!(
            code = why.code(),
            number,
            "the case of an approval could not be read"
        );
    }
    Ok(ok(&body))
}

/// Carries out an approved operation and logs how it ended; returns the body of its answer.
async fn carry_out(
    admin_state: State,
    proposal: Proposal,
    second: SecondPerson,
    begun: u64,
) -> Option<Value> {
    let done = match perform(&admin_state, &proposal, second.clone(), begun).await {
        Ok(answer) => answer,
        // It may have been done: the entry that it began stands alone, as after a crash.
        Err(why) if why.is_unknown() => return None,
        Err(why) => why.error_response(),
    };
    let (status, number) = (done.status().as_u16(), proposal.number);
    let details = AuditDetails {
        changes: changes::of(&done),
        ..by(second)
    };
    let entry = AuditEntry {
        subject: CreatedSubject::of(&done).unwrap_or_else(|| proposal.subject.clone()),
        ..entry(&proposal, outcome(begun, done.status()), details)
    };
    let ended = ApprovalOrder::End { number, status };
    if let Err(why) = admin_state.operators().approve(ended, Some(entry)).await {
        tracing::error!(%why, approval = number, status, "the end of an approval could not be written");
    }
    read(done).await
}

/// Runs an approved operation in the name of both the person who asked and the approver.
async fn perform(
    admin_state: &State,
    proposal: &Proposal,
    second: SecondPerson,
    begun: u64,
) -> HandlerResult {
    let operation = AdminOperation::named(&proposal.action);
    let acting = Acting {
        operator: Operator {
            name: format!("{} + {}", proposal.by, second.by),
            role: proposal.role,
            credential: None,
        },
        reason: Some(proposal.reason.clone()).filter(|reason| !reason.is_empty()),
        subject: proposal.subject.clone(),
        body: proposal.body.clone().into(),
        operation: operation.ok_or(Failure::Bug)?,
        second: Some(second),
        entry: begun,
    };
    dispatch::run(admin_state, acting).await
}
