//! The log of a cell on PostgreSQL: as durable and as replicated as the user's own database.
//!
//! **Shape.** [`Settings`] say which database; [`PostgresLog`] is one handle to the log of one cell in
//! it, with one connection and one thread. The SQL is in [`sql`] alone.
//!
//! **Order.** An append is one conditional statement: it moves the head of the cell from the record's
//! predecessor to the record, under the owner's epoch, and inserts the record, or it does neither.
//!
//! **Bounds.** Every wait has an end, named in [`Limits`].
//!
//! **Failure.** A connection that breaks while an append is under way leaves its outcome unknown, and
//! so does a server that stops waiting for its standbys; both are [`LogError::Unknown`]. Everything
//! else is tried again, on whichever server takes writes by then. A server that may lose what it has
//! acknowledged is refused by the name of the setting.
//!
//! [`LogError::Unknown`]: caudal_storage::log::LogError::Unknown

#![deny(missing_docs)]

mod body;
pub mod here;
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
pub use session::Trouble;
pub use settings::{Limits, Settings, WrongSetting};
pub use status::{Figures, Status};
