//! Vouchers of the wallet family by filters: of the whole realm, or of one account.

use super::{ComprobanteBody, comprobante};
use crate::wallet::{Pagina, campos};
use actix_web::get;
use actix_web::http::StatusCode;
use caudal_actors::engine::lists::{Numbered, SortOrder, VoucherFilter, VoucherSort};
use caudal_actors::realms::Target;
use caudal_http::bodies::words::SentidoWord;
use caudal_http::caller::Caller;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{PaginaParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::respond::{json, paged};
use caudal_http::shapes::DayOrInstant;
use caudal_http::words::Mistake;
use caudal_ledger::ids::AccountNo;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;
use serde::Serialize;
use utoipa::ToSchema;

/// A page of vouchers.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub(crate) struct Comprobantes {
    /// The page.
    #[serde(flatten)]
    pub page: Pagina<ComprobanteBody>,
    /// The same as `items`, under the name that some clients know.
    pub comprobantes: Vec<ComprobanteBody>,
}

/// 1 for vouchers that add, -1 for those that take.
const SIGNS: [(&str, bool); 2] = [("1", true), ("-1", false)];
const FLAGS: [(&str, bool); 2] = [("true", true), ("false", false)];

params! {
    /// Which vouchers.
    part pub struct FiltroParams {
        /// a date or date-time; not before it
        desde: Option<Timestamp> = since("fechaDesde") as Option<DayOrInstant>;
        /// a date (the whole day) or date-time; not after it
        hasta: Option<Timestamp> = until("fechaHasta") as Option<DayOrInstant>;
        => |query| query.in_order("fechaDesde", desde, "fechaHasta", hasta);
        /// only of this account
        account: Option<u64> = read("idCuenta", campos::number) as Option<u64>;
        /// only posted with the type of this number, also when it was removed
        number: Option<u64> = read("idTipoComprobante", campos::number) as Option<u64>;
        /// only of types of this code: a code that is used again names several
        code: Option<TypeCode> = read("codigo", TypeCode::parse) as Option<String>;
        => |query| if number.is_some() && code.is_some() {
            let other = "idTipoComprobante";
            query.mistake("codigo", Mistake::Together { other });
        };
        /// 1: only what adds to what is available; -1: only what takes from it
        adds: Option<bool> = choice("signo", &SIGNS) as Option<SentidoWord>;
        /// only with this date of the tenant's own
        external_date: Option<BusinessDay> = read("fechaExterna", campos::day)
            as Option<String> { format = Date };
        /// newest first (when absent), or oldest first
        descending: Option<bool> = choice("orderByDesc", &FLAGS) as Option<bool>;
        /// read, and of no effect: no voucher has related ones
        unrelated: Option<bool> = choice("sinRelacionados", &FLAGS) as Option<bool>;
    }
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
        FiltroParams
    ),
    responses((status = 200, body = Comprobantes), Problems)
)]
#[get("/wallet/v1/ComprobantesByFilters")]
pub(crate) async fn list(caller: Caller, mut query: Query) -> HandlerResult {
    let sent = FiltroParams::take(&mut query);
    let mut page = query.wallet_page();
    query.done()?;
    match sent.descending {
        Some(true) => page.order = SortOrder::Descending,
        Some(false) => page.order = SortOrder::Ascending,
        None => {}
    }
    let mut filter = VoucherFilter {
        from: sent.desde,
        to: sent.hasta,
        type_code: sent.code,
        adds: sent.adds,
        external_date: sent.external_date.map(BusinessDay::date),
        ..VoucherFilter::default()
    };
    let (queries, realm) = (caller.queries(), caller.realm());
    let types = queries.voucher_types(realm).await?;
    if let Some(number) = sent.number {
        let unknown = || ApiError::field("idTipoComprobante", Mistake::NoType);
        let known = types.has_had(number).then(|| types.clone());
        let types = known.ok_or_else(unknown)?;
        filter.type_number = Some(Numbered { number, types });
    }
    let listing = match sent.account.map(AccountNo) {
        Some(account) => {
            let (target, sort) = (Target::Account(account), VoucherSort::CreatedAt);
            queries.movements(realm, target, filter, sort, page).await?
        }
        None => queries.vouchers(realm, filter, page).await?,
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
