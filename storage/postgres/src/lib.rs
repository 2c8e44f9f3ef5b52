//! The log of a cell on PostgreSQL: as durable and as replicated as the user's own database.
//!
//! **Shape.** [`Settings`] name the database, and [`open`] returns a handle to the log of one cell in it. The client is
//! compiled in with the feature `client`; without it, every URL is refused.
//!
//! **Order.** An append is one conditional statement: under the owner's epoch, it moves the head of the cell from the
//! record's predecessor to the record and inserts the record, or it does neither.
//!
//! **Bounds.** Every wait has a limit, named in the `Limits` of the settings.
//!
//! **Failure.** If a connection breaks while an append is under way, the outcome is unknown; so it is if the server
//! stops waiting for its standbys. Both are [`LogError::Unknown`]. Everything else is tried again, on whichever server
//! takes writes by then. A server that may lose acknowledged data is refused, naming the setting.
//!
//! [`LogError::Unknown`]: caudal_storage::log::LogError::Unknown

#![deny(missing_docs)]

#[cfg(feature = "client")]
mod client;
#[cfg(not(feature = "client"))]
#[path = "no_client.rs"]
mod client;
pub mod local;
mod opening;
#[cfg(feature = "server")]
#[path = "tests/server.rs"]
pub mod server;
mod status;
#[cfg(test)]
#[cfg(feature = "server")]
mod tests;

#[cfg(feature = "client")]
pub use client::{Limits, PostgresLog};
pub use client::{Settings, open};
pub use opening::{Begin, NoSession, OpenedLog, WrongSetting};
pub use status::{Figures, Status};

/// What a program without the client says when a database is named.
const NO_CLIENT: &str = "this program was built without PostgreSQL: build it with `--features postgres`, or leave it out";
