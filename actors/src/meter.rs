//! The money that has left a realm: one meter for all of its accounts, used to check the limits
//! over their sum.
//!
//! **Shape.** The realm's supervisor loads the meter from the row that the projection keeps, before
//! its first order, and every account reads it when it decides. An account that records vouchers
//! takes them into the meter in the same step, and what it took travels with the page of its commit:
//! a page that is written keeps it, one that is dropped for whatever reason (a refused commit, a batch
//! that is undone, a panic) gives it back.
//!
//! **Order.** Accounts live on several threads ([`crate::threads`]), and to decide and to take is one step: whoever
//! does it has a [`Seat`]. Where a limit over the sum is set, it sits alone, so that of two orders that fit
//! only one by one, the second sees the first. Where none is set, nobody compares anything with the meter, and all
//! sit together; whoever sits down alone waits until those have taken what they decided.
//!
//! **Failure.** When a commit fails and nobody knows whether it was written, the store is lost and the
//! process ends; the next start reads the row.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use caudal_ledger::limits::TotalUsage;
use caudal_ledger::vouchers::Voucher;

/// The meter of a realm.
#[derive(Debug, Default)]
pub struct Meter {
    usage: Mutex<TotalUsage>,
    /// Held from the look at the usage until what was decided is taken in.
    seats: RwLock<()>,
}

/// The right to decide and to take; nobody gets it twice at a time.
#[derive(Debug)]
pub struct Seat<'m> {
    meter: &'m Arc<Meter>,
    _seated: Seated<'m>,
}

#[derive(Debug)]
#[expect(dead_code, reason = "they are there to be dropped")]
enum Seated<'m> {
    Alone(RwLockWriteGuard<'m, ()>),
    Together(RwLockReadGuard<'m, ()>),
}

impl Seat<'_> {
    /// What has left so far, with what is decided and not on disk yet.
    pub fn usage(&self) -> TotalUsage {
        self.meter.usage()
    }

    /// Takes vouchers in that are being recorded.
    pub fn take(&self, vouchers: &[Arc<Voucher>]) -> Taken {
        self.meter.take(vouchers)
    }
}

impl Meter {
    /// A meter that shows this.
    pub fn new(usage: TotalUsage) -> Arc<Self> {
        let usage = Mutex::new(usage);
        Arc::new(Self {
            usage,
            seats: RwLock::default(),
        })
    }

    /// What has left so far, with what is decided and not on disk yet.
    pub fn usage(&self) -> TotalUsage {
        *self.lock()
    }

    /// A seat beside others: for whoever compares nothing with the meter.
    pub fn together(self: &Arc<Self>) -> Seat<'_> {
        let seated = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        Seat {
            meter: self,
            _seated: Seated::Together(seated),
        }
    }

    /// The only seat: for whoever compares with the meter what it decides.
    pub fn alone(self: &Arc<Self>) -> Seat<'_> {
        let seated = self.seats.write().unwrap_or_else(PoisonError::into_inner);
        Seat {
            meter: self,
            _seated: Seated::Alone(seated),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TotalUsage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(self: &Arc<Self>, vouchers: &[Arc<Voucher>]) -> Taken {
        let counts = |voucher: &&Arc<Voucher>| TotalUsage::counts(voucher);
        let vouchers: Vec<_> = vouchers.iter().filter(counts).cloned().collect();
        if vouchers.is_empty() {
            return Taken::default();
        }
        let mut usage = self.lock();
        *usage = vouchers.iter().fold(*usage, |usage, v| usage.after(v));
        drop(usage);
        let meter = Some(Arc::clone(self));
        Taken { meter, vouchers }
    }
}

/// What a page has taken from the meter; given back when this is dropped.
#[derive(Debug, Default)]
pub struct Taken {
    meter: Option<Arc<Meter>>,
    vouchers: Vec<Arc<Voucher>>,
}

impl Taken {
    /// It is on disk.
    pub fn keep(mut self) {
        self.meter = None;
    }

    /// Adds what came after, from the same meter.
    pub fn append(&mut self, mut after: Self) {
        self.meter = self.meter.take().or(after.meter.take());
        self.vouchers.append(&mut after.vouchers);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(meter) = self.meter.take() {
            let mut usage = meter.lock();
            let newest_first = self.vouchers.iter().rev();
            *usage = newest_first.fold(*usage, |usage, v| usage.without(v));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_sits_alone_has_nobody_beside_it() {
        let meter = Meter::new(TotalUsage::default());
        let one = meter.together();
        assert!(meter.seats.try_read().is_ok(), "nobody compares");
        assert!(meter.seats.try_write().is_err());
        drop(one);
        let alone = meter.alone();
        assert!(meter.seats.try_read().is_err());
        assert!(meter.seats.try_write().is_err());
        drop(alone);
        assert!(meter.seats.try_write().is_ok());
    }
}
