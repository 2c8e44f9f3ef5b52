//! The books of a realm: the other side of every voucher, in double entry.
//!
//! **Shape.** `clients` is the control account of all positions, `suspense` the money that no account could take, and
//! `bank` what the collector account has by the books. The other accounts are the PSP's own: what it charged clients, what
//! its tenants' adjustments gave and took, what the bank charged and paid, and its own money on the account. Each fact
//! that moves money credits one account and debits another ([`BookMove`]), so the balances add up to zero after every
//! fact, and `bank` follows from the others.
//!
//! **Adjustments.** The tenant's own vouchers, confirmed holds and remuneration go to the account that their voucher
//! names, else to that of their type's code ([`adjustments_of`]). A voucher keeps the account that its type had when it was
//! posted, so a change of the type moves nothing of the past.
//!
//! **Derived.** The books are sums over facts that the journal has anyway: they can be counted again at any time. A hold
//! and a transfer inside the realm change nothing in them: the money stays the clients'.

use std::collections::BTreeMap;

use crate::balance::Direction;
use crate::cases::{CollectorFact, RecordedMovement};
use crate::collector::CollectorClass;
use crate::money::{Amount, Sum};
use crate::vouchers::{ReferenceType, Voucher};

/// The code of the vouchers that take the tax on a fee.
const FEE_TAX: &str = "FEE_TAX";

pub use crate::book_accounts::{BookAccount, BookKind, BookName, BookRef, IN_TRANSIT, OF_TYPE};

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
        balance.copied().unwrap_or(Sum::ZERO)
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
        self.0.iter().fold(Sum::ZERO, |sum, it| sum.plus(*it))
    }

    /// Counts the other side of a voucher.
    pub fn posted(&mut self, voucher: &Voucher) {
        if let Some((account, taken)) = other_side(voucher) {
            self.credit(account, taken);
        }
    }

    /// Counts a fact about a movement of the collector account; `before` is its record, unless the fact begins it.
    pub fn moved(&mut self, fact: &CollectorFact, before: Option<&RecordedMovement>) {
        let Some(moved) = BookMove::of_movement(fact, before) else {
            return;
        };
        for (account, credit) in moved.credits() {
            if let BookRef::Fixed(account) = account {
                self.credit(*account, credit);
            }
        }
    }
}

/// The account on the other side of a voucher, with what leaves the clients as its credit; `None` for a voucher that
/// changes nothing in the books.
fn other_side(voucher: &Voucher) -> Option<(BookAccount, Sum)> {
    let amount = Sum::from(voucher.amount);
    let taken = match voucher.direction {
        Direction::Debit | Direction::ConfirmHold => amount,
        Direction::Credit => Sum::ZERO.minus(amount),
        Direction::Hold | Direction::Release => return None,
    };
    let account = match voucher.reference_type {
        ReferenceType::Fee if voucher.type_code.as_str() == FEE_TAX => BookAccount::FeeTax,
        ReferenceType::Fee => BookAccount::Fees,
        ReferenceType::Adjustment | ReferenceType::Hold | ReferenceType::Remuneration => {
            BookAccount::Adjustments
        }
        ReferenceType::Transfer | ReferenceType::CashIn => BookAccount::Bank,
        // To another client.
        ReferenceType::P2p => return None,
    };
    Some((account, taken))
}

/// What a voucher adds to its account for adjustments, as credits less debits in centavos; `None` for any other voucher.
pub fn adjusted(voucher: &Voucher) -> Option<Sum> {
    let (account, taken) = other_side(voucher)?;
    (account == BookAccount::Adjustments).then_some(taken)
}

/// The account for adjustments of a voucher, if it has one ([`adjusted`]).
pub fn adjustments_of(voucher: &Voucher) -> BookName {
    let of_type = || BookName::of_type(voucher.type_code.as_str());
    voucher.counter_account.clone().unwrap_or_else(of_type)
}

/// The name of that account in two parts, without an allocation; letters of the second may be upper case.
pub fn adjustments_parts(voucher: &Voucher) -> [&str; 2] {
    match &voucher.counter_account {
        Some(name) => [name.as_str(), ""],
        None => [OF_TYPE, voucher.type_code.as_str()],
    }
}

/// What a fact moves in the books: an amount from the credit of one account to the debit of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BookMove {
    /// The account that is debited.
    pub debit: BookRef,
    /// The account that is credited.
    pub credit: BookRef,
    /// The amount, in centavos.
    pub amount: Amount,
}

impl BookMove {
    /// Both accounts, each with what is credited to it less what is debited.
    fn credits(&self) -> [(&BookRef, Sum); 2] {
        let amount = Sum::from(self.amount);
        [
            (&self.credit, amount),
            (&self.debit, Sum::ZERO.minus(amount)),
        ]
    }

    /// A move between two accounts; with the sides exchanged, if the amount comes back.
    fn between(debit: BookRef, credit: BookRef, amount: Amount, is_back: bool) -> Self {
        let (debit, credit) = if is_back {
            (credit, debit)
        } else {
            (debit, credit)
        };
        Self {
            debit,
            credit,
            amount,
        }
    }

