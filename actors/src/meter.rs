//! The money that has left a realm: one meter for all of its accounts, used to check the limits
//! over their sum.
//!
//! **Shape.** The realm's supervisor loads the meter from the projected row before its first order, and every account
//! reads it when it decides. An account that records vouchers takes them into the meter in the same step, and the taken
//! amounts travel with the page of its commit: a page that is written keeps them, and one that is dropped for whatever
//! reason (a refused commit, a batch that is undone, a panic) gives them back.
//!
//! **Order.** Accounts live on several threads ([`crate::threads`]), and deciding and taking is one step, for which an
//! account needs a [`Seat`]. If a limit over the sum is set, it sits alone, so that of two orders that fit only one by
//! one, the second sees the first. If none is set, no order is compared with the meter, and all sit together. An
//! account that sits down alone waits until the others have taken what they decided.
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
    /// Held from the read of the usage until the decided vouchers are taken in.
    seats: RwLock<()>,
}

/// The right to decide and to take. A holder must not ask for a second one.
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
    /// The sums that have left so far, including decided vouchers that are not on disk yet.
    pub fn usage(&self) -> TotalUsage {
        self.meter.usage()
    }

    /// Takes in the vouchers that are being recorded.
    pub fn take(&self, vouchers: &[Arc<Voucher>]) -> Taken {
        self.meter.take(vouchers)
    }
}

impl Meter {
    /// A meter with this usage.
    pub fn new(usage: TotalUsage) -> Arc<Self> {
        let usage = Mutex::new(usage);
        Arc::new(Self {
            usage,
            seats: RwLock::default(),
        })
    }

    /// The sums that have left so far, including decided vouchers that are not on disk yet.
    pub fn usage(&self) -> TotalUsage {
        *self.lock()
    }

    /// A seat beside others: for decisions that are not compared with the meter.
    pub fn together(self: &Arc<Self>) -> Seat<'_> {
        let seated = self.seats.read().unwrap_or_else(PoisonError::into_inner);
        Seat {
            meter: self,
            _seated: Seated::Together(seated),
        }
    }

    /// The only seat: for decisions that are compared with the meter.
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

/// The amounts that a page has taken from the meter; given back when this is dropped.
#[derive(Debug, Default)]
pub struct Taken {
    meter: Option<Arc<Meter>>,
    vouchers: Vec<Arc<Voucher>>,
}

impl Taken {
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
