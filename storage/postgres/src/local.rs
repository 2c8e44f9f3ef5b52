//! Temporary PostgreSQL servers on this machine, started from the installed programs: for a first look and
//! for tests.
//!
//! **Shape.** [`Programs::find`] finds the programs; [`Programs::make`] makes a [`Server`] in a folder,
//! [`Server::standby`] another one that follows it. Unless told to listen to a network, a server is reached through a
//! socket in its folder, which no other user can enter, so it asks for no password.
//!
//! **Order.** All settings are in `postgresql.auto.conf`, which only this module writes.
//!
//! **Bounds.** A server that does not answer within [`START_MAX`] is given up.
//!
//! **Failure.** A server ends when this process does, however that ends ([`guard`]). PostgreSQL refuses to run as root:
//! there the user `postgres` runs it, who must be able to enter the folder.

pub mod guard;
mod server;

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use guard::User;

use crate::NO_CLIENT;

pub use server::Server;

/// The administrator of the servers, and the user who runs them when this process is root's.
pub const USER: &str = "postgres";
/// The longest wait for a server, or for a standby to catch up with it.
pub const START_MAX: Duration = Duration::from_secs(60);
/// The port of servers that listen to no network: it is part of the name of their socket.
const SOCKET_PORT: u16 = 5432;
/// The longest name of a socket, in bytes.
const SOCKET_MAX: usize = 107;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum NoServer {
    /// PostgreSQL is not installed.
    #[error(
        "PostgreSQL's server is not installed: there is no `initdb` in /usr/lib/postgresql/*/bin, /usr/pgsql-*/bin or \
         on the PATH. Install it (Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install \
         postgresql-server)"
    )]
    NotInstalled,
    /// This program could not use it.
    #[error("{NO_CLIENT}")]
    NoClient,
    /// There is no user to run it.
    #[error(
        "PostgreSQL refuses to run as root, and /etc/passwd has no user `postgres` to run it: run this as another \
         user, or add that one"
    )]
    NobodyToRun,
    /// An operation failed.
    #[error("{what}: {why}")]
    Failed {
        /// The operation.
        what: String,
        /// The error.
        why: String,
    },
}

impl NoServer {
    fn failed(what: impl Into<String>, why: impl ToString) -> Self {
        Self::Failed {
            what: what.into(),
            why: why.to_string(),
        }
    }
}

/// PostgreSQL's programs on this machine, and the user who runs them.
#[derive(Clone, Debug)]
pub struct Programs {
    bin: PathBuf,
    user: Option<User>,
}

impl Programs {
    /// Finds the programs of the newest installed version.
    ///
    /// # Errors
    /// When they are not installed, no user can run them, or this program has no client for them.
    pub fn find() -> Result<Self, NoServer> {
        if cfg!(not(feature = "client")) {
            return Err(NoServer::NoClient);
        }
        let mut places = versions("/usr/lib/postgresql", "");
        places.extend(versions("/usr", "pgsql-"));
        if let Some(path) = std::env::var_os("PATH") {
            places.extend(std::env::split_paths(&path));
        }
        Self::among(&places)
    }

    /// Finds the programs in the first of these folders that has all of them.
    fn among(places: &[PathBuf]) -> Result<Self, NoServer> {
        let whole = |bin: &&PathBuf| {
            let mut names = ["initdb", "postgres", "pg_basebackup"].iter();
            names.all(|name| bin.join(name).is_file())
        };
        let bin = places.iter().find(whole).ok_or(NoServer::NotInstalled)?;
        let user = if rustix::process::getuid().is_root() {
            Some(its_user().ok_or(NoServer::NobodyToRun)?)
        } else {
            None
        };
        Ok(Self {
            bin: bin.clone(),
            user,
        })
    }

    /// Makes the folder of a new server without starting it. The server will listen at `listen`, an address of this
    /// machine, on a free port; if that is empty, at no network.
    ///
    /// # Errors
    /// When the folder cannot be made, is not empty, or the server's user cannot enter it.
    pub fn make(&self, dir: &Path, listen: &str) -> Result<Server, NoServer> {
        let server = self.folder(dir, listen)?;
        let data = server.data();
        // The caller's locale may be missing on this machine, and initdb would refuse it.
        let how = ["-U", USER, "-A", "trust", "-E", "UTF8", "--no-locale"];
        let how = how.iter().chain(&["-N", "-D"]).map(OsStr::new);
        server.ran("initdb", how.chain([data.as_os_str()]))?;
        server.set("wal_keep_size", "256MB")?;
        // Its default of 5 seconds would delay appends after a standby was promoted.
        server.set("wal_retrieve_retry_interval", "100ms")?;
        server.set("shared_buffers", "16MB")?;
        Ok(server)
    }

