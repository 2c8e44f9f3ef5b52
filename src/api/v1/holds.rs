//! Holds of the native family: money set apart, then confirmed or released in parts.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, get, post, web};
use caudal_actors::engine::Engine;
use caudal_actors::engine::money::HoldView;
use caudal_http::bodies::holds::{HoldBody, hold};
use caudal_http::bodies::words::HoldStatusWord;
use caudal_http::body::read::{amount, instant, line, text};
use caudal_http::body::{Body, OptionalBody};
use caudal_http::caller::Caller;
use caudal_http::declared::{self, HoldInPath};
use caudal_http::errors::HandlerResult;
use caudal_http::params::{DryRun, PageParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::request::request;
use caudal_http::respond::{self, json};
use caudal_http::rows;
use caudal_http::shapes::AmountDto;
use caudal_http::sheets::columns::HOLDS;
use caudal_ledger::holds::{HoldStatus, HoldStep, OpenHold};
use caudal_ledger::money::Amount;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;

use super::target;
use super::vouchers::DESCRIPTION_MAX;

request! {
    /// A hold.
    strict struct OpenHoldBody as CreateHoldDto {
        /// ARS, greater than 0, at most 2 decimals, as text; a number is read exactly, too.
        amount: Amount = required("amount", amount) as AmountDto;
        /// The tenant's own id: idempotent for holds over the realm.
        id_externo: ExternalId = required("idExterno", text(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// A line for people.
        description: Option<String> = unless_blank("description", line(DESCRIPTION_MAX))
            as Option<String> { max_length = 200 };
        /// When its rest is released by itself, RFC 3339; never when absent.
        expires_at: Option<Timestamp> = optional("expiresAt", text(instant))
            as Option<String> { format = DateTime };
    }
}

request! {
    /// A step of a hold; without a body all that is left.
    strict struct HoldStepBody as HoldStepDto {
        /// How much of what is left; all of it when absent.
        amount: Option<Amount> = optional("amount", amount) as Option<AmountDto>;
    }
}

/// Sets money of an account apart.
///
/// The money is available no more and still the account's. Idempotent by `idExterno`. With `expiresAt` the
/// rest is released at that time by itself. Emits `hold.created`.
#[utoipa::path(
    operation_id = "createHold",
    tag = "Holds",
    params(
        declared::CvuInPath,
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = OpenHoldBody),
    responses((status = 201, body = HoldBody), (status = 200, body = HoldBody, description = "a dry run"), Problems)
)]
#[post("/v1/accounts/{cvu}/holds")]
pub(crate) async fn open(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
    body: Body,
) -> HandlerResult {
    let realm = caller.realm();
    let target = target(&path)?;
    let DryRun { dry_run } = DryRun::read(query)?;
    let (requester, answer) =
        respond::making(&request, &caller, &body, dry_run, move |view: &HoldView| {
            hold(realm, view)
        })?;
    let sent = OpenHoldBody::read(body)?;
    let order = OpenHold {
        amount: sent.amount,
        external_id: sent.id_externo,
        description: sent.description,
        expires_at: sent.expires_at,
    };
    let engine = caller.engine();
    answer.give_made(
        engine
            .ledger()
            .open_hold(realm, target, order, dry_run, requester)
            .await,
    )
}

params! {
    /// Which holds.
    part struct HoldParams {
        /// only holds in this state
        status: Option<HoldStatus> =
            choice("status", &HoldStatus::ALL.map(|status| (status.as_str(), status)))
            as Option<HoldStatusWord>;
    }
}

/// Lists the holds of an account, newest first.
///
/// Open and ended ones; go on with `X-Next-Cursor` as `cursor`.
#[utoipa::path(
    operation_id = "listHolds",
    tag = "Holds",
    params(
        declared::CvuInPath,
        PageParams,
        HoldParams
    ),
    responses((status = 200, content((Vec<HoldBody> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/accounts/{cvu}/holds")]
pub(crate) async fn list(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    mut query: Query,
) -> HandlerResult {
    let whole = rows::whole(&request, &mut query);
    let realm = caller.realm();
    let HoldParams { status } = HoldParams::take(&mut query);
    let page = query.page();
    let target = target(&path)?;
    query.done()?;
    if let Some(style) = whole {
        let fetch = async move |engine: &Engine, page| {
            engine.queries().holds(realm, target, status, page).await
        };
        let show = move |view: &HoldView| {
            let mut body = serde_json::json!(hold(realm, view));
            if let Some(body) = body.as_object_mut() {
                body.insert("walletAccountId".to_owned(), view.account.0.into());
            }
            body
        };
        return rows::stream(&caller, style, HOLDS, page, fetch, show).await;
    }
    let listing = caller
        .engine()
        .queries()
        .holds(realm, target, status, page)
        .await?;
    Ok(respond::array(&listing, |view| hold(realm, view)))
}

/// Reads a hold.
///
/// With what of it was confirmed, released and is left.
#[utoipa::path(
    operation_id = "readHold",
    tag = "Holds",
    params(HoldInPath),
    responses((status = 200, body = HoldBody), Problems)
)]
#[get("/v1/holds/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let id = HoldInPath::read(&path)?;
    let view = caller.engine().queries().hold(caller.realm(), id).await?;
    Ok(json(StatusCode::OK, &hold(caller.realm(), &view)))
}

async fn step(
    request: &HttpRequest,
    caller: &Caller,
    path: &web::Path<String>,
    query: Query,
    body: Body,
    step: HoldStep,
) -> HandlerResult {
    let realm = caller.realm();
    let id = HoldInPath::read(path)?;
    let DryRun { dry_run } = DryRun::read(query)?;
    let render = move |view: &HoldView| hold(realm, view);
    let (requester, answer) = respond::order(request, caller, &body, StatusCode::OK, render)?;
    let HoldStepBody { amount } = HoldStepBody::read(body)?;
    let engine = caller.engine();
    let stepped = engine
        .ledger()
        .step_hold(realm, id, step, amount, dry_run, requester);
    answer.give(stepped.await)
}

/// Lets money of a hold leave: part of what is left, or all of it.
///
/// What is confirmed leaves the account for good; the rest stays held. Without a body, all that is left is
/// confirmed. Emits `hold.confirmed`.
#[utoipa::path(
    operation_id = "confirmHold",
    tag = "Holds",
    params(
        HoldInPath,
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = Option<HoldStepBody>),
    responses((status = 200, body = HoldBody), Problems)
)]
#[post("/v1/holds/{id}/confirm")]
pub(crate) async fn confirm(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
    OptionalBody(body): OptionalBody,
) -> HandlerResult {
    step(&request, &caller, &path, query, body, HoldStep::Confirm).await
}

/// Gives money of a hold back: part of what is left, or all of it.
///
/// What is released is available again. Without a body, all that is left is released. Emits `hold.released`.
#[utoipa::path(
    operation_id = "releaseHold",
    tag = "Holds",
    params(
        HoldInPath,
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = Option<HoldStepBody>),
    responses((status = 200, body = HoldBody), Problems)
)]
#[post("/v1/holds/{id}/release")]
pub(crate) async fn release(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
    OptionalBody(body): OptionalBody,
) -> HandlerResult {
    step(&request, &caller, &path, query, body, HoldStep::Release).await
}
