//! The state of a store according to the answers that the client got, for comparison with the store at the end.

use super::draw::{BenchOrder, Kind};

/// The known state of an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AccountTally {
    /// Vouchers that were acknowledged, halves of transfers included.
    pub acknowledged: u64,
    /// The sum credited from outside, in centavos.
    pub deposited: u64,
    /// The sum received by transfers, in centavos.
    pub received: u64,
    /// The sum sent by transfers, in centavos.
    pub sent: u64,
    /// Vouchers whose answer never came or was not the expected one.
    pub unsure: u64,
    /// The sum that those may have credited, in centavos.
    pub unsure_in: u64,
    /// The sum that those may have debited, in centavos.
    pub unsure_out: u64,
}

fn add(sum: &mut u64, more: u64) {
    *sum += more;
}

impl AccountTally {
    /// The balance according to the answers.
    pub const fn balance(&self) -> u64 {
        let credits = self.deposited.saturating_add(self.received);
        credits.saturating_sub(self.sent)
    }

    /// Whether the account may have this balance.
    pub fn allows(&self, balance: u64) -> bool {
        let least = self.balance().saturating_sub(self.unsure_out);
        let most = self.balance().saturating_add(self.unsure_in);
        (least..=most).contains(&balance)
    }
}

/// The known state of a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// One line for each account, in the order of their numbers.
    pub lines: Vec<AccountTally>,
    /// The number of vouchers and transfers requested so far, which is the next external id.
    pub asked: u64,
    /// The sum that may have been credited from outside besides the known one, in centavos.
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
            Kind::Post => self.note_post(order, acknowledged),
            Kind::Transfer => self.note_transfer(order, acknowledged),
            Kind::Noop | Kind::Balance | Kind::Bulk => {}
        }
    }

    fn note_post(&mut self, order: &BenchOrder, acknowledged: bool) {
        if !acknowledged {
            add(&mut self.unsure_deposits, order.centavos);
        }
        let Some(line) = self.lines.get_mut(order.account) else {
            return;
        };
        if acknowledged {
            add(&mut line.acknowledged, 1);
            add(&mut line.deposited, order.centavos);
        } else {
            add(&mut line.unsure, 1);
            add(&mut line.unsure_in, order.centavos);
        }
    }

    fn note_transfer(&mut self, order: &BenchOrder, acknowledged: bool) {
        for (account, sends) in [(order.account, true), (order.other, false)] {
            let Some(line) = self.lines.get_mut(account) else {
                continue;
            };
            let (count, centavos) = match (acknowledged, sends) {
                (true, true) => (&mut line.acknowledged, &mut line.sent),
                (true, false) => (&mut line.acknowledged, &mut line.received),
                (false, true) => (&mut line.unsure, &mut line.unsure_out),
                (false, false) => (&mut line.unsure, &mut line.unsure_in),
            };
            add(count, 1);
            add(centavos, order.centavos);
        }
    }

    /// The smallest and the largest possible sum credited from outside to all accounts.
    pub fn deposits(&self) -> std::ops::RangeInclusive<u64> {
        let known = self.lines.iter().map(|line| line.deposited);
        let known = known.fold(0, u64::saturating_add);
        known..=known.saturating_add(self.unsure_deposits)
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
        let balances = tally.lines.iter().map(AccountTally::balance);
        assert_eq!(balances.collect::<Vec<_>>(), [3000, 2000]);
        assert_eq!(tally.deposits(), 5000..=5000);
        let vouchers = tally.lines.iter().map(|line| line.acknowledged);
        assert_eq!(vouchers.collect::<Vec<_>>(), [2, 1]);
        // After an order whose answer never came, both outcomes are allowed, and so is anything in between.
        tally.note(&order, false);
        let [from, to] = *tally.lines else { panic!() };
        assert!(from.allows(1000) && from.allows(3000) && !from.allows(3001));
        assert!(to.allows(4000) && to.allows(2000) && !to.allows(1999));
        assert_eq!(tally.deposits(), 5000..=5000, "no money comes from outside");
    }
}
