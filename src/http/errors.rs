//! The one place that turns failures into HTTP: status, code, and a body that explains itself.

use actix_web::http::StatusCode;
use actix_web::http::header::{self, ContentType};
use actix_web::{HttpResponse, ResponseError};
use caudal_actors::failure::Failure;
use caudal_actors::ports::BankError;
use caudal_ledger::facts::BankRefusal;
use caudal_ledger::limits::{Breach, Quantity};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use super::trace::Code;
use super::{frame, spanish};

/// One field that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, ToSchema)]
pub struct FieldError {
    /// The field or parameter, with dots between levels.
    pub field: String,
    /// What is wrong with it and what would be right.
    pub message: String,
}

/// The body of every error (contract §1).
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// The HTTP status.
    pub status_code: u16,
    /// A sentence for people.
    pub message: String,
    /// When it was answered: RFC 3339, UTC.
    pub timestamp: String,
    /// A stable word that clients may switch on.
    pub code: String,
    /// The id of the request, as in `X-Request-Id`.
    pub request_id: String,
    /// The bank's status, when a bank call was involved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_status: Option<u16>,
    /// The bank's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub bank_body: Option<serde_json::Value>,
    /// The fields that are wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// More about a refusal, by code.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub details: Option<serde_json::Value>,
}

/// An error on its way out.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiError {
    /// The status.
    pub status: StatusCode,
    /// The stable word.
    pub code: &'static str,
    /// The sentence.
    pub message: String,
    /// The bank's status and body.
    pub bank: Option<Box<(Option<u16>, serde_json::Value)>>,
    /// The fields that are wrong.
    pub errors: Vec<FieldError>,
    /// More about it.
    pub details: Option<Box<serde_json::Value>>,
    /// In how many seconds trying again makes sense.
    pub retry_after: Option<u32>,
    /// The methods that the path knows, for 405.
    pub allow: Option<String>,
}