    /// The move of a voucher; `None` for a hold, its release, and money within the realm.
    pub fn of_voucher(voucher: &Voucher) -> Option<Self> {
        let (account, taken) = other_side(voucher)?;
        let other = if account == BookAccount::Adjustments {
            BookRef::Adjustments(adjustments_of(voucher))
        } else {
            BookRef::Fixed(account)
        };
        let clients = BookRef::Fixed(BookAccount::Clients);
        let is_back = taken < Sum::ZERO;
        Some(Self::between(clients, other, voucher.amount, is_back))
    }

    /// The move of money that no account could take, or of its end: by then it is credited to an account by a voucher of
    /// its own, or has left.
    pub fn of_suspense(amount: Amount, ends: bool) -> Self {
        let (bank, suspense) = (BookAccount::Bank, BookAccount::Suspense);
        Self::between(BookRef::Fixed(bank), BookRef::Fixed(suspense), amount, ends)
    }

    /// The move of a fact about a movement of the collector account; `before` is its record, unless the fact begins it.
    /// `None` when both classes are of one account.
    pub fn of_movement(fact: &CollectorFact, before: Option<&RecordedMovement>) -> Option<Self> {
        let fixed = |class| BookRef::Fixed(account_of(class));
        let bank = BookRef::Fixed(BookAccount::Bank);
        // Money that came in is a debit of the bank.
        match (fact, before) {
            (CollectorFact::Listed { movement, class }, _) => {
                let (amount, left) = (movement.amount, !movement.incoming);
                Some(Self::between(bank, fixed(*class), amount, left))
            }
            (CollectorFact::Classified { class, .. }, Some(record)) => {
                let (old, new) = (fixed(record.class), fixed(*class));
                let (amount, left) = (record.movement.amount, !record.movement.incoming);
                (old != new).then(|| Self::between(old, new, amount, left))
            }
            (CollectorFact::Matched { .. }, Some(record)) => {
                let (amount, came) = (record.movement.amount, record.movement.incoming);
                Some(Self::between(bank, fixed(record.class), amount, came))
            }
            (CollectorFact::Classified { .. } | CollectorFact::Matched { .. }, None) => None,
        }
    }
}

