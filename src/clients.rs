//! HTTP clients, one for each runtime: a connection is driven by the runtime that made it, so another one must not depend on it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use reqwest::Client;
use tokio::runtime::{self, Handle};

/// How many runtimes have a client at a time.
const CLIENTS_MAX: usize = 64;

/// What every request to the outside says that it comes from.
pub const USER_AGENT: &str = concat!("caudal/", env!("CARGO_PKG_VERSION"));

type Make = dyn Fn() -> reqwest::Result<Client> + Send + Sync;

/// Clients that are all made in the same way.
pub struct Clients {
    make: Box<Make>,
    by_runtime: Mutex<HashMap<runtime::Id, Client>>,
}

impl Clients {
    /// Clients made by a function.
    ///
    /// # Errors
    /// Where no client could ever be made.
    pub fn new(
        make: impl Fn() -> reqwest::Result<Client> + Send + Sync + 'static,
    ) -> reqwest::Result<Self> {
        make()?;
        Ok(Self {
            make: Box::new(make),
            by_runtime: Mutex::default(),
        })
    }

    /// The client of the present runtime; `None` outside of any, or when none can be made.
    pub fn here(&self) -> Option<Client> {
        let runtime = Handle::try_current().ok()?.id();
        let mut clients = self
            .by_runtime
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&runtime) {
            return Some(client.clone());
        }
        // Runtimes end without a word; what they left is dropped when there are too many.
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        let client = (self.make)().ok()?;
        clients.insert(runtime, client.clone());
        Some(client)
    }
}

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clients")
    }
}
