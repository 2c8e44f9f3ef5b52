//! Treasury of the native family: the snapshot, and the position of each client.
//!
//! A position is read from disk, like the snapshot, and so agrees with it; the movements and the balance of a day are
//! those of the account.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, get, web};
use caudal_actors::engine::Queries;
use caudal_actors::engine::lists::ListPage;
use caudal_actors::engine::treasury::{Cut, Position, PositionFilter};
use caudal_http::bodies::body;
use caudal_http::bodies::texts::{Instant, Pesos};
use caudal_http::bodies::treasury::{ClientFunds, Treasury};
use caudal_http::bodies::vouchers::Movement;
use caudal_http::bodies::words::AccountStatusWord;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{AsOf, ClientText, PageParams, PastDay, PeriodParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::{json as whole_json, paged};
use caudal_http::rows;
use caudal_http::rows::ListCall;
use caudal_http::sheets::columns::{POSITIONS, TREASURY};
use caudal_http::words::Mistake;
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde_json::json;

use super::balances::HistoricalBalance;
use super::pages::page;
use super::{balances, target, vouchers};

body! {
    /// What a client has.
    pub(crate) struct PositionBody as Position from position: &Position {
        => let Position {
            account,
            balance,
            last_movement_at,
        } = position;
        /// The CVU.
        cvu: Option<String> = account.cvu.map(|cvu| cvu.to_string());
        /// Its alias.
        alias: Option<String> = account.alias.as_ref().map(ToString::to_string);
        /// The id of its wallet account.
        wallet_account_id: u64 = account.number.0;
        /// The holder's name.
        holder_name: String = account.holder.name.clone();
        /// The holder's CUIT.
        cuit: String = account.holder.cuit.to_string();
        /// `active`, `suspended` or `closed`.
        status: &'static str as AccountStatusWord = account.status.as_str();
        /// What can be spent.
        available: Pesos = balance.available.into();
        /// What is set apart.
        held: Pesos = balance.held.into();
        /// The sum of both.
        total: Pesos = balance.total().into();
        /// When it last moved; null before the first movement.
        last_movement_at: Option<Instant> = last_movement_at.map(Into::into);
    }
}

page! {
    /// A page of positions.
    pub(crate) PositionsPage as PositionsPage {
        /// The positions.
        PositionBody
    }
}

body! {
    /// Positions of an instant that was asked for.
    pub(crate) struct Positions {
        /// The page.
        #[serde(flatten)]
        page: PositionsPage;
        /// The instant that all pages are of; absent for now, when each row is of the moment in which it
        /// was read.
        as_of?: Option<Instant>;
        /// Whether no movement can come any more that is not after the instant: then all pages are one cut.
        /// Absent for now.
        #[serde(rename = "final", skip_serializing_if = "Option::is_none")]
        #[schema(nullable = false)]
        is_final: Option<bool>;
        /// The vouchers of the realm up to the instant. Only on the first page of an instant.
        sequence?: Option<u64>;
        /// What belonged to all clients then, whatever the filters leave. Only on the first page of an
        /// instant.
        client_funds?: Option<ClientFunds>;
    }
}

/// The instant that a query asks for: the end of a day, or any that is not in the future. `None` where it names none.
pub(crate) fn instant(query: &mut Query, now: Timestamp) -> Option<Timestamp> {
    let PastDay { date: day } = PastDay::take(query, now.business_day());
    let AsOf { as_of: at } = AsOf::take(query, now);
    if day.is_some() && at.is_some() {
        query.mistake("asOf", Mistake::Together { other: "date" });
    }
    at.or(day.map(BusinessDay::end))
}

/// The sums at the instant of a list of positions: made once for a walk, with its first page.
pub(crate) async fn cut_of(
    caller: &Caller,
    at: Option<Timestamp>,
    page: &ListPage,
) -> Result<Option<Cut>, ApiError> {
    let first = page.cursor.is_none() && page.offset == 0;
    match at.filter(|_| first) {
        Some(at) => Ok(Some(caller.queries().cut(caller.realm(), at).await?)),
        None => Ok(None),
    }
}

/// A snapshot as JSON, or as a row if the client asks for one.
fn formed(request: &HttpRequest, treasury: &Treasury) -> HttpResponse {
    match rows::style(request) {
        Some(style) => rows::table(style, TREASURY, [json!(treasury)]),
        None => whole_json(StatusCode::OK, treasury),
    }
}

params! {
    /// The day of a snapshot.
    struct TreasuryParams(today: BusinessDay) {
        /// a business day, YYYY-MM-DD, not in the future; now when absent
        date: Option<BusinessDay> = date("date") as Option<String> { format = Date };
        => |query| query.not_after("date", date, today);
    }
}

/// Takes a snapshot: what belongs to clients, at one cut through all accounts, next to what the
/// collector account has. When the bank is away the ledger's side is served all the same. Of a past day
/// it is what there was at its end, with the bank's balance as soon as the day is closed.
///
/// `freeBalance` is what the collector account has beyond the clients' funds, money that no account could take, and credits
/// that the bank has reported and the ledger could not book (`uncredited`); it is informative and may be negative.
#[utoipa::path(
    operation_id = "readTreasury",
    tag = "Treasury",
    params(TreasuryParams),
    responses((status = 200, content((Treasury = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/treasury")]
pub(crate) async fn take(request: HttpRequest, caller: Caller, query: Query) -> HandlerResult {
    let (queries, realm) = (caller.queries(), caller.realm());
    let sent = TreasuryParams::read(query, caller.now().business_day())?;
    if let Some(day) = sent.date {
        let past = queries.past_treasury(realm, day).await?;
        let past = Treasury::past(&past, day, queries.collector(realm));
        return Ok(formed(&request, &past));
    }
    let snapshot = queries.treasury(realm, &caller.request_id).await?;
    Ok(formed(&request, &Treasury::from(&snapshot)))
}

params! {
    /// Which positions, by their totals.
    part struct PositionParams {
        /// only a total of at least this amount
        min: Option<i64> = centavos("min") as Option<String>;
        /// only a total of at most this amount
        max: Option<i64> = centavos("max") as Option<String>;
        => |query| query.amounts_in_order("min", min, "max", max);
    }
}

/// Lists what clients have, the newest account first. Closed accounts are listed while they have
/// money. With `date` or `asOf` it is what they had then, by the accounts that there are today: all pages
/// of one instant are one cut, and the first has the sums of all accounts.
///
/// Filter by text and by a range of totals; go on with `X-Next-Cursor` as `cursor` until it is absent: a filtered
/// page of many accounts may be short, and `looked` then says how far it has looked.
#[utoipa::path(
    operation_id = "listPositions",
    tag = "Treasury",
    params(
        PageParams,
        ClientText,
        PositionParams,
        PastDay,
        AsOf
    ),
    responses((status = 200, content((Positions = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/treasury/positions")]
pub(crate) async fn list(request: HttpRequest, caller: Caller, mut query: Query) -> HandlerResult {
    let whole = rows::whole(&request, &mut query);
    let PositionParams { min, max } = PositionParams::take(&mut query);
    let text = ClientText::take(&mut query).q;
    let page = query.page();
    let (queries, realm) = (caller.queries(), caller.realm());
    let at = instant(&mut query, caller.now());
    query.done()?;
    let filter = PositionFilter { text, min, max, at };
    if let Some(style) = whole {
        let fetch = async move |queries: Queries<'_>, page| {
            queries.positions(realm, filter.clone(), page).await
        };
        let show = |position: &Position| json!(PositionBody::from(position));
        return rows::stream(&caller, style, POSITIONS, page, fetch, show).await;
    }
    let listing = queries.positions(realm, filter, page).await?;
    let cut = cut_of(&caller, at, &page).await?;
    let body = Positions {
        page: PositionsPage::of(&listing, &page, |position| position.into()),
        as_of: at.map(Into::into),
        is_final: at.map(|at| queries.is_settled(realm, at)),
        sequence: cut.map(|cut| cut.sequence),
        client_funds: cut.as_ref().map(ClientFunds::from),
    };
    Ok(paged(&listing, whole_json(StatusCode::OK, &body)))
}

/// Reads what a client has.
///
/// What is available, held and in all, and when it last moved.
#[utoipa::path(
    operation_id = "readPosition",
    tag = "Treasury",
    params(declared::CvuInPath),
    responses((status = 200, body = PositionBody), Problems)
)]
#[get("/v1/treasury/positions/{cvu}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let target = target(&path)?;
    let position = caller.queries().position(caller.realm(), target).await?;
    Ok(whole_json(StatusCode::OK, &PositionBody::from(&position)))
}

/// Lists the ledger movements of a client, newest first.
///
/// The same list as the movements of the account.
#[utoipa::path(
    operation_id = "listPositionMovements",
    tag = "Treasury",
    params(
        declared::CvuInPath,
        PageParams,
        PeriodParams,
        vouchers::MovementParams
    ),
    responses((status = 200, content((Vec<Movement> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/treasury/positions/{cvu}/movements")]
pub(crate) async fn movements(call: ListCall, path: web::Path<String>) -> HandlerResult {
    vouchers::history(call, &path).await
}

/// Reads what a client had at the end of a day, or at an instant.
///
/// The same as the historical balance of the account.
#[utoipa::path(
    operation_id = "readHistoricalPosition",
    tag = "Treasury",
    params(
        declared::CvuInPath,
        PastDay,
        balances::At
    ),
    responses((status = 200, body = HistoricalBalance), Problems)
)]
#[get("/v1/treasury/positions/{cvu}/balance/historical")]
pub(crate) async fn historical(
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> HandlerResult {
    balances::past(&caller, &path, query).await
}
