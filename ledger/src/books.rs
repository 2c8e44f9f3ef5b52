//! The books of a realm: the other side of every voucher, in double entry.
//!
//! **Shape.** `clients` is the control account of all positions, `suspense` the money that no account could take, and
//! `bank` what the collector account has by the books. The other accounts are the PSP's own: what it charged clients, what
//! its tenants' adjustments gave and took, what the bank charged and paid, and its own money on the account. Each fact
//! that moves money credits one account and debits another, so the balances add up to zero after every fact, and `bank`
//! follows from the others.
//!
//! **Derived.** The books are sums over facts that the journal has anyway: they can be counted again at any time. A hold
//! and a transfer inside the realm change nothing in them: the money stays the clients'.

use crate::balance::Direction;
use crate::cases::{CollectorFact, RecordedMovement};
use crate::collector::{CollectorClass, CollectorMovement};
use crate::money::Sum;
use crate::vouchers::{ReferenceType, Voucher};

/// The code of the vouchers that take the tax on a fee.
const FEE_TAX: &str = "FEE_TAX";

/// The kind of an account, which decides the side on which it grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BookKind {
    /// What is there: grows by debits.
    Asset,
    /// What is owed: grows by credits.
    Liability,
    /// What was earned: grows by credits.
    Income,
    /// What was spent: grows by debits.
    Expense,
    /// The PSP's own money: grows by credits.
    Equity,
}

impl BookKind {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Asset => "asset",
            Self::Liability => "liability",
            Self::Income => "income",
            Self::Expense => "expense",
            Self::Equity => "equity",
        }
    }

    /// Whether its balance is what was debited less what was credited.
    pub const fn grows_by_debits(self) -> bool {
        matches!(self, Self::Asset | Self::Expense)
    }
}

