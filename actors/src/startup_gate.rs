//! Where the orders of a realm wait after a start until the bank's list has been looked through. The
//! supervisor reads the list (`realms/startup_check.rs`); this is the gate.
//!
//! **Bounds.** The lists of at most [`DAYS_MAX`] days; the mailboxes bound how many orders wait.

use caudal_ledger::time::{BusinessDay, Timestamp};
use tokio::sync::{Notify, watch};

/// The most days whose lists are read.
pub const DAYS_MAX: usize = 31;
/// The gate where orders wait until the list was looked through.
#[derive(Debug)]
pub struct StartupGate {
    since: Option<Timestamp>,
    wanted: Notify,
    looked: watch::Sender<bool>,
}

impl StartupGate {
    /// The gate of a realm whose last event was at this instant; `None` if it has none.
    pub fn since(since: Option<Timestamp>) -> Self {
        Self {
            since,
            wanted: Notify::new(),
            looked: watch::Sender::new(false),
        }
    }

    /// Waits until the list was looked through.
    pub async fn passed(&self) {
        if self.is_passed() {
            return;
        }
        self.wanted.notify_one();
        let mut looked = self.looked.subscribe();
        // The sender lives as long as the gate.
        looked.wait_for(|looked| *looked).await.ok();
    }

    /// Waits until an order waits.
    pub async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Opens the gate: the list was looked through.
    pub fn pass(&self) {
        self.looked.send_replace(true);
    }

    /// Whether the list was looked through.
    pub fn is_passed(&self) -> bool {
        *self.looked.borrow()
    }

    /// The days whose lists are read, oldest first.
    pub fn days(&self, today: BusinessDay) -> Vec<BusinessDay> {
        let yesterday = today.before();
        let since = self.since.map_or(yesterday, Timestamp::business_day);
        let first = since.min(yesterday);
        let mut days = vec![today];
        while let Some(last) = days.last().copied()
            && last > first
            && days.len() < DAYS_MAX
        {
            days.push(last.before());
        }
        days.reverse();
        days
    }
}
