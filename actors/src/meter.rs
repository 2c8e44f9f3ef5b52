//! The money that has left a realm: one meter for all of its accounts, used to check the limits
//! over their sum.
//!
//! **Shape.** The realm's supervisor loads the meter from the projected row before its first order, and every account
//! reads it when it decides. An account that records vouchers takes them into the meter in the same turn, and the taken
//! amounts travel with the page of its commit: a write set that is written keeps them, and one that is dropped for whatever
//! reason (a refused commit, a batch that is undone, a panic) gives them back.
//!
//! **Order.** All accounts of a realm live on one thread, and deciding and taking is one turn. So of two orders that fit
//! only one by one, the second sees the first. Amounts are given back on any thread: the lock is held for a moment.
//!
//! **Failure.** When a commit fails and nobody knows whether it was written, the store is lost and the
//! process ends; the next start reads the row.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caudal_ledger::limits::TotalUsage;
use caudal_ledger::vouchers::Voucher;

/// The meter of a realm.
#[derive(Debug, Default)]
pub struct Meter {
    usage: Mutex<TotalUsage>,
}

impl Meter {
    /// A meter with this usage.
    pub fn new(usage: TotalUsage) -> Arc<Self> {
        let usage = Mutex::new(usage);
        Arc::new(Self { usage })
    }

    /// The sums that have left so far, including decided vouchers that are not on disk yet.
    pub fn usage(&self) -> TotalUsage {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, TotalUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in the vouchers that are being recorded.
    pub fn take(self: &Arc<Self>, vouchers: &[Arc<Voucher>]) -> CountedUsage {
        let counts = |voucher: &&Arc<Voucher>| TotalUsage::counts(voucher);
        let vouchers: Vec<_> = vouchers.iter().filter(counts).cloned().collect();
        if vouchers.is_empty() {
            return CountedUsage::default();
        }
        let mut usage = self.lock();
        *usage = vouchers.iter().fold(*usage, |usage, v| usage.after(v));
        drop(usage);
        let meter = Some(Arc::clone(self));
        CountedUsage { meter, vouchers }
    }
}

/// The amounts that a page has taken from the meter; given back when this is dropped.
#[derive(Debug, Default)]
pub struct CountedUsage {
    meter: Option<Arc<Meter>>,
    vouchers: Vec<Arc<Voucher>>,
}

impl CountedUsage {
    /// Keeps the amounts: the page is on disk.
    pub fn keep(mut self) {
        self.meter = None;
    }

    /// Adds the amounts of a later page, from the same meter.
    pub fn append(&mut self, mut after: Self) {
        self.meter = self.meter.take().or(after.meter.take());
        self.vouchers.append(&mut after.vouchers);
    }
}

impl Drop for CountedUsage {
    fn drop(&mut self) {
        if let Some(meter) = self.meter.take() {
            let mut usage = meter.lock();
            let newest_first = self.vouchers.iter().rev();
            *usage = newest_first.fold(*usage, |usage, v| usage.without(v));
        }
    }
}
