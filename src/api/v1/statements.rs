//! Statements of an account, in the form that `Accept` asks for.

use actix_web::{HttpRequest, get, web};
use caudal_http::accept::preferred;
use caudal_http::bodies::statements::StatementBody;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::HandlerResult;
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::statements::StatementFormat;
use caudal_http::statements::response::{IfNoneMatch, Source, StatementParams};

use super::target;

/// Gives the statement of an account for whole days: opening balance, movements, closing balance.
///
/// As JSON, CSV (`text/csv`), camt.053.001.08 (`application/xml`) or PDF, by `Accept`. Five minutes after its last
/// day a statement is `final`: the same days give the same bytes for ever, unless the realm is taken back to an
/// instant, and `ETag` is their hash. Holder, alias and provider are those of the end of the period. At most 366 days,
/// 200000 movements, 10000 in a PDF.
///
/// camt.053 books each movement on its business day in Buenos Aires, and has interim balances (`ITBD`, `ITAV`) until the
/// statement is final. In CSV `createdAt.date` is the business day. A PDF shows a character that its font lacks, such as
/// a Chinese one, as its code point (`[U+4E2D]`).
#[utoipa::path(
    operation_id = "readStatement",
    tag = "Vouchers",
    params(
        declared::CvuInPath,
        StatementParams,
        IfNoneMatch
    ),
    responses(
        (status = 200, content(
            (StatementBody = "application/json"),
            (String = "text/csv"),
            (String = "application/xml"),
            (String = "application/pdf")
        )),
        (status = 304, description = "the bytes are those of `If-None-Match`"),
        Problems
    )
)]
#[get("/v1/accounts/{cvu}/statements")]
pub(crate) async fn read(
    request: HttpRequest,
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> HandlerResult {
    let target = target(&path)?;
    let today = caller.now().business_day();
    let period = StatementParams::read(query, today)?.into();
    let forms = StatementFormat::ALL.map(|format| (format.media(), format));
    let format = preferred(&request, &forms).unwrap_or(StatementFormat::Json);
    let source = Source::new(&caller.app, caller.realm());
    source.give(&request, target, (period, format)).await
}
