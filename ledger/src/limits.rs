//! Limits on an account's money: a table of kinds, inherited one by one, and the usage they are compared with.
//!
//! A kind of limit is a row of [`LimitKind`]. Bodies, documents, pages, rows on disk and models iterate over the table.

mod levels;
mod total;
mod usage;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::money::{Amount, Money};
use crate::time::{BusinessDay, Timestamp};

pub use levels::{Breach, Judged, Level, Levels, TemporaryLimits};
pub use total::{TotalLimits, TotalLimitsChange, TotalUsage};
pub use usage::{Counter, Usage};

/// Declares the kinds of limits, each by one row.
macro_rules! kinds {
    ($(
        $(#[$doc:meta])+
        $kind:ident = $code:literal $name:literal $recorded:literal $window:ident $unit:ident $flow:ident;
    )+) => {
        /// A kind of limit. Limits are checked and shown in the order of this table.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum LimitKind {$(
            $(#[$doc])+
            $kind,
        )+}

        impl LimitKind {
            /// Every kind.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind),+];
            /// The names of all kinds.
            pub const NAMES: [&'static str; Self::COUNT] = [$($name),+];
            /// How many kinds there are.
            pub const COUNT: usize = [$($name),+].len();

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self {$(Self::$kind => $name),+}
            }

            /// The name in records. It is never changed and never given to another kind.
            const fn recorded(self) -> &'static str {
                match self {$(Self::$kind => $recorded),+}
            }

            /// The number of the kind in rows on disk. It is never changed and never given to another kind.
            pub const fn code(self) -> u8 {
                match self {$(Self::$kind => $code),+}
            }

            /// The period over which the limit counts.
            pub const fn window(self) -> Window {
                match self {$(Self::$kind => Window::$window),+}
            }

            /// What the limit counts.
            pub const fn unit(self) -> Unit {
                match self {$(Self::$kind => Unit::$unit),+}
            }

            /// The way of the money that the limit is for.
            pub const fn flow(self) -> Flow {
                match self {$(Self::$kind => Flow::$flow),+}
            }
        }

        impl<T> PerKind<T> {
            /// The value of a kind.
            #[expect(non_snake_case, reason = "each element is bound by the name of its kind")]
            pub const fn get(&self, kind: LimitKind) -> &T {
                let [$($kind),+] = &self.0;
                match kind {$(LimitKind::$kind => $kind),+}
            }

            /// The value of a kind, to be changed.
            #[expect(non_snake_case, reason = "each element is bound by the name of its kind")]
            pub const fn get_mut(&mut self, kind: LimitKind) -> &mut T {
                let [$($kind),+] = &mut self.0;
                match kind {$(LimitKind::$kind => $kind),+}
            }
        }
    };
}

kinds! {
    /// The most that one movement may take out.
    MaxPerTransaction = 1 "maxPerTransaction" "max_per_transaction" Transaction Amount Outgoing;
    /// The most that may go out in a business day.
    DailyAmount = 2 "dailyAmount" "daily_amount" Day Amount Outgoing;
    /// The most movements out in a business day.
    DailyCount = 3 "dailyCount" "daily_count" Day Count Outgoing;
    /// The most that may go out in a calendar month.
    MonthlyAmount = 4 "monthlyAmount" "monthly_amount" Month Amount Outgoing;
    /// The most movements out in a calendar month.
    MonthlyCount = 5 "monthlyCount" "monthly_count" Month Count Outgoing;
    /// The largest total to which a tenant's credit or an internal transfer may raise the balance. It never refuses
    /// money from the bank.
    MaxBalance = 6 "maxBalance" "max_balance" Balance Amount Incoming;
    /// The most that one movement may bring in. Like all limits on money that comes in, it never refuses money from the
    /// bank, which counts towards them all the same.
    MaxPerIncoming = 7 "maxPerIncoming" "max_per_incoming" Transaction Amount Incoming;
    /// The most that may come in in a business day.
    DailyIncoming = 8 "dailyIncoming" "daily_incoming" Day Amount Incoming;
    /// The most that may come in in a calendar month.
    MonthlyIncoming = 9 "monthlyIncoming" "monthly_incoming" Month Amount Incoming;
    /// The most that may come in and go out together in a business day.
    DailyGross = 10 "dailyGross" "daily_gross" Day Amount Gross;
    /// The most that may come in and go out together in a calendar month.
    MonthlyGross = 11 "monthlyGross" "monthly_gross" Month Amount Gross;
}

