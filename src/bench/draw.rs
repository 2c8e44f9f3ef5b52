//! The requests, drawn at random, but the same in every run with the same start.

use super::figures::scaled;

/// The deposit of each account before money moves between accounts, in centavos.
pub const FUNDS: u64 = 10_000_000_000;

/// Digits of the number in an external id.
pub const ID_DIGITS: usize = 16;

/// The kind of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The handler that does nothing.
    Noop,
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
            Kind::Noop | Kind::Balance | Kind::Bulk => 0,
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

/// The accounts that vouchers are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Over {
    /// Any of the first accounts, up to this number.
    Many(usize),
    /// This one.
    One(usize),
}

/// The kinds of requests, with the accounts they are for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// The handler that does nothing.
    Noop,
    /// Vouchers on any of the first accounts, up to this number.
    Spread(usize),
    /// Vouchers on this account.
    Hot(usize),
    /// This many vouchers in one request.
    Bulk(usize, Over),
    /// Transfers between any two of the first accounts, up to this number.
    Transfers(usize),
    /// Balances of any of the first accounts, up to this number.
    Balances(usize),
    /// Four balances for each voucher, over the first accounts, up to this number.
    Mixed(usize),
    /// [`FUNDS`] for one account after the other.
    Fund,
}

/// One drawn request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The request; only the kind is used for a bulk.
    pub order: BenchOrder,
    /// The items of a bulk.
    pub items: Vec<BenchOrder>,
}

impl Asked {
    /// The postings: the items of a bulk, or else the order itself.
    pub fn orders(&self) -> &[BenchOrder] {
        if self.order.kind == Kind::Bulk {
            &self.items
        } else {
            std::slice::from_ref(&self.order)
        }
    }
}

/// Draws requests.
#[derive(Clone, Debug)]
pub struct Draw {
    mix: Mix,
    state: u64,
    next_id: u64,
    drawn: usize,
}

impl Draw {
    /// Starts with this external id.
    pub const fn new(mix: Mix, next_id: u64) -> Self {
        Self {
            mix,
            state: next_id ^ 0x5eed,
            next_id,
            drawn: 0,
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

    fn of(&mut self, over: Over) -> usize {
        match over {
            Over::Many(accounts) => self.any(accounts),
            Over::One(account) => account,
        }
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

    /// The next request.
    pub fn ask(&mut self) -> Asked {
        let drawn = self.drawn;
        self.drawn = drawn.saturating_add(1);
        let mut items = Vec::new();
        let order = match self.mix {
            Mix::Noop => self.order(Kind::Noop, 0),
            Mix::Hot(account) => self.order(Kind::Post, account),
            Mix::Transfers(accounts) => self.transfer(accounts),
            Mix::Fund => BenchOrder {
                centavos: FUNDS,
                ..self.order(Kind::Post, drawn)
            },
            Mix::Bulk(size, over) => {
                items.reserve_exact(size);
                for _ in 0..size {
                    let account = self.of(over);
                    items.push(self.order(Kind::Post, account));
                }
                self.order(Kind::Bulk, 0)
            }
            Mix::Spread(accounts) => {
                let account = self.any(accounts);
                self.order(Kind::Post, account)
            }
            Mix::Balances(accounts) => {
                let account = self.any(accounts);
                self.order(Kind::Balance, account)
            }
            Mix::Mixed(accounts) => {
                let posts = self.any(5) == 0;
                let account = self.any(accounts);
                self.order(if posts { Kind::Post } else { Kind::Balance }, account)
            }
        };
        Asked { order, items }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_external_id_comes_twice_and_nobody_sends_to_itself() {
        let mut draw = Draw::new(Mix::Bulk(50, Over::Many(7)), 3);
        let (one, two) = (draw.ask(), draw.ask());
        let ids: Vec<u64> = [one.orders(), two.orders()]
            .concat()
            .iter()
            .map(|o| o.id)
            .collect();
        assert_eq!(ids, (3..103).collect::<Vec<_>>());
        assert!(one.orders().iter().all(|order| order.account < 7));
        assert_eq!(draw.next_id(), 103);
        let mut draw = Draw::new(Mix::Transfers(2), 0);
        for _ in 0..20 {
            let BenchOrder { account, other, .. } = draw.ask().order;
            assert!(account < 2 && other < 2 && account != other);
        }
    }
}
