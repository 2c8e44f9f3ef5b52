//! The levels that set limits, and the judgement of a movement by them.
//!
//! **Shape.** A movement is judged kind by kind, in the order of the table, by the nearest level that sets the kind. The
//! limits of an account go from the account to its tenant to the platform; those of a voucher type stand for themselves.
//! An account may have temporary limits, which go before its own until they end.

use serde::{Deserialize, Serialize};

use super::{Flow, LimitKind, Limits, Quantity, Usage, Window};
use crate::money::{Amount, Money};
use crate::time::Timestamp;

/// The level at which a limit is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The type of the voucher sets it. Accounts do not inherit from it.
    VoucherType,
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
    /// The levels from which a limit or a fee of an account may come, the nearest first.
    pub const ALL: [Self; 4] = [Self::Account, Self::Psp, Self::Platform, Self::None];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VoucherType => "voucher_type",
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
    /// The effective limit of a kind and the level that sets it.
    pub fn effective(&self, kind: LimitKind) -> (Option<Quantity>, Level) {
        let levels = [
            (&self.account, Level::Account),
            (&self.psp, Level::Psp),
            (&self.platform, Level::Platform),
        ];
        levels
            .into_iter()
            .find_map(|(limits, level)| limits.get(kind).map(|value| (Some(value), level)))
            .unwrap_or((None, Level::None))
    }
}

/// Limits of an account that go before its own, kind by kind, and end by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TemporaryLimits {
    /// The limits.
    pub limits: Limits,
    /// The instant from which they do not apply any more.
    pub until: Timestamp,
}

impl TemporaryLimits {
    /// Whether they apply at an instant.
    pub fn apply_at(&self, now: Timestamp) -> bool {
        now < self.until
    }
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

/// What a movement is judged by, besides the limits.
struct Judged<'a> {
    usage: &'a Usage,
    total: Money,
    amount: Amount,
    now: Timestamp,
}

impl Judged<'_> {
    /// Whether a limit of a kind allows the movement.
    fn allows(&self, kind: LimitKind, (maximum, level): (Quantity, Level)) -> Result<(), Breach> {
        let today = self.now.business_day();
        let used = match kind.window() {
            Window::Balance => Quantity::Money(self.total),
            Window::Transaction | Window::Day | Window::Month | Window::Minute => {
                self.usage.used_on(kind, today)
            }
        };
        let requested = kind.counted(self.amount);
        if used.plus(requested).is_some_and(|sum| sum <= maximum) {
            return Ok(());
        }
        Err(Breach {
            limit: kind.name(),
            level,
            window: kind.window(),
            maximum,
            used,
            requested,
            remaining: maximum.less(used),
            resets_at: kind.window().resets_at(today),
        })
    }
}

impl Levels {
    /// Whether an amount may go out at an instant.
    ///
    /// # Errors
    /// The first limit that it would exceed, in the order of the table.
    pub fn outgoing(&self, usage: &Usage, amount: Amount, now: Timestamp) -> Result<(), Breach> {
        let judged = Judged {
            usage,
            total: Money::ZERO,
            amount,
            now,
        };
        self.judge(|kind| kind.flow() != Flow::Incoming, &judged)
    }

    /// Whether an amount that is not the bank's may come in at an instant, where the balance is this total.
    ///
    /// # Errors
    /// As [`Self::outgoing`].
    pub fn incoming(
        &self,
        (usage, total): (&Usage, Money),
        amount: Amount,
        now: Timestamp,
    ) -> Result<(), Breach> {
        let judged = Judged {
            usage,
            total,
            amount,
            now,
        };
        self.judge(|kind| kind.flow() != Flow::Outgoing, &judged)
    }

    /// Whether an amount that the account gets back may be added to a total, which only the limit on the balance decides.
    ///
    /// # Errors
    /// That limit, when the amount would exceed it.
    pub fn refund(&self, total: Money, amount: Amount) -> Result<(), Breach> {
        let judged = Judged {
            usage: &Usage::default(),
            total,
            amount,
            now: Timestamp::default(),
        };
        self.judge(|kind| kind.window() == Window::Balance, &judged)
    }

    fn judge(
        &self,
        concerns: impl Fn(LimitKind) -> bool,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        let kinds = LimitKind::ALL.into_iter();
        let mut kinds = kinds.filter(|kind| concerns(*kind));
        kinds.try_for_each(|kind| match self.effective(kind) {
            (Some(maximum), level) => judged.allows(kind, (maximum, level)),
            (None, _) => Ok(()),
        })
    }
}

