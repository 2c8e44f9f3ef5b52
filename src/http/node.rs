//! One node of several that share cells: which cells it serves itself, and where it passes the other requests.
//!
//! **Shape.** Any node takes any request. The owner of the cell in which the realm of the request's key lies serves
//! it; every other node passes it on, once ([`pass`]), to the owner's address in the log. A node may own any of the
//! cells, each by a lease of its own. While a node is about to own a cell, or to give it away, its requests wait: a
//! client sees a slow request.
//!
//! **Order.** A request is counted before it is checked that this node serves, so waiting for the last one
//! ([`Node::emptied`]) misses none. A request is admitted only while no other node can own the cell, so a read shows
//! the latest state. The first cell decides on keys, tenants and where realms lie: a node that does not own that cell
//! stops serving once it has not followed it to its end for [`KNOWN_FOR`], so a revoked key works nowhere after that.
//!
//! **Bounds.** A request waits for an owner for [`Node::patience`]; the bodies of waiting requests take
//! [`BODIES_BYTES`] at most.

mod aim;
pub mod errand;
pub mod hand_over;
mod parcel;
pub mod pass;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::web::Bytes;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest;
use caudal_actors::cells::FIRST;
use caudal_actors::engine::Engine;
use caudal_actors::failure::Failure;
use caudal_storage::log::{Epoch, Standing};
use caudal_storage::{CommitNo, Member};
use rustls::ClientConfig;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{Mutex, Notify, Semaphore, watch};

use super::tls::Tls;

/// How long requests wait for an owner after the end of a lease.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most bytes of bodies that are kept while requests are passed on.
pub const BODIES_BYTES: usize = 64 << 20;
/// How many of those bytes requests without a key that this node knows may take; the same holds for notices of banks.
pub const STRANGERS_BYTES: usize = 16 << 20;
/// How long this node counts as cut off after the owner of a cell refused it. After that it is ready again, and the
/// next request shows whether the owner still refuses it.
const CUT_OFF: Duration = Duration::from_secs(30);
/// How long another node may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// How long an unused connection between nodes is kept; the other side keeps it longer.
const IDLE: Duration = Duration::from_secs(30);
/// How long this node may rely on its knowledge of the platform while another node writes it.
pub const KNOWN_FOR: Duration = Duration::from_secs(2);
/// A node that was not seen for this long counts as gone.
pub const SEEN: Duration = Duration::from_secs(4);

/// The facts by which the nodes of a service know and reach each other.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The name of this node.
    pub name: Arc<str>,
    /// Where the other nodes reach this node.
    pub address: Arc<str>,
    /// How long a lease lasts.
    pub lease: Duration,
    /// The secret that nodes show each other.
    pub secret: SecretString,
    /// How connections between nodes are encrypted, if they are.
    pub tls: Option<Arc<Tls>>,
}

/// Counts of requests passed on, and of changes of owner, since the start.
#[derive(Debug, Default)]
pub struct Passed {
    /// Requests that were answered by another node.
    pub answered: AtomicU64,
    /// Repeated tries.
    pub again: AtomicU64,
    /// Requests whose outcome is not known here.
    pub unknown: AtomicU64,
    /// Requests for which no owner was found in time.
    pub refused: AtomicU64,
    /// How often this node has handed a cell over.
    pub handed_over: AtomicU64,
    /// How often this node has begun to serve a cell.
    pub turns: AtomicU64,
}

/// This node's part in one cell.
#[derive(Debug)]
pub struct Seat {
    member: Member,
    serves: watch::Sender<bool>,
    inside: AtomicUsize,
    left: Notify,
    /// Held while the cell is given away.
    giving: Mutex<()>,
}

impl Seat {
    fn new(member: Member) -> Self {
        Self {
            member,
            serves: watch::Sender::new(false),
            inside: AtomicUsize::new(0),
            left: Notify::new(),
            giving: Mutex::new(()),
        }
    }

    /// This node's membership in the cell, from the cell's store.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// Whether requests are served here by this node's own right: no other node can own the cell now.
    fn is_open(&self) -> bool {
        *self.serves.borrow() && self.member.is_sure()
    }
}

