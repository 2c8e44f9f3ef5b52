//! Reconciliation: what follows when a movement as the bank lists it is held against the ledger's.
//!
//! **Shape.** [`judge`] compares one movement; [`Tally`] counts what a day has. What is not final on
//! one side is `pending`: it is neither agreed nor a difference, and it is in no sum. What a person
//! ended is `decided`, whatever the bank says of it then; [`Judged::contradicted`] says whether the bank's
//! last word is another one.

use serde::{Deserialize, Serialize};

use crate::cases::{Parked, ParkedState};
use crate::money::{Amount, Money};
use crate::time::BusinessDay;
use crate::transfers::{BankWord, Transfer, TransferStatus};

/// What reconciliation says of one movement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Agreement {
    /// Bank and ledger agree.
    Matched,
    /// The bank has it, the ledger has not.
    MissingInLedger,
    /// The ledger has it, the bank has not.
    MissingAtBank,
    /// Both have it, with different amounts.
    AmountDiffers,
    /// One side is not final.
    Pending,
    /// A person ended it.
    Decided,
}

impl Agreement {
    /// Every result; tallies count them in this order.
    pub const ALL: [Self; 6] = [
        Self::Matched,
        Self::MissingInLedger,
        Self::MissingAtBank,
        Self::AmountDiffers,
        Self::Pending,
        Self::Decided,
    ];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Matched => "matched",
            Self::MissingInLedger => "missing_in_ledger",
            Self::MissingAtBank => "missing_at_bank",
            Self::AmountDiffers => "amount_differs",
            Self::Pending => "pending",
            Self::Decided => "decided",
        }
    }
}

/// A movement as the bank lists it.
#[derive(Clone, Copy, Debug)]
pub struct Listed<'a> {
    /// How far it is.
    pub word: &'a BankWord,
    /// The amount that the bank states, in centavos.
    pub amount: Amount,
    /// The CVU, as the bank writes it.
    pub cvu: &'a str,
}

/// What the ledger has of a movement that the bank lists.
#[derive(Clone, Copy, Debug)]
pub enum Ours<'a> {
    /// The ledger has nothing of it.
    Nothing,
    /// A voucher that credited so much, in centavos, to this CVU: money that arrived or came
    /// back.
    Credit(Amount, &'a str),
    /// Money in suspense that this brought.
    Parked(&'a Parked),
    /// The return of money in suspense that the bank was asked for under this number.
    Return(&'a Parked, u64),
    /// A transfer that the ledger sent through the bank.
    Transfer(&'a Transfer),
}

impl<'a> Ours<'a> {
    /// What counts of all that the ledger has of a movement: of money that arrived its case before its
    /// credit, of money that left the transfer.
    pub fn of(
        incoming: bool,
        parked: Option<&'a Parked>,
        credit: Option<(Amount, &'a str)>,
        transfer: Option<&'a Transfer>,
    ) -> Self {
        let arrived = || match (parked, credit) {
            (Some(parked), _) => Self::Parked(parked),
            (None, Some((amount, cvu))) => Self::Credit(amount, cvu),
            (None, None) => Self::Nothing,
        };
        match incoming {
            true => arrived(),
            false => transfer.map_or(Self::Nothing, Self::Transfer),
        }
    }

    /// Whether it is a credit on another CVU than the bank reports: none of this movement.
    pub fn is_elsewhere(&self, bank: &Listed<'_>) -> bool {
        matches!(self, Self::Credit(_, cvu) if *cvu != bank.cvu)
    }
}

/// The result of one movement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judged {
    /// How both sides stand to each other.
    pub agreement: Agreement,
    /// Whether the bank's last word is not the one with which the ledger has ended it.
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

/// What follows of a movement that the bank lists; `None` where no money moved on either side.
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
            ParkedState::Waiting => Agreement::MissingInLedger,
            ParkedState::Returning(_) => Agreement::Pending,
            ParkedState::Credited { .. } | ParkedState::Returned(_) => Agreement::Decided,
        },
        Ours::Return(parked, number) => return return_of(bank, parked, *number),
        Ours::Transfer(transfer) => return transfer_of(bank, transfer),
    };
    Some(agreement.into())
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

fn transfer_of(bank: &Listed<'_>, transfer: &Transfer) -> Option<Judged> {
    let contradicted = transfer.is_contradicted(bank.word);
    if transfer.decision.is_some() {
        return Some(Judged {
            agreement: Agreement::Decided,
            contradicted,
        });
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
        // Nothing moved, neither there nor here.
        TransferStatus::Rejected if failed => return None,
        TransferStatus::Rejected if moving => Agreement::Pending,
        TransferStatus::Rejected => Agreement::MissingInLedger,
    };
    Some(Judged {
        agreement,
        contradicted,
    })
}

fn return_of(bank: &Listed<'_>, parked: &Parked, number: u64) -> Option<Judged> {
    let failed = matches!(bank.word, BankWord::Failed { .. });
    let moving = matches!(bank.word, BankWord::InProgress | BankWord::Lost);
    let contradicted = parked.is_contradicted(number, bank.word);
    let amount = parked.suspense.cash_in.amount;
    let agreement = match &parked.state {
        ParkedState::Returning(it) if it.number == number => same(amount, bank.amount, true),
        ParkedState::Returned(it) if it.number == number && failed => Agreement::MissingAtBank,
        ParkedState::Returned(it) if it.number == number => same(amount, bank.amount, moving),
        // A try that the bank had refused.
        ParkedState::Waiting
        | ParkedState::Credited { .. }
        | ParkedState::Returning(_)
        | ParkedState::Returned(_) => match bank.word {
            BankWord::Failed { .. } => return None,
            BankWord::InProgress | BankWord::Lost => Agreement::Pending,
            BankWord::Completed => Agreement::MissingInLedger,
        },
    };
    Some(Judged {
        agreement,
        contradicted,
    })
}

/// What follows of a movement of the ledger that the bank does not list.
pub const fn unlisted(transfer: Option<&Transfer>) -> Agreement {
    match transfer {
        Some(transfer) if transfer.decision.is_some() => Agreement::Decided,
        Some(_) | None => Agreement::MissingAtBank,
    }
}

/// How many lists of other days are asked for at most, for movements that the ledger has of a day.
pub const OTHER_DAYS_MAX: usize = 8;

/// On which other days, up to today, the bank may list what the ledger has of a day: the ones before
/// and after, and those on which what was settled late had `begun`.
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
pub struct Tally {
    counts: [u64; Agreement::ALL.len()],
    /// How many the bank has ended otherwise than the ledger.
    pub contradicted: u64,
    /// What arrived at the bank for good, in centavos.
    pub amount_in: Money,
    /// What left the bank for good, in centavos.
    pub amount_out: Money,
}

impl Tally {
    /// Counts a movement: its result, and what the bank moved in which direction, if it lists it. A
    /// sum beyond the range of money stays where it was.
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
        let done = *listed.word == BankWord::Completed && judged.agreement != Agreement::Pending;
        if done {
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