macro_rules! accounts {
    ($($(#[$doc:meta])+ $name:ident = $word:literal, $kind:ident;)+) => {
        /// An account of the books.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum BookAccount { $($(#[$doc])+ $name,)+ }

        impl BookAccount {
            /// Every account, in the order of a trial balance.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The word on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)+ }
            }

            /// Its kind.
            pub const fn kind(self) -> BookKind {
                match self { $(Self::$name => BookKind::$kind,)+ }
            }
        }
    };
}

accounts! {
    /// The collector account at the bank, by the books.
    Bank = "bank", Asset;
    /// The money of all clients: the sum of all positions.
    Clients = "clients", Liability;
    /// Money that arrived and that no account could take.
    Suspense = "suspense", Liability;
    /// Movements of the collector account that nobody has classified.
    Unclassified = "unclassified", Liability;
    /// Tax on fees that was taken from clients.
    FeeTax = "fee_tax", Liability;
    /// Fees that were taken from clients.
    Fees = "fees", Income;
    /// Interest that the bank paid.
    Interest = "interest", Income;
    /// What the tenant's own vouchers took from clients, less what they gave.
    Adjustments = "adjustments", Income;
    /// What the bank charged.
    BankFees = "bank_fees", Expense;
    /// Taxes that the bank withheld.
    BankTaxes = "bank_taxes", Expense;
    /// The PSP's own money: what came in, less what left.
    PspFunds = "psp_funds", Equity;
}

/// How many accounts [`HouseBalances`] has: all but the bank, the clients and suspense.
pub const HOUSE: usize = 8;

/// The balances of the PSP's own accounts, each as credits less debits, in centavos.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HouseBalances([Sum; HOUSE]);

impl HouseBalances {
    /// The balances in the order of [`BookAccount::ALL`].
    pub const fn new(balances: [Sum; HOUSE]) -> Self {
        Self(balances)
    }

    /// The balances in the order of [`BookAccount::ALL`].
    pub const fn balances(&self) -> &[Sum; HOUSE] {
        &self.0
    }

    /// The place of an account; `None` for one that is not the PSP's own.
    const fn place(account: BookAccount) -> Option<usize> {
        Some(match account {
            BookAccount::Bank | BookAccount::Clients | BookAccount::Suspense => return None,
            BookAccount::Unclassified => 0,
            BookAccount::FeeTax => 1,
            BookAccount::Fees => 2,
            BookAccount::Interest => 3,
            BookAccount::Adjustments => 4,
            BookAccount::BankFees => 5,
            BookAccount::BankTaxes => 6,
            BookAccount::PspFunds => 7,
        })
    }

    /// The balance of an account as credits less debits; zero for one that is not the PSP's own.
    pub fn of(&self, account: BookAccount) -> Sum {
        let balance = Self::place(account).and_then(|place| self.0.get(place));
        balance.copied().unwrap_or(Sum::from_centavos(0))
    }

    fn credit(&mut self, account: BookAccount, amount: Sum) {
        if let Some(balance) = Self::place(account).and_then(|place| self.0.get_mut(place)) {
            *balance = balance.plus(amount);
        }
    }

    fn each(self, other: Self, both: impl Fn(Sum, Sum) -> Sum) -> Self {
        let mut balances = self.0;
        for (balance, more) in balances.iter_mut().zip(other.0) {
            *balance = both(*balance, more);
        }
        Self(balances)
    }

    /// The balances of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.each(other, Sum::plus)
    }

    /// What was added since the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.each(other, Sum::minus)
    }

    /// The sum of all of them.
    pub fn total(&self) -> Sum {
        self.0
            .iter()
            .fold(Sum::from_centavos(0), |sum, it| sum.plus(*it))
    }

    /// Counts the other side of a voucher.
    pub fn posted(&mut self, voucher: &Voucher) {
        let amount = Sum::from(voucher.amount);
        let zero = Sum::from_centavos(0);
        // What leaves the clients is a credit of the other side.
        let taken = match voucher.direction {
            Direction::Debit | Direction::ConfirmHold => amount,
            Direction::Credit => zero.minus(amount),
            Direction::Hold | Direction::Release => return,
        };
        let account = match voucher.reference_type {
            ReferenceType::Fee if voucher.type_code.as_str() == FEE_TAX => BookAccount::FeeTax,
            ReferenceType::Fee => BookAccount::Fees,
            ReferenceType::Adjustment | ReferenceType::Hold | ReferenceType::Remuneration => {
                BookAccount::Adjustments
            }
            // Through the bank.
            ReferenceType::Transfer | ReferenceType::CashIn => return,
            // To another client.
            ReferenceType::P2p => return,
        };
        self.credit(account, taken);
    }

    /// Counts a fact about a movement of the collector account; `before` is its record, unless the fact begins it.
    pub fn moved(&mut self, fact: &CollectorFact, before: Option<&RecordedMovement>) {
        match (fact, before) {
            (CollectorFact::Listed { movement, class }, _) => self.book(movement, *class, true),
            (CollectorFact::Classified { class, .. }, Some(record)) => {
                self.book(&record.movement, record.class, false);
                self.book(&record.movement, *class, true);
            }
            (CollectorFact::Matched { .. }, Some(record)) => {
                self.book(&record.movement, record.class, false);
            }
            (CollectorFact::Classified { .. } | CollectorFact::Matched { .. }, None) => {}
        }
    }

    /// Books a movement, or takes it back.
    fn book(&mut self, movement: &CollectorMovement, class: CollectorClass, is_new: bool) {
        let account = match class {
            CollectorClass::BankFee => BookAccount::BankFees,
            CollectorClass::BankTax => BookAccount::BankTaxes,
            CollectorClass::Interest => BookAccount::Interest,
            CollectorClass::Funding | CollectorClass::Sweep => BookAccount::PspFunds,
            CollectorClass::Unclassified => BookAccount::Unclassified,
        };
        let amount = Sum::from(movement.amount);
        // Money that came in is a debit of the bank, and so a credit here.
        let credit = if movement.incoming == is_new {
            amount
        } else {
            Sum::from_centavos(0).minus(amount)
        };
        self.credit(account, credit);
    }
}

/// What the free balance of a collector account is made of; the terms add up to the total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeTerms {
    /// The free balance.
    pub total: Sum,
    /// Fees that were taken from clients.
    pub fees: Sum,
    /// The tax on them.
    pub fee_tax: Sum,
    /// What the tenant's vouchers took from clients, less what they gave.
    pub adjustments: Sum,
    /// The PSP's own money: what came in, less what left.
    pub funding: Sum,
    /// Interest that the bank paid.
    pub interest: Sum,
    /// What the bank charged and withheld; negative.
    pub bank_charges: Sum,
    /// The rest: money on its way, and movements that nobody has classified.
    pub unexplained: Sum,
}

impl FreeTerms {
    /// The terms of a free balance next to these books.
    pub fn of(total: Sum, house: &HouseBalances) -> Self {
        let of = |account| house.of(account);
        let booked = house.total().minus(of(BookAccount::Unclassified));
        Self {
            total,
            fees: of(BookAccount::Fees),
            fee_tax: of(BookAccount::FeeTax),
            adjustments: of(BookAccount::Adjustments),
            funding: of(BookAccount::PspFunds),
            interest: of(BookAccount::Interest),
            bank_charges: of(BookAccount::BankFees).plus(of(BookAccount::BankTaxes)),
            unexplained: total.minus(booked),
        }
    }
}

