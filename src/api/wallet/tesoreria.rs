//! Treasury of the wallet family: the snapshot, and the position of each client.

pub(crate) mod bodies;
pub(crate) mod queries;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, web};
use caudal_actors::engine::lists::{VoucherFilter, VoucherSort};
use caudal_actors::engine::treasury::PositionFilter;
use caudal_actors::realms::Target;
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::ApiError;
use caudal_http::params::{PageParams, PaginaParams, PeriodParams};
use caudal_http::problems::Problems;
use caudal_http::query::{Query, pages};
use caudal_http::respond::{json, paged};
use caudal_http::words::Mistake;
use caudal_ledger::cvu::Cvu;
use utoipa_actix_web::service_config::ServiceConfig;

use super::campos;
use super::corte::{self, Corte};
use crate::wallet;
use bodies::{
    Movimiento, MovimientosPage, SaldoCliente, SaldoClienteHistorico, SaldosPage, Tesoreria,
};

type Answer = Result<HttpResponse, ApiError>;

/// The route table of the treasury.
pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(snapshot)
        .service(balances)
        .service(by_cvu)
        .service(by_account)
        .service(movements)
        .service(historical);
}

fn by_its_cvu(path: &web::Path<String>) -> Result<Target, ApiError> {
    let cvu = Cvu::parse(path).map_err(|why| ApiError::field("cvu", why))?;
    Ok(Target::Cvu(cvu))
}

/// Takes a snapshot of the treasury.
///
/// What belongs to clients beside what the collector account has at the bank.
#[utoipa::path(
    operation_id = "walletTesoreria",
    tag = "Wallet: treasury",
    responses((status = 200, body = Tesoreria), Problems)
)]
#[get("/wallet/v1/Tesoreria")]
pub(crate) async fn snapshot(caller: Caller) -> Answer {
    let (engine, realm) = (caller.engine(), caller.realm());
    let taken = engine.treasury(realm, &caller.request_id).await?;
    Ok(json(StatusCode::OK, &Tesoreria::from(&taken)))
}

/// Lists what clients have, the newest account first. With a day or `asOf` all pages are one cut, and the
/// first has the sums of all accounts.
///
/// Filter by text; go on by page or with `X-Next-Cursor` as `cursor`.
#[utoipa::path(
    operation_id = "walletSaldosClientes",
    tag = "Wallet: treasury",
    params(
        PaginaParams,
        declared::ClientText,
        wallet::declared::Fecha,
        wallet::declared::FechaAsDate,
        declared::AsOf
    ),
    responses((status = 200, body = SaldosPage), Problems)
)]
#[get("/wallet/v1/SaldosClientes")]
pub(crate) async fn balances(caller: Caller, mut query: Query) -> Answer {
    let text = query.text("q");
    let page = query.wallet_page();
    let (engine, realm) = (caller.engine(), caller.realm());
    let at = corte::instant(&mut query, engine.now());
    query.done()?;
    let filter = PositionFilter {
        text,
        at,
        ..PositionFilter::default()
    };
    let listing = engine.positions(realm, filter, page).await?;
    let body = SaldosPage {
        total_pages: pages(&listing, &page),
        total_records: listing.total,
        items: listing.items.iter().map(SaldoCliente::from).collect(),
        corte: Corte::of(&caller, at, &page).await?,
    };
    Ok(paged(&listing, json(StatusCode::OK, &body)))
}

async fn balance(caller: &Caller, target: Target) -> Answer {
    let position = caller.engine().position(caller.realm(), target).await?;
    Ok(json(StatusCode::OK, &SaldoCliente::from(&position)))
}

/// Reads what a client has, by its CVU.
///
/// What is available, held and in all, and when it last moved.
#[utoipa::path(
    operation_id = "walletSaldoClienteByCVU",
    tag = "Wallet: treasury",
    params(declared::CvuInPath),
    responses((status = 200, body = SaldoCliente), Problems)
)]
#[get("/wallet/v1/SaldoClienteByCVU/{cvu}")]
pub(crate) async fn by_cvu(caller: Caller, path: web::Path<String>) -> Answer {
    balance(&caller, by_its_cvu(&path)?).await
}

/// Reads what a client has, by its wallet account.
///
/// What is available, held and in all, and when it last moved.
#[utoipa::path(
    operation_id = "walletSaldoClienteByIdCuenta",
    tag = "Wallet: treasury",
    params(wallet::declared::IdCuentaInPath),
    responses((status = 200, body = SaldoCliente), Problems)
)]
#[get("/wallet/v1/SaldoClienteByIdCuenta/{idCuenta}")]
pub(crate) async fn by_account(caller: Caller, path: web::Path<String>) -> Answer {
    let number = queries::account(&path).map_err(|why| ApiError::field(queries::ACCOUNT, why))?;
    balance(&caller, Target::Account(number)).await
}

/// Lists the ledger movements of a client, newest first.
///
/// Name the client by `cvu` or `idCuenta`. Each movement carries the balances after it.
#[utoipa::path(
    operation_id = "walletMovimientosCliente",
    tag = "Wallet: treasury",
    params(
        ("cvu" = Option<String>, Query, description = "the client's CVU, or idCuenta"),
        ("idCuenta" = Option<u64>, Query, description = "the client's wallet account, or cvu"),
        PeriodParams,
        PageParams
    ),
    responses((status = 200, body = MovimientosPage), Problems)
)]
#[get("/wallet/v1/MovimientosCliente")]
pub(crate) async fn movements(caller: Caller, mut query: Query) -> Answer {
    let target = queries::client(&mut query);
    let (from, to) = query.period_of("from", "to", queries::day);
    let page = query.page();
    query.done()?;
    let (engine, realm) = (caller.engine(), caller.realm());
    let Some(target) = target else {
        return Err(ApiError::field(
            "cvu",
            Mistake::RequiredOr { other: "idCuenta" },
        ));
    };
    let filter = VoucherFilter {
        from,
        to,
        ..VoucherFilter::default()
    };
    let sort = VoucherSort::default();
    let listing = engine.movements(realm, target, filter, sort, page).await?;
    let types = engine.voucher_types(realm).await?;
    let item = |placed| Movimiento::of(realm, placed, &types, &caller.door.calendar);
    let body = MovimientosPage {
        total_records: listing.total,
        items: listing.items.iter().map(item).collect(),
    };
    Ok(paged(&listing, json(StatusCode::OK, &body)))
}

/// Reads what a client had at the end of a day.
///
/// Name the day by `date` or `fecha`; that of today may still change.
#[utoipa::path(
    operation_id = "walletSaldoClienteHistoricoByCVU",
    tag = "Wallet: treasury",
    params(
        declared::CvuInPath,
        wallet::declared::Fecha,
        wallet::declared::FechaAsDate
    ),
    responses((status = 200, body = SaldoClienteHistorico), Problems)
)]
#[get("/wallet/v1/SaldoClienteHistoricoByCVU/{cvu}")]
pub(crate) async fn historical(
    caller: Caller,
    path: web::Path<String>,
    mut query: Query,
) -> Answer {
    let target = by_its_cvu(&path)?;
    let today = caller.engine().now().business_day();
    let asked = query.past_day(today, campos::day);
    query.done()?;
    let day =
        asked.ok_or_else(|| ApiError::field("date", Mistake::RequiredOr { other: "fecha" }))?;
    let (engine, realm) = (caller.engine(), caller.realm());
    let view = engine.balance_at(realm, target, day.end()).await?;
    Ok(json(StatusCode::OK, &SaldoClienteHistorico::of(day, &view)))
}
