//! Statements of the bank that the ledger cannot book: money that left by an unknown order and that the account does
//! not have, and an arrival that is reported again with other data.
//!
//! **Order.** Each case is opened once, identified by its content ([`BankSays::key`]), however often the bank repeats
//! it. A departure is booked automatically once the money is there; a person may dismiss either kind, because it was
//! put right otherwise. A dismissed statement is never booked.

use serde::{Deserialize, Serialize};

use super::{Decision, SuspensePlace, UnbookedId};
use crate::chain::{Canonical, Digest};
use crate::cvu::Cvu;
use crate::ids::{AccountNo, OriginId, RealmId, Tag};
use crate::money::Amount;
use crate::rejection::Rejection;
use crate::time::Timestamp;
use crate::transfers::{CashIn, Departure};

/// The reason for not booking an arrival that the bank reports again with another amount or CVU.
pub const TOLD_OTHERWISE: &str = "told_otherwise";

/// A statement of the bank.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BankSays {
    /// Money left by an order that the ledger does not know.
    Left(Departure),
    /// Money arrived under an id of the rail that other money already has.
    Arrived(CashIn),
}

impl BankSays {
    /// Identifies the statement among everything the bank says.
    pub fn key(&self) -> Digest {
        match self {
            Self::Left(left) => Self::left(left.origin),
            Self::Arrived(it) => Self::arrived(&it.coelsa_id, &it.cvu, it.amount),
        }
    }

    /// The key of money that left under a reference.
    pub fn left(origin: OriginId) -> Digest {
        let form = Canonical::default().text("left");
        form.text(&origin.to_string()).digest()
    }

    /// The key of money that arrived.
    pub fn arrived(coelsa_id: &str, cvu: &Cvu, amount: Amount) -> Digest {
        Canonical::default()
            .text("arrived")
            .text(coelsa_id)
            .text(cvu.as_str())
            .number(amount.centavos())
            .digest()
    }

    /// The CVU that it concerns.
    pub const fn cvu(&self) -> Cvu {
        match self {
            Self::Left(left) => left.cvu,
            Self::Arrived(it) => it.cvu,
        }
    }

    /// The amount that left or arrived.
    pub const fn amount(&self) -> Amount {
        match self {
            Self::Left(left) => left.amount,
            Self::Arrived(it) => it.amount,
        }
    }
}

/// The state of an unbooked statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnbookedState {
    /// It waits for money, or for a person.
    Waiting,
    /// It was booked, as this transfer.
    Booked {
        /// The account that sent the money.
        account: AccountNo,
        /// The sequence of that transfer's first voucher: its number in the account.
        transfer: u64,
        /// The tag of the transfer's id.
        tag: Tag,
    },
    /// A person had it put right otherwise.
    Dismissed(Decision),
}

impl UnbookedState {
    /// The word on the wire.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Booked { .. } => "booked",
            Self::Dismissed(_) => "dismissed",
        }
    }
}

/// A statement of the bank that the ledger could not book, with its state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unbooked {
    /// The place of its record.
    pub place: SuspensePlace,
    /// The bank's statement.
    pub says: BankSays,
    /// Why it could not be booked: the stable code of the refusal, or [`TOLD_OTHERWISE`].
    pub reason: String,
    /// When it began to wait.
    pub since: Timestamp,
    /// The state of the statement.
    pub state: UnbookedState,
}

/// An event in the life of an unbooked statement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnbookedFact {
    /// The bank made the statement. The sequence of this fact is part of its place.
    Said {
        /// The bank's statement.
        says: BankSays,
        /// Why it could not be booked.
        reason: String,
    },
    /// A person had it put right otherwise.
    Dismissed {
        /// The place of its record.
        case: SuspensePlace,
        /// Who decided it, and why.
        decision: Decision,
    },
}

impl Unbooked {
    /// Its id in a realm; the same statement has the same id in every history.
    pub fn id(&self, realm: RealmId) -> UnbookedId {
        let says = self.says.key();
        UnbookedId {
            realm,
            place: self.place,
            tag: Tag::of_record(&says.0, Timestamp::default()),
        }
    }

    /// A statement that begins to wait.
    pub fn new(place: SuspensePlace, (says, reason): (BankSays, String), since: Timestamp) -> Self {
        Self {
            place,
            says,
            reason,
            since,
            state: UnbookedState::Waiting,
        }
    }

    /// Decides to dismiss it, because it was put right otherwise.
    ///
    /// # Errors
    /// When it has already been booked or dismissed.
    pub fn decide_dismissal(&self, decision: Decision) -> Result<UnbookedFact, Rejection> {
        match self.state {
            UnbookedState::Waiting => Ok(UnbookedFact::Dismissed {
                case: self.place,
                decision,
            }),
            UnbookedState::Booked { .. } | UnbookedState::Dismissed(_) => {
                Err(Rejection::CaseDecided)
            }
        }
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &UnbookedFact) {
        match fact {
            UnbookedFact::Dismissed { case: _, decision } => {
                self.state = UnbookedState::Dismissed(decision.clone());
            }
            // This fact created the case.
            UnbookedFact::Said { .. } => {}
        }
    }

    /// Whether it still waits.
    pub const fn waits(&self) -> bool {
        matches!(self.state, UnbookedState::Waiting)
    }

    /// The decision about it: who made it, and why.
    pub const fn decision(&self) -> Option<&Decision> {
        match &self.state {
            UnbookedState::Waiting | UnbookedState::Booked { .. } => None,
            UnbookedState::Dismissed(decision) => Some(decision),
        }
    }
}
