//! What opening a log takes and returns, with the client and without it.

use std::sync::Arc;

use caudal_storage::log::{Log, LogId};

use crate::status::Status;

/// What to do when the server has no log for the cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// Create whatever is missing: the tables, and an empty log with a new identity.
    Anew,
    /// The same, for the log with this identity: it begins only if the cell is empty and was never owned.
    As(LogId),
    /// Refuse the server.
    Never,
}

/// A log that was opened.
#[derive(Debug)]
pub struct OpenedLog {
    /// The log.
    pub log: Box<dyn Log>,
    /// Its figures, which stay readable after the log was given away.
    pub status: Arc<Status>,
}

/// Why there is no usable connection.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoSession {
    /// No server that takes writes answers; this may be temporary.
    #[error("no server takes writes: {0}")]
    Unreachable(String),
    /// The server that answers has no log for the cell.
    #[error("caudal_cell has no log for this cell: the database is another, or was put back")]
    Absent,
    /// The server that answers must not keep a log until an operator has changed this.
    #[error("{0}")]
    Unfit(String),
}

/// Why a URL is refused. It does not repeat the URL, which may contain a password.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongSetting(pub(crate) &'static str);
