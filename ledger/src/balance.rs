//! A balance, and the effect of each direction of movement on it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::money::{Amount, Money};

words! {
    /// The direction of a movement (`sentido`), in the order of [`Self::byte`].
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
    pub enum Direction {
        /// Money comes in: available and total grow.
        #[serde(rename = "c")]
        Credit = "credit",
        /// Money goes out: available and total fall.
        #[serde(rename = "d")]
        Debit = "debit",
        /// Money is set apart: available falls, held grows.
        #[serde(rename = "h")]
        Hold = "hold",
        /// Money that was set apart returns: held falls, available grows.
        #[serde(rename = "r")]
        Release = "release",
        /// Money that was set apart leaves: held and total fall.
        #[serde(rename = "x")]
        ConfirmHold = "confirm_hold",
    }
}

impl Direction {
    /// Whether it adds to the available money; the others take from the available or the held
    /// money.
    pub const fn adds(self) -> bool {
        match self {
            Self::Credit | Self::Release => true,
            Self::Debit | Self::Hold | Self::ConfirmHold => false,
        }
    }

    /// A number that stands for the direction in keys and hashes; never changes.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Credit => 1,
            Self::Debit => 2,
            Self::Hold => 3,
            Self::Release => 4,
            Self::ConfirmHold => 5,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Direction {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|d| d.as_str() == text).ok_or(())
    }
}

/// The money of an account: `total = available + held`, all at least 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Balance {
    /// Money that can be spent, in centavos, at least 0.
    #[serde(rename = "a")]
    pub available: Money,
    /// Money that open holds and open transfers set apart, in centavos, at least 0. It still
    /// belongs to the holder.
    #[serde(rename = "h")]
    pub held: Money,
}

/// Why a movement is impossible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BalanceError {
    /// The amount exceeds the available money.
    InsufficientFunds,
    /// The amount exceeds the held money.
    InsufficientHeld,
    /// The sum would leave the range of money.
    Overflow,
}

impl Balance {
    /// `available + held`, in centavos: all money of the holder.
    pub fn total(self) -> Money {
        // Every balance is made by `after`, which has checked this sum.
        Money::from_centavos(
            self.available
                .centavos()
                .saturating_add(self.held.centavos()),
        )
    }

    /// The balance after a movement of an amount.
    ///
    /// # Errors
    /// When the amount exceeds the available or held money, or the total would leave the range of
    /// 64 bits.
    pub fn after(self, direction: Direction, amount: Amount) -> Result<Self, BalanceError> {
        let a = amount.money();
        let more = |m: Money| m.plus(a).ok_or(BalanceError::Overflow);
        let less = |m: Money, short| match m.minus(a) {
            Some(rest) if rest >= Money::ZERO => Ok(rest),
            Some(_) | None => Err(short),
        };
        let Self { available, held } = self;
        let after = match direction {
            Direction::Credit => Self {
                available: more(available)?,
                held,
            },
            Direction::Debit => Self {
                available: less(available, BalanceError::InsufficientFunds)?,
                held,
            },
            Direction::Hold => Self {
                available: less(available, BalanceError::InsufficientFunds)?,
                held: more(held)?,
            },
            Direction::Release => Self {
                held: less(held, BalanceError::InsufficientHeld)?,
                available: more(available)?,
            },
            Direction::ConfirmHold => Self {
                held: less(held, BalanceError::InsufficientHeld)?,
                available,
            },
        };
        match after.available.plus(after.held) {
            Some(_) => Ok(after),
            None => Err(BalanceError::Overflow),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn balance(available: i64, held: i64) -> Balance {
        Balance {
            available: Money::from_centavos(available),
            held: Money::from_centavos(held),
        }
    }

    #[test]
    fn each_direction_moves_what_it_says() {
        use Direction::*;
        let table = [
            (Credit, 30, Ok(balance(130, 50))),
            (Debit, 100, Ok(balance(0, 50))),
            (Debit, 101, Err(BalanceError::InsufficientFunds)),
            (Hold, 100, Ok(balance(0, 150))),
            (Hold, 101, Err(BalanceError::InsufficientFunds)),
            (Release, 50, Ok(balance(150, 0))),
            (Release, 51, Err(BalanceError::InsufficientHeld)),
            (ConfirmHold, 50, Ok(balance(100, 0))),
            (ConfirmHold, 51, Err(BalanceError::InsufficientHeld)),
        ];
        for (direction, centavos, expected) in table {
            let amount = Amount::from_centavos(centavos).unwrap();
            assert_eq!(
                balance(100, 50).after(direction, amount),
                expected,
                "{direction}"
            );
        }
        let full = balance(i64::MAX, 0);
        let one = Amount::from_centavos(1).unwrap();
        assert_eq!(full.after(Credit, one), Err(BalanceError::Overflow));
        assert_eq!(
            balance(i64::MAX - 1, 1).after(Credit, one),
            Err(BalanceError::Overflow)
        );
    }

    #[test]
    fn words_of_directions_read_back() {
        for direction in Direction::ALL {
            assert_eq!(direction.as_str().parse(), Ok(direction));
        }
        assert_eq!("CREDIT".parse::<Direction>(), Err(()));
    }
}
