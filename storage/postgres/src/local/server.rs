//! One PostgreSQL server on this machine: how it starts, stops, follows another and takes over.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::guard::{Ended, Guarded, Program, User, without_settings};
use super::{NoServer, Programs, START_MAX, USER};

/// The longest time that a server may take to stop.
const STOP_MAX: Duration = Duration::from_secs(60);
/// The pause before asking a server again.
const AGAIN: Duration = Duration::from_millis(50);
/// How many characters of the end of a server's log are shown when it does not start.
const SHOWN: usize = 600;

/// A server, running or not.
#[derive(Debug)]
pub struct Server {
    pub(super) programs: Programs,
    pub(super) dir: PathBuf,
    pub(super) listen: String,
    pub(super) port: u16,
    pub(super) settings: Mutex<BTreeMap<String, String>>,
    pub(super) running: Mutex<Option<Guarded>>,
}

impl Server {
    /// Its folder of data.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Its port, if it listens to a network.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The host under which clients on this machine reach it.
    fn host(&self) -> String {
        match self.listen.as_str() {
            "" => self.dir.display().to_string(),
            address => address.to_owned(),
        }
    }

    /// The URL of a database on these servers; clients use the server that takes writes.
    pub fn url(servers: &[&Self], database: &str) -> String {
        let place = |server: &&Self| format!("{}:{}", escaped(&server.host()), server.port);
        let places: Vec<_> = servers.iter().map(place).collect();
        format!("postgres://{USER}@{}/{database}", places.join(","))
    }

    /// The id of its process while it runs.
    pub fn id(&self) -> Option<i32> {
        self.running().as_ref().map(Guarded::id)
    }

