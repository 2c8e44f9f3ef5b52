//! Runs an operation of the admin API by its id, for the console and for approvals: the same code as for a request, with
//! the same checks.
//!
//! **Order.** The caller has admitted the operator and has logged that the operation begins ([`super::people`]).

use actix_web::HttpResponse;
use actix_web::body::to_bytes_limited;
use caudal_http::body::Body;
use caudal_http::errors::HandlerResult;
use caudal_http::words::Refusal;
use serde_json::Value;

use super::access::Acting;
use super::cases::deciding;
use super::{
    PathPart, State, confirmations, fees, keys, node, redeliveries, staff, tenants, webhooks,
};

/// Carries out the operation of `acting`, with its subject and its body.
///
/// # Errors
/// Those of the operation. [`Refusal::NoAdminRoute`] if it is none that can be carried out like this.
pub(super) async fn run(admin_state: &State, acting: Acting) -> HandlerResult {
    let sent = Body::parse(&acting.body)?;
    let shared = State::clone(admin_state);
    let path = PathPart::from(acting.subject.clone());
    match acting.operation.id {
        "addPerson" => staff::add(shared, sent).await,
        "changePerson" => staff::change(shared, path, sent).await,
        "changePlatform" => tenants::settings(shared, acting, sent).await,
        "changeTenant" => tenants::changed(admin_state, &path, &acting, sent).await,
        "confirmClock" => confirmations::confirm_clock(shared, acting, sent).await,
        "decideCase" => deciding::decide(shared, path, acting, sent).await,
        "decideTransfer" => deciding::decide_transfer(shared, path, acting, sent).await,
        "handOver" => node::hand_over(shared, sent).await,
        "issueKey" => keys::post(shared, path, acting, sent).await,
        "redeliverByOperator" => redeliveries::one(shared, path).await,
        "releaseOutgoing" => confirmations::release(shared, acting, sent).await,
        "resumeWebhook" => webhooks::resume(shared, path).await,
        "revokeKey" => keys::revoke(shared, path).await,
        "revokePerson" => staff::revoke(shared, path).await,
        "rotateKey" => keys::rotate(shared, path, acting, sent).await,
        "rotatePerson" => staff::rotate(shared, path).await,
        "setFeeSchedule" => fees::set(shared, path, sent).await,
        _ => Err(Refusal::NoAdminRoute.into()),
    }
}

/// The largest answer of an operation that is read, in bytes.
const ANSWER_MAX: usize = 256 << 10;

/// The body of an operation's answer; `None` if it is no JSON, or too large.
pub(crate) async fn read(answer: HttpResponse) -> Option<Value> {
    let read = to_bytes_limited(answer.into_body(), ANSWER_MAX).await;
    serde_json::from_slice(&read.ok()?.ok()?).ok()
}
