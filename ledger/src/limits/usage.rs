//! The usage of an account that its limits are compared with.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Flow, LimitKind, PerKind, Quantity, Unit};
use crate::balance::Direction;
use crate::money::{Amount, Money};
use crate::time::{BusinessDay, Timestamp};
use crate::vouchers::{GivesBack, HoldChange, ReferenceType, Voucher};

/// What counts towards one kind of limit in one period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// The first business day of the period.
    pub since: BusinessDay,
    /// What was used in the period.
    pub used: Quantity,
}

/// What counted in the current period of each kind of limit that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage(PerKind<Option<Counter>>);

impl Usage {
    /// The usage with these counters.
    pub fn of(counter: impl FnMut(LimitKind) -> Option<Counter>) -> Self {
        Self(PerKind::of(counter))
    }

    /// The counter of a kind; `None` before anything counted in its period, and for a kind that counts nothing.
    pub const fn counter(&self, kind: LimitKind) -> Option<Counter> {
        *self.0.get(kind)
    }

    /// What was used of a kind in the period of the counters.
    pub fn used(&self, kind: LimitKind) -> Quantity {
        let of = |kind: LimitKind| {
            let counter = self.counter(kind);
            counter.map_or(Quantity::zero(kind.unit()), |counter| counter.used)
        };
        match kind.sum_of() {
            None => of(kind),
            Some([one, other]) => of(one).plus_at_most(of(other)),
        }
    }

    /// What a limit of a kind is compared with, where the balance is this total: nothing for a limit on one movement.
    pub fn against(&self, kind: LimitKind, total: Money) -> Quantity {
        if kind.is_on_balance() {
            Quantity::Money(total)
        } else {
            self.used(kind)
        }
    }

    /// The usage as of an instant: what counted in a past period no longer does.
    #[must_use]
    pub fn at(&self, now: Timestamp) -> Self {
        let today = now.business_day();
        Self::of(|kind| {
            let first = kind.window().first_day(today)?;
            self.counter(kind).filter(|it| it.since == first)
        })
    }

    /// The usage after a movement. Debits and holds count as going out, credits as coming in; fees and what the account
    /// gets back are neither. A release gives back what was counted, in the periods in which it was counted.
    #[must_use]
    pub fn after(&self, voucher: &Voucher) -> Self {
        if let Some(back) = voucher.gives_back {
            return self.given_back(back, voucher.amount, voucher.at);
        }
        match Self::counts(voucher) {
            Some(flow) => self.taken(flow, voucher.amount, voucher.at),
            None => *self,
        }
    }

    /// The way in which a voucher counts; `None` if it does not, or gives back.
    fn counts(voucher: &Voucher) -> Option<Flow> {
        if voucher.reference_type == ReferenceType::Fee {
            return None;
        }
        match voucher.direction {
            Direction::Debit | Direction::Hold => {
                (voucher.hold_change() != Some(HoldChange::End)).then_some(Flow::Outgoing)
            }
            Direction::Credit => (!voucher.is_refund()).then_some(Flow::Incoming),
            Direction::Release | Direction::ConfirmHold => None,
        }
    }

    /// The usage after one more movement that goes out, or one more voucher of a type with limits.
    #[must_use]
    pub fn with(&self, amount: Amount, at: Timestamp) -> Self {
        self.taken(Flow::Outgoing, amount, at)
    }

    fn taken(&self, flow: Flow, amount: Amount, at: Timestamp) -> Self {
        let today = at.business_day();
        let mut next = *self;
        for kind in LimitKind::ALL {
            if kind.flow() == flow
                && let Some(since) = kind.window().first_day(today)
            {
                let before = self.counter(kind).filter(|it| it.since == since);
                let before = before.map_or(Quantity::zero(kind.unit()), |it| it.used);
                let used = before.plus_at_most(kind.counted(amount));
                *next.0.get_mut(kind) = Some(Counter { since, used });
            }
        }
        next
    }

