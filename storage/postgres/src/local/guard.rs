//! A child process that ends when this one does, however that ends.
//!
//! **Shape.** A shell stands between. It starts the program, reports its process id, and ends as the program did. Its
//! standard input is a pipe whose other end only this process has: when that closes, as it also does when this process
//! is killed, the shell sends the program a signal. Both are in a process group of their own, so that Ctrl-C reaches
//! only this process, which then stops them in its own order.
//!
//! **Bounds.** Dropping a [`Guarded`] waits at most [`LAST`].
//!
//! **Failure.** If the shell is killed, its watcher sends the signal instead. The program does not inherit variables
//! that are settings of Caudal or PostgreSQL.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// `$1` is the signal, the rest is the program.
const SCRIPT: &str = r#"
exec 3<&0 </dev/null
signal=$1
shift
"$@" >&2 3<&- &
program=$!
echo "$program"
exec >&2
(read -r _ <&3; kill -s "$signal" "$program") &
watch=$!
exec 3<&-
wait "$program"
code=$?
kill "$watch" 2>/dev/null
wait "$watch" 2>/dev/null
exit "$code"
"#;
/// The shell's exit code for a program that a signal ended is this plus the signal's number.
const BY_SIGNAL: i32 = 128;
/// How long dropping waits for the end.
const LAST: Duration = Duration::from_secs(20);
/// The pause between two checks whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// The user as whom a program runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User {
    /// The user's number.
    pub user: u32,
    /// The number of its group.
    pub group: u32,
}

/// A program to be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The file to which its output is appended.
    pub log: PathBuf,
    /// The user as whom it runs; without one, the user of this process.
    pub user: Option<User>,
    /// The signal that ends it when this process has ended, as named by `kill -s`.
    pub at_the_end: &'static str,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "with code {code}"),
            Self::Signal(signal) => write!(f, "by signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) if code > BY_SIGNAL => Self::Signal(code - BY_SIGNAL),
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            // Neither: the process was only stopped, which the wait did not ask for.
            (None, None) => Self::Code(-1),
        }
    }
}

/// A program that was started; it may have ended.
#[derive(Debug)]
pub struct Guarded {
    shell: Child,
    life: Option<ChildStdin>,
    program: Pid,
    ended: Option<Ended>,
}

impl Guarded {
    /// Starts a program.
    ///
    /// # Errors
    /// When the shell or the output file cannot be opened; a program that cannot be started ends with code 126 or 127,
    /// and the output file says why.
    pub fn start(what: &Program) -> io::Result<Self> {
        let log = File::options().create(true).append(true).open(&what.log)?;
        let mut command = Command::new("/bin/sh");
        without_settings(&mut command);
        command
            .args(["-c", SCRIPT, "guard", what.at_the_end])
            .arg(&what.path)
            .args(&what.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0);
        if let Some(user) = what.user {
            command.uid(user.user).gid(user.group).current_dir("/");
        }
        let mut shell = command.spawn()?;
        let life = shell.stdin.take();
        let mut line = String::new();
        if let Some(out) = shell.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let id = line.trim().parse().ok().and_then(Pid::from_raw);
        let lost = || io::Error::other("the shell did not say which process it started");
        Ok(Self {
            shell,
            life,
            program: id.ok_or_else(lost)?,
            ended: None,
        })
    }

    /// The id of the program's process.
    pub fn id(&self) -> i32 {
        self.program.as_raw_nonzero().get()
    }

    /// How the program ended, if it has.
    ///
    /// # Errors
    /// When the system refuses the question.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        if self.ended.is_none() {
            self.ended = self.shell.try_wait()?.map(Ended::from);
        }
        Ok(self.ended)
    }

    /// Sends it a signal, unless it has ended.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        match self.ended()? {
            Some(_) => Ok(()),
            None => Ok(kill_process(self.program, signal)?),
        }
    }

    /// Waits for the program's end, at most `at_most`; blocks.
    ///
    /// # Errors
    /// As [`Guarded::ended`].
    pub fn wait(&mut self, at_most: Duration) -> io::Result<Option<Ended>> {
        let began = Instant::now();
        loop {
            let ended = self.ended()?;
            if ended.is_some() || began.elapsed() > at_most {
                return Ok(ended);
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The watcher then sends its signal.
        drop(self.life.take());
        // There is nobody to report an error to.
        self.wait(LAST).ok();
    }
}

/// Removes variables that are settings of this program or of PostgreSQL's.
pub(super) fn without_settings(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CAUDAL_") || text.starts_with("PG") {
            command.env_remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(dir: &tempfile::TempDir, script: &str, at_the_end: &'static str) -> Program {
        Program {
            path: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            log: dir.path().join("log"),
            user: None,
            at_the_end,
        }
    }

    #[test]
    fn a_program_ends_by_itself_by_a_signal_or_with_its_guardian() {
        let dir = tempfile::tempdir().unwrap();
        let long = Duration::from_secs(60);
        let mut three = Guarded::start(&program(&dir, "echo said; exit 3", "TERM")).unwrap();
        assert_eq!(three.wait(long).unwrap(), Some(Ended::Code(3)));
        assert_eq!(
            std::fs::read_to_string(dir.path().join("log")).unwrap(),
            "said\n"
        );
        let waits = "exec tail -f /dev/null";
        let mut killed = Guarded::start(&program(&dir, waits, "TERM")).unwrap();
        assert_eq!(killed.ended().unwrap(), None);
        killed.signal(Signal::KILL).unwrap();
        assert_eq!(killed.wait(long).unwrap(), Some(Ended::Signal(9)));
        killed.signal(Signal::KILL).unwrap();
        let mut left = Guarded::start(&program(&dir, waits, "TERM")).unwrap();
        drop(left.life.take());
        assert_eq!(left.wait(long).unwrap(), Some(Ended::Signal(15)));
        let mut none = program(&dir, "", "TERM");
        none.path = "/nothing/here".into();
        let mut none = Guarded::start(&none).unwrap();
        assert_eq!(none.wait(long).unwrap(), Some(Ended::Code(127)));
    }
}
