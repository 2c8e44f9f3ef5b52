//! The URLs and addresses to which the service may send: none that leads to this machine or to a private network,
//! unless the settings allow it.
//!
//! **Order.** A URL is checked when it is set, so that the tenant is told, and again before each attempt, since rules
//! and settings change. The host has to be written as the URL parser reads it: the parser takes `0x7f.1` for
//! 127.0.0.1, and a person would not.
//!
//! **Bounds.** [`URL_MAX`] bytes, [`PORTS`].

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use ipnet::{IpNet, Ipv6Net};
use url::{Host, Url};

/// The longest URL, in bytes.
pub const URL_MAX: usize = 2_048;
/// The ports to which webhooks may be sent.
pub const PORTS: [u16; 2] = [443, 8443];
/// The one name that is this machine.
const LOCALHOST: &str = "localhost";

/// Networks in which no public server is, and the kinds of their addresses. The first network that has an address gives
/// its kind; those of IPv6 that carry an IPv4 address are refused whole, whichever address they carry.
const FORBIDDEN: [(&str, &str); 35] = [
    ("0.0.0.0/8", "an address of this network"),
    ("10.0.0.0/8", "a private address"),
    ("100.64.0.0/10", "an address inside a carrier"),
    ("127.0.0.0/8", "an address of this machine"),
    // A public address, but inside Azure it is the machine's own host.
    ("168.63.129.16/32", "an address of a cloud's own services"),
    ("169.254.0.0/16", "a link-local address"),
    ("172.16.0.0/12", "a private address"),
    ("192.0.0.0/24", "an address of protocols"),
    ("192.0.2.0/24", "an address of documentation"),
    ("192.88.99.0/24", "an address of a tunnel"),
    ("192.168.0.0/16", "a private address"),
    ("198.18.0.0/15", "an address of benchmarks"),
    ("198.51.100.0/24", "an address of documentation"),
    ("203.0.113.0/24", "an address of documentation"),
    ("224.0.0.0/4", "an address of many receivers"),
    ("255.255.255.255/32", "an address of all receivers"),
    ("240.0.0.0/4", "a reserved address"),
    ("::/128", "an address of this network"),
    ("::1/128", "an address of this machine"),
    ("::/96", CARRIES_V4),
    ("::ffff:0:0/96", CARRIES_V4),
    ("::ffff:0:0:0/96", CARRIES_V4),
    ("64:ff9b::/96", CARRIES_V4),
    ("64:ff9b:1::/48", CARRIES_V4),
    ("100::/64", "an address of nobody"),
    ("2001::/32", CARRIES_V4),
    ("2001::/23", "an address of protocols"),
    ("2001:db8::/32", "an address of documentation"),
    ("2002::/16", CARRIES_V4),
    ("3fff::/20", "an address of documentation"),
    ("5f00::/16", "an address of routers"),
    ("fc00::/7", "a private address"),
    ("fe80::/10", "a link-local address"),
    ("fec0::/10", "a private address"),
    ("ff00::/8", "an address of many receivers"),
];
const CARRIES_V4: &str = "an address of version 4 inside one of version 6";
/// The only IPv6 addresses that a public server has: 2000::/3.
const PUBLIC_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// [`FORBIDDEN`], as networks.
#[expect(clippy::expect_used, reason = "the table is ours, and tests use it")]
static NETWORKS: LazyLock<Vec<(IpNet, &str)>> = LazyLock::new(|| {
    let known = FORBIDDEN.into_iter();
    let known = known.map(|(network, what)| (network.parse().expect("a network"), what));
    known.collect()
});

/// The addresses that the service's webhooks may reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AllowedAddresses {
    networks: Vec<IpNet>,
    loopback: bool,
}

impl AllowedAddresses {
    /// Public addresses, and networks that the operator opens, such as `10.20.0.0/16`. Opening a network lifts only
    /// the rule about addresses: it still takes https on [`PORTS`].
    pub const fn public(networks: Vec<IpNet>) -> Self {
        Self {
            networks,
            loopback: false,
        }
    }

    /// Public addresses, and this machine: `localhost` and addresses of the loopback with any port,
    /// also by plain http. For a first look.
    pub const fn loopback() -> Self {
        Self {
            networks: Vec::new(),
            loopback: true,
        }
    }

    /// Whether webhooks may be sent to this machine.
    pub const fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// The kind of an address that a URL gives; `None` when it may be sent to.
    fn refuses_literal(&self, ip: IpAddr) -> Option<&'static str> {
        let ours = self.loopback && ip.is_loopback();
        forbidden(ip).filter(|_| !ours && !self.opens(ip))
    }

    /// The kind of an address that a name resolves to; `None` when it may be sent to. Only the name `localhost` may
    /// lead to the loopback, and it may lead nowhere else.
    pub fn refuses(&self, name: &str, ip: IpAddr) -> Option<&'static str> {
        if name == LOCALHOST {
            let ours = self.loopback && ip.is_loopback();
            return (!ours).then_some("not what `localhost` should be");
        }
        forbidden(ip).filter(|_| !self.opens(ip))
    }

    fn opens(&self, ip: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(&ip))
    }
}

