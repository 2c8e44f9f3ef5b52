//! Requests about a wallet account: all its particulars when it is made, and changes afterwards.

use caudal_http::body::read::{line, text};
use caudal_http::body::{Fields, Patch};
use caudal_http::caller::Caller;
use caudal_http::request::request;
use caudal_http::shapes::CodeDto;
use caudal_http::words::Mistake;
use caudal_ledger::cuit::Cuit;
use caudal_ledger::kyc::{self, Address, AddressMarks, Kyc, KycMarks, Marks as _};
use caudal_ledger::particulars::{Cleared, Names, NamesMarks, Particulars};

use super::campos::{activity, boolean, born, code, code_as, cuit_of, dni};

/// The longest name, in characters.
const NAME_MAX: usize = 100;
/// The longest code of an account, in characters.
const CODE_MAX: usize = 64;

request! {
    /// An address. Town and province come as code or as id, as text or as number.
    lenient_part pub struct DomicilioRequest as DomicilioDto {
        calle: Patch<String> = nullable("calle", line(kyc::LINE_MAX)) as Option<String>;
        numero: Patch<String> = nullable("numero", code(kyc::DOOR_MAX)) as Option<CodeDto>;
        piso: Patch<String> = nullable("piso", code(kyc::DOOR_MAX))
            as Option<CodeDto>;
        departamento: Patch<String> = nullable("departamento", code(kyc::DOOR_MAX))
            as Option<CodeDto>;
        localidad_codigo: Patch<String> = nullable("localidadCodigo", code(kyc::CODE_MAX))
            as Option<CodeDto>;
        provincia_codigo: Patch<String> = nullable("provinciaCodigo", code(kyc::CODE_MAX))
            as Option<CodeDto>;
        localidad_id: Patch<String> = nullable("localidadId", code(kyc::CODE_MAX)) as Option<CodeDto>;
        provincia_id: Patch<String> = nullable("provinciaId", code(kyc::CODE_MAX)) as Option<CodeDto>;
        cp: Patch<String> = nullable("cp", code(kyc::POSTAL_CODE_MAX)) as Option<CodeDto>;
        cpa: Patch<String> = nullable("cpa", code(kyc::POSTAL_CODE_MAX)) as Option<CodeDto>;
        localidad_nombre: Patch<String> =
            nullable("localidadNombre", line(kyc::LINE_MAX)) as Option<String>;
        provincia_nombre: Patch<String> =
            nullable("provinciaNombre", line(kyc::LINE_MAX)) as Option<String>;
    }
}

/// Of two fields for the same value, the first that has one; cleared when neither has one and one is null.
fn either<T>(first: Patch<T>, second: Patch<T>) -> Patch<T> {
    match (first, second) {
        (Some(Some(value)), _) | (_, Some(Some(value))) => Some(Some(value)),
        (first, second) => first.or(second),
    }
}

impl DomicilioRequest {
    /// Its fields in the order of [`Address`].
    fn sent(self) -> [Patch<String>; 10] {
        [
            self.calle,
            self.numero,
            self.piso,
            self.departamento,
            either(self.localidad_codigo, self.localidad_id),
            either(self.provincia_codigo, self.provincia_id),
            self.cp,
            self.cpa,
            self.localidad_nombre,
            self.provincia_nombre,
        ]
    }
}

/// The parts of an address that a request clears, and those that it sets, under both of its names.
fn address(
    own: Patch<DomicilioRequest>,
    other: Patch<DomicilioRequest>,
) -> (AddressMarks, Address) {
    let nothing = (AddressMarks::default(), Address::default());
    let (own, other) = match (own, other) {
        (None, None) => return nothing,
        (Some(None), Some(None) | None) | (None, Some(None)) => {
            return (AddressMarks::all(), Address::default());
        }
        (own, other) => (own.flatten(), other.flatten()),
    };
    let mut sent = other.map_or([const { None }; 10], DomicilioRequest::sent);
    for (sent, own) in sent
        .iter_mut()
        .zip(own.map_or([const { None }; 10], DomicilioRequest::sent))
    {
        *sent = either(own, sent.take());
    }
    let [
        street,
        number,
        floor,
        apartment,
        city_code,
        province_code,
        postal_code,
        cpa,
        city_name,
        province_name,
    ] = sent;
    let gone = |sent: &Patch<String>| matches!(sent, Some(None));
    let marks = AddressMarks {
        street: gone(&street),
        number: gone(&number),
        floor: gone(&floor),
        apartment: gone(&apartment),
        city_code: gone(&city_code),
        province_code: gone(&province_code),
        postal_code: gone(&postal_code),
        cpa: gone(&cpa),
        city_name: gone(&city_name),
        province_name: gone(&province_name),
    };
    let set = Address {
        street: street.flatten(),
        number: number.flatten(),
        floor: floor.flatten(),
        apartment: apartment.flatten(),
        city_code: city_code.flatten(),
        province_code: province_code.flatten(),
        postal_code: postal_code.flatten(),
        cpa: cpa.flatten(),
        city_name: city_name.flatten(),
        province_name: province_name.flatten(),
    };
    (marks, set)
}

