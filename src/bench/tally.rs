//! The state of a store according to the answers that the client got, for comparison with the store at the end.

use serde::{Deserialize, Serialize};

use super::draw::{BenchOrder, Kind};

/// The known state of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AccountTally {
    /// Vouchers that were acknowledged, halves of transfers included.
    pub acknowledged: u64,
    /// The balance according to the answers, in centavos.
    pub balance: u64,
    /// Vouchers whose answer never came or was not the expected one.
    pub unsure: u64,
    /// The sum that those may have credited, in centavos.
    pub unsure_in: u64,
    /// The sum that those may have debited, in centavos.
    pub unsure_out: u64,
}

impl AccountTally {
    /// Whether the account may have this balance.
    pub fn allows(&self, balance: u64) -> bool {
        let least = self.balance.saturating_sub(self.unsure_out);
        let most = self.balance.saturating_add(self.unsure_in);
        (least..=most).contains(&balance)
    }
}

/// The known state of a store.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// One line for each account, in the order of their numbers.
    pub lines: Vec<AccountTally>,
    /// The number of vouchers and transfers requested so far, which is the next external id.
    pub asked: u64,
    /// The sum credited from outside, in centavos.
    pub deposits: u64,
    /// The sum that may have been credited from outside besides, in centavos.
    pub unsure_deposits: u64,
}

impl Tally {
    /// The state with this many accounts.
    pub fn new(accounts: u64) -> Self {
        let accounts = usize::try_from(accounts).unwrap_or(0);
        Self {
            lines: vec![AccountTally::default(); accounts],
            ..Self::default()
        }
    }

    /// Records the outcome of an order.
    pub fn note(&mut self, order: &BenchOrder, acknowledged: bool) {
        match order.kind {
            Kind::Post => {
                let sum = if acknowledged {
                    &mut self.deposits
                } else {
                    &mut self.unsure_deposits
                };
                *sum += order.centavos;
                self.note_half(order.account, order.centavos, true, acknowledged);
            }
            Kind::Transfer => {
                self.note_half(order.account, order.centavos, false, acknowledged);
                self.note_half(order.other, order.centavos, true, acknowledged);
            }
            Kind::Empty | Kind::Balance | Kind::Bulk => {}
        }
    }

    fn note_half(&mut self, account: usize, centavos: u64, comes: bool, acknowledged: bool) {
        let Some(line) = self.lines.get_mut(account) else {
            return;
        };
        if acknowledged {
            line.acknowledged += 1;
        } else {
            line.unsure += 1;
        }
        match (acknowledged, comes) {
            (true, true) => line.balance += centavos,
            (true, false) => line.balance = line.balance.saturating_sub(centavos),
            (false, true) => line.unsure_in += centavos,
            (false, false) => line.unsure_out += centavos,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transfer_moves_and_does_not_make_money() {
        let mut tally = Tally::new(2);
        let mut order = BenchOrder {
            kind: Kind::Post,
            account: 0,
            other: 1,
            centavos: 5000,
            id: 0,
        };
        tally.note(&order, true);
        order.kind = Kind::Transfer;
        order.centavos = 2000;
        tally.note(&order, true);
        let balances = tally.lines.iter().map(|line| line.balance);
        assert_eq!(balances.collect::<Vec<_>>(), [3000, 2000]);
        assert_eq!(tally.deposits, 5000);
        let vouchers = tally.lines.iter().map(|line| line.acknowledged);
        assert_eq!(vouchers.collect::<Vec<_>>(), [2, 1]);
        // After an order whose answer never came, both outcomes are allowed, and so is anything in between.
        tally.note(&order, false);
        let [from, to] = *tally.lines else { panic!() };
        assert!(from.allows(1000) && from.allows(3000) && !from.allows(3001));
        assert!(to.allows(4000) && to.allows(2000) && !to.allows(1999));
        assert_eq!(tally.unsure_deposits, 0, "no money comes from outside");
    }
}
