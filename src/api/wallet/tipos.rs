//! Voucher types of the wallet family: the same as the native ones, under a number.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, delete, get, post, web};
use caudal_http::bodies::body;
use caudal_http::bodies::nombres;
use caudal_http::bodies::words::{SenseWord, SentidoWord, SignoWord};
use caudal_http::body::{Fields, read as read_body};
use caudal_http::caller::Caller;
use caudal_http::declared::{self, declared, field};
use caudal_http::errors::{ApiError, HandlerResult};
use caudal_http::problems::Problems;
use caudal_http::query::Query;
use caudal_http::request::request;
use caudal_http::respond::{self, ApiCall, give, plain};
use caudal_http::whole_list::WholeParams;
use caudal_http::words::Mistake;
use caudal_ledger::balance::Direction;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode, VoucherType};
use serde::Serialize;
use utoipa::ToSchema;

use super::comprobantes::{sentido as sign_of, signo};
use super::{campos, number};
use crate::v1::voucher_types::type_number;
use caudal_actors::realms::{CreateType, RemoveType};

/// The longest name of a type, in characters.
const NOMBRE_MAX: usize = 80;

/// A voucher type that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub(crate) struct TipoCreado {
    /// Its number: from 1000 on (`legacyId` of the native family), or, of a system type, fixed and below 1000.
    pub id: u64,
}

impl From<&VoucherType> for TipoCreado {
    fn from(made: &VoucherType) -> Self {
        Self {
            id: made.legacy_id.unwrap_or_default(),
        }
    }
}

body! {
    /// A voucher type (the element of `TiposComprobantes`).
    pub(crate) struct Tipo as TipoComprobante from found: &VoucherType {
        => let direction = found.direction();
        /// Its number; null where it has none.
        id: Option<u64> = found.legacy_id;
        /// Its name.
        nombre: String = nombres::of_type(&found.code, &found.name);
        /// Its code.
        codigo: String = found.code.to_string();
        /// A line for people.
        descripcion: Option<String> = found.description.clone();
        /// 1 where it adds to what is available, -1 where it takes.
        signo: i8 as SignoWord = signo(direction);
        /// The same as text.
        sentido: &'static str as SentidoWord = sign_of(direction);
        /// The tenant's own category.
        tipo_movimiento: Option<String> = found.category.clone();
        /// Whether vouchers of it can be posted.
        habilitado: bool = found.active;
        /// Whether it is built in: nobody but the service posts vouchers of it.
        reservado: bool = found.is_system();
    }
}

/// Lists the voucher types, those that are built in among them.
///
/// Those that are built in have `reservado`: only the service posts vouchers of them.
#[utoipa::path(
    operation_id = "listTiposComprobantes",
    tag = "Wallet",
    params(WholeParams),
    responses((status = 200, body = Vec<Tipo>), Problems)
)]
#[get("/wallet/v1/TiposComprobantes")]
pub(crate) async fn list(caller: Caller, query: Query) -> HandlerResult {
    let page = WholeParams::alone(query)?;
    let types = caller.queries().voucher_types(caller.realm()).await?;
    let listing = page.page(types.all(), type_number)?;
    Ok(respond::array(&listing, |found| Tipo::from(found)))
}

declared! {
    /// the number of a type
    TipoInPath = Path "id" as u64 => u64: field(number);
}

/// Removes a type; its vouchers keep its number and its name.
///
/// No more vouchers of it can be posted.
#[utoipa::path(
    operation_id = "deleteTipoComprobante",
    tag = "Wallet",
    params(TipoInPath),
    responses((status = 204, description = "removed"), Problems)
)]
#[delete("/wallet/v1/TipoComprobante/{id}")]
pub(crate) async fn remove(caller: Caller, path: web::Path<String>) -> HandlerResult {
    let id = TipoInPath::read(&path)?;
    let (engine, realm) = (caller.engine(), caller.realm());
    let types = engine.queries().voucher_types(realm).await?;
    let code = match types.find_legacy(id) {
        Some(found) => found.code,
        // The number stands in for the code, which is not known.
        None => {
            let code = TypeCode::parse(&format!("{id:02}"));
            let code = code.map_err(|why| ApiError::field("id", why))?;
            return Err(Rejection::VoucherTypeNotFound { code }.into());
        }
    };
    let removed = engine
        .ledger()
        .order(realm, RemoveType(code), plain(&caller))
        .await;
    give(removed, |_| HttpResponse::NoContent().finish())
}

