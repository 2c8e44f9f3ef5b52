//! Vouchers of the wallet family: adjustments of an account, and the one that has an external id.

pub(crate) mod filtros;

use actix_web::http::StatusCode;
use actix_web::{get, post, web};
use caudal_actors::accounts::AccountVoucher;
use caudal_actors::realms::{Adjustment, Target, TypeRef};
use caudal_http::bodies::body;
use caudal_http::bodies::counterparty::Contraparte;
use caudal_http::bodies::nombres;
use caudal_http::bodies::texts::{Instant, Pesos};
use caudal_http::bodies::words::{SentidoWord, SignoWord};
use caudal_http::body::{Fields, read as read_body};
use caudal_http::caller::Caller;
use caudal_http::declared;
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::params::{DryRun, params};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::request::request;
use caudal_http::respond::{ApiCall, json};
use caudal_http::shapes::AmountDto;
use caudal_http::words::Mistake;
use caudal_ledger::balance::Direction;
use caudal_ledger::ids::{AccountNo, RealmId, VoucherId};
use caudal_ledger::money::Amount;
use caudal_ledger::text::ExternalId;
use caudal_ledger::voucher_types::{TypeCode, VoucherTypes};
use caudal_ledger::vouchers::{ExternalDate, Voucher};

use super::campos;
use super::campos::FechaExterna;
use super::importe::Importe;
use crate::v1::vouchers::voucher_id;

/// The longest reference, in characters.
const REFERENCIA_MAX: usize = 50;
/// The mistake of a voucher without a type.
const UNNAMED: Mistake = Mistake::RequiredOr { other: "codigo" };

body! {
    /// A voucher that was posted, with what the account has after it.
    pub(crate) struct ComprobanteCreado by posted(realm: RealmId, placed: &AccountVoucher) {
        => let after = placed.voucher.after;
        /// Its id.
        id: String = id(realm, placed);
        /// What is available.
        saldo: Importe = Importe::of(after.available);
        /// The same as text.
        available_balance: Pesos = after.available.into();
        /// What is held.
        held_balance: Pesos = after.held.into();
        /// The sum of both.
        total_balance: Pesos = after.total().into();
    }
}

body! {
    /// A voucher (wallet voucher shape).
    pub(crate) struct ComprobanteBody
        by comprobante(realm: RealmId, placed: &AccountVoucher, types: &VoucherTypes)
    {
        => let voucher: &Voucher = &placed.voucher;
        /// Its id.
        id_comprobante: String = id(realm, placed);
        /// The name of its type at that time.
        descripcion_tipo_comprobante: String
            = nombres::of_type(&voucher.type_code, &voucher.type_name);
        /// When it was posted.
        fecha: Instant = voucher.at.into();
        /// How much.
        importe: Importe = Importe::of(voucher.amount.money());
        /// `1` or `-1`.
        sentido: &'static str as SentidoWord = sentido(voucher.direction);
        /// The same as a number.
        signo: i8 as SignoWord = signo(voucher.direction);
        /// What was available after it.
        saldo: Importe = Importe::of(voucher.after.available);
        /// The tenant's own id.
        id_externo: String = voucher
            .external_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        /// The CVU that it moved.
        cvu: String = voucher.cvu.to_string();
        /// The number of the type that it was posted with; below 1000 for types of the system.
        id_tipo_comprobante: Option<u64> = types.number_of(voucher);
        /// The code of its type.
        codigo: String = voucher.type_code.to_string();
        /// The account.
        id_cuenta: u64 = placed.account.0;
        /// The tenant's own words.
        referencia: Option<String> = voucher.description.clone();
        /// The tenant's own date, as it was sent.
        fecha_externa: Option<String> as Option<FechaExterna> = voucher.external_date_as_sent();
        /// The other side; null for adjustments.
        contraparte: Option<Contraparte> = voucher.other_side().map(Contraparte::from);
        /// The id of the voucher that it reverses; absent where it reverses none.
        id_comprobante_revertido?: Option<String> = voucher
            .reverses(realm, placed.account)
            .map(|id| id.to_string());
    }
}

fn id(realm: RealmId, placed: &AccountVoucher) -> String {
    placed.voucher.id(realm, placed.account).to_string()
}

/// The sign of a direction: `1` where money comes in for the client, `-1` where it goes out.
pub(crate) const fn sentido(direction: Direction) -> &'static str {
    if direction.adds() { "1" } else { "-1" }
}

