//! Outgoing calls of a restored service: whether they are held, and an operator's release.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::errors::HandlerResult;
use caudal_http::request::request;
use caudal_http::respond::json;
use serde::Serialize;
use utoipa::ToSchema;

use super::access::Acting;
use super::{AdminState, State};

/// The longest name of the person who releases, in characters.
const BY_MAX: usize = 80;
/// The longest reason, in characters.
const REASON_MAX: usize = 500;

/// Whether what leaves is held.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Outgoing)]
struct OutgoingBody {
    /// After a restore to the past, until it is released: transfers, returns and enrolments do not reach the bank, no event
    /// reaches a webhook, and the bank opens, renames and closes nothing.
    held: bool,
    /// Why it could not be released; null when it could, or was not asked to be.
    error: Option<String>,
}

fn shown(admin_state: &AdminState, error: Option<String>) -> HttpResponse {
    let held = admin_state.outgoing.is_held();
    json(StatusCode::OK, &OutgoingBody { held, error })
}

/// Says whether what leaves is held.
#[utoipa::path(
    get,
    path = "/admin/outgoing",
    responses((status = 200, body = OutgoingBody))
)]
pub(super) async fn show(admin_state: State) -> HttpResponse {
    shown(&admin_state, None)
}

request! {
    /// An operator's word that what waits may leave.
    strict struct ReleaseOutgoing as OutgoingRelease {
        /// Who says so; with a person's credential it is the person.
        by: Option<String> = optional("by", line(BY_MAX)) as Option<String> { max_length = 80 };
        /// Why.
        reason: Option<String> = optional("reason", line(REASON_MAX))
            as Option<String> { max_length = 500 };
    }
}

/// Lets everything leave that waits, for good; who said so and why is in the log. Nothing happens if nothing is held.
#[utoipa::path(
    post,
    path = "/admin/outgoing/release",
    request_body(content = ReleaseOutgoing),
    responses((status = 200, body = OutgoingBody))
)]
pub(super) async fn release(admin_state: State, acting: Acting, sent: Body) -> HandlerResult {
    let ReleaseOutgoing { by, reason } = ReleaseOutgoing::read(sent)?;
    let (by, reason) = acting.signed(by, reason)?;
    let held = admin_state.outgoing.is_held();
    let failed = admin_state.outgoing.release().err();
    let error = failed.map(|why| why.to_string());
    if held && error.is_none() {
        tracing::warn!(by, reason, "what leaves was released");
    }
    Ok(shown(&admin_state, error))
}
