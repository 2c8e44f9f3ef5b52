//! The machine's clock: whether the service trusts it, and an operator's confirmation that it is right.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use caudal_actors::ports::ClockDoubt;
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::errors::ApiError;
use caudal_http::request::request;
use caudal_http::respond::json;
use serde::Serialize;
use utoipa::ToSchema;

use super::AdminState;
use super::access::Acting;

/// The longest name of the person who confirms, in characters.
const BY_MAX: usize = 80;
/// The longest reason, in characters.
const REASON_MAX: usize = 500;

/// Whether the clock is believed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Clock)]
struct ClockBody {
    in_doubt: bool,
    /// The present, as far as it is believed.
    now: String,
    /// Why it is in doubt: `jumped`, `behind_the_journal` or `ahead_of_the_journal`.
    cause: Option<&'static str>,
    /// What the machine's clock says, while it is in doubt.
    machine_says: Option<String>,
}

fn shown(admin_state: &AdminState) -> HttpResponse {
    let engine = &admin_state.app.engine;
    let doubt: Option<ClockDoubt> = engine.lifecycle().clock_doubt();
    let body = ClockBody {
        in_doubt: doubt.is_some(),
        now: engine.now().to_string(),
        cause: doubt.map(|doubt| doubt.cause.as_str()),
        machine_says: doubt.map(|doubt| doubt.says.to_string()),
    };
    json(StatusCode::OK, &body)
}

/// Says whether the clock is believed.
#[utoipa::path(
    get,
    path = "/admin/clock",
    tag = "Operation",
    responses((status = 200, body = ClockBody))
)]
pub(super) async fn show(admin_state: web::Data<AdminState>) -> HttpResponse {
    shown(&admin_state)
}

request! {
    /// An operator's word that the clock is right.
    strict struct ConfirmClock as ClockConfirmation {
        /// Who says so; with a person's credential it is the person.
        by: Option<String> = optional("by", line(BY_MAX)) as Option<String> { max_length = 80 };
        /// Why.
        reason: Option<String> = optional("reason", line(REASON_MAX))
            as Option<String> { max_length = 500 };
    }
}

/// Confirms that the clock is right as it stands. Nothing happens if it is not in doubt.
#[utoipa::path(
    post,
    path = "/admin/clock/confirm",
    tag = "Operation",
    request_body(content = ConfirmClock),
    responses((status = 200, body = ClockBody))
)]
pub(super) async fn confirm(
    admin_state: web::Data<AdminState>,
    acting: Acting,
    sent: Body,
) -> Result<HttpResponse, ApiError> {
    let ConfirmClock { by, reason } = ConfirmClock::read(sent)?;
    let (by, reason) = acting.signed(by, reason)?;
    if let Some(doubt) = admin_state
        .app
        .engine
        .lifecycle()
        .confirm_clock(by, reason)
        .await?
    {
        tracing::warn!(says = %doubt.says, believed = %doubt.believed, "the clock was confirmed");
    }
    Ok(shown(&admin_state))
}
