//! The stable words of the actors' failures, and of wrong fields, with their statuses.

use actix_web::http::StatusCode;
use caudal_actors::failure::Failure;
use caudal_actors::ports::BankError;

use super::ledger::alias_is_taken;

/// The status and the stable word of wrong fields.
pub(crate) const INVALID: (StatusCode, &str) = (StatusCode::BAD_REQUEST, "invalid_request");
/// The statuses and stable words of the actors' failures other than rules, for the catalogue.
pub(crate) const FAILURES: [(StatusCode, &str); 21] = [
    (StatusCode::BAD_REQUEST, "bank_refused"),
    (StatusCode::NOT_FOUND, "destination_not_found"),
    (StatusCode::BAD_GATEWAY, "bank_failed"),
    (StatusCode::GATEWAY_TIMEOUT, "bank_timeout"),
    (StatusCode::CONFLICT, "idempotency_key_reused"),
    (StatusCode::CONFLICT, "idempotency_in_flight"),
    (StatusCode::NOT_FOUND, "idempotency_key_not_found"),
    (StatusCode::PRECONDITION_FAILED, "version_mismatch"),
    (StatusCode::BAD_REQUEST, "page_too_far"),
    (StatusCode::BAD_REQUEST, "too_many_to_sort"),
    (StatusCode::BAD_REQUEST, "too_many_entries"),
    (StatusCode::TOO_MANY_REQUESTS, "bank_reads_limited"),
    (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
    (StatusCode::SERVICE_UNAVAILABLE, "read_only"),
    (StatusCode::SERVICE_UNAVAILABLE, "clock_in_doubt"),
    (StatusCode::SERVICE_UNAVAILABLE, "shutting_down"),
    (StatusCode::SERVICE_UNAVAILABLE, "realm_closed"),
    (StatusCode::SERVICE_UNAVAILABLE, "outcome_unknown"),
    (StatusCode::SERVICE_UNAVAILABLE, "storage_damaged"),
    (StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
    (StatusCode::CONFLICT, "alias_taken"),
];

/// The stable word of an actor's failure.
pub(crate) fn code(failure: &Failure) -> &'static str {
    match failure {
        Failure::Rejected(rejection) => rejection.code(),
        Failure::Bank(BankError::Refused(why)) if alias_is_taken(why) => "alias_taken",
        Failure::Bank(BankError::Refused(_)) => "bank_refused",
        Failure::NobodyHas(_) => "destination_not_found",
        Failure::Bank(BankError::TimedOut) | Failure::NotRead(BankError::TimedOut) => {
            "bank_timeout"
        }
        Failure::Bank(BankError::Failed { .. }) | Failure::NotRead(_) => "bank_failed",
        Failure::KeyReused { .. } => "idempotency_key_reused",
        Failure::KeyInFlight => "idempotency_in_flight",
        Failure::KeyUnknown => "idempotency_key_not_found",
        Failure::Stale => "version_mismatch",
        Failure::PageTooFar => "page_too_far",
        Failure::TooManyToSort => "too_many_to_sort",
        Failure::TooManyEntries => "too_many_entries",
        Failure::NotACursor => INVALID.1,
        Failure::BankReadsLimited => "bank_reads_limited",
        Failure::Overloaded => "overloaded",
        Failure::ReadOnly => "read_only",
        Failure::ClockInDoubt => "clock_in_doubt",
        Failure::ShuttingDown => "shutting_down",
        Failure::RealmClosed => "realm_closed",
        Failure::OutcomeUnknown => "outcome_unknown",
        Failure::Damaged => "storage_damaged",
        Failure::Bug => "internal_error",
    }
}
