//! Statements of an account: its balance before a period, every movement of the period, and its balance after it.
//!
//! **Shape.** A [`Period`] is whole days of Buenos Aires, both ends included. A [`StatementCheck`] takes the vouchers of the
//! period one after the other and verifies them: no gap, each balance after the one before, the hash chain, and at the
//! end `opening + credits − debits = closing`. The result is a [`Statement`] without its lines, which are the vouchers
//! [`Statement::first`] to [`Statement::last`].
//!
//! **Always the same.** A statement depends on vouchers, which never change, and on the names of account and provider
//! when the period ended. Nothing in it depends on when it is requested. A voucher gets its time when it is decided,
//! and times never go back within an account, so nothing more enters a period once [`SETTLING`] has passed since its
//! end; before that a statement is provisional. It names the sequence and the hash of its last line: after an older
//! copy of the store was put back, a statement of another history has another hash.
//!
//! **Bounds.** [`DAYS_MAX`] days. The number of lines is limited by the format in which the statement is requested.

use std::collections::BTreeMap;

use crate::alias::Alias;
use crate::balance::{Balance, Direction};
use crate::chain::Digest;
use crate::cvu::Cvu;
use crate::ids::AccountNo;
use crate::tenants::Provider;
use crate::time::{BusinessDay, Timestamp};
use crate::treasury::Sum;
use crate::vouchers::Voucher;

/// The most days of a statement: a leap year.
pub const DAYS_MAX: usize = 366;
/// How long after an instant movements may still enter a statement, or a cut through all accounts, that ends with it,
/// in milliseconds. The service follows a machine's clock that is set back by up to two minutes, and the nodes of a
/// cell have clocks of their own.
pub const SETTLING: u64 = 5 * 60_000;

/// Whole days of Buenos Aires, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Period {
    /// The first day.
    pub first: BusinessDay,
    /// The last day, not before the first.
    pub last: BusinessDay,
}

impl Period {
    /// Its first instant.
    pub fn start(self) -> Timestamp {
        self.first.start()
    }

    /// Its last instant (millisecond).
    pub fn end(self) -> Timestamp {
        self.last.end()
    }

    /// The last instant (millisecond) before it; `None` when it begins with 1970.
    pub fn before(self) -> Option<Timestamp> {
        let last = self.start().millis().checked_sub(1)?;
        Some(Timestamp::from_millis(last))
    }

    /// Whether nothing more can enter the period.
    pub fn is_final(self, now: Timestamp) -> bool {
        self.end().plus_millis(SETTLING) < now
    }
}

/// The movements of one direction in a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flow {
    /// The number of movements.
    pub count: u64,
    /// The sum of their amounts.
    pub amount: Sum,
}

impl Flow {
    /// Both flows together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            count: self.count.strict_add(other.count),
            amount: self.amount.plus(other.amount),
        }
    }
}

/// The movements of a period by direction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Flows(BTreeMap<Direction, Flow>);

impl Flows {
    /// The movements of one direction.
    pub fn of(&self, direction: Direction) -> Flow {
        self.0.get(&direction).map_or(Flow::default(), |flow| *flow)
    }

    /// Money that came in, which adds to the total.
    pub fn credits(&self) -> Flow {
        self.of(Direction::Credit)
    }

    /// Money that left, directly or after it was held, which reduces the total.
    pub fn debits(&self) -> Flow {
        self.of(Direction::Debit)
            .plus(self.of(Direction::ConfirmHold))
    }

    /// Money that only moved between available and held.
    pub fn within(&self) -> Flow {
        self.of(Direction::Hold).plus(self.of(Direction::Release))
    }

    fn add(&mut self, voucher: &Voucher) {
        let flow = self.0.entry(voucher.direction).or_default();
        *flow = flow.plus(Flow {
            count: 1,
            amount: voucher.amount.into(),
        });
    }
}

/// The account of a statement, with the names at the end of its period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    /// The number of the account in its realm.
    pub account: AccountNo,
    /// Its CVU.
    pub cvu: Cvu,
    /// The alias of the CVU.
    pub alias: Option<Alias>,
    /// The tax id of the holder.
    pub cuit: String,
    /// The holder's name.
    pub holder: String,
    /// The name of the payment service provider.
    pub provider: String,
    /// What the provider states of itself besides.
    pub provider_details: Provider,
}

/// A statement without its lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// Whose statement it is.
    pub of: Named,
    /// The days that it covers.
    pub period: Period,
    /// Whether nothing more can enter it.
    pub is_final: bool,
    /// The instant up to which it reports, never in the future: the end of the period, or while more can enter the
    /// period the last movement of it, or its start.
    pub as_of: Timestamp,
    /// The balance before the period.
    pub opening: Balance,
    /// The balance after the last line.
    pub closing: Balance,
    /// The sequence of the first line; one more than `last` if there are no lines.
    pub first: u64,
    /// The sequence of the last line, or of the last movement before the period; 0 if there is none.
    pub last: u64,
    /// The hash chain up to and including that movement.
    pub hash: Digest,
    /// The sums of the lines.
    pub flows: Flows,
}

