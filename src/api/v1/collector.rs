//! The collector account's day: the bank's statement next to the ledger.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get};
use caudal_http::bodies::collector::CollectorDayBody;
use caudal_http::caller::Caller;
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::problems::BankProblems;
use caudal_http::query::Query;
use caudal_http::respond::json;
use caudal_http::rows;
use caudal_http::sheets::columns::COLLECTOR_MOVEMENTS;
use caudal_ledger::time::BusinessDay;

params! {
    /// Which day of the collector account.
    struct CollectorDayParams(today: BusinessDay) {
        /// a business day, YYYY-MM-DD, not in the future; today in Argentina when absent
        date: Option<BusinessDay> = date("date") as Option<String> { format = Date };
        => |query| query.not_after("date", date, today);
    }
}

/// Reads a business day of the collector account: every movement that the bank lists, also those of no client, between
/// the bank's own balances.
///
/// `opening` + `in` − `out` = `closing`; what does not add up is `unexplained`. Movements of clients are `matched`; the
/// account's own have a class by the tenant's rules, or wait for an operator as `unclassified`. An account that another
/// realm shares is refused: nobody can say whose its balances are.
#[utoipa::path(
    operation_id = "readCollectorDay",
    tag = "Treasury",
    params(CollectorDayParams),
    responses((status = 200, content((CollectorDayBody = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), BankProblems)
)]
#[get("/v1/treasury/collector")]
pub(crate) async fn of_day(
    request: HttpRequest,
    caller: Caller,
    query: Query,
) -> Result<HttpResponse, ApiError> {
    let (queries, realm) = (caller.queries(), caller.realm());
    let today = caller.now().business_day();
    let sent = CollectorDayParams::read(query, today)?;
    let day = sent.date.unwrap_or(today);
    let report = queries
        .collector_day(realm, day, &caller.request_id)
        .await?;
    let body = CollectorDayBody::of(realm, queries.collector(realm), &report);
    Ok(match rows::style(&request) {
        Some(style) => {
            let items = body.items.iter().map(|item| serde_json::json!(item));
            rows::table(style, COLLECTOR_MOVEMENTS, items)
        }
        None => json(StatusCode::OK, &body),
    })
}
