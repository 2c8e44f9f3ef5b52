//! The book of a story: what was answered, and what each account must have because of it.
//!
//! It knows no rule: whether an order may be refused is the service's business. What it demands is
//! that an order that was answered as done is done once and for good, under one id, and that one that was
//! refused each time is not done at all.

use std::collections::BTreeMap;

use super::{ACCOUNTS, FUNDS, Order};

/// What became of an order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It was done; it has this id.
    Done(String),
    /// It was refused, with this code.
    Refused(&'static str),
}

/// See the module.
#[derive(Debug, Default)]
pub struct Book {
    done: BTreeMap<usize, (Order, String)>,
    refused: BTreeMap<usize, &'static str>,
    /// How often nobody knew what became of an order.
    pub unknown: usize,
}

impl Book {
    /// Enters an answer to the order of a number.
    pub fn enter(&mut self, number: usize, order: Order, outcome: Outcome) {
        match outcome {
            Outcome::Done(id) => {
                self.refused.remove(&number);
                let known = self.done.entry(number).or_insert((order, id.clone()));
                assert_eq!(known.1, id, "order {number} is two things: {order:?}");
                // What was refused is not remembered: there may be money now.
            }
            Outcome::Refused(code) => {
                assert!(
                    !self.done.contains_key(&number),
                    "order {number} was done, and is refused with {code}: {order:?}"
                );
                self.refused.insert(number, code);
            }
        }
    }

    /// Orders that were done.
    pub fn done(&self) -> impl Iterator<Item = (usize, Order)> {
        self.done
            .iter()
            .map(|(number, (order, _))| (*number, *order))
    }

    /// How often each code was refused.
    pub fn refusals(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for code in self.refused.values() {
            *counts.entry(*code).or_default() += 1;
        }
        counts
    }

    /// The total that each account must have: what `sent` says of a transfer through the bank counts,
    /// in centavos, as of now.
    pub fn totals(&self, sent: impl Fn(usize) -> Option<i64>) -> BTreeMap<u64, i64> {
        let mut totals: BTreeMap<u64, i64> = (1..=ACCOUNTS).map(|n| (n, FUNDS)).collect();
        let mut add = |account: u64, centavos: i64| *totals.get_mut(&account).unwrap() += centavos;
        for (number, order) in self.done() {
            match order {
                Order::Credit(of, amount) => add(of, amount),
                Order::Debit(of, amount) => add(of, -amount),
                Order::Give(from, to, amount) => {
                    add(from, -amount);
                    add(to, amount);
                }
                Order::Both(one, other, amount) => {
                    add(one, -amount);
                    add(other, -amount);
                }
                Order::Send(of, ..) => add(of, -sent(number).unwrap_or(0)),
                Order::Hold(..) | Order::Again(_) => {}
            }
        }
        totals
    }

    /// What has left the tenant by orders that were done, in centavos: what limits count.
    pub fn outgoing(&self, sent: impl Fn(usize) -> Option<i64>) -> i64 {
        let out = |(number, order)| match order {
            Order::Debit(_, amount) | Order::Hold(_, amount) => amount,
            Order::Both(_, _, amount) => 2 * amount,
            Order::Send(..) => sent(number).unwrap_or(0),
            Order::Credit(..) | Order::Give(..) | Order::Again(_) => 0,
        };
        self.done().map(out).sum()
    }
}