/// Finds the cell that a bank's notice is for, by the notice's body; `None` if this node cannot tell.
pub type Whose = fn(Arc<Engine>, Bytes) -> Found;
/// The cell, once the search for it is done.
pub type Found = Pin<Box<dyn Future<Output = Result<Option<u32>, Failure>>>>;

/// This node.
#[derive(Debug)]
pub struct Node {
    membership: Membership,
    /// One for each cell, indexed by its number; at least one.
    seats: Box<[Seat]>,
    /// Whether tenants and keys are written here, as long as this node owns the first cell.
    writes: AtomicBool,
    /// The instant as of which this node knows the platform, while another one writes it.
    known: RwLock<Option<Instant>>,
    whose: Whose,
    client: RwLock<reqwest::Client>,
    room: Semaphore,
    strangers: Semaphore,
    notices: Semaphore,
    /// The owners' addresses that refused this node, and when; an address that answered as a node of the cell is
    /// removed.
    refused: RwLock<BTreeMap<Arc<str>, Instant>>,
    /// The counts of requests passed on.
    pub passed: Passed,
}

/// A request that is served here, in a cell.
pub struct Inside(Arc<Node>, u32);

impl Drop for Inside {
    fn drop(&mut self) {
        if let Some(seat) = self.0.seat(self.1)
            && seat.inside.fetch_sub(1, Ordering::SeqCst) == 1
        {
            seat.left.notify_waiters();
        }
    }
}

/// The address of the owner, and its epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Owner {
    address: Arc<str>,
    epoch: Epoch,
}

impl Node {
    /// A node that does not serve yet, with its part in each cell by the number of the cell.
    ///
    /// # Errors
    /// When the client of the other nodes cannot be made.
    pub fn new(
        membership: Membership,
        members: impl IntoIterator<Item = Member>,
        whose: Whose,
    ) -> reqwest::Result<Self> {
        let client = RwLock::new(client(membership.tls.as_ref().map(|tls| tls.client()))?);
        Ok(Self {
            membership,
            seats: members.into_iter().map(Seat::new).collect(),
            writes: AtomicBool::new(false),
            known: RwLock::new(None),
            whose,
            client,
            room: Semaphore::new(BODIES_BYTES),
            strangers: Semaphore::new(STRANGERS_BYTES),
            notices: Semaphore::new(STRANGERS_BYTES),
            refused: RwLock::default(),
            passed: Passed::default(),
        })
    }

    /// How connections between nodes are encrypted, if they are.
    pub fn tls(&self) -> Option<&Arc<Tls>> {
        self.membership.tls.as_ref()
    }

    /// Looks for new certificates, and uses them from then on. Returns whether there were any.
    ///
    /// # Errors
    /// Why they cannot be used.
    pub fn look_at_certificates(&self) -> Result<bool, String> {
        let Some(tls) = self.tls() else {
            return Ok(false);
        };
        let Some(found) = tls.look()? else {
            return Ok(false);
        };
        // Requests under way finish on the old connections.
        let new = client(Some(found.client())).map_err(|why| why.to_string())?;
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = new;
        tls.put(found);
        // A refusal from now on has another reason.
        self.refused
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        Ok(true)
    }

