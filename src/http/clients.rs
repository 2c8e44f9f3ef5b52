//! HTTP clients, one for each runtime: a connection is driven by the runtime that opened it, so another runtime must
//! not depend on it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use reqwest::Client;
use tokio::runtime::{self, Handle};

/// The most runtimes whose clients are kept at a time.
const CLIENTS_MAX: usize = 64;

/// The user agent of every outgoing request.
pub const USER_AGENT: &str = concat!("caudal/", env!("CARGO_PKG_VERSION"));

type Make = dyn Fn() -> reqwest::Result<Client> + Send + Sync;

/// Clients that are all created in the same way.
pub struct Clients {
    make: Box<Make>,
    by_runtime: Mutex<HashMap<runtime::Id, Client>>,
}

impl Clients {
    /// Clients created by a function.
    ///
    /// # Errors
    /// When the function cannot create a client.
    pub fn new(
        make: impl Fn() -> reqwest::Result<Client> + Send + Sync + 'static,
    ) -> reqwest::Result<Self> {
        make()?;
        Ok(Self {
            make: Box::new(make),
            by_runtime: Mutex::default(),
        })
    }

    /// The client of the current runtime; `None` outside any runtime, or when no client can be created.
    pub fn here(&self) -> Option<Client> {
        let runtime = Handle::try_current().ok()?.id();
        let mut clients = self
            .by_runtime
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&runtime) {
            return Some(client.clone());
        }
        // Nothing reports the end of a runtime, so the clients are dropped when there are too many.
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
