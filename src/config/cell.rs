//! Settings of the cell: where its log is, when that is not this machine's disk.

use std::path::PathBuf;
use std::time::Duration;

use caudal_postgres::Settings as Log;
use secrecy::SecretString;
use serde::Deserialize;

use super::{Wrong, is_empty};
use crate::service::{CellLog, LEASE};

/// The longest name of a node, in bytes.
const NODE_BYTES_MAX: usize = 64;

/// Where records become durable.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Cell {
    /// A `postgres://` URL; without it, the log is the journal in the data folder.
    pub(super) log: Option<SecretString>,
    /// The password, where the URL has none.
    pub(super) log_password: Option<SecretString>,
    /// A file of certificates by which the servers are known.
    pub(super) log_authorities: Option<PathBuf>,
    /// The name of this node.
    pub(super) node: Option<String>,
    /// How long the right to append lasts without being renewed.
    pub(super) lease_seconds: u64,
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            log: None,
            log_password: None,
            log_authorities: None,
            node: None,
            lease_seconds: LEASE.as_secs(),
        }
    }
}

impl Cell {
    /// The log elsewhere, if one is set. `pepper` says whether there is one outside of the data folder.
    pub(super) fn elsewhere(&self, pepper: bool, wrong: &mut Wrong) -> Option<CellLog> {
        wrong.range("cell.lease_seconds", self.lease_seconds, 2, 60);
        let url = self.log.as_ref().filter(|url| !is_empty(url))?;
        if !pepper {
            let why = "is not set: with cell.log the data folder can be lost, and with it the pepper that is \
                       kept there";
            wrong.add("pepper", why);
        }
        let node = match self.node.clone().filter(|node| !node.is_empty()) {
            Some(node) => node,
            None => machine(),
        };
        if node.len() > NODE_BYTES_MAX || node.chars().any(char::is_control) {
            let why = format!("has to be a name of at most {NODE_BYTES_MAX} bytes");
            wrong.add("cell.node", why);
        }
        let password = self.log_password.as_ref().filter(|word| !is_empty(word));
        let mut log = Log::new(url, password)
            .map_err(|why| wrong.add("cell.log", why))
            .ok()?;
        log.authorities = self.log_authorities.clone();
        Some(CellLog {
            log,
            node,
            lease: Duration::from_secs(self.lease_seconds),
        })
    }
}

/// The name of this machine, as far as it has one.
fn machine() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) => name.trim().to_owned(),
        Err(_) => "unnamed".to_owned(),
    }
}
