//! The address that a request comes from: its peer, or, where that is a trusted proxy, the address that the proxies
//! give. It counts for the addresses of a key and for wrong keys.

use std::net::IpAddr;

use actix_web::HttpRequest;
use actix_web::http::header::{HeaderMap, X_FORWARDED_FOR};
use ipnet::IpNet;

/// The address that a request comes from; `None` when trusted proxies wrote something that is no address.
pub(crate) fn of(request: &HttpRequest, proxies: &[IpNet]) -> Option<IpAddr> {
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
