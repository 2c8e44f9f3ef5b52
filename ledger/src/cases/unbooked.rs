//! What the bank says and the ledger cannot book: money that left by an unknown order and that the
//! account does not have, and an arrival reported again as something else.
//!
//! **Order.** Each is opened once, by what it says ([`BankSays::key`]), however often the bank says it.
//! A departure is booked by itself once the money is there; a person may dismiss either, because it was
//! put right otherwise. What is dismissed is never booked.

use serde::{Deserialize, Serialize};

use super::{Decision, SuspensePlace, UnbookedId};
use crate::chain::{Canonical, Digest};
use crate::cvu::Cvu;
use crate::ids::{AccountNo, OriginId, RealmId, Tag};
use crate::money::Amount;
use crate::rejection::Rejection;
use crate::time::Timestamp;
use crate::transfers::{CashIn, Departure};

/// Why an arrival is not booked that the bank reports again with another amount or CVU.
pub const TOLD_OTHERWISE: &str = "told_otherwise";

/// What the bank says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum BankSays {
    /// Money left by an order that the ledger does not know.
    Left(Departure),
    /// Money arrived under an id of the rail under which something else has arrived.
    Arrived(CashIn),
}

impl BankSays {
    /// What distinguishes it from whatever else the bank says.
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

    /// The CVU that it is about.
    pub const fn cvu(&self) -> Cvu {
        match self {
            Self::Left(left) => left.cvu,
            Self::Arrived(it) => it.cvu,
        }
    }

    /// What left or arrived, in centavos.
    pub const fn amount(&self) -> Amount {
        match self {
            Self::Left(left) => left.amount,
            Self::Arrived(it) => it.amount,
        }
    }
}

/// What becomes of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnbookedState {
    /// It waits for money, or for a person.
    Waiting,
    /// It was booked, as this transfer.
    Booked {
        /// The account that sent.
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

/// What the bank says and the ledger could not book, with what becomes of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Unbooked {
    /// Where its record is.
    pub place: SuspensePlace,
    /// What the bank says.
    pub says: BankSays,
    /// Why it could not be booked: the stable word of the refusal, or [`TOLD_OTHERWISE`].
    pub reason: String,
    /// Since when it waits.
    pub since: Timestamp,
    /// What becomes of it.
    pub state: UnbookedState,
}

/// What happens to what could not be booked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum UnbookedFact {
    /// The bank said it. The sequence of this fact is part of its place.
    Said {
        /// What the bank said.
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
    /// Its id, in a realm: what the bank says has the same one in every history.
    pub fn id(&self, realm: RealmId) -> UnbookedId {
        let says = self.says.key();
        UnbookedId {
            realm,
            place: self.place,
            tag: Tag::of_record(&says.0, Timestamp::default()),
        }
    }

    /// What begins to wait.
    pub fn new(place: SuspensePlace, (says, reason): (BankSays, String), since: Timestamp) -> Self {
        Self {
            place,
            says,
            reason,
            since,
            state: UnbookedState::Waiting,
        }
    }

    /// Decides that it was put right otherwise.
    ///
    /// # Errors
    /// When it has been booked or dismissed.
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

    /// Takes in what happened.
    pub fn apply(&mut self, fact: &UnbookedFact) {
        match fact {
            UnbookedFact::Dismissed { case: _, decision } => {
                self.state = UnbookedState::Dismissed(decision.clone());
            }
            // It is what made the case.
            UnbookedFact::Said { .. } => {}
        }
    }

    /// Whether nothing has become of it yet.
    pub const fn waits(&self) -> bool {
        matches!(self.state, UnbookedState::Waiting)
    }

    /// Who decided what becomes of it, and why.
    pub const fn decision(&self) -> Option<&Decision> {
        match &self.state {
            UnbookedState::Waiting | UnbookedState::Booked { .. } => None,
            UnbookedState::Dismissed(decision) => Some(decision),
        }
    }
}