/// Like [`sentido`], as a number.
pub(crate) const fn signo(direction: Direction) -> i8 {
    if direction.adds() { 1 } else { -1 }
}

/// Posts an adjustment voucher of a custom type to an account.
///
/// Name the type by `idTipoComprobante` or `codigo`. Idempotent by `idExterno` and the direction of the type:
/// the same again gives the first answer.
#[utoipa::path(
    operation_id = "createWalletComprobante",
    tag = "Wallet",
    params(declared::IdempotencyKey, DryRun),
    request_body(content = CreateWalletComprobante),
    responses((status = 201, body = ComprobanteCreado), (status = 200, body = ComprobanteCreado, description = "a dry run"), Problems)
)]
#[post("/wallet/v1/Comprobante")]
pub(crate) async fn post(mut call: ApiCall) -> HandlerResult {
    let realm = call.caller.realm();
    let render = move |placed: &AccountVoucher| posted(realm, placed);
    let (dry_run, requester, answer) = call.making(render)?;
    let sent = CreateWalletComprobante::read(call.take_body())?;
    let order = adjustment(sent, &call.caller, dry_run).await?;
    let answered = call.caller.ledger().order(realm, order, requester).await;
    answer.give_made(campos::as_sent(answered))
}

request! {
    /// An adjustment voucher; its type by number or by code.
    lenient struct CreateWalletComprobante as CreateWalletComprobanteDto {
        /// The account.
        id_cuenta: u64 = required("idCuenta", campos::number) as u64;
        /// ARS, greater than 0, at most 2 decimals, as text; a number is read exactly, too.
        importe: Amount = required("importe", read_body::amount) as AmountDto;
        => |fields| name_the_type(fields);
        /// The number of a custom type.
        id_tipo_comprobante: Option<u64> =
            optional("idTipoComprobante", campos::number) as Option<u64>;
        /// The code of a custom type.
        codigo: Option<TypeCode> =
            optional("codigo", campos::code_as(TypeCode::parse))
                as Option<String> { pattern = "^[A-Za-z0-9_-]{2,40}$" };
        /// The tenant's own id: with the direction of the type, idempotent over the realm.
        id_externo: ExternalId = required("idExterno", campos::code_as(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// The tenant's own words.
        referencia: Option<String> = optional("referencia", campos::code(REFERENCIA_MAX))
            as Option<String> { max_length = 50 };
        /// The tenant's own date, `YYYY-MM-DD` or `DD-MM-YYYY`, also with a time: shown as it is sent here.
        fecha_externa: Option<ExternalDate> =
            optional("fechaExterna", read_body::text(campos::external_date))
            as Option<FechaExterna>;
    }
}

fn name_the_type(fields: &mut Fields) {
    if !fields.has("idTipoComprobante") && !fields.has("codigo") {
        fields.mistake("idTipoComprobante", UNNAMED);
    }
}

async fn adjustment(
    sent: CreateWalletComprobante,
    caller: &Caller,
    dry_run: bool,
) -> Result<Adjustment, ApiError> {
    let voucher_type = match (sent.id_tipo_comprobante, sent.codigo) {
        (Some(id), Some(code)) => both(caller, id, code).await?,
        (Some(id), None) => TypeRef::Legacy(id),
        (None, Some(code)) => TypeRef::Code(code),
        (None, None) => return Err(ApiError::field("idTipoComprobante", UNNAMED)),
    };
    Ok(Adjustment {
        target: Target::Account(AccountNo(sent.id_cuenta)),
        voucher_type,
        amount: Some(sent.importe),
        external_id: sent.id_externo,
        description: sent.referencia,
        external_date: sent.fecha_externa,
        details: None,
        dry_run,
    })
}

/// Reads a type that is named by number and by code: both have to name the same one.
async fn both(caller: &Caller, id: u64, code: TypeCode) -> Result<TypeRef, ApiError> {
    let types = caller.queries().voucher_types(caller.realm()).await?;
    let known = types.find_legacy(id).map(|it| it.code);
    match known.or_else(|| types.removed_code(id).cloned()) {
        Some(known) if known == code => Ok(TypeRef::Legacy(id)),
        Some(_) => {
            let other = "idTipoComprobante";
            Err(ApiError::field("codigo", Mistake::Contradicts { other }))
        }
        None => Ok(TypeRef::Code(code)),
    }
}

request! {
    /// The reversal of a voucher.
    lenient struct ReverseWalletComprobante as ReverseWalletComprobanteDto {
        /// The voucher: an adjustment or the confirmation of a hold.
        id_comprobante: VoucherId = required("idComprobante", read_body::text(voucher_id))
            as String;
        /// How much of it, as text; all that is left when absent.
        importe: Option<Amount> = optional("importe", read_body::amount) as Option<AmountDto>;
        /// The tenant's own id of the reversal: with its direction, idempotent over the realm.
        id_externo: ExternalId = required("idExterno", campos::code_as(ExternalId::parse))
            as String { min_length = 1, max_length = 64 };
        /// The tenant's own words.
        referencia: Option<String> = optional("referencia", campos::code(REFERENCIA_MAX))
            as Option<String> { max_length = 50 };
        /// Whether its fee and tax are given back in proportion; not when absent.
        reintegra_comisiones: Option<bool> =
            optional("reintegraComisiones", read_body::boolean) as Option<bool>;
    }
}

/// Reverses a voucher, in whole or in part.
///
/// A voucher of the same type in the opposite direction, with `idComprobanteRevertido`. All reversals of a voucher together
/// are at most its amount.
#[utoipa::path(
    operation_id = "reverseWalletComprobante",
    tag = "Wallet",
    params(declared::IdempotencyKey, DryRun),
    request_body(content = ReverseWalletComprobante),
    responses((status = 201, body = ComprobanteCreado), (status = 200, body = ComprobanteCreado, description = "a dry run"), Problems)
)]
#[post("/wallet/v1/ReversaComprobante")]
pub(crate) async fn reverse(mut call: ApiCall) -> HandlerResult {
    let realm = call.caller.realm();
    let render = move |placed: &AccountVoucher| posted(realm, placed);
    let (dry_run, requester, answer) = call.making(render)?;
    let sent = ReverseWalletComprobante::read(call.take_body())?;
    let id = sent.id_comprobante;
    let order = Adjustment {
        target: Target::Account(id.account),
        voucher_type: TypeRef::Reverses {
            id,
            refund_fees: sent.reintegra_comisiones.unwrap_or(false),
        },
        amount: sent.importe,
        external_id: sent.id_externo,
        description: sent.referencia,
        external_date: None,
        details: None,
        dry_run,
    };
    let answered = call.caller.ledger().order(realm, order, requester).await;
    answer.give_made(campos::as_sent(answered))
}

