//! Why a store does not open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::StoreError;
use crate::log::LogError;

/// Why a store does not open. Nothing has been changed on disk when one of these is given, except
/// that a store under creation or an index under rebuild may be left unfinished.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error("{} is in use by another process; a store has one owner at a time", .0.display())]
    Busy(PathBuf),
    /// The folder holds something that is no store, or only a part of one.
    #[error("{0}")]
    NotAStore(String),
    /// The journal, which is the truth, is damaged. Exit with a code of its own; do not serve.
    #[error("{0}")]
    Corrupt(Arc<str>),
    /// The operating system refused something.
    #[error("{what}: {source}")]
    Io {
        /// What was being done.
        what: String,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The index has to be rebuilt, and there is no room for that.
    #[error("{0}")]
    NoRoom(String),
    /// The index could not be rebuilt: the projection or the disk refused.
    #[error("rebuilding the index failed: {0}")]
    Rebuild(StoreError),
    /// The log of the cell, which is elsewhere, refused something or cannot be reached.
    #[error("the log of the cell: {0}")]
    Log(LogError),
}

impl OpenError {
    /// Whether it may pass by itself, so that a supervisor may start the process again: the system
    /// refused something. Otherwise somebody has to look.
    pub fn passes(&self) -> bool {
        match self {
            Self::Io { .. } | Self::NoRoom(_) => true,
            Self::Rebuild(why) => matches!(
                why,
                StoreError::Poisoned(_)
                    | StoreError::Unreadable(_)
                    | StoreError::Full(_)
                    | StoreError::Overloaded
                    | StoreError::Closed
            ),
            Self::Log(why) => !matches!(why, LogError::Gap { .. } | LogError::Read(_)),
            Self::Busy(_) | Self::NotAStore(_) | Self::Corrupt(_) => false,
        }
    }

    /// Names what was tried on which file.
    pub(crate) fn io(what: &str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            what: format!("{what} {}", path.display()),
            source: Arc::new(source),
        }
    }

    /// Damage of the journal at a place, with what to do.
    pub(crate) fn damaged(path: &Path, offset: u64, why: &str) -> Self {
        Self::Corrupt(Arc::from(format!(
            "the journal is damaged: {} at offset {offset}: {why}. Nothing was changed, and \
             nothing will be until this is settled: keep this folder, look at the disk's health, \
             and restore the store from a backup",
            path.display()
        )))
    }
}
