//! Settings of the cell: where its log is, if not on this machine's disk.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use caudal_postgres::Settings as Log;
use secrecy::SecretString;
use serde::Deserialize;

use super::{ConfigError, Settings, Wrong, is_empty};
use crate::http::tls::Files;
use crate::service::{CellLog, LEASE, Peers, read_file};

/// The longest name of a node, in bytes.
const NODE_BYTES_MAX: usize = 64;

/// The log, the node and its peers.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Cell {
    /// A `postgres://` URL; without it, the log is the journal in the data folder.
    pub(super) log: Option<SecretString>,
    /// The password, if the URL has none.
    pub(super) log_password: Option<SecretString>,
    /// A file with the certificates of the authorities that the database's servers are checked against.
    pub(super) log_authorities: Option<PathBuf>,
    /// The name of this node.
    pub(super) node: Option<String>,
    /// How long the right to append lasts without renewal, in seconds.
    pub(super) lease_seconds: u64,
    /// The address where this node listens to the others; without it there are no others.
    pub(super) listen: Option<SocketAddr>,
    /// The address where the others reach it, if that is not where it listens.
    pub(super) address: Option<String>,
    /// The file of the secret that nodes show each other.
    pub(super) secret_file: Option<PathBuf>,
    /// The certificates by which nodes authenticate each other.
    pub(super) tls: Tls,
}

/// The files of the nodes' certificates: all three, or none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Tls {
    /// This node's certificate.
    certificate_file: Option<PathBuf>,
    /// Its key.
    key_file: Option<PathBuf>,
    /// The authorities that other nodes' certificates are checked against.
    authority_file: Option<PathBuf>,
}

impl Tls {
    /// The files, if they are set; their contents are read at the start.
    fn files(&self, wrong: &mut Wrong) -> Option<Files> {
        let set = |file: &Option<PathBuf>| file.clone().filter(|file| !file.as_os_str().is_empty());
        let all = [&self.certificate_file, &self.key_file, &self.authority_file].map(set);
        match all {
            [None, None, None] => None,
            [Some(certificate), Some(key), Some(authority)] => Some(Files {
                certificate,
                key,
                authority,
            }),
            _ => {
                let why = "needs certificate_file, key_file and authority_file, all three of them";
                wrong.add("cell.tls", why);
                None
            }
        }
    }
}

impl Default for Cell {
    fn default() -> Self {
        Self {
            log: None,
            log_password: None,
            log_authorities: None,
            node: None,
            lease_seconds: LEASE.as_secs(),
            listen: None,
            address: None,
            secret_file: None,
            tls: Tls::default(),
        }
    }
}

impl Cell {
    /// The database at `url`, or else at `log`, with the configured password and authorities; `None` if there is no
    /// URL.
    pub(super) fn database(&self, url: Option<&SecretString>, wrong: &mut Wrong) -> Option<Log> {
        let name = url.map_or("cell.log", |_| "the given URL:");
        let url = url.or(self.log.as_ref()).filter(|url| !is_empty(url))?;
        let password = self.log_password.as_ref().filter(|word| !is_empty(word));
        let mut log = Log::new(url, password)
            .map_err(|why| wrong.add(name, why))
            .ok()?;
        log.authorities = self.log_authorities.clone();
        Some(log)
    }

    /// The log in a database, if one is set. `pepper` says whether the pepper is set outside the data folder.
    pub(super) fn elsewhere(&self, pepper: bool, wrong: &mut Wrong) -> Option<CellLog> {
        wrong.range("cell.lease_seconds", self.lease_seconds, 2, 60);
        let url = self.log.as_ref().filter(|url| !is_empty(url));
        if url.is_none() && self.listen.is_some() {
            let why = "is set without cell.log: nodes share a log, and the journal on a disk is one node's";
            wrong.add("cell.listen", why);
        }
        let tls = self.tls.files(wrong);
        if tls.is_some() && self.listen.is_none() {
            let why = "is set without cell.listen: it is for connections between nodes";
            wrong.add("cell.tls", why);
        }
        url?;
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
        let log = self.database(None, wrong)?;
        Some(CellLog {
            log,
            node,
            lease: Duration::from_secs(self.lease_seconds),
            peers: self.peers(tls, wrong),
        })
    }

    /// The settings for finding other nodes, if there may be any.
    fn peers(&self, tls: Option<Files>, wrong: &mut Wrong) -> Option<Peers> {
        let listen = self.listen?;
        let address = self.address.clone().filter(|address| !address.is_empty());
        let named = address.as_deref().and_then(|it| it.rsplit_once(':'));
        if address.is_some() && !named.is_some_and(|(host, port)| is_place(host, port)) {
            wrong.add("cell.address", "is not of the form HOST:PORT");
        }
        let Some(file) = &self.secret_file else {
            let why = "is not set: with cell.listen the nodes need a secret that they share";
            wrong.add("cell.secret_file", why);
            return None;
        };
        let secret = match read_file(file) {
            Ok(Some(bytes)) => String::from_utf8_lossy(&bytes).trim().to_owned(),
            Ok(None) => {
                wrong.add("cell.secret_file", format!("{} is missing", file.display()));
                return None;
            }
            Err(why) => {
                wrong.add("cell.secret_file", why.to_string());
                return None;
            }
        };
        let secret = wrong.secret("cell.secret_file", Some(&secret.into()));
        if secret.is_none() {
            wrong.add("cell.secret_file", format!("{} is empty", file.display()));
        }
        let secret = secret?;
        Some(Peers {
            listen,
            address,
            secret,
            tls,
        })
    }
}

impl Settings {
    /// The database's settings from the environment alone (`CAUDAL_CELL__…`), for commands without a file.
    ///
    /// # Errors
    /// When one is of the wrong kind.
    pub fn of_database() -> Result<Self, ConfigError> {
        let cell = std::env::vars().filter(|(name, _)| name.starts_with("CAUDAL_CELL__"));
        Self::parse("", cell.collect())
    }

    /// The database with the log: at `url`, or else at `cell.log`, with the password and the authorities of these
    /// settings; `None` if neither is set.
    ///
    /// # Errors
    /// When the URL cannot be read.
    pub fn database(&self, url: Option<&SecretString>) -> Result<Option<Log>, ConfigError> {
        let mut wrong = Wrong::default();
        let log = self.cell.database(url, &mut wrong);
        match wrong.0.is_empty() {
            true => Ok(log),
            false => Err(ConfigError(wrong.0)),
        }
    }

    /// The data folder, if it is set.
    pub fn data(&self) -> Option<&Path> {
        let data = self.data.as_deref();
        data.filter(|data| !data.as_os_str().is_empty())
    }
}

/// Whether a host and a port look valid.
fn is_place(host: &str, port: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    !host.is_empty() && host.chars().all(plain) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// The name of this machine; `unnamed` if it cannot be read.
fn machine() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) => name.trim().to_owned(),
        Err(_) => "unnamed".to_owned(),
    }
}