/// Reads a voucher.
///
/// Any voucher of the realm, whatever it belongs to.
#[utoipa::path(
    operation_id = "readWalletComprobante",
    tag = "Wallet",
    params(declared::VoucherInPath),
    responses((status = 200, body = ComprobanteBody), Problems)
)]
#[get("/wallet/v1/Comprobante/{id}")]
pub(crate) async fn read(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let id = declared::VoucherInPath::read(&path)?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let placed = queries.voucher(realm, id).await?;
    let types = queries.voucher_types(realm).await?;
    Ok(json(StatusCode::OK, &comprobante(realm, &placed, &types)))
}

const SENTIDOS: [(&str, Direction); 2] = [("1", Direction::Credit), ("-1", Direction::Debit)];

params! {
    /// Which voucher of an external id.
    struct SentidoParams {
        /// only of this direction
        sentido: Option<Direction> = choice("sentido", &SENTIDOS) as Option<SentidoWord>;
    }
}

/// Reads the adjustment that holds an external id; of both directions the newest.
///
/// Name `sentido` where an id is used for a credit and a debit.
#[utoipa::path(
    operation_id = "readWalletComprobanteByExternal",
    tag = "Wallet",
    params(
        declared::IdExternoInPath,
        SentidoParams
    ),
    responses((status = 200, body = ComprobanteBody), Problems)
)]
#[get("/wallet/v1/ComprobanteByIdExterno/{idExterno}")]
pub(crate) async fn by_external(
    caller: Caller,
    path: web::Path<String>,
    query: Query,
) -> HandlerResult {
    let SentidoParams { sentido } = SentidoParams::read(query)?;
    let id = declared::IdExternoInPath::read(&path)?;
    let (queries, realm) = (caller.queries(), caller.realm());
    let placed = queries.voucher_by_external(realm, &id, sentido).await?;
    let types = queries.voucher_types(realm).await?;
    Ok(json(StatusCode::OK, &comprobante(realm, &placed, &types)))
}
