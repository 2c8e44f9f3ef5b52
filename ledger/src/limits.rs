//! Limits on an account's money: six fields, inherited one by one, and the usage they are compared with.

mod total;

use serde::{Deserialize, Serialize};

use crate::balance::Direction;
use crate::money::{Amount, Money};
use crate::time::{BusinessDay, Timestamp};
use crate::vouchers::{GivesBack, ReferenceType, Voucher};

pub use total::{TotalLimits, TotalLimitsChange, TotalUsage};

/// Limits of one level; `None` inherits from the next level, 0 allows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The most that one movement may take out, in centavos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_transaction: Option<Money>,
    /// The most that may go out in a business day, in centavos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_amount: Option<Money>,
    /// The most movements out in a business day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_count: Option<u64>,
    /// The most that may go out in a calendar month, in centavos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_amount: Option<Money>,
    /// The most movements out in a calendar month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_count: Option<u64>,
    /// The largest total, in centavos, to which a tenant's credit or an internal transfer may raise the balance. It
    /// never refuses money from the bank.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_balance: Option<Money>,
}

/// One field of a change of limits: set, inherit, or leave as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Change<T> {
    /// The field was not sent: it stays as it is.
    #[default]
    Unchanged,
    /// The field was sent as `null`: it inherits from the next level.
    Inherit,
    /// The field was sent with this value.
    Set(T),
}

impl<T> Change<T> {
    fn over(self, old: Option<T>) -> Option<T> {
        match self {
            Self::Unchanged => old,
            Self::Inherit => None,
            Self::Set(value) => Some(value),
        }
    }
}

/// A change of limits, field by field.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitsChange {
    /// In centavos; see [`Limits::max_per_transaction`].
    pub max_per_transaction: Change<Money>,
    /// In centavos; see [`Limits::daily_amount`].
    pub daily_amount: Change<Money>,
    /// A number of movements; see [`Limits::daily_count`].
    pub daily_count: Change<u64>,
    /// In centavos; see [`Limits::monthly_amount`].
    pub monthly_amount: Change<Money>,
    /// A number of movements; see [`Limits::monthly_count`].
    pub monthly_count: Change<u64>,
    /// In centavos; see [`Limits::max_balance`].
    pub max_balance: Change<Money>,
}

impl Limits {
    /// These limits with a change applied.
    #[must_use]
    pub fn changed(self, change: LimitsChange) -> Self {
        Self {
            max_per_transaction: change.max_per_transaction.over(self.max_per_transaction),
            daily_amount: change.daily_amount.over(self.daily_amount),
            daily_count: change.daily_count.over(self.daily_count),
            monthly_amount: change.monthly_amount.over(self.monthly_amount),
            monthly_count: change.monthly_count.over(self.monthly_count),
            max_balance: change.max_balance.over(self.max_balance),
        }
    }
}

/// The level at which a limit is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The account itself sets it.
    Account,
    /// The tenant sets it for its accounts.
    Psp,
    /// The platform sets it for tenants that set none.
    Platform,
    /// No level sets it.
    None,
}

impl Level {
    /// Every level, the nearest first.
    pub const ALL: [Self; 4] = [Self::Account, Self::Psp, Self::Platform, Self::None];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Psp => "psp",
            Self::Platform => "platform",
            Self::None => "none",
        }
    }
}

/// The levels of inheritance: account, then PSP, then platform.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Levels {
    /// The account's own limits.
    pub account: Limits,
    /// The limits of its tenant.
    pub psp: Limits,
    /// The limits of the platform.
    pub platform: Limits,
}

impl Levels {
    /// The effective value of one field and the level that sets it.
    pub fn effective<T: Copy>(&self, field: fn(&Limits) -> Option<T>) -> (Option<T>, Level) {
        let levels = [
            (&self.account, Level::Account),
            (&self.psp, Level::Psp),
            (&self.platform, Level::Platform),
        ];
        levels
            .into_iter()
            .find_map(|(limits, level)| field(limits).map(|value| (Some(value), level)))
            .unwrap_or((None, Level::None))
    }
}

/// Outgoing money of the current business day and calendar month.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Usage {
    /// The business day of the counters, which also fixes their month; `None` before anything counted.
    pub day: Option<BusinessDay>,
    /// The amount that left on that day, in centavos.
    pub daily_amount: Money,
    /// How many outgoing movements there were on that day.
    pub daily_count: u64,
    /// The amount that left in the month of that day, in centavos.
    pub monthly_amount: Money,
    /// How many outgoing movements there were in the month of that day.
    pub monthly_count: u64,
}

