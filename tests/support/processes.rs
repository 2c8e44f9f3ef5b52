//! Processes as the system shows them, and the signals that they are sent.

use std::fmt::Display;
use std::fs;
use std::process::Command;

/// Sends a signal to the process with this id; returns whether there was one.
pub fn signal(id: impl Display, name: &str) -> bool {
    let mut kill = Command::new("kill");
    let kill = kill.args(["-s", name, &id.to_string()]);
    kill.output().is_ok_and(|sent| sent.status.success())
}

/// The parent of a process and its state, as the system shows it: `T` is stopped, `Z` has ended and its parent has
/// not collected it yet.
pub fn stat(id: impl Display) -> Option<(i32, char)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut words = text.rsplit(") ").next()?.split_whitespace();
    let state = words.next()?.chars().next()?;
    Some((words.next()?.parse().ok()?, state))
}

/// Whether a process runs.
pub fn runs(id: impl Display) -> bool {
    stat(id).is_some_and(|(_, state)| state != 'Z')
}
