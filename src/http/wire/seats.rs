//! Bounds the number of connections, and chooses which are closed when there are too many.
//!
//! **Shape.** [`Bounds`] belong to a listener; each of its threads has an equal [`Share`] of
//! [`ConnectionLimits::connections`] and keeps its own [`Seats`], so that nothing is locked but the count of
//! peers, once when a connection comes and once when it goes.
//!
//! **Bounds.** A thread whose share is taken makes room by asking idle connections to leave, [`LEAVE_AT_ONCE`] at a
//! time: first those that have shown no right key, and among these and the others those that have been idle the
//! longest. A connection with a request under way keeps its seat. A newcomer waits for those that are leaving,
//! [`GO_WITHIN`] at most. When none can leave, the newcomer is turned away: it is closed, and nothing else happens.
//! One peer has [`ConnectionLimits::per_peer`] connections, an IPv6 peer being its /64; proxies may have all.
//!
//! **Failure.** Connections that are refused, asked to leave or cut off are counted, and reported in one line of the
//! log every [`REPORT_EVERY`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use actix_web::HttpRequest;
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::http::gate::Gate;
use crate::memory::Unread;

/// How many connections a listener may have, unless set, and if descriptors allow as many.
pub const CONNECTIONS: usize = 4096;
/// How many connections one peer may have, unless set.
pub const PER_PEER: usize = 256;
/// At most this many are asked to leave at once, and as many may come meanwhile.
const LEAVE_AT_ONCE: usize = 32;
/// How long a newcomer waits for connections that are leaving.
const GO_WITHIN: Duration = Duration::from_secs(1);
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
pub fn loopback() -> Vec<IpNet> {
    let v4 = IpNet::new(IpAddr::from([127, 0, 0, 0]), 8);
    let v6 = IpNet::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128);
    [v4, v6].into_iter().flatten().collect()
}

