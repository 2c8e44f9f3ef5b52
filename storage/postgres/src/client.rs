//! The client: one handle is one connection and one thread. All SQL is in [`sql`].

mod body;
mod log;
mod nodes;
mod session;
mod settings;
mod shared;
mod sql;
mod tls;

pub use log::{PostgresLog, open};
pub use settings::{Limits, Settings};
