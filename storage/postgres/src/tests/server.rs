//! A throw-away server on a free port of this machine, in a folder of its own: for tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of this is test code: a panic is how it reports"
)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use secrecy::SecretString;

use crate::local::{self, NoServer, Programs, USER};
use crate::{Begin, Limits, NoSession, PostgresLog, Settings};

impl PostgresLog {
    /// Opens a log, and creates whatever is missing.
    ///
    /// # Errors
    /// As [`crate::open`].
    pub fn open(settings: Settings) -> Result<Self, NoSession> {
        Self::connect(settings, Begin::Anew)
    }
}

/// A server, running or not.
#[derive(Debug)]
pub struct Server {
    programs: Programs,
    /// Declared before the folder, so that it is dropped before the folder is removed.
    server: local::Server,
    _dir: tempfile::TempDir,
    /// The port on which it listens on the loopback address.
    pub port: u16,
}

/// Whether PostgreSQL is installed; if not, prints a line, and fails if the tests require it.
pub fn installed() -> bool {
    let why = match Programs::find() {
        Err(why @ NoServer::NotInstalled) => why,
        Ok(_) | Err(_) => return true,
    };
    assert!(
        std::env::var_os("CAUDAL_REQUIRE_POSTGRES").is_none(),
        "PostgreSQL is required: {why}"
    );
    println!("not run: {why}");
    false
}

/// A server for one test; `None`, with a printed line, if PostgreSQL is not installed.
pub fn own() -> Option<Server> {
    if !installed() {
        return None;
    }
    let programs = Programs::find().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let server = programs.make(dir.path(), "127.0.0.1").unwrap();
    server.start(&[]).unwrap();
    Some(Server {
        programs,
        port: server.port(),
        server,
        _dir: dir,
    })
}

/// The server shared by tests that do not break it.
pub fn shared() -> Option<Arc<Server>> {
    static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return Some(server);
    }
    let server = Arc::new(own()?);
    *shared = Arc::downgrade(&server);
    Some(server)
}

/// Limits for tests: patient, since the machine may be busy.
pub fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(20),
        patience: Duration::from_secs(40),
        short: Duration::from_secs(40),
    }
}

impl Server {
    /// Its folder of data.
    pub fn data(&self) -> PathBuf {
        self.server.data()
    }

    /// Starts it with further settings and waits until it answers.
    pub fn start(&self, settings: &[&str]) {
        self.server.start(settings).unwrap();
    }

    /// Kills it, as a power cut would kill the processes.
    pub fn kill(&self) {
        self.server.kill().unwrap();
    }

    /// Stops it cleanly, without waiting for clients.
    pub fn stop(&self) {
        self.server.stop().unwrap();
    }

    /// Runs SQL as the administrator; returns the output.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        self.server.sql(database, sql).unwrap()
    }

    /// The log of a cell, reached over `port`, which may be a proxy's.
    pub fn settings(&self, port: u16, cell: u32) -> Settings {
        let url = SecretString::from(format!("postgres://{USER}@127.0.0.1:{port}/{USER}"));
        let mut settings = Settings::new(&url, None).unwrap();
        settings.cell = cell;
        settings.limits = limits();
        settings
    }

    /// A handle to the log of a cell.
    pub fn open(&self, cell: u32) -> PostgresLog {
        PostgresLog::open(self.settings(self.port, cell)).unwrap()
    }

    /// Gives a file to the user who runs the server.
    pub fn give(&self, file: &Path) {
        self.programs.give(file).unwrap();
    }
}

/// A cell that no other test uses.
pub fn cell() -> u32 {
    cells(1)
}

/// The first of this many consecutive cells that no other test uses.
pub fn cells(many: u32) -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(many, Ordering::Relaxed)
}
