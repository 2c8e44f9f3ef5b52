//! The admin API's operations for the console's forms: with the same checks, and with a second person where the
//! tenant's policy says so. The caller has been admitted and has logged that the operation begins ([`super::people`]).

use actix_web::http::StatusCode;
use actix_web::web;
use caudal_http::body::Body;
use caudal_http::errors::ApiError;
use caudal_http::words::Refusal;
use serde_json::Value;

use super::AdminState;
use super::access::{Acting, OPERATIONS};
use super::approvals::voting;
use super::cases::deciding;
use super::people::Operator;

fn acting(
    operator: &Operator,
    id: &str,
    subject: &str,
    reason: &str,
    body: &str,
) -> Result<Acting, ApiError> {
    let operation = OPERATIONS.iter().find(|it| it.id == id);
    Ok(Acting {
        operator: operator.clone(),
        reason: Some(reason.to_owned()),
        subject: subject.to_owned(),
        body: body.to_owned().into(),
        entry: 0,
        operation: operation.ok_or(Refusal::NoAdminRoute)?,
        second: None,
    })
}

/// Decides a case as the body of `decideCase` says; returns whether the decision now waits for a second person.
///
/// # Errors
/// Those of the operation.
pub(crate) async fn decide_case(
    admin_state: &AdminState,
    operator: &Operator,
    id: &str,
    reason: &str,
    body: &str,
) -> Result<bool, ApiError> {
    let acting = acting(operator, "decideCase", id, reason, body)?;
    let answer = deciding::decided(admin_state, id, &acting, Body::parse(body.as_bytes())?).await?;
    Ok(answer.status() == StatusCode::ACCEPTED)
}

/// Approves or rejects another person's request, by its number; returns the answer of the approved operation.
///
/// # Errors
/// Those of the operations.
pub(crate) async fn vote(
    admin_state: &web::Data<AdminState>,
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
        return Ok(voting::approved(admin_state, number, acting).await?.1);
    }
    let (admin_state, path) = (
        web::Data::clone(admin_state),
        web::Path::from(number.to_owned()),
    );
    voting::reject(admin_state, path, acting).await?;
    Ok(None)
}
