//! The admin API's operations for the console's forms: with the same checks, and with a second person where the
//! tenant's policy says so. The caller has been admitted and has logged that the operation begins ([`super::people`]).

use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::words::Refusal;
use serde_json::Value;

use super::access::{Acting, AdminOperation};
use super::approvals::voting;
use super::people::Operator;
use super::{PathPart, State, dispatch};

fn acting(
    operator: &Operator,
    id: &str,
    subject: &str,
    reason: &str,
    body: &str,
) -> Result<Acting, ApiError> {
    Ok(Acting {
        operator: operator.clone(),
        reason: Some(reason.to_owned()),
        subject: subject.to_owned(),
        body: body.to_owned().into(),
        entry: 0,
        operation: AdminOperation::named(id).ok_or(Refusal::NoAdminRoute)?,
        second: None,
    })
}

/// Carries out an operation of the admin API; returns its answer, with status 202 if it now waits for a second person.
///
/// # Errors
/// Those of the operation.
pub(crate) async fn run(
    admin_state: &State,
    operator: &Operator,
    (id, subject): (&str, &str),
    reason: &str,
    body: &str,
) -> HandlerResult {
    let acting = acting(operator, id, subject, reason, body)?;
    dispatch::run(admin_state, acting).await
}

/// Approves or rejects another person's request, by its number; returns the answer of the approved operation.
///
/// # Errors
/// Those of the operations.
pub(crate) async fn vote(
    admin_state: &State,
    operator: &Operator,
    number: &str,
    reason: &str,
    approved: bool,
) -> Result<Option<Value>, ApiError> {
    let id = if approved {
        "approveRequest"
    } else {
        "rejectRequest"
    };
    let acting = acting(operator, id, number, reason, "{}")?;
    if approved {
        let (_, answer) = voting::approved(admin_state, number, acting).await?;
        return Ok(answer);
    }
    let path = PathPart::from(number.to_owned());
    voting::reject(State::clone(admin_state), path, acting).await?;
    Ok(None)
}