    /// The client of the other nodes.
    fn client(&self) -> reqwest::Client {
        self.client
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The name of this node.
    pub fn name(&self) -> &str {
        &self.membership.name
    }

    /// This node's part in the cell with this number; `None` if there is no such cell.
    pub fn seat(&self, cell: u32) -> Option<&Seat> {
        self.seats.get(usize::try_from(cell).ok()?)
    }

    /// The numbers of all cells.
    pub fn cells(&self) -> impl Iterator<Item = u32> + use<> {
        let several = self.seats.len();
        (0..).take(several)
    }

    /// Whether there is only one cell, which holds everything.
    pub fn is_whole(&self) -> bool {
        self.seats.len() == 1
    }

    /// How long a request waits for an owner.
    pub fn patience(&self) -> Duration {
        self.membership.lease + PATIENCE
    }

    /// Whether requests of a cell are served here, and reads show the latest state.
    pub fn serves(&self, cell: u32) -> bool {
        let open = self.seat(cell).is_some_and(Seat::is_open);
        open && (cell == FIRST || self.is_told())
    }

    /// Whether this node owns any cell, including one that it does not serve at the moment.
    pub fn owns_any(&self) -> bool {
        self.seats.iter().any(|seat| seat.member.owns())
    }

    /// Whether this node owns any cell, and serves it as soon as it knows the platform.
    pub fn serves_any(&self) -> bool {
        self.seats.iter().any(Seat::is_open)
    }

    /// Why requests of a cell wait, if the cell is served neither here nor, as far as this node knows, elsewhere.
    pub fn why_waits(&self, cell: u32) -> String {
        let (here, known) = (self.name(), KNOWN_FOR.as_secs());
        let seat = self.seat(cell);
        if seat.is_some_and(Seat::is_open) {
            return format!(
                "cell {cell} is owned by {here}, which has not followed cell {FIRST} for {known} seconds and so does not \
                 know which keys hold: its requests wait until it has. See whether the log of cell {FIRST} is reached"
            );
        }
        match seat.is_some_and(|seat| seat.member.owns()) {
            true => format!(
                "cell {cell} is owned by {here}, which begins to serve it or gives it away: its requests wait"
            ),
            false => format!("{here} knows of no owner of cell {cell}: its requests wait for one"),
        }
    }

    /// Whether this node's knowledge of tenants, keys and the places of realms is current: this node writes the
    /// platform, or has just followed it.
    fn is_told(&self) -> bool {
        self.writes_platform() || self.knows_since(Instant::now().checked_sub(KNOWN_FOR))
    }

    /// Whether tenants and keys are written here, and by no other node.
    pub fn writes_platform(&self) -> bool {
        let sure = self.seat(FIRST).is_some_and(|seat| seat.member.is_sure());
        sure && self.writes.load(Ordering::SeqCst)
    }

    /// Sets whether tenants and keys are written here; set to false before the first cell's actors stop.
    pub fn platform_is_here(&self, here: bool) {
        self.writes.store(here, Ordering::SeqCst);
    }

    /// Whether the platform is known as of this instant or a later one; `None` is before every instant.
    pub fn knows_since(&self, since: Option<Instant>) -> bool {
        let known = *self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.is_some_and(|known| since.is_none_or(|since| known >= since))
    }

    /// Notes that the platform is known here as it was at this instant.
    pub fn knows_as_of(&self, at: Instant) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        *known = (*known).max(Some(at));
    }

