//! The body of a wallet account.

use caudal_http::bodies::body;
use caudal_http::bodies::words::EstadoCvuWord;
use caudal_http::caller::Caller;
use caudal_ledger::accounts::{Account, Status};
use caudal_ledger::ids::RealmId;
use serde::Serialize;
use utoipa::ToSchema;

use caudal_http::bodies::texts::Instant;
/// An address; what is not known is null.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
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

body! {
    /// A wallet account. Texts and flags that were never given are empty and false.
    pub(crate) struct CuentaBody as CuentaResponse of(caller: &Caller, account: &Account) {
        => let (kyc, names, realm) = (&account.kyc, account.shown_names(), caller.realm());
        => let text = |text: &Option<String>| text.clone().unwrap_or_default();
        => let address = kyc.address.clone();
        /// Its number.
        id: u64 = account.number.0;
        /// CUIT or CUIL of the holder, 11 digits.
        cuit_cuil: String = account.holder.cuit.to_string();
        /// Given name.
        nombre: String = text(&names.given);
        /// Family name.
        apellido: String = text(&names.family);
        /// Name of a firm.
        razon_social: String = text(&names.business);
        /// E-mail.
        email: String = text(&account.email);
        /// Phone.
        celular: String = text(&account.phone);
        /// Activity code of the tax agency, 6 digits.
        actividad_afip: String = text(&kyc.afip_activity);
        /// Whether it is enabled.
        habilitado: bool = account.enabled;
        /// Politically exposed.
        es_pep: bool = kyc.pep.unwrap_or(false);
        /// Taxpayer of the United States.
        es_fatca: bool = kyc.fatca.unwrap_or(false);
        /// Obliged subject before the anti-laundering unit.
        es_uif: bool = kyc.uif.unwrap_or(false);
        /// The tenant (PSP) that owns it.
        tenant_id: String = caller.identity.tenant.clone();
        /// Address.
        domicilio: Domicilio = Domicilio {
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
        };
        /// The tenant's own code.
        codigo: Option<String> = account.code.clone();
        // Realms are numbered in pairs, one pair for each tenant.
        /// The tenant's number.
        id_organizacion: Option<u32> = Some(realm.0.div_ceil(2));
        /// Its CVU.
        cvu: Option<String> = account.cvu.map(|cvu| cvu.to_string());
        /// The alias of the CVU.
        alias: Option<String> = account.alias.as_ref().map(ToString::to_string);
        /// What the tenant calls the CVU.
        nombre_cvu: Option<String> = account.cvu.map(|_| cvu_name(account));
        /// The state of the CVU; null while there is none.
        estado_cvu: Option<&'static str> as Option<EstadoCvuWord> = estado(account.status);
        /// The id of the CVU's record.
        #[serde(rename = "cuentaCVUId")]
        cuenta_cvu_id: Option<u64> = account.cvu.map(|_| cvu_id(realm, account));
        /// The collector account's record; not given out.
        organizacion_cuenta_banco_id: Option<u64> = None;
        /// `YYYY-MM-DD`.
        #[schema(format = Date)]
        fecha_nacimiento: Option<String> = kyc.birth_date.clone();
        /// Occupation.
        ocupacion: Option<String> = kyc.occupation.clone();
        /// Civil status.
        estado_civil: Option<String> = kyc.marital_status.clone();
        /// Number of the identity document.
        dni: Option<String> = kyc.dni.clone();
        /// When the holder was registered for taxes.
        fecha_alta_siscri: Option<Instant> = None;
        /// When the holder was registered with fraud monitoring.
        fecha_monitoreada: Option<Instant> = None;
    }
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

/// The name that the tenant gave the CVU; the holder's name if it gave none.
pub(crate) fn cvu_name(account: &Account) -> String {
    let name = account.cvu_name.as_ref();
    name.unwrap_or(&account.holder.name).clone()
}
