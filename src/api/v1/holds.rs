//! Holds of the native family: money set apart, then confirmed or released in parts.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{get, patch, post, web};
use caudal_actors::accounts::PlaceHold;
use caudal_actors::engine::Queries;
use caudal_actors::engine::money::{HoldFilter, HoldView};
use caudal_actors::failure::Failure;
use caudal_http::bodies::holds::{HoldBody, hold};
use caudal_http::bodies::metadata::Metadata;
use caudal_http::bodies::words::HoldStatusWord;
use caudal_http::body::OptionalBody;
use caudal_http::body::read::{amount, instant, line, text};
use caudal_http::caller::Caller;
use caudal_http::declared::{self, HoldInPath};
use caudal_http::errors::HandlerResult;
use caudal_http::params::{DryRun, PageParams, params};
use caudal_http::problems::Problems;
use caudal_http::request::request;
use caudal_http::respond::{self, ApiCall, json as whole_json};
use caudal_http::rows::ListCall;
use caudal_http::shapes::{AmountDto, DayOrInstant};
use caudal_http::sheets::columns::HOLDS;
use caudal_http::words::Mistake;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::holds::{HoldAmendment, HoldStatus, HoldStep, OpenHold};
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;

use super::metadata::METADATA;
use super::pages::{PageOf, page};
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
        /// The tenant's own data: at most 20 texts with names of at most 40 characters.
        metadata: Option<BTreeMap<String, String>> = optional("metadata", |raw| METADATA.read(raw))
            as Option<Metadata>;
        /// A custom type, whose `captureTolerance` the hold has from now on.
        voucher_type_code: Option<TypeCode> = optional("voucherTypeCode", text(TypeCode::parse))
            as Option<String> { pattern = "^[A-Za-z0-9_-]{2,40}$" };
    }
}

request! {
    /// A change of an open hold; what is absent stays.
    strict struct ChangeHoldBody as ChangeHoldDto {
        => let changes = |fields| ["amount", "expiresAt"].map(|name| fields.is_sent(name));
        /// How much it sets apart in all, with what was confirmed and released of it.
        amount: Option<Amount> = not_null("amount", amount) as Option<AmountDto> { nullable = false };
        /// When its rest is released by itself, RFC 3339; null for never.
        expires_at: Option<Option<Timestamp>> = nullable("expiresAt", text(instant))
            as Option<String> { format = DateTime };
        => |fields| if changes == [false, false] {
            fields.mistake("amount", Mistake::RequiredOr { other: "expiresAt" });
        };
    }
}