    /// How it ended, if it was started and has ended since.
    ///
    /// # Errors
    /// When the system refuses the question.
    pub fn ended(&self) -> io::Result<Option<Ended>> {
        self.running().as_mut().map_or(Ok(None), Guarded::ended)
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<Guarded>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A command for one of the programs, run as the servers' user.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.bin.join(name));
        without_settings(&mut command);
        command.current_dir("/").stdin(Stdio::null());
        if let Some(User { user, group }) = self.programs.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// Runs a program to its end and returns its output.
    pub(super) fn ran<'a>(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = &'a OsStr>,
    ) -> Result<String, NoServer> {
        let done = self.command(name).args(arguments).output();
        let done = done.map_err(|why| NoServer::failed(name, why))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).trim().to_owned());
        }
        let mut why = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        if self.programs.are_anothers() && why.contains("ermission denied") {
            why.push_str(&format!(
                "\nThe user {USER} runs the servers here and has to get into {}: choose another folder",
                self.dir.display()
            ));
        }
        Err(NoServer::failed(name, why))
    }

    /// Changes a setting. A running server applies it soon, if the setting needs no restart.
    ///
    /// # Errors
    /// When its file cannot be written.
    pub fn set(&self, name: &str, value: &str) -> Result<(), NoServer> {
        let mut settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        settings.insert(name.to_owned(), value.to_owned());
        let line = |(name, value): (&String, &String)| {
            format!("{name} = '{}'\n", value.replace('\'', "''"))
        };
        let text: String = settings.iter().map(line).collect();
        let file = self.data().join("postgresql.auto.conf");
        let failed = |why: io::Error| NoServer::failed(format!("writing {}", file.display()), why);
        fs::write(&file, text).map_err(failed)?;
        self.programs.give(&file)?;
        match self.running().as_mut() {
            Some(running) => running.signal(Signal::HUP).map_err(failed),
            None => Ok(()),
        }
    }

    /// Starts the server, with further settings (`name=value`) for this start only, and waits until it answers.
    ///
    /// # Errors
    /// When it does not start, with the end of its log.
    pub fn start(&self, settings: &[&str]) -> Result<(), NoServer> {
        let began = Instant::now();
        let failed =
            |why: String| NoServer::failed(format!("the server in {}", self.dir.display()), why);
        let mut arguments = vec!["-D".into(), self.data().into_os_string()];
        let own = [
            format!("port={}", self.port),
            format!("listen_addresses={}", self.listen),
            format!("unix_socket_directories={}", self.dir.display()),
        ];
        for setting in own
            .iter()
            .map(String::as_str)
            .chain(settings.iter().copied())
        {
            arguments.extend(["-c".into(), setting.into()]);
        }
        let program = Program {
            path: self.programs.bin.join("postgres"),
            arguments,
            log: self.dir.join("log"),
            user: self.programs.user,
            // Anything not yet written is in its own log, so the fastest stop is safe.
            at_the_end: "QUIT",
        };
        loop {
            let mut server = Guarded::start(&program).map_err(|why| failed(why.to_string()))?;
            while server
                .ended()
                .map_err(|why| failed(why.to_string()))?
                .is_none()
            {
                if self.answers() {
                    *self.running() = Some(server);
                    return Ok(());
                }
                if began.elapsed() > START_MAX {
                    return Err(failed(format!("it does not answer. {}", self.log())));
                }
                thread::sleep(AGAIN);
            }
            // A killed predecessor may still hold the folder.
            if began.elapsed() > START_MAX {
                return Err(failed(self.log()));
            }
            thread::sleep(AGAIN);
        }
    }

    fn answers(&self) -> bool {
        let mut asks = self.command("pg_isready");
        asks.args(["-q", "-h", &self.host(), "-p", &self.port.to_string()]);
        asks.status().is_ok_and(|status| status.success())
    }

    /// The end of its log.
    fn log(&self) -> String {
        match fs::read_to_string(self.dir.join("log")) {
            Ok(text) => {
                let end: Vec<char> = text.chars().rev().take(SHOWN).collect();
                end.into_iter().rev().collect()
            }
            Err(why) => format!("its log cannot be read: {why}"),
        }
    }

    fn end(&self, signal: Signal) -> Result<(), NoServer> {
        let Some(mut server) = self.running().take() else {
            return Ok(());
        };
        let failed = |why: io::Error| {
            NoServer::failed(
                format!("stopping the server in {}", self.dir.display()),
                why,
            )
        };
        server.signal(signal).map_err(failed)?;
        server.wait(STOP_MAX).map_err(failed)?;
        Ok(())
    }

    /// Kills the server's processes, as a power cut would.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn kill(&self) -> Result<(), NoServer> {
        self.end(Signal::KILL)
    }

    /// Stops the server cleanly, without waiting for clients.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn stop(&self) -> Result<(), NoServer> {
        self.end(Signal::INT)
    }

    /// Runs SQL as the administrator; returns the output, with `|` between values.
    ///
    /// # Errors
    /// When the server refuses it, or does not answer.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, NoServer> {
        let (host, port) = (self.host(), self.port.to_string());
        let whom = ["-h", &host, "-p", &port, "-U", USER, "-d", database];
        let how = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql];
        self.ran("psql", whom.iter().chain(&how).map(OsStr::new))
    }

    /// Makes a standby of this running server in a folder of its own, and starts it. It listens like this server, and
    /// is called `name` where standbys are named.
    ///
    /// # Errors
    /// When it cannot be copied or does not start.
    pub fn standby(&self, dir: &Path, name: &str) -> Result<Self, NoServer> {
        let standby = self.programs.folder(dir, &self.listen)?;
        standby.copy(self, name)?;
        Ok(standby)
    }

    /// Makes the server a new standby of another one; its old data is deleted.
    ///
    /// # Errors
    /// As [`Server::standby`].
    pub fn again(&self, of: &Self, name: &str) -> Result<(), NoServer> {
        self.stop()?;
        let data = self.data();
        match fs::remove_dir_all(&data) {
            // After a copy that failed there is no data.
            Err(why) if why.kind() != io::ErrorKind::NotFound => {
                let what = format!("removing {}", data.display());
                return Err(NoServer::failed(what, why));
            }
            Ok(()) | Err(_) => {}
        }
        self.copy(of, name)
    }

    fn copy(&self, of: &Self, name: &str) -> Result<(), NoServer> {
        let (data, host, port) = (self.data(), of.host(), of.port.to_string());
        let whom = ["-h", &host, "-p", &port, "-U", USER];
        let how = ["-X", "stream", "-c", "fast", "-N", "-D"];
        let arguments = whom.iter().chain(&how).map(OsStr::new);
        self.ran("pg_basebackup", arguments.chain([data.as_os_str()]))?;
        let signal = data.join("standby.signal");
        let failed = |why| NoServer::failed(format!("writing {}", signal.display()), why);
        fs::write(&signal, "").map_err(failed)?;
        self.programs.give(&signal)?;
        let base = of.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = base.clone();
        drop(base);
        // If it is promoted, it must not wait for any standby.
        kept.remove("synchronous_standby_names");
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        self.follow(of, name)?;
        self.start(&[])
    }

    /// Makes this standby follow the server `of` from now on.
    ///
    /// # Errors
    /// When the setting cannot be changed.
    pub fn follow(&self, of: &Self, name: &str) -> Result<(), NoServer> {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('\'', "\\'");
        let info = format!(
            "host='{}' port={} user={USER} application_name={name}",
            quoted(&of.host()),
            of.port
        );
        self.set("primary_conninfo", &info)
    }

    /// Makes each commit wait for a standby from now on, and waits until this many standbys keep up.
    ///
    /// # Errors
    /// When they do not keep up within [`START_MAX`].
    pub fn waits_for(&self, names: &str, standbys: usize) -> Result<(), NoServer> {
        self.set("synchronous_standby_names", names)?;
        let count = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND \
                     sync_state IN ('sync', 'quorum')";
        let began = Instant::now();
        loop {
            let there = self.sql(USER, count)?;
            if there.parse().is_ok_and(|there: usize| there >= standbys) {
                return Ok(());
            }
            if began.elapsed() > START_MAX {
                let why = format!("{there} of {standbys} standbys keep up. {}", self.log());
                return Err(NoServer::failed("waiting for standbys", why));
            }
            thread::sleep(AGAIN);
        }
    }

    /// Promotes a standby to the server that takes writes; a server that takes them already is left as it is.
    ///
    /// # Errors
    /// When it is not promoted.
    pub fn promote(&self) -> Result<(), NoServer> {
        let data = self.data();
        let how = ["promote", "-w", "-t", "60", "-D"].map(OsStr::new);
        match self.ran("pg_ctl", how.iter().copied().chain([data.as_os_str()])) {
            // An earlier attempt that was given up may have succeeded since.
            Err(why) => match self.sql(USER, "SELECT pg_is_in_recovery()") {
                Ok(recovers) if recovers == "f" => Ok(()),
                Ok(_) | Err(_) => Err(why),
            },
            Ok(_) => Ok(()),
        }
    }
}

/// A host as written in URLs.
fn escaped(host: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let mut text = String::new();
    for c in host.chars() {
        if plain(c) {
            text.push(c);
        } else {
            let mut bytes = [0; 4];
            let bytes = c.encode_utf8(&mut bytes).bytes();
            text.extend(bytes.map(|byte| format!("%{byte:02X}")));
        }
    }
    text
}
