//! Finds what an id names, in the realms of all tenants.

use actix_web::HttpResponse;
use caudal_actors::engine::find::Found;
use caudal_actors::platform::realms;
use caudal_http::bodies::body;
use caudal_http::bodies::texts::{Instant, Pesos};
use caudal_http::errors::ApiError;
use caudal_http::params::params;
use caudal_http::query::Query;
use caudal_http::words::Mistake;
use caudal_ledger::ids::RealmId;

use super::shapes::List;
use super::{State, ok};

/// The most realms that are searched.
const REALMS_MAX: usize = 10_000;

body! {
    /// Something that an id names.
    struct FoundBody as FoundThing of(tenant: &str, realm: RealmId, found: &Found) {
        => let it = found.summary(realm);
        /// `transfer`, `case` (money in suspense) or `voucher`.
        kind: &'static str = it.kind;
        id: String = it.id;
        tenant_id: String = tenant.to_owned();
        mode: &'static str = realm.mode().as_str();
        cvu: String = it.cvu.to_string();
        amount: Pesos = it.amount.into();
        /// The state of a transfer; null for anything else.
        status: Option<&'static str> = match found {
            Found::Transfer(view) => Some(view.transfer.status.as_str()),
            Found::Case(_) | Found::Voucher(_) => None,
        };
        /// When it was requested or posted, or began to wait.
        at: Instant = it.at.into();
    }
}

/// The longest id, in characters.
const ID_MAX: usize = 100;

fn find_id(text: &str) -> Result<String, Mistake> {
    match text.chars().count() {
        0 => Err(Mistake::Required),
        1..=ID_MAX => Ok(text.to_owned()),
        _ => Err(Mistake::LongText { max: ID_MAX }),
    }
}

params! {
    /// What to find.
    struct FindParams {
        /// a tenant's own id (`idExterno`), the id of COELSA or of the bank, or our reference at the bank
        id: String = required("id", find_id) as String;
    }
}

/// Finds what an id names, in the realms of all tenants.
///
/// An id of COELSA leads to the money that arrived, to the transfer that left, or to the one of which money came back.
#[utoipa::path(
    get,
    path = "/admin/find",
    params(FindParams),
    responses((status = 200, body = List<FoundBody>))
)]
pub(super) async fn find(admin_state: State, query: Query) -> Result<HttpResponse, ApiError> {
    let FindParams { id } = FindParams::read(query)?;
    let engine = &admin_state.app.engine;
    let platform = engine.platform();
    let mut items = Vec::new();
    for (tenant, mode) in realms(&platform).take(REALMS_MAX) {
        let realm = tenant.realm(mode);
        let found = engine.queries().find(realm, &id).await?;
        let shown = found.iter().map(|it| FoundBody::of(&tenant.id, realm, it));
        items.extend(shown);
    }
    Ok(ok(&List::of(items)))
}
