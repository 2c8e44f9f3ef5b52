//! Looks at the console: every page that an operator opens leaves an entry in the audit log, with its query and the CVUs
//! on it. So does every download of one of its tables.
//!
//! **Shape.** One layer round all routes, so that a page cannot forget it. Only the pages of [`NO_PERSONS`] leave none, as
//! long as there is no CVU on them.
//!
//! **Order.** The entry is durable before the page leaves; a page that cannot be recorded is not shown.

use actix_web::body::{BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::web::Bytes;
use actix_web::{Error, HttpMessage as _, HttpRequest};
use caudal_actors::engine::people::whole_list;
use caudal_http::shown;
use caudal_ledger::tenants::Mode;

use super::downloads::Downloaded;
use super::page_context::PageContext;
use crate::admin::looks;
use crate::admin::people::Operator;

/// The action of the entries of pages.
const ACTION: &str = "openPage";
/// The action of the entries of files.
const DOWNLOAD: &str = "downloadList";
/// The pages that show no person: those about the service, its tenants and their webhooks, and sums.
const NO_PERSONS: [&str; 18] = [
    "/console/",
    "/console/live",
    "/console/parts/equation",
    "/console/tenants",
    "/console/tenants/{tenant}",
    "/console/tenants/{tenant}/{mode}/books",
    "/console/tenants/{tenant}/{mode}/days",
    "/console/tenants/{tenant}/{mode}/days/{date}",
    "/console/treasury",
    "/console/banks",
    "/console/reconciliation",
    "/console/webhooks",
    "/console/webhooks/{id}",
    "/console/deliveries/{id}",
    "/console/node",
    "/console/people",
    "/console/settings-of-platform",
    "/console/backups",
];

/// The names of what a file shows: the CVUs of its first rows, and the whole realm if there are more.
fn names(request: &HttpRequest, file: &Downloaded) -> Vec<(String, u64)> {
    let mut names: Vec<_> = file.cvus.iter().map(|cvu| (cvu.to_string(), 1)).collect();
    let part = |name| request.match_info().get(name);
    let mode = [Mode::Live, Mode::Test].into_iter();
    let mode = mode
        .into_iter()
        .find(|it| part("mode") == Some(it.as_str()));
    if let (false, Some(tenant), Some(mode)) = (file.is_whole, part("tenant"), mode) {
        names.push((whole_list(tenant, mode), 1));
    }
    names
}

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
    let file = answer.response().extensions().get::<Downloaded>().cloned();
    let (answer, shown) = shown::by(answer);
    let mut shown = looks::named(&shown);
    let request = answer.request();
    let pattern = request.match_pattern();
    let plain = pattern.is_some_and(|it| NO_PERSONS.contains(&it.as_str()));
    let action = if file.is_some() { DOWNLOAD } else { ACTION };
    shown.extend(file.iter().flat_map(|file| names(request, file)));
    if plain && file.is_none() && shown.is_empty() {
        return Ok(answer.map_into_left_body());
    }
    let page = request.uri().path_and_query();
    let page = page.map_or_else(String::new, ToString::to_string);
    let context = PageContext::of(request)?;
    let app = &context.admin_state.app;
    match looks::record(app, &who, (action, &page), shown).await {
        Ok(()) => Ok(answer.map_into_left_body()),
        Err(why) => {
            let refusal = context.show(Err(why));
            Ok(answer.into_response(refusal).map_into_right_body())
        }
    }
}
