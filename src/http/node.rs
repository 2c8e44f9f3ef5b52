//! One node of several that share a cell: whether it serves requests itself, and to whom it passes them on.
//!
//! **Shape.** Any node takes any request. The owner of the cell serves it; every other node passes it on, once
//! ([`pass`]), to the address that the log has for the owner. A node that is about to own the cell, or to give it
//! away, has requests wait: to a client that is a slow request.
//!
//! **Order.** A request is counted before it is asked whether this node serves, so whoever waits for the last one
//! ([`Node::emptied`]) misses none. What is served was admitted while no other node could own the cell, so a read shows
//! the last word.
//!
//! **Bounds.** A request waits for an owner for [`Node::patience`]; the bodies that wait take [`BODIES_BYTES`] at most.

pub mod hand_over;
mod parcel;
pub mod pass;

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest;
use caudal_storage::log::{Epoch, Standing};
use caudal_storage::{CommitNo, Member};
use rustls::ClientConfig;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::{Mutex, Notify, Semaphore, watch};

use super::tls::Tls;

/// How long after the end of a lease an owner is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many bytes the bodies take at most that are kept while they are passed on.
pub const BODIES_BYTES: usize = 64 << 20;
/// How long another node has to answer a connection.
const CONNECT: Duration = Duration::from_secs(1);
/// How long a connection between nodes is kept that nobody uses; the other side keeps it longer.
const IDLE: Duration = Duration::from_secs(30);
/// A node that was not seen for so long is not there.
pub const SEEN: Duration = Duration::from_secs(4);

/// What nodes have in common that may ask each other.
#[derive(Clone, Debug)]
pub struct Membership {
    /// The name of this node.
    pub name: Arc<str>,
    /// Where the others reach it.
    pub address: Arc<str>,
    /// How long a lease lasts.
    pub lease: Duration,
    /// What they show each other.
    pub secret: SecretString,
    /// How their connections are encrypted, where they are.
    pub tls: Option<Arc<Tls>>,
}

/// What was passed on since the start.
#[derive(Debug, Default)]
pub struct Passed {
    /// Requests that were answered by another node.
    pub answered: AtomicU64,
    /// Tries that were made again.
    pub again: AtomicU64,
    /// Requests whose outcome is not known here.
    pub unknown: AtomicU64,
    /// Requests for which there was no owner in time.
    pub refused: AtomicU64,
    /// How often this node has handed the cell over.
    pub handed_over: AtomicU64,
    /// How often it has begun to serve.
    pub turns: AtomicU64,
}

/// This node.
#[derive(Debug)]
pub struct Node {
    membership: Membership,
    member: Member,
    serves: watch::Sender<bool>,
    inside: AtomicUsize,
    left: Notify,
    client: RwLock<reqwest::Client>,
    room: Semaphore,
    /// It was said that the owner is a stranger, and it has not answered as a node of the cell since.
    strange: AtomicBool,
    /// Held by whoever gives the cell away.
    giving: Mutex<()>,
    /// What was passed on.
    pub passed: Passed,
}

/// A request that is served here.
pub struct Inside(Arc<Node>);

impl Drop for Inside {
    fn drop(&mut self) {
        if self.0.inside.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left.notify_waiters();
        }
    }
}

/// Where the owner is, and under which epoch.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Owner {
    address: Arc<str>,
    epoch: Epoch,
}

impl Node {
    /// A node that does not serve yet.
    ///
    /// # Errors
    /// When the client of the other nodes cannot be made.
    pub fn new(membership: Membership, member: Member) -> reqwest::Result<Self> {
        let client = RwLock::new(client(membership.tls.as_ref().map(|tls| tls.client()))?);
        Ok(Self {
            membership,
            member,
            serves: watch::Sender::new(false),
            inside: AtomicUsize::new(0),
            left: Notify::new(),
            client,
            room: Semaphore::new(BODIES_BYTES),
            strange: AtomicBool::new(false),
            giving: Mutex::new(()),
            passed: Passed::default(),
        })
    }

    /// How connections between nodes are encrypted, where they are.
    pub fn tls(&self) -> Option<&Arc<Tls>> {
        self.membership.tls.as_ref()
    }

