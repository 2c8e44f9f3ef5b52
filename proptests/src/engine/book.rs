//! The book of a story: the answers, and what each account must have because of them.
//!
//! It knows no rule: whether an order may be refused is the service's business. It demands that an order
//! that was answered as done is done exactly once and for good, under one id, and that an order that was
//! refused each time is not done at all.

use std::collections::BTreeMap;

use super::{ACCOUNTS, DEBIT_FEE, FUNDS, Order, SEND_FEE};

/// The outcome of an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was done, under this id.
    Done(String),
    /// It was refused, with this code.
    Refused(String),
    /// It was done, now or before: the answer does not say.
    Untold,
}

/// A hold as its answers say that it is, in centavos.
struct HoldSoFar {
    amount: i64,
    confirmed: i64,
    released: i64,
}

/// The book of a story; see the module.
#[derive(Debug, Default)]
pub struct Book {
    done: BTreeMap<usize, (Order, String)>,
    refused: BTreeMap<usize, String>,
    /// How often the outcome of an order was unknown.
    pub unknown: usize,
}

impl Book {
    /// Enters the outcome of the order with this number.
    pub fn enter(&mut self, number: usize, order: Order, outcome: Outcome) {
        match outcome {
            Outcome::Done(id) => {
                self.refused.remove(&number);
                let known = self.done.entry(number).or_insert((order, id.clone()));
                assert_eq!(known.1, id, "order {number} is two things: {order:?}");
                // An earlier refusal does not bind: there may be money by now.
            }
            Outcome::Refused(code) => {
                assert!(
                    !self.done.contains_key(&number),
                    "order {number} was done, and is refused with {code}: {order:?}"
                );
                self.refused.insert(number, code);
            }
            Outcome::Untold => {}
        }
    }

    /// The orders that were done.
    pub fn done(&self) -> impl Iterator<Item = (usize, Order)> {
        self.done
            .iter()
            .map(|(number, (order, _))| (*number, *order))
    }

    /// How often orders were refused with each code.
    pub fn refusals(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for code in self.refused.values() {
            *counts.entry(code.clone()).or_default() += 1;
        }
        counts
    }

    /// The id of an order that was done.
    pub fn id_of(&self, number: usize) -> Option<&str> {
        self.done.get(&number).map(|(_, id)| id.as_str())
    }

    /// The holds that were opened, by the number of their orders, oldest first.
    pub fn holds(&self) -> Vec<usize> {
        let holds = self.done().filter(|(_, it)| matches!(it, Order::Hold(..)));
        holds.map(|(number, _)| number).collect()
    }

    /// The debits that were done, by the number of their orders, oldest first.
    pub fn debits(&self) -> Vec<usize> {
        let debits = self.done().filter(|(_, it)| matches!(it, Order::Debit(..)));
        debits.map(|(number, _)| number).collect()
    }

    /// A hold after the last of its steps and changes, by their answers: each says how many movements its account had then,
    /// and the hold's amount and how much of it was confirmed and released, in centavos.
    fn hold(&self, hold: usize, amount: i64) -> HoldSoFar {
        let after = self
            .done
            .values()
            .filter_map(|(order, answer)| match order {
                Order::Confirm(of, _) | Order::Release(of, _) | Order::Amend(of, _)
                    if *of == hold =>
                {
                    let mut words = answer.split(' ').map(|word| word.parse().unwrap());
                    let mut next = || words.next().unwrap();
                    Some((next(), [next(), next(), next()]))
                }
                _ => None,
            });
        let first = [amount, 0, 0];
        let (_, [amount, confirmed, released]) = after.max().unwrap_or((0, first));
        HoldSoFar {
            amount,
            confirmed,
            released,
        }
    }

    /// The account and the amount of a debit that was done.
    fn debit(&self, number: usize) -> (u64, i64) {
        match self.done.get(&number) {
            Some((Order::Debit(of, amount), _)) => (*of, *amount),
            other => panic!("order {number} is no debit: {other:?}"),
        }
    }

    /// Checks that no debit was given back more than once over.
    pub fn check_refunds(&self) {
        for number in self.debits() {
            let refunds = self.done().filter_map(|(_, order)| match order {
                Order::Refund(of, amount) if of == number => Some(amount),
                _ => None,
            });
            let (refunded, debited) = (refunds.sum::<i64>(), self.debit(number).1);
            assert!(
                refunded <= debited,
                "order {number} was given back: {self:?}"
            );
        }
    }

    /// The total that each account must have, and its held amount, in centavos. For a transfer through
    /// the bank, the amount that `sent` gives counts, as of now.
    pub fn totals(&self, sent: impl Fn(usize) -> Option<i64>) -> BTreeMap<u64, (i64, i64)> {
        let mut totals: BTreeMap<u64, (i64, i64)> =
            (1..=ACCOUNTS).map(|n| (n, (FUNDS, 0))).collect();
        let mut add = |account: u64, centavos: i64, held: i64| {
            let known = totals.get_mut(&account).unwrap();
            *known = (known.0 + centavos, known.1 + held);
        };
        for (number, order) in self.done() {
            match order {
                Order::Credit(of, amount) | Order::Arrive(of, amount, _) => add(of, amount, 0),
                Order::Debit(of, amount) => add(of, -amount - DEBIT_FEE, 0),
                Order::Give(from, to, amount) => {
                    add(from, -amount, 0);
                    add(to, amount, 0);
                }
                Order::Both(one, other, amount) => {
                    add(one, -amount - DEBIT_FEE, 0);
                    add(other, -amount - DEBIT_FEE, 0);
                }
                Order::Send(of, ..) => add(of, -sent(number).map_or(0, |it| it + SEND_FEE), 0),
                Order::Hold(of, amount) => {
                    let hold = self.hold(number, amount);
                    let held = hold.amount - hold.confirmed - hold.released;
                    add(of, -hold.confirmed, held);
                }
                Order::Refund(debit, amount) => add(self.debit(debit).0, amount, 0),
                Order::Confirm(..)
                | Order::Release(..)
                | Order::Amend(..)
                | Order::Stray(..)
                | Order::Suspend(_)
                | Order::Reactivate(_)
                | Order::Again(_) => {}
            }
        }
        totals
    }

    /// The amount that has left the tenant by orders that were done, or is held for that, in centavos and
    /// without fees: the amount that limits count.
    pub fn outgoing(&self, sent: impl Fn(usize) -> Option<i64>) -> i64 {
        let out = |(number, order)| match order {
            Order::Debit(_, amount) => amount,
            Order::Hold(_, amount) => {
                let hold = self.hold(number, amount);
                hold.amount - hold.released
            }
            Order::Both(_, _, amount) => 2 * amount,
            Order::Send(..) => sent(number).unwrap_or(0),
            Order::Credit(..)
            | Order::Give(..)
            | Order::Arrive(..)
            | Order::Confirm(..)
            | Order::Release(..)
            | Order::Amend(..)
            | Order::Refund(..)
            | Order::Stray(..)
            | Order::Suspend(_)
            | Order::Reactivate(_)
            | Order::Again(_) => 0,
        };
        self.done().map(out).sum()
    }
}
