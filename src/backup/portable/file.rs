//! The summary of a realm's file, and the errors of file operations.

use std::io;
use std::path::Path;

use caudal_ledger::chain::Digest;

use super::format::{Ending, FileHead};
use crate::BackupError;

/// A file that was read to its end, or was just written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedFile {
    /// The realm in it.
    pub head: FileHead,
    /// Its last frame.
    pub ending: Ending,
    /// The digest that distinguishes it from every other file.
    pub name: Digest,
    /// Its size in bytes.
    pub bytes: u64,
}

impl CheckedFile {
    /// The summary of a file from its parts.
    ///
    /// # Errors
    /// When the tenant's id does not fit in a head.
    pub fn of(head: FileHead, ending: Ending, bytes: u64) -> Result<Self, BackupError> {
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

/// The error of a path that exists already.
pub(super) fn taken(path: &Path) -> String {
    format!(
        "{} is there already: nothing was written over it",
        path.display()
    )
}

/// An error of the system about a file.
pub(super) fn failed(what: &str, path: &Path, why: io::Error) -> BackupError {
    BackupError::backup_store(format!("{what} {}", path.display()), why)
}
