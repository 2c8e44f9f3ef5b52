//! Balances of the wallet family: of all accounts as they are, of one as it was.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get, web};
use caudal_actors::accounts::BalanceView;
use caudal_actors::engine::lists::AccountFilter;
use caudal_actors::realms::Target;
use serde::Serialize;
use utoipa::ToSchema;

use super::importe::Importe;
use super::{Pagina, campos, number};
use crate::http::caller::Caller;
use crate::http::errors::ApiError;
use crate::http::params::PaginaParams;
use crate::http::problems::Problems;
use crate::http::query::Query;
use crate::http::respond::{self, json};
use crate::http::words::Mistake;

type Answer = Result<HttpResponse, ApiError>;

/// The balance of an account (wallet balance item).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Saldo {
    /// What is available.
    pub saldo: Importe,
    /// The same as text.
    pub available_balance: String,
    /// What is held.
    pub held_balance: String,
    /// The sum of both.
    pub total_balance: String,
    /// The CVU.
    pub cvu: String,
    /// The account.
    pub id_cuenta: u64,
}

impl From<&BalanceView> for Saldo {
    fn from(view: &BalanceView) -> Self {
        Self {
            saldo: Importe::of(view.balance.available),
            available_balance: view.balance.available.to_string(),
            held_balance: view.balance.held.to_string(),
            total_balance: view.balance.total().to_string(),
            cvu: view.cvu.to_string(),
            id_cuenta: view.account.0,
        }
    }
}

/// The closing balance of a day.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct SaldoHistorico {
    /// The balance.
    #[serde(flatten)]
    pub balance: Saldo,
    /// The business day in Buenos Aires, `YYYY-MM-DD`.
    pub date: String,
}

/// Lists the balances of the accounts with a CVU, newest account first.
#[utoipa::path(
    operation_id = "listSaldosActuales",
    tag = "Wallet",
    params(PaginaParams),
    responses((status = 200, body = Pagina<Saldo>), Problems)
)]
#[get("/wallet/v1/SaldosActuales")]
pub async fn current(caller: Caller, mut query: Query) -> Answer {
    let page = query.wallet_page();
    query.done()?;
    let listing = caller
        .engine()
        .balances(caller.realm(), AccountFilter::default(), page)
        .await?;
    let items = listing.items.iter().map(Saldo::from).collect();
    let body = Pagina::of(items, listing.total, page.limit);
    Ok(respond::paged(&listing, json(StatusCode::OK, &body)))
}

/// Reads the closing balance of a day; that of today may still change.
#[utoipa::path(
    operation_id = "readSaldoHistorico",
    tag = "Wallet",
    params(
        ("idCuenta" = u64, Path, description = "the number of the account"),
        ("fecha" = Option<String>, Query, description = "YYYY-MM-DD or DD-MM-YYYY, not in the future"),
        ("date" = Option<String>, Query, description = "the same under another name")
    ),
    responses((status = 200, body = SaldoHistorico), Problems)
)]
#[get("/wallet/v1/SaldoHistoricoByIdCuenta/{idCuenta}")]
pub async fn historical(caller: Caller, path: web::Path<String>, mut query: Query) -> Answer {
    let target = Target::Account(number(&path, "idCuenta")?);
    let days = [
        query.read("fecha", campos::day),
        query.read("date", campos::day),
    ];
    let [fecha, date] = days;
    if let (Some(one), Some(other)) = (fecha, date)
        && one != other
    {
        query.mistake("date", Mistake::Contradicts { other: "fecha" });
    }
    let day = fecha.or(date);
    if day.is_some_and(|day| day > caller.engine().now().business_day()) {
        query.mistake("fecha", Mistake::InTheFuture);
    }
    query.done()?;
    let Some(day) = day else {
        return Err(ApiError::field(
            "fecha",
            Mistake::RequiredOr { other: "date" },
        ));
    };
    let view = caller
        .engine()
        .balance_at(caller.realm(), target, day.end())
        .await?;
    let body = SaldoHistorico {
        balance: Saldo::from(&view),
        date: day.to_string(),
    };
    Ok(json(StatusCode::OK, &body))
}
