//! Reconciliation: compares movements as the bank lists them with those of the ledger.
//!
//! **Shape.** [`judge`] compares one movement; [`ReconciliationTotals`] counts the movements of a day. A movement that is not final on
//! one side is `pending`: it is neither agreed nor a difference. A movement that a person ended is
//! `decided`, whatever the bank says about it later; [`Judged::contradicted`] says whether the bank's last statement
//! differs from the ledger's ending. Money that arrived and waits in suspense is `suspense` until a person decides.

use serde::{Deserialize, Serialize};

use crate::cases::{Parked, ParkedState};
use crate::money::{Amount, Money};
use crate::time::BusinessDay;
use crate::transfers::{BankWord, Transfer, TransferStatus};

words! {
    /// The result of comparing one movement. Tallies count the results in this order.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
    pub enum Agreement {
        /// Bank and ledger agree.
        Matched = "matched",
        /// The bank has it and the ledger does not.
        MissingInLedger = "missing_in_ledger",
        /// The ledger has it and the bank does not.
        MissingAtBank = "missing_at_bank",
        /// Both have it, with different amounts.
        AmountDiffers = "amount_differs",
        /// One side is not final.
        Pending = "pending",
        /// A person ended it.
        Decided = "decided",
        /// The money waits in suspense.
        Suspense = "suspense",
        /// The movement belongs to the collector account itself.
        Collector = "collector",
    }
}

/// A movement as the bank lists it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// Its state at the bank.
    pub word: &'a BankWord,
    /// The amount that the bank states, in centavos.
    pub amount: Amount,
    /// The CVU as the bank writes it.
    pub cvu: &'a str,
}

