//! The cost of a movement before it is made, and whether its account could bear it.

use super::{Charges, FeeRule};
use crate::balance::Direction;
use crate::cvu::Cvu;
use crate::limits::Level;
use crate::money::{Amount, Money};
use crate::time::Timestamp;
use crate::voucher_types::VoucherType;

/// The present cost of a movement for its account. Nothing is reserved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quote {
    /// The CVU of the account in question.
    pub cvu: Cvu,
    /// The type that the movement would have; its direction decides whether charges are added to
    /// the amount.
    pub voucher_type: VoucherType,
    /// The amount of the movement, in centavos, without charges.
    pub amount: Amount,
    /// The applicable entry of the schedule; `None` if no level has one, which costs nothing.
    pub rule: Option<FeeRule>,
    /// The level that has the entry.
    pub source: Level,
    /// Fee and tax, in centavos, whether they would be charged or are only previewed.
    pub charges: Charges,
    /// The money that the account can spend, in centavos.
    pub available: Money,
    /// When the balance was read.
    pub as_of: Timestamp,
}

impl Quote {
    /// Fee and tax; here and below, `None` means that a sum exceeds the range of money.
    pub fn total_charges(&self) -> Option<Money> {
        self.charges.total()
    }

    /// The net effect of the movement, in centavos: a credit minus its charges, any other movement
    /// plus its charges. Negative if a credit costs more than it brings.
    pub fn net_amount(&self) -> Option<Money> {
        let (amount, charges) = (self.amount.money(), self.charges.total()?);
        match self.voucher_type.direction() {
            Direction::Credit => amount.minus(charges),
            Direction::Debit | Direction::Hold | Direction::Release | Direction::ConfirmHold => {
                amount.plus(charges)
            }
        }
    }

    /// Whether the account could bear it now: incoming money may pay for its own charges, and for a
    /// hold the money must be available.
    pub fn sufficient(&self) -> Option<bool> {
        let (amount, charges) = (self.amount.money(), self.charges.total()?);
        let (has, needs) = match self.voucher_type.direction() {
            Direction::Credit | Direction::Release => (self.available.plus(amount)?, charges),
            Direction::Debit | Direction::Hold | Direction::ConfirmHold => {
                (self.available, amount.plus(charges)?)
            }
        };
        Some(needs <= has)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voucher_types::SystemType;

    fn quote(kind: SystemType, amount: i64, charges: i64, available: i64) -> Quote {
        Quote {
            cvu: Cvu::compose(9991, 1).unwrap(),
            voucher_type: kind.voucher_type(),
            amount: Amount::from_centavos(amount).unwrap(),
            rule: None,
            source: Level::None,
            charges: Charges {
                fee: Money::from_centavos(charges),
                tax: Money::ZERO,
            },
            available: Money::from_centavos(available),
            as_of: Timestamp::default(),
        }
    }

    #[test]
    fn a_credit_pays_for_itself_and_a_debit_needs_its_charges_too() {
        use SystemType::{Hold, TransferIn, TransferOut};
        for (kind, amount, charges, available, net, enough) in [
            (TransferIn, 10_000, 121, 0, 9_879, true),
            (TransferIn, 100, 121, 0, -21, false),
            (TransferIn, 100, 121, 21, -21, true),
            (TransferOut, 10_000, 121, 10_120, 10_121, false),
            (TransferOut, 10_000, 121, 10_121, 10_121, true),
            (Hold, 10_000, 0, 10_000, 10_000, true),
        ] {
            let quote = quote(kind, amount, charges, available);
            assert_eq!(quote.net_amount(), Some(Money::from_centavos(net)));
            assert_eq!(quote.sufficient(), Some(enough));
        }
        let beyond = quote(TransferOut, Amount::MAX_CENTAVOS, i64::MAX, 0);
        assert_eq!((beyond.net_amount(), beyond.sufficient()), (None, None));
    }
}
