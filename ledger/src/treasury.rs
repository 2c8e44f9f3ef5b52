//! Treasury: compares what the ledger owes its clients with the balance of the collector account.
//!
//! Held money belongs to clients until it leaves, so the amount owed is available plus held, and money that no account
//! could take.
//! `freeBalance` may be negative (the PSP uses client float); it informs and blocks nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::accounts::Status;
use crate::balance::Direction;
use crate::books::{BookAccount, HouseBalances};
use crate::money::{Amount, Money};
use crate::vouchers::Voucher;

pub use crate::money::Sum;

/// The number of accounts in each state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Accounts with a CVU that may move money.
    pub active: u64,
    /// Accounts with a CVU whose outgoing movements are blocked.
    pub suspended: u64,
    /// Accounts whose CVU is closed.
    pub closed: u64,
    /// Wallet accounts that have no CVU.
    pub registered: u64,
}

impl Census {
    /// Counts an account that changes from one state to another; a new account has no earlier
    /// state.
    pub fn moved(&mut self, from: Option<Status>, to: Status) {
        if let Some(count) = from.and_then(|from| self.of(from)) {
            *count = count.saturating_sub(1);
        }
        if let Some(count) = self.of(to) {
            *count = count.saturating_add(1);
        }
    }

    /// The sums of both.
    #[must_use]
    const fn plus(self, other: Self) -> Self {
        Self {
            active: self.active.saturating_add(other.active),
            suspended: self.suspended.saturating_add(other.suspended),
            closed: self.closed.saturating_add(other.closed),
            registered: self.registered.saturating_add(other.registered),
        }
    }

    /// How many accounts have or had a CVU.
    pub const fn with_cvu(&self) -> u64 {
        let open = self.active.saturating_add(self.suspended);
        open.saturating_add(self.closed)
    }

    /// How many accounts there are, with and without a CVU.
    pub const fn everyone(&self) -> u64 {
        self.with_cvu().saturating_add(self.registered)
    }

    const fn of(&mut self, status: Status) -> Option<&mut u64> {
        match status {
            Status::Active => Some(&mut self.active),
            Status::Suspended => Some(&mut self.suspended),
            Status::Closed => Some(&mut self.closed),
            Status::Registered => Some(&mut self.registered),
            Status::Void => None,
        }
    }
}

/// The sums over all facts of a realm, in centavos.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// How many vouchers the realm has.
    pub sequence: u64,
    /// The money that clients can spend: the sum over all accounts.
    pub available: Sum,
    /// The money set apart in all accounts; it still belongs to clients.
    pub held: Sum,
    /// The amounts of transfers that wait for the bank's answer: they may already have left the
    /// collector account.
    pub outgoing: Sum,
    /// Money that arrived at the collector account and that no account could take.
    pub incoming: Sum,
    /// The PSP's own side of what moved.
    pub house: HouseBalances,
    /// How many events the realm has, which is the number of the last one; below 2^48.
    pub events: u64,
    /// The number of the set of rules by which facts are events; 0 until a fact names one.
    pub event_rules: u16,
    /// The number of accounts in each state.
    pub census: Census,
}

impl Totals {
    /// The sums of two realms together, under the event rules of this one.
    #[must_use]
    pub fn plus(self, other: &Self) -> Self {
        Self {
            sequence: self.sequence.saturating_add(other.sequence),
            available: self.available.plus(other.available),
            held: self.held.plus(other.held),
            outgoing: self.outgoing.plus(other.outgoing),
            incoming: self.incoming.plus(other.incoming),
            house: self.house.plus(other.house),
            events: self.events.saturating_add(other.events),
            event_rules: self.event_rules,
            census: self.census.plus(other.census),
        }
    }

    /// The money that belongs to clients: available plus held.
    pub const fn owed(&self) -> Sum {
        self.available.plus(self.held)
    }

    /// The money on the collector account that is not the PSP's: that of clients, and what no account could take.
    pub const fn foreign(&self) -> Sum {
        self.owed().plus(self.incoming)
    }

    /// Fees and their tax, taken from clients so far.
    pub fn charged(&self) -> Sum {
        let fees = self.house.of(BookAccount::Fees);
        fees.plus(self.house.of(BookAccount::FeeTax))
    }

    /// Counts an event and returns its number.
    pub const fn count_event(&mut self) -> u64 {
        self.events = self.events.saturating_add(1);
        self.events
    }

