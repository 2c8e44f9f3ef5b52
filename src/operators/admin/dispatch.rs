//! Runs an operation of the admin API by its id, for the console and for approvals: the same code as for a request, with
//! the same checks.
//!
//! **Order.** The caller has admitted the operator and has logged that the operation begins ([`super::people`]).

use actix_web::web;
use caudal_http::body::Body;
use caudal_http::errors::HandlerResult;
use caudal_http::words::Refusal;

use super::access::Acting;
use super::{AdminState, cases, clock, fees, keys, node, outgoing, staff, tenants, webhooks};

/// Carries out the operation of `acting`, with its subject and its body.
///
/// # Errors
/// Those of the operation. [`Refusal::NoAdminRoute`] if it is none that can be carried out like this.
pub(super) async fn run(admin_state: &web::Data<AdminState>, acting: Acting) -> HandlerResult {
    let sent = Body::parse(&acting.body)?;
    let about = acting.subject.clone();
    let (shared, path) = (
        web::Data::clone(admin_state),
        web::Path::from(about.clone()),
    );
    match acting.operation.id {
        "addPerson" => staff::add(shared, sent).await,
        "changePerson" => staff::change(shared, path, sent).await,
        "changePlatform" => tenants::set(admin_state, &acting, sent).await,
        "changeTenant" => tenants::changed(admin_state, &about, &acting, sent).await,
        "confirmClock" => clock::confirm(shared, acting, sent).await,
        "decideCase" => cases::deciding::decided(admin_state, &about, &acting, sent).await,
        "decideTransfer" => {
            cases::deciding::transfer_decided(admin_state, &about, &acting, sent).await
        }
        "handOver" => node::hand_over(shared, sent).await,
        "issueKey" => keys::issued(admin_state, &about, &acting, sent).await,
        "releaseOutgoing" => outgoing::release(shared, acting, sent).await,
        "resumeWebhook" => webhooks::resume(shared, path).await,
        "revokeKey" => keys::revoke(shared, path).await,
        "revokePerson" => staff::revoke(shared, path).await,
        "rotateKey" => keys::rotated(admin_state, &about, &acting, sent).await,
        "rotatePerson" => staff::rotate(shared, path).await,
        "setFeeSchedule" => fees::set(shared, path, sent).await,
        _ => Err(Refusal::NoAdminRoute.into()),
    }
}
