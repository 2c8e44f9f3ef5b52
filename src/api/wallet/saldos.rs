//! Balances of the wallet family: of all accounts and of one at present, of one in the past.

use actix_web::http::StatusCode;
use actix_web::{get, web};
use caudal_actors::accounts::{BalanceView, ReadBalanceAt};
use caudal_actors::engine::lists::{AccountFilter, ListPage, Listing};
use caudal_actors::engine::treasury::{Position, PositionFilter};
use caudal_actors::realms::Target;
use caudal_http::bodies::body;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::PaginaParams;
use caudal_http::problems::Problems;
use caudal_http::query::{LIMIT_MAX, Query};
use caudal_http::respond::{self, json};
use caudal_http::words::Mistake;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use super::corte::{self, Corte, PastDay};
use super::declared::IdCuentaInPath;
use super::importe::Importe;
use super::{Pagina, campos};
use caudal_http::bodies::texts::{Day, Pesos};
use caudal_http::params::{AsOf, params};

body! {
    /// The balance of an account (wallet balance item).
    pub(crate) struct Saldo from view: &BalanceView {
        /// What is available.
        saldo: Importe = Importe::of(view.balance.available);
        /// The same as text.
        available_balance: Pesos = view.balance.available.into();
        /// What is held.
        held_balance: Pesos = view.balance.held.into();
        /// The sum of both.
        total_balance: Pesos = view.balance.total().into();
        /// The CVU.
        cvu: String = view.cvu.to_string();
        /// The account.
        id_cuenta: u64 = view.account.0;
    }
}

/// The closing balance of a day.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct SaldoHistorico {
    /// The balance.
    #[serde(flatten)]
    pub balance: Saldo,
    /// The business day in Buenos Aires, `YYYY-MM-DD`.
    pub date: Day,
}

/// A page of balances.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Saldos {
    /// The page.
    #[serde(flatten)]
    pub page: Pagina<Saldo>,
    /// The same as `items`, under the name that some clients know.
    pub saldos: Vec<Saldo>,
    /// The instant of all pages.
    #[serde(flatten)]
    pub corte: Corte,
}

impl From<&Position> for Saldo {
    fn from(position: &Position) -> Self {
        let (account, balance) = (&position.account, position.balance);
        Self {
            saldo: Importe::of(balance.available),
            available_balance: balance.available.into(),
            held_balance: balance.held.into(),
            total_balance: balance.total().into(),
            cvu: account.cvu.map_or_else(String::new, |cvu| cvu.to_string()),
            id_cuenta: account.number.0,
        }
    }
}

/// The balances of the accounts with a CVU, now or at an instant.
async fn balances(
    caller: &Caller,
    at: Option<Timestamp>,
    page: ListPage,
) -> Result<Listing<Saldo>, ApiError> {
    let (queries, realm) = (caller.queries(), caller.realm());
    if at.is_none() {
        let all = AccountFilter::default();
        let found = queries.balances(realm, all, page).await?;
        return Ok(found.with(|items| items.iter().map(Saldo::from).collect()));
    }
    let filter = PositionFilter {
        at,
        ..PositionFilter::default()
    };
    let found = queries.positions(realm, filter, page).await?;
    Ok(found.with(|items| items.iter().map(Saldo::from).collect()))
}

/// Lists the balances of the accounts with a CVU, newest account first: 200 a page when `pageSize` is
/// absent. With a day or `asOf` all pages are one cut, and the first has the sums of all accounts.
///
/// Go on by page or with `X-Next-Cursor` as `cursor`.
#[utoipa::path(
    operation_id = "listSaldosActuales",
    tag = "Wallet",
    params(
        PaginaParams,
        PastDay,
        AsOf
    ),
    responses((status = 200, body = Saldos), Problems)
)]
#[get("/wallet/v1/SaldosActuales")]
pub(crate) async fn current(caller: Caller, mut query: Query) -> HandlerResult {
    let page = query.wallet_page_of(LIMIT_MAX);
    let at = corte::instant(&mut query, caller.now());
    query.done()?;
    let listing = balances(&caller, at, page).await?;
    let body = Saldos {
        saldos: listing.items.clone(),
        page: Pagina::of(listing.items.clone(), &listing, &page),
        corte: Corte::of(&caller, at, &page).await?,
    };
    Ok(respond::paged(&listing, json(StatusCode::OK, &body)))
}

