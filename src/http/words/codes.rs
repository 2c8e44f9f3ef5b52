//! The response to each failure of the actors, in one row: status, stable word, when to try again, and the sentences in both
//! languages.

use std::fmt;

use actix_web::http::StatusCode;
use caudal_actors::failure::Failure;
use caudal_actors::ports::BankError;
use caudal_ledger::bank::BankRefusal;

use super::{Say, ledger};
use crate::current::Language;

/// The status and the stable word of wrong fields.
pub(crate) const INVALID: (StatusCode, &str) = (StatusCode::BAD_REQUEST, "invalid_request");

/// The response to a failure.
pub(crate) struct FailureRow {
    /// The status of the answer.
    pub status: StatusCode,
    /// The stable word that clients may switch on.
    pub code: &'static str,
    /// The seconds after which trying again makes sense.
    pub later: Option<u32>,
    /// The sentence in English, if it is not the failure's own text.
    english: Option<&'static str>,
    spanish: &'static str,
}

/// Declares the responses to failures: the first row that fits counts. `later` precedes the seconds after which to try
/// again, `said` an English sentence that is not the failure's own text.
macro_rules! failures {
    ($(
        $failure:pat $(if $guard:expr)? =>
            $status:ident, $code:literal $(, later $seconds:literal)? $(, said $english:literal)?, $spanish:literal;
    )+) => {
        /// The statuses and stable words of the failures other than rules, for the catalogue.
        pub(crate) const FAILURES: &[(StatusCode, &str)] = &[$((StatusCode::$status, $code)),+];

        /// The response to a failure.
        pub(crate) fn row(failure: &Failure) -> FailureRow {
            match failure {
                Failure::Rejected(rejection) => FailureRow {
                    status: ledger::status(rejection),
                    code: rejection.code(),
                    later: None,
                    english: None,
                    spanish: ledger::rule(rejection),
                },
                $($failure $(if $guard)? => FailureRow {
                    status: StatusCode::$status,
                    code: $code,
                    later: [$($seconds)?].first().copied(),
                    english: [$($english)?].first().copied(),
                    spanish: $spanish,
                },)+
            }
        }
    };
}

failures! {
    // The bank.
    Failure::Bank(BankError::Refused(why)) if alias_is_taken(why) => CONFLICT, "alias_taken",
        said "the alias is taken",
        "El alias ya está en uso";
    Failure::Bank(BankError::Refused(_)) => BAD_REQUEST, "bank_refused",
        said "the bank refused the operation; see bankBody",
        "El banco rechazó la operación; ver bankBody";
    Failure::Bank(BankError::Failed { .. }) => BAD_GATEWAY, "bank_failed",
        said "the bank failed; the operation goes on being tried",
        "El banco falló; la operación se sigue intentando";
    Failure::Bank(BankError::TimedOut) => GATEWAY_TIMEOUT, "bank_timeout",
        said "the bank did not answer in time; the operation goes on being tried",
        "El banco no respondió a tiempo; la operación se sigue intentando";
    Failure::NotRead(BankError::TimedOut) => GATEWAY_TIMEOUT, "bank_timeout",
        said "the bank did not answer in time; nothing was changed and nothing goes on: ask again",
        "El banco no respondió a tiempo; no se cambió nada y nada queda en curso: vuelva a consultar";
    Failure::NotRead(BankError::Failed { .. } | BankError::Refused(_)) => BAD_GATEWAY, "bank_failed",
        said "the bank failed; nothing was changed and nothing goes on: ask again",
        "El banco falló; no se cambió nada y nada queda en curso: vuelva a consultar";
    Failure::NobodyHas(_) => NOT_FOUND, "destination_not_found",
        "Nadie tiene ese CBU, CVU o alias";
    Failure::BankReadsLimited => TOO_MANY_REQUESTS, "bank_reads_limited", later 1,
        "Demasiadas consultas al banco (búsquedas, conciliación, posiciones); reintente en unos segundos";

    // Repeats and versions.
    Failure::KeyReused { .. } => CONFLICT, "idempotency_key_reused",
        "El Idempotency-Key ya fue usado con otros datos";
    Failure::KeyInFlight => CONFLICT, "idempotency_in_flight", later 1,
        "La primera solicitud con este Idempotency-Key está en curso; reintente en unos segundos";
    Failure::KeyUnknown => NOT_FOUND, "idempotency_key_not_found",
        "No se conoce ninguna solicitud con este Idempotency-Key";
    Failure::Stale => PRECONDITION_FAILED, "version_mismatch",
        "La cuenta cambió desde que se leyó (If-Match)";

    // Lists.
    Failure::PageTooFar => BAD_REQUEST, "page_too_far",
        "La página está detrás de más registros de los que una consulta recorre; siga con cursor o acote las fechas";
    Failure::TooManyToSort => BAD_REQUEST, "too_many_to_sort",
        "Hay más registros de los que una consulta ordena; acote las fechas u omita sort";
    Failure::TooManyEntries => BAD_REQUEST, "too_many_entries",
        "El día tiene más asientos hasta ese instante de los que una consulta cuenta; pida una fecha";
    Failure::NotACursor => BAD_REQUEST, "invalid_request",
        "El cursor no es de esta lista; empiece sin cursor";

    // The service.
    Failure::Overloaded => SERVICE_UNAVAILABLE, "overloaded", later 1,
        "El servicio está ocupado; reintente en unos segundos";
    Failure::ReadOnly => SERVICE_UNAVAILABLE, "read_only", later 30,
        "Por el momento no se aceptan cambios; reintente más tarde";
    Failure::ClockInDoubt => SERVICE_UNAVAILABLE, "clock_in_doubt", later 30,
        "El servicio duda de su reloj y no acepta cambios; reintente más tarde";
    Failure::ShuttingDown => SERVICE_UNAVAILABLE, "shutting_down", later 5,
        "El servicio se está reiniciando; reintente en unos segundos";
    Failure::RealmClosed => SERVICE_UNAVAILABLE, "realm_closed", later 30,
        "Este espacio está cerrado porque se está moviendo; reintente más tarde o consulte a quien opera el servicio";
    Failure::OutcomeUnknown => SERVICE_UNAVAILABLE, "outcome_unknown", later 1,
        "No se conoce el resultado; repita la solicitud con el mismo Idempotency-Key o idExterno";
    Failure::Damaged => SERVICE_UNAVAILABLE, "storage_damaged", later 60,
        "El servicio no puede leer sus datos; reintente más tarde";
    Failure::Bug => INTERNAL_SERVER_ERROR, "internal_error",
        "Error interno del servicio; no se hizo nada; avise a quien lo opera";
}

/// Whether the bank refuses because the alias belongs to another account: then 409 instead of 400 with the bank's
/// words.
fn alias_is_taken(why: &BankRefusal) -> bool {
    let body: Option<serde_json::Value> = serde_json::from_str(&why.body).ok();
    let code = body.as_ref().and_then(|body| body.get("code"));
    code.and_then(serde_json::Value::as_str) == Some("VW007")
}

impl Say for Failure {
    fn say(&self, language: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailureRow {
            english, spanish, ..
        } = row(self);
        match (language, english) {
            (Language::Spanish, _) => f.write_str(spanish),
            (Language::English, Some(english)) => f.write_str(english),
            (Language::English, None) => fmt::Display::fmt(self, f),
        }
    }
}
