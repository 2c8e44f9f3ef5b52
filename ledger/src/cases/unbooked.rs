//! Statements of the bank that the ledger cannot book: money that left by an unknown order and that the account does
//! not have, an arrival that is reported again with other data, and a line of its list that cannot be read.
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
use crate::time::{BusinessDay, Timestamp};
use crate::transfers::{CashIn, Departure};

/// The reason for not booking an arrival that the bank reports again with another amount or CVU.
pub const TOLD_OTHERWISE: &str = "told_otherwise";

/// The reason for not booking a line of the bank's list that cannot be read.
pub const UNREADABLE: &str = "unreadable";

/// A line of the bank's list of a day that cannot be read in a field that decides, with what can be read of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UnreadableLine {
    /// The day of the list.
    pub day: BusinessDay,
    /// Whether it is on the list of what arrived.
    pub incoming: bool,
    /// The field that cannot be read, as the bank names it.
    pub field: String,
    /// The bank's own id.
    pub bank_id: Option<String>,
    /// The id on the rail.
    pub coelsa_id: Option<String>,
    /// Our reference.
    pub origin: Option<OriginId>,
    /// The CVU.
    pub cvu: Option<Cvu>,
    /// The amount, in centavos.
    pub amount: Option<Amount>,
    /// The line without persons, as far as it may be kept.
    pub text: String,
}

impl UnreadableLine {
    /// Identifies the line among everything the bank says: by its ids if it has any, so that a later report of the same
    /// movement is the same line.
    pub fn key(&self) -> Digest {
        let ids = [self.bank_id.as_deref(), self.coelsa_id.as_deref()];
        let form = Canonical::default()
            .text("unreadable")
            .text(if self.incoming { "in" } else { "out" });
        if ids == [None, None] && self.origin.is_none() {
            return form.text(&self.day.to_string()).text(&self.text).digest();
        }
        let form = ids
            .into_iter()
            .fold(form, |form, id| form.text(id.unwrap_or("")));
        let origin = self.origin.map_or_else(String::new, |it| it.to_string());
        form.text(&origin).digest()
    }
}

/// A statement of the bank.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BankSays {
    /// Money left by an order that the ledger does not know.
    Left(Departure),
    /// Money arrived under an id of the rail that other money already has.
    Arrived(CashIn),
    /// A line of its list cannot be read.
    Unreadable(Box<UnreadableLine>),
}

impl BankSays {
    /// Identifies the statement among everything the bank says.
    pub fn key(&self) -> Digest {
        match self {
            Self::Left(left) => Self::left(left.origin),
            Self::Arrived(it) => Self::arrived(&it.coelsa_id, &it.cvu, it.amount),
            Self::Unreadable(line) => line.key(),
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

    /// The CVU that it concerns, if that can be read.
    pub fn cvu(&self) -> Option<Cvu> {
        match self {
            Self::Left(left) => Some(left.cvu),
            Self::Arrived(it) => Some(it.cvu),
            Self::Unreadable(line) => line.cvu,
        }
    }

    /// What arrived by it: the amount, and the id on the rail; `None` if money left, or the amount cannot be read.
    pub fn arrival(&self) -> Option<(Amount, Option<&str>)> {
        match self {
            Self::Left(_) => None,
            Self::Arrived(it) => Some((it.amount, Some(it.coelsa_id.as_str()))),
            Self::Unreadable(line) => {
                let amount = line.amount.filter(|_| line.incoming)?;
                Some((amount, line.coelsa_id.as_deref()))
            }
        }
    }

    /// The amount that left or arrived, if that can be read.
    pub fn amount(&self) -> Option<Amount> {
        match self {
            Self::Left(left) => Some(left.amount),
            Self::Arrived(it) => Some(it.amount),
            Self::Unreadable(line) => line.amount,
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
    /// Why it could not be booked: the stable code of the refusal, [`TOLD_OTHERWISE`] or [`UNREADABLE`].
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