    /// Sets whether requests of a cell are served here.
    pub fn serve(&self, cell: u32, serves: bool) {
        let Some(seat) = self.seat(cell) else { return };
        if seat.serves.send_replace(serves) != serves && serves {
            self.passed.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Admits a request of a cell; `None` if the cell is not served here.
    fn enter(self: &Arc<Self>, cell: u32) -> Option<Inside> {
        let seat = self.seat(cell)?;
        seat.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(Arc::clone(self), cell);
        self.serves(cell).then_some(inside)
    }

    /// Waits until no request of a cell is served here any more; call it once none is admitted.
    pub async fn emptied(&self, cell: u32) {
        let Some(seat) = self.seat(cell) else { return };
        loop {
            let left = seat.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if seat.inside.load(Ordering::SeqCst) == 0 {
                return;
            }
            left.await;
        }
    }

    /// The owner and the nodes of a cell, as this node knows them, and how long ago it asked.
    pub fn standing(&self, cell: u32) -> Option<(Standing, Duration)> {
        self.seat(cell)?.member.standing()
    }

    /// Whether requests of a cell are served, here or by an owner that this node knows.
    pub fn is_served(&self, cell: u32) -> bool {
        self.serves(cell) || self.owner(cell).is_some()
    }

    /// The name of the owner of a cell, as far as this node knows. An owner whose lease has ended since counts as
    /// none.
    pub fn owner_of(&self, cell: u32) -> Option<Arc<str>> {
        let (standing, ago) = self.standing(cell)?;
        standing.owner_after(ago).cloned()
    }

    /// The owner of a cell, if this node knows one and is not the owner itself.
    fn owner(&self, cell: u32) -> Option<Owner> {
        let (standing, ago) = self.standing(cell)?;
        if standing.owner.as_deref() == Some(self.name()) {
            return None;
        }
        let address = Arc::clone(standing.address_after(ago)?);
        let epoch = standing.epoch;
        Some(Owner { address, epoch })
    }

    /// The follower that gets a cell: the one named, or the one that has applied most and, among equals, was seen
    /// last.
    fn follower(&self, cell: u32, named: Option<&str>) -> Option<Arc<str>> {
        let (standing, ago) = self.standing(cell)?;
        let here = standing.nodes.iter().filter(|seen| seen.ago + ago <= SEEN);
        let others = here.filter(|seen| *seen.node.name != *self.name());
        let fit = others.filter(|seen| named.is_none_or(|named| *seen.node.name == *named));
        let furthest = fit.max_by_key(|seen| (seen.node.applied, Reverse(seen.ago)));
        furthest.map(|seen| Arc::clone(&seen.node.name))
    }

    /// Notes that the owner at this address is a node of the cell: its next refusal is logged again.
    fn met_friend(&self, address: &str) {
        // mostly there is nothing to forget
        let refused = self.refused.read().unwrap_or_else(PoisonError::into_inner);
        if !refused.contains_key(address) {
            return;
        }
        drop(refused);
        let mut refused = self.refused.write().unwrap_or_else(PoisonError::into_inner);
        refused.remove(address);
    }

    /// Notes that the owner at this address refuses this node. Returns whether that is news.
    fn is_refused_anew(&self, address: &Arc<str>) -> bool {
        let mut refused = self.refused.write().unwrap_or_else(PoisonError::into_inner);
        refused
            .insert(Arc::clone(address), Instant::now())
            .is_none()
    }

    /// Logs once that another process answers at the owner's address, or that the two nodes do not fit together.
    fn met_stranger(&self, address: &Arc<str>) {
        if self.is_refused_anew(address) {
            tracing::error!(
                %address,
                "what answers at the owner's address is no node of this cell, or has another secret or pepper: \
                 nothing can be passed on to it"
            );
        }
    }

    /// Logs once that the owner and this node do not accept each other's certificates.
    fn met_untrusted(&self, address: &Arc<str>, why: &str) {
        if self.is_refused_anew(address) {
            tracing::error!(
                %address,
                why,
                "no encrypted connection to the owner: nothing can be passed on to it"
            );
        }
    }

    /// The reason why this node can pass nothing on to an owner that refused it a moment ago; `None` if none did.
    pub fn cut_off(&self) -> Option<String> {
        let refused = self.refused.read().unwrap_or_else(PoisonError::into_inner);
        let mut lately = refused.iter().filter(|(_, when)| when.elapsed() < CUT_OFF);
        lately.next().map(|(address, _)| {
            format!(
                "the node at {address} refuses this one: compare their secrets, peppers and certificates"
            )
        })
    }

    /// The last commit in the log of a cell, as this node knows it.
    pub fn head(&self, cell: u32) -> Option<CommitNo> {
        Some(self.standing(cell)?.0.tail.commit)
    }

    /// Whether a secret is the one that nodes show each other.
    fn knows(&self, shown: &[u8]) -> bool {
        let digest = |secret: &[u8]| digest::digest(&digest::SHA256, secret);
        let own = digest(self.membership.secret.expose_secret().as_bytes());
        verify_slices_are_equal(own.as_ref(), digest(shown).as_ref()).is_ok()
    }
}

/// A client of the other nodes.
fn client(tls: Option<ClientConfig>) -> reqwest::Result<reqwest::Client> {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .http1_only();
    let client = match tls {
        Some(tls) => client.https_only(true).tls_backend_preconfigured(tls),
        // Nodes without TLS talk plainly over a network of their own.
        None => client.tls_certs_only([]),
    };
    client.build()
}