impl Usage {
    /// The usage as of an instant: counters of a past day or month read as zero.
    #[must_use]
    pub fn at(self, now: Timestamp) -> Self {
        let today = now.business_day();
        match self.day {
            Some(day) if day == today => self,
            Some(day) if day.same_month(today) => Self {
                day: Some(today),
                daily_amount: Money::ZERO,
                daily_count: 0,
                monthly_amount: self.monthly_amount,
                monthly_count: self.monthly_count,
            },
            Some(_) | None => Self {
                day: Some(today),
                ..Self::default()
            },
        }
    }

    /// The usage after a movement: debits and holds count, except fees; a release gives back what was counted, for the
    /// day and month in which it was counted.
    #[must_use]
    pub fn after(self, voucher: &Voucher) -> Self {
        let out = match voucher.direction {
            Direction::Debit | Direction::Hold => true,
            Direction::Credit | Direction::Release | Direction::ConfirmHold => false,
        };
        match voucher.gives_back {
            Some(back) => self.given_back(back, voucher.amount, voucher.at),
            None if out && voucher.reference_type != ReferenceType::Fee => {
                self.taken(voucher.amount, voucher.at)
            }
            None => self,
        }
    }

    fn taken(self, amount: Amount, at: Timestamp) -> Self {
        let now = self.at(at);
        let more = |m: Money| {
            m.plus(amount.money())
                .unwrap_or(Money::from_centavos(i64::MAX))
        };
        Self {
            day: now.day,
            daily_amount: more(now.daily_amount),
            daily_count: now.daily_count.saturating_add(1),
            monthly_amount: more(now.monthly_amount),
            monthly_count: now.monthly_count.saturating_add(1),
        }
    }

    fn given_back(self, back: GivesBack, amount: Amount, at: Timestamp) -> Self {
        let mut now = self.at(at);
        let (today, counted) = (at.business_day(), back.counted_at.business_day());
        let less = |m: Money| m.minus(amount.money()).map_or(m, |m| m.max(Money::ZERO));
        let fewer = |count: u64| count.saturating_sub(u64::from(back.whole));
        if counted == today {
            now.daily_amount = less(now.daily_amount);
            now.daily_count = fewer(now.daily_count);
        }
        if counted.same_month(today) {
            now.monthly_amount = less(now.monthly_amount);
            now.monthly_count = fewer(now.monthly_count);
        }
        now
    }
}

/// The period over which a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Window {
    /// Each movement on its own.
    Transaction,
    /// A business day of Buenos Aires.
    Day,
    /// A calendar month of Buenos Aires.
    Month,
    /// No period: the balance itself.
    Balance,
    /// A minute of the clock.
    Minute,
}

impl Window {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Day => "day",
            Self::Month => "month",
            Self::Balance => "balance",
            Self::Minute => "minute",
        }
    }
}

/// A quantity that a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quantity {
    /// An amount, in centavos.
    Money(Money),
    /// A count of movements.
    Count(u64),
}

/// A limit that a movement would exceed, with its figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Breach {
    /// The limit's name on the wire.
    pub limit: &'static str,
    /// The level that sets it.
    pub level: Level,
    /// The period over which it counts.
    pub window: Window,
    /// The most it allows.
    pub maximum: Quantity,
    /// How much of it was used before.
    pub used: Quantity,
    /// How much the movement would add.
    pub requested: Quantity,
    /// How much of it is left, at least 0.
    pub remaining: Quantity,
    /// When its period begins anew; `None` for a limit without a period.
    pub resets_at: Option<Timestamp>,
}

impl Levels {
    /// Whether an amount may go out at an instant.
    ///
    /// # Errors
    /// The first limit that it would exceed, in the order per transaction, day, month.
    pub fn outgoing(&self, usage: Usage, amount: Amount, now: Timestamp) -> Result<(), Breach> {
        let usage = usage.at(now);
        let today = now.business_day();
        let tomorrow = today.end().plus_millis(1);
        let next_month = today.end_of_month().plus_millis(1);
        let amount = amount.money();
        let transaction = (Window::Transaction, None);
        let (day, month) = (
            (Window::Day, Some(tomorrow)),
            (Window::Month, Some(next_month)),
        );
        self.money(
            "maxPerTransaction",
            |l| l.max_per_transaction,
            Money::ZERO,
            amount,
            transaction,
        )?;
        self.money(
            "dailyAmount",
            |l| l.daily_amount,
            usage.daily_amount,
            amount,
            day,
        )?;
        self.count("dailyCount", |l| l.daily_count, usage.daily_count, day)?;
        self.money(
            "monthlyAmount",
            |l| l.monthly_amount,
            usage.monthly_amount,
            amount,
            month,
        )?;
        self.count(
            "monthlyCount",
            |l| l.monthly_count,
            usage.monthly_count,
            month,
        )
    }

    /// Whether a credit that is not the bank's may be added to a total.
    ///
    /// # Errors
    /// The limit on the balance, when the credit would exceed it.
    pub fn incoming(&self, total: Money, amount: Amount) -> Result<(), Breach> {
        let window = (Window::Balance, None);
        self.money(
            "maxBalance",
            |l| l.max_balance,
            total,
            amount.money(),
            window,
        )
    }

