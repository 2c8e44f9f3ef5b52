//! Resolves names: every address of an answer is checked, and the client connects to addresses that were checked.
//!
//! **Order.** One lookup for each connection. The client tries the addresses of that lookup, so a name that resolves
//! otherwise a moment later (DNS rebinding) gains nothing.
//!
//! **Failure.** One address to which the service may not send spoils the whole answer: it is either a mistake of the
//! receiver, who should know, or an attack that would try again until it is lucky.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::guard::AllowedAddresses;

/// How many addresses of an answer are tried.
pub const ADDRESSES_MAX: usize = 8;

/// The addresses that a lookup finds, once it is done.
pub type LookingUp = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Looks up the addresses of names.
pub trait NameLookup: Send + Sync + fmt::Debug + 'static {
    /// The addresses of a name.
    fn lookup(&self, name: &str) -> LookingUp;
}

/// Resolves a name, and blocks the thread until the machine's resolver has answered.
pub type ResolveFn = fn(&str) -> io::Result<Vec<IpAddr>>;

/// The machine's own resolver.
///
/// **Bounds.** A name server that is silent holds a thread for longer than any caller waits, so a name is asked for
/// once at a time; others who need the same name wait for their turn.
#[derive(Debug)]
pub struct SystemLookup {
    ask: ResolveFn,
    names: Mutex<HashMap<String, Weak<Semaphore>>>,
}

impl Default for SystemLookup {
    fn default() -> Self {
        Self::asking(|name| Ok((name, 0).to_socket_addrs()?.map(|addr| addr.ip()).collect()))
    }
}

impl SystemLookup {
    /// A resolver that asks in another way.
    pub fn asking(ask: ResolveFn) -> Self {
        Self {
            ask,
            names: Mutex::default(),
        }
    }

    /// The semaphore of a name.
    fn turn(&self, name: &str) -> Arc<Semaphore> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.retain(|_, turn| turn.strong_count() > 0);
        if let Some(turn) = names.get(name).and_then(Weak::upgrade) {
            return turn;
        }
        let turn = Arc::new(Semaphore::new(1));
        names.insert(name.to_owned(), Arc::downgrade(&turn));
        turn
    }
}

impl NameLookup for SystemLookup {
    fn lookup(&self, name: &str) -> LookingUp {
        let (name, turn, ask) = (name.to_owned(), self.turn(name), self.ask);
        Box::pin(async move {
            let held = turn.acquire_owned().await.map_err(io::Error::other)?;
            let asked = spawn_blocking(move || {
                let found = ask(&name);
                // Only now: the caller that waited may have left long ago.
                drop(held);
                found
            });
            asked.await.map_err(io::Error::other)?
        })
    }
}

/// Why a name cannot be sent to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResolveError {
    /// It has no address, or none in time.
    #[error("the name does not resolve")]
    Unresolved,
    /// It has an address to which the service may not send.
    #[error("the name resolves to {ip}, {what}")]
    Forbidden {
        /// The address that may not be reached.
        ip: IpAddr,
        /// What kind of address it is, in words.
        what: &'static str,
    },
}

/// Resolves names for the client, and passes on only checked addresses.
#[derive(Clone, Debug)]
pub struct CheckedResolver {
    reach: Arc<AllowedAddresses>,
    lookup: Arc<dyn NameLookup>,
    limit: Duration,
}

impl CheckedResolver {
    /// A resolver over a lookup that may take this long.
    pub fn new(reach: Arc<AllowedAddresses>, lookup: Arc<dyn NameLookup>, limit: Duration) -> Self {
        Self {
            reach,
            lookup,
            limit,
        }
    }

    /// The addresses of a name, all of which may be sent to; at least one.
    ///
    /// # Errors
    /// When there is none in time, or one that may not be sent to.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, ResolveError> {
        let found = timeout(self.limit, self.lookup.lookup(name)).await;
        let found = found.map(Result::ok).ok().flatten().unwrap_or_default();
        for ip in &found {
            if let Some(what) = self.reach.refuses(name, *ip) {
                return Err(ResolveError::Forbidden { ip: *ip, what });
            }
        }
        if found.is_empty() {
            return Err(ResolveError::Unresolved);
        }
        Ok(found)
    }
}

impl Resolve for CheckedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let this = self.clone();
        Box::pin(async move {
            let found = this.addresses(name.as_str()).await?;
            // The client puts the port of the URL in place of 0.
            let found = found.into_iter().take(ADDRESSES_MAX);
            let addrs: Addrs = Box::new(found.map(|ip| SocketAddr::new(ip, 0)));
            Ok(addrs)
        })
    }
}
