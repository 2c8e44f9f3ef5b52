//! The scope that a key needs for an operation, and the address from which a request comes.
//!
//! **Shape.** [`GROUPS`] is the one place that says which group of operations a route belongs to; its method says
//! whether that reads or changes. A key without scopes may do everything. A route that is missing here is open only
//! to such keys.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::http::Method;
use actix_web::http::header::{HeaderMap, X_FORWARDED_FOR};
use caudal_ledger::tenants::ApiKey;
use caudal_ledger::tenants::scopes::{Access, Group, Scope};
use ipnet::IpNet;

use super::Door;
use super::errors::ApiError;
use super::words::Refusal;

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
    ("/v1/lookup", Group::Transfers),
    ("/v1/voucher-types", Group::Types),
    ("/v1/webhooks", Group::Webhooks),
    ("/v1/events", Group::Events),
    ("/v1/idempotency", Group::Events),
    ("/v1/treasury", Group::Treasury),
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
    ("/wallet/v1/ComprobanteByIdExterno", Group::Vouchers),
    ("/wallet/v1/ComprobantesByFilters", Group::Vouchers),
    ("/wallet/v1/transferir", Group::Transfers),
    ("/wallet/v1/Operacion", Group::Transfers),
    ("/wallet/v1/OperacionByIdExterno", Group::Transfers),
    ("/wallet/v1/CuentaCVUByCbuCvuOrAlias", Group::Transfers),
    ("/wallet/v1/TipoComprobante", Group::Types),
    ("/wallet/v1/TiposComprobantes", Group::Types),
    ("/wallet/v1/Tesoreria", Group::Treasury),
    ("/wallet/v1/SaldosClientes", Group::Treasury),
    ("/wallet/v1/SaldoClienteByCVU", Group::Treasury),
    ("/wallet/v1/SaldoClienteByIdCuenta", Group::Treasury),
    ("/wallet/v1/SaldoClienteHistoricoByCVU", Group::Treasury),
    ("/wallet/v1/MovimientosCliente", Group::Treasury),
];

/// Whether a route is a path of the table or lies under it.
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
pub(super) fn check(key: &ApiKey, request: &HttpRequest, door: &Door) -> Result<(), ApiError> {
    if !key.networks.is_empty() {
        let from = from(request, &door.proxies);
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
    let scope = needed.and_then(Scope::word);
    Err(scope
        .map_or(Refusal::ScopesTooFew, |scope| Refusal::ScopeMissing {
            scope,
        })
        .into())
}

/// The address that a request comes from: its peer, or, where that is a trusted proxy, the address that the proxies
/// give.
fn from(request: &HttpRequest, proxies: &[IpNet]) -> Option<IpAddr> {
    origin(request.peer_addr()?.ip(), request.headers(), proxies)
}

/// The last address of `X-Forwarded-For` that is no trusted proxy, as far as trusted proxies wrote it. `None` when
/// they wrote something that is no address.
fn origin(peer: IpAddr, headers: &HeaderMap, proxies: &[IpNet]) -> Option<IpAddr> {
    let trusted = |ip: IpAddr| proxies.iter().any(|net| net.contains(&ip));
    let mut from = peer.to_canonical();
    let lines: Vec<_> = headers.get_all(X_FORWARDED_FOR).collect();
    for line in lines.into_iter().rev() {
        for entry in line.to_str().ok()?.rsplit(',') {
            if !trusted(from) {
                return Some(from);
            }
            from = address(entry.trim())?.to_canonical();
        }
    }
    Some(from)
}

/// An address as proxies write it, perhaps with a port.
fn address(text: &str) -> Option<IpAddr> {
    let with_port = |text: &str| {
        let known: Option<std::net::SocketAddr> = text.parse().ok();
        known.map(|known| known.ip())
    };
    text.parse().ok().or_else(|| with_port(text))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

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

    #[test]
    fn only_trusted_proxies_say_from_where_a_request_comes() {
        let proxies: Vec<IpNet> = ["10.0.0.0/8", "127.0.0.0/8"]
            .iter()
            .map(|net| net.parse().unwrap())
            .collect();
        for (peer, lines, from) in [
            ("203.0.113.9", &["198.51.100.1"][..], Some("203.0.113.9")),
            ("127.0.0.1", &[], Some("127.0.0.1")),
            ("::ffff:127.0.0.1", &["198.51.100.1"], Some("198.51.100.1")),
            (
                "127.0.0.1",
                &["192.0.2.1, 198.51.100.1, 10.1.1.1"],
                Some("198.51.100.1"),
            ),
            (
                "127.0.0.1",
                &["192.0.2.1", "198.51.100.1:4711"],
                Some("198.51.100.1"),
            ),
            (
                "127.0.0.1",
                &["[2001:db8::1]:443, 10.1.1.1"],
                Some("2001:db8::1"),
            ),
            ("127.0.0.1", &["10.1.1.1"], Some("10.1.1.1")),
            ("127.0.0.1", &["198.51.100.1, unknown"], None),
        ] {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(X_FORWARDED_FOR, HeaderValue::from_static(line));
            }
            let found = origin(peer.parse().unwrap(), &headers, &proxies);
            assert_eq!(
                found,
                from.map(|from| from.parse().unwrap()),
                "{peer} {lines:?}"
            );
        }
    }
}
