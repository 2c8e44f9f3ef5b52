//! Closed days of the realm, and the proofs of what an account had at their end.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use caudal_http::bodies::days::{ClosedDayBody, DayProofBody};
use caudal_http::caller::Caller;
use caudal_http::declared::{self, declared, id};
use caudal_http::errors::HandlerResult;
use caudal_http::params::{PageParams, params};
use caudal_http::problems::Problems;
use caudal_http::respond::json;
use caudal_http::rows::ListCall;
use caudal_http::sheets::columns::CLOSED_DAYS;
use caudal_ledger::days::DayRecord;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::BusinessDay;

use super::pages::{PageOf, page};
use caudal_actors::engine::Queries;

page! {
    /// A page of closed days.
    pub(crate) ClosedDaysPage as ClosedDaysPage {
        /// The days.
        ClosedDayBody
    }
}

params! {
    /// Which days.
    part struct ClosedDayParams {
        /// A business day, YYYY-MM-DD; not before it.
        from: Option<BusinessDay> = date("from") as Option<String> { format = Date };
        /// A business day, YYYY-MM-DD; not after it.
        to: Option<BusinessDay> = date("to") as Option<String> { format = Date };
        => |query| query.in_order("from", from, "to", to);
    }
}

/// Lists the closed days, newest first.
///
/// A day is closed some minutes after its end. From then on its figures never change.
#[utoipa::path(
    operation_id = "listClosedDays",
    tag = "Treasury",
    params(PageParams, ClosedDayParams),
    responses((status = 200, content((ClosedDaysPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/days")]
pub(crate) async fn list(mut call: ListCall) -> HandlerResult {
    let ClosedDayParams { from, to } = ClosedDayParams::take(&mut call.query);
    let realm = call.caller.realm();
    let fetch =
        async move |queries: Queries<'_>, page| queries.closed_days(realm, (from, to), page).await;
    let show = |record: &DayRecord| ClosedDayBody::from(record);
    call.answer(CLOSED_DAYS, fetch, |_| None, show, PageOf::answer)
        .await
}

declared! {
    /// a business day, YYYY-MM-DD
    DayInPath = Path "date" as String { format = Date }
        => BusinessDay: id(BusinessDay::parse, Rejection::DayNotClosed);
}

/// Reads a closed day: what all clients had at its end, the books, the bank's side, and the signed checkpoint that has all of
/// it. A day that is not closed yet is 404.
///
/// The signature makes it possible to show to others that the figures were not changed afterwards; the guide to sealed days
/// says how it is verified.
#[utoipa::path(
    operation_id = "readClosedDay",
    tag = "Treasury",
    params(DayInPath),
    responses((status = 200, body = ClosedDayBody), Problems)
)]
#[get("/v1/days/{date}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let date = DayInPath::read(&path)?;
    let found = caller.queries();
    let found = found.closed_day(caller.realm(), date).await?;
    let found = found.ok_or(Rejection::DayNotClosed)?;
    Ok(json(StatusCode::OK, &ClosedDayBody::from(&found)))
}

/// Reads the proof of what an account had at the end of a closed day: its balance, and the path from it to the root that the
/// checkpoint has.
///
/// Give it to the client: whoever has it and the public key can verify, without seeing any other account, that the balance is
/// part of the day's total.
#[utoipa::path(
    operation_id = "readDayProof",
    tag = "Treasury",
    params(DayInPath, declared::CvuInPath),
    responses((status = 200, body = DayProofBody), Problems)
)]
#[get("/v1/days/{date}/proof/{cvu}")]
pub(crate) async fn proof(caller: Caller, path: web::Path<(String, String)>) -> HandlerResult {
    let (date, cvu) = path.into_inner();
    let date = DayInPath::read(&date)?;
    let cvu = declared::CvuInPath::read(&cvu)?;
    let proof = caller
        .queries()
        .day_proof(caller.realm(), date, cvu)
        .await?;
    Ok(json(StatusCode::OK, &DayProofBody::from(&proof)))
}