/// The account of a class of movements.
const fn account_of(class: CollectorClass) -> BookAccount {
    match class {
        CollectorClass::BankFee => BookAccount::BankFees,
        CollectorClass::BankTax => BookAccount::BankTaxes,
        CollectorClass::Interest => BookAccount::Interest,
        CollectorClass::Funding | CollectorClass::Sweep => BookAccount::PspFunds,
        CollectorClass::Unclassified => BookAccount::Unclassified,
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
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrialBalanceLine {
    /// The account.
    pub account: BookRef,
    /// Debits less credits, in centavos; negative on the credit side.
    pub debit: Sum,
}

impl TrialBalanceLine {
    const fn of(account: BookRef, credit: Sum) -> Self {
        let debit = Sum::ZERO.minus(credit);
        Self { account, debit }
    }

    /// The balance as the kind of the account counts it: what is there, owed, earned or spent.
    pub const fn balance(&self) -> Sum {
        if self.account.kind().grows_by_debits() {
            self.debit
        } else {
            Sum::ZERO.minus(self.debit)
        }
    }
}

/// The sum of all debits less the sum of all credits: zero for a whole trial balance.
pub fn difference(lines: &[TrialBalanceLine]) -> Sum {
    let debits = lines.iter().map(|line| line.debit);
    debits.fold(Sum::ZERO, Sum::plus)
}

/// The balances of the accounts for adjustments, each as credits less debits, in centavos.
pub type AdjustmentBalances = BTreeMap<BookName, Sum>;

/// The balances of a realm's books, all as of one instant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BookBalances {
    /// The clients' money.
    pub clients: Sum,
    /// Money that no account could take.
    pub suspense: Sum,
    /// The PSP's own accounts.
    pub house: HouseBalances,
    /// The accounts for adjustments.
    pub adjustments: AdjustmentBalances,
}

impl BookBalances {
    /// Applies what a fact moves.
    pub fn apply(&mut self, moved: &BookMove) {
        for (account, credit) in moved.credits() {
            self.credit(account, credit);
        }
    }

    fn credit(&mut self, account: &BookRef, amount: Sum) {
        match account {
            BookRef::Fixed(BookAccount::Clients) => self.clients = self.clients.plus(amount),
            BookRef::Fixed(BookAccount::Suspense) => self.suspense = self.suspense.plus(amount),
            // The bank's balance follows from the others.
            BookRef::Fixed(account) => self.house.credit(*account, amount),
            BookRef::Adjustments(name) => {
                self.house.credit(BookAccount::Adjustments, amount);
                let balance = self.adjustments.entry(name.clone()).or_default();
                *balance = balance.plus(amount);
            }
        }
    }

    /// The fixed accounts, each with its credits less debits. Those of the bank follow from the others, of which `own` is
    /// the sum of the PSP's.
    fn fixed(&self, own: Sum) -> impl Iterator<Item = (BookAccount, Sum)> {
        let bank = Sum::ZERO.minus(self.clients.plus(self.suspense).plus(own));
        BookAccount::ALL.into_iter().map(move |account| {
            let credit = match account {
                BookAccount::Bank => bank,
                BookAccount::Clients => self.clients,
                BookAccount::Suspense => self.suspense,
                BookAccount::Unclassified
                | BookAccount::FeeTax
                | BookAccount::Fees
                | BookAccount::Interest
                | BookAccount::Adjustments
                | BookAccount::BankFees
                | BookAccount::BankTaxes
                | BookAccount::PspFunds => self.house.of(account),
            };
            (account, credit)
        })
    }

    /// The fixed accounts, each with its balance as its kind counts it. All accounts for adjustments together are their
    /// control account.
    pub fn controls(&self) -> Vec<(BookAccount, Sum)> {
        let fixed = self.fixed(self.house.total());
        fixed
            .map(|(account, credit)| {
                let line = TrialBalanceLine::of(BookRef::Fixed(account), credit);
                (account, line.balance())
            })
            .collect()
    }

    /// All accounts with their balances, which add up to zero. The accounts for adjustments, by name, are in the place
    /// of their control account.
    pub fn trial_balance(&self) -> Vec<TrialBalanceLine> {
        let adjusted = self
            .adjustments
            .values()
            .copied()
            .fold(Sum::ZERO, Sum::plus);
        let control = self.house.of(BookAccount::Adjustments);
        let own = self.house.total().minus(control).plus(adjusted);
        let mut lines = Vec::new();
        for (account, credit) in self.fixed(own) {
            if account == BookAccount::Adjustments {
                let named = self.adjustments.iter();
                lines.extend(named.map(|(name, sum)| {
                    TrialBalanceLine::of(BookRef::Adjustments(name.clone()), *sum)
                }));
            } else {
                lines.push(TrialBalanceLine::of(BookRef::Fixed(account), credit));
            }
        }
        lines
    }
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
            let balances = BookBalances {
                clients: Sum::from_centavos(11),
                suspense: Sum::from_centavos(7),
                house,
                adjustments: [(BookName::of_type("GIFT"), Sum::from_centavos(-3))].into(),
            };
            let lines = balances.trial_balance();
            assert_eq!(difference(&lines), Sum::default());
            let account = BookRef::Fixed(account);
            let found = lines.iter().find(|it| it.account == account).unwrap();
            assert_eq!(found.balance().to_string(), balance, "{fact:?}");
        }
    }

    fn voucher(
        direction: Direction,
        reference_type: ReferenceType,
        code: &str,
        account: Option<&str>,
    ) -> Voucher {
        Voucher {
            direction,
            reference_type,
            type_code: crate::voucher_types::TypeCode::parse(code).unwrap(),
            counter_account: account.map(|name| BookName::parse(name).unwrap()),
            ..crate::accounts::tests::drafted()
        }
    }

    #[test]
    fn balances_after_the_moves_of_vouchers_are_those_of_the_sums() {
        let mut balances = BookBalances::default();
        let mut house = HouseBalances::default();
        for (voucher, debit, credit) in [
            (
                voucher(Direction::Credit, ReferenceType::Adjustment, "GIFT", None),
                "adjustments:gift",
                "clients",
            ),
            (
                voucher(
                    Direction::Debit,
                    ReferenceType::Adjustment,
                    "TOLL",
                    Some("tolls"),
                ),
                "clients",
                "tolls",
            ),
            (
                voucher(
                    Direction::ConfirmHold,
                    ReferenceType::Hold,
                    "CONFIRM_HOLD",
                    None,
                ),
                "clients",
                "adjustments:confirm_hold",
            ),
            (
                voucher(
                    Direction::Credit,
                    ReferenceType::CashIn,
                    "TRANSFER_IN",
                    None,
                ),
                "bank",
                "clients",
            ),
            (
                voucher(Direction::Debit, ReferenceType::Fee, "FEE", None),
                "clients",
                "fees",
            ),
            (
                voucher(Direction::Debit, ReferenceType::Fee, "FEE_TAX", None),
                "clients",
                "fee_tax",
            ),
        ] {
            let moved = BookMove::of_voucher(&voucher).unwrap();
            let sides = (moved.debit.as_str(), moved.credit.as_str());
            assert_eq!(sides, (debit, credit));
            balances.apply(&moved);
            house.posted(&voucher);
            assert_eq!(balances.house, house);
            assert_eq!(difference(&balances.trial_balance()), Sum::default());
            let [first, second] = adjustments_parts(&voucher);
            let name = [first, &second.to_ascii_lowercase()].concat();
            let has = adjusted(&voucher).is_some();
            assert_eq!(has, [debit, credit].contains(&name.as_str()));
        }
    }

    #[test]
    fn holds_and_money_within_the_realm_move_nothing() {
        for (direction, reference) in [
            (Direction::Hold, ReferenceType::Hold),
            (Direction::Release, ReferenceType::Transfer),
            (Direction::Debit, ReferenceType::P2p),
        ] {
            let voucher = voucher(direction, reference, "ANY", None);
            assert_eq!(BookMove::of_voucher(&voucher), None);
        }
    }
}
