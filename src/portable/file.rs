//! A realm's file as the system has it: what it comes to, and what was refused.

use std::io;
use std::path::Path;

use caudal_ledger::chain::Digest;

use super::format::{Ending, Head};
use crate::backup::BackupError;

/// A file that was read to its end, or was just made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// Which realm it has.
    pub head: Head,
    /// What it comes to.
    pub ending: Ending,
    /// What tells it from every other.
    pub name: Digest,
    /// How many bytes it has.
    pub bytes: u64,
}

impl Checked {
    /// A file of these parts.
    ///
    /// # Errors
    /// When its tenant's id does not fit a head.
    pub fn of(head: Head, ending: Ending, bytes: u64) -> Result<Self, BackupError> {
        let name = head.name(ending.digest).map_err(BackupError::Refused)?;
        Ok(Self {
            head,
            ending,
            name,
            bytes,
        })
    }
}

/// A length as a count.
#[expect(clippy::expect_used, reason = "no length has more than 64 bits")]
pub fn count(length: usize) -> u64 {
    u64::try_from(length).expect("a length of 64 bits at most")
}

/// Why something is not written.
pub(super) fn taken(path: &Path) -> String {
    format!(
        "{} is there already: nothing was written over it",
        path.display()
    )
}

/// What the system refused to do with a file.
pub(super) fn failed(what: &str, path: &Path, why: io::Error) -> BackupError {
    BackupError::depot(format!("{what} {}", path.display()), why)
}