impl Statement {
    /// How many lines it has.
    pub const fn lines(&self) -> u64 {
        self.last.strict_add(1).strict_sub(self.first)
    }
}

/// Why vouchers do not form a statement: the data read differs from what was written.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Broken {
    /// A movement is missing or occurs twice.
    #[error("the movement {expected} was expected, and {found} found")]
    Sequence {
        /// The sequence expected.
        expected: u64,
        /// The sequence found.
        found: u64,
    },
    /// A movement is outside the period.
    #[error("the movement {0} is not of the period")]
    Outside(u64),
    /// The balance after a movement does not follow from the one before.
    #[error("the balance after the movement {0} does not follow")]
    Balance(u64),
    /// Its hash does not follow.
    #[error("the hash of the movement {0} does not follow")]
    Chain(u64),
    /// Opening balance, credits and debits do not add up to the closing balance.
    #[error("the opening balance and the movements do not come to the closing balance")]
    Sums,
}

/// A statement that is being verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatementCheck {
    period: Period,
    opening: Balance,
    first: u64,
    balance: Balance,
    last: u64,
    at: Timestamp,
    hash: Digest,
    flows: Flows,
}

impl StatementCheck {
    /// Begins after the last movement before the period; `None` if there was none.
    pub fn begin(period: Period, before: Option<&Voucher>) -> Self {
        let opening = before.map_or(Balance::default(), |voucher| voucher.after);
        let last = before.map_or(0, |voucher| voucher.sequence);
        Self {
            period,
            opening,
            first: last.strict_add(1),
            balance: opening,
            last,
            at: before.map_or(Timestamp::default(), |voucher| voucher.at),
            hash: before.map_or(Digest::default(), |voucher| voucher.hash),
            flows: Flows::default(),
        }
    }

    /// Takes the next movement.
    ///
    /// # Errors
    /// When it does not follow from the previous movements.
    pub fn take(&mut self, voucher: &Voucher) -> Result<(), Broken> {
        let (expected, found) = (self.last.strict_add(1), voucher.sequence);
        if expected != found {
            return Err(Broken::Sequence { expected, found });
        }
        if voucher.at < self.period.start() || self.period.end() < voucher.at {
            return Err(Broken::Outside(found));
        }
        let after = self.balance.after(voucher.direction, voucher.amount);
        if after != Ok(voucher.after) {
            return Err(Broken::Balance(found));
        }
        if voucher.hash_after(self.hash) != voucher.hash {
            return Err(Broken::Chain(found));
        }
        self.flows.add(voucher);
        (self.balance, self.last, self.hash) = (voucher.after, found, voucher.hash);
        self.at = voucher.at;
        Ok(())
    }

