//! The sending side of webhooks: signed events, sent to whatever URL a tenant names.
//!
//! **Shape.** A tenant chooses the URL, so it is treated as hostile. [`guard`] checks it (also when it is
//! set), [`resolve`] looks up its host and accepts only addresses that the service may send to, [`seal`]
//! keeps the secrets, [`caudal_signing`] makes the headers of Standard Webhooks, and [`sink`] delivers one
//! parcel. The courier decides when and how often.
//!
//! **Order.** The addresses that were checked are the ones connected to: the client gets addresses that have passed,
//! and never resolves the name again. Addresses that stand in the URL itself pass the guard instead.
//!
//! **Bounds.** See [`sink::AttemptLimits`]: lookup, connection, the whole attempt, and how much of an answer
//! is read. No redirects, no proxies, https only outside the loopback of `caudal dev`.
//!
//! **Failure.** An attempt always ends, with a status or with one of the port's troubles.

pub mod guard;
pub mod resolve;
pub mod seal;
pub(crate) mod sink;

#[cfg(test)]
mod tests;

pub use caudal_signing as signing;
pub use guard::{AllowedAddresses, UrlError};
pub use seal::{Sealer, SigningSecret};
pub use sink::{AttemptLimits, HttpSink};