impl ApiError {
    /// An error with nothing but its sentence.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            bank: None,
            errors: Vec::new(),
            details: None,
            retry_after: None,
            allow: None,
        }
    }

    /// 400 with the fields that are wrong.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let message = match errors.as_slice() {
            [one] => format!("{} {}", one.field, one.message),
            _ => format!("{} fields are wrong; see errors", errors.len()),
        };
        Self {
            errors,
            ..Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
        }
    }

    /// 400 with one field that is wrong.
    pub fn field(field: &str, message: impl ToString) -> Self {
        let message = message.to_string();
        Self::invalid(vec![FieldError {
            field: field.to_owned(),
            message,
        }])
    }

    /// 401: one text for every cause.
    pub fn unauthorized() -> Self {
        let message = "API key absent or invalid; send it in the x-api-key header";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    fn with(mut self, details: serde_json::Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    fn differing(mut self, fields: &[&str]) -> Self {
        self.errors = fields.iter().map(|field| differs(field)).collect();
        self
    }

    /// Says when to try again.
    pub fn later(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The body, as of an instant.
    pub fn body(&self, request: &frame::Request, now: Timestamp) -> ErrorBody {
        let (message, errors) = match request.language {
            frame::Language::English => (self.message.clone(), self.errors.clone()),
            frame::Language::Spanish => (spanish::sentence(self), spanish::fields(&self.errors)),
        };
        ErrorBody {
            status_code: self.status.as_u16(),
            message,
            timestamp: now.to_string(),
            code: self.code.to_owned(),
            request_id: request.id.clone(),
            bank_status: self.bank.as_ref().and_then(|bank| bank.0),
            bank_body: self.bank.as_ref().map(|bank| bank.1.clone()),
            errors,
            details: self.details.as_deref().cloned(),
        }
    }
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let body = self.body(&frame::request(), crate::clock::now());
        let mut answer = HttpResponse::build(self.status);
        answer.insert_header(ContentType::json());
        if let Some(seconds) = self.retry_after {
            answer.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        if let Some(methods) = &self.allow {
            answer.insert_header((header::ALLOW, methods.clone()));
        }
        let mut answer = answer.body(serde_json::to_string(&body).unwrap_or_default());
        answer.extensions_mut().insert(Code(self.code.into()));
        answer
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> Self {
        Failure::from(rejection).into()
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        Self::from(&failure)
    }
}

impl From<&Failure> for ApiError {
    fn from(failure: &Failure) -> Self {
        let sentence = failure.to_string();
        let of = |status, code| Self::new(status, code, sentence.clone());
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        match failure {
            Failure::Rejected(rejection) => refused(rejection),
            Failure::Bank(BankError::Refused(why)) => bank_refused(why),
            Failure::Bank(BankError::Failed { status, body }) => Self {
                bank: Some(Box::new((*status, object(body)))),
                message: "the bank failed; the operation goes on being tried".into(),
                ..of(StatusCode::BAD_GATEWAY, "bank_failed")
            },
            Failure::Bank(BankError::TimedOut) => Self {
                message: "the bank did not answer in time; the operation goes on being tried"
                    .into(),
                ..of(StatusCode::GATEWAY_TIMEOUT, "bank_timeout")
            },
            Failure::KeyReused { fields } => Self {
                errors: fields.iter().map(|field| differs(field)).collect(),
                ..of(StatusCode::CONFLICT, "idempotency_key_reused")
            },
            Failure::KeyInFlight => of(StatusCode::CONFLICT, "idempotency_in_flight").later(1),
            Failure::KeyUnknown => of(StatusCode::NOT_FOUND, "idempotency_key_not_found"),
            Failure::Stale => of(StatusCode::PRECONDITION_FAILED, "version_mismatch"),
            Failure::Overloaded => of(unavailable, "overloaded").later(1),
            Failure::ReadOnly => of(unavailable, "read_only").later(30),
            Failure::ClockInDoubt => of(unavailable, "clock_in_doubt").later(30),
            Failure::ShuttingDown => of(unavailable, "shutting_down").later(5),
            Failure::OutcomeUnknown => of(unavailable, "outcome_unknown").later(1),
            Failure::Damaged => of(unavailable, "storage_damaged").later(60),
            Failure::Bug => of(StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
        }
    }
}

fn differs(field: &str) -> FieldError {
    FieldError {
        field: field.to_owned(),
        message: "differs from the first request".into(),
    }
}

fn object(body: &str) -> serde_json::Value {
    let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
    parsed
        .filter(serde_json::Value::is_object)
        .unwrap_or_else(|| json!({}))
}

/// The bank said no: 400 with its words, and 409 where what it says is that an alias is taken.
fn bank_refused(why: &BankRefusal) -> ApiError {
    let body = object(&why.body);
    let taken = body.get("code").and_then(serde_json::Value::as_str) == Some("VW007");
    let (status, code, message) = if taken {
        (StatusCode::CONFLICT, "alias_taken", "the alias is taken")
    } else {
        (
            StatusCode::BAD_REQUEST,
            "bank_refused",
            "the bank refused the operation; see bankBody",
        )
    };
    ApiError {
        bank: Some(Box::new((Some(why.status), body))),
        ..ApiError::new(status, code, message)
    }
}

/// What there is beside what was asked for.
fn short(name: &str, there: Money, requested: Amount) -> serde_json::Value {
    json!({name: there.to_string(), "requested": requested.to_string()})
}

/// Refusals of the ledger. Every variant is named: a new one stops the compiler here.
#[expect(clippy::too_many_lines, reason = "a line for each rejection")]
fn refused(rejection: &Rejection) -> ApiError {
    let of = |status| ApiError::new(status, rejection.code(), rejection.to_string());
    let (bad, conflict) = (StatusCode::BAD_REQUEST, StatusCode::CONFLICT);
    match rejection {
        Rejection::AccountNotFound
        | Rejection::VoucherNotFound
        | Rejection::VoucherTypeNotFound { .. }
        | Rejection::HoldNotFound
        | Rejection::TransferNotFound
        | Rejection::CaseNotFound
        | Rejection::WebhookNotFound
        | Rejection::DeliveryNotFound
        | Rejection::TenantNotFound
        | Rejection::KeyNotFound => of(StatusCode::NOT_FOUND),
        Rejection::AliasTaken
        | Rejection::TenantTaken
        | Rejection::AccountCodeTaken
        | Rejection::CaseDecided
        | Rejection::EnrolledOtherwise
        | Rejection::VoucherTypeTaken { .. } => of(conflict),
        Rejection::OperationInFlight | Rejection::ExternalIdInFlight => of(conflict).later(1),
        Rejection::ReturnInFlight => of(conflict).later(5),
        Rejection::ExternalIdReused {
            held_by,
            cvu,
            fields,
        } => {
            let held_by = json!({"voucherId": held_by.to_string(), "cvu": cvu.to_string()});
            of(conflict).differing(fields).with(held_by)
        }
        Rejection::ExternalIdTwice { fields } => of(conflict).differing(fields),
        Rejection::TransferExternalIdReused { held_by, fields } => {
            let held_by = json!({"transferId": held_by.to_string()});
            of(conflict).differing(fields).with(held_by)
        }
        Rejection::InsufficientFunds {
            available: there,
            requested,
        } => of(bad).with(short("available", *there, *requested)),
        Rejection::HoldRemaining {
            remaining: there,
            requested,
        } => of(bad).with(short("remaining", there.money(), *requested)),
        Rejection::LimitExceeded(breach) => of(bad).with(of_breach(breach)),
        Rejection::AccountWithoutCvu
        | Rejection::AccountClosed
        | Rejection::AccountSuspended
        | Rejection::AccountNotSuspended
        | Rejection::AccountDisabled
        | Rejection::CuitImmutable
        | Rejection::AccountNotEmpty { .. }
        | Rejection::AmountOverflow
        | Rejection::TooManyAccounts { .. }
        | Rejection::FirstHolderDiffers
        | Rejection::HolderTwice
        | Rejection::PersonTypeContradicts
        | Rejection::VoucherTypeUnknown { .. }
        | Rejection::VoucherTypeInactive { .. }
        | Rejection::VoucherTypeIsSystem { .. }
        | Rejection::VoucherTypeSense { .. }
        | Rejection::TooManyVoucherTypes { .. }
        | Rejection::TooManyWebhooks { .. }
        | Rejection::TooManyReplays { .. }
        | Rejection::HoldNotOpen
        | Rejection::ExpiryInThePast
        | Rejection::TooManyOpenHolds { .. }
        | Rejection::TooManyOpenTransfers { .. }
        | Rejection::TransferNotOpen
        | Rejection::TransferNotInAudit { .. }
        | Rejection::SenderUnknown
        | Rejection::NothingToReverse
        | Rejection::SameAccount
        | Rejection::DestinationClosed
        | Rejection::DestinationNotFound
        | Rejection::KeyNotActive
        | Rejection::TooManyKeys { .. } => of(bad),
    }
}

/// What a client needs to know of a limit to tell its own user when to try again.
fn of_breach(breach: &Breach) -> serde_json::Value {
    let shown = |quantity: Quantity| match quantity {
        Quantity::Money(money) => serde_json::Value::from(money.to_string()),
        Quantity::Count(count) => serde_json::Value::from(count),
    };
    json!({
        "limit": breach.limit,
        "level": breach.level.as_str(),
        "window": breach.window.as_str(),
        "maximum": shown(breach.maximum),
        "used": shown(breach.used),
        "requested": shown(breach.requested),
        "remaining": shown(breach.remaining),
        "resetsAt": breach.resets_at.map(|at| at.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use caudal_ledger::limits::{Level, Window};
    use caudal_ledger::money::Money;

    use super::*;

    #[test]
    fn a_breach_is_told_in_the_units_of_its_limit() {
        let money = |centavos| Quantity::Money(Money::from_centavos(centavos));
        let breach = Breach {
            limit: "dailyAmount",
            level: Level::Psp,
            window: Window::Day,
            maximum: money(10_000),
            used: money(9_000),
            requested: money(1_001),
            remaining: money(1_000),
            resets_at: Timestamp::parse("2026-03-02T03:00:00Z"),
        };
        let error = ApiError::from(Rejection::LimitExceeded(Box::new(breach.clone())));
        assert_eq!((error.status.as_u16(), error.code), (400, "limit_exceeded"));
        assert_eq!(
            error.details.unwrap().to_string(),
            r#"{"level":"psp","limit":"dailyAmount","maximum":"100.00","remaining":"10.00","requested":"10.01","resetsAt":"2026-03-02T03:00:00.000Z","used":"90.00","window":"day"}"#
        );
        let count = Breach {
            limit: "dailyCount",
            maximum: Quantity::Count(3),
            used: Quantity::Count(3),
            requested: Quantity::Count(1),
            remaining: Quantity::Count(0),
            resets_at: None,
            ..breach
        };
        let details = of_breach(&count);
        assert_eq!(
            (&details["maximum"], &details["resetsAt"]),
            (&3.into(), &serde_json::Value::Null)
        );
    }
}
