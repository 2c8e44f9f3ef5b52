//! What clients say of a wallet account: all of it when it is made, and what changes afterwards.

use caudal_ledger::cuit::Cuit;
use caudal_ledger::kyc::{self, Address, Kyc};
use caudal_ledger::particulars::{Names, Particulars};

use super::campos::{activity, birth_date, boolean, code, code_as, cuit_of, dni};
use crate::http::body::Fields;
use crate::http::body::read::{line, text};
use crate::http::caller::Caller;
use crate::http::request::request;
use crate::http::shapes::CodeDto;
use crate::http::words::Mistake;

/// The longest name, in characters.
const NAME_MAX: usize = 100;
/// The longest code of an account, in characters.
const CODE_MAX: usize = 64;

request! {
    /// An address. Town and province come as code or as id, as text or as number.
    lenient_part pub struct DomicilioRequest as DomicilioDto {
        calle: Option<String> = optional("calle", line(kyc::LINE_MAX)) as Option<String>;
        numero: Option<String> = optional("numero", code(kyc::DOOR_MAX)) as Option<CodeDto>;
        piso: Option<String> = optional("piso", code(kyc::DOOR_MAX))
            as Option<CodeDto>;
        departamento: Option<String> = optional("departamento", code(kyc::DOOR_MAX))
            as Option<CodeDto>;
        localidad_codigo: Option<String> = optional("localidadCodigo", code(kyc::CODE_MAX))
            as Option<CodeDto>;
        provincia_codigo: Option<String> = optional("provinciaCodigo", code(kyc::CODE_MAX))
            as Option<CodeDto>;
        localidad_id: Option<String> = optional("localidadId", code(kyc::CODE_MAX)) as Option<CodeDto>;
        provincia_id: Option<String> = optional("provinciaId", code(kyc::CODE_MAX)) as Option<CodeDto>;
        cp: Option<String> = optional("cp", code(kyc::POSTAL_CODE_MAX)) as Option<CodeDto>;
    }
}

impl From<DomicilioRequest> for Address {
    fn from(sent: DomicilioRequest) -> Self {
        Self {
            street: sent.calle,
            number: sent.numero,
            floor: sent.piso,
            apartment: sent.departamento,
            city_code: sent.localidad_codigo.or(sent.localidad_id),
            province_code: sent.provincia_codigo.or(sent.provincia_id),
            postal_code: sent.cp,
        }
    }
}

