//! The body of a wallet account.

use caudal_http::bodies::words::EstadoCvuWord;
use caudal_http::caller::Caller;
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::RealmId;
use serde::Serialize;
use utoipa::ToSchema;

use caudal_http::bodies::texts::Instant;
/// An address; what is not known is null.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Domicilio {
    pub calle: Option<String>,
    pub numero: Option<String>,
    pub piso: Option<String>,
    pub departamento: Option<String>,
    pub localidad_codigo: Option<String>,
    pub provincia_codigo: Option<String>,
    pub cp: Option<String>,
    pub cpa: Option<String>,
    pub localidad_nombre: Option<String>,
    pub provincia_nombre: Option<String>,
}

/// A wallet account. Texts and flags that were never given are empty and false.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = CuentaResponse)]
pub(crate) struct CuentaBody {
    /// Its number.
    pub id: u64,
    /// CUIT or CUIL of the holder, 11 digits.
    pub cuit_cuil: String,
    /// Given name.
    pub nombre: String,
    /// Family name.
    pub apellido: String,
    /// Name of a firm.
    pub razon_social: String,
    /// E-mail.
    pub email: String,
    /// Phone.
    pub celular: String,
    /// Activity code of the tax agency, 6 digits.
    pub actividad_afip: String,
    /// Whether it is enabled.
    pub habilitado: bool,
    /// Politically exposed.
    pub es_pep: bool,
    /// Taxpayer of the United States.
    pub es_fatca: bool,
    /// Obliged subject before the anti-laundering unit.
    pub es_uif: bool,
    /// The tenant (PSP) that owns it.
    pub tenant_id: String,
    /// Address.
    pub domicilio: Domicilio,
    /// The tenant's own code.
    pub codigo: Option<String>,
    /// The tenant's number.
    pub id_organizacion: Option<u32>,
    /// Its CVU.
    pub cvu: Option<String>,
    /// The alias of the CVU.
    pub alias: Option<String>,
    /// What the tenant calls the CVU.
    pub nombre_cvu: Option<String>,
    /// The state of the CVU; null while there is none.
    #[schema(value_type = Option<EstadoCvuWord>)]
    pub estado_cvu: Option<&'static str>,
    /// The id of the CVU's record.
    #[serde(rename = "cuentaCVUId")]
    pub cuenta_cvu_id: Option<u64>,
    /// The collector account's record; not given out.
    pub organizacion_cuenta_banco_id: Option<u64>,
    /// `YYYY-MM-DD`.
    #[schema(format = Date)]
    pub fecha_nacimiento: Option<String>,
    /// Occupation.
    pub ocupacion: Option<String>,
    /// Civil status.
    pub estado_civil: Option<String>,
    /// Number of the identity document.
    pub dni: Option<String>,
    /// When the holder was registered for taxes.
    pub fecha_alta_siscri: Option<Instant>,
    /// When the holder was registered with fraud monitoring.
    pub fecha_monitoreada: Option<Instant>,
}

/// The word for the state of an account's CVU; none while it has no CVU.
const fn estado(status: Status) -> Option<&'static str> {
    match status {
        Status::Active => Some("ACTIVA"),
        Status::Suspended => Some("SUSPENDIDA"),
        Status::Closed => Some("CERRADA"),
        Status::Registered | Status::Void => None,
    }
}

/// The id of the record of an account's CVU.
pub(crate) fn cvu_id(realm: RealmId, account: &Account) -> u64 {
    account.number.cvu_record(realm)
}

impl CuentaBody {
    /// Renders an account for its tenant.
    pub(crate) fn of(caller: &Caller, account: &Account) -> Self {
        let (kyc, names, realm) = (&account.kyc, account.shown_names(), caller.realm());
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let address = kyc.address.clone();
        Self {
            id: account.number.0,
            cuit_cuil: account.holder.cuit.to_string(),
            nombre: text(&names.given),
            apellido: text(&names.family),
            razon_social: text(&names.business),
            email: text(&account.email),
            celular: text(&account.phone),
            actividad_afip: text(&kyc.afip_activity),
            habilitado: account.enabled,
            es_pep: kyc.pep.unwrap_or(false),
            es_fatca: kyc.fatca.unwrap_or(false),
            es_uif: kyc.uif.unwrap_or(false),
            tenant_id: caller.identity.tenant.clone(),
            domicilio: Domicilio {
                calle: address.street,
                numero: address.number,
                piso: address.floor,
                departamento: address.apartment,
                localidad_codigo: address.city_code,
                provincia_codigo: address.province_code,
                cp: address.postal_code,
                cpa: address.cpa,
                localidad_nombre: address.city_name,
                provincia_nombre: address.province_name,
            },
            codigo: account.code.clone(),
            // Realms are numbered in pairs, one pair for each tenant.
            id_organizacion: Some(realm.0.div_ceil(2)),
            cvu: account.cvu.map(|cvu| cvu.to_string()),
            alias: account.alias.as_ref().map(ToString::to_string),
            nombre_cvu: account.cvu.map(|_| cvu_name(account)),
            estado_cvu: estado(account.status),
            cuenta_cvu_id: account.cvu.map(|_| cvu_id(realm, account)),
            organizacion_cuenta_banco_id: None,
            fecha_nacimiento: kyc.birth_date.clone(),
            ocupacion: kyc.occupation.clone(),
            estado_civil: kyc.marital_status.clone(),
            dni: kyc.dni.clone(),
            fecha_alta_siscri: None,
            fecha_monitoreada: None,
        }
    }
}

/// The name that the tenant gave the CVU; the holder's name if it gave none.
pub(crate) fn cvu_name(account: &Account) -> String {
    let name = account.cvu_name.as_ref();
    name.unwrap_or(&account.holder.name).clone()
}
