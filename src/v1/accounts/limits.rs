//! The limits of an account: those in effect, and those that are its own.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, get, patch, web};
use caudal_ledger::accounts::ProfileOrder;
use caudal_ledger::limits::{Change, LimitsChange};
use caudal_ledger::money::Money;

use super::{Answer, tag};
use crate::bodies::accounts::{AccountBody, LimitsSnapshot};
use crate::http::body::Body;
use crate::http::body::read::{integer, money};
use crate::http::caller::Caller;
use crate::http::declared;
use crate::http::problems::Problems;
use crate::http::request::request;
use crate::http::respond::json;
use crate::http::shapes::MoneyDto;
use crate::http::words::Mistake;
use crate::v1::target;

/// The largest count of movements that a limit may have.
const COUNT_MAX: u64 = 1_000_000_000;

/// A count of movements.
///
/// # Errors
/// When the value is no count, or is above [`COUNT_MAX`].
pub fn count(raw: &str) -> Result<u64, Mistake> {
    integer(0, COUNT_MAX)(raw)
}

request! {
    /// A change of limits: absent stays, null inherits, 0 lets nothing pass. Amounts as text, or as numbers.
    strict pub(crate) struct UpdateLimits as UpdateLimitsDto {
        max_per_transaction: Change<Money> =
            change("maxPerTransaction", money) as Option<MoneyDto>;
        daily_amount: Change<Money> = change("dailyAmount", money) as Option<MoneyDto>;
        daily_count: Change<u64> = change("dailyCount", count) as Option<u64>;
        monthly_amount: Change<Money> = change("monthlyAmount", money) as Option<MoneyDto>;
        monthly_count: Change<u64> = change("monthlyCount", count) as Option<u64>;
        max_balance: Change<Money> = change("maxBalance", money) as Option<MoneyDto>;
    }
}

impl From<UpdateLimits> for LimitsChange {
    fn from(sent: UpdateLimits) -> Self {
        Self {
            max_per_transaction: sent.max_per_transaction,
            daily_amount: sent.daily_amount,
            daily_count: sent.daily_count,
            monthly_amount: sent.monthly_amount,
            monthly_count: sent.monthly_count,
            max_balance: sent.max_balance,
        }
    }
}

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
pub async fn read(caller: Caller, path: web::Path<String>) -> Answer {
    let view = caller.engine().view(caller.realm(), target(&path)?).await?;
    let mut answer = json(StatusCode::OK, &LimitsSnapshot::from(&view));
    tag(&mut answer, &view);
    Ok(answer)
}

/// Changes the account's own limits: absent stays, null inherits, 0 lets nothing pass.
///
/// An account's own limits go before the tenant's, and those before the platform's. Emits
/// `account.limits.updated`.
#[utoipa::path(
    operation_id = "changeLimits",
    tag = "Accounts",
    params(declared::CvuInPath, declared::IfMatch),
    request_body(content = UpdateLimits),
    responses((status = 200, body = AccountBody), Problems)
)]
#[patch("/v1/accounts/{cvu}/limits")]
pub async fn change(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    body: Body,
) -> Answer {
    let order = ProfileOrder::ChangeLimits(UpdateLimits::read(body)?.into());
    super::change(&request, &caller, &path, order).await
}
