//! Voucher types of the wallet family: the same as the native ones, under a number.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, post};
use caudal_ledger::balance::Direction;
use caudal_ledger::voucher_types::{CreateVoucherType, Sense, TypeCode, VoucherType};
use serde::Serialize;
use utoipa::ToSchema;

use super::campos;
use crate::http::body::{Body, Fields, read as read_body};
use crate::http::caller::Caller;
use crate::http::errors::ApiError;
use crate::http::problems::Problems;
use crate::http::request::request;
use crate::http::respond;
use crate::http::words::Mistake;

/// The longest name, description and category of a type, in characters.
const NOMBRE_MAX: usize = 80;
const DESCRIPCION_MAX: usize = 200;
const CATEGORIA_MAX: usize = 40;

/// A voucher type that was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct TipoCreado {
    /// Its number (`legacyId` of the native family).
    pub id: u64,
}

impl From<&VoucherType> for TipoCreado {
    fn from(made: &VoucherType) -> Self {
        Self {
            id: made.legacy_id.unwrap_or_default(),
        }
    }
}

/// Creates a type for adjustments.
#[utoipa::path(
    operation_id = "createTipoComprobante",
    tag = "Wallet",
    params(crate::http::problems::PostParams),
    request_body(content = inline(CreateTipoComprobante)),
    responses((status = 201, body = TipoCreado), Problems)
)]
#[post("/wallet/v1/TipoComprobante")]
pub async fn create(
    request: HttpRequest,
    caller: Caller,
    body: Body,
) -> Result<HttpResponse, ApiError> {
    let render = |made: &VoucherType| TipoCreado::from(made);
    let (asker, answer) = respond::order(&request, &caller, &body, StatusCode::CREATED, render)?;
    let order = order(CreateTipoComprobante::read(body)?)?;
    answer.give(
        caller
            .engine()
            .create_type(caller.realm(), order, asker)
            .await,
    )
}

request! {
    /// A new voucher type; one of `sentido` and `signo` has to be there.
    lenient struct CreateTipoComprobante {
        /// 1–80 characters.
        nombre: String = required("nombre", read_body::line(NOMBRE_MAX))
            as String { min_length = 1, max_length = 80 };
        /// 2–40 letters, digits and underscores; lower case is raised.
        codigo: TypeCode = required("codigo", campos::code_as(TypeCode::parse))
            as String { pattern = "^[A-Za-z0-9_]{2,40}$" };
        /// A line for people.
        descripcion: Option<String> = optional("descripcion", read_body::line(DESCRIPCION_MAX))
            as Option<String> { max_length = 200 };
        /// The tenant's own category.
        tipo_movimiento: Option<String> = optional("tipoMovimiento", campos::code(CATEGORIA_MAX))
            as Option<String> { max_length = 40 };
        => |fields| name_the_sense(fields);
        /// `credit` or `debit`; wins over `signo`.
        sentido: Option<Direction> = optional("sentido", read_body::text(sentido))
            as Option<String>;
        /// 1 (credit) or -1 (debit).
        signo: Option<bool> = optional("signo", campos::sign) as Option<i8>;
    }
}

/// Of a type without a sense.
const SENSELESS: Mistake = Mistake::RequiredOr { other: "signo" };

fn name_the_sense(fields: &mut Fields) {
    if fields.has("sentido") {
        // What does not count is not looked at.
        fields.forget("signo");
    } else if !fields.has("signo") {
        fields.mistake("sentido", SENSELESS);
    }
}

fn sentido(text: &str) -> Result<Direction, Mistake> {
    text.parse().map_err(|()| Mistake::NotASense)
}

fn order(sent: CreateTipoComprobante) -> Result<CreateVoucherType, ApiError> {
    let by_sign = |positive| match positive {
        true => Sense::Credit,
        false => Sense::Debit,
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
    })
}
