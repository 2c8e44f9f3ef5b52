//! The one place that turns failures into HTTP: status, code, and a body that explains itself. The sentences for
//! people are in [`super::words`].

use std::borrow::Cow;
use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, ContentType, HeaderName};
use actix_web::{HttpResponse, ResponseError};
use caudal_actors::failure::Failure;
use caudal_actors::ports::BankError;
use caudal_ledger::limits::{Breach, Quantity};
use caudal_ledger::money::{Amount, Money};
use caudal_ledger::rejection::Rejection;
use caudal_ledger::time::Timestamp;
use serde_json::json;

use super::catalogue::ErrorCode;
use super::current::{self, Language};
use super::trace::Code;
use super::unready::Unready;
use super::words::codes::{self, INVALID};
use super::words::{Mistake, Refusal, Say, WrongField};
use crate::bodies::body;
use crate::bodies::texts::Instant;

pub use super::words::FieldError;

/// The header with the public URL of the node that owns the log.
pub const OWNER: HeaderName = HeaderName::from_static("caudal-owner");

body! {
    /// The body of every error.
    pub struct ErrorBody as Error of(error: &ApiError, request: &current::Request, now: Timestamp) {
        => let (bank_status, bank_body) = error.bank();
        /// The HTTP status.
        status_code: u16 = error.status.as_u16();
        /// A sentence for people.
        message: String = error.text(request.language);
        /// When it was answered: RFC 3339, UTC.
        timestamp: Instant = now.into();
        /// A stable word that clients may switch on.
        code: String as ErrorCode = error.code().to_owned();
        /// The id of the request, as in `X-Request-Id`.
        request_id: String = request.id.clone();
        /// The bank's status, when a bank call was involved.
        bank_status?: Option<u16> = bank_status;
        /// The bank's body.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Object, required = false)]
        bank_body: Option<serde_json::Value> = bank_body;
        /// The fields that are wrong.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        errors: Vec<FieldError> = error.fields(request.language);
        /// More about a refusal, by code.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Object, required = false)]
        details: Option<serde_json::Value> = error.details.as_deref().cloned();
    }
}

/// Why a request gets an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// Fields or parameters are wrong.
    Fields(Vec<WrongField>),
    /// The request was refused before an actor was asked.
    Refused(Refusal),
    /// An actor said no, or could not be asked.
    Failed(Failure),
    /// The store does not take writes.
    NotReady {
        /// The failure that an order would get.
        failure: Failure,
        /// The store's own message, for its operators.
        why: String,
    },
}

/// What a handler returns: the response, or the error that is rendered in its place.
pub type HandlerResult = Result<HttpResponse, ApiError>;

/// An error on its way out. Its sentence is made when the body is written, in the language of the request.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiError {
    /// The HTTP status of the answer.
    pub status: StatusCode,
    /// The value from which code and sentence are made.
    pub why: Why,
    /// Further fields of the body, such as the figures of a limit.
    pub details: Option<Box<serde_json::Value>>,
    /// The seconds after which trying again makes sense.
    pub retry_after: Option<u32>,
}

impl ApiError {
    fn of(status: StatusCode, why: Why) -> Self {
        Self {
            status,
            why,
            details: None,
            retry_after: None,
        }
    }

    /// 400 with the fields that are wrong.
    pub fn invalid(wrong: Vec<WrongField>) -> Self {
        Self::of(StatusCode::BAD_REQUEST, Why::Fields(wrong))
    }

    /// 400 with one field that is wrong.
    pub fn field(field: &str, mistake: impl Into<Mistake>) -> Self {
        Self::invalid(vec![WrongField {
            field: field.to_owned(),
            mistake: mistake.into(),
        }])
    }

    /// 503 with the reason as operators read it.
    pub fn not_ready(why: Unready) -> Self {
        let (clock, said) = (matches!(why, Unready::Clock), why.to_string());
        let failure = Failure::from(why);
        if clock {
            // The message of its code says what to do.
            return failure.into();
        }
        Self {
            why: Why::NotReady {
                failure: failure.clone(),
                why: said,
            },
            ..failure.into()
        }
    }

    pub(super) fn with(mut self, details: serde_json::Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Says when to try again.
    pub fn later(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The stable word that clients may switch on.
    pub fn code(&self) -> &'static str {
        match &self.why {
            Why::Fields(_) => INVALID.1,
            Why::Refused(refusal) => refusal.code(),
            Why::Failed(failure) | Why::NotReady { failure, .. } => codes::row(failure).code,
        }
    }

    /// Whether the outcome is unknown.
    pub fn is_unknown(&self) -> bool {
        let failure = match &self.why {
            Why::Failed(failure) | Why::NotReady { failure, .. } => failure,
            Why::Fields(_) | Why::Refused(_) => return false,
        };
        *failure == Failure::OutcomeUnknown
    }

    /// The fields that are wrong, or that differ from an earlier request.
    pub fn wrong(&self) -> Cow<'_, [WrongField]> {
        match &self.why {
            Why::Fields(wrong) => Cow::Borrowed(wrong),
            Why::Failed(Failure::Rejected(Rejection::Document(why))) => {
                Cow::Owned(vec![WrongField {
                    field: "dni".to_owned(),
                    mistake: (*why).into(),
                }])
            }
            Why::Failed(Failure::KeyReused { fields }) => differing(fields),
            Why::Failed(Failure::Rejected(
                Rejection::ExternalIdReused { fields, .. }
                | Rejection::ExternalIdTwice { fields }
                | Rejection::TransferExternalIdReused { fields, .. },
            )) => differing(fields),
            Why::Refused(_) | Why::Failed(_) | Why::NotReady { .. } => Cow::Borrowed(&[]),
        }
    }

