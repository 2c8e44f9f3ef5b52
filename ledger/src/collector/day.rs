//! The business day of a collector account, by the bank's statement.

use super::CollectorMovement;
use crate::money::Money;
use crate::time::BusinessDay;
use crate::treasury::Sum;

/// The sums of a collector account's business day, by the bank's statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CollectorDay {
    /// The business day.
    pub day: BusinessDay,
    /// The bank's balance before the first movement of the day.
    pub opening: Money,
    /// The sum of what came in.
    pub incoming: Sum,
    /// The sum of what left.
    pub outgoing: Sum,
    /// The bank's balance after the last movement of the day.
    pub closing: Money,
}

impl CollectorDay {
    /// The sums of a statement's movements between the bank's two balances.
    pub fn of<'a>(
        day: BusinessDay,
        (opening, closing): (Money, Money),
        movements: impl IntoIterator<Item = &'a CollectorMovement>,
    ) -> Self {
        let mut sums = Self {
            day,
            opening,
            incoming: Sum::default(),
            outgoing: Sum::default(),
            closing,
        };
        for movement in movements {
            let sum = if movement.incoming {
                &mut sums.incoming
            } else {
                &mut sums.outgoing
            };
            *sum = sum.plus(movement.amount.into());
        }
        sums
    }

    /// What the bank's balance changed by and no movement explains: zero on a day that adds up.
    pub fn unexplained(&self) -> Sum {
        let expected = Sum::from(self.opening)
            .plus(self.incoming)
            .minus(self.outgoing);
        Sum::from(self.closing).minus(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::tests::movement;
    use crate::time::Timestamp;

    #[test]
    fn a_day_that_does_not_add_up_says_by_how_much() {
        let day = Timestamp::from_millis(1_772_463_600_000).business_day();
        let moved = [
            movement(true, 700, "", None),
            movement(false, 250, "", None),
        ];
        for (opening, closing, unexplained) in
            [(100, 550, "0.00"), (100, 500, "-0.50"), (-50, 401, "0.01")]
        {
            let balances = (Money::from_centavos(opening), Money::from_centavos(closing));
            let found = CollectorDay::of(day, balances, &moved);
            assert_eq!(found.unexplained().to_string(), unexplained);
        }
    }
}