    /// Counts a posted voucher.
    pub fn posted(&mut self, voucher: &Voucher) {
        let amount = Sum::from(voucher.amount);
        self.sequence = self.sequence.saturating_add(1);
        match voucher.direction {
            Direction::Credit => self.available = self.available.plus(amount),
            Direction::Debit => self.available = self.available.minus(amount),
            Direction::Hold => {
                self.available = self.available.minus(amount);
                self.held = self.held.plus(amount);
            }
            Direction::Release => {
                self.held = self.held.minus(amount);
                self.available = self.available.plus(amount);
            }
            Direction::ConfirmHold => self.held = self.held.minus(amount),
        }
        self.house.posted(voucher);
    }

    /// Updates the outgoing sum for a transfer of this amount that waited for the bank's answer
    /// before a fact or waits after it.
    pub fn waits(&mut self, amount: Amount, before: bool, after: bool) {
        match (before, after) {
            (false, true) => self.outgoing = self.outgoing.plus(amount.into()),
            (true, false) => self.outgoing = self.outgoing.minus(amount.into()),
            (true, true) | (false, false) => {}
        }
    }

    /// Adds money that arrived and that no account could take.
    pub const fn suspended(&mut self, amount: Sum) {
        self.incoming = self.incoming.plus(amount);
    }

    /// Removes such money once it was credited to an account or returned.
    pub const fn resolved(&mut self, amount: Sum) {
        self.incoming = self.incoming.minus(amount);
    }
}

/// The share of the clients' money that the collector account holds, in ten-thousandths, rounded
/// down so that a shortfall never looks like full cover. `Display` gives four decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Ratio(i128);

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let parts = self.0.unsigned_abs();
        let (whole, rest) = (parts / 10_000, parts % 10_000);
        write!(f, "{sign}{whole}.{rest:04}")
    }
}

/// The balance of the collector account compared with the amount owed to clients (`cuadratura`).
/// The central bank requires all of the clients' money to be there at any time (Communication "A"
/// 6885).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coverage {
    /// The balance beyond the amount owed, in centavos; negative if there is a shortfall.
    pub free: Sum,
    /// The share of the amount owed that is there; `None` when nothing is owed.
    pub ratio: Option<Ratio>,
    /// Whether the whole amount owed is there.
    pub covered: bool,
}

impl Coverage {
    /// Compares the balance of the collector account with the amount owed.
    pub fn of(bank: Money, owed: Sum) -> Self {
        let bank = Sum::from(bank);
        let free = bank.minus(owed);
        let parts = bank.centavos().saturating_mul(10_000);
        let ratio = (owed > Sum::default()).then(|| parts.checked_div_euclid(owed.centavos()));
        Self {
            free,
            ratio: ratio.flatten().map(Ratio),
            covered: free >= Sum::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_record_never_looks_complete() {
        let table = [
            (100, 100, "0.00", Some("1.0000"), true),
            (99_999_999, 100_000_000, "-0.01", Some("0.9999"), false),
            (150, 100, "0.50", Some("1.5000"), true),
            (0, 100, "-1.00", Some("0.0000"), false),
            (-1, 30_000, "-300.01", Some("-0.0001"), false),
            (5, 0, "0.05", None, true),
            (-5, 0, "-0.05", None, false),
        ];
        for (bank, owed, free, ratio, covered) in table {
            let found = Coverage::of(Money::from_centavos(bank), Sum::from_centavos(owed));
            assert_eq!(found.free.to_string(), free);
            assert_eq!(
                found.ratio.map(|ratio| ratio.to_string()).as_deref(),
                ratio,
                "{bank} of {owed}"
            );
            assert_eq!(found.covered, covered);
        }
    }

    #[test]
    fn a_sum_is_wider_than_any_balance() {
        let largest = Sum::from(Money::from_centavos(i64::MAX));
        let many = (0..1000).fold(Sum::default(), |sum, _| sum.plus(largest));
        assert_eq!(many.centavos(), i128::from(i64::MAX) * 1000);
        assert_eq!(many.to_string(), "92233720368547758070.00");
        assert_eq!(Sum::from_centavos(-7).to_string(), "-0.07");
    }

    #[test]
    fn every_account_counts_once_but_those_that_never_were() {
        let mut census = Census::default();
        for after in [
            &[Status::Active, Status::Suspended][..],
            &[Status::Void],
            &[Status::Active, Status::Closed],
            &[],
        ] {
            let mut before = None;
            for status in std::iter::once(&Status::Registered).chain(after) {
                census.moved(before, *status);
                before = Some(*status);
            }
        }
        let right = Census {
            active: 0,
            suspended: 1,
            closed: 1,
            registered: 1,
        };
        assert_eq!(census, right);
    }
}
