//! The wallet family, `/wallet/v1`: keys are numbers of wallet accounts, names are Spanish, as the
//! clients that exist already send and read them.

pub mod tesoreria;

use utoipa_actix_web::service_config::ServiceConfig;

/// The route table.
pub fn routes(config: &mut ServiceConfig) {
    config.configure(tesoreria::routes);
}