impl LimitKind {
    /// The kind with this number on disk.
    pub fn coded(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// Whether the limit is on what moves in a period of days.
    pub const fn has_usage(self) -> bool {
        match self.window() {
            Window::Day | Window::Month => true,
            Window::Transaction | Window::Balance | Window::Minute => false,
        }
    }

    /// Whether movements are counted for this kind itself; the usage of the others follows from those that are.
    pub const fn is_counted(self) -> bool {
        self.has_usage() && self.sum_of().is_none()
    }

    /// The kinds whose usage together is that of this one; `None` for a kind with a counter of its own, or without usage.
    const fn sum_of(self) -> Option<[Self; 2]> {
        match (self.flow(), self.window()) {
            (Flow::Gross, Window::Day) => Some([Self::DailyAmount, Self::DailyIncoming]),
            (Flow::Gross, Window::Month) => Some([Self::MonthlyAmount, Self::MonthlyIncoming]),
            (Flow::Gross, Window::Transaction | Window::Balance | Window::Minute)
            | (Flow::Outgoing | Flow::Incoming, _) => None,
        }
    }

    /// Whether bodies have the kind where no level sets it, too: the kinds of the interface's `LimitsSnapshot`.
    pub const fn is_always_shown(self) -> bool {
        self.code() <= Self::MaxBalance.code()
    }

    /// Whether it limits money that goes out.
    pub fn is_on_outgoing(self) -> bool {
        self.flow() != Flow::Incoming
    }

    /// Whether it limits money that comes in and is not the bank's.
    pub fn is_on_incoming(self) -> bool {
        self.flow() != Flow::Outgoing
    }

    /// Whether it limits the balance, which alone decides what the account may get back.
    pub fn is_on_balance(self) -> bool {
        self.window() == Window::Balance
    }

    /// Whether a voucher type may set it: the limits of a type are on its own vouchers, whatever their direction.
    pub fn is_of_types(self) -> bool {
        self.flow() == Flow::Outgoing
    }

    /// A number of centavos or movements, by the unit of the kind; `None` for a count below 0.
    pub fn quantity(self, number: i64) -> Option<Quantity> {
        match self.unit() {
            Unit::Amount => Some(Quantity::Money(Money::from_centavos(number))),
            Unit::Count => u64::try_from(number).ok().map(Quantity::Count),
        }
    }

    /// What a movement of an amount counts.
    const fn counted(self, amount: Amount) -> Quantity {
        match self.unit() {
            Unit::Amount => Quantity::Money(amount.money()),
            Unit::Count => Quantity::Count(1),
        }
    }
}

/// What a limit counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Amounts, in centavos.
    Amount,
    /// Movements.
    Count,
}

/// The way of the money that a limit is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Money that leaves the account.
    Outgoing,
    /// Money that comes in. What the account gets back does not: a refund, a release, a transfer that returned, a fee.
    Incoming,
    /// Both together.
    Gross,
}

/// One value for each kind of limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerKind<T>([T; LimitKind::COUNT]);

impl<T> PerKind<T> {
    /// The values that a function has for each kind.
    pub fn of(value: impl FnMut(LimitKind) -> T) -> Self {
        Self(LimitKind::ALL.map(value))
    }
}

/// Limits of one level; a kind without a value inherits from the next level, 0 allows nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits(PerKind<Option<Quantity>>);

impl Limits {
    /// The limit of a kind.
    pub const fn get(&self, kind: LimitKind) -> Option<Quantity> {
        *self.0.get(kind)
    }

    /// These limits with one set. A value that is not in the unit of its kind changes nothing.
    #[must_use]
    pub fn with(mut self, kind: LimitKind, value: impl Into<Quantity>) -> Self {
        let value = value.into();
        debug_assert_eq!(value.unit(), kind.unit(), "the unit of {}", kind.name());
        if value.unit() == kind.unit() {
            *self.0.get_mut(kind) = Some(value);
        }
        self
    }

    /// These limits with a change applied.
    #[must_use]
    pub fn changed(self, change: LimitsChange) -> Self {
        Self(PerKind::of(|kind| change.get(kind).over(self.get(kind))))
    }

    /// These limits, and for the kinds that they do not set, those of another level.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self(PerKind::of(|kind| self.get(kind).or(other.get(kind))))
    }

    /// Whether none is set.
    pub fn are_none(&self) -> bool {
        let Self(PerKind(limits)) = self;
        limits.iter().all(Option::is_none)
    }

    /// The limits that are set, in the order of the table.
    pub fn set(&self) -> impl Iterator<Item = (LimitKind, Quantity)> {
        let kinds = LimitKind::ALL.into_iter();
        kinds.filter_map(|kind| Some((kind, self.get(kind)?)))
    }
}

impl Serialize for Limits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.set().count()))?;
        for (kind, value) in self.set() {
            map.serialize_entry(kind.recorded(), &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut limits = Self::default();
        for (name, number) in BTreeMap::<String, Option<i64>>::deserialize(deserializer)? {
            let mut kinds = LimitKind::ALL.into_iter();
            let kind = kinds
                .find(|kind| kind.recorded() == name)
                .ok_or_else(|| D::Error::custom(format!("the limit {name} is unknown")))?;
            let Some(number) = number else { continue };
            let value = kind
                .quantity(number)
                .ok_or_else(|| D::Error::custom("a count below 0"))?;
            limits = limits.with(kind, value);
        }
        Ok(limits)
    }
}

/// One limit in a change: set, inherit, or leave as it is.
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

    /// The change with its value converted.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Unchanged => Change::Unchanged,
            Self::Inherit => Change::Inherit,
            Self::Set(value) => Change::Set(convert(value)),
        }
    }
}

