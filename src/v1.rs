//! The native family, `/v1`: keys are CVUs, names are English, amounts are strings.

pub mod account_bodies;
pub mod accounts;
pub mod balances;
pub mod batch;
pub mod events;
pub mod fees;
pub mod holds;
pub mod idempotency;
pub mod lookups;
pub mod reconciliation;
pub mod requests;
pub mod transfers;
pub mod treasury;
pub mod voucher_types;
pub mod vouchers;
pub mod webhooks;

use actix_web::web;
use caudal_actors::realms::Target;
use caudal_ledger::cvu::Cvu;
use utoipa_actix_web::service_config::ServiceConfig;

use crate::http::errors::{ApiError, ErrorBody};

/// The route table. Routes are tried in this order, so those that carry the load come first; a path
/// that is spelled out comes before one with a parameter in its place.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(vouchers::post)
        .service(batch::post)
        .service(balances::current)
        .service(transfers::send)
        .service(transfers::read)
        .service(holds::open)
        .service(holds::confirm)
        .service(holds::release)
        .service(accounts::create)
        .service(accounts::list)
        .service(accounts::read)
        .service(accounts::close)
        .service(accounts::limits)
        .service(accounts::change_limits)
        .service(accounts::suspend)
        .service(accounts::reactivate)
        .service(accounts::change_identity)
        .service(accounts::change_kyc)
        .service(accounts::set_alias)
        .service(voucher_types::list)
        .service(voucher_types::create)
        .service(voucher_types::toggle)
        .service(voucher_types::remove)
        .service(vouchers::list)
        .service(vouchers::movements)
        .service(vouchers::internal)
        .service(vouchers::by_external)
        .service(vouchers::read)
        .service(balances::historical)
        .service(holds::list)
        .service(holds::read)
        .service(transfers::list)
        .service(fees::preview)
        .service(lookups::by_cbu)
        .service(lookups::by_alias)
        .service(reconciliation::of_day)
        .service(treasury::take)
        .service(treasury::list)
        .service(treasury::read)
        .service(treasury::movements)
        .service(treasury::historical)
        .service(events::list)
        .service(events::stream::follow)
        .service(webhooks::list)
        .service(webhooks::create)
        .service(webhooks::redeliver)
        .service(webhooks::read)
        .service(webhooks::change)
        .service(webhooks::remove)
        .service(webhooks::rotate)
        .service(webhooks::test)
        .service(webhooks::deliveries)
        .service(webhooks::redeliver_range)
        .service(idempotency::read);
}

/// The errors that every operation may answer.
#[derive(Debug, utoipa::IntoResponses)]
pub enum Problems {
    /// The request is invalid or the ledger refuses it; `code` says which.
    #[response(status = 400)]
    BadRequest(#[to_schema] ErrorBody),
    /// API key absent or invalid.
    #[response(status = 401)]
    Unauthorized(#[to_schema] ErrorBody),
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

/// The account that a path names.
fn target(path: &web::Path<String>) -> Result<Target, ApiError> {
    Cvu::parse(path)
        .map(Target::Cvu)
        .map_err(|why| ApiError::field("cvu", why))
}
