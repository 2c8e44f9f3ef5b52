//! Names to addresses: every address of an answer is judged, and the client connects to what was judged.
//!
//! **Order.** One lookup for each connection. Its addresses are what the client tries, so a name
//! that says something else a moment later (DNS rebinding) gains nothing.
//!
//! **Failure.** One address that may not be sent to spoils the whole answer: it is either a mistake
//! of the receiver, who should know, or an attack that would try again until it is lucky.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::timeout;

use super::guard::Reach;

/// How many addresses of an answer are tried.
pub const ADDRESSES_MAX: usize = 8;

/// What a lookup gives.
pub type LookingUp = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Whoever knows the addresses of names.
pub trait Lookup: Send + Sync + fmt::Debug + 'static {
    /// The addresses of a name.
    fn lookup(&self, name: &str) -> LookingUp;
}

/// The machine's own resolver.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(&self, name: &str) -> LookingUp {
        let name = name.to_owned();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|addr| addr.ip()).collect())
        })
    }
}

/// Why a name leads nowhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ResolveError {
    /// It has no address, or none in time.
    #[error("the name does not resolve")]
    Unresolved,
    /// It has an address that may not be sent to.
    #[error("the name resolves to {ip}, {what}")]
    Forbidden {
        /// The address.
        ip: IpAddr,
        /// What it is.
        what: &'static str,
    },
}

/// Resolves for the client, and lets only judged addresses pass.
#[derive(Clone, Debug)]
pub struct Checked {
    reach: Arc<Reach>,
    lookup: Arc<dyn Lookup>,
    limit: Duration,
}

impl Checked {
    /// A resolver over a lookup that may take so long.
    pub fn new(reach: Arc<Reach>, lookup: Arc<dyn Lookup>, limit: Duration) -> Self {
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

impl Resolve for Checked {
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
