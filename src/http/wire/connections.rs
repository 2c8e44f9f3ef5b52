//! Bounds the number of connections.
//!
//! **Shape.** [`Bounds`] belong to a listener, and each connection has a [`ConnectionPermit`] of them. The library accepts as many
//! connections as each thread's share ([`Bounds::most`]); further ones wait in the kernel until one has ended.
//!
//! **Bounds.** [`ConnectionLimits::connections`] of a listener. One peer has [`ConnectionLimits::per_peer`], an IPv6 peer
//! being its /64; proxies may have all. A connection beyond that is closed, and nothing else happens.
//!
//! **Failure.** Connections that are refused or cut off are counted, and reported in one line of the log every
//! [`REPORT_EVERY`].

use std::cell::Cell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::HttpRequest;
use ipnet::IpNet;

use crate::gate::Gate;
use crate::memory::UnreadAnswers;

/// How many connections a listener may have, unless set, and if descriptors allow as many.
pub(crate) const CONNECTIONS: usize = 4096;
/// How many connections one peer may have, unless set.
pub(crate) const PER_PEER: usize = 256;
/// How often the log reports that connections were refused or ended.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// How many connections there may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionLimits {
    /// How many connections the listener may have.
    pub connections: usize,
    /// How many connections one peer may have; 0 is no limit.
    pub per_peer: usize,
    /// Peers to which `per_peer` does not apply, as all their clients look like one peer.
    pub proxies: Vec<IpNet>,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: CONNECTIONS,
            per_peer: PER_PEER,
            proxies: loopback(),
        }
    }
}

/// The networks of this machine itself, where a proxy may be.
pub(crate) fn loopback() -> Vec<IpNet> {
    let v4 = IpNet::new(IpAddr::from([127, 0, 0, 0]), 8);
    let v6 = IpNet::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128);
    [v4, v6].into_iter().flatten().collect()
}

/// The address under which a peer is counted: an IPv6 peer by its /64.
pub(crate) fn peer(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (!0 << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[derive(Debug, Default)]
struct ConnectionCounts {
    refused: AtomicU64,
    cut: AtomicU64,
}

/// The bounds of a listener, shared by its threads.
#[derive(Debug)]
pub struct Bounds {
    limits: ConnectionLimits,
    gate: Arc<Gate>,
    unread: Arc<UnreadAnswers>,
    peers: Mutex<HashMap<IpAddr, usize>>,
    tally: ConnectionCounts,
    reported: Mutex<Option<Instant>>,
}

impl Bounds {
    /// The bounds of a listener that stops when the gate closes, and that counts its unread answers.
    pub fn new(limits: ConnectionLimits, gate: Arc<Gate>, unread: Arc<UnreadAnswers>) -> Self {
        Self {
            limits,
            gate,
            unread,
            peers: Mutex::default(),
            tally: ConnectionCounts::default(),
            reported: Mutex::default(),
        }
    }

    /// How many connections each of this many threads may have.
    pub fn most(&self, workers: usize) -> usize {
        let whole = self.limits.connections.checked_div(workers);
        whole.unwrap_or_default().max(1)
    }

    /// A permit for a connection; `None` when its peer has as many as it may.
    pub fn take(self: &Arc<Self>, from: Option<SocketAddr>) -> Option<ConnectionPermit> {
        let Some(peer) = from.map_or(Some(None), |from| self.come(from.ip())) else {
            self.count(&self.tally.refused);
            return None;
        };
        Some(ConnectionPermit {
            bounds: Arc::clone(self),
            requests: Rc::default(),
            peer,
        })
    }

    fn is_proxy(&self, ip: IpAddr) -> bool {
        let ip = ip.to_canonical();
        self.limits.proxies.iter().any(|net| net.contains(&ip))
    }

    /// Counts a connection of a peer; `None` when it has as many as it may, else the peer to discount later, if it is
    /// counted.
    fn come(&self, ip: IpAddr) -> Option<Option<IpAddr>> {
        let most = self.limits.per_peer;
        if most == 0 || self.is_proxy(ip) {
            return Some(None);
        }
        let peer = peer(ip);
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        let count = peers.entry(peer).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Some(peer))
    }

    fn go(&self, peer: IpAddr) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = peers.get_mut(&peer) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                peers.remove(&peer);
            }
        }
    }

    fn count(&self, what: &AtomicU64) {
        what.fetch_add(1, Ordering::Relaxed);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_some_and(|at| at.elapsed() < REPORT_EVERY) {
            return;
        }
        *reported = Some(Instant::now());
        let ConnectionCounts { refused, cut } = &self.tally;
        tracing::warn!(
            refused = refused.load(Ordering::Relaxed),
            cut_off = cut.load(Ordering::Relaxed),
            "connections were ended; these are all since the start"
        );
    }
}

/// The requests of one connection: how many have come, how many of them handlers have begun, and how many are done.
#[derive(Debug, Default)]
struct ConnectionRequests {
    begun: Cell<u64>,
    handled: Cell<u64>,
    done: Cell<u64>,
}

/// The permit of a connection; free again when it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    bounds: Arc<Bounds>,
    requests: Rc<ConnectionRequests>,
    peer: Option<IpAddr>,
}

impl ConnectionPermit {
    /// Whether the service stops.
    pub fn stopping(&self) -> bool {
        !self.bounds.gate.is_open()
    }

    /// The answers that clients do not read, of all connections.
    pub fn unread(&self) -> &Arc<UnreadAnswers> {
        &self.bounds.unread
    }

    /// Whether a request has arrived that no handler has begun.
    pub fn awaits_handler(&self) -> bool {
        self.requests.handled.get() < self.requests.begun.get()
    }

    /// Sets how many requests have arrived whole since the connection began.
    pub fn begun(&self, many: u64) {
        self.requests.begun.set(many);
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.requests.begun.get() <= self.requests.done.get()
    }

    /// The handle by which requests on the connection know it.
    pub(super) fn pass(&self) -> Pass {
        Pass(Rc::clone(&self.requests))
    }

    /// Counts that the connection was cut off.
    pub fn count_cut(&self) {
        self.bounds.count(&self.bounds.tally.cut);
    }
}

/// The requests of a connection, as one of them knows them.
#[derive(Clone, Debug)]
pub(crate) struct Pass(Rc<ConnectionRequests>);

impl Pass {
    /// Marks that a handler has begun the request that arrived last.
    pub(super) fn begin(self) -> UnderWay {
        self.0.handled.set(self.0.begun.get());
        UnderWay(self)
    }
}

/// A request that is under way until this is dropped together with its answer.
#[derive(Debug)]
pub struct UnderWay(Pass);

/// Marks a request as under way on its connection.
pub fn under_way(request: &HttpRequest) -> Option<UnderWay> {
    request.conn_data::<Pass>().cloned().map(Pass::begin)
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Self(Pass(requests)) = self;
        requests.done.set(requests.done.get().saturating_add(1));
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        if let Some(peer) = self.peer {
            self.bounds.go(peer);
        }
    }
}

#[cfg(test)]
mod tests;