    fn money(
        &self,
        limit: &'static str,
        field: fn(&Limits) -> Option<Money>,
        used: Money,
        requested: Money,
        (window, resets_at): (Window, Option<Timestamp>),
    ) -> Result<(), Breach> {
        let (Some(maximum), level) = self.effective(field) else {
            return Ok(());
        };
        if used.plus(requested).is_some_and(|sum| sum <= maximum) {
            return Ok(());
        }
        let left = maximum.minus(used).unwrap_or(Money::ZERO).max(Money::ZERO);
        Err(Breach {
            limit,
            level,
            window,
            maximum: Quantity::Money(maximum),
            used: Quantity::Money(used),
            requested: Quantity::Money(requested),
            remaining: Quantity::Money(left),
            resets_at,
        })
    }

    fn count(
        &self,
        limit: &'static str,
        field: fn(&Limits) -> Option<u64>,
        used: u64,
        (window, resets_at): (Window, Option<Timestamp>),
    ) -> Result<(), Breach> {
        match self.effective(field) {
            (Some(maximum), level) if used >= maximum => Err(Breach {
                limit,
                level,
                window,
                maximum: Quantity::Count(maximum),
                used: Quantity::Count(used),
                requested: Quantity::Count(1),
                remaining: Quantity::Count(0),
                resets_at,
            }),
            (Some(_) | None, _) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_inherited_field_by_field() {
        let of = |amount: Option<i64>, count| Limits {
            daily_amount: amount.map(Money::from_centavos),
            daily_count: count,
            ..Limits::default()
        };
        let levels = Levels {
            account: of(None, Some(0)),
            psp: of(Some(5), None),
            platform: of(Some(9), Some(9)),
        };
        assert_eq!(
            levels.effective(|l| l.daily_count),
            (Some(0), Level::Account)
        );
        assert_eq!(
            levels.effective(|l| l.daily_amount),
            (Some(Money::from_centavos(5)), Level::Psp)
        );
        assert_eq!(levels.effective(|l| l.max_balance), (None, Level::None));
        let change = LimitsChange {
            daily_amount: Change::Set(Money::ZERO),
            daily_count: Change::Inherit,
            ..LimitsChange::default()
        };
        assert_eq!(levels.account.changed(change), of(Some(0), None));
    }

    #[test]
    fn usage_is_of_a_day_and_a_month() {
        let at = |text| Timestamp::parse(text).unwrap();
        let amount = Amount::from_centavos(100).unwrap();
        let used = Usage::default()
            .taken(amount, at("2026-03-30T12:00:00Z"))
            .taken(amount, at("2026-03-31T12:00:00Z"));
        assert_eq!((used.daily_count, used.monthly_count), (1, 2));
        assert_eq!(used.monthly_amount, Money::from_centavos(200));
        let next_day = used.at(at("2026-04-01T02:59:59Z"));
        assert_eq!((next_day.daily_count, next_day.monthly_count), (1, 2));
        let next_month = used.at(at("2026-04-01T03:00:00Z"));
        assert_eq!((next_month.daily_count, next_month.monthly_count), (0, 0));
        // A release gives back what was counted, in the day and the month in which it was counted.
        let back = |counted, now| {
            let counted_at = at(counted);
            let back = GivesBack {
                counted_at,
                whole: true,
            };
            let after = used.given_back(back, amount, at(now));
            (
                after.daily_count,
                after.monthly_count,
                after.monthly_amount.centavos(),
            )
        };
        assert_eq!(
            back("2026-03-31T12:00:00Z", "2026-03-31T13:00:00Z"),
            (0, 1, 100)
        );
        assert_eq!(
            back("2026-03-30T12:00:00Z", "2026-03-31T13:00:00Z"),
            (1, 1, 100)
        );
        assert_eq!(
            back("2026-03-31T12:00:00Z", "2026-04-01T13:00:00Z"),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_breach_says_what_was_used_and_when_it_ends() {
        let levels = Levels {
            psp: Limits {
                daily_amount: Some(Money::from_centavos(150)),
                ..Limits::default()
            },
            ..Levels::default()
        };
        let now = Timestamp::parse("2026-03-30T12:00:00Z").unwrap();
        let amount = Amount::from_centavos(100).unwrap();
        let used = Usage::default().taken(amount, now);
        assert_eq!(levels.outgoing(Usage::default(), amount, now), Ok(()));
        let breach = levels.outgoing(used, amount, now).unwrap_err();
        assert_eq!((breach.limit, breach.level), ("dailyAmount", Level::Psp));
        assert_eq!(breach.remaining, Quantity::Money(Money::from_centavos(50)));
        assert_eq!(breach.resets_at, Timestamp::parse("2026-03-31T03:00:00Z"));
    }
}
