//! Vouchers of the wallet family by filters: of the whole realm, or of one account.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, get};
use caudal_actors::engine::lists::{ListPage, Numbered, SortOrder, VoucherFilter, VoucherSort};
use caudal_actors::realms::Target;
use caudal_http::bodies::words::SentidoWord;
use caudal_http::caller::Caller;
use caudal_http::errors::ApiError;
use caudal_http::params::PaginaParams;
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::{json, paged};
use caudal_http::shapes::DayOrInstant;
use caudal_http::words::Mistake;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::voucher_types::TypeCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::{ComprobanteBody, comprobante};
use crate::wallet::tesoreria::queries;
use crate::wallet::{Pagina, campos};

type Answer = Result<HttpResponse, ApiError>;

/// A page of vouchers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct Comprobantes {
    /// The page.
    #[serde(flatten)]
    pub page: Pagina<ComprobanteBody>,
    /// The same as `items`, under the name that some clients know.
    pub comprobantes: Vec<ComprobanteBody>,
}

/// The parameters of a query, before the type is looked up.
struct Asked {
    account: Option<AccountNo>,
    type_number: Option<u64>,
    filter: VoucherFilter,
}

/// 1 for vouchers that add, -1 for those that take.
const SIGNS: [(&str, bool); 2] = [("1", true), ("-1", false)];
const FLAGS: [(&str, bool); 2] = [("true", true), ("false", false)];

fn asked(query: &mut Query) -> (Asked, ListPage) {
    let (from, to) = query.period_of("fechaDesde", "fechaHasta", queries::day);
    let number = query.read("idTipoComprobante", campos::number);
    let code = query.read("codigo", TypeCode::parse);
    if number.is_some() && code.is_some() {
        let other = "idTipoComprobante";
        query.mistake("codigo", Mistake::Together { other });
    }
    let external_date = query.read("fechaExterna", campos::day);
    // No voucher has related ones here, so both values give the same answer.
    query.choice("sinRelacionados", &FLAGS);
    let descending = query.choice("orderByDesc", &FLAGS);
    let asked = Asked {
        account: query.read("idCuenta", campos::number).map(AccountNo),
        type_number: number,
        filter: VoucherFilter {
            from,
            to,
            type_code: code,
            adds: query.choice("signo", &SIGNS),
            external_date: external_date.map(BusinessDay::date),
            ..VoucherFilter::default()
        },
    };
    let mut page = query.wallet_page();
    match descending {
        Some(true) => page.order = SortOrder::Descending,
        Some(false) => page.order = SortOrder::Ascending,
        None => {}
    }
    (asked, page)
}

/// Lists the vouchers of the realm, or of one account, newest first.
///
/// Filter by account, type, sign and dates; go on by page or with `X-Next-Cursor` as `cursor`. One request looks at so
/// many vouchers at most: of a long list a page may be short, `X-Total-Count` is then absent, and the next page is
/// found by `cursor`, or by narrower dates.
#[utoipa::path(
    operation_id = "listComprobantesByFilters",
    tag = "Wallet",
    params(
        PaginaParams,
        ("fechaDesde" = Option<DayOrInstant>, Query, description = "a date or date-time; not before it"),
        ("fechaHasta" = Option<DayOrInstant>, Query, description = "a date (the whole day) or date-time; not after it"),
        ("idCuenta" = Option<u64>, Query, description = "only of this account"),
        ("idTipoComprobante" = Option<u64>, Query, description = "only posted with the type of this number, also when it was removed"),
        ("codigo" = Option<String>, Query, description = "only of types of this code: a code that is used again names several"),
        ("signo" = Option<SentidoWord>, Query, description = "1: only what adds to what is available; -1: only what takes from it"),
        ("fechaExterna" = Option<String>, Query, description = "only with this date of the tenant's own"),
        ("orderByDesc" = Option<bool>, Query, description = "newest first (when absent), or oldest first"),
        ("sinRelacionados" = Option<bool>, Query, description = "read, and of no effect: no voucher has related ones")
    ),
    responses((status = 200, body = Comprobantes), Problems)
)]
#[get("/wallet/v1/ComprobantesByFilters")]
pub(crate) async fn list(caller: Caller, mut query: Query) -> Answer {
    let (asked, page) = asked(&mut query);
    query.done()?;
    let (engine, realm) = (caller.engine(), caller.realm());
    let types = engine.voucher_types(realm).await?;
    let mut filter = asked.filter;
    if let Some(number) = asked.type_number {
        let unknown = || ApiError::field("idTipoComprobante", Mistake::NoType);
        let known = types.has_had(number).then(|| types.clone());
        let types = known.ok_or_else(unknown)?;
        filter.type_number = Some(Numbered { number, types });
    }
    let listing = match asked.account {
        Some(account) => {
            let (target, sort) = (Target::Account(account), VoucherSort::CreatedAt);
            engine.movements(realm, target, filter, sort, page).await?
        }
        None => engine.vouchers(realm, filter, page).await?,
    };
    let items = listing.items.iter();
    let items: Vec<_> = items
        .map(|placed| comprobante(realm, placed, &types))
        .collect();
    let body = Comprobantes {
        comprobantes: items.clone(),
        page: Pagina::of(items, &listing, &page),
    };
    Ok(paged(&listing, json(StatusCode::OK, &body)))
}
