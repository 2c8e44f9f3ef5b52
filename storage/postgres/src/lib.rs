//! The log of a cell on PostgreSQL: as durable and as replicated as the user's own database.
//!
//! **Shape.** [`Settings`] name the database; [`PostgresLog`] is one handle to the log of one cell in it, with one
//! connection and one thread. All SQL is in [`sql`].
//!
//! **Order.** An append is one conditional statement: under the owner's epoch, it moves the head of the cell from the
//! record's predecessor to the record and inserts the record, or it does neither.
//!
//! **Bounds.** Every wait has a limit, named in [`Limits`].
//!
//! **Failure.** If a connection breaks while an append is under way, the outcome is unknown; so it is if the server
//! stops waiting for its standbys. Both are [`LogError::Unknown`]. Everything else is tried again, on whichever server
//! takes writes by then. A server that may lose acknowledged data is refused, naming the setting.
//!
//! [`LogError::Unknown`]: caudal_storage::log::LogError::Unknown

#![deny(missing_docs)]

mod body;
pub mod local;
mod log;
mod nodes;
#[cfg(any(test, feature = "server"))]
#[path = "tests/server.rs"]
pub mod server;
mod session;
mod settings;
mod shared;
mod sql;
mod status;
#[cfg(test)]
mod tests;
mod tls;

pub use log::PostgresLog;
pub use session::NoSession;
pub use settings::{Limits, Settings, WrongSetting};
pub use status::{Figures, Status};
