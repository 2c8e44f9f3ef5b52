//! The native family, `/v1`: keys are CVUs, names are English, amounts are strings.

pub(crate) mod accounts;
pub(crate) mod balances;
pub(crate) mod batch;
pub(crate) mod books;
pub(crate) mod collector;
pub(crate) mod days;
pub(crate) mod events;
pub(crate) mod fees;
pub(crate) mod holds;
pub(crate) mod idempotency;
pub(crate) mod lookups;
mod metadata;
pub(crate) mod pages;
pub(crate) mod reconciliation;
pub(crate) mod simulations;
pub(crate) mod statements;
pub(crate) mod transfers;
pub(crate) mod treasury;
pub(crate) mod voucher_types;
pub(crate) mod vouchers;
pub mod webhooks;

use actix_web::web;
use caudal_actors::realms::Target;
use caudal_http::errors::ApiError;
use utoipa_actix_web::service_config::ServiceConfig;

use caudal_http::declared::CvuInPath;
/// The route table. Routes are tried in this order, so the busiest come first; a literal path comes before one with a
/// parameter in its place.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(vouchers::post)
        .service(vouchers::reverse)
        .service(batch::post)
        .service(balances::current)
        .service(transfers::send)
        .service(transfers::read)
        .service(holds::open)
        .service(holds::confirm)
        .service(holds::release)
        .service(holds::change)
        .service(holds::of_realm)
        .service(accounts::create)
        .service(accounts::list)
        .service(accounts::read)
        .service(accounts::close)
        .service(accounts::limits::read)
        .service(accounts::limits::change)
        .service(accounts::suspend)
        .service(accounts::reactivate)
        .service(accounts::identity::change)
        .service(accounts::kyc::change)
        .service(accounts::set_alias)
        .service(voucher_types::list)
        .service(voucher_types::create)
        .service(voucher_types::toggle)
        .service(voucher_types::remove)
        .service(vouchers::list)
        .service(vouchers::movements)
        .service(vouchers::internal)
        .service(vouchers::of_realm)
        .service(vouchers::by_external)
        .service(vouchers::read)
        .service(balances::historical)
        .service(statements::read)
        .service(holds::list)
        .service(holds::read)
        .service(transfers::list)
        .service(fees::preview)
        .service(lookups::by_cbu)
        .service(lookups::by_alias)
        .service(reconciliation::of_days)
        .service(treasury::take)
        .service(collector::of_day)
        .service(books::accounts)
        .service(books::trial_balance)
        .service(days::list)
        .service(days::read)
        .service(days::proof)
        .service(books::entries)
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
        .service(idempotency::read)
        .configure(simulations::routes);
}

/// The account that a path names.
fn target(path: &web::Path<String>) -> Result<Target, ApiError> {
    CvuInPath::read(path).map(Target::Cvu)
}
