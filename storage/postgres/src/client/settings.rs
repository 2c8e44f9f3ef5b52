//! The database that keeps the log, and how long to wait for it.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::opening::WrongSetting;

/// The process's name in the server's list of connections, unless the URL sets another.
const APPLICATION: &str = "caudal";
/// How long a connection may be idle before it is probed, and the pause between two probes.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// How many probes may stay unanswered.
const KEEPALIVE_TRIES: u32 = 3;
/// The most passwords that are tried.
const PASSWORDS_MAX: usize = 4;

/// How long to wait for the database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// For connecting to one server.
    pub connect: Duration,
    /// For the answer to one statement; after that the connection is given up.
    pub answer: Duration,
    /// How long a call is tried again, on new connections, before it fails.
    pub patience: Duration,
    /// How long a call is tried again while the server says that it lacks something (room, memory, connections); for an
    /// owner, never beyond its lease.
    pub short: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            answer: Duration::from_secs(10),
            patience: Duration::from_secs(15),
            short: Duration::from_millis(500),
        }
    }
}

/// The database and the cell in it. Passwords do not appear in its `Debug`.
#[derive(Clone)]
pub struct Settings {
    config: Config,
    /// The passwords, one a line; without it, that of the URL.
    password: Option<SecretString>,
    /// The file of the passwords, one a line, which is read for each connection; it takes precedence over others.
    pub password_file: Option<PathBuf>,
    /// The file of certificate authorities that servers are checked against; without it the system's own.
    pub authorities: Option<PathBuf>,
    /// The number of the cell, from 0.
    pub cell: u32,
    /// How long to wait.
    pub limits: Limits,
}

/// The required form of a URL.
const FORM: &str = "it is not of the form postgres://USER@HOST:PORT,HOST:PORT/DATABASE (reserved characters of \
                    user and password as %XX; options as ?sslmode=require)";

impl Settings {
    /// The log of cell 0 in the database at `url`, a `postgres://` URL, which may name several servers; the one that
    /// takes writes is used. `password` takes precedence over one in the URL; if it has several lines, each is tried
    /// until the server accepts one.
    ///
    /// Connections to other machines are encrypted and the server's certificate is checked, unless the URL says
    /// `sslmode=disable`.
    ///
    /// # Errors
    /// When the URL cannot be parsed, or names no server.
    pub fn new(url: &SecretString, password: Option<&SecretString>) -> Result<Self, WrongSetting> {
        let url = url.expose_secret();
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(WrongSetting(FORM));
        }
        let mut config = Config::from_str(url).map_err(|_| WrongSetting(FORM))?;
        if config.get_hosts().is_empty() {
            return Err(WrongSetting("it names no server"));
        }
        if config.get_dbname().is_none() {
            return Err(WrongSetting("it names no database"));
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // Never optional encryption: an attacker at the beginning of a connection could turn it off.
            config.ssl_mode(if config.get_hosts().iter().all(is_here) {
                SslMode::Disable
            } else {
                SslMode::Require
            });
        }
        if config.get_application_name().is_none() {
            config.application_name(APPLICATION);
        }
        config
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .keepalives_idle(KEEPALIVE)
            .keepalives_interval(KEEPALIVE)
            .keepalives_retries(KEEPALIVE_TRIES);
        Ok(Self {
            config,
            password: password.cloned(),
            password_file: None,
            authorities: None,
            cell: 0,
            limits: Limits::default(),
        })
    }

    /// Whether connections are encrypted.
    pub fn encrypts(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }

    /// The servers and the name of the database, for operators.
    pub fn place(&self) -> String {
        let hosts: Vec<_> = self.servers().into_iter().map(|(place, _)| place).collect();
        let place = hosts.join(",");
        match self.config.get_dbname() {
            Some(database) => format!("{place}/{database}"),
            None => place,
        }
    }

    /// The passwords to try, in this order; none means that of the URL. The file is read now, so that a password that was
    /// changed at the server can be changed there without a restart.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn passwords(&self) -> Result<Vec<SecretString>, String> {
        let text = match (&self.password_file, &self.password) {
            (Some(file), _) => {
                SecretString::from(std::fs::read_to_string(file).map_err(|why| {
                    format!("the file of the password, {}: {why}", file.display())
                })?)
            }
            (None, Some(password)) => password.clone(),
            (None, None) => return Ok(Vec::new()),
        };
        let lines = text.expose_secret().lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty()).take(PASSWORDS_MAX);
        Ok(lines.map(SecretString::from).collect())
    }

    /// How to connect to each of the servers, with its name for operators.
    pub(crate) fn servers(&self) -> Vec<(String, Config)> {
        let hosts = self.config.get_hosts().iter().enumerate();
        hosts.map(|(n, host)| self.server(n, host)).collect()
    }

    /// How to connect to one of the servers: the common settings with one host.
    fn server(&self, n: usize, host: &Host) -> (String, Config) {
        let all = &self.config;
        let mut one = Config::new();
        if let Some(user) = all.get_user() {
            one.user(user);
        }
        if let Some(password) = all.get_password() {
            one.password(password);
        }
        if let Some(database) = all.get_dbname() {
            one.dbname(database);
        }
        if let Some(options) = all.get_options() {
            one.options(options);
        }
        if let Some(name) = all.get_application_name() {
            one.application_name(name);
        }
        if let Some(address) = all.get_hostaddrs().get(n) {
            one.hostaddr(*address);
        }
        let ports = all.get_ports();
        let port = ports.get(n).or(ports.first()).copied();
        if let Some(port) = port {
            one.port(port);
        }
        let name = match host {
            Host::Tcp(name) => {
                one.host(name);
                name.clone()
            }
            Host::Unix(path) => {
                one.host_path(path);
                path.display().to_string()
            }
        };
        if let Some(interval) = all.get_keepalives_interval() {
            one.keepalives_interval(interval);
        }
        if let Some(tries) = all.get_keepalives_retries() {
            one.keepalives_retries(tries);
        }
        one.ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation())
            .channel_binding(all.get_channel_binding())
            .keepalives(all.get_keepalives())
            .keepalives_idle(all.get_keepalives_idle())
            .target_session_attrs(all.get_target_session_attrs())
            .connect_timeout(self.limits.connect)
            .tcp_user_timeout(self.limits.answer);
        let place = port.map_or_else(|| name.clone(), |port| format!("{name}:{port}"));
        (place, one)
    }
}

