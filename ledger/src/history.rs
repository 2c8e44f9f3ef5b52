//! Checks a history independently: sequence, time, balance and chain of one CVU's movements.

use crate::balance::Balance;
use crate::chain::Digest;
use crate::time::Timestamp;
use crate::vouchers::Voucher;

/// Follows the movements of one CVU from the first and reports any violation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// How many movements were seen: the sequence of the last one.
    pub sequence: u64,
    /// The balance after them.
    pub balance: Balance,
    /// The chain after them.
    pub hash: Digest,
    /// When the last one was posted.
    pub at: Timestamp,
}

/// A violation in a history.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Flaw {
    /// A gap or a repeat.
    #[error("movement {found} follows movement {last}")]
    Sequence {
        /// The sequence of the last movement seen; 0 before the first.
        last: u64,
        /// The sequence of the movement that came.
        found: u64,
    },
    /// The movement of this sequence is older than the one before it.
    #[error("movement {0} is older than the one before it")]
    Time(u64),
    /// The balance after the movement does not follow from the one before.
    #[error("movement {sequence} says {stated:?}, the history gives {right:?}")]
    Balance {
        /// The sequence of the movement.
        sequence: u64,
        /// The balance that the movement states.
        stated: Balance,
        /// The balance that follows from the history; `None` if the movement was impossible.
        right: Option<Balance>,
    },
    /// The hash of the movement of this sequence does not follow from the one before.
    #[error("movement {0} breaks the hash chain")]
    Chain(u64),
}

impl History {
    /// Adds the next movement.
    ///
    /// # Errors
    /// The first violation, in the order sequence, time, balance, hash; the history stays unchanged
    /// then.
    pub fn next(&mut self, voucher: &Voucher) -> Result<(), Flaw> {
        let sequence = voucher.sequence;
        if Some(sequence) != self.sequence.checked_add(1) {
            return Err(Flaw::Sequence {
                last: self.sequence,
                found: sequence,
            });
        }
        if voucher.at < self.at {
            return Err(Flaw::Time(sequence));
        }
        let right = self.balance.after(voucher.direction, voucher.amount).ok();
        if right != Some(voucher.after) {
            return Err(Flaw::Balance {
                sequence,
                stated: voucher.after,
                right,
            });
        }
        if voucher.hash_after(self.hash) != voucher.hash {
            return Err(Flaw::Chain(sequence));
        }
        *self = Self {
            sequence,
            balance: voucher.after,
            hash: voucher.hash,
            at: voucher.at,
        };
        Ok(())
    }
}
