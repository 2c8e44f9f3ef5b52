//! A throw-away server on a free port of this machine, in a folder of its own: for tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "all of this is test code: a panic is how it reports"
)]

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use secrecy::SecretString;

use crate::{Limits, PostgresLog, Settings};

/// When a test gives up waiting for a server.
const HANG: Duration = Duration::from_secs(60);
/// The user that PostgreSQL runs as where the tests run as root, which it refuses.
const USER: &str = "postgres";

/// A server, running or not.
#[derive(Debug)]
pub struct Server {
    bin: PathBuf,
    dir: tempfile::TempDir,
    /// Where it listens on the loopback.
    pub port: u16,
    child: Mutex<Option<Child>>,
}

/// User and group as which servers run; `None` where that is whoever runs the tests.
fn runs_as() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap();
    let line = users.lines().find(|l| l.split(':').next() == Some(USER));
    let parts: Vec<_> = line.expect("the user postgres").split(':').collect();
    Some((parts[2].parse().unwrap(), parts[3].parse().unwrap()))
}

/// Where the server's programs are.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut found: Vec<_> = versions
        .map(|v| v.unwrap().path().join("bin"))
        .filter(|bin| bin.join("initdb").is_file())
        .collect();
    found.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path).filter(|bin| bin.join("initdb").is_file()));
    found.into_iter().next()
}

/// A server of its own; `None`, and a line that says so, where PostgreSQL is not installed.
pub fn own() -> Option<Server> {
    let Some(bin) = programs() else {
        let why =
            "no initdb in /usr/lib/postgresql/*/bin or on the PATH; apt-get install postgresql";
        assert!(
            std::env::var_os("CAUDAL_REQUIRE_POSTGRES").is_none(),
            "PostgreSQL is required: {why}"
        );
        println!("not run: {why}");
        return None;
    };
    let dir = tempfile::tempdir().unwrap();
    if let Some((user, group)) = runs_as() {
        std::os::unix::fs::chown(dir.path(), Some(user), Some(group)).unwrap();
    }
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let server = Server {
        bin,
        dir,
        port,
        child: Mutex::new(None),
    };
    let data = server.data();
    let made = server
        .command("initdb")
        .args([
            "-D",
            data.to_str().unwrap(),
            "-U",
            USER,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "-N",
        ])
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    server.start(&[]);
    Some(server)
}

/// The server that tests share which do not break it.
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

/// Limits of tests: patient, since the machine may be busy.
pub fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(5),
        answer: Duration::from_secs(20),
        patience: Duration::from_secs(40),
    }
}

impl Server {
    /// Its folder of data.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.bin.join(name));
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        if let Some((user, group)) = runs_as() {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts it with further settings and waits until it answers.
    pub fn start(&self, settings: &[&str]) {
        let began = Instant::now();
        loop {
            let mut command = self.command("postgres");
            let log = fs::File::options()
                .create(true)
                .append(true)
                .open(self.dir.path().join("log"))
                .unwrap();
            command
                .args([
                    "-D",
                    self.data().to_str().unwrap(),
                    "-p",
                    &self.port.to_string(),
                ])
                .args([
                    "-c",
                    "listen_addresses=127.0.0.1",
                    "-c",
                    "shared_buffers=16MB",
                ])
                .args([
                    "-c",
                    &format!("unix_socket_directories={}", self.dir.path().display()),
                ])
                .args(settings.iter().flat_map(|s| ["-c", s]))
                .stdout(Stdio::null())
                .stderr(log);
            let mut child = command.spawn().unwrap();
            while child.try_wait().unwrap().is_none() {
                let answers = self
                    .command("pg_isready")
                    .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                    .status()
                    .unwrap();
                if answers.success() {
                    *self.child.lock().unwrap() = Some(child);
                    return;
                }
                assert!(began.elapsed() < HANG, "{}", self.log());
            }
            // What was killed may still hold the folder.
            assert!(began.elapsed() < HANG, "{}", self.log());
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    fn end(&self, signal: Signal) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
            kill_process(pid, signal).unwrap();
            child.wait().unwrap();
        }
    }

    /// As a power cut for the processes.
    pub fn kill(&self) {
        self.end(Signal::KILL);
    }

    /// Stops it in order, without waiting for clients.
    pub fn stop(&self) {
        self.end(Signal::INT);
    }

    /// Runs SQL as the administrator; gives what it prints.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let done = self
            .command("psql")
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &self.port.to_string(),
                "-U",
                USER,
                "-d",
                database,
            ])
            .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{sql}: {text}");
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
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

    /// Makes the folder's owner that of the server's.
    pub fn give(&self, file: &Path) {
        if let Some((user, group)) = runs_as() {
            std::os::unix::fs::chown(file, Some(user), Some(group)).unwrap();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A cell that no other test uses.
pub fn cell() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