/// Creates a type for adjustments.
///
/// Its direction comes from `sentido`, or from `signo` where that is absent. The same code is refused with
/// 409.
#[utoipa::path(
    operation_id = "createTipoComprobante",
    tag = "Wallet",
    params(declared::IdempotencyKey),
    request_body(content = CreateTipoComprobante),
    responses((status = 201, body = TipoCreado), Problems)
)]
#[post("/wallet/v1/TipoComprobante")]
pub(crate) async fn create(mut call: ApiCall) -> HandlerResult {
    let render = |made: &VoucherType| TipoCreado::from(made);
    let (requester, answer) = call.order(StatusCode::CREATED, render)?;
    let order = CreateType(order(CreateTipoComprobante::read(call.take_body())?)?);
    let (ledger, realm) = (call.caller.ledger(), call.caller.realm());
    answer.give(ledger.order(realm, order, requester).await)
}

request! {
    /// A new voucher type; one of `sentido` and `signo` has to be there.
    lenient struct CreateTipoComprobante as CreateTipoComprobanteDto {
        /// 1–80 characters.
        nombre: String = required("nombre", read_body::line(NOMBRE_MAX))
            as String { min_length = 1, max_length = 80 };
        /// 2–40 letters without accents, digits, underscores or dashes; lower case is raised.
        codigo: TypeCode = required("codigo", campos::code_as(TypeCode::parse))
            as String { pattern = "^[A-Za-z0-9_-]{2,40}$" };
        /// A line for people.
        descripcion: Option<String> = optional("descripcion", read_body::line(VoucherType::DESCRIPTION_MAX))
            as Option<String> { max_length = 200 };
        /// The tenant's own category.
        tipo_movimiento: Option<String> = optional("tipoMovimiento", campos::code(VoucherType::CATEGORY_MAX))
            as Option<String> { max_length = 40 };
        => |fields| name_the_sense(fields);
        /// `credit` or `debit`; wins over `signo`.
        sentido: Option<Direction> = optional("sentido", read_body::text(sentido))
            as Option<SenseWord>;
        /// 1 (credit) or -1 (debit).
        signo: Option<bool> = optional("signo", campos::sign) as Option<SignoWord>;
    }
}

/// The mistake of a type without a sense.
const SENSELESS: Mistake = Mistake::RequiredOr { other: "signo" };

fn name_the_sense(fields: &mut Fields) {
    if fields.has("sentido") {
        // The other field does not count, so it is not read.
        fields.forget("signo");
    } else if !fields.has("signo") {
        fields.mistake("sentido", SENSELESS);
    }
}

fn sentido(text: &str) -> Result<Direction, Mistake> {
    text.parse().map_err(|()| Mistake::NotASense)
}

fn order(sent: CreateTipoComprobante) -> Result<CreateVoucherType, ApiError> {
    let by_sign = |positive| {
        if positive {
            Sense::Credit
        } else {
            Sense::Debit
        }
    };
    let sense = match sent.sentido {
        Some(direction) => Some(Sense::try_from(direction)?),
        None => sent.signo.map(by_sign),
    };
    Ok(CreateVoucherType {
        code: sent.codigo,
        name: sent.nombre,
        sense: sense.ok_or_else(|| ApiError::field("sentido", SENSELESS))?,
        description: sent.descripcion,
        category: sent.tipo_movimiento,
        counter_account: None,
        capture_tolerance: None,
    })
}
