//! Holds of the native family: money set apart, then confirmed or released in parts.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, post, web};
use caudal_actors::engine::money::HoldView;
use caudal_ledger::holds::{HoldStatus, HoldStep, OpenHold};
use caudal_ledger::ids::HoldId;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Outcome;

use super::target;
use super::vouchers::DESCRIPTION_MAX;
use crate::bodies::holds::{HoldBody, hold};
use crate::http::body::{Body, OptionalBody, read as read_body};
use crate::http::caller::Caller;
use crate::http::errors::ApiError;
use crate::http::problems::Problems;
use crate::http::query::Query;
use crate::http::respond::{self, asker, asker_of, give, json};
use crate::http::words::Mistake;

type Answer = Result<HttpResponse, ApiError>;

fn instant(text: &str) -> Result<Timestamp, Mistake> {
    Timestamp::parse(text).ok_or(Mistake::NotAnInstant)
}

/// Sets money of an account apart.
#[utoipa::path(
    operation_id = "createHold",
    tag = "Holds",
    params(
        ("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"),
        crate::http::problems::PostParams,
        ("dryRun" = Option<bool>, Query, description = "answer what would happen, do nothing")
    ),
    request_body(content = inline(super::requests::OpenHoldDto)),
    responses((status = 201, body = HoldBody), (status = 200, body = HoldBody, description = "a dry run"), Problems)
)]
#[post("/v1/accounts/{cvu}/holds")]
pub async fn open(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    mut query: Query,
    body: Body,
) -> Answer {
    let realm = caller.realm();
    let target = target(&path)?;
    let dry_run = query.flag("dryRun");
    query.done()?;
    let asker = asker_of(
        &request,
        &caller,
        &body,
        |outcome| matches!(outcome, Outcome::Replayed(_)),
        move |outcome: &Outcome<HoldView>| {
            let (Outcome::Recorded(view) | Outcome::Replayed(view)) = outcome;
            let body = serde_json::to_string(&hold(realm, view));
            (StatusCode::CREATED, body.unwrap_or_default())
        },
    )?;
    let mut fields = body.fields();
    let amount = fields.required("amount", read_body::amount);
    let external_id = fields.required("idExterno", read_body::text(ExternalId::parse));
    let description = fields.optional("description", read_body::line(DESCRIPTION_MAX));
    let expires_at = fields.optional("expiresAt", read_body::text(instant));
    fields.done()?;
    let (Some(amount), Some(external_id)) = (amount, external_id) else {
        return Err(ApiError::field("body", Mistake::Incomplete));
    };
    let order = OpenHold {
        amount,
        external_id,
        description,
        expires_at,
    };
    let engine = caller.engine();
    let answered = engine.open_hold(realm, target, order, dry_run, asker).await;
    give(answered, |outcome| {
        respond::made(outcome, dry_run, |view| hold(realm, view))
    })
}

/// Lists the holds of an account, newest first.
#[utoipa::path(
    operation_id = "listHolds",
    tag = "Holds",
    params(
        ("cvu" = String, Path, description = "22 digits", pattern = "^000[0-9]{19}$"),
        super::requests::PageParams,
        ("status" = Option<String>, Query, description = "open, confirmed, released, expired or mixed")
    ),
    responses((status = 200, body = Vec<HoldBody>, headers(("X-Total-Count" = u64), ("X-Next-Cursor" = String))), Problems)
)]
#[get("/v1/accounts/{cvu}/holds")]
pub async fn list(caller: Caller, path: web::Path<String>, mut query: Query) -> Answer {
    let realm = caller.realm();
    let states = HoldStatus::ALL.map(|status| (status.as_str(), status));
    let status = query.choice("status", &states);
    let page = query.page();
    let target = target(&path)?;
    query.done()?;
    let listing = caller.engine().holds(realm, target, status, page).await?;
    Ok(respond::array(&listing, |view| hold(realm, view)))
}

fn id(path: &web::Path<String>) -> Result<HoldId, ApiError> {
    Ok(HoldId::parse(path).ok_or(Rejection::HoldNotFound)?)
}

/// Reads a hold.
#[utoipa::path(
    operation_id = "readHold",
    tag = "Holds",
    params(("id" = String, Path, description = "the id of a hold, `hld_…`")),
    responses((status = 200, body = HoldBody), Problems)
)]
#[get("/v1/holds/{id}")]
pub async fn read(caller: Caller, path: web::Path<String>) -> Answer {
    let view = caller.engine().hold(caller.realm(), id(&path)?).await?;
    Ok(json(StatusCode::OK, &hold(caller.realm(), &view)))
}

async fn step(
    request: &HttpRequest,
    caller: &Caller,
    path: &web::Path<String>,
    mut query: Query,
    body: Body,
    step: HoldStep,
) -> Answer {
    let realm = caller.realm();
    let id = id(path)?;
    let dry_run = query.flag("dryRun");
    query.done()?;
    let asker = asker(request, caller, &body, move |view: &HoldView| {
        let body = serde_json::to_string(&hold(realm, view));
        (StatusCode::OK, body.unwrap_or_default())
    })?;
    let mut fields = body.fields();
    let amount = fields.optional("amount", read_body::amount);
    fields.done()?;
    let engine = caller.engine();
    let answered = engine
        .step_hold(realm, id, step, amount, dry_run, asker)
        .await;
    give(answered, |view| json(StatusCode::OK, &hold(realm, &view)))
}

/// Lets money of a hold leave: part of what is left, or all of it.
#[utoipa::path(
    operation_id = "confirmHold",
    tag = "Holds",
    params(
        ("id" = String, Path, description = "the id of a hold, `hld_…`"),
        crate::http::problems::PostParams,
        ("dryRun" = Option<bool>, Query, description = "answer what would happen, do nothing")
    ),
    request_body(content = Option<super::requests::HoldStepDto>),
    responses((status = 200, body = HoldBody), Problems)
)]
#[post("/v1/holds/{id}/confirm")]
pub async fn confirm(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
    OptionalBody(body): OptionalBody,
) -> Answer {
    step(&request, &caller, &path, query, body, HoldStep::Confirm).await
}

/// Gives money of a hold back: part of what is left, or all of it.
#[utoipa::path(
    operation_id = "releaseHold",
    tag = "Holds",
    params(
        ("id" = String, Path, description = "the id of a hold, `hld_…`"),
        crate::http::problems::PostParams,
        ("dryRun" = Option<bool>, Query, description = "answer what would happen, do nothing")
    ),
    request_body(content = Option<super::requests::HoldStepDto>),
    responses((status = 200, body = HoldBody), Problems)
)]
#[post("/v1/holds/{id}/release")]
pub async fn release(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
    OptionalBody(body): OptionalBody,
) -> Answer {
    step(&request, &caller, &path, query, body, HoldStep::Release).await
}
