//! Readers of values as clients of the wallet family send them: codes as text or number, dates either way round, a
//! CUIT with its dashes.

use std::borrow::Cow;

use caudal_actors::failure::Failure;
use caudal_http::body::read as read_body;
use caudal_http::caller::Caller;
use caudal_http::persons;
use caudal_http::words::Mistake;
use caudal_ledger::cuit::{Cuit, CuitError};
use caudal_ledger::kyc;
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::{BusinessDay, Timestamp};
use caudal_ledger::vouchers::ExternalDate;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// The fields of orders, as the ledger names them and as clients send them here.
const SENT_AS: [(&str, &str); 5] = [
    ("amount", "importe"),
    ("cvu", "idCuenta"),
    ("voucherTypeCode", "idTipoComprobante"),
    ("fromCvu", "cvu_origen"),
    ("to", "cbu_cvu_destino"),
];

/// Names the fields in which an order differs from an earlier one as they were sent.
pub(crate) fn as_sent<T>(answered: Result<T, Failure>) -> Result<T, Failure> {
    answered.map_err(|mut why| {
        if let Failure::Rejected(
            Rejection::ExternalIdReused { fields, .. }
            | Rejection::TransferExternalIdReused { fields, .. },
        ) = &mut why
        {
            for field in fields {
                let sent = SENT_AS.iter().find(|(native, _)| field == native);
                *field = sent.map_or(*field, |(_, sent)| sent);
            }
        }
        why
    })
}

/// Quotes a whole number, so that it reads like its text.
fn quoted(raw: &str) -> String {
    if !raw.is_empty() && raw.bytes().all(|b| b.is_ascii_digit()) {
        format!("\"{raw}\"")
    } else {
        raw.to_owned()
    }
}

/// Reads a text or a whole number, as text of at most `max` characters.
pub(crate) fn code(max: usize) -> impl FnOnce(&str) -> Result<String, Mistake> {
    move |raw| read_body::line(max)(&quoted(raw))
}

/// Reads a text or a whole number, as text that `parse` reads further.
pub(crate) fn code_as<T, E: Into<Mistake>>(
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> impl FnOnce(&str) -> Result<T, Mistake> {
    move |raw| read_body::text(parse)(&quoted(raw))
}

/// A whole number, or a text that holds one.
pub(crate) fn number(raw: &str) -> Result<u64, Mistake> {
    let text: String = serde_json::from_str(&quoted(raw)).map_err(|_| Mistake::NotWhole)?;
    text.trim().parse().map_err(|_| Mistake::NotWhole)
}

/// `true` or `false`, also as text, in any case.
pub(crate) fn boolean(raw: &str) -> Result<bool, Mistake> {
    read_body::boolean(&raw.trim_matches('"').trim().to_ascii_lowercase())
}

/// 1 or -1, as a number or a text.
pub(crate) fn sign(raw: &str) -> Result<bool, Mistake> {
    match raw.trim_matches('"') {
        "1" | "+1" => Ok(true),
        "-1" => Ok(false),
        _ => Err(Mistake::NotASign),
    }
}

/// A CUIT, with or without the dashes between its parts.
pub(crate) fn cuit(relaxed: bool, text: &str) -> Result<Cuit, CuitError> {
    let digits: String = text.chars().filter(|c| !matches!(c, '-' | ' ')).collect();
    persons::parse_cuit(relaxed, &digits)
}

/// Like [`cuit`], by the policy of the caller's realm.
pub(crate) fn cuit_of(caller: &Caller) -> impl FnOnce(&str) -> Result<Cuit, Mistake> + use<> {
    let relaxed = caller.identity.relaxed_cuit;
    code_as(move |text| cuit(relaxed, text))
}

/// Turns a date into `YYYY-MM-DD`: it may come so, the other way round, or with a time after it.
fn turned(text: &str) -> String {
    let date = text.split(['T', ' ']).next().unwrap_or_default();
    let parts: Vec<_> = date.split('-').collect();
    match parts.as_slice() {
        [day, month, year] if day.len() == 2 && year.len() == 4 => format!("{year}-{month}-{day}"),
        _ => date.to_owned(),
    }
}

/// A business day, `YYYY-MM-DD` or `DD-MM-YYYY`. If a time follows, the day counts as it is written.
pub(crate) fn day(text: &str) -> Result<BusinessDay, Mistake> {
    dated(text).ok_or(Mistake::NotADateEitherWay)
}

/// How the document shows the tenant's own date of a movement, which answers repeat as it was sent.
#[derive(Debug)]
pub(crate) struct FechaExterna;

impl PartialSchema for FechaExterna {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some(
                r"^([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{2}-[0-9]{2}-[0-9]{4})([T ].+)?$",
            ))
            .max_length(Some(ExternalDate::SENT_MAX))
            .description(Some("A date, either way round, also with a time."))
            .examples(["2026-03-01", "01-03-2026"])
            .into()
    }
}