    /// The statement of the movements taken.
    ///
    /// # Errors
    /// When it does not add up.
    pub fn end(self, of: Named, is_final: bool) -> Result<Statement, Broken> {
        let total = |balance: Balance| Sum::from(balance.total());
        let (credits, debits) = (self.flows.credits().amount, self.flows.debits().amount);
        let closing = total(self.opening).plus(credits).minus(debits);
        if closing != total(self.balance) {
            return Err(Broken::Sums);
        }
        Ok(Statement {
            of,
            period: self.period,
            is_final,
            as_of: if is_final {
                self.period.end()
            } else {
                self.at.max(self.period.start())
            },
            opening: self.opening,
            closing: self.balance,
            first: self.first,
            last: self.last,
            hash: self.hash,
            flows: self.flows,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Tag;
    use crate::money::{Amount, Money};
    use crate::voucher_types::TypeCode;
    use crate::vouchers::ReferenceType;

    fn day(text: &str) -> BusinessDay {
        BusinessDay::parse(text).unwrap()
    }

    fn period() -> Period {
        Period {
            first: day("2026-10-01"),
            last: day("2026-10-31"),
        }
    }

    fn cvu() -> Cvu {
        Cvu::compose(7, 1).unwrap()
    }

    fn named() -> Named {
        Named {
            account: AccountNo(1),
            cvu: cvu(),
            alias: None,
            cuit: "20123456786".to_owned(),
            holder: "Ana".to_owned(),
            provider: "Uno".to_owned(),
            provider_details: Provider::default(),
        }
    }

    /// Consecutive vouchers, all of one day.
    fn vouchers(moves: &[(Direction, i64)], at: &str) -> Vec<Voucher> {
        let (mut balance, mut hash, mut all) = (Balance::default(), Digest::default(), Vec::new());
        for (place, (direction, centavos)) in (1..).zip(moves) {
            let amount = Amount::from_centavos(*centavos).unwrap();
            balance = balance.after(*direction, amount).unwrap();
            let mut voucher = Voucher {
                cvu: cvu(),
                sequence: place,
                direction: *direction,
                amount,
                after: balance,
                type_code: TypeCode::parse("IN").unwrap(),
                type_name: "In".to_owned(),
                type_number: None,
                counter_account: None,
                external_id: None,
                reference_type: ReferenceType::Adjustment,
                reference_id: None,
                description: None,
                external_date: None,
                external_date_sent: None,
                expires_at: None,
                gives_back: None,
                tag: Tag::default(),
                counterparty: None,
                details: None,
                at: Timestamp::parse(at).unwrap(),
                hash: Digest::default(),
            };
            voucher.hash = voucher.hash_after(hash);
            hash = voucher.hash;
            all.push(voucher);
        }
        all
    }

    const MOVES: [(Direction, i64); 6] = [
        (Direction::Credit, 10_000),
        (Direction::Debit, 1_500),
        (Direction::Hold, 3_000),
        (Direction::Release, 1_000),
        (Direction::ConfirmHold, 2_000),
        (Direction::Credit, 25),
    ];

    fn tallied(before: Option<&Voucher>, taken: &[Voucher]) -> Result<Statement, Broken> {
        let mut tally = StatementCheck::begin(period(), before);
        for voucher in taken {
            tally.take(voucher)?;
        }
        tally.end(named(), true)
    }

    #[test]
    fn opening_and_movements_come_to_the_closing_balance() {
        let all = vouchers(&MOVES, "2026-10-05T12:00:00Z");
        let whole = tallied(None, &all).unwrap();
        assert_eq!((whole.first, whole.last, whole.lines()), (1, 6, 6));
        assert_eq!(whole.opening, Balance::default());
        assert_eq!(whole.closing.total(), Money::from_centavos(6_525));
        let sums = [
            whole.flows.credits(),
            whole.flows.debits(),
            whole.flows.within(),
        ];
        let sums = sums.map(|flow| (flow.count, flow.amount.centavos()));
        assert_eq!(sums, [(2, 10_025), (2, 3_500), (2, 4_000)]);
        let rest = tallied(all.get(2), &all[3..]).unwrap();
        assert_eq!((rest.first, rest.last), (4, 6));
        assert_eq!(rest.opening.held, Money::from_centavos(3_000));
        assert_eq!((rest.closing, rest.hash), (whole.closing, whole.hash));
        let none = tallied(all.last(), &[]).unwrap();
        assert_eq!((none.first, none.last, none.lines()), (7, 6, 0));
        assert_eq!((none.opening, none.closing), (whole.closing, whole.closing));
        assert_eq!(tallied(None, &[]).unwrap().lines(), 0);
    }

    #[test]
    fn it_reports_up_to_its_last_movement_until_it_is_final() {
        let all = vouchers(&MOVES, "2026-10-05T12:00:00Z");
        let earlier = vouchers(&MOVES, "2026-09-05T12:00:00Z");
        for (before, taken, is_final, as_of) in [
            (None, &all[..], false, "2026-10-05T12:00:00.000Z"),
            (None, &all[..], true, "2026-11-01T02:59:59.999Z"),
            (None, &[], false, "2026-10-01T03:00:00.000Z"),
            (earlier.last(), &[], false, "2026-10-01T03:00:00.000Z"),
            (earlier.last(), &[], true, "2026-11-01T02:59:59.999Z"),
        ] {
            let mut tally = StatementCheck::begin(period(), before);
            for voucher in taken {
                tally.take(voucher).unwrap();
            }
            let found = tally.end(named(), is_final).unwrap();
            assert_eq!(found.as_of.to_string(), as_of);
        }
    }

    #[test]
    fn what_was_not_written_so_is_no_statement() {
        let all = vouchers(&MOVES, "2026-10-05T12:00:00Z");
        let broken = |change: &dyn Fn(&mut Voucher)| {
            let mut changed = all.clone();
            change(&mut changed[1]);
            tallied(None, &changed).unwrap_err()
        };
        let outside = vouchers(&MOVES, "2026-11-01T03:00:00Z");
        assert_eq!(tallied(None, &outside), Err(Broken::Outside(1)));
        let gap = Broken::Sequence {
            expected: 1,
            found: 2,
        };
        assert_eq!(tallied(None, &all[1..]), Err(gap));
        let more = Amount::from_centavos(1_501).unwrap();
        assert_eq!(broken(&|it| it.amount = more), Broken::Balance(2));
        let text = Some("other".to_owned());
        let other = broken(&|it| it.description.clone_from(&text));
        assert_eq!(other, Broken::Chain(2));
        let held = Money::from_centavos(1);
        assert_eq!(broken(&|it| it.after.held = held), Broken::Balance(2));
    }

    #[test]
    fn a_period_is_final_when_nothing_can_get_into_it() {
        let ends = period().end();
        assert_eq!(ends.to_string(), "2026-11-01T02:59:59.999Z");
        assert!(!period().is_final(ends.plus_millis(SETTLING)));
        assert!(period().is_final(ends.plus_millis(SETTLING + 1)));
        assert!(!period().is_final(Timestamp::default()));
        let before = period().before().unwrap();
        assert_eq!(before.to_string(), "2026-10-01T02:59:59.999Z");
    }
}
