//! How long messages wait and accounts take to load: histograms that are passed in from outside.
//!
//! **Shape.** A handle is made once and recorded to without a look-up; no handle belongs to one account. The handles of
//! [`Times::default`] record nothing.

use caudal_storage::times::Histogram;

/// Where the actors record their times.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How long a message waited for a realm's supervisor.
    pub supervisor: Histogram,
    /// How long a message waited for its account's actor, including the load of the account if there was one.
    pub account: Histogram,
    /// The time from the start of an account's actor until its account is loaded.
    pub activation: Histogram,
}