    /// The folder of a server that has no data yet.
    fn folder(&self, dir: &Path, listen: &str) -> Result<Server, NoServer> {
        let failed = |why: io::Error| NoServer::failed(format!("making {}", dir.display()), why);
        let dir = std::path::absolute(dir).map_err(failed)?;
        let socket = dir.join(format!(".s.PGSQL.{SOCKET_PORT}"));
        if socket.as_os_str().len() > SOCKET_MAX {
            let why = format!(
                "the name is too long for sockets in it ({SOCKET_MAX} bytes): choose a shorter one"
            );
            return Err(failed(io::Error::other(why)));
        }
        fs::create_dir_all(&dir).map_err(failed)?;
        fs::set_permissions(&dir, Permissions::from_mode(0o700)).map_err(failed)?;
        self.give(&dir)?;
        let port = match listen {
            "" => Ok(SOCKET_PORT),
            _ => free_port(),
        };
        Ok(Server {
            programs: self.clone(),
            dir,
            listen: listen.to_owned(),
            port: port.map_err(failed)?,
            settings: Mutex::default(),
            running: Mutex::default(),
        })
    }

    /// Gives a file to the user who runs the servers.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn give(&self, file: &Path) -> Result<(), NoServer> {
        let Some(User { user, group }) = self.user else {
            return Ok(());
        };
        let failed = |why| NoServer::failed(format!("giving {} to {USER}", file.display()), why);
        chown(file, Some(user), Some(group)).map_err(failed)
    }

    /// Whether a user other than this process's runs the servers; that user must be able to enter their folder.
    pub fn are_anothers(&self) -> bool {
        self.user.is_some()
    }
}

/// Folders of programs by version, newest first.
fn versions(folder: &str, before: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix(before)?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, bin)| bin).collect()
}

/// The user `postgres` of this machine.
fn its_user() -> Option<User> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let line = users
        .lines()
        .find(|line| line.split(':').next() == Some(USER))?;
    let mut numbers = line.split(':').skip(2).map(|part| part.parse().ok());
    Some(User {
        user: numbers.next()??,
        group: numbers.next()??,
    })
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

#[cfg(test)]
#[cfg(feature = "server")]
mod tests {
    use secrecy::SecretString;

    use super::*;
    use crate::Settings;

    #[test]
    fn missing_programs_are_named() {
        let none = tempfile::tempdir().unwrap();
        let why = Programs::among(&[none.path().to_owned()]).unwrap_err();
        assert!(
            why.to_string().contains("apt-get install postgresql"),
            "{why}"
        );
    }

    #[test]
    fn a_standby_takes_over_where_the_primary_was_and_that_comes_back_behind_it() {
        if !crate::server::installed() {
            return;
        }
        let programs = Programs::find().unwrap();
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o711)).unwrap();
        let one = programs.make(&dir.path().join("one"), "").unwrap();
        one.start(&[]).unwrap();
        let two = one.standby(&dir.path().join("two"), "two").unwrap();
        one.waits_for("ANY 1 (one, two)", 1).unwrap();
        one.sql(
            USER,
            "CREATE TABLE kept (what text); INSERT INTO kept VALUES ('it')",
        )
        .unwrap();
        let url = SecretString::from(Server::url(&[&two, &one], USER));
        assert!(!Settings::new(&url, None).unwrap().encrypts());
        one.kill().unwrap();
        two.promote().unwrap();
        two.promote().unwrap();
        assert_eq!(two.sql(USER, "SELECT what FROM kept").unwrap(), "it");
        fs::remove_dir_all(one.data()).unwrap();
        one.again(&two, "one").unwrap();
        two.waits_for("ANY 1 (one, two)", 1).unwrap();
        two.sql(USER, "INSERT INTO kept VALUES ('more')").unwrap();
        let why = one.sql(USER, "INSERT INTO kept VALUES ('no')").unwrap_err();
        assert!(why.to_string().contains("read-only"), "{why}");
        let folders = [one.data(), two.data()];
        drop((one, two));
        for data in folders {
            assert!(
                !data.join("postmaster.pid").exists() || !answers_in(&data),
                "{}",
                data.display()
            );
        }
    }

    /// Whether a server still listens at the socket of this folder.
    fn answers_in(data: &Path) -> bool {
        let socket = data
            .parent()
            .unwrap()
            .join(format!(".s.PGSQL.{SOCKET_PORT}"));
        std::os::unix::net::UnixStream::connect(socket).is_ok()
    }
}
