//! How long messages wait and accounts take to load: histogram handles that are passed in from outside.
//!
//! **Shape.** A handle is made once and recorded to without a look-up, and none is of one account. The ones of
//! [`Times::default`] count nothing.

use metrics::Histogram;

/// Where the actors count what they do, in seconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// How long a message waited for a realm's supervisor.
    pub supervisor: Histogram,
    /// How long a message waited for its account's actor, with the reading of the account where it had to be read.
    pub account: Histogram,
    /// From the start of an account's actor until it has its account from the store.
    pub activation: Histogram,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            supervisor: Histogram::noop(),
            account: Histogram::noop(),
            activation: Histogram::noop(),
        }
    }
}