/// Declares a request with the particulars of a wallet account: the first field and the document's words
/// about `habilitado` are its own, the others are the same in all.
macro_rules! cuenta {
    (
        $(#[$about:meta])+
        struct $name:ident as $shown:ident($caller:ident) {
            $(=> |$fields:ident| $check:expr;)?
            $(#[$doc:meta])+
            cuit_cuil: $cuit:ty = $how:ident($read:expr) as $json:ty;
            $(#[$enabled:meta])*
            habilitado;
        }
    ) => {
        request! {
            $(#[$about])+
            lenient pub struct $name as $shown($caller: &Caller) {
                $(=> |$fields| $check;)?
                $(#[$doc])+
                cuit_cuil: $cuit = $how("cuitCuil", $read) as $json { example = "20267565393" };
                nombre: Option<String> = optional("nombre", line(NAME_MAX))
                    as Option<String> { max_length = 100 };
                apellido: Option<String> = optional("apellido", line(NAME_MAX))
                    as Option<String> { max_length = 100 };
                razon_social: Option<String> = optional("razonSocial", line(NAME_MAX))
                    as Option<String> { max_length = 100 };
                email: Option<String> = optional("email", text(kyc::email)) as Option<String>;
                celular: Option<String> = optional("celular", code_as(kyc::phone))
                    as Option<String>;
                actividad_afip: Option<String> = optional("actividadAfip", activity)
                    as Option<String> { pattern = "^[0-9]{6}$" };
                es_pep: Option<bool> = optional("esPep", boolean) as Option<bool>;
                es_uif: Option<bool> = optional("esUif", boolean) as Option<bool>;
                es_fatca: Option<bool> = optional("esFatca", boolean) as Option<bool>;
                /// The same as `esFatca`, which wins.
                es_facta: Option<bool> = optional("esFacta", boolean) as Option<bool>;
                nacionalidad: Option<String> = optional("nacionalidad", text(kyc::country))
                    as Option<String> { pattern = "^[A-Za-z]{2}$" };
                /// The tenant's own code, unique in the realm.
                codigo: Option<String> = optional("codigo", code(CODE_MAX))
                    as Option<String> { max_length = 64 };
                $(#[$enabled])*
                habilitado: Option<bool> = optional("habilitado", boolean) as Option<bool>;
                domicilio: Option<DomicilioRequest> =
                    object("domicilio", DomicilioRequest::take) as Option<DomicilioRequest>;
                /// The same as `domicilio`, which wins field by field.
                datos_domicilio: Option<DomicilioRequest> =
                    object("datosDomicilio", DomicilioRequest::take) as Option<DomicilioRequest>;
                /// `YYYY-MM-DD` or `DD-MM-YYYY`.
                fecha_nacimiento: Option<String> = optional("fechaNacimiento", text(birth_date))
                    as Option<String>;
                ocupacion: Option<String> = optional("ocupacion", line(kyc::LINE_MAX))
                    as Option<String>;
                estado_civil: Option<String> = optional("estadoCivil", line(kyc::WORD_MAX))
                    as Option<String>;
                dni: Option<String> = optional("dni", dni) as Option<String>;
            }
        }

        impl From<$name> for Particulars {
            fn from(sent: $name) -> Self {
                let address = |sent: Option<DomicilioRequest>| sent.map(Address::from);
                let own = address(sent.domicilio).unwrap_or_default();
                let other = address(sent.datos_domicilio).unwrap_or_default();
                Self {
                    cuit: sent.cuit_cuil.into(),
                    names: Names {
                        given: sent.nombre,
                        family: sent.apellido,
                        business: sent.razon_social,
                    },
                    name: None,
                    code: sent.codigo,
                    email: sent.email,
                    phone: sent.celular,
                    kyc: Kyc {
                        nationality: sent.nacionalidad,
                        birth_date: sent.fecha_nacimiento,
                        dni: sent.dni,
                        marital_status: sent.estado_civil,
                        occupation: sent.ocupacion,
                        afip_activity: sent.actividad_afip,
                        pep: sent.es_pep,
                        uif: sent.es_uif,
                        fatca: sent.es_fatca.or(sent.es_facta),
                        address: other.merged(&own),
                        ..Kyc::default()
                    },
                    enabled: sent.habilitado,
                }
            }
        }
    };
}

cuenta! {
    /// A new wallet account: `cuitCuil`, and `nombre` and `apellido`, or `razonSocial`.
    struct CreateWalletAccount as CreateWalletAccountDto(caller) {
        => |fields| name_the_holder(fields);
        /// 11 digits with a right check digit; dashes are taken off.
        cuit_cuil: Cuit = required(cuit_of(caller)) as String;
        /// True when absent.
        habilitado;
    }
}

cuenta! {
    /// A change of a wallet account: what is not sent stays.
    struct UpdateWalletAccount as UpdateWalletAccountDto(caller) {
        /// 11 digits with a right check digit; dashes are taken off. It stays once there is a CVU.
        cuit_cuil: Option<Cuit> = optional(cuit_of(caller)) as Option<String>;
        habilitado;
    }
}

/// A new account names a person, or a firm.
fn name_the_holder(fields: &mut Fields) {
    if fields.has("razonSocial") {
        return;
    }
    for name in ["nombre", "apellido"] {
        if !fields.has(name) {
            let other = "razonSocial";
            fields.mistake(name, Mistake::RequiredOr { other });
        }
    }
}
