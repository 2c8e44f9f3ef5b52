//! The layout and limits of the actors.

use std::num::NonZeroU32;
use std::time::Duration;

use caudal_ledger::deliveries::Schedule;
use caudal_ledger::events::rules::RuleSets;

use super::bank_reads::BankReadLimits;
use super::lists;
use crate::in_flight;
use crate::realms::KEYS_KEPT;
use crate::settings::Pauses;
use crate::treasury;

/// The layout and limits of the actors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineOptions {
    /// How many threads the actors have; 0 runs them on the caller's (for tests and simulation).
    pub arbiters: usize,
    /// The most accounts of all realms in memory at the same time, until
    /// [`Residency::set_most`](crate::residency::Residency::set_most) changes it.
    pub resident: usize,
    /// How long to wait between tries of a transfer at the bank.
    pub pauses: Pauses,
    /// How long an answer is kept for its idempotency key.
    pub keys_kept: Duration,
    /// How long to wait between tries of an event at a webhook.
    pub webhooks: Schedule,
    /// The number of the event rule set that every realm adopts at its start: by default the newest.
    pub event_rules: u16,
    /// How often the treasury asks the bank for the balance of a collector account, at most; zero asks for each
    /// snapshot.
    pub treasury_every: Duration,
    /// How long a snapshot of the treasury waits for the bank; after that it is answered with the bank's last answer,
    /// or without one.
    pub treasury_patience: Duration,
    /// The limits of a realm's questions to the bank that readers cause.
    pub bank_reads: BankReadLimits,
    /// What each realm may have in flight at once.
    pub in_flight: NonZeroU32,
    /// The most that one page of a list scans, in rows of the index.
    pub list_rows: u64,
    /// Whether the engine begins stopped, because another node owns the log
    /// ([`Lifecycle::wake`](crate::engine::Lifecycle::wake)).
    pub rests: bool,
}

impl EngineOptions {
    /// The same options, with the engine at rest at first or not.
    #[must_use]
    pub fn resting(self, rests: bool) -> Self {
        Self { rests, ..self }
    }
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            arbiters: 2,
            resident: 150_000,
            pauses: Pauses::default(),
            keys_kept: KEYS_KEPT,
            webhooks: Schedule::default(),
            event_rules: RuleSets::ALL.newest(),
            treasury_every: treasury::BANK_EVERY,
            treasury_patience: treasury::PATIENCE,
            bank_reads: BankReadLimits::default(),
            in_flight: in_flight::LIMIT,
            list_rows: lists::ROWS_MAX,
            rests: false,
        }
    }
}
