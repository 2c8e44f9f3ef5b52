//! Why a store does not open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::StoreError;
use crate::log::LogError;

/// Why a store does not open. When one of these is returned, nothing on disk has been changed,
/// except that a store being created or an index being rebuilt may be left unfinished.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has the store open.
    #[error("{} is in use by another process; a store has one owner at a time", .0.display())]
    Busy(PathBuf),
    /// The folder holds something that is not a store, or only a part of one.
    #[error("{0}")]
    NotAStore(String),
    /// The journal, the source of truth, is damaged. Exit with a code of its own; do not serve.
    #[error("{0}")]
    Corrupt(Arc<str>),
    /// The operating system refused an operation.
    #[error("{what}: {source}")]
    Io {
        /// The operation that failed.
        what: String,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The index has to be rebuilt, and there is no room for that.
    #[error("{0}")]
    NoRoom(String),
    /// The index could not be rebuilt: the projection or the disk refused.
    #[error("rebuilding the index failed: {0}")]
    Rebuild(StoreError),
    /// The log of the cell, which is elsewhere, refused an operation or cannot be reached.
    #[error("the log of the cell: {0}")]
    Log(LogError),
}

impl OpenError {
    /// Whether the cause may go away by itself, so that a supervisor may restart the process: the
    /// system refused an operation. Otherwise an operator has to intervene.
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

    /// An error of the system, with the operation and the file.
    pub(crate) fn io(what: &str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            what: format!("{what} {}", path.display()),
            source: Arc::new(source),
        }
    }

    /// Damage of the journal at a place, with advice for operators.
    pub(crate) fn damaged(path: &Path, offset: u64, why: &str) -> Self {
        Self::Corrupt(Arc::from(format!(
            "the journal is damaged: {} at offset {offset}: {why}. Nothing was changed, and \
             nothing will be until this is settled: keep this folder, look at the disk's health, \
             and restore the store from a backup",
            path.display()
        )))
    }
}
