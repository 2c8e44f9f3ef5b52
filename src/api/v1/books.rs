//! The books of the realm: the other side of every voucher.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, get};
use caudal_http::bodies::books::{BookAccountBody, TrialBalanceBody};
use caudal_http::caller::Caller;
use caudal_http::errors::HandlerResult;
use caudal_http::params::params;
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::json;
use caudal_http::rows;
use caudal_http::sheets::columns::TRIAL_BALANCE;
use caudal_ledger::books::BookAccount;
use caudal_ledger::time::BusinessDay;
use serde::Serialize;
use utoipa::ToSchema;

/// The accounts of the books.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct BookAccounts {
    /// Every account, in the order of a trial balance.
    pub items: Vec<BookAccountBody>,
}

/// Lists the accounts of the books: the clients' money, the collector account, and the PSP's own side of what moved.
///
/// Every voucher and every movement of the collector account credits one account and debits another.
#[utoipa::path(
    operation_id = "listBookAccounts",
    tag = "Treasury",
    responses((status = 200, body = BookAccounts), Problems)
)]
#[get("/v1/books/accounts")]
pub(crate) async fn accounts(_: Caller) -> HandlerResult {
    let all = BookAccount::ALL.iter();
    let items = all.map(|account| (*account).into()).collect();
    Ok(json(StatusCode::OK, &BookAccounts { items }))
}

params! {
    /// The day of a trial balance.
    struct TrialBalanceParams(today: BusinessDay) {
        /// a business day, YYYY-MM-DD, not in the future; now when absent
        date: Option<BusinessDay> = date("date") as Option<String> { format = Date };
        => |query| query.not_after("date", date, today);
    }
}

/// Reads the trial balance: the balance of every account of the books, now or at the end of a day. Debits and credits are
/// equal.
///
/// `clients` is the sum of all positions. `bank` is what the collector account has by the books: the bank's own balance
/// less it is what nobody has explained yet, such as money on its way into an account.
#[utoipa::path(
    operation_id = "readTrialBalance",
    tag = "Treasury",
    params(TrialBalanceParams),
    responses((status = 200, content((TrialBalanceBody = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"))), Problems)
)]
#[get("/v1/books/trial-balance")]
pub(crate) async fn trial_balance(
    request: HttpRequest,
    caller: Caller,
    query: Query,
) -> HandlerResult {
    let (engine, realm) = (caller.engine(), caller.realm());
    let sent = TrialBalanceParams::read(query, engine.now().business_day())?;
    let found = engine.queries().trial_balance(realm, sent.date).await?;
    let body = TrialBalanceBody::of(&found, sent.date);
    Ok(match rows::style(&request) {
        Some(style) => {
            let items = body.items.iter().map(|item| serde_json::json!(item));
            rows::table(style, TRIAL_BALANCE, items)
        }
        None => json(StatusCode::OK, &body),
    })
}