/// The address under which a peer is counted: an IPv6 peer by its /64.
pub fn peer(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (!0 << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The numbers of connections that one thread may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// Connections that are accepted at all, with those that wait for a seat.
    pub most: usize,
    /// Connections that stay.
    pub seats: usize,
    /// Connections that may come while others leave; and as many are asked to leave at once.
    pub slack: usize,
}

#[derive(Debug, Default)]
struct Tally {
    refused: AtomicU64,
    left: AtomicU64,
    cut: AtomicU64,
}

/// The bounds of a listener, shared by its threads.
#[derive(Debug)]
pub struct Bounds {
    limits: ConnectionLimits,
    gate: Arc<Gate>,
    unread: Arc<Unread>,
    peers: Mutex<HashMap<IpAddr, usize>>,
    tally: Tally,
    reported: Mutex<Option<Instant>>,
}

impl Bounds {
    /// The bounds of a listener that stops when the gate closes, and that counts its unread answers.
    pub fn new(limits: ConnectionLimits, gate: Arc<Gate>, unread: Arc<Unread>) -> Self {
        Self {
            limits,
            gate,
            unread,
            peers: Mutex::default(),
            tally: Tally::default(),
            reported: Mutex::default(),
        }
    }

    /// The share of each of this many threads.
    pub fn share(&self, workers: usize) -> Share {
        let whole = self.limits.connections.checked_div(workers);
        let most = whole.unwrap_or_default().max(3);
        let slack = most.div_euclid(8).clamp(1, LEAVE_AT_ONCE);
        let seats = most.saturating_sub(slack.saturating_mul(2));
        Share { most, seats, slack }
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

    fn count(&self, what: &AtomicU64, many: usize) {
        what.fetch_add(u64::try_from(many).unwrap_or(u64::MAX), Ordering::Relaxed);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_some_and(|at| at.elapsed() < REPORT_EVERY) {
            return;
        }
        *reported = Some(Instant::now());
        let Tally { refused, left, cut } = &self.tally;
        tracing::warn!(
            refused = refused.load(Ordering::Relaxed),
            asked_to_leave = left.load(Ordering::Relaxed),
            cut_off = cut.load(Ordering::Relaxed),
            "connections were ended; these are all since the start"
        );
    }
}

/// One connection, as the seats see it.
#[derive(Debug)]
struct Place {
    /// When it came or last became idle, by the count of turns of its thread.
    turn: Cell<u64>,
    /// How many requests have come on it, how many of them handlers have begun, and how many are done.
    begun: Cell<u64>,
    handled: Cell<u64>,
    done: Cell<u64>,
    /// Whether a right key was shown on it.
    known: Cell<bool>,
    leaving: Cell<bool>,
    /// Whether its client has closed its side.
    left: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Place {
    fn is_idle(&self) -> bool {
        self.begun.get() <= self.done.get()
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

/// The connections of one thread.
#[derive(Debug)]
pub struct Seats {
    bounds: Arc<Bounds>,
    share: Share,
    places: RefCell<HashMap<u64, Rc<Place>>>,
    turns: Cell<u64>,
    leaving: Cell<usize>,
    /// Notified when a connection has gone.
    gone: Notify,
}

impl Seats {
    /// All seats of a share, none of them taken.
    pub fn new(bounds: Arc<Bounds>, share: Share) -> Self {
        Self {
            bounds,
            share,
            places: RefCell::default(),
            turns: Cell::default(),
            leaving: Cell::default(),
            gone: Notify::new(),
        }
    }

    fn turn(&self) -> u64 {
        let turn = self.turns.get().saturating_add(1);
        self.turns.set(turn);
        turn
    }

    /// A seat for a connection; waits for connections that are leaving, [`GO_WITHIN`] at most.
    pub async fn wait(self: Rc<Self>, from: Option<SocketAddr>) -> Option<Seat> {
        let until = Instant::now().checked_add(GO_WITHIN)?;
        while !self.room() && self.is_somebody_going() {
            let left = until.saturating_duration_since(Instant::now());
            if timeout(left, self.gone.notified()).await.is_err() {
                break;
            }
        }
        self.take(from)
    }

    /// A seat for a connection, if there is room for one.
    pub fn take(self: &Rc<Self>, from: Option<SocketAddr>) -> Option<Seat> {
        let seat = self.room().then(|| self.sit(from)).flatten();
        if seat.is_none() {
            self.bounds.count(&self.bounds.tally.refused, 1);
        }
        seat
    }

    fn sit(self: &Rc<Self>, from: Option<SocketAddr>) -> Option<Seat> {
        let peer = match from {
            Some(from) => self.bounds.come(from.ip())?,
            None => None,
        };
        let turn = self.turn();
        let place = Rc::new(Place {
            turn: Cell::new(turn),
            begun: Cell::new(0),
            handled: Cell::new(0),
            done: Cell::new(0),
            known: Cell::new(false),
            leaving: Cell::new(false),
            left: Cell::new(false),
            waker: RefCell::default(),
        });
        self.places.borrow_mut().insert(turn, Rc::clone(&place));
        Some(Seat {
            seats: Rc::clone(self),
            place,
            number: turn,
            peer,
        })
    }

    /// Whether there is room for one more; asks others to leave if necessary.
    fn room(&self) -> bool {
        let Share { seats, slack, .. } = self.share;
        let most = seats.saturating_add(slack);
        let many = self.places.borrow().len();
        let full = || many.saturating_sub(self.leaving.get()) >= seats;
        // While some are leaving, no more are asked: connections with a key would be next.
        if full() || (many >= most && !self.is_somebody_going()) {
            self.make_room();
        }
        many < most && !full()
    }

    /// Whether a connection that was asked to leave has no request under way.
    fn is_somebody_going(&self) -> bool {
        let places = self.places.borrow();
        let mut places = places.values();
        places.any(|place| place.leaving.get() && place.is_idle())
    }

    fn make_room(&self) {
        let places = self.places.borrow();
        let mut idle: Vec<_> = places
            .values()
            .filter(|place| place.is_idle() && !place.leaving.get())
            .collect();
        let most = self.share.slack;
        if idle.len() > most {
            idle.select_nth_unstable_by_key(most, |place| (place.known.get(), place.turn.get()));
            idle.truncate(most);
        }
        for place in &idle {
            place.leaving.set(true);
            place.wake();
        }
        let many = idle.len();
        self.leaving.set(self.leaving.get().saturating_add(many));
        if many > 0 {
            self.bounds.count(&self.bounds.tally.left, many);
        }
    }
}

/// The seat of a connection; free again when it is dropped.
#[derive(Debug)]
pub struct Seat {
    seats: Rc<Seats>,
    place: Rc<Place>,
    number: u64,
    peer: Option<IpAddr>,
}

impl Seat {
    /// Whether the connection is asked to make room.
    pub fn has_to_leave(&self) -> bool {
        self.place.leaving.get()
    }

    /// Whether the service stops.
    pub fn stopping(&self) -> bool {
        !self.seats.bounds.gate.is_open()
    }

    /// The answers that clients do not read, of all connections.
    pub fn unread(&self) -> &Arc<Unread> {
        &self.seats.bounds.unread
    }

    /// Whether a request has arrived that no handler has begun.
    pub fn awaits_handler(&self) -> bool {
        self.place.handled.get() < self.place.begun.get()
    }

    /// Registers a waker, for when the connection has to leave.
    pub fn wait(&self, waker: &Waker) {
        let mut known = self.place.waker.borrow_mut();
        match &*known {
            Some(known) if known.will_wake(waker) => {}
            Some(_) | None => *known = Some(waker.clone()),
        }
    }

    /// Sets how many requests have arrived whole since the connection began.
    pub fn begun(&self, many: u64) {
        self.place.begun.set(many);
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.place.is_idle()
    }

    /// Notes that the client has closed its side: it waits for no answer any more.
    pub fn leave(&self) {
        self.place.left.set(true);
    }

    /// Whether its client has closed its side.
    pub fn has_left(&self) -> bool {
        self.place.left.get()
    }

    /// The handle by which requests on the connection know it.
    pub(super) fn pass(&self) -> Pass {
        Pass {
            seats: Rc::clone(&self.seats),
            place: Rc::clone(&self.place),
        }
    }

    /// Counts that the connection was cut off.
    pub fn count_cut(&self) {
        self.seats.bounds.count(&self.seats.bounds.tally.cut, 1);
    }
}

/// The seat of a connection, as its requests know it.
#[derive(Clone, Debug)]
pub struct Pass {
    seats: Rc<Seats>,
    place: Rc<Place>,
}

impl Pass {
    /// Marks that a handler has begun the request that arrived last.
    pub(super) fn begin(self) -> UnderWay {
        self.place.handled.set(self.place.begun.get());
        UnderWay(self)
    }
}

/// Notes that a request came with a right key: connections of strangers are asked to leave before its own.
pub fn recognise(request: &HttpRequest) {
    if let Some(pass) = request.conn_data::<Pass>() {
        pass.place.known.set(true);
    }
}

/// Whether the client of a request has already closed its side. The library passes on a request before it acts on the
/// close, however long both have waited in the socket.
pub fn has_left(request: &HttpRequest) -> bool {
    let pass = request.conn_data::<Pass>();
    pass.is_some_and(|pass| pass.place.left.get())
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
        let Self(Pass { seats, place }) = self;
        place.done.set(place.done.get().saturating_add(1));
        if place.is_idle() {
            place.turn.set(seats.turn());
        }
        // The connection may wait for that, to leave.
        if place.leaving.get() {
            place.wake();
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.places.borrow_mut().remove(&self.number);
        if self.place.leaving.get() {
            let leaving = &self.seats.leaving;
            leaving.set(leaving.get().saturating_sub(1));
        }
        if let Some(peer) = self.peer {
            self.seats.bounds.go(peer);
        }
        self.seats.gone.notify_waiters();
    }
}

#[cfg(test)]
mod tests;
