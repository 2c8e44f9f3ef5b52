//! Four eyes: the operations by operators for a tenant that need a second person, by the tenant's policy.
//!
//! The approvals themselves are in [`crate::people::approvals`].

use serde::{Deserialize, Serialize};

use crate::limits::{LimitKind, Limits, TotalLimits};
use crate::money::Money;

/// The operations that need a second person. None does by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FourEyes {
    /// Decisions about transfers in audit, money in suspense and unbooked statements, above this amount; 0 means every
    /// decision.
    pub decisions_above: Option<Money>,
    /// Changes that raise limits.
    pub limit_raises: bool,
}

impl FourEyes {
    /// Whether no operation needs a second person.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// Whether new rules let one person do what took two.
    pub fn is_weakened_by(&self, new: &Self) -> bool {
        let Self {
            decisions_above,
            limit_raises,
        } = *self;
        looser(decisions_above, new.decisions_above) || (limit_raises && !new.limit_raises)
    }

    /// What needs a second person under one of two policies.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        let Self {
            decisions_above,
            limit_raises,
        } = other;
        let above = [self.decisions_above, decisions_above];
        Self {
            decisions_above: above.into_iter().flatten().min(),
            limit_raises: self.limit_raises || limit_raises,
        }
    }

    /// Whether a decision about an amount needs a second person.
    pub fn decides(&self, amount: Money) -> bool {
        self.decisions_above.is_some_and(|above| amount > above)
    }
}

/// Whether a limit was raised; `None` means no limit.
fn looser<T: PartialOrd>(old: Option<T>, new: Option<T>) -> bool {
    match (old, new) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(old), Some(new)) => new > old,
    }
}

/// Whether new limits are looser than the old ones; each set inherits from its own level above.
pub fn raises(old: &Limits, above: &Limits, new: &Limits, new_above: &Limits) -> bool {
    LimitKind::ALL.into_iter().any(|kind| {
        looser(
            old.get(kind).or(above.get(kind)),
            new.get(kind).or(new_above.get(kind)),
        )
    })
}

/// The same for limits on a tenant's sum, which inherit nothing.
pub fn raises_total(old: &TotalLimits, new: &TotalLimits) -> bool {
    looser(old.daily_outgoing, new.daily_outgoing)
        || looser(old.monthly_outgoing, new.monthly_outgoing)
        || looser(old.per_minute, new.per_minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn daily(centavos: impl Into<Option<i64>>) -> Limits {
        let limits = Limits::default();
        centavos.into().map_or(limits, |centavos| {
            limits.with(LimitKind::DailyAmount, Money::from_centavos(centavos))
        })
    }

    #[test]
    fn what_lets_more_pass_is_a_raise_and_nothing_else_is() {
        let none = daily(None);
        for (old, new, above, raise) in [
            (daily(10), daily(11), none, true),
            (daily(10), daily(10), none, false),
            (daily(10), daily(9), none, false),
            (daily(10), daily(None), none, true),
            (daily(None), daily(10), none, false),
            // Inherited limits count.
            (daily(None), daily(11), daily(10), true),
            (daily(None), daily(9), daily(10), false),
            (daily(10), daily(None), daily(10), false),
            (daily(10), daily(None), daily(11), true),
        ] {
            let found = raises(&old, &above, &new, &above);
            assert_eq!(found, raise, "{old:?} {new:?} {above:?}");
        }
        // Raising a limit of the level above counts for those who inherit it.
        assert!(raises(&none, &daily(10), &none, &daily(11)));
        assert!(!raises(&daily(5), &daily(10), &daily(5), &daily(11)));
        let total = |per_minute| TotalLimits {
            per_minute,
            ..TotalLimits::default()
        };
        assert!(raises_total(&total(Some(1)), &total(None)));
        assert!(!raises_total(&total(None), &total(Some(1))));
    }

    #[test]
    fn rules_are_weakened_by_whatever_takes_one_person_afterwards() {
        let rules = |above: Option<i64>, limit_raises| FourEyes {
            decisions_above: above.map(Money::from_centavos),
            limit_raises,
        };
        let old = rules(Some(100), true);
        for (new, weakened) in [
            (old, false),
            (rules(Some(99), true), false),
            (rules(Some(0), true), false),
            (rules(Some(101), true), true),
            (rules(None, true), true),
            (rules(Some(100), false), true),
        ] {
            assert_eq!(old.is_weakened_by(&new), weakened, "{new:?}");
        }
        assert!(!FourEyes::default().is_weakened_by(&old));
        assert!(old.is_weakened_by(&FourEyes::default()));
    }

    #[test]
    fn the_stricter_part_of_two_policies_applies() {
        let above = |centavos: i64| FourEyes {
            decisions_above: Some(Money::from_centavos(centavos)),
            ..FourEyes::default()
        };
        let raises = FourEyes {
            limit_raises: true,
            ..FourEyes::default()
        };
        let off = FourEyes::default();
        for (one, other, both) in [
            (off, off, off),
            (off, raises, raises),
            (above(5), above(3), above(3)),
            (off, above(3), above(3)),
            (
                raises,
                above(0),
                FourEyes {
                    limit_raises: true,
                    ..above(0)
                },
            ),
        ] {
            assert_eq!(one.stricter(other), both);
            assert_eq!(other.stricter(one), both);
        }
    }

    #[test]
    fn decisions_above_an_amount_take_a_second_person() {
        let policy = |above: Option<i64>| FourEyes {
            decisions_above: above.map(Money::from_centavos),
            ..FourEyes::default()
        };
        let one = Money::from_centavos(1);
        assert!(policy(Some(0)).decides(one) && !policy(Some(1)).decides(one));
        assert!(policy(None).is_off() && !policy(None).decides(one));
    }
}
