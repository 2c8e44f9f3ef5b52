//! Limits on the sum over a tenant's accounts, as sponsor banks impose them, and the usage they are
//! compared with.
//!
//! **What counts.** Money that leaves the tenant: debits and holds of every account, without fees
//! and without internal transfers, whose money stays. A release gives back what its hold counted,
//! for the day and month in which it was counted. In the limit per minute a movement stays counted.
//!
//! **Order.** Usage advances with the newest movement and never goes back, so the sum does not
//! depend on the order in which movements of different accounts are counted.

use serde::{Deserialize, Serialize};

use super::levels::within;
use super::{Breach, Change, Level, Quantity, Window};
use crate::balance::Direction;
use crate::money::{Amount, Money};
use crate::time::Timestamp;
use crate::vouchers::{HoldChange, ReferenceType, Voucher};

/// Milliseconds of a minute.
const MINUTE: u64 = 60_000;

/// Limits over all accounts of a tenant, separately for each of its modes; `None` means no limit, 0
/// allows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TotalLimits {
    /// The most that may leave the tenant in a business day, in centavos.
    pub daily_outgoing: Option<Money>,
    /// The most that may leave the tenant in a calendar month, in centavos.
    pub monthly_outgoing: Option<Money>,
    /// The most movements that may leave the tenant in a minute of the clock.
    pub per_minute: Option<u64>,
}

/// A change of [`TotalLimits`], field by field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TotalLimitsChange {
    /// In centavos; see [`TotalLimits::daily_outgoing`].
    pub daily_outgoing: Change<Money>,
    /// In centavos; see [`TotalLimits::monthly_outgoing`].
    pub monthly_outgoing: Change<Money>,
    /// A number of movements; see [`TotalLimits::per_minute`].
    pub per_minute: Change<u64>,
}

impl TotalLimits {
    /// These limits with a change applied.
    #[must_use]
    pub fn changed(self, change: TotalLimitsChange) -> Self {
        Self {
            daily_outgoing: change.daily_outgoing.over(self.daily_outgoing),
            monthly_outgoing: change.monthly_outgoing.over(self.monthly_outgoing),
            per_minute: change.per_minute.over(self.per_minute),
        }
    }

    /// Whether the tenant may let money out.
    ///
    /// # Errors
    /// The first limit that it would exceed, with its figures.
    pub fn outgoing(
        &self,
        usage: TotalUsage,
        amount: Amount,
        now: Timestamp,
    ) -> Result<(), Breach> {
        let usage = usage.at(now);
        let today = usage.at.business_day();
        let requested = Quantity::from(amount.money());
        for (limit, maximum, used, window) in [
            (
                "dailyOutgoingTotal",
                self.daily_outgoing,
                usage.daily,
                Window::Day,
            ),
            (
                "monthlyOutgoingTotal",
                self.monthly_outgoing,
                usage.monthly,
                Window::Month,
            ),
        ] {
            if let Some(maximum) = maximum {
                let (maximum, used) = (maximum.into(), used.into());
                within(limit, Level::Psp, window, maximum, used, requested, today)?;
            }
        }
        let Some(maximum) = self.per_minute else {
            return Ok(());
        };
        let (limit, window) = ("perMinuteCount", Window::Minute);
        let (maximum, used) = (maximum.into(), usage.in_minute.into());
        let judged = within(limit, Level::Psp, window, maximum, used, 1.into(), today);
        judged.map_err(|breach| {
            let next = minute(usage.at).saturating_add(1);
            let resets_at = Some(Timestamp::from_millis(next.saturating_mul(MINUTE)));
            Breach {
                resets_at,
                ..breach
            }
        })
    }
}

/// The money that has left a tenant in one of its modes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TotalUsage {
    /// The time of the newest movement counted: its day, month and minute are those of the
    /// counters.
    pub at: Timestamp,
    /// The amount that left on that business day, in centavos.
    pub daily: Money,
    /// The amount that left in that calendar month, in centavos.
    pub monthly: Money,
    /// How many movements left in that minute.
    pub in_minute: u64,
}

/// The effect of a voucher on the usage.
enum Counted {
    /// It takes this amount out.
    Out(Amount),
    /// It gives back an amount that was counted at this time.
    Back(Amount, Timestamp),
}

fn counted(voucher: &Voucher) -> Option<Counted> {
    if matches!(
        voucher.reference_type,
        ReferenceType::Fee | ReferenceType::P2p
    ) || voucher.hold_change() == Some(HoldChange::End)
    {
        return None;
    }
    match (voucher.gives_back, voucher.direction) {
        (Some(back), _) => Some(Counted::Back(voucher.amount, back.counted_at)),
        (None, Direction::Debit | Direction::Hold) => Some(Counted::Out(voucher.amount)),
        (None, Direction::Credit | Direction::Release | Direction::ConfirmHold) => None,
    }
}

impl TotalUsage {
    /// Whether a voucher changes the usage of its tenant.
    pub fn counts(voucher: &Voucher) -> bool {
        counted(voucher).is_some()
    }

    /// The usage as of an instant: counters of a past day, month or minute read as zero. An instant
    /// before the newest movement changes nothing.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        if now <= self.at {
            return self;
        }
        let (then, today) = (self.at.business_day(), now.business_day());
        let kept = |keep: bool, sum: Money| if keep { sum } else { Money::ZERO };
        Self {
            at: now,
            daily: kept(then == today, self.daily),
            monthly: kept(then.same_month(today), self.monthly),
            in_minute: if minute(self.at) == minute(now) {
                self.in_minute
            } else {
                0
            },
        }
    }

    /// The usage after a voucher.
    #[must_use]
    pub fn after(self, voucher: &Voucher) -> Self {
        match counted(voucher) {
            Some(Counted::Out(amount)) => {
                let mut now = self.at(voucher.at).more(amount, voucher.at);
                if minute(now.at) == minute(voucher.at) {
                    now.in_minute = now.in_minute.saturating_add(1);
                }
                now
            }
            Some(Counted::Back(amount, then)) => self.at(voucher.at).less(amount, then),
            None => self,
        }
    }

    /// The usage without a voucher that was counted but in the end not written.
    #[must_use]
    pub fn without(self, voucher: &Voucher) -> Self {
        match counted(voucher) {
            Some(Counted::Out(amount)) => {
                let mut now = self.less(amount, voucher.at);
                if minute(now.at) == minute(voucher.at) {
                    now.in_minute = now.in_minute.saturating_sub(1);
                }
                now
            }
            Some(Counted::Back(amount, then)) => self.more(amount, then),
            None => self,
        }
    }

    fn more(self, amount: Amount, at: Timestamp) -> Self {
        self.changed(at, |sum| {
            let sum = sum.plus(amount.money());
            sum.unwrap_or(Money::from_centavos(i64::MAX))
        })
    }

    fn less(self, amount: Amount, at: Timestamp) -> Self {
        self.changed(at, |sum| {
            let rest = sum.minus(amount.money());
            rest.map_or(sum, |rest| rest.max(Money::ZERO))
        })
    }

    /// Changes the sums of the day and the month, if an instant is in them.
    fn changed(mut self, at: Timestamp, change: impl Fn(Money) -> Money) -> Self {
        let (own, day) = (self.at.business_day(), at.business_day());
        if own == day {
            self.daily = change(self.daily);
        }
        if own.same_month(day) {
            self.monthly = change(self.monthly);
        }
        self
    }
}

fn minute(at: Timestamp) -> u64 {
    at.millis().div_euclid(MINUTE)
}
