//! Vouchers of the native family: adjustments, movements, the realm's list.

use std::collections::BTreeMap;

use actix_web::http::StatusCode;
use actix_web::{get, post, web};
use caudal_actors::accounts::AccountVoucher;
use caudal_actors::engine::Queries;
use caudal_actors::engine::find::VoucherIds;
use caudal_actors::engine::lists::{ListPage, Listing, VoucherFilter, VoucherSort};
use caudal_actors::failure::Failure;
use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_http::bodies::metadata::Metadata;
use caudal_http::bodies::vouchers::{Movement, VoucherBody, voucher, whole};
use caudal_http::bodies::words::{ReferenceTypeWord, SenseWord, VoucherSortWord};
use caudal_http::body::read::{amount, boolean, line, text};
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::HandlerResult;
use caudal_http::params::{DryRun, PageParams, PeriodParams, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::request::request;
use caudal_http::respond::{self, ApiCall, json as whole_json};
use caudal_http::rows::ListCall;
use caudal_http::shapes::{AmountDto, DayOrInstant};
use caudal_http::sheets::columns::VOUCHERS;
use caudal_http::words::Mistake;
use caudal_ledger::balance::Direction;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::VoucherId;
use caudal_ledger::money::Amount;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::text::ExternalId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::voucher_types::TypeCode;
use caudal_ledger::vouchers::{ReferenceType, VoucherDetails};

use super::metadata::METADATA;
use super::pages::{PageOf, page};
use super::target;

/// The longest description, in characters.
pub(super) const DESCRIPTION_MAX: usize = 200;

page! {
    /// A page of vouchers over all CVUs.
    pub(crate) VouchersPage as VouchersPage {
        /// The vouchers.
        VoucherBody
    }
}

const SORTS: [(&str, VoucherSort); 2] = [
    ("createdAt", VoucherSort::CreatedAt),
    ("amount", VoucherSort::Amount),
];

/// A filter for the vouchers of one direction, or of one type.
type KindFilter = (Option<Direction>, Option<TypeCode>);

/// Reads a direction or the code of a type.
fn kind(text: &str) -> Result<KindFilter, Mistake> {
    match text.parse::<Direction>() {
        Ok(direction) => Ok((Some(direction), None)),
        Err(()) => TypeCode::parse(text)
            .map(|code| (None, Some(code)))
            .map_err(|_| Mistake::NotAVoucherKind),
    }
}

params! {
    /// Filters of an account's history.
    part pub struct MovementParams {
        /// A direction or the code of a voucher type.
        kind: Option<KindFilter> = read("type", kind) as Option<String>;
        /// Only vouchers that belong to one of these.
        reference_type: Option<ReferenceType> =
            choice("referenceType", &ReferenceType::ALL.map(|kind| (kind.as_str(), kind)))
            as Option<ReferenceTypeWord>;
        /// In id, idExterno, description or referenceId, or in name, CUIT, CBU or alias of the
        /// counterparty.
        q: Option<String> = text("q") as Option<String>;
        /// Only with this CUIT on the other side. Like every filter but the dates it looks at each
        /// movement of the period, so many on one page at most: `X-Looked-Rows` says where that was not all.
        counterparty_cuit: Option<Cuit> = read("counterpartyCuit", Cuit::parse_relaxed)
            as Option<String> { pattern = "^[0-9]{11}$" };
        /// `createdAt` (when absent) or `amount`.
        sort: Option<VoucherSort> = choice("sort", &SORTS) as Option<VoucherSortWord>;
    }
}

/// Answers with the movements of an account that a query asks for.
pub(super) async fn history(mut call: ListCall, path: &web::Path<String>) -> HandlerResult {
    let (realm, target) = (call.caller.realm(), target(path)?);
    let sent = MovementParams::take(&mut call.query);
    let period = PeriodParams::take(&mut call.query);
    let (direction, type_code) = sent.kind.unwrap_or_default();
    let filter = VoucherFilter {
        direction,
        type_code,
        reference_type: sent.reference_type,
        from: period.from,
        to: period.to,
        text: sent.q,
        counterparty: sent.counterparty_cuit,
        ..VoucherFilter::default()
    };
    let sort = sent.sort.unwrap_or_default();
    let fetch = async move |queries: Queries<'_>, page| {
        let filter = filter.clone();
        queries.movements(realm, target, filter, sort, page).await
    };
    let show = move |placed: &AccountVoucher| voucher(realm, placed);
    let paged = |listing: &_, _: &_, show: &_| respond::array(listing, show);
    call.answer(VOUCHERS, fetch, |it| Some(it.account), show, paged)
        .await
}

