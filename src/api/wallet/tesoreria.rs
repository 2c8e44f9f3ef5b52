//! Treasury of the wallet family: the snapshot, and the position of each client.

pub(crate) mod bodies;

use super::corte;
use super::corte::Corte;
use super::corte::PastDay;
use actix_web::http::StatusCode;
use actix_web::{get, web};
use bodies::{
    Movimiento, MovimientosPage, SaldoCliente, SaldoClienteHistorico, SaldosPage, Tesoreria,
};
use caudal_actors::accounts::ReadBalanceAt;
use caudal_actors::engine::lists::{VoucherFilter, VoucherSort};
use caudal_actors::engine::treasury::PositionFilter;
use caudal_actors::realms::Target;
use caudal_http::caller::Caller;
use caudal_http::declared::{self, declared, field};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{AsOf, ClientText, PageParams, PaginaParams, PeriodParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::{Query, pages};
use caudal_http::respond::{json, paged};
use caudal_http::words::Mistake;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use utoipa_actix_web::service_config::ServiceConfig;

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
    declared::CvuInPath::read(path).map(Target::Cvu)
}

/// Takes a snapshot of the treasury.
///
/// What belongs to clients next to what the collector account has at the bank.
#[utoipa::path(
    operation_id = "walletTesoreria",
    tag = "Wallet: treasury",
    responses((status = 200, body = Tesoreria), Problems)
)]
#[get("/wallet/v1/Tesoreria")]
pub(crate) async fn snapshot(caller: Caller) -> HandlerResult {
    let (queries, realm) = (caller.queries(), caller.realm());
    let taken = queries.treasury(realm, &caller.request_id).await?;
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
        ClientText,
        PastDay,
        AsOf
    ),
    responses((status = 200, body = SaldosPage), Problems)
)]
#[get("/wallet/v1/SaldosClientes")]
pub(crate) async fn balances(caller: Caller, mut query: Query) -> HandlerResult {
    let text = ClientText::take(&mut query).q;
    let page = query.wallet_page();
    let (queries, realm) = (caller.queries(), caller.realm());
    let at = corte::instant(&mut query, caller.now());
    query.done()?;
    let filter = PositionFilter {
        text,
        at,
        ..PositionFilter::default()
    };
    let listing = queries.positions(realm, filter, page).await?;
    let body = SaldosPage {
        total_pages: pages(&listing, &page),
        total_records: listing.total,
        items: listing.items.iter().map(SaldoCliente::from).collect(),
        corte: Corte::of(&caller, at, &page).await?,
    };
    Ok(paged(&listing, json(StatusCode::OK, &body)))
}

async fn balance(caller: &Caller, target: Target) -> HandlerResult {
    let position = caller.queries().position(caller.realm(), target).await?;
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
pub(crate) async fn by_cvu(caller: Caller, path: web::Path<String>) -> HandlerResult {
    balance(&caller, by_its_cvu(&path)?).await
}

declared! {
    /// The number of the account.
    ClienteInPath = Path "idCuenta" as u64 => AccountNo: field(account);
}

/// Reads what a client has, by its wallet account.
///
/// What is available, held and in all, and when it last moved.
#[utoipa::path(
    operation_id = "walletSaldoClienteByIdCuenta",
    tag = "Wallet: treasury",
    params(ClienteInPath),
    responses((status = 200, body = SaldoCliente), Problems)
)]
#[get("/wallet/v1/SaldoClienteByIdCuenta/{idCuenta}")]
pub(crate) async fn by_account(caller: Caller, path: web::Path<String>) -> HandlerResult {
    balance(&caller, Target::Account(ClienteInPath::read(&path)?)).await
}

/// The number of a wallet account.
fn account(text: &str) -> Result<AccountNo, Mistake> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits).map(AccountNo);
    number.ok_or(Mistake::NotAnAccountNumber)
}

params! {
    /// The client whose movements are listed.
    part struct ClienteParams {
        /// the client's CVU, or idCuenta
        cvu: Option<Cvu> = read("cvu", Cvu::parse) as Option<String>;
        /// the client's wallet account, or cvu
        number: Option<AccountNo> = read("idCuenta", account) as Option<u64>;
        => |query| if cvu.is_some() && number.is_some() {
            query.mistake("idCuenta", Mistake::Beside { other: "cvu" });
        };
    }
}

/// Lists the ledger movements of a client, newest first.
///
/// Name the client by `cvu` or `idCuenta`. Each movement carries the balances after it.
#[utoipa::path(
    operation_id = "walletMovimientosCliente",
    tag = "Wallet: treasury",
    params(
        ClienteParams,
        PeriodParams,
        PageParams
    ),
    responses((status = 200, body = MovimientosPage), Problems)
)]
#[get("/wallet/v1/MovimientosCliente")]
pub(crate) async fn movements(caller: Caller, mut query: Query) -> HandlerResult {
    let client = ClienteParams::take(&mut query);
    let PeriodParams { from, to } = PeriodParams::take(&mut query);
    let page = query.page();
    query.done()?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let target = client.cvu.map(Target::Cvu);
    let target = target.or(client.number.map(Target::Account));
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
    let listing = queries.movements(realm, target, filter, sort, page).await?;
    let types = queries.voucher_types(realm).await?;
    let item = |placed| Movimiento::of(realm, placed, &types, &caller.app.calendar);
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
        PastDay
    ),
    responses((status = 200, body = SaldoClienteHistorico), Problems)
)]
#[get("/wallet/v1/SaldoClienteHistoricoByCVU/{cvu}")]
pub(crate) async fn historical(
    caller: Caller,
    path: web::Path<String>,
    mut query: Query,
) -> HandlerResult {
    let target = by_its_cvu(&path)?;
    let today = caller.now().business_day();
    let asked = PastDay::take(&mut query, today).day();
    query.done()?;
    let day =
        asked.ok_or_else(|| ApiError::field("date", Mistake::RequiredOr { other: "fecha" }))?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let view = queries.ask(realm, ReadBalanceAt(target, day.end())).await?;
    Ok(json(StatusCode::OK, &SaldoClienteHistorico::of(day, &view)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_accounts_are_digits_alone() {
        assert_eq!(account("7"), Ok(AccountNo(7)));
        for wrong in ["", "+7", "-7", "7.0", "x", "99999999999999999999"] {
            assert!(account(wrong).is_err(), "{wrong}");
        }
    }
}