/// The kind of an address that no public server has.
fn forbidden(ip: IpAddr) -> Option<&'static str> {
    let found = NETWORKS.iter().find(|(network, _)| network.contains(&ip));
    let public = match &ip {
        IpAddr::V4(_) => true,
        IpAddr::V6(ip) => PUBLIC_V6.contains(ip),
    };
    let kind = found.map(|(_, what)| *what);
    kind.or_else(|| (!public).then_some("a reserved address"))
}

/// Why the service does not send to a URL, and what would be right.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlError {
    /// It is too long.
    #[error("is longer than {URL_MAX} bytes: use a shorter one")]
    TooLong,
    /// It has characters that a URL cannot have when it is sent.
    #[error(
        "has a space, a backslash or a character outside of ASCII: write the path \
         percent-encoded and the host in its `xn--` form"
    )]
    Characters,
    /// It is no URL.
    #[error("is no URL ({0}): write it like https://hooks.example.com/caudal")]
    Malformed(url::ParseError),
    /// It names no host after `//`.
    #[error("names no host: write it like https://hooks.example.com/caudal")]
    NoHost,
    /// It is not https.
    #[error("must begin with https://: events are sent encrypted only")]
    Scheme,
    /// It carries a user or password.
    #[error(
        "must not carry a user or password: check the `webhook-signature` of what arrives instead"
    )]
    UserInfo,
    /// It has a fragment.
    #[error("must not have a fragment: no server would see what follows the `#`")]
    Fragment,
    /// It has a port to which the service does not send.
    #[error("has port {0}: use 443 or 8443")]
    Port(u16),
    /// The parser reads the host otherwise than it is written.
    #[error("names a host that would be read as `{0}`: write it so")]
    Disguised(String),
    /// The host is a name of this machine, or a name that is known only near it.
    #[error("names a host by no public name: use one such as hooks.example.com")]
    LocalName,
    /// The host is an address to which the service may not send.
    #[error("points to {ip}, {what}: use one that is reached from the internet")]
    Address {
        /// The address that may not be reached.
        ip: IpAddr,
        /// What kind of address it is, in words.
        what: &'static str,
    },
}

/// Reads a URL to send to. A host that is a name must still be resolved, and its addresses are checked then.
///
/// # Errors
/// Why the URL is refused and what would be right, as the rest of a sentence about it.
pub fn parse(text: &str, reach: &AllowedAddresses) -> Result<Url, UrlError> {
    if text.len() > URL_MAX {
        return Err(UrlError::TooLong);
    }
    // The parser drops line ends, takes backslashes for slashes, and knows digits of all scripts.
    if !text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\') {
        return Err(UrlError::Characters);
    }
    let url = Url::parse(text).map_err(UrlError::Malformed)?;
    if !matches!(url.scheme(), "https" | "http") {
        return Err(UrlError::Scheme);
    }
    let written = written(text, &url).ok_or(UrlError::NoHost)?;
    if written.contains('@') {
        return Err(UrlError::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(UrlError::Fragment);
    }
    let local = host(&url, host_of(written), reach)?;
    if !local && url.scheme() != "https" {
        return Err(UrlError::Scheme);
    }
    match url.port_or_known_default() {
        Some(port) if !local && !PORTS.contains(&port) => Err(UrlError::Port(port)),
        _ => Ok(url),
    }
}

/// User, host and port as they are written.
fn written<'a>(text: &'a str, url: &Url) -> Option<&'a str> {
    let (scheme, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    (scheme.eq_ignore_ascii_case(url.scheme()) && !authority.is_empty()).then_some(authority)
}

/// The host as it is written, out of host and port.
fn host_of(written: &str) -> &str {
    match written.split_once(']') {
        Some((address, _)) => address.trim_start_matches('['),
        None => written.split(':').next().unwrap_or(written),
    }
}

/// Checks the host; returns whether it is this machine, where that is allowed.
fn host(url: &Url, written: &str, reach: &AllowedAddresses) -> Result<bool, UrlError> {
    let literal = |ip: IpAddr| match reach.refuses_literal(ip) {
        Some(what) => Err(UrlError::Address { ip, what }),
        None => Ok(reach.loopback && ip.is_loopback()),
    };
    match url.host() {
        None => Err(UrlError::NoHost),
        Some(Host::Ipv4(ip)) if written != ip.to_string() => {
            Err(UrlError::Disguised(ip.to_string()))
        }
        Some(Host::Ipv4(ip)) => literal(ip.into()),
        Some(Host::Ipv6(ip)) => literal(ip.into()),
        Some(Host::Domain(name)) if !written.eq_ignore_ascii_case(name) => {
            Err(UrlError::Disguised(name.to_owned()))
        }
        Some(Host::Domain(LOCALHOST)) if reach.loopback => Ok(true),
        Some(Host::Domain(name)) => {
            let last = name.rsplit_once('.').map(|(_, last)| last);
            // A name that ends with a dot has an empty last part.
            let public = last.is_some_and(|last| !last.is_empty() && last != LOCALHOST);
            public.then_some(false).ok_or(UrlError::LocalName)
        }
    }
}