/// A change of limits, kind by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LimitsChange(PerKind<Change<Quantity>>);

impl LimitsChange {
    /// The change of a kind.
    pub const fn get(&self, kind: LimitKind) -> Change<Quantity> {
        *self.0.get(kind)
    }

    /// This change with that of one kind. A value that is not in the unit of its kind changes nothing.
    #[must_use]
    pub fn with(mut self, kind: LimitKind, change: Change<Quantity>) -> Self {
        let fits = match change {
            Change::Unchanged | Change::Inherit => true,
            Change::Set(value) => value.unit() == kind.unit(),
        };
        debug_assert!(fits, "the unit of {}", kind.name());
        if fits {
            *self.0.get_mut(kind) = change;
        }
        self
    }
}

words! {
    /// The period over which a limit counts.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Window {
        /// Each movement on its own.
        Transaction = "transaction",
        /// A business day of Buenos Aires.
        Day = "day",
        /// A calendar month of Buenos Aires.
        Month = "month",
        /// No period: the balance itself.
        Balance = "balance",
        /// A minute of the clock.
        Minute = "minute",
    }
}

impl Window {
    /// The first day of the period that a day belongs to; `None` for a period that is not made of days.
    pub fn first_day(self, day: BusinessDay) -> Option<BusinessDay> {
        match self {
            Self::Day => Some(day),
            Self::Month => Some(day.first_of_month()),
            Self::Transaction | Self::Balance | Self::Minute => None,
        }
    }

    /// When the period that a day belongs to ends and the next begins; `None` as for [`Self::first_day`].
    pub fn resets_at(self, day: BusinessDay) -> Option<Timestamp> {
        match self {
            Self::Day => Some(day.end().plus_millis(1)),
            Self::Month => Some(day.end_of_month().plus_millis(1)),
            Self::Transaction | Self::Balance | Self::Minute => None,
        }
    }
}

/// How much a limit allows, or how much of it is used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Quantity {
    /// An amount, in centavos.
    Money(Money),
    /// A count of movements.
    Count(u64),
}

impl From<Money> for Quantity {
    fn from(money: Money) -> Self {
        Self::Money(money)
    }
}

impl From<u64> for Quantity {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

/// The number alone: its kind of limit says what it counts, see [`LimitKind::quantity`].
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Money(money) => money.fmt(f),
            Self::Count(count) => count.fmt(f),
        }
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Money(money) => money.serialize(serializer),
            Self::Count(count) => count.serialize(serializer),
        }
    }
}

impl Quantity {
    /// Nothing, in a unit.
    pub const fn zero(unit: Unit) -> Self {
        match unit {
            Unit::Amount => Self::Money(Money::ZERO),
            Unit::Count => Self::Count(0),
        }
    }

    /// Its unit.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Money(_) => Unit::Amount,
            Self::Count(_) => Unit::Count,
        }
    }

    /// Centavos or movements.
    pub fn number(self) -> i128 {
        match self {
            Self::Money(money) => money.centavos().into(),
            Self::Count(count) => count.into(),
        }
    }

    /// The sum; `None` when it is beyond the range, or the units differ.
    fn plus(self, more: Self) -> Option<Self> {
        match (self, more) {
            (Self::Money(money), Self::Money(more)) => money.plus(more).map(Self::Money),
            (Self::Count(count), Self::Count(more)) => count.checked_add(more).map(Self::Count),
            (Self::Money(_), Self::Count(_)) | (Self::Count(_), Self::Money(_)) => None,
        }
    }

    /// The sum, or the end of the range, which is far above every limit that can be set.
    fn plus_at_most(self, more: Self) -> Self {
        self.plus(more).unwrap_or(match self.unit() {
            Unit::Amount => Self::Money(Money::from_centavos(i64::MAX)),
            Unit::Count => Self::Count(u64::MAX),
        })
    }

    /// The rest, at least 0.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        match (self, other) {
            (Self::Money(money), Self::Money(other)) => {
                let rest = money.minus(other).unwrap_or(Money::ZERO);
                Self::Money(rest.max(Money::ZERO))
            }
            // Nothing is left of a limit that is used up, so the count stops at 0.
            (Self::Count(count), Self::Count(other)) => Self::Count(count.saturating_sub(other)),
            (Self::Money(_), Self::Count(_)) | (Self::Count(_), Self::Money(_)) => {
                Self::zero(self.unit())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_are_each_of_one_kind() {
        for kind in LimitKind::ALL {
            assert_eq!(LimitKind::coded(kind.code()), Some(kind));
            for other in LimitKind::ALL {
                assert_eq!(kind.name() == other.name(), kind == other);
                assert_eq!(kind.recorded() == other.recorded(), kind == other);
            }
        }
        assert_eq!(LimitKind::ALL.map(LimitKind::name), LimitKind::NAMES);
        assert_eq!(
            LimitKind::ALL.map(LimitKind::code),
            [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
        );
    }
}