page! {
    /// A page of holds over all CVUs.
    pub(crate) HoldsPage as HoldsPage {
        /// The holds.
        HoldBody
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
pub(crate) async fn open(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let (realm, target) = (call.caller.realm(), target(&path)?);
    let (dry_run, requester, answer) = call.making(move |view: &HoldView| hold(realm, view))?;
    let sent = OpenHoldBody::read(call.take_body())?;
    let capture_tolerance = match &sent.voucher_type_code {
        Some(code) => {
            let types = call.caller.queries().voucher_types(realm).await?;
            let unknown = |_| Rejection::VoucherTypeUnknown {
                code: code.to_string(),
            };
            let found = types.custom(code).map_err(unknown).map_err(Failure::from)?;
            found.capture_tolerance
        }
        None => None,
    };
    let order = OpenHold {
        amount: sent.amount,
        external_id: sent.id_externo,
        description: sent.description,
        expires_at: sent.expires_at,
        capture_tolerance,
        metadata: sent.metadata.into_iter().flatten().collect(),
    };
    let order = PlaceHold {
        target,
        order,
        dry_run,
    };
    answer.give_made(call.caller.ledger().order(realm, order, requester).await)
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
pub(crate) async fn list(mut call: ListCall, path: web::Path<String>) -> HandlerResult {
    let (realm, target) = (call.caller.realm(), target(&path)?);
    let HoldParams { status } = HoldParams::take(&mut call.query);
    let fetch =
        async move |queries: Queries<'_>, page| queries.holds(realm, target, status, page).await;
    let show = move |view: &HoldView| hold(realm, view);
    let paged = |listing: &_, _: &_, show: &_| respond::array(listing, show);
    call.answer(HOLDS, fetch, |view| Some(view.account), show, paged)
        .await
}

params! {
    /// Which holds of the realm.
    part struct RealmHoldParams {
        /// only of this CVU
        cvu: Option<Cvu> = read("cvu", Cvu::parse) as Option<String>;
        /// the one hold with the tenant's own id; found without looking at any other
        id_externo: Option<ExternalId> = read("idExterno", ExternalId::parse)
            as Option<String> { min_length = 1, max_length = 64 };
        /// A date or date-time; not opened before it.
        from: Option<Timestamp> = since("from") as Option<DayOrInstant>;
        /// A date (the whole day) or date-time; not opened after it.
        to: Option<Timestamp> = until("to") as Option<DayOrInstant>;
        => |query| query.in_order("from", from, "to", to);
    }
}

/// Lists the holds of the realm, newest first.
///
/// Open and ended ones. A hold whose end has come is listed as open until its account releases it, some seconds later.
#[utoipa::path(
    operation_id = "listRealmHolds",
    tag = "Holds",
    params(
        PageParams,
        HoldParams,
        RealmHoldParams
    ),
    responses((status = 200, content((HoldsPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/holds")]
pub(crate) async fn of_realm(mut call: ListCall) -> HandlerResult {
    let realm = call.caller.realm();
    let HoldParams { status } = HoldParams::take(&mut call.query);
    let sent = RealmHoldParams::take(&mut call.query);
    let filter = HoldFilter {
        status,
        cvu: sent.cvu,
        external_id: sent.id_externo,
        since: sent.from,
        until: sent.to,
    };
    let fetch = async move |queries: Queries<'_>, page| {
        queries.realm_holds(realm, filter.clone(), page).await
    };
    let show = move |view: &HoldView| hold(realm, view);
    let account = |view: &HoldView| Some(view.account);
    call.answer(HOLDS, fetch, account, show, PageOf::answer)
        .await
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
    let view = caller.queries().hold(caller.realm(), id).await?;
    Ok(whole_json(StatusCode::OK, &hold(caller.realm(), &view)))
}

async fn step<B>(mut call: ApiCall<B>, path: &web::Path<String>, step: HoldStep) -> HandlerResult {
    let realm = call.caller.realm();
    let id = HoldInPath::read(path)?;
    let dry_run = call.dry_run()?;
    let (requester, answer) =
        call.order(StatusCode::OK, move |view: &HoldView| hold(realm, view))?;
    let HoldStepBody { amount } = HoldStepBody::read(call.take_body())?;
    let ledger = call.caller.ledger();
    let stepped = ledger.step_hold(realm, id, step, amount, dry_run, requester);
    answer.give(stepped.await)
}

/// Changes an open hold: how much it sets apart, or until when.
///
/// `amount` is what it sets apart in all: more is held if it is available, and less releases the difference. Each change is
/// a voucher of direction `hold` or `release`; for another end, both for what is left. Repeat it with the same
/// `Idempotency-Key` after any doubt. Emits `hold.updated`.
#[utoipa::path(
    operation_id = "changeHold",
    tag = "Holds",
    params(
        HoldInPath,
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = ChangeHoldBody),
    responses((status = 200, body = HoldBody), Problems)
)]
#[patch("/v1/holds/{id}")]
pub(crate) async fn change(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let realm = call.caller.realm();
    let id = HoldInPath::read(&path)?;
    let dry_run = call.dry_run()?;
    let (requester, answer) =
        call.order(StatusCode::OK, move |view: &HoldView| hold(realm, view))?;
    let ChangeHoldBody { amount, expires_at } = ChangeHoldBody::read(call.take_body())?;
    let change = HoldAmendment { amount, expires_at };
    let ledger = call.caller.ledger();
    let changed = ledger.change_hold(realm, id, change, dry_run, requester);
    answer.give(changed.await)
}

/// Lets money of a hold leave: part of what is left, or all of it.
///
/// What is confirmed leaves the account for good; the rest stays held. Without a body, all that is left is
/// confirmed. More than is held may be confirmed by as much as the hold's `captureTolerance`, if it is available. Emits
/// `hold.confirmed`.
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
pub(crate) async fn confirm(call: ApiCall<OptionalBody>, path: web::Path<String>) -> HandlerResult {
    step(call, &path, HoldStep::Confirm).await
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
pub(crate) async fn release(call: ApiCall<OptionalBody>, path: web::Path<String>) -> HandlerResult {
    step(call, &path, HoldStep::Release).await
}
