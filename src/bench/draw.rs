//! The requests, drawn at random, but the same in every run with the same start.

use super::figures::scaled;

/// Digits of the number in an external id.
pub const ID_DIGITS: usize = 16;

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The handler that does nothing.
    Empty,
    /// A voucher.
    Post,
    /// A balance.
    Balance,
    /// A transfer inside the realm.
    Transfer,
    /// Many vouchers in one request.
    Bulk,
}

/// One request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BenchOrder {
    /// What is asked.
    pub kind: Kind,
    /// The account, counted from 0.
    pub account: usize,
    /// The account that a transfer goes to.
    pub other: usize,
    /// The amount; in a request from 1000 to 9999.
    pub centavos: u64,
    /// The number in the external id.
    pub id: u64,
}

impl BenchOrder {
    /// The number of vouchers that it makes.
    pub const fn vouchers(&self) -> u64 {
        match self.kind {
            Kind::Post => 1,
            Kind::Transfer => 2,
            Kind::Empty | Kind::Balance | Kind::Bulk => 0,
        }
    }

    /// The external id.
    pub fn external_id(&self) -> String {
        format!("bench-{:0ID_DIGITS$}", self.id)
    }

    /// The amount as text.
    pub fn amount(&self) -> String {
        format!("{:02}.{:02}", self.centavos / 100, self.centavos % 100)
    }
}

/// The kinds of requests, with the accounts they are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// The handler that does nothing.
    Empty,
    /// Vouchers on any of the first accounts, up to this number.
    Spread(usize),
    /// Vouchers on this account.
    Hot(usize),
    /// This many vouchers in one request, on any of the first accounts, up to this number.
    Bulk(usize, usize),
    /// This many vouchers in one request, on this account.
    BulkHot(usize, usize),
    /// Transfers between any two of the first accounts, up to this number.
    Transfers(usize),
    /// Balances of any of the first accounts, up to this number.
    Balances(usize),
}

/// One drawn request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// What is asked.
    pub kind: Kind,
    /// The orders: one, or the items of a bulk.
    pub orders: Vec<BenchOrder>,
}

/// Draws requests.
#[derive(Clone, Debug)]
pub struct Draw {
    mix: Mix,
    state: u64,
    next_id: u64,
}

impl Draw {
    /// Starts with this external id.
    pub const fn new(mix: Mix, next_id: u64) -> Self {
        Self {
            mix,
            state: next_id ^ 0x5eed,
            next_id,
        }
    }

    /// The external id of the next order.
    pub const fn next_id(&self) -> u64 {
        self.next_id
    }

    const fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let state = self.state;
        let mixed = (state ^ state.wrapping_shr(30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed.wrapping_shr(27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed.wrapping_shr(31)
    }

    fn any(&mut self, accounts: usize) -> usize {
        let drawn = self.random() >> 32;
        let accounts = u64::try_from(accounts).unwrap_or(u64::MAX);
        usize::try_from(scaled(drawn, accounts, 1 << 32)).unwrap_or(0)
    }

    /// An order; one that changes the ledger gets an external id of its own.
    fn order(&mut self, kind: Kind, account: usize) -> BenchOrder {
        let id = self.next_id;
        if matches!(kind, Kind::Post | Kind::Transfer) {
            self.next_id = id.saturating_add(1);
        }
        BenchOrder {
            kind,
            account,
            other: account,
            centavos: 1000_u64.saturating_add(self.random() % 9000),
            id,
        }
    }

    fn transfer(&mut self, accounts: usize) -> BenchOrder {
        let account = self.any(accounts);
        let step = self.any(accounts.saturating_sub(1)).saturating_add(1);
        let other = account.saturating_add(step).checked_rem(accounts);
        BenchOrder {
            other: other.unwrap_or(0),
            ..self.order(Kind::Transfer, account)
        }
    }

    fn of_any(&mut self, kind: Kind, accounts: usize) -> BenchOrder {
        let account = self.any(accounts);
        self.order(kind, account)
    }

    /// The next request.
    pub fn ask(&mut self) -> Asked {
        let (kind, orders) = match self.mix {
            Mix::Empty => (Kind::Empty, vec![self.order(Kind::Empty, 0)]),
            Mix::Spread(accounts) => (Kind::Post, vec![self.of_any(Kind::Post, accounts)]),
            Mix::Hot(account) => (Kind::Post, vec![self.order(Kind::Post, account)]),
            Mix::Transfers(accounts) => (Kind::Transfer, vec![self.transfer(accounts)]),
            Mix::Balances(accounts) => (Kind::Balance, vec![self.of_any(Kind::Balance, accounts)]),
            Mix::Bulk(size, accounts) => {
                let items = (0..size).map(|_| self.of_any(Kind::Post, accounts));
                (Kind::Bulk, items.collect())
            }
            Mix::BulkHot(size, account) => {
                let items = (0..size).map(|_| self.order(Kind::Post, account));
                (Kind::Bulk, items.collect())
            }
        };
        Asked { kind, orders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_external_id_comes_twice_and_nobody_sends_to_itself() {
        let mut draw = Draw::new(Mix::Bulk(50, 7), 3);
        let (one, two) = (draw.ask(), draw.ask());
        let ids: Vec<u64> = [one.orders.clone(), two.orders]
            .concat()
            .iter()
            .map(|o| o.id)
            .collect();
        assert_eq!(ids, (3..103).collect::<Vec<_>>());
        assert!(one.orders.iter().all(|order| order.account < 7));
        assert_eq!(draw.next_id(), 103);
        let mut draw = Draw::new(Mix::Transfers(2), 0);
        for _ in 0..20 {
            let BenchOrder { account, other, .. } = draw.ask().orders[0];
            assert!(account < 2 && other < 2 && account != other);
        }
    }
}
