//! The wallet family, `/wallet/v1`: keys are numbers of accounts, names are Spanish, and requests are accepted as its
//! clients have always sent them.

pub(crate) mod campos;
pub(crate) mod comprobantes;
pub(crate) mod consultas;
pub(crate) mod corte;
pub(crate) mod cuenta_body;
pub(crate) mod cuenta_request;
pub(crate) mod cuentas;
pub(crate) mod cvu;
pub(crate) mod declared;
pub(crate) mod importe;
pub(crate) mod remuneracion;
pub(crate) mod saldos;
pub(crate) mod tesoreria;
pub(crate) mod tipos;
pub(crate) mod transferencias;

use caudal_actors::engine::lists::{ListPage, Listing};
use caudal_http::query::pages;
use caudal_http::words::Mistake;
use caudal_ledger::ids::AccountNo;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_actix_web::service_config::ServiceConfig;

/// The name of the field and of the parameter that names an account by its number.
pub const ACCOUNT: &str = "idCuenta";
/// The name of the field for the CVU that sends.
pub const ORIGIN: &str = "cvuOrigen";
/// The route table; for its order see that of the native family.
pub fn routes(config: &mut ServiceConfig) {
    config
        .service(comprobantes::post)
        .service(comprobantes::reverse)
        .service(comprobantes::by_external)
        .service(comprobantes::read)
        .service(comprobantes::filtros::list)
        .service(transferencias::send)
        .service(transferencias::read)
        .service(transferencias::by_external)
        .service(consultas::by_key_or_alias)
        .service(cuentas::create)
        .service(cuentas::change)
        .service(cuentas::read)
        .service(cuentas::list)
        .service(cuentas::by_cuit)
        .service(cuentas::enable)
        .service(cvu::create)
        .service(cvu::assign_alias)
        .service(cvu::close)
        .service(tipos::create)
        .service(tipos::list)
        .service(tipos::remove)
        .service(saldos::current)
        .service(saldos::current_of_account)
        .service(saldos::current_by_cvu)
        .service(saldos::historical)
        .service(saldos::historical_of_account)
        .service(saldos::historical_by_cvu)
        .service(remuneracion::enrol)
        .service(remuneracion::read)
        .configure(tesoreria::routes);
}

/// A page of a list.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagina<T> {
    /// How many pages there are; where `X-Total-Count` is absent and there is more, one more than this page.
    pub total_pages: u64,
    /// How many records match in all; where `X-Total-Count` is absent, how many there are at least.
    pub total_records: u64,
    /// The records of this page.
    pub items: Vec<T>,
}

impl<T> Pagina<T> {
    /// The records of a page of a list.
    pub fn of<V>(items: Vec<T>, listing: &Listing<V>, page: &ListPage) -> Self {
        Self {
            total_pages: pages(listing, page),
            total_records: listing.total,
            items,
        }
    }
}

/// The number of an account or of another thing in a path; one that is too large for any names none.
fn number(text: &str) -> Result<u64, Mistake> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits {
        Ok(text.parse().unwrap_or(u64::MAX))
    } else {
        Err(Mistake::NotWhole)
    }
}

/// Like [`number`], for an account.
fn account(text: &str) -> Result<AccountNo, Mistake> {
    number(text).map(AccountNo)
}
