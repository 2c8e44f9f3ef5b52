//! Looks at the console: every page that an operator opens leaves an entry in the audit log, with its query and the CVUs
//! on it.
//!
//! **Shape.** One layer round all routes, so that a page cannot forget it. Only the pages of [`NO_PERSONS`] leave none, as
//! long as there is no CVU on them.
//!
//! **Order.** The entry is durable before the page leaves; a page that cannot be recorded is not shown.

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{Error, HttpMessage as _};
use caudal_http::shown;

use super::page_context::PageContext;
use crate::admin::looks;
use crate::admin::people::Operator;

/// The action of the entries.
const ACTION: &str = "openPage";
/// The pages that show no person: those about the service, its tenants and their webhooks, and sums.
const NO_PERSONS: [&str; 13] = [
    "/console/",
    "/console/live",
    "/console/parts/equation",
    "/console/tenants",
    "/console/tenants/{tenant}",
    "/console/tenants/{tenant}/{mode}/books",
    "/console/treasury",
    "/console/reconciliation",
    "/console/webhooks",
    "/console/webhooks/{id}",
    "/console/deliveries/{id}",
    "/console/node",
    "/console/backups",
];

/// The answer as it was made, or the refusal in its place.
type Recorded<B> = ServiceResponse<EitherBody<EitherBody<B, Bytes>, BoxBody>>;

/// Records what an operator was shown.
///
/// # Errors
/// The errors of the inner service.
pub(super) async fn layer<B: MessageBody + 'static>(
    call: ServiceRequest,
    next: Next<B>,
) -> Result<Recorded<B>, Error> {
    let answer = next.call(call).await?;
    // Without an operator there is nothing but the login page and its files.
    let who = answer.request().extensions().get::<Operator>().cloned();
    let Some(who) = who.filter(|_| answer.status().is_success()) else {
        return Ok(answer.map_into_left_body().map_into_left_body());
    };
    let (answer, shown) = shown::by(answer);
    let request = answer.request();
    let pattern = request.match_pattern();
    let plain = pattern.is_some_and(|it| NO_PERSONS.contains(&it.as_str()));
    if plain && shown.cvus.is_empty() {
        return Ok(answer.map_into_left_body());
    }
    let page = request.uri().path_and_query();
    let page = page.map_or_else(String::new, ToString::to_string);
    let context = PageContext::of(request)?;
    let app = &context.admin_state.app;
    match looks::record(app, &who, (ACTION, &page), &shown).await {
        Ok(()) => Ok(answer.map_into_left_body()),
        Err(why) => {
            let refusal = context.show(Err(why));
            Ok(answer.into_response(refusal).map_into_right_body())
        }
    }
}
