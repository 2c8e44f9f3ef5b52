//! The limits of an account: those in effect, and those that are its own.

use actix_web::http::StatusCode;
use actix_web::{get, patch, web};
use caudal_http::bodies::accounts::{AccountBody, LimitsSnapshot};
use caudal_http::bodies::update_limits::UpdateAccountLimits;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::problems::Problems;
use caudal_http::respond::{ApiCall, json};
use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::limits::{Limits, TemporaryLimits};

use super::{HandlerResult, tag};
use crate::v1::target;

/// Reads the effective limits of an account and what is left of them.
///
/// The same as `limits` of the account: the limits in force, the level that each comes from, what is used and
/// what is left.
#[utoipa::path(
    operation_id = "readLimits",
    tag = "Accounts",
    params(declared::CvuInPath),
    responses((status = 200, body = LimitsSnapshot), Problems)
)]
#[get("/v1/accounts/{cvu}/limits")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let view = caller
        .queries()
        .view(caller.realm(), target(&path)?)
        .await?;
    let mut answer = json(StatusCode::OK, &LimitsSnapshot::from(&view));
    tag(&mut answer, &view);
    Ok(answer)
}

/// Changes the account's own limits: absent stays, null inherits, 0 lets nothing pass.
///
/// An account's own limits go before the tenant's, and those before the platform's. With `until` the limits that are sent go
/// before all of these until then, and end by themselves; they replace earlier ones that were sent with `until`, and the
/// account's own limits stay as they are. Limits on money that comes in (`maxBalance`, `maxPerIncoming`, `dailyIncoming`,
/// `monthlyIncoming`, and the gross ones) never refuse money from the bank, which counts all the same; refunds do not count.
/// Emits `account.limits.updated`.
#[utoipa::path(
    operation_id = "changeLimits",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IfMatch),
    request_body(content = UpdateAccountLimits),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/limits")]
pub(crate) async fn change(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let UpdateAccountLimits { limits, until } =
        UpdateAccountLimits::read(call.take_body(), call.caller.now())?;
    let order = match until {
        None => ProfileOrder::ChangeLimits(limits),
        Some(until) => ProfileOrder::SetTemporaryLimits(until.map(|until| {
            Box::new(TemporaryLimits {
                limits: Limits::default().changed(limits),
                until,
            })
        })),
    };
    super::change(&call, &path, order).await
}