/// Declares a request with the particulars of a wallet account: the first field and the document's words about
/// `habilitado` are each request's own, the other fields are the same in all.
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
                nombre: Patch<String> = nullable("nombre", line(NAME_MAX))
                    as Option<String> { max_length = 100 };
                apellido: Patch<String> = nullable("apellido", line(NAME_MAX))
                    as Option<String> { max_length = 100 };
                razon_social: Patch<String> = nullable("razonSocial", line(NAME_MAX))
                    as Option<String> { max_length = 100 };
                email: Patch<String> = nullable("email", text(kyc::email)) as Option<String>;
                celular: Patch<String> = nullable("celular", code_as(kyc::phone))
                    as Option<String>;
                actividad_afip: Patch<String> = nullable("actividadAfip", activity)
                    as Option<String> { pattern = "^[0-9]{6}$" };
                es_pep: Patch<bool> = nullable("esPep", boolean) as Option<bool>;
                es_uif: Patch<bool> = nullable("esUif", boolean) as Option<bool>;
                es_fatca: Patch<bool> = nullable("esFatca", boolean) as Option<bool>;
                /// The same as `esFatca`, which wins.
                es_facta: Patch<bool> = nullable("esFacta", boolean) as Option<bool>;
                nacionalidad: Patch<String> = nullable("nacionalidad", text(kyc::country))
                    as Option<String> { pattern = "^[A-Za-z]{2}$" };
                /// The tenant's own code, unique in the realm.
                codigo: Patch<String> = nullable("codigo", code(CODE_MAX))
                    as Option<String> { max_length = 64 };
                $(#[$enabled])*
                habilitado: Option<bool> = optional("habilitado", boolean) as Option<bool>;
                domicilio: Patch<DomicilioRequest> =
                    nullable_object("domicilio", DomicilioRequest::take) as Option<DomicilioRequest>;
                /// The same as `domicilio`, which wins field by field.
                datos_domicilio: Patch<DomicilioRequest> =
                    nullable_object("datosDomicilio", DomicilioRequest::take) as Option<DomicilioRequest>;
                /// `YYYY-MM-DD` or `DD-MM-YYYY`.
                fecha_nacimiento: Patch<String> = nullable("fechaNacimiento", born($caller))
                    as Option<String> { format = Date };
                ocupacion: Patch<String> = nullable("ocupacion", line(kyc::LINE_MAX))
                    as Option<String>;
                estado_civil: Patch<String> = nullable("estadoCivil", line(kyc::WORD_MAX))
                    as Option<String>;
                dni: Patch<String> = nullable("dni", dni) as Option<String>;
            }
        }

        impl From<$name> for Particulars {
            fn from(sent: $name) -> Self {
                let (no_address, address) = address(sent.domicilio, sent.datos_domicilio);
                let fatca = either(sent.es_fatca, sent.es_facta);
                fn gone<T>(sent: &Patch<T>) -> bool {
                    matches!(sent, Some(None))
                }
                let cleared = Cleared {
                    names: NamesMarks {
                        given: gone(&sent.nombre),
                        family: gone(&sent.apellido),
                        business: gone(&sent.razon_social),
                    },
                    code: gone(&sent.codigo),
                    email: gone(&sent.email),
                    phone: gone(&sent.celular),
                    kyc: KycMarks {
                        nationality: gone(&sent.nacionalidad),
                        birth_date: gone(&sent.fecha_nacimiento),
                        dni: gone(&sent.dni),
                        marital_status: gone(&sent.estado_civil),
                        occupation: gone(&sent.ocupacion),
                        afip_activity: gone(&sent.actividad_afip),
                        pep: gone(&sent.es_pep),
                        uif: gone(&sent.es_uif),
                        fatca: gone(&fatca),
                        address: no_address,
                        ..KycMarks::default()
                    },
                };
                Self {
                    cuit: sent.cuit_cuil.into(),
                    names: Names {
                        given: sent.nombre.flatten(),
                        family: sent.apellido.flatten(),
                        business: sent.razon_social.flatten(),
                    },
                    name: None,
                    code: sent.codigo.flatten(),
                    email: sent.email.flatten(),
                    phone: sent.celular.flatten(),
                    kyc: Kyc {
                        nationality: sent.nacionalidad.flatten(),
                        birth_date: sent.fecha_nacimiento.flatten(),
                        dni: sent.dni.flatten(),
                        marital_status: sent.estado_civil.flatten(),
                        occupation: sent.ocupacion.flatten(),
                        afip_activity: sent.actividad_afip.flatten(),
                        pep: sent.es_pep.flatten(),
                        uif: sent.es_uif.flatten(),
                        fatca: fatca.flatten(),
                        address,
                        ..Kyc::default()
                    },
                    enabled: sent.habilitado,
                    cleared,
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
    /// A change of a wallet account: what is not sent stays, and null or an empty text clears.
    struct UpdateWalletAccount as UpdateWalletAccountDto(caller) {
        => |fields| keep_the_required(fields);
        /// 11 digits with a right check digit; dashes are taken off. It stays once there is a CVU.
        cuit_cuil: Option<Cuit> = optional(cuit_of(caller)) as Option<String>;
        habilitado;
    }
}

/// Refuses to clear the fields that every account has.
fn keep_the_required(fields: &mut Fields) {
    fields.refuse_null("cuitCuil");
    fields.refuse_null("habilitado");
}

/// Checks that a new account names a person, or a firm.
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
