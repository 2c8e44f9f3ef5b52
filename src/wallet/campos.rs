//! Readers of what clients of the wallet family send: codes as text or number, dates either way
//! round, a CUIT with its dashes.

use caudal_ledger::cuit::{Cuit, CuitError};
use caudal_ledger::kyc::{self, Address, Kyc};
use caudal_ledger::particulars::{Names, Particulars};
use caudal_ledger::time::BusinessDay;

use crate::http::body::{Fields, read as read_body};
use crate::http::caller::Caller;
use crate::http::persons;
use crate::http::words::Mistake;

/// The longest name, in characters.
const NAME_MAX: usize = 100;
/// The longest code of an account, in characters.
const CODE_MAX: usize = 64;

/// Whole numbers are as good as their text.
fn quoted(raw: &str) -> String {
    if !raw.is_empty() && raw.bytes().all(|b| b.is_ascii_digit()) {
        format!("\"{raw}\"")
    } else {
        raw.to_owned()
    }
}

/// A text or a whole number, as text of at most `max` characters.
pub fn code(max: usize) -> impl FnOnce(&str) -> Result<String, Mistake> {
    move |raw| read_body::line(max)(&quoted(raw))
}

/// A text or a whole number, as text read further by `parse`.
pub fn code_as<T, E: Into<Mistake>>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(&str) -> Result<T, Mistake> {
    move |raw| read_body::text(parse)(&quoted(raw))
}

/// A whole number, or a text that holds one.
pub fn number(raw: &str) -> Result<u64, Mistake> {
    let text: String = serde_json::from_str(&quoted(raw)).map_err(|_| Mistake::NotWhole)?;
    text.trim().parse().map_err(|_| Mistake::NotWhole)
}

/// true or false, or a text that says so.
pub fn boolean(raw: &str) -> Result<bool, Mistake> {
    read_body::boolean(raw.trim_matches('"'))
}

/// 1 or -1, as a number or a text.
pub fn sign(raw: &str) -> Result<bool, Mistake> {
    match raw.trim_matches('"') {
        "1" | "+1" => Ok(true),
        "-1" => Ok(false),
        _ => Err(Mistake::NotASign),
    }
}

/// A CUIT, with or without the dashes between its parts.
pub fn cuit(relaxed: bool, text: &str) -> Result<Cuit, CuitError> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    persons::parse_cuit(relaxed, &digits)
}

/// `YYYY-MM-DD` of a date that comes so, the other way round, or with a time after it.
fn turned(text: &str) -> String {
    let date = text.split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<_> = date.split('-').collect();
    match parts.as_slice() {
        [day, month, year] if day.len() == 2 && year.len() == 4 => format!("{year}-{month}-{day}"),
        _ => date.to_owned(),
    }
}

/// A business day, `YYYY-MM-DD` or `DD-MM-YYYY`.
pub fn day(text: &str) -> Result<BusinessDay, Mistake> {
    // Only a date: a time would say more than is asked for.
    let whole = text.len() == 10;
    BusinessDay::parse(&turned(text))
        .filter(|_| whole)
        .ok_or(Mistake::NotADateEitherWay)
}

fn born(text: &str) -> Result<String, Mistake> {
    kyc::birth_date(&turned(text)).map_err(|_| Mistake::NotADateEitherWay)
}

/// A number as people write it, with dots between its thousands.
fn undotted(text: &str) -> String {
    text.chars().filter(|c| *c != '.').collect()
}

/// The number of an identity document.
fn dni(raw: &str) -> Result<String, Mistake> {
    code_as(|text| kyc::dni(&undotted(text)))(raw)
}

/// Six digits; a number has lost its zeros in front.
fn activity(raw: &str) -> Result<String, Mistake> {
    let read = code_as(|text| kyc::afip_activity(&undotted(text)));
    if raw.bytes().all(|b| b.is_ascii_digit()) {
        read(&format!("\"{raw:0>6}\""))
    } else {
        read(raw)
    }
}

