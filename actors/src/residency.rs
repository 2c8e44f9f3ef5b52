//! How many accounts are in memory, over all realms: a bound that may change while they live.
//!
//! **Shape.** One [`Residency`] for all supervisors. Each supervisor has its [`Residents`], with which it counts the
//! actors of its accounts and finds out whether one of them has to leave before another one begins.
//!
//! **Bounds.** [`Residency::most`] in all. Realms have equal shares of it: while the total is too high, a
//! realm above its share unloads its own accounts, and one below its share may still load more. So a quiet
//! realm keeps its few accounts next to one that reads millions, and together they have at most twice the
//! bound until the next sweep of the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many CVUs the supervisor of a realm remembers for each account of its share.
pub const REMEMBERED: usize = 8;
/// The memory of these CVUs, in bytes, roughly: 36 each.
pub const REMEMBERED_BYTES: u64 = 8 * 36;

/// The bound on accounts in memory, and how many there are.
#[derive(Debug)]
pub struct Residency {
    most: AtomicUsize,
    living: AtomicUsize,
    realms: AtomicUsize,
}

impl Residency {
    /// A residency for this many accounts.
    pub fn new(most: usize) -> Self {
        Self {
            most: AtomicUsize::new(most),
            living: AtomicUsize::new(0),
            realms: AtomicUsize::new(0),
        }
    }

    /// The most accounts that are to be in memory at the same time.
    pub fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// Changes the bound. Accounts beyond it leave as others begin, and with the next sweep of their realm.
    pub fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    /// How many accounts are in memory.
    pub fn living(&self) -> usize {
        self.living.load(Ordering::Relaxed)
    }

    /// Adds a realm.
    pub fn join(self: &Arc<Self>) -> Residents {
        self.realms.fetch_add(1, Ordering::Relaxed);
        Residents {
            of: Arc::clone(self),
            count: 0,
        }
    }
}

/// The accounts of one realm that are in memory. When this is dropped, they no longer count.
#[derive(Debug)]
pub struct Residents {
    of: Arc<Residency>,
    count: usize,
}

impl Residents {
    /// Counts an account that has come into memory.
    pub fn begin(&mut self) {
        self.count = self.count.strict_add(1);
        self.of.living.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an account that has left memory; the counterpart of [`Self::begin`].
    pub fn end(&mut self) {
        self.count = self.count.strict_sub(1);
        self.of.living.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether an account of this realm has to leave before another one may begin.
    pub fn full(&self) -> bool {
        self.of.living() >= self.of.most() && self.count >= self.share()
    }

    /// Whether some accounts of this realm have to leave even if no new one begins.
    pub fn beyond(&self) -> bool {
        self.of.living() > self.of.most() && self.count > self.share()
    }

    /// How many accounts this realm may have in memory if the others have as many: at least one.
    pub fn share(&self) -> usize {
        let realms = self.of.realms.load(Ordering::Relaxed).max(1);
        self.of.most().strict_div(realms).max(1)
    }
}

impl Drop for Residents {
    fn drop(&mut self) {
        self.of.living.fetch_sub(self.count, Ordering::Relaxed);
        self.of.realms.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_realm_gets_its_share_under_a_busy_one() {
        let residency = Arc::new(Residency::new(10));
        let (mut busy, mut quiet) = (residency.join(), residency.join());
        for _ in 0..10 {
            assert!(!busy.full());
            busy.begin();
        }
        assert!(busy.full() && !busy.beyond());
        for _ in 0..5 {
            assert!(!quiet.full(), "its share is free");
            quiet.begin();
        }
        assert!(quiet.full() && !quiet.beyond());
        assert!(busy.beyond());
        while busy.beyond() {
            busy.end();
        }
        assert_eq!(residency.living(), 10);
        drop(busy);
        assert_eq!(residency.living(), 5);
        assert!(!quiet.full(), "all of it is there for the one that is left");
        residency.set_most(3);
        assert!(quiet.beyond() && quiet.full());
    }
}
