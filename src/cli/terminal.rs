//! The terminal: printing, the log, and signals.

use std::io::{self, Write as _};

use caudal_http::log::LogFormat;
use caudal_service::Service;
use serde::Serialize;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{DEPOSED, Exit};

/// The variable that filters the log, for instance `info,caudal_bank=debug`.
pub(super) const LOG: &str = "CAUDAL_LOG";

/// The part of the server library that logs input that is not HTTP as errors of ours: silenced, unless the filter names
/// it.
const GARBAGE: &str = "actix_http";

/// Prints a line on standard output.
pub(super) fn say(line: &str) -> Result<(), Exit> {
    let mut out = io::stdout().lock();
    let printed = writeln!(out, "{line}").and_then(|()| out.flush());
    // A reader that has seen enough (`| head`) closes the pipe, which is not a failure.
    match printed {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(Exit::failed(why)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints a value as JSON on standard output.
pub(super) fn say_json(value: &impl Serialize) -> Result<(), Exit> {
    say(&serde_json::to_string_pretty(value).map_err(Exit::failed)?)
}

/// Reports why the command failed: in the log if that is JSON and takes it, or else on standard error.
pub(super) fn complain(message: &str) {
    if caudal_http::log::fatal(message) {
        return;
    }
    // Without standard error nobody can be told; the exit code still reports the failure.
    writeln!(io::stderr().lock(), "caudal: {message}").ok();
}

/// Begins to write the log on standard error; [`LOG`] overrides the usual filter.
pub(super) fn log(format: LogFormat, usual: &str) -> Result<(), Exit> {
    let filter = std::env::var(LOG).ok().filter(|text| !text.is_empty());
    let filter = filter.as_deref().unwrap_or(usual);
    let filter = if filter.contains(GARBAGE) {
        filter.to_owned()
    } else {
        format!("{filter},{GARBAGE}=off")
    };
    let filter = caudal_http::log::level::filter(&filter)
        .map_err(|why| Exit::usage(format!("{LOG}: {why}; for instance info")))?;
    caudal_http::log::begin(format, filter).map_err(|why| Exit::failed(format!("the log: {why}")))
}

/// Runs a command's work on a runtime of its own.
pub(super) fn wait<T>(work: impl Future<Output = Result<T, Exit>>) -> Result<T, Exit> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().map_err(Exit::failed)?;
    runtime.block_on(work)
}

/// The reaction of a process when its terminal goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Hangup {
    /// It ends, because somebody was watching it there.
    Ends,
    /// It goes on, because it never needed a terminal.
    GoesOn,
}

/// The signals that end a service, and those that it ignores.
#[derive(Debug)]
pub(super) struct Signals {
    hangup: Hangup,
    term: Signal,
    interrupt: Signal,
    hung_up: Signal,
    users: [Signal; 2],
}

impl Signals {
    /// Listens from now on.
    pub(super) fn listen(hangup: Hangup) -> Result<Self, Exit> {
        let to = |kind| signal(kind).map_err(Exit::failed);
        Ok(Self {
            hangup,
            term: to(SignalKind::terminate())?,
            interrupt: to(SignalKind::interrupt())?,
            hung_up: to(SignalKind::hangup())?,
            users: [
                to(SignalKind::user_defined1())?,
                to(SignalKind::user_defined2())?,
            ],
        })
    }

    /// Waits for the next signal that ends the service.
    pub(super) async fn next(&mut self) {
        loop {
            let [one, two] = &mut self.users;
            let ignored = tokio::select! {
                _ = self.term.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hung_up.recv() => "SIGHUP",
                _ = one.recv() => "SIGUSR1",
                _ = two.recv() => "SIGUSR2",
            };
            if ignored == "SIGHUP" && self.hangup == Hangup::Ends {
                return;
            }
            tracing::info!(
                signal = ignored,
                "ignored: settings are read only at startup"
            );
        }
    }
}

/// Runs a service until a signal; a second signal ends it at once. The service also ends when another node has taken
/// the cell.
pub(super) async fn serve(mut service: Service, mut signals: Signals) -> Result<(), Exit> {
    let taken = service.deposed();
    let deposed = tokio::select! {
        () = signals.next() => false,
        () = taken => true,
        () = service.ended() => return Err(Exit::failed("the service ended by itself; see the log")),
    };
    tracing::info!("stopping: requests in flight finish first");
    let stopped = tokio::select! {
        stopped = service.stop() => stopped,
        () = signals.next() => {
            complain("stopped immediately; acknowledged commits are on disk");
            caudal_http::log::end();
            std::process::exit(1)
        }
    };
    if deposed {
        let message = "another node took the cell. Started again, this one waits for it to be free";
        return Err(Exit {
            code: DEPOSED,
            message: message.to_owned(),
        });
    }
    stopped.map_err(|why| Exit::failed(format!("the store did not close well: {why}")))?;
    tracing::info!("stopped");
    Ok(())
}
