//! Balances of the native family, present and past.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use caudal_http::bodies::accounts::BalanceBody;
use caudal_http::bodies::body;
use caudal_http::bodies::texts::{Day, Instant, Pesos};
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{PastDay, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::json;
use caudal_http::words::Mistake;
use caudal_ledger::time::Timestamp;

use super::target;
use caudal_actors::accounts::ReadBalanceAt;

body! {
    /// A balance of the past.
    pub(crate) struct HistoricalBalance {
        /// The CVU.
        cvu: String;
        /// The business day in Buenos Aires.
        date: Day;
        /// The instant that was asked for, when it was one.
        at?: Option<Instant>;
        /// What could be spent.
        available: Pesos;
        /// What was set apart.
        held: Pesos;
        /// The sum of both.
        total: Pesos;
        /// The movements up to then.
        sequence: u64;
        /// When the last of them was posted.
        last_movement_at: Option<Instant>;
        /// False for today, which may still change.
        #[serde(rename = "final")]
        is_final: bool;
    }
}

/// Reads the balance.
///
/// Everything that was answered before is in it.
#[utoipa::path(
    operation_id = "readBalance",
    tag = "Balances",
    params(declared::CvuInPath),
    responses((status = 200, body = BalanceBody), Problems)
)]
#[get("/v1/accounts/{cvu}/balance")]
pub(crate) async fn current(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let view = caller
        .queries()
        .balance(caller.realm(), target(&path)?)
        .await?;
    Ok(json(StatusCode::OK, &BalanceBody::from(&view)))
}

params! {
    /// The instant of a balance.
    part pub struct At(now: Timestamp) {
        /// An instant, RFC 3339, instead of a day.
        at: Option<Timestamp> = instant("at") as Option<String> { format = DateTime };
        => |query| query.not_after("at", at, now);
    }
}

/// Reads the closing balance of a day, or the balance at an instant.
///
/// Name `date` (the closing balance of a business day in Buenos Aires) or `at` (an instant). `final` is false
/// for today, which may still change.
#[utoipa::path(
    operation_id = "readHistoricalBalance",
    tag = "Balances",
    params(
        declared::CvuInPath,
        PastDay,
        At
    ),
    responses((status = 200, body = HistoricalBalance), Problems)
)]
#[get("/v1/accounts/{cvu}/balance/historical")]
pub(crate) async fn historical(
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> HandlerResult {
    past(&caller, &path, query).await
}

/// Answers with the past balance that a query asks for.
pub(super) async fn past(
    caller: &Caller,
    path: &web::Path<String>,
    mut query: Query,
) -> HandlerResult {
    let target = target(path)?;
    let now = caller.now();
    let PastDay { date: day } = PastDay::take(&mut query, now.business_day());
    let At { at: instant } = At::take(&mut query, now);
    if day.is_some() && instant.is_some() {
        query.mistake("at", Mistake::Together { other: "date" });
    }
    query.done()?;
    let (day, until): (_, Timestamp) = match (day, instant) {
        (Some(day), _) => (day, day.end()),
        (None, Some(at)) => (at.business_day(), at),
        (None, None) => return Err(ApiError::field("date", Mistake::RequiredOr { other: "at" })),
    };
    let view = caller
        .queries()
        .ask(caller.realm(), ReadBalanceAt(target, until))
        .await?;
    let body = HistoricalBalance {
        cvu: view.cvu.to_string(),
        date: day.into(),
        at: instant.map(Into::into),
        available: view.balance.available.into(),
        held: view.balance.held.into(),
        total: view.balance.total().into(),
        sequence: view.sequence,
        last_movement_at: view.last_movement_at.map(Into::into),
        is_final: day < now.business_day(),
    };
    Ok(json(StatusCode::OK, &body))
}
