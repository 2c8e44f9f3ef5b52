//! The shapes of the wallet family's requests, for the OpenAPI document. Unknown fields are welcome.

#![expect(dead_code, reason = "read by the OpenAPI document only")]

use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

/// Parameters of every list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PaginaParams {
    /// The page, from 1; 0 is read as 1.
    #[param(rename = "pageNumber", minimum = 0)]
    page_number: Option<u64>,
    /// The same under another name.
    #[param(minimum = 0)]
    page: Option<u64>,
    /// Records of a page, 1–200; 50 when absent.
    #[param(rename = "pageSize", minimum = 1, maximum = 200)]
    page_size: Option<u32>,
    /// `asc` or `desc` (when absent).
    order: Option<String>,
    /// A value of `X-Next-Cursor`: goes on after that page, at no higher price the deeper it is.
    cursor: Option<String>,
}

/// An address. Town and province come as code or as id, as text or as number.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the interface")]
pub struct DomicilioDto {
    pub calle: Option<String>,
    pub numero: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub piso: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub departamento: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub localidad_codigo: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub provincia_codigo: Option<String>,
    pub localidad_id: Option<u64>,
    pub provincia_id: Option<u64>,
    pub cp: Option<String>,
}

/// A change of a wallet account: what is not sent stays.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the interface")]
pub struct UpdateWalletAccountDto {
    /// 11 digits with a right check digit; dashes are taken off. It stays once there is a CVU.
    #[schema(example = "20267565393")]
    pub cuit_cuil: Option<String>,
    #[schema(max_length = 100)]
    pub nombre: Option<String>,
    #[schema(max_length = 100)]
    pub apellido: Option<String>,
    #[schema(max_length = 100)]
    pub razon_social: Option<String>,
    pub email: Option<String>,
    pub celular: Option<String>,
    #[schema(pattern = "^[0-9]{6}$")]
    pub actividad_afip: Option<String>,
    pub es_pep: Option<bool>,
    pub es_uif: Option<bool>,
    pub es_fatca: Option<bool>,
    /// The same as `esFatca`, which wins.
    pub es_facta: Option<bool>,
    #[schema(pattern = "^[A-Za-z]{2}$")]
    pub nacionalidad: Option<String>,
    /// The tenant's own code, unique in the realm.
    #[schema(max_length = 64)]
    pub codigo: Option<String>,
    pub habilitado: Option<bool>,
    pub domicilio: Option<DomicilioDto>,
    /// The same as `domicilio`, which wins field by field.
    pub datos_domicilio: Option<DomicilioDto>,
    /// `YYYY-MM-DD` or `DD-MM-YYYY`.
    pub fecha_nacimiento: Option<String>,
    pub ocupacion: Option<String>,
    pub estado_civil: Option<String>,
    pub dni: Option<String>,
}

/// A new wallet account: `cuitCuil`, and `nombre` and `apellido`, or `razonSocial`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the names are those of the interface")]
pub struct CreateWalletAccountDto {
    /// 11 digits with a right check digit; dashes are taken off.
    #[schema(example = "20267565393")]
    pub cuit_cuil: String,
    #[schema(max_length = 100)]
    pub nombre: Option<String>,
    #[schema(max_length = 100)]
    pub apellido: Option<String>,
    #[schema(max_length = 100)]
    pub razon_social: Option<String>,
    pub email: Option<String>,
    pub celular: Option<String>,
    #[schema(pattern = "^[0-9]{6}$")]
    pub actividad_afip: Option<String>,
    pub es_pep: Option<bool>,
    pub es_uif: Option<bool>,
    pub es_fatca: Option<bool>,
    /// The same as `esFatca`, which wins.
    pub es_facta: Option<bool>,
    #[schema(pattern = "^[A-Za-z]{2}$")]
    pub nacionalidad: Option<String>,
    /// The tenant's own code, unique in the realm.
    #[schema(max_length = 64)]
    pub codigo: Option<String>,
    /// True when absent.
    pub habilitado: Option<bool>,
    pub domicilio: Option<DomicilioDto>,
    /// The same as `domicilio`, which wins field by field.
    pub datos_domicilio: Option<DomicilioDto>,
    /// `YYYY-MM-DD` or `DD-MM-YYYY`.
    pub fecha_nacimiento: Option<String>,
    pub ocupacion: Option<String>,
    pub estado_civil: Option<String>,
    pub dni: Option<String>,
}

/// A CVU for an account.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateWalletCvuDto {
    /// The account.
    id_cuenta: u64,
    /// What the tenant calls the CVU; the holder's name when absent.
    #[serde(rename = "nombreCVU")]
    #[schema(max_length = 100)]
    nombre_cvu: Option<String>,
    /// Whether the bank assigns an alias; true when absent.
    alias_automatico: Option<bool>,
}

/// An enrolment in the remuneration of balances, by `cvu` or `idCuenta`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnrollRemuneracionDto {
    /// The CVU; or `idCuenta`. Both may come when they are of one account.
    #[schema(pattern = "^000[0-9]{19}$")]
    cvu: Option<String>,
    /// The account; or `cvu`.
    id_cuenta: Option<u64>,
    /// The holder's securities account at the broker; a text or a whole number.
    #[schema(min_length = 1, max_length = 40)]
    cuenta_comitente: String,
    /// The fund; the bank's own choice when absent.
    #[schema(max_length = 40)]
    fondo: Option<String>,
}