impl ToSchema for FechaExterna {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("FechaExterna")
    }
}

/// The tenant's own date of a movement: like [`day`], with the text as it was sent.
pub(crate) fn external_date(text: &str) -> Result<ExternalDate, Mistake> {
    let day = day(text)?;
    if text.len() > ExternalDate::SENT_MAX {
        return Err(Mistake::NotADateEitherWay);
    }
    let sent = Some(text.to_owned()).filter(|sent| *sent != day.to_string());
    let day = day.date();
    Ok(ExternalDate { day, sent })
}

fn dated(text: &str) -> Option<BusinessDay> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let day = BusinessDay::parse(&turned(date)).filter(|_| date.len() == 10)?;
    match time {
        None => Some(day),
        Some(time) => {
            // In a query that was not encoded, the plus sign of a zone has become a space.
            let at = format!("{day}T{}", time.replace(' ', "+"));
            let zoned = Timestamp::parse(&at).or_else(|| Timestamp::parse(&(at + "Z")));
            zoned.map(|_| day)
        }
    }
}

/// The day of a birth, either way round.
fn birth_date(text: &str) -> Result<String, Mistake> {
    kyc::birth_date(&turned(text)).map_err(|_| Mistake::NotADateEitherWay)
}

/// Like [`birth_date`], as a text of a body, and not in the future.
pub(crate) fn born(caller: &Caller) -> impl FnOnce(&str) -> Result<String, Mistake> + use<> {
    let today = caller.now().business_day().to_string();
    read_body::text(move |text| match birth_date(text)? {
        born if born > today => Err(Mistake::InTheFuture),
        born => Ok(born),
    })
}

/// A number as people write it, with dots between its thousands.
fn undotted(text: &str) -> String {
    text.chars().filter(|c| *c != '.').collect()
}

/// The number of an identity document.
pub(crate) fn dni(raw: &str) -> Result<String, Mistake> {
    code_as(|text| kyc::document(&undotted(text)))(raw)
}

/// Six digits; a JSON number has lost its leading zeros, which are put back.
pub(crate) fn activity(raw: &str) -> Result<String, Mistake> {
    let read = code_as(|text| kyc::afip_activity(&undotted(text)));
    if raw.bytes().all(|b| b.is_ascii_digit()) {
        read(&format!("\"{raw:0>6}\""))
    } else {
        read(raw)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_either_way_round() {
        for text in [
            "2026-03-01",
            "01-03-2026",
            "2026-03-01T00:00:00",
            "2026-03-01T23:59:59.999Z",
            "01-03-2026 10:00:00",
            "2026-03-01T22:00:00-03:00",
            "2026-03-01T22:00:00 03:00",
        ] {
            assert_eq!(day(text).unwrap().to_string(), "2026-03-01", "{text}");
        }
        for bad in [
            "",
            "2026-3-1",
            "1-3-2026",
            "2026-03-01T",
            "2026-03-01T25:00:00",
            "2026-03-01 mediodía",
            "30-02-2026",
            "03-2026-01",
        ] {
            assert!(day(bad).is_err(), "{bad}");
        }
        for text in ["1949-02-16", "16-02-1949", "1949-02-16T00:00:00.000Z"] {
            assert_eq!(birth_date(text).as_deref(), Ok("1949-02-16"), "{text}");
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