/// An address; town and province come as code or as id.
fn address(inner: &mut Fields) -> Address {
    let mut either = |name: &str, other: &str| {
        let (first, second) = (
            inner.optional(name, code(40)),
            inner.optional(other, code(40)),
        );
        first.or(second)
    };
    let city_code = either("localidadCodigo", "localidadId");
    let province_code = either("provinciaCodigo", "provinciaId");
    Address {
        street: inner.optional("calle", read_body::line(100)),
        number: inner.optional("numero", code(20)),
        floor: inner.optional("piso", code(20)),
        apartment: inner.optional("departamento", code(20)),
        city_code,
        province_code,
        postal_code: inner.optional("cp", code(10)),
    }
}

/// The address under either of its names, merged field by field; `domicilio` wins.
fn addresses(fields: &mut Fields) -> Address {
    let own = fields.object("domicilio", address).unwrap_or_default();
    let other = fields.object("datosDomicilio", address).unwrap_or_default();
    Address {
        street: own.street.or(other.street),
        number: own.number.or(other.number),
        floor: own.floor.or(other.floor),
        apartment: own.apartment.or(other.apartment),
        city_code: own.city_code.or(other.city_code),
        province_code: own.province_code.or(other.province_code),
        postal_code: own.postal_code.or(other.postal_code),
    }
}

/// All that a wallet account says of itself; what is not sent is `None`.
pub fn particulars(fields: &mut Fields, caller: &Caller) -> Particulars {
    let relaxed = caller.identity.relaxed_cuit;
    let fatca = fields.optional("esFatca", boolean);
    let misspelt = fields.optional("esFacta", boolean);
    Particulars {
        cuit: fields.optional("cuitCuil", code_as(|text| cuit(relaxed, text))),
        names: Names {
            given: fields.optional("nombre", read_body::line(NAME_MAX)),
            family: fields.optional("apellido", read_body::line(NAME_MAX)),
            business: fields.optional("razonSocial", read_body::line(NAME_MAX)),
        },
        name: None,
        code: fields.optional("codigo", code(CODE_MAX)),
        email: fields.optional("email", read_body::text(kyc::email)),
        phone: fields.optional("celular", code_as(kyc::phone)),
        kyc: Kyc {
            nationality: fields.optional("nacionalidad", read_body::text(kyc::country)),
            birth_date: fields.optional("fechaNacimiento", read_body::text(born)),
            dni: fields.optional("dni", dni),
            marital_status: fields.optional("estadoCivil", read_body::line(40)),
            occupation: fields.optional("ocupacion", read_body::line(100)),
            afip_activity: fields.optional("actividadAfip", activity),
            pep: fields.optional("esPep", boolean),
            uif: fields.optional("esUif", boolean),
            fatca: fatca.or(misspelt),
            address: addresses(fields),
            ..Kyc::default()
        },
        enabled: fields.optional("habilitado", boolean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_either_way_round() {
        for text in ["2026-03-01", "01-03-2026"] {
            assert_eq!(day(text).unwrap().to_string(), "2026-03-01", "{text}");
        }
        for bad in [
            "",
            "2026-3-1",
            "1-3-2026",
            "2026-03-01T10:00:00Z",
            "30-02-2026",
            "03-2026-01",
        ] {
            assert!(day(bad).is_err(), "{bad}");
        }
        for text in ["1949-02-16", "16-02-1949", "1949-02-16T00:00:00.000Z"] {
            assert_eq!(born(text).as_deref(), Ok("1949-02-16"), "{text}");
        }
    }

    #[test]
    fn codes_are_texts_or_numbers() {
        assert_eq!(code(5)("12").as_deref(), Ok("12"));
        assert_eq!(code(5)("\"ab\"").as_deref(), Ok("ab"));
        assert!(code(5)("-1").is_err() && code(5)("1.5").is_err() && code(5)("{}").is_err());
        assert_eq!((number("7"), number("\"7\"")), (Ok(7), Ok(7)));
        assert!(number("-7").is_err() && number("1e3").is_err() && number("7.0").is_err());
        assert_eq!(activity("7").as_deref(), Ok("000007"));
        assert_eq!(activity("\"000011\"").as_deref(), Ok("000011"));
        assert!(activity("\"7\"").is_err());
        assert_eq!((sign("1"), sign("\"-1\"")), (Ok(true), Ok(false)));
        assert!(sign("0").is_err());
    }
}