    fn given_back(&self, back: GivesBack, amount: Amount, at: Timestamp) -> Self {
        let counted = back.counted_at.business_day();
        let now = self.at(at);
        Self::of(|kind| {
            let counter = now.counter(kind)?;
            let is_of_period = kind.window().first_day(counted) == Some(counter.since);
            if kind.flow() != Flow::Outgoing || !is_of_period {
                return Some(counter);
            }
            let less = match kind.unit() {
                Unit::Amount => kind.counted(amount),
                Unit::Count => Quantity::Count(u64::from(back.whole)),
            };
            let used = counter.used.less(less);
            Some(Counter { used, ..counter })
        })
    }
}

/// For each counter the code of its kind, the days from 1970 to the first of its period, and the number used.
impl Serialize for Usage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let counters = LimitKind::ALL.into_iter().filter_map(|kind| {
            let Counter { since, used } = self.counter(kind)?;
            Some((kind.code(), since.days(), used))
        });
        serializer.collect_seq(counters)
    }
}

impl<'de> Deserialize<'de> for Usage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut usage = Self::default();
        for (code, days, number) in Vec::<(u8, i64, i64)>::deserialize(deserializer)? {
            let kind = LimitKind::coded(code);
            let read = kind.and_then(|kind| Some((kind, kind.counter(days, number)?)));
            let (kind, counter) = read.ok_or_else(|| {
                D::Error::custom(format!(
                    "{number} since day {days} is no usage of limit {code}"
                ))
            })?;
            *usage.0.get_mut(kind) = Some(counter);
        }
        Ok(usage)
    }
}

impl LimitKind {
    /// The counter of this kind with a number used since a day, in days from 1970; `None` if no period begins on that day,
    /// or for a count below 0.
    pub fn counter(self, days: i64, number: i64) -> Option<Counter> {
        let since = BusinessDay::from_days(days)?;
        let is_first = self.window().first_day(since) == Some(since);
        let used = is_first.then(|| self.quantity(number))??;
        Some(Counter { since, used })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_of_a_day_and_a_month() {
        let at = |text| Timestamp::parse(text).unwrap();
        let amount = Amount::from_centavos(100).unwrap();
        let counts = |usage: Usage| {
            [LimitKind::DailyCount, LimitKind::MonthlyCount].map(|kind| usage.used(kind).number())
        };
        let monthly = |usage: Usage| usage.used(LimitKind::MonthlyAmount).number();
        let used = Usage::default()
            .with(amount, at("2026-03-30T12:00:00Z"))
            .with(amount, at("2026-03-31T12:00:00Z"));
        assert_eq!((counts(used), monthly(used)), ([1, 2], 200));
        let next_day = used.at(at("2026-04-01T02:59:59Z"));
        assert_eq!(counts(next_day), [1, 2]);
        let next_month = used.at(at("2026-04-01T03:00:00Z"));
        assert_eq!(next_month, Usage::default());
        // A release gives back what was counted, in the day and the month in which it was counted.
        let back = |counted, now| {
            let counted_at = at(counted);
            let back = GivesBack {
                counted_at,
                whole: true,
            };
            let after = used.given_back(back, amount, at(now));
            (counts(after), monthly(after))
        };
        for (counted, now, left) in [
            (
                "2026-03-31T12:00:00Z",
                "2026-03-31T13:00:00Z",
                ([0, 1], 100),
            ),
            (
                "2026-03-30T12:00:00Z",
                "2026-03-31T13:00:00Z",
                ([1, 1], 100),
            ),
            ("2026-03-31T12:00:00Z", "2026-04-01T13:00:00Z", ([0, 0], 0)),
        ] {
            assert_eq!(back(counted, now), left);
        }
        // What came in stays counted.
        let now = at("2026-03-31T12:00:00Z");
        let came = Usage::default().taken(Flow::Incoming, amount, now);
        let release = GivesBack {
            counted_at: now,
            whole: true,
        };
        assert_eq!(came.given_back(release, amount, now), came);
    }

    #[test]
    fn only_counted_kinds_have_counters() {
        let now = Timestamp::parse("2026-03-30T12:00:00Z").unwrap();
        let amount = Amount::from_centavos(1).unwrap();
        let used = Usage::default()
            .with(amount, now)
            .taken(Flow::Incoming, amount, now);
        for kind in LimitKind::ALL {
            assert_eq!(used.counter(kind).is_some(), kind.is_counted(), "{kind:?}");
        }
    }
}