/// The ledger's record of a movement that the bank lists.
#[derive(Clone, Copy, Debug)]
pub enum Ours<'a> {
    /// The ledger has no record of it.
    Nothing,
    /// A voucher that credited this amount, in centavos, to this CVU: money that arrived or came back.
    Credit(Amount, &'a str),
    /// The money in suspense that arrived by it.
    Parked(&'a Parked),
    /// The return of money in suspense that the bank was asked for under this number.
    Return(&'a Parked, u64),
    /// A transfer that the ledger sent through the bank.
    Transfer(&'a Transfer),
}

impl<'a> Ours<'a> {
    /// Chooses the relevant record among those of the ledger: for incoming money its case before its credit, for
    /// outgoing money the transfer.
    pub fn of(
        incoming: bool,
        parked: Option<&'a Parked>,
        credit: Option<(Amount, &'a str)>,
        transfer: Option<&'a Transfer>,
    ) -> Self {
        if !incoming {
            return transfer.map_or(Self::Nothing, Self::Transfer);
        }
        match (parked, credit) {
            (Some(parked), _) => Self::Parked(parked),
            (None, Some((amount, cvu))) => Self::Credit(amount, cvu),
            (None, None) => Self::Nothing,
        }
    }

    /// Whether it is a credit on a CVU other than the one that the bank reports, and so belongs to another movement.
    pub fn is_elsewhere(&self, bank: &Listed<'_>) -> bool {
        matches!(self, Self::Credit(_, cvu) if *cvu != bank.cvu)
    }
}

/// The result of one movement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judged {
    /// How the two sides compare.
    pub agreement: Agreement,
    /// Whether the bank's last statement differs from the ending in the ledger.
    pub contradicted: bool,
}

impl From<Agreement> for Judged {
    fn from(agreement: Agreement) -> Self {
        Self {
            agreement,
            contradicted: false,
        }
    }
}

/// Compares a movement that the bank lists; `None` when no money moved on either side.
pub fn judge(bank: &Listed<'_>, ours: &Ours<'_>) -> Option<Judged> {
    let failed = matches!(bank.word, BankWord::Failed { .. });
    let moving = matches!(bank.word, BankWord::InProgress | BankWord::Lost);
    let agreement = match ours {
        Ours::Nothing if failed => return None,
        Ours::Nothing => Agreement::MissingInLedger,
        Ours::Credit(..) if ours.is_elsewhere(bank) => Agreement::MissingInLedger,
        Ours::Credit(..) if failed => Agreement::MissingAtBank,
        Ours::Credit(amount, _) => same(*amount, bank.amount, moving),
        Ours::Parked(parked) => match parked.state {
            ParkedState::Waiting => Agreement::Suspense,
            ParkedState::Returning(_) => Agreement::Pending,
            ParkedState::Credited { .. } | ParkedState::Returned(_) => Agreement::Decided,
        },
        Ours::Return(parked, number) => return_of(bank, parked, *number)?,
        Ours::Transfer(transfer) => transfer_of(bank, transfer)?,
    };
    let contradicted = match ours {
        Ours::Nothing | Ours::Credit(..) | Ours::Parked(_) => false,
        Ours::Return(parked, number) => parked.is_contradicted(*number, bank.word),
        Ours::Transfer(transfer) => transfer.is_contradicted(bank.word),
    };
    Some(Judged {
        agreement,
        contradicted,
    })
}

fn same(ours: Amount, banks: Amount, moving: bool) -> Agreement {
    if ours != banks {
        Agreement::AmountDiffers
    } else if moving {
        Agreement::Pending
    } else {
        Agreement::Matched
    }
}

fn transfer_of(bank: &Listed<'_>, transfer: &Transfer) -> Option<Agreement> {
    if transfer.decision.is_some() {
        return Some(Agreement::Decided);
    }
    let failed = matches!(bank.word, BankWord::Failed { .. });
    let moving = matches!(bank.word, BankWord::InProgress | BankWord::Lost);
    let agreement = match transfer.status {
        TransferStatus::Requested | TransferStatus::InProgress | TransferStatus::Audit => {
            same(transfer.amount, bank.amount, true)
        }
        TransferStatus::Completed | TransferStatus::Reversed if failed => Agreement::MissingAtBank,
        TransferStatus::Completed | TransferStatus::Reversed => {
            same(transfer.amount, bank.amount, moving)
        }
        // No money moved on either side.
        TransferStatus::Rejected if failed => return None,
        TransferStatus::Rejected if moving => Agreement::Pending,
        TransferStatus::Rejected => Agreement::MissingInLedger,
    };
    Some(agreement)
}

fn return_of(bank: &Listed<'_>, parked: &Parked, number: u64) -> Option<Agreement> {
    let failed = matches!(bank.word, BankWord::Failed { .. });
    let moving = matches!(bank.word, BankWord::InProgress | BankWord::Lost);
    let amount = parked.suspense.cash_in.amount;
    let agreement = match &parked.state {
        ParkedState::Returning(it) if it.number == number => same(amount, bank.amount, true),
        ParkedState::Returned(it) if it.number == number && failed => Agreement::MissingAtBank,
        ParkedState::Returned(it) if it.number == number => same(amount, bank.amount, moving),
        // An earlier try, which the bank had refused.
        ParkedState::Waiting
        | ParkedState::Credited { .. }
        | ParkedState::Returning(_)
        | ParkedState::Returned(_) => match bank.word {
            BankWord::Failed { .. } => return None,
            BankWord::InProgress | BankWord::Lost => Agreement::Pending,
            BankWord::Completed => Agreement::MissingInLedger,
        },
    };
    Some(agreement)
}

/// The result for a movement of the ledger that the bank does not list.
pub const fn unlisted(transfer: Option<&Transfer>) -> Agreement {
    match transfer {
        Some(transfer) if transfer.decision.is_some() => Agreement::Decided,
        Some(_) | None => Agreement::MissingAtBank,
    }
}

/// How many lists of other days are requested at most for the movements of a day.
pub const OTHER_DAYS_MAX: usize = 8;

/// The other days, up to today, on which the bank may list the ledger's movements of a day: the days before and after,
/// and those on which movements that were settled late had `begun`.
pub fn other_days(
    day: BusinessDay,
    today: BusinessDay,
    begun: impl IntoIterator<Item = BusinessDay>,
) -> Vec<BusinessDay> {
    let mut days = vec![day.before(), day.next()];
    for begun in begun {
        if begun != day && !days.contains(&begun) && days.len() < OTHER_DAYS_MAX {
            days.push(begun);
        }
    }
    days.retain(|other| *other <= today);
    days
}

/// Counts and sums of the movements of a day, or of several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReconciliationTotals {
    counts: [u64; Agreement::ALL.len()],
    /// How many movements the bank has ended differently from the ledger.
    pub contradicted: u64,
    /// The sum of all that the bank lists as arrived, in centavos.
    pub amount_in: Money,
    /// The sum of all that the bank lists as gone, in centavos.
    pub amount_out: Money,
}

impl ReconciliationTotals {
    /// Counts a movement: its result, and the amount and direction at the bank, if the bank lists it. A sum that would
    /// exceed the range of money stays as it was.
    pub fn count(&mut self, judged: Judged, bank: Option<(bool, &Listed<'_>)>) {
        let place = Agreement::ALL.iter().position(|it| *it == judged.agreement);
        if let Some(count) = place.and_then(|place| self.counts.get_mut(place)) {
            *count = count.saturating_add(1);
        }
        self.contradicted = self
            .contradicted
            .saturating_add(u64::from(judged.contradicted));
        let Some((incoming, listed)) = bank else {
            return;
        };
        if *listed.word == BankWord::Completed {
            let sum = if incoming {
                &mut self.amount_in
            } else {
                &mut self.amount_out
            };
            *sum = sum.plus(listed.amount.money()).unwrap_or(*sum);
        }
    }

    /// How many movements have a result.
    pub fn of(&self, agreement: Agreement) -> u64 {
        let place = Agreement::ALL.iter().position(|it| *it == agreement);
        let found = place.and_then(|place| self.counts.get(place));
        found.copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
