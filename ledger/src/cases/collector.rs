//! Records of the collector account's own movements.
//!
//! **Shape.** A movement is recorded once, under the bank's id, with its class by the tenant's rules. Without one it is a
//! case until a person, or a newer rule, names the class. A record is never edited: if the bank lists the movement
//! differently later, or no longer, that is a difference.
//!
//! **Order.** A movement that turns out to be a client's ([`CollectorFact::Matched`]) counts as the client's from then
//! on; a decision of a person stands.

use serde::{Deserialize, Serialize};

use super::{Decision, SuspensePlace};
use crate::collector::{CollectorClass, CollectorId, CollectorMovement};
use crate::ids::{AccountNo, RealmId};
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// An event in the life of a recorded movement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CollectorFact {
    /// The bank listed it. The sequence of this fact names the record.
    Listed {
        /// As the bank listed it.
        movement: Box<CollectorMovement>,
        /// Its class by the tenant's rules.
        class: CollectorClass,
    },
    /// A rule that is newer than the record took it, or a person decided.
    Classified {
        /// The sequence of the fact that recorded it.
        record: u64,
        /// Its class from now on.
        class: CollectorClass,
        /// The person's decision; `None` for a rule.
        decision: Option<Decision>,
    },
    /// It turned out to be a client's.
    Matched {
        /// The sequence of the fact that recorded it.
        record: u64,
    },
}

/// A recorded movement, with what has become of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedMovement {
    /// The sequence of the fact that recorded it.
    pub sequence: u64,
    /// As the bank listed it when it was recorded.
    pub movement: CollectorMovement,
    /// Its class.
    pub class: CollectorClass,
    /// When it was recorded.
    pub since: Timestamp,
    /// Who named the class, if it was a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Whether it turned out to be a client's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub matched: bool,
}

impl RecordedMovement {
    /// A movement that could not be recorded yet, with its class by the tenant's rules. It has no sequence.
    pub const fn unrecorded(movement: CollectorMovement, class: CollectorClass) -> Self {
        let since = movement.at;
        Self::listed(0, movement, class, since)
    }

    /// A movement that was recorded at an instant by the fact with a sequence.
    pub const fn listed(
        sequence: u64,
        movement: CollectorMovement,
        class: CollectorClass,
        since: Timestamp,
    ) -> Self {
        Self {
            sequence,
            movement,
            class,
            since,
            decision: None,
            matched: false,
        }
    }

    /// Whether it is recorded, so that its id names it.
    pub const fn is_recorded(&self) -> bool {
        self.sequence > 0
    }

    /// Its id in a realm.
    pub fn id(&self, realm: RealmId) -> CollectorId {
        CollectorId::of(realm, self.sequence, &self.movement.bank_id)
    }

    /// Its place among the cases.
    pub const fn place(&self) -> SuspensePlace {
        SuspensePlace {
            account: AccountNo(0),
            sequence: self.sequence,
        }
    }

    /// Whether it waits for a person.
    pub fn waits(&self) -> bool {
        self.class == CollectorClass::Unclassified && !self.matched
    }

    /// Decides what it is.
    ///
    /// # Errors
    /// When it has a class already, or turned out to be a client's.
    pub fn decide(
        &self,
        class: CollectorClass,
        decision: Decision,
    ) -> Result<CollectorFact, Rejection> {
        if !self.waits() {
            return Err(Rejection::CaseDecided);
        }
        Ok(CollectorFact::Classified {
            record: self.sequence,
            class,
            decision: Some(decision),
        })
    }

    /// Applies a fact about it.
    pub fn apply(&mut self, fact: &CollectorFact) {
        match fact {
            // This fact made the record.
            CollectorFact::Listed { .. } => {}
            CollectorFact::Classified {
                record: _,
                class,
                decision,
            } => {
                self.class = *class;
                self.decision.clone_from(decision);
            }
            CollectorFact::Matched { record: _ } => self.matched = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::tests::movement;

    #[test]
    fn a_movement_is_decided_once_and_its_id_names_it_alone() {
        let mut record = RecordedMovement {
            sequence: 7,
            movement: movement(false, 1, "", None),
            class: CollectorClass::Unclassified,
            since: Timestamp::from_millis(1),
            decision: None,
            matched: false,
        };
        let decision = || Decision {
            by: "ana".to_owned(),
            reason: "a sweep".to_owned(),
            at: Timestamp::from_millis(2),
            bank_reference: None,
            forced: false,
            approval_reason: None,
        };
        let id = record.id(RealmId(3));
        assert_eq!(CollectorId::parse(&id.to_string()), Some(id));
        let fact = record.decide(CollectorClass::Sweep, decision()).unwrap();
        record.apply(&fact);
        assert_eq!(record.class, CollectorClass::Sweep);
        let again = record.decide(CollectorClass::Funding, decision());
        assert_eq!(again, Err(Rejection::CaseDecided));
        assert_eq!(CollectorClass::parse("unclassified"), None);
    }
}