/// Whether a server is on this machine.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Unix(_) => true,
        Host::Tcp(name) if name == "localhost" => true,
        Host::Tcp(name) => IpAddr::from_str(name).is_ok_and(|ip| ip.is_loopback()),
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("place", &self.place())
            .field("cell", &self.cell)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Settings, WrongSetting> {
        Settings::new(&SecretString::from(url), None)
    }

    #[test]
    fn urls_are_read_or_refused_without_being_repeated() {
        let good = [
            (
                "postgres://u:s3cr3t@127.0.0.1:5433/db",
                "127.0.0.1:5433/db",
                false,
            ),
            ("postgresql://u@localhost/db", "localhost/db", false),
            ("postgres://u@%2Frun%2Fpg/db", "/run/pg/db", false),
            ("postgres://u:s3cr3t@a:1,b:2/db", "a:1,b:2/db", true),
            (
                "postgres://u@a,127.0.0.1/db",
                "a:5432,127.0.0.1:5432/db",
                true,
            ),
            ("postgres://u@a:1/db?sslmode=disable", "a:1/db", false),
            (
                "postgres://u@127.0.0.1/db?sslmode=require",
                "127.0.0.1/db",
                true,
            ),
        ];
        for (url, place, encrypts) in good {
            let settings = of(url).unwrap();
            let near = settings.place().replace(":5432", "");
            assert_eq!(near, place.replace(":5432", ""), "{url}");
            assert_eq!(settings.encrypts(), encrypts, "{url}");
            let shown = format!("{settings:?}");
            assert!(!shown.contains("s3cr3t"), "{shown}");
        }
        let bad = [
            "",
            "postgres://",
            "postgres:///db",
            "postgres://u:s3cr3t@h",
            "mysql://u:s3cr3t@h/db",
            "host=h password=s3cr3t",
            "postgres://u@h:port/s3cr3t",
            "postgres://u@h/db?s3cr3t=1",
        ];
        for url in bad {
            let refused = of(url).expect_err(url).to_string();
            assert!(!refused.contains("s3cr3t"), "{refused}");
        }
    }
}