impl Limits {
    /// Whether these limits of a voucher type allow a voucher of it, after what the account's others of it have used.
    ///
    /// # Errors
    /// As [`Levels::outgoing`].
    pub fn of_type(&self, usage: &Usage, amount: Amount, now: Timestamp) -> Result<(), Breach> {
        let judged = Judged {
            usage,
            total: Money::ZERO,
            amount,
            now,
        };
        let mut set = self.set().filter(|(kind, _)| kind.is_of_types());
        set.try_for_each(|(kind, maximum)| judged.allows(kind, (maximum, Level::VoucherType)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Change, Counter, LimitsChange};
    use super::*;

    #[test]
    fn limits_are_inherited_kind_by_kind() {
        let of = |amount: Option<i64>, count: Option<u64>| {
            let limits = Limits::default();
            let limits = amount.map_or(limits, |amount| {
                limits.with(LimitKind::DailyAmount, Money::from_centavos(amount))
            });
            count.map_or(limits, |count| limits.with(LimitKind::DailyCount, count))
        };
        let levels = Levels {
            account: of(None, Some(0)),
            psp: of(Some(5), None),
            platform: of(Some(9), Some(9)),
        };
        for (kind, value, level) in [
            (
                LimitKind::DailyCount,
                Some(Quantity::Count(0)),
                Level::Account,
            ),
            (
                LimitKind::DailyAmount,
                Some(Money::from_centavos(5).into()),
                Level::Psp,
            ),
            (LimitKind::MaxBalance, None, Level::None),
        ] {
            assert_eq!(levels.effective(kind), (value, level));
        }
        let change = LimitsChange::default()
            .with(LimitKind::DailyAmount, Change::Set(Money::ZERO.into()))
            .with(LimitKind::DailyCount, Change::Inherit);
        assert_eq!(levels.account.changed(change), of(Some(0), None));
    }

    #[test]
    fn gross_limits_are_on_what_comes_in_and_goes_out_together() {
        let amount = |centavos| Amount::from_centavos(centavos).unwrap();
        let now = Timestamp::parse("2026-03-30T12:00:00Z").unwrap();
        let counter = |kind: LimitKind, centavos| Counter {
            since: kind.window().first_day(now.business_day()).unwrap(),
            used: Money::from_centavos(centavos).into(),
        };
        let usage = Usage::of(|kind| match kind.name() {
            "dailyAmount" => Some(counter(kind, 30)),
            "dailyIncoming" => Some(counter(kind, 50)),
            _ => None,
        });
        let levels = Levels {
            account: Limits::default().with(LimitKind::DailyGross, Money::from_centavos(100)),
            ..Levels::default()
        };
        for (centavos, allowed) in [(20, true), (21, false)] {
            let out = levels.outgoing(&usage, amount(centavos), now);
            let inward = levels.incoming((&usage, Money::ZERO), amount(centavos), now);
            assert_eq!((out.is_ok(), inward.is_ok()), (allowed, allowed));
        }
        assert!(levels.refund(Money::ZERO, amount(21)).is_ok());
        let tomorrow = Timestamp::parse("2026-03-31T12:00:00Z").unwrap();
        assert!(levels.outgoing(&usage, amount(100), tomorrow).is_ok());
    }

    #[test]
    fn a_breach_says_what_was_used_and_when_it_ends() {
        let daily = Limits::default().with(LimitKind::DailyAmount, Money::from_centavos(150));
        let levels = Levels {
            psp: daily,
            ..Levels::default()
        };
        let now = Timestamp::parse("2026-03-30T12:00:00Z").unwrap();
        let amount = Amount::from_centavos(100).unwrap();
        let used = Usage::default().with(amount, now);
        assert_eq!(levels.outgoing(&Usage::default(), amount, now), Ok(()));
        let breach = levels.outgoing(&used, amount, now).unwrap_err();
        assert_eq!((breach.limit, breach.level), ("dailyAmount", Level::Psp));
        assert_eq!(breach.remaining, Quantity::Money(Money::from_centavos(50)));
        assert_eq!(breach.resets_at, Timestamp::parse("2026-03-31T03:00:00Z"));
        let of_type = daily.of_type(&used, amount, now).unwrap_err();
        let level = Level::VoucherType;
        assert_eq!(of_type, Breach { level, ..breach });
    }
}
