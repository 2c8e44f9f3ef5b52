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
    /// Whether no limit is set.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }

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
        let next_minute = usage.at.millis().div_euclid(MINUTE).saturating_add(1);
        let money = |limit, maximum: Option<Money>, used: Money, window, resets_at| {
            let Some(maximum) = maximum else {
                return Ok(());
            };
            let requested = amount.money();
            if used.plus(requested).is_some_and(|sum| sum <= maximum) {
                return Ok(());
            }
            let left = maximum.minus(used).unwrap_or(Money::ZERO).max(Money::ZERO);
            Err(Breach {
                limit,
                level: Level::Psp,
                window,
                maximum: Quantity::Money(maximum),
                used: Quantity::Money(used),
                requested: Quantity::Money(requested),
                remaining: Quantity::Money(left),
                resets_at: Some(resets_at),
            })
        };
        money(
            "dailyOutgoingTotal",
            self.daily_outgoing,
            usage.daily,
            Window::Day,
            today.end().plus_millis(1),
        )?;
        money(
            "monthlyOutgoingTotal",
            self.monthly_outgoing,
            usage.monthly,
            Window::Month,
            today.end_of_month().plus_millis(1),
        )?;
        match self.per_minute {
            Some(maximum) if usage.in_minute >= maximum => Err(Breach {
                limit: "perMinuteCount",
                level: Level::Psp,
                window: Window::Minute,
                maximum: Quantity::Count(maximum),
                used: Quantity::Count(usage.in_minute),
                requested: Quantity::Count(1),
                remaining: Quantity::Count(0),
                resets_at: Some(Timestamp::from_millis(next_minute.saturating_mul(MINUTE))),
            }),
            Some(_) | None => Ok(()),
        }
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

    fn more(mut self, amount: Amount, at: Timestamp) -> Self {
        let more = |sum: Money| {
            let sum = sum.plus(amount.money());
            sum.unwrap_or(Money::from_centavos(i64::MAX))
        };
        let (own, day) = (self.at.business_day(), at.business_day());
        if own == day {
            self.daily = more(self.daily);
        }
        if own.same_month(day) {
            self.monthly = more(self.monthly);
        }
        self
    }

    fn less(mut self, amount: Amount, at: Timestamp) -> Self {
        let less = |sum: Money| {
            let rest = sum.minus(amount.money());
            rest.map_or(sum, |rest| rest.max(Money::ZERO))
        };
        let (own, day) = (self.at.business_day(), at.business_day());
        if own == day {
            self.daily = less(self.daily);
        }
        if own.same_month(day) {
            self.monthly = less(self.monthly);
        }
        self
    }
}

fn minute(at: Timestamp) -> u64 {
    at.millis().div_euclid(MINUTE)
}
