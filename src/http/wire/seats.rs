//! How many connections there may be, and which are closed when there are too many.
//!
//! **Shape.** [`Bounds`] belong to a listener; each of its threads has an equal [`Share`] of
//! [`ConnectionLimits::connections`] and keeps its own [`Seats`], so that nothing is locked but the count of
//! peers, once when a connection comes and once when it goes.
//!
//! **Bounds.** A thread whose share is taken makes room by asking those to leave that have been
//! without a request the longest, [`LEAVE_AT_ONCE`] at a time, and whoever has shown a right key only
//! when no stranger is left; who has a request under way keeps its seat. A newcomer waits for those who are
//! going, [`GO_WITHIN`] at most. When nobody can leave, it is turned away: it is closed, and nothing
//! else happens.
//! One peer has [`ConnectionLimits::per_peer`] connections, an IPv6 peer being its /64; proxies may have all.
//!
//! **Failure.** What is refused, asked to leave and cut off is counted, and reported in one line of the
//! log every [`REPORT_EVERY`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use actix_web::HttpRequest;
use ipnet::IpNet;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::http::gate::Gate;

/// How many connections a listener has, unless set, and if descriptors allow as many.
pub const CONNECTIONS: usize = 4096;
/// How many connections one peer may have, unless set.
pub const PER_PEER: usize = 256;
/// This many are asked to leave at once, at most, and may come meanwhile.
const LEAVE_AT_ONCE: usize = 32;
/// How long somebody new waits for those who are going.
const GO_WITHIN: Duration = Duration::from_secs(1);
/// How often it is reported that connections were refused or ended.
const REPORT_EVERY: Duration = Duration::from_secs(10);

/// How many connections there may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConnectionLimits {
    /// How many connections the listener may have.
    pub connections: usize,
    /// How many connections one peer may have; 0 is no limit.
    pub per_peer: usize,
    /// Peers for which `per_peer` does not count, as all clients look like them.
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

/// The networks of this machine alone, where a proxy may be.
pub fn loopback() -> Vec<IpNet> {
    let v4 = IpNet::new(IpAddr::from([127, 0, 0, 0]), 8);
    let v6 = IpNet::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 128);
    [v4, v6].into_iter().flatten().collect()
}

/// One peer, as it is counted.
pub fn peer(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & (!0 << 64))),
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The connections of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// That are accepted at all, with those that wait to be looked at.
    pub most: usize,
    /// That stay.
    pub seats: usize,
    /// That come while others leave; and as many as leave at once.
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
    peers: Mutex<HashMap<IpAddr, usize>>,
    tally: Tally,
    reported: Mutex<Option<Instant>>,
}

impl Bounds {
    /// For a listener that stops when the gate closes.
    pub fn new(limits: ConnectionLimits, gate: Arc<Gate>) -> Self {
        Self {
            limits,
            gate,
            peers: Mutex::default(),
            tally: Tally::default(),
            reported: Mutex::default(),
        }
    }

    /// What each of this many threads has.
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

    /// Counts a connection of a peer; `None` when it has as many as it may, else whom to discount.
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

/// One connection, as others see it.
#[derive(Debug)]
struct Place {
    /// When it came or last became idle, in turns of its thread.
    turn: Cell<u64>,
    /// How many requests have come on it, and how many of them are done with.
    begun: Cell<u64>,
    done: Cell<u64>,
    /// Whether a right key was shown on it.
    known: Cell<bool>,
    leaving: Cell<bool>,
    /// Whether it ends when nothing is under way any more.
    ending: Cell<bool>,
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
    /// Somebody has gone.
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

    /// A seat for a connection, when those have gone who are on their way; they have [`GO_WITHIN`].
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
            done: Cell::new(0),
            known: Cell::new(false),
            leaving: Cell::new(false),
            ending: Cell::new(false),
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

    /// Whether one more may come; asks others to leave if it has to.
    fn room(&self) -> bool {
        let Share { seats, slack, .. } = self.share;
        let most = seats.saturating_add(slack);
        let many = self.places.borrow().len();
        let full = || many.saturating_sub(self.leaving.get()) >= seats;
        // While some are on their way, no more are asked: those with a key would be next.
        if full() || (many >= most && !self.is_somebody_going()) {
            self.make_room();
        }
        many < most && !full()
    }

    /// Whether somebody was asked to leave who has no request under way.
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
    /// Whether it is asked to make room.
    pub fn has_to_leave(&self) -> bool {
        self.place.leaving.get()
    }

    /// Waits until it is asked to make room.
    pub async fn given_up(&self) {
        poll_fn(|context| {
            self.wait(context.waker());
            match self.has_to_leave() {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// It ends when nothing is under way any more, and is woken then.
    pub fn end(&self, waker: &Waker) {
        self.place.ending.set(true);
        self.wait(waker);
    }

    /// Whether the service stops.
    pub fn stopping(&self) -> bool {
        !self.seats.bounds.gate.is_open()
    }

    /// Nothing comes; this wakes it when it has to leave.
    pub fn wait(&self, waker: &Waker) {
        let mut known = self.place.waker.borrow_mut();
        match &*known {
            Some(known) if known.will_wake(waker) => {}
            Some(_) | None => *known = Some(waker.clone()),
        }
    }

    /// This many requests have come whole, since the connection began.
    pub fn begun(&self, many: u64) {
        self.place.begun.set(many);
    }

    /// Whether no request is under way.
    pub fn is_idle(&self) -> bool {
        self.place.is_idle()
    }

    /// Its client has closed its side: whatever it asked, nobody waits for the answer.
    pub fn leave(&self) {
        self.place.left.set(true);
    }

    /// Whether its client has closed its side.
    pub fn has_left(&self) -> bool {
        self.place.left.get()
    }

    /// What requests on it know it by.
    pub(super) fn pass(&self) -> Pass {
        Pass {
            seats: Rc::clone(&self.seats),
            place: Rc::clone(&self.place),
        }
    }

    /// It was cut off.
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

/// Says that a request came with a right key: its connection gives way to none of a stranger.
pub fn recognise(request: &HttpRequest) {
    if let Some(pass) = request.conn_data::<Pass>() {
        pass.place.known.set(true);
    }
}

/// Whether the client of a request has closed its side already. The library hands a request over
/// before it acts on that, however long both have waited in the socket.
pub fn has_left(request: &HttpRequest) -> bool {
    let pass = request.conn_data::<Pass>();
    pass.is_some_and(|pass| pass.place.left.get())
}

/// A request that is under way until this is dropped, with the last of its answer.
#[derive(Debug)]
pub struct UnderWay(Pass);

/// Keeps the seat of a request's connection.
pub fn under_way(request: &HttpRequest) -> Option<UnderWay> {
    request.conn_data::<Pass>().cloned().map(UnderWay)
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let Self(Pass { seats, place }) = self;
        place.done.set(place.done.get().saturating_add(1));
        if place.is_idle() {
            place.turn.set(seats.turn());
        }
        // Perhaps its connection waits for that, to say why it reads no more, or to leave.
        if place.leaving.get() || place.ending.get() {
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
