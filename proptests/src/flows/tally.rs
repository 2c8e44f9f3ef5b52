//! The results of the runs: how often each operation ended in each way.

use std::collections::BTreeMap;
use std::fmt;

use caudal_ledger::limits::{Flow, LimitKind};

use super::answer::Answer;
use super::ops::Op;

/// Counts by operation and answer, in words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<String, u64>,
    /// How many steps there were.
    pub steps: u64,
}

impl Tally {
    /// Counts a step.
    pub fn count(&mut self, op: &Op, answer: &Answer) {
        self.steps += 1;
        self.seen(format!("{}: {}", op.word(), answer.word()));
    }

    /// Counts any other thing.
    pub fn seen(&mut self, what: String) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// The entries of `all` that occurred less often than `least`, with their counts.
    pub fn short<'a>(&self, all: &'a [String], least: u64) -> Vec<(&'a str, u64)> {
        all.iter()
            .map(|what| (what.as_str(), self.counts.get(what).copied().unwrap_or(0)))
            .filter(|(_, count)| *count < least)
            .collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} steps", self.steps)?;
        (self.counts.iter()).try_for_each(|(what, count)| writeln!(f, "{count:>9}  {what}"))
    }
}

/// The results that the runs have to reach: every ending of an operation that the generators are known to produce.
pub fn expected() -> Vec<String> {
    let limits = LimitKind::ALL.into_iter().flat_map(|kind| {
        let operations: &[&str] = match kind.flow() {
            Flow::Outgoing => &["debit", "hold", "send"],
            Flow::Incoming => &["credit", "send"],
            Flow::Gross => &["credit", "debit", "hold", "send"],
        };
        let name = kind.name();
        operations.iter().flat_map(move |operation| {
            let levels = ["account", "psp", "platform"].into_iter();
            levels.map(move |level| format!("{operation}: {name} of {level}"))
        })
    });
    let of_types = LimitKind::ALL.into_iter().filter(|kind| kind.is_of_types());
    let of_types = of_types.flat_map(|kind| {
        ["credit", "debit"].map(|way| format!("{way}: {} of voucher_type", kind.name()))
    });
    limits
        .chain(of_types)
        .chain(SEEN.into_iter().map(str::to_owned))
        .collect()
}

/// The results that have nothing to do with a limit.
const SEEN: [&str; 150] = [
    "amend: account_closed",
    "amend: account_disabled",
    "amend: account_suspended",
    "amend: expiry_in_the_past",
    "amend: hold_not_open",
    "amend: hold_remaining",
    "amend: insufficient_funds",
    "amend: nothing",
    "amend: recorded",
    "amend: recorded with a fee",
    "amend: recorded with a fee and its tax",
    "cash-in: parked: account_closed",
    "cash-in: parked: account_not_found",
    "cash-in: parked: account_without_cvu",
    "cash-in: recorded",
    "cash-in: recorded with a fee",
    "cash-in: recorded with a fee and its tax",
    "confirm: account_disabled",
    "confirm: account_suspended",
    "confirm: hold_not_open",
    "confirm: hold_remaining",
    "confirm: nothing",
    "confirm: recorded",
    "confirm: recorded with a fee",
    "confirm: recorded with a fee and its tax",
    "credit: account_closed",
    "credit: account_disabled",
    "credit: account_not_found",
    "credit: account_without_cvu",
    "credit: id_externo_reused",
    "credit: recorded",
    "credit: recorded with a fee",
    "credit: recorded with a fee and its tax",
    "credit: replayed",
    "debit: account_disabled",
    "debit: account_suspended",
    "debit: account_without_cvu",
    "debit: id_externo_reused",
    "debit: insufficient_funds",
    "debit: recorded",
    "debit: recorded with a fee",
    "debit: recorded with a fee and its tax",
    "debit: replayed",
    "done: nothing",
    "done: recorded",
    "done: recorded with a fee",
    "done: recorded with a fee and its tax",
    "done: unchanged",
    "failed: nothing",
    "failed: recorded",
    "failed: unchanged",
    "fees: account_closed",
    "fees: account_without_cvu",
    "fees: changed",
    "fees: unchanged",
    "hold is confirmed",
    "hold is expired",
    "hold is open",
    "hold is released",
    "hold of a closed account is confirmed",
    "hold of a closed account is expired",
    "hold of a closed account is open",
    "hold of a closed account is released",
    "hold: account_closed",
    "hold: account_disabled",
    "hold: account_not_found",
    "hold: account_suspended",
    "hold: account_without_cvu",
    "hold: expiry_in_the_past",
    "hold: id_externo_reused",
    "hold: insufficient_funds",
    "hold: recorded",
    "hold: recorded with a fee",
    "hold: recorded with a fee and its tax",
    "hold: replayed",
    "life: account_closed",
    "life: account_not_suspended",
    "life: account_without_cvu",
    "life: changed",
    "life: unchanged",
    "limit: account_closed",
    "limit: account_without_cvu",
    "limit: changed",
    "limit: unchanged",
    "lost: changed",
    "lost: nothing",
    "lost: unchanged",
    "moving: changed",
    "moving: nothing",
    "moving: unchanged",
    "refund: account_closed",
    "refund: account_disabled",
    "refund: account_suspended",
    "refund: id_externo_reused",
    "refund: insufficient_funds",
    "refund: nothing",
    "refund: recorded",
    "refund: recorded with a fee",
    "refund: recorded with a fee and its tax",
    "refund: replayed",
    "refund: reversal_exceeds",
    "refund: voucher_not_reversible",
    "refused: nothing",
    "refused: recorded",
    "refused: unchanged",
    "release: hold_not_open",
    "release: hold_remaining",
    "release: nothing",
    "release: recorded",
    "restart: nothing",
    "reverse: nothing",
    "reverse: nothing_to_reverse",
    "reverse: recorded",
    "reverse: recorded with a fee",
    "reverse: recorded with a fee and its tax",
    "send: account_closed",
    "send: account_disabled",
    "send: account_not_found",
    "send: account_suspended",
    "send: account_without_cvu",
    "send: destination_closed",
    "send: destination_not_found",
    "send: id_externo_reused",
    "send: insufficient_funds",
    "send: recorded",
    "send: recorded with a fee",
    "send: recorded with a fee and its tax",
    "send: replayed",
    "send: same_account",
    "temporary: account_closed",
    "temporary: account_without_cvu",
    "temporary: changed",
    "temporary: unchanged",
    "time: nothing",
    "type limit: changed",
    "type limit: unchanged",
    "transfer is audit",
    "transfer is completed",
    "transfer is in_progress",
    "transfer is rejected",
    "transfer is requested",
    "transfer is reversed",
    "transfer is reversed in part",
    "unknown: changed",
    "unknown: nothing",
    "unknown: unchanged",
    "until: changed",
    "verdict: nothing",
    "verdict: recorded",
    "verdict: transfer_not_open",
];