/// Lists the vouchers of an account, newest first.
///
/// Each voucher carries the balances after it. Filter by type, reference, period and text; go on with
/// `X-Next-Cursor` as `cursor` until it is absent: a filtered page of a long history may be short or empty, and
/// `X-Looked-Rows` and `X-Looked-Until` then say how far it has looked.
#[utoipa::path(
    operation_id = "listComprobantes",
    tag = "Vouchers",
    params(declared::CvuInPath, PageParams, PeriodParams, MovementParams),
    responses((status = 200, content((Vec<VoucherBody> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/accounts/{cvu}/comprobantes")]
pub(crate) async fn list(call: ListCall, path: web::Path<String>) -> HandlerResult {
    history(call, &path).await
}

/// Lists the ledger movements of an account, newest first.
///
/// The same list as the vouchers of the account: each movement is one voucher, with the same fields.
#[utoipa::path(
    operation_id = "listMovements",
    tag = "Vouchers",
    params(declared::CvuInPath, PageParams, PeriodParams, MovementParams),
    responses((status = 200, content((Vec<Movement> = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/accounts/{cvu}/movements")]
pub(crate) async fn movements(call: ListCall, path: web::Path<String>) -> HandlerResult {
    history(call, &path).await
}

request! {
    /// An adjustment voucher.
    strict struct CreateComprobante as CreateComprobanteDto {
        /// A custom type of the tenant.
        voucher_type_code: TypeCode =
            required("voucherTypeCode", text(TypeCode::parse))
                as String { pattern = "^[A-Za-z0-9_-]{2,40}$" };
        /// ARS, greater than 0, at most 2 decimals, as text; a number is read exactly, too.
        amount: Amount = required("amount", amount) as AmountDto;
        /// The tenant's own id: with the direction of the type, idempotent over the realm.
        id_externo: ExternalId = required("idExterno", text(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// A line for people.
        description: Option<String> = unless_blank("description", line(DESCRIPTION_MAX))
            as Option<String> { max_length = 200 };
        /// The id of a voucher that this one belongs to, for instance the purchase of a refund. It is kept and shown, and
        /// changes nothing else: to give a voucher back, reverse it.
        relates_to: Option<VoucherId> = optional("relatesTo", text(voucher_id)) as Option<String>;
        /// The tenant's own data: at most 20 texts with names of at most 40 characters.
        metadata: Option<BTreeMap<String, String>> = optional("metadata", |raw| METADATA.read(raw))
            as Option<Metadata>;
    }
}

/// Reads the id of a voucher.
pub(crate) fn voucher_id(text: &str) -> Result<VoucherId, Mistake> {
    VoucherId::parse(text).ok_or(Mistake::NotAVoucherId)
}

/// What only some vouchers have.
pub(super) fn details(
    relates_to: Option<VoucherId>,
    metadata: Option<BTreeMap<String, String>>,
) -> Option<Box<VoucherDetails>> {
    VoucherDetails {
        relates_to: relates_to.map(|id| id.to_string()),
        metadata: metadata.into_iter().flatten().collect(),
        ..VoucherDetails::default()
    }
    .if_any()
}

/// Posts an adjustment voucher of a custom type.
///
/// Idempotent by `idExterno` and the direction of the type: the same again answers the first voucher with 201
/// and `Idempotent-Replayed`, other data under the same id are refused with 409. Emits `voucher.created`.
#[utoipa::path(
    operation_id = "createComprobante",
    tag = "Vouchers",
    params(
        declared::CvuInPath,
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = CreateComprobante),
    responses((status = 201, body = VoucherBody), (status = 200, body = VoucherBody, description = "a dry run"), Problems)
)]
#[post("/v1/accounts/{cvu}/comprobantes")]
pub(crate) async fn post(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let realm = call.caller.realm();
    let target = target(&path)?;
    let render = move |placed: &AccountVoucher| voucher(realm, placed);
    let (dry_run, requester, answer) = call.making(render)?;
    let sent = CreateComprobante::read(call.take_body())?;
    let order = Adjustment {
        target,
        voucher_type: TypeRef::Code(sent.voucher_type_code),
        amount: Some(sent.amount),
        external_id: sent.id_externo,
        description: sent.description,
        external_date: None,
        details: details(sent.relates_to, sent.metadata),
        dry_run,
    };
    answer.give_made(call.caller.ledger().order(realm, order, requester).await)
}

request! {
    /// The reversal of a voucher.
    strict struct ReverseComprobante as ReverseComprobanteDto {
        /// How much of it, as text; all that is left when absent.
        amount: Option<Amount> = optional("amount", amount) as Option<AmountDto>;
        /// The tenant's own id of the reversal: with its direction, idempotent over the realm.
        id_externo: ExternalId = required("idExterno", text(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// A line for people.
        description: Option<String> = unless_blank("description", line(DESCRIPTION_MAX))
            as Option<String> { max_length = 200 };
        /// Whether its fee and tax are given back in proportion; not when absent.
        refund_fees: Option<bool> = optional("refundFees", boolean) as Option<bool>;
        /// The tenant's own data: at most 20 texts with names of at most 40 characters.
        metadata: Option<BTreeMap<String, String>> = optional("metadata", |raw| METADATA.read(raw))
            as Option<Metadata>;
    }
}

/// Reverses a voucher, in whole or in part: an adjustment or the confirmation of a hold.
///
/// A voucher of the same type in the opposite direction, with `reverses`. All reversals of a voucher together are at most its
/// amount, else 400 `reversal_exceeds` with the figures. With `refundFees` its fee and tax come back in proportion, by
/// vouchers of their own; the last centavo goes to the larger remainder. The account has to be in a state that allows an
/// adjustment in this direction, and a credit where fees are refunded. A reversal has no fee, and cannot be reversed.
/// Emits `voucher.created`.
#[utoipa::path(
    operation_id = "reverseComprobante",
    tag = "Vouchers",
    params(
        declared::VoucherInPath,
        declared::IdempotencyKey,
        DryRun
    ),
    request_body(content = ReverseComprobante),
    responses((status = 201, body = VoucherBody), (status = 200, body = VoucherBody, description = "a dry run"), Problems)
)]
#[post("/v1/comprobantes/{id}/reverse")]
pub(crate) async fn reverse(mut call: ApiCall, path: web::Path<String>) -> HandlerResult {
    let realm = call.caller.realm();
    let id = declared::VoucherInPath::read(&path)?;
    let render = move |placed: &AccountVoucher| voucher(realm, placed);
    let (dry_run, requester, answer) = call.making(render)?;
    let sent = ReverseComprobante::read(call.take_body())?;
    let order = Adjustment {
        target: Target::Account(id.account),
        voucher_type: TypeRef::Reverses {
            id,
            refund_fees: sent.refund_fees.unwrap_or(false),
        },
        amount: sent.amount,
        external_id: sent.id_externo,
        description: sent.description,
        external_date: None,
        details: details(None, sent.metadata),
        dry_run,
    };
    answer.give_made(call.caller.ledger().order(realm, order, requester).await)
}

params! {
    /// Filters of the vouchers over all CVUs.
    part struct InternalParams {
        /// a date or date-time; not before it
        desde: Option<Timestamp> = since("desde") as Option<DayOrInstant>;
        /// a date (the whole day) or date-time; not after it
        hasta: Option<Timestamp> = until("hasta") as Option<DayOrInstant>;
        => |query| query.in_order("desde", desde, "hasta", hasta);
        /// only of this CVU
        cvu: Option<Cvu> = read("cvu", Cvu::parse) as Option<String>;
        /// a direction or the code of a voucher type
        tipo: Option<KindFilter> = read("tipo", kind) as Option<String>;
        /// at least this amount
        importe_min: Option<i64> = centavos("importeMin") as Option<String>;
        /// at most this amount
        importe_max: Option<i64> = centavos("importeMax") as Option<String>;
        => |query| query.amounts_in_order("importeMin", importe_min, "importeMax", importe_max);
        /// only with this CUIT on the other side; every voucher that the other filters leave is looked at, so
        /// many on one page at most: `looked` says where that was not all
        counterparty_cuit: Option<Cuit> = read("counterpartyCuit", Cuit::parse_relaxed)
            as Option<String> { pattern = "^[0-9]{11}$" };
        /// `createdAt` (when absent) or `amount`.
        sort: Option<VoucherSort> = choice("sort", &SORTS) as Option<VoucherSortWord>;
    }
}

/// Lists adjustments and internal transfers over all CVUs, newest first.
///
/// What tenants post themselves (adjustments) and both sides of transfers between their accounts; money from
/// and to other entities is not among them.
#[utoipa::path(
    operation_id = "listInternalComprobantes",
    tag = "Vouchers",
    params(
        PageParams,
        InternalParams
    ),
    responses((status = 200, content((VouchersPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/comprobantes/internal")]
pub(crate) async fn internal(mut call: ListCall) -> HandlerResult {
    let sent = InternalParams::take(&mut call.query);
    let (direction, type_code) = sent.tipo.unwrap_or_default();
    let filter = VoucherFilter {
        direction,
        type_code,
        from: sent.desde,
        to: sent.hasta,
        min: sent.importe_min,
        max: sent.importe_max,
        counterparty: sent.counterparty_cuit,
        internal: true,
        ..VoucherFilter::default()
    };
    let (cvu, sort) = (sent.cvu, sent.sort.unwrap_or_default());
    let realm = call.caller.realm();
    let fetch = async move |queries: Queries<'_>, page| {
        let filter = filter.clone();
        let Some(cvu) = cvu else {
            return queries.internal(realm, filter, sort, page).await;
        };
        let target = Target::Cvu(cvu);
        match queries.movements(realm, target, filter, sort, page).await {
            // The CVU of another realm has no vouchers here, like one that does not exist.
            Err(Failure::Rejected(Rejection::AccountNotFound)) => Ok(Listing::default()),
            found => found,
        }
    };
    given(call, fetch).await
}

params! {
    /// Filters of the vouchers of the realm.
    part struct RealmVoucherParams {
        /// A direction or the code of a voucher type.
        kind: Option<KindFilter> = read("type", kind) as Option<String>;
        /// Only vouchers that belong to one of these.
        reference_type: Option<ReferenceType> =
            choice("referenceType", &ReferenceType::ALL.map(|kind| (kind.as_str(), kind)))
            as Option<ReferenceTypeWord>;
        /// Only those posted with the tenant's own id, and those of the CVU that sends of the transfer that has it; like
        /// `coelsaId`, it is found without looking at any other voucher.
        id_externo: Option<ExternalId> = read("idExterno", ExternalId::parse)
            as Option<String> { min_length = 1, max_length = 64 };
        /// Only those of money that arrived, left or came back under this id on the rail.
        coelsa_id: Option<String> = text("coelsaId") as Option<String>;
    }
}

/// Lists the vouchers of all CVUs, newest first.
///
/// A filter by type or reference looks at each voucher of the period, so many on one page at most: `looked` says where
/// that was not all.
#[utoipa::path(
    operation_id = "listRealmComprobantes",
    tag = "Vouchers",
    params(PageParams, PeriodParams, RealmVoucherParams),
    responses((status = 200, content((VouchersPage = "application/json"), (String = "text/csv"), (String = "application/x-ndjson"), (String = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), Problems)
)]
#[get("/v1/comprobantes")]
pub(crate) async fn of_realm(mut call: ListCall) -> HandlerResult {
    let sent = RealmVoucherParams::take(&mut call.query);
    let period = PeriodParams::take(&mut call.query);
    let (direction, type_code) = sent.kind.unwrap_or((None, None));
    let filter = VoucherFilter {
        direction,
        type_code,
        reference_type: sent.reference_type,
        from: period.from,
        to: period.to,
        ..VoucherFilter::default()
    };
    let ids = VoucherIds {
        external: sent.id_externo,
        coelsa: sent.coelsa_id,
    };
    let realm = call.caller.realm();
    let fetch = async move |queries: Queries<'_>, page| {
        let (filter, ids) = (filter.clone(), ids.clone());
        if ids == VoucherIds::default() {
            return queries.vouchers(realm, filter, page).await;
        }
        queries.vouchers_named(realm, ids, filter, page).await
    };
    given(call, fetch).await
}

/// Answers with vouchers of the realm.
async fn given(
    call: ListCall,
    fetch: impl AsyncFn(Queries<'_>, ListPage) -> Result<Listing<AccountVoucher>, Failure> + 'static,
) -> HandlerResult {
    let realm = call.caller.realm();
    let show = move |placed: &AccountVoucher| voucher(realm, placed);
    let account = |placed: &AccountVoucher| Some(placed.account);
    call.answer(VOUCHERS, fetch, account, show, PageOf::answer)
        .await
}

/// Shows one voucher, with what of it is reversed.
async fn shown_whole(caller: &Caller, placed: &AccountVoucher) -> HandlerResult {
    let realm = caller.realm();
    let reversed = caller.queries().reversed(realm, placed).await?;
    Ok(whole_json(StatusCode::OK, &whole(realm, placed, reversed)))
}

const DIRECTIONS: [(&str, Direction); 2] =
    [("credit", Direction::Credit), ("debit", Direction::Debit)];

params! {
    /// Which voucher of an external id.
    struct DirectionParams {
        /// only of this direction
        direction: Option<Direction> = choice("direction", &DIRECTIONS) as Option<SenseWord>;
    }
}

/// Reads the adjustment that holds an external id; of both directions the newest.
///
/// Name the `direction` where an id is used for a credit and a debit. Ids of transfers and holds are not
/// looked for.
#[utoipa::path(
    operation_id = "readComprobanteByExternal",
    tag = "Vouchers",
    params(
        declared::IdExternoInPath,
        DirectionParams
    ),
    responses((status = 200, body = VoucherBody), Problems)
)]
#[get("/v1/comprobantes/by-external/{idExterno}")]
pub(crate) async fn by_external(
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> HandlerResult {
    let DirectionParams { direction } = DirectionParams::read(query)?;
    let id = declared::IdExternoInPath::read(&path)?;
    let placed = caller
        .queries()
        .voucher_by_external(caller.realm(), &id, direction)
        .await?;
    shown_whole(&caller, &placed).await
}

/// Reads a voucher by its id.
///
/// Any voucher of the realm, whatever it belongs to.
#[utoipa::path(
    operation_id = "readComprobante",
    tag = "Vouchers",
    params(declared::VoucherInPath),
    responses((status = 200, body = VoucherBody), Problems)
)]
#[get("/v1/comprobantes/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let id = declared::VoucherInPath::read(&path)?;
    let placed = caller.queries().voucher(caller.realm(), id).await?;
    shown_whole(&caller, &placed).await
}
