//! The levels that set limits, and the judgement of a movement by them.
//!
//! **Shape.** A movement is judged kind by kind, in the order of the table, by the nearest level that sets the kind. The
//! limits of an account go from the account to its tenant to the platform; those of a voucher type stand for themselves.
//! An account may have temporary limits, which go before its own until they end.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{LimitKind, Limits, Quantity, Usage, Window};
use crate::money::{Amount, Money};
use crate::time::{BusinessDay, Timestamp};

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

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the limit {} of {} ({}) would be exceeded: {} used, {} requested, {} remaining",
            self.limit,
            self.maximum,
            self.level.as_str(),
            self.used,
            self.requested,
            self.remaining,
        )
    }
}

/// What a movement is judged by, besides the limits.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What was used so far.
    pub usage: &'a Usage,
    /// The total of the balance, in centavos.
    pub total: Money,
    /// The amount of the movement, in centavos.
    pub amount: Amount,
    /// Its time.
    pub now: Timestamp,
}

impl Judged<'_> {
    /// Whether limits, each with the level that sets it, allow the movement.
    fn within(
        &self,
        limits: impl IntoIterator<Item = (LimitKind, Quantity, Level)>,
    ) -> Result<(), Breach> {
        let (usage, today) = (self.usage.at(self.now), self.now.business_day());
        let mut limits = limits.into_iter();
        limits.try_for_each(|(kind, maximum, level)| {
            let (used, requested) = (usage.against(kind, self.total), kind.counted(self.amount));
            within(
                kind.name(),
                level,
                kind.window(),
                maximum,
                used,
                requested,
                today,
            )
        })
    }
}

/// Whether a limit allows what is requested besides what is used. `today` is the day of the request.
///
/// # Errors
/// When it does not.
pub(super) fn within(
    limit: &'static str,
    level: Level,
    window: Window,
    maximum: Quantity,
    used: Quantity,
    requested: Quantity,
    today: BusinessDay,
) -> Result<(), Breach> {
    if used.plus(requested).is_some_and(|sum| sum <= maximum) {
        return Ok(());
    }
    Err(Breach {
        limit,
        level,
        window,
        maximum,
        used,
        requested,
        remaining: maximum.less(used),
        resets_at: window.resets_at(today),
    })
}

impl Levels {
    /// Whether the limits of some kinds allow a movement.
    ///
    /// # Errors
    /// The first limit that it would exceed, in the order of the table.
    pub fn allow(
        &self,
        concerns: impl Fn(LimitKind) -> bool,
        judged: &Judged<'_>,
    ) -> Result<(), Breach> {
        let kinds = LimitKind::ALL.into_iter();
        judged.within(kinds.filter(|kind| concerns(*kind)).filter_map(|kind| {
            let (limit, level) = self.effective(kind);
            Some((kind, limit?, level))
        }))
    }
}

impl Limits {
    /// Whether these limits of a voucher type allow a voucher of it.
    ///
    /// # Errors
    /// As [`Levels::allow`].
    pub fn of_type_allow(&self, judged: &Judged<'_>) -> Result<(), Breach> {
        let set = self.set().filter(|(kind, _)| kind.is_of_types());
        judged.within(set.map(|(kind, limit)| (kind, limit, Level::VoucherType)))
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
        let judged = |centavos, now| Judged {
            usage: &usage,
            total: Money::ZERO,
            amount: amount(centavos),
            now,
        };
        for (centavos, allowed) in [(20, true), (21, false)] {
            for concerns in [LimitKind::is_on_outgoing, LimitKind::is_on_incoming] {
                let found = levels.allow(concerns, &judged(centavos, now));
                assert_eq!(found.is_ok(), allowed);
            }
        }
        let refund = levels.allow(LimitKind::is_on_balance, &judged(21, now));
        let tomorrow = Timestamp::parse("2026-03-31T12:00:00Z").unwrap();
        let later = levels.allow(LimitKind::is_on_outgoing, &judged(100, tomorrow));
        assert_eq!((refund, later), (Ok(()), Ok(())));
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
        let judged = |usage| Judged {
            usage,
            total: Money::ZERO,
            amount,
            now,
        };
        let none = Usage::default();
        let first = levels.allow(LimitKind::is_on_outgoing, &judged(&none));
        assert_eq!(first, Ok(()));
        let breach = levels.allow(LimitKind::is_on_outgoing, &judged(&used));
        let breach = breach.unwrap_err();
        assert_eq!((breach.limit, breach.level), ("dailyAmount", Level::Psp));
        assert_eq!(breach.remaining, Quantity::Money(Money::from_centavos(50)));
        assert_eq!(breach.resets_at, Timestamp::parse("2026-03-31T03:00:00Z"));
        let of_type = daily.of_type_allow(&judged(&used)).unwrap_err();
        let level = Level::VoucherType;
        assert_eq!(of_type, Breach { level, ..breach });
    }
}
