//! The scope that a key needs for an operation, and for the events that a webhook receives.
//!
//! **Shape.** [`GROUPS`] is the one place that says which group of operations a route belongs to; its method says
//! whether that reads or changes. The OpenAPI document shows the same as `x-scope`. A key without scopes may do
//! everything. A route that is missing here is open only to such keys.
//!
//! A webhook sends what a key could read, so it needs the scope to read it as well.

use actix_web::HttpRequest;
use actix_web::http::Method;
use caudal_ledger::events::{EventKind, EventKinds};
use caudal_ledger::tenants::ApiKey;
use caudal_ledger::tenants::scopes::{Access, Group, Scope};

use super::AppState;
use super::errors::ApiError;
use super::origin;
use super::words::Refusal;
use crate::bodies::events::data_of;

/// Prefixes of routes, each with the group of the operations under it. The longest one that fits counts.
const GROUPS: &[(&str, Group)] = &[
    ("/v1/accounts", Group::Accounts),
    ("/v1/accounts/{cvu}/comprobantes", Group::Vouchers),
    ("/v1/accounts/{cvu}/movements", Group::Vouchers),
    ("/v1/accounts/{cvu}/statements", Group::Vouchers),
    ("/v1/accounts/{cvu}/holds", Group::Holds),
    ("/v1/comprobantes", Group::Vouchers),
    ("/v1/fees", Group::Vouchers),
    ("/v1/holds", Group::Holds),
    ("/v1/transfers", Group::Transfers),
    ("/v1/simulations", Group::Transfers),
    ("/v1/lookup", Group::Lookups),
    ("/v1/voucher-types", Group::Types),
    ("/v1/webhooks", Group::Webhooks),
    ("/v1/events", Group::Events),
    ("/v1/idempotency", Group::Events),
    ("/v1/treasury", Group::Treasury),
    ("/v1/books", Group::Treasury),
    ("/v1/days", Group::Treasury),
    ("/v1/bank/conciliacion", Group::Reconciliation),
    ("/wallet/v1/Cuenta", Group::Accounts),
    ("/wallet/v1/Cuentas", Group::Accounts),
    ("/wallet/v1/CuentaByCuit", Group::Accounts),
    ("/wallet/v1/Habilitado", Group::Accounts),
    ("/wallet/v1/CVU", Group::Accounts),
    ("/wallet/v1/AsignarAlias", Group::Accounts),
    ("/wallet/v1/Remuneracion", Group::Accounts),
    ("/wallet/v1/SaldosActuales", Group::Accounts),
    ("/wallet/v1/SaldoActualByCVU", Group::Accounts),
    ("/wallet/v1/SaldoActualByIdCuenta", Group::Accounts),
    ("/wallet/v1/SaldoHistoricoByCVU", Group::Accounts),
    ("/wallet/v1/SaldoHistoricoByIdCuenta", Group::Accounts),
    ("/wallet/v1/Comprobante", Group::Vouchers),
    ("/wallet/v1/ReversaComprobante", Group::Vouchers),
    ("/wallet/v1/ComprobanteByIdExterno", Group::Vouchers),
    ("/wallet/v1/ComprobantesByFilters", Group::Vouchers),
    ("/wallet/v1/transferir", Group::Transfers),
    ("/wallet/v1/Operacion", Group::Transfers),
    ("/wallet/v1/OperacionByIdExterno", Group::Transfers),
    ("/wallet/v1/CuentaCVUByCbuCvuOrAlias", Group::Lookups),
    ("/wallet/v1/TipoComprobante", Group::Types),
    ("/wallet/v1/TiposComprobantes", Group::Types),
    ("/wallet/v1/Tesoreria", Group::Treasury),
    ("/wallet/v1/SaldosClientes", Group::Treasury),
    ("/wallet/v1/SaldoClienteByCVU", Group::Treasury),
    ("/wallet/v1/SaldoClienteByIdCuenta", Group::Treasury),
    ("/wallet/v1/SaldoClienteHistoricoByCVU", Group::Treasury),
    ("/wallet/v1/MovimientosCliente", Group::Treasury),
];

