//! What waits for an operator's confirmation: a clock in doubt, and outgoing calls held after a restore to the past.

use actix_web::HttpResponse;
use caudal_actors::engine::Engine;
use caudal_actors::ports::ClockDoubt;
use caudal_http::bodies::body;
use caudal_http::body::Body;
use caudal_http::body::read::line;
use caudal_http::errors::HandlerResult;
use caudal_http::request::request;
use serde::Serialize;
use utoipa::ToSchema;

use super::access::Acting;
use super::{AdminState, State, ok};

/// The longest name of the person who confirms, in characters.
const BY_MAX: usize = 80;
/// The longest reason, in characters.
const REASON_MAX: usize = 500;

body! {
    /// Whether the clock is believed.
    struct ClockBody as Clock of(engine: &Engine) {
        => let doubt: Option<ClockDoubt> = engine.lifecycle().clock_doubt();
        in_doubt: bool = doubt.is_some();
        /// The present, as far as it is believed.
        now: String = engine.now().to_string();
        /// Why it is in doubt: `jumped`, `behind_the_journal` or `ahead_of_the_journal`.
        cause: Option<&'static str> = doubt.map(|doubt| doubt.cause.as_str());
        /// What the machine's clock says, while it is in doubt.
        machine_says: Option<String> = doubt.map(|doubt| doubt.says.to_string());
    }
}

fn shown_clock(admin_state: &AdminState) -> HttpResponse {
    ok(&ClockBody::of(&admin_state.app.engine))
}

/// Returns whether the service trusts the clock.
#[utoipa::path(
    get,
    path = "/admin/clock",
    responses((status = 200, body = ClockBody))
)]
pub(super) async fn clock(admin_state: State) -> HttpResponse {
    shown_clock(&admin_state)
}

request! {
    /// An operator's confirmation that the clock is right.
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
    request_body(content = ConfirmClock),
    responses((status = 200, body = ClockBody))
)]
pub(super) async fn confirm_clock(admin_state: State, acting: Acting, sent: Body) -> HandlerResult {
    let ConfirmClock { by, reason } = ConfirmClock::read(sent)?;
    let (by, reason) = acting.signed(by, reason)?;
    let lifecycle = admin_state.app.engine.lifecycle();
    if let Some(doubt) = lifecycle.confirm_clock(by, reason).await? {
        tracing::warn!(says = %doubt.says, believed = %doubt.believed, "the clock was confirmed");
    }
    Ok(shown_clock(&admin_state))
}

/// Whether outgoing calls are held.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Outgoing)]
struct OutgoingBody {
    /// After a restore to the past, until it is released: transfers, returns and enrolments do not reach the bank, no event
    /// reaches a webhook, and the bank opens, renames and closes nothing.
    held: bool,
    /// Why it could not be released; null when it could, or was not asked to be.
    error: Option<String>,
}

fn shown_outgoing(admin_state: &AdminState, error: Option<String>) -> HttpResponse {
    let held = admin_state.outgoing.is_held();
    ok(&OutgoingBody { held, error })
}

/// Returns whether outgoing calls are held.
#[utoipa::path(
    get,
    path = "/admin/outgoing",
    responses((status = 200, body = OutgoingBody))
)]
pub(super) async fn outgoing(admin_state: State) -> HttpResponse {
    shown_outgoing(&admin_state, None)
}

request! {
    /// An operator's release of held outgoing calls.
    strict struct ReleaseOutgoing as OutgoingRelease {
        /// Who says so; with a person's credential it is the person.
        by: Option<String> = optional("by", line(BY_MAX)) as Option<String> { max_length = 80 };
        /// Why.
        reason: Option<String> = optional("reason", line(REASON_MAX))
            as Option<String> { max_length = 500 };
    }
}

/// Releases all held outgoing calls, permanently. The log records who released them and why. Does nothing if nothing is held.
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
    Ok(shown_outgoing(&admin_state, error))
}
