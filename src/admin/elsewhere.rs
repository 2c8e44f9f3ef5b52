//! The admin API's operations for other doors of this listener, such as the console: with the same checks, and with a
//! second person where the tenant's policy says so. The caller has been admitted and has logged that the operation
//! begins ([`super::people`]).

use std::cell::Cell;

use actix_web::body::to_bytes_limited;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_ledger::ids::RealmId;
use serde_json::Value;

use super::OperatorDesk;
use super::access::{Acting, OPERATIONS};
use super::approvals::voting;
use super::cases::deciding;
use super::passing::{self, REFUSAL_BYTES, asked_of_first};
use super::people::Operator;
use crate::http::body::Body;
use crate::http::errors::ApiError;
use crate::http::words::Refusal;

fn acting(
    operator: &Operator,
    id: &str,
    (subject, reason): (&str, &str),
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
        approved: false,
        passed: false,
    })
}

/// Whether an operation now waits for a second person.
async fn came(answer: HttpResponse) -> Result<bool, ApiError> {
    let status = answer.status();
    if status.is_success() {
        return Ok(status == StatusCode::ACCEPTED);
    }
    let body = to_bytes_limited(answer.into_body(), REFUSAL_BYTES).await;
    let body = body.ok().and_then(Result::ok);
    let said = body.and_then(|body| serde_json::from_slice::<Value>(&body).ok());
    let why = said.as_ref().and_then(|it| it.get("message")?.as_str());
    let why = why.map_or_else(|| status.to_string(), str::to_owned);
    Err(ApiError {
        status,
        ..ApiError::not_here(why)
    })
}

/// If another node owns the first cell, has that node check, do and log an operation; returns whether the operation
/// then waits for a second person.
///
/// # Errors
/// Those of the operation.
pub async fn passed(
    desk: &OperatorDesk,
    operator: &Operator,
    id: &str,
    about: (&str, &str),
    body: &str,
) -> Result<Option<bool>, ApiError> {
    let operation = OPERATIONS.iter().find(|it| it.id == id);
    let operation = operation.ok_or(Refusal::NoAdminRoute)?;
    let answer = asked_of_first(&desk.door, operator, operation, about, body.to_owned());
    match answer.await? {
        Some(answer) => Ok(Some(came(answer).await?)),
        None => Ok(None),
    }
}

/// Does an operation's work in a realm, or passes the operation to the owner of its cell. The caller sets `begun` to
/// the sequence of the operation's entry before it awaits this.
///
/// # Errors
/// Those of the operation.
pub async fn in_realm(
    desk: &OperatorDesk,
    (operator, realm): (&Operator, RealmId),
    (id, begun): (&str, &Cell<u64>),
    (about, body): ((&str, &str), &str),
    work: impl Future<Output = Result<(), ApiError>>,
) -> Result<(), ApiError> {
    let acting = Acting {
        entry: begun.get(),
        ..acting(operator, id, about, body)?
    };
    let work = async { work.await.map(|()| HttpResponse::Ok().finish()) };
    came(passing::in_realm(desk, &acting, realm, work).await?).await?;
    Ok(())
}

/// Decides a case as the body of `decideCase` says; returns whether the decision now waits for a second person.
///
/// # Errors
/// Those of the operation.
pub async fn decide_case(
    desk: &OperatorDesk,
    operator: &Operator,
    (id, reason): (&str, &str),
    (body, begun): (&str, &Cell<u64>),
) -> Result<bool, ApiError> {
    let acting = Acting {
        entry: begun.get(),
        ..acting(operator, "decideCase", (id, reason), body)?
    };
    let answer = deciding::decided(desk, id, &acting, Body::parse(body.as_bytes())?).await?;
    Ok(answer.status() == StatusCode::ACCEPTED)
}

/// Approves or rejects another person's request, by its number; returns the answer of the approved operation.
///
/// # Errors
/// Those of the operations.
pub async fn vote(
    desk: &web::Data<OperatorDesk>,
    operator: &Operator,
    (number, reason): (&str, &str),
    approved: bool,
) -> Result<Option<Value>, ApiError> {
    let id = if approved {
        "approveRequest"
    } else {
        "rejectRequest"
    };
    let acting = acting(operator, id, (number, reason), "{}")?;
    if approved {
        return Ok(voting::approved(desk, number, acting).await?.1);
    }
    let (desk, path) = (web::Data::clone(desk), web::Path::from(number.to_owned()));
    voting::reject(desk, path, acting).await?;
    Ok(None)
}