/// Whether a route is a path of the table or is under it.
fn under(route: &str, beginning: &str) -> bool {
    let rest = route.strip_prefix(beginning);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The scope that an operation needs, by its method and the pattern of its route; `None` where only a key without
/// scopes may do it.
pub fn needed(method: &Method, route: &str) -> Option<Scope> {
    let of_route = GROUPS
        .iter()
        .filter(|(beginning, _)| under(route, beginning));
    let (_, group) = of_route.max_by_key(|(beginning, _)| beginning.len())?;
    let access = match *method {
        Method::GET | Method::HEAD => Access::Read,
        _ => Access::Write,
    };
    Some(Scope::Of(*group, access))
}

/// Refuses operations that the key may not do, and addresses from which it may not be used.
pub(super) fn check(key: &ApiKey, request: &HttpRequest, app: &AppState) -> Result<(), ApiError> {
    if !key.networks.is_empty() {
        let from = origin::of(request, &app.proxies);
        if !key.may_come_from(from) {
            let from = from.map_or_else(|| "?".to_owned(), |from| from.to_string());
            return Err(Refusal::KeyAddress { from }.into());
        }
    }
    if key.scopes.is_none() {
        return Ok(());
    }
    let route = request.match_pattern();
    let needed = route.and_then(|route| needed(request.method(), &route));
    if key.may(needed) {
        return Ok(());
    }
    let missing = needed.and_then(Scope::word);
    let missing = missing.map(|scope| Refusal::ScopeMissing { scope });
    Err(missing.unwrap_or(Refusal::ScopesTooFew).into())
}

/// The scope to read every event, of kinds to come as well.
const EVERY_EVENT: Scope = Scope::Of(Group::Events, Access::Read);

/// The scope that a key needs, unless it has `events:read`, for a webhook that receives events of this kind.
pub const fn of_event(kind: EventKind) -> Scope {
    let (_, group) = data_of(kind);
    Scope::Of(group, Access::Read)
}

/// Refuses a key that may not read the events that these words name; `None` is all events. `events:read` and `read`
/// allow all.
///
/// # Errors
/// 403 that names the missing scope.
pub(super) fn check_events(key: &ApiKey, types: Option<&[String]>) -> Result<(), ApiError> {
    let may = |scope| key.may(Some(scope));
    if may(EVERY_EVENT) {
        return Ok(());
    }
    let missing = match types {
        None => Some(EVERY_EVENT),
        Some(words) => {
            let kinds = EventKinds::known(words.iter().map(String::as_str));
            let sent = EventKind::ALL.iter().filter(|kind| kinds.has(**kind));
            sent.map(|kind| of_event(*kind)).find(|scope| !may(*scope))
        }
    };
    let Some(missing) = missing.map(Scope::word) else {
        return Ok(());
    };
    let missing = missing.map(|scope| Refusal::EventScopeMissing { scope });
    Err(missing.unwrap_or(Refusal::ScopesTooFew).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_beginning_counts_and_the_method_says_what_is_done() {
        let word = |method: Method, route| needed(&method, route).and_then(Scope::word);
        for (method, route, scope) in [
            (Method::GET, "/v1/accounts", Some("accounts:read")),
            (Method::HEAD, "/v1/accounts/{cvu}", Some("accounts:read")),
            (
                Method::PUT,
                "/v1/accounts/{cvu}/alias",
                Some("accounts:write"),
            ),
            (
                Method::POST,
                "/v1/accounts/{cvu}/comprobantes",
                Some("vouchers:write"),
            ),
            (
                Method::POST,
                "/v1/accounts/{cvu}/holds",
                Some("holds:write"),
            ),
            (
                Method::DELETE,
                "/wallet/v1/TipoComprobante",
                Some("types:write"),
            ),
            (Method::GET, "/v1/accountsX", None),
            (Method::GET, "", None),
        ] {
            assert_eq!(word(method, route), scope, "{route}");
        }
    }
}
