//! Settings of the log: where it is, if not on this machine's disk, and of this node.

use std::path::PathBuf;
use std::time::Duration;

use caudal_postgres::Settings as Log;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{ConfigError, Mistakes, Settings, is_empty};
use crate::{CellLog, LEASE};

/// The longest public URL of a node, in bytes.
const PUBLIC_BYTES_MAX: usize = 256;
/// The longest name of a node, in bytes.
const NODE_BYTES_MAX: usize = 64;

/// The log and the node.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LogSection {
    /// A `postgres://` URL; without it, the log is the journal in the data folder.
    pub(super) log: Option<SecretString>,
    /// The password, if the URL has none.
    pub(super) log_password: Option<SecretString>,
    /// A file with the password, which is read for each connection; it takes precedence.
    pub(super) log_password_file: Option<PathBuf>,
    /// A file with the certificates of the authorities that the database's servers are checked against.
    pub(super) log_authorities: Option<PathBuf>,
    /// The name of this node.
    pub(super) node: Option<String>,
    /// How long the right to append lasts without renewal, in seconds.
    pub(super) lease_seconds: u64,
    /// Where clients, or the load balancer, reach this node; without it there are no others.
    pub(super) public_url: Option<String>,
}

impl Default for LogSection {
    fn default() -> Self {
        Self {
            log: None,
            log_password: None,
            log_password_file: None,
            log_authorities: None,
            node: None,
            lease_seconds: LEASE.as_secs(),
            public_url: None,
        }
    }
}

impl LogSection {
    /// The database at `url`, or else at `log`, with the configured password and authorities; `None` if there is no
    /// URL.
    pub(super) fn database(&self, url: Option<&SecretString>, wrong: &mut Mistakes) -> Option<Log> {
        let name = url.map_or("cell.log", |_| "the given URL:");
        let url = url.or(self.log.as_ref()).filter(|url| !is_empty(url))?;
        let password = self.log_password.as_ref().filter(|word| !is_empty(word));
        let mut log = Log::new(url, password)
            .map_err(|why| wrong.add(name, why))
            .ok()?;
        let file = self.log_password_file.clone();
        log.password_file = file.filter(|file| !file.as_os_str().is_empty());
        log.authorities = self.log_authorities.clone();
        Some(log)
    }

    /// The log in a database, if one is set. `pepper` says whether the pepper is set outside the data folder.
    pub(super) fn elsewhere(&self, pepper: bool, wrong: &mut Mistakes) -> Option<CellLog> {
        wrong.range("cell.lease_seconds", self.lease_seconds, 2, 60);
        let url = self.log.as_ref().filter(|url| !is_empty(url));
        let public_url = self.public(url.is_some(), wrong);
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
            url: public_url,
        })
    }

    /// Where clients reach this node, if there may be others.
    fn public(&self, shared: bool, wrong: &mut Mistakes) -> Option<String> {
        let name = "cell.public_url";
        let url = self.public_url.as_deref().filter(|url| !url.is_empty())?;
        if !shared {
            let why = "is set without cell.log: nodes share a log, and the journal on a disk is one node's";
            wrong.add(name, why);
        }
        let read = Url::parse(url).ok();
        let whole = read.filter(|url| matches!(url.scheme(), "http" | "https"));
        let bare = whole.filter(|url| {
            let secret = !url.username().is_empty() || url.password().is_some();
            !secret && url.path() == "/" && url.query().is_none() && url.fragment().is_none()
        });
        if bare.is_none() || url.len() > PUBLIC_BYTES_MAX {
            let why = "has to be the address of this node as clients or the load balancer reach it, such as \
                       http://10.0.0.1:8080, without a path";
            wrong.add(name, why);
        }
        Some(url.trim_end_matches('/').to_owned())
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
        let mut wrong = Mistakes::default();
        let log = self.cell.database(url, &mut wrong);
        if wrong.0.is_empty() {
            Ok(log)
        } else {
            Err(ConfigError(wrong.0))
        }
    }
}

/// The name of this machine; `unnamed` if it cannot be read.
fn machine() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) => name.trim().to_owned(),
        Err(_) => "unnamed".to_owned(),
    }
}