    /// The wrong fields as the body shows them, in a language.
    pub fn fields(&self, language: Language) -> Vec<FieldError> {
        let wrong = self.wrong();
        wrong.iter().map(|wrong| wrong.shown(language)).collect()
    }

    /// The bank's status and body, when a call to the bank caused the error.
    fn bank(&self) -> (Option<u16>, Option<serde_json::Value>) {
        match &self.why {
            Why::Failed(Failure::Bank(BankError::Refused(why)) | Failure::NobodyHas(why)) => {
                (Some(why.status), Some(object(&why.body)))
            }
            Why::Failed(
                Failure::Bank(BankError::Failed { status, body })
                | Failure::NotRead(BankError::Failed { status, body }),
            ) => (*status, Some(object(body))),
            _ => (None, None),
        }
    }

    /// The body, with this instant as its time.
    pub fn body(&self, request: &current::Request, now: Timestamp) -> ErrorBody {
        ErrorBody::of(self, request, now)
    }
}

fn differing<T: ToString>(fields: &[T]) -> Cow<'static, [WrongField]> {
    let differs = |field: &T| WrongField {
        field: field.to_string(),
        mistake: Mistake::DiffersFromFirst,
    };
    fields.iter().map(differs).collect()
}

impl Say for ApiError {
    fn say(&self, language: Language, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.why {
            Why::Fields(wrong) => wrong.as_slice().say(language, f),
            Why::Refused(refusal) => refusal.say(language, f),
            Why::Failed(failure) => failure.say(language, f),
            Why::NotReady { why, .. } => f.write_str(why),
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.say(Language::English, f)
    }
}

impl std::error::Error for ApiError {}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        let body = self.body(&current::request(), crate::clock::now());
        let mut answer = HttpResponse::build(self.status);
        answer.insert_header(ContentType::json());
        if let Some(seconds) = self.retry_after {
            answer.insert_header((header::RETRY_AFTER, seconds.to_string()));
        }
        if let Why::Refused(Refusal::NoMethod { methods }) = &self.why {
            answer.insert_header((header::ALLOW, methods.clone()));
        }
        if let Why::Refused(Refusal::NotOwner { url }) = &self.why {
            answer.insert_header((OWNER, url.clone()));
        }
        let mut answer = answer.body(super::text::json(&body));
        answer.extensions_mut().insert(Code(self.code().into()));
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

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        Self::of(refusal.status(), Why::Refused(refusal))
    }
}

impl From<&Failure> for ApiError {
    fn from(failure: &Failure) -> Self {
        let row = codes::row(failure);
        let error = Self {
            retry_after: row.later,
            ..Self::of(row.status, Why::Failed(failure.clone()))
        };
        match failure {
            Failure::Rejected(rejection) => about(error, rejection),
            Failure::NotACursor => Self::field("cursor", Mistake::NotACursor),
            // For these the row says it all.
            _ => error,
        }
    }
}

fn object(body: &str) -> serde_json::Value {
    let parsed: Option<serde_json::Value> = serde_json::from_str(body).ok();
    parsed
        .filter(serde_json::Value::is_object)
        .unwrap_or_else(|| json!({}))
}

/// The details of a shortage: the money that is there, and the amount requested.
fn short(name: &str, there: Money, requested: Amount) -> serde_json::Value {
    json!({name: there.to_string(), "requested": requested.to_string()})
}

/// Adds the details of a refusal by a rule: figures, the holder of an id, when to try again.
fn about(error: ApiError, rejection: &Rejection) -> ApiError {
    match rejection {
        Rejection::OperationInFlight | Rejection::ExternalIdInFlight => error.later(1),
        Rejection::ReturnInFlight => error.later(5),
        Rejection::ExternalIdReused { held_by, cvu, .. } => {
            error.with(json!({"voucherId": held_by.to_string(), "cvu": cvu.to_string()}))
        }
        Rejection::TransferExternalIdReused { held_by, .. } => {
            error.with(json!({"transferId": held_by.to_string()}))
        }
        Rejection::InsufficientFunds {
            available: there,
            requested,
        } => error.with(short("available", *there, *requested)),
        Rejection::HoldRemaining {
            remaining: there,
            requested,
        } => error.with(short("remaining", there.money(), *requested)),
        Rejection::ReversalExceeds {
            original,
            reversed,
            remaining,
        } => error.with(json!({
            "original": original.to_string(),
            "reversed": reversed.to_string(),
            "remaining": remaining.to_string(),
        })),
        Rejection::LimitExceeded(breach) => error.with(of_breach(breach)),
        Rejection::AliasTaken { by: Some(owner) }
        | Rejection::AccountCodeTaken { by: Some(owner) } => error.with(json!({
            "cvu": owner.cvu.map(|cvu| cvu.to_string()),
            "walletAccountId": owner.account.0,
        })),
        Rejection::HoldNotOpen { ended: Some(ended) } => error.with(json!({
            "holdId": ended.id.to_string(),
            "status": ended.status.as_str(),
            "endedAt": ended.at.map(|at| at.to_string()),
        })),
        // For these, status, code and sentence, which every rule has, say it all.
        _ => error,
    }
}

/// The facts about a limit with which a client can tell its own user when to try again.
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
    fn a_breach_is_reported_in_the_units_of_its_limit() {
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
        assert_eq!(
            (error.status.as_u16(), error.code()),
            (400, "limit_exceeded")
        );
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
