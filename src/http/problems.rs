//! What the OpenAPI document says of every operation: its errors, and the header that makes a POST safe to
//! repeat.

use utoipa::IntoParams;

use super::errors::ErrorBody;

/// The errors that every operation may answer.
#[derive(Debug, utoipa::IntoResponses)]
pub enum Problems {
    /// The request is invalid or the ledger refuses it; `code` says which.
    #[response(status = 400)]
    BadRequest(#[to_schema] ErrorBody),
    /// API key absent or invalid.
    #[response(status = 401)]
    Unauthorized(#[to_schema] ErrorBody),
    /// The key lacks a scope (`scope_missing`, which names it) or may not be used from this address
    /// (`key_address`).
    #[response(status = 403)]
    Forbidden(#[to_schema] ErrorBody),
    /// Not found, or not the caller's.
    #[response(status = 404)]
    NotFound(#[to_schema] ErrorBody),
    /// It conflicts with what is there, or with a request in flight.
    #[response(status = 409)]
    Conflict(#[to_schema] ErrorBody),
    /// `If-Match` names another version.
    #[response(status = 412)]
    Stale(#[to_schema] ErrorBody),
    /// The body is larger than 64 KiB (1 MiB for a batch).
    #[response(status = 413)]
    TooLarge(#[to_schema] ErrorBody),
    /// A body came without `Content-Type: application/json`.
    #[response(status = 415)]
    NotJson(#[to_schema] ErrorBody),
    /// Too many requests with this key; see `Retry-After`.
    #[response(status = 429)]
    TooMany(#[to_schema] ErrorBody),
    /// The bank failed; see `bankStatus` and `bankBody`.
    #[response(status = 502)]
    BankFailed(#[to_schema] ErrorBody),
    /// Overloaded, shutting down or without storage; see `Retry-After`.
    #[response(status = 503)]
    Unavailable(#[to_schema] ErrorBody),
    /// The bank did not answer in time.
    #[response(status = 504)]
    BankTimeout(#[to_schema] ErrorBody),
}

/// Parameters of every POST.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "read by the OpenAPI document only")]
pub struct PostParams {
    /// Makes the request safe to repeat: 1–255 visible ASCII characters. The same key with the same body gives the
    /// first answer again. Bodies are the same when their JSON values are: order of members, blanks and escapes do not
    /// count.
    #[param(rename = "Idempotency-Key")]
    key: Option<String>,
}