/// A line of a trial balance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrialBalanceLine {
    /// The account.
    pub account: BookAccount,
    /// Debits less credits, in centavos; negative on the credit side.
    pub debit: Sum,
}

impl TrialBalanceLine {
    /// The balance as the kind of the account counts it: what is there, owed, earned or spent.
    pub const fn balance(&self) -> Sum {
        if self.account.kind().grows_by_debits() {
            self.debit
        } else {
            Sum::from_centavos(0).minus(self.debit)
        }
    }
}

/// The sum of all debits less the sum of all credits: zero for a whole trial balance.
pub fn difference(lines: &[TrialBalanceLine]) -> Sum {
    let debits = lines.iter().map(|line| line.debit);
    debits.fold(Sum::from_centavos(0), Sum::plus)
}

/// All accounts with their balances, which add up to zero.
pub fn trial_balance(clients: Sum, suspense: Sum, house: &HouseBalances) -> Vec<TrialBalanceLine> {
    let zero = Sum::from_centavos(0);
    let line = |account: &BookAccount| {
        let debit = match account {
            BookAccount::Bank => clients.plus(suspense).plus(house.total()),
            BookAccount::Clients => zero.minus(clients),
            BookAccount::Suspense => zero.minus(suspense),
            BookAccount::Unclassified
            | BookAccount::FeeTax
            | BookAccount::Fees
            | BookAccount::Interest
            | BookAccount::Adjustments
            | BookAccount::BankFees
            | BookAccount::BankTaxes
            | BookAccount::PspFunds => zero.minus(house.of(*account)),
        };
        TrialBalanceLine {
            account: *account,
            debit,
        }
    };
    BookAccount::ALL.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::tests::movement;

    fn listed(incoming: bool, centavos: i64, class: CollectorClass) -> CollectorFact {
        CollectorFact::Listed {
            movement: Box::new(movement(incoming, centavos, "", None)),
            class,
        }
    }

    #[test]
    fn every_account_but_three_is_the_psps_own_and_has_a_place() {
        let places = BookAccount::ALL.iter().map(|it| HouseBalances::place(*it));
        let places: Vec<_> = places.flatten().collect();
        assert_eq!(places, (0..HOUSE).collect::<Vec<_>>());
    }

    #[test]
    fn a_trial_balance_adds_up_to_zero_whatever_the_bank_does() {
        let mut house = HouseBalances::default();
        let sweep = RecordedMovement {
            sequence: 1,
            movement: movement(false, 700, "", None),
            class: CollectorClass::Unclassified,
            since: crate::time::Timestamp::from_millis(1),
            decision: None,
            matched: false,
        };
        let classified = CollectorFact::Classified {
            record: 1,
            class: CollectorClass::Sweep,
            decision: None,
        };
        let matched = CollectorFact::Matched { record: 1 };
        for (fact, before, account, balance) in [
            (
                listed(false, 30, CollectorClass::BankFee),
                None,
                BookAccount::BankFees,
                "0.30",
            ),
            (
                listed(true, 10, CollectorClass::BankFee),
                None,
                BookAccount::BankFees,
                "0.20",
            ),
            (
                listed(false, 5, CollectorClass::BankTax),
                None,
                BookAccount::BankTaxes,
                "0.05",
            ),
            (
                listed(true, 8, CollectorClass::Interest),
                None,
                BookAccount::Interest,
                "0.08",
            ),
            (
                listed(true, 900, CollectorClass::Funding),
                None,
                BookAccount::PspFunds,
                "9.00",
            ),
            (
                listed(false, 700, CollectorClass::Unclassified),
                None,
                BookAccount::Unclassified,
                "-7.00",
            ),
            (classified, Some(&sweep), BookAccount::PspFunds, "2.00"),
            (matched, Some(&sweep), BookAccount::Unclassified, "7.00"),
        ] {
            house.moved(&fact, before);
            let lines = trial_balance(Sum::from_centavos(11), Sum::from_centavos(7), &house);
            assert_eq!(difference(&lines), Sum::default());
            let found = lines.iter().find(|it| it.account == account).unwrap();
            assert_eq!(found.balance().to_string(), balance, "{fact:?}");
        }
    }
}