/// Reads the closing balance of a day; that of today may still change.
///
/// A business day in Buenos Aires.
#[utoipa::path(
    operation_id = "readSaldoHistorico",
    tag = "Wallet",
    params(
        IdCuentaInPath,
        PastDay
    ),
    responses((status = 200, body = SaldoHistorico), Problems)
)]
#[get("/wallet/v1/SaldoHistoricoByIdCuenta/{idCuenta}")]
pub(crate) async fn historical(
    caller: Caller,
    path: web::Path<String>,
    mut query: Query,
) -> HandlerResult {
    let target = Target::Account(IdCuentaInPath::read(&path)?);
    let day = day(&caller, &mut query);
    query.done()?;
    closing(&caller, target, day).await
}

params! {
    /// An account, by its number.
    struct IdCuentaInQuery {
        /// the number of the account
        number: u64 = required("idCuenta", campos::number) as u64;
    }
}

params! {
    /// An account, by its CVU.
    pub struct CvuInQuery {
        /// The CVU of an account, 22 digits.
        cvu: Cvu = required("cvu", Cvu::parse) as String { pattern = "^000[0-9]{19}$" };
    }
}

/// Reads the closing balance of a day, of the account that a parameter names.
///
/// A business day in Buenos Aires; that of today may still change.
#[utoipa::path(
    operation_id = "readSaldoHistoricoOfCuenta",
    tag = "Wallet",
    params(
        IdCuentaInQuery,
        PastDay
    ),
    responses((status = 200, body = SaldoHistorico), Problems)
)]
#[get("/wallet/v1/SaldoHistoricoByIdCuenta")]
pub(crate) async fn historical_of_account(caller: Caller, mut query: Query) -> HandlerResult {
    let day = day(&caller, &mut query);
    let IdCuentaInQuery { number } = IdCuentaInQuery::read(query)?;
    closing(&caller, Target::Account(AccountNo(number)), day).await
}

/// Reads the closing balance of a day, of the CVU that a parameter names.
///
/// A business day in Buenos Aires; that of today may still change.
#[utoipa::path(
    operation_id = "readSaldoHistoricoByCVU",
    tag = "Wallet",
    params(
        CvuInQuery,
        PastDay
    ),
    responses((status = 200, body = SaldoHistorico), Problems)
)]
#[get("/wallet/v1/SaldoHistoricoByCVU")]
pub(crate) async fn historical_by_cvu(caller: Caller, mut query: Query) -> HandlerResult {
    let day = day(&caller, &mut query);
    let CvuInQuery { cvu } = CvuInQuery::read(query)?;
    closing(&caller, Target::Cvu(cvu), day).await
}

/// Reads what an account has now, by its number.
///
/// What is available, held and in all.
#[utoipa::path(
    operation_id = "readSaldoActualByIdCuenta",
    tag = "Wallet",
    params(IdCuentaInPath),
    responses((status = 200, body = Saldo), Problems)
)]
#[get("/wallet/v1/SaldoActualByIdCuenta/{idCuenta}")]
pub(crate) async fn current_of_account(caller: Caller, path: web::Path<String>) -> HandlerResult {
    now(&caller, Target::Account(IdCuentaInPath::read(&path)?)).await
}

/// Reads what an account has now, by its CVU.
///
/// What is available, held and in all.
#[utoipa::path(
    operation_id = "readSaldoActualByCVU",
    tag = "Wallet",
    params(declared::CvuInPath),
    responses((status = 200, body = Saldo), Problems)
)]
#[get("/wallet/v1/SaldoActualByCVU/{cvu}")]
pub(crate) async fn current_by_cvu(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let cvu = declared::CvuInPath::read(&path)?;
    now(&caller, Target::Cvu(cvu)).await
}

async fn now(caller: &Caller, target: Target) -> HandlerResult {
    let view = caller.queries().balance(caller.realm(), target).await?;
    Ok(json(StatusCode::OK, &Saldo::from(&view)))
}

/// The day that a query asks for, under either name.
fn day(caller: &Caller, query: &mut Query) -> Option<BusinessDay> {
    PastDay::take(query, caller.now().business_day()).day()
}

/// Answers with the balance of an account at the end of a day.
async fn closing(caller: &Caller, target: Target, day: Option<BusinessDay>) -> HandlerResult {
    let other = "date";
    let day = day.ok_or_else(|| ApiError::field("fecha", Mistake::RequiredOr { other }))?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let view = queries.ask(realm, ReadBalanceAt(target, day.end())).await?;
    let body = SaldoHistorico {
        balance: Saldo::from(&view),
        date: day.into(),
    };
    Ok(json(StatusCode::OK, &body))
}