    /// Looks whether there are new certificates, and uses them from then on. Whether there were.
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
        // What is under way ends on the connections of before.
        let new = client(Some(found.client())).map_err(|why| why.to_string())?;
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = new;
        tls.put(found);
        // Whoever is refused from now on is so for another reason.
        self.strange.store(false, Ordering::Relaxed);
        Ok(true)
    }

    /// The client of the other nodes.
    fn client(&self) -> reqwest::Client {
        self.client
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.membership.name
    }

    /// Its part in the cell.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// How long a request waits for an owner.
    pub fn patience(&self) -> Duration {
        self.membership.lease + PATIENCE
    }

    /// Whether requests are served here, and what they read is the last word.
    pub fn serves(&self) -> bool {
        *self.serves.borrow() && self.member.is_sure()
    }

    /// From now on requests are served here, or are not.
    pub fn serve(&self, serves: bool) {
        if self.serves.send_replace(serves) != serves && serves {
            self.passed.turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Takes a request in; `None` where it is not served.
    fn enter(self: &Arc<Self>) -> Option<Inside> {
        self.inside.fetch_add(1, Ordering::SeqCst);
        let inside = Inside(Arc::clone(self));
        self.serves().then_some(inside)
    }

    /// Waits until no request is served here any more, once none is taken in.
    pub async fn emptied(&self) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            left.as_mut().enable();
            if self.inside.load(Ordering::SeqCst) == 0 {
                return;
            }
            left.await;
        }
    }

    /// Who owns the cell and who is there, as this node knows, and how long ago it asked.
    pub fn standing(&self) -> Option<(Standing, Duration)> {
        self.member.standing()
    }

    /// Whether requests are served, here or by an owner that this node knows.
    pub fn is_served(&self) -> bool {
        self.serves() || self.owner().is_some()
    }

    /// Another node that owns the cell, as far as this one knows.
    fn owner(&self) -> Option<Owner> {
        let (standing, ago) = self.standing()?;
        // What was asked longer ago than a lease says nothing of now.
        if ago > self.membership.lease || standing.owner.as_deref() == Some(self.name()) {
            return None;
        }
        let address = Arc::clone(standing.address()?);
        let epoch = standing.epoch;
        Some(Owner { address, epoch })
    }

    /// The follower to which the cell is given: the one named, or the one that is furthest and was seen last.
    fn follower(&self, named: Option<&str>) -> Option<Arc<str>> {
        let (standing, ago) = self.standing()?;
        let here = standing.nodes.iter().filter(|seen| seen.ago + ago <= SEEN);
        let others = here.filter(|seen| *seen.node.name != *self.name());
        let fit = others.filter(|seen| named.is_none_or(|named| *seen.node.name == *named));
        let furthest = fit.max_by_key(|seen| (seen.node.applied, Reverse(seen.ago)));
        furthest.map(|seen| Arc::clone(&seen.node.name))
    }

    /// The owner is a node of this cell: whatever is refused from now on is told again.
    fn met_friend(&self) {
        self.strange.store(false, Ordering::Relaxed);
    }

    /// Says once that the owner's address is not the owner's, or that the two nodes do not fit together.
    fn met_stranger(&self, address: &str) {
        if !self.strange.swap(true, Ordering::Relaxed) {
            tracing::error!(
                address,
                "what answers at the owner's address is no node of this cell, or has another secret or pepper: \
                 nothing can be passed on to it"
            );
        }
    }

    /// Says once that the owner and this node do not accept each other's certificates.
    fn met_untrusted(&self, address: &str, why: &str) {
        if !self.strange.swap(true, Ordering::Relaxed) {
            tracing::error!(
                address,
                why,
                "no encrypted connection to the owner: nothing can be passed on to it"
            );
        }
    }

    /// How far the log goes, as this node knows.
    pub fn head(&self) -> Option<CommitNo> {
        Some(self.standing()?.0.tail.commit)
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
        // They talk plainly over a network of their own.
        None => client.tls_certs_only([]),
    };
    client.build()
}
