//! A sitting of an account: the critical section from reading settings and meter to counting the decided movements.
//!
//! **Order.** Nothing is judged and nothing is recorded outside a sitting: [`Sitting::context`] is the only way to
//! judge, and `Desk::record` requires the sitting. A sitting ends before its commit or refusal is handed over, and none
//! begins inside another: it may sit alone ([`Meter::alone`]), and would wait for itself. The end of a stream that is
//! written for the first time is read inside it.
//!
//! **Settings.** They are read once the seat is taken. So an actor that decides under settings without a limit over the
//! sum has counted everything before another actor decides under settings that have one.

use std::sync::Arc;

use caudal_ledger::accounts::Context;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_ledger::vouchers::Voucher;

use crate::meter::{Meter, Seat, Taken};
use crate::scribe::Shared;
use crate::settings::Settings;

/// A seat at the meter, with the settings in force: see the module.
#[derive(Debug)]
pub(super) struct Sitting<'m> {
    seat: Seat<'m>,
    realm: RealmId,
    settings: Arc<Settings>,
}

impl<'m> Sitting<'m> {
    /// Sits down at a meter: alone if a limit over the sum is set.
    pub(super) fn new(meter: &'m Arc<Meter>, shared: &Shared) -> Self {
        let mut seat = meter.together();
        let mut settings = shared.settings();
        if !settings.total.are_none() {
            drop(seat);
            seat = meter.alone();
            settings = shared.settings();
        }
        Self {
            seat,
            realm: shared.realm,
            settings,
        }
    }

    /// The context in which a movement is judged.
    pub(super) fn context(&self, now: Timestamp) -> Context<'_> {
        self.settings.context(self.realm, now, self.seat.usage())
    }

    /// Counts vouchers that are being recorded.
    pub(super) fn take(&self, vouchers: &[Arc<Voucher>]) -> Taken {
        self.seat.take(vouchers)
    }
}
