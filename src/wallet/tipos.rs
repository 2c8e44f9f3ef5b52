//! Voucher types of the wallet family: the same as the native ones, under a number.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, post};
use caudal_ledger::balance::Direction;
use caudal_ledger::voucher_types::{CreateVoucherType, TypeCode, VoucherType};
use serde::Serialize;
use utoipa::ToSchema;

use super::campos;
use crate::http::body::{Body, Fields, read as read_body};
use crate::http::caller::Caller;
use crate::http::errors::ApiError;
use crate::http::problems::Problems;
use crate::http::respond::{asker, give, json};
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
    request_body(content = inline(super::requests::CreateTipoComprobanteDto)),
    responses((status = 201, body = TipoCreado), Problems)
)]
#[post("/wallet/v1/TipoComprobante")]
pub async fn create(
    request: HttpRequest,
    caller: Caller,
    body: Body,
) -> Result<HttpResponse, ApiError> {
    let asker = asker(&request, &caller, &body, |made: &VoucherType| {
        let body = serde_json::to_string(&TipoCreado::from(made));
        (StatusCode::CREATED, body.unwrap_or_default())
    })?;
    let order = order(body.lenient_fields())?;
    let answered = caller
        .engine()
        .create_type(caller.realm(), order, asker)
        .await;
    give(answered, |made| {
        json(StatusCode::CREATED, &TipoCreado::from(&made))
    })
}

fn order(mut fields: Fields) -> Result<CreateVoucherType, ApiError> {
    let name = fields.required("nombre", read_body::line(NOMBRE_MAX));
    let code = fields.required("codigo", campos::code_as(TypeCode::parse));
    let description = fields.optional("descripcion", read_body::line(DESCRIPCION_MAX));
    let category = fields.optional("tipoMovimiento", campos::code(CATEGORIA_MAX));
    let named = fields.has("sentido") || fields.has("signo");
    if !named {
        fields.mistake("sentido", Mistake::RequiredOr { other: "signo" });
    }
    let wins = fields.has("sentido");
    let sense = fields.optional(
        "sentido",
        read_body::text(|text| text.parse::<Direction>().map_err(|()| Mistake::NotASense)),
    );
    // What does not count is not looked at.
    let sign = if wins {
        None
    } else {
        fields.optional("signo", campos::sign)
    };
    fields.done()?;
    let by_sign = sign.map(|positive| {
        if positive {
            Direction::Credit
        } else {
            Direction::Debit
        }
    });
    let (Some(code), Some(name), Some(sense)) = (code, name, sense.or(by_sign)) else {
        return Err(ApiError::field("body", Mistake::Incomplete));
    };
    Ok(CreateVoucherType {
        code,
        name,
        sense,
        description,
        category,
    })
}
