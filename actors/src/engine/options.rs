//! How the actors are laid out.

use caudal_ledger::deliveries::Schedule;

use crate::accounts::remittance::Pauses;
use crate::realms::Limits;

/// How the actors are laid out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Threads for actors; 0 runs them on the caller's (for tests and simulation).
    pub arbiters: usize,
    /// Bounds of each realm.
    pub realm: Limits,
    /// How long the bank is left alone between tries of a transfer.
    pub pauses: Pauses,
    /// How long a webhook is left alone between tries of an event.
    pub webhooks: Schedule,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            arbiters: 2,
            realm: Limits::default(),
            pauses: Pauses::default(),
            webhooks: Schedule::default(),
        }
    }
}
