//! Four eyes: a request by one person waits until another one decides.
//!
//! **Shape.** A request is stored as it was sent, with who asked and why. Another person approves or rejects it, within
//! a time limit. An approved request is carried out once: the approval is durable first, and claims it.
//!
//! **Bounds.** At most [`WAITING_MAX`] may wait at a time, and [`WAITING_OF_ONE`] of one person; of those that ended,
//! the last [`KEPT_MAX`] are kept to be shown. The audit log has all of them.
//!
//! **Failure.** If the process stops between approval and end, it is unknown whether the request was carried out: it
//! stays approved without an end, and is never carried out again. A person who still wants it has to check, and ask
//! again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Role;
use super::audit::FieldChange;
use crate::numbers::{Kind, LastNumber, Opening};
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// How many proposals may wait at a time.
pub const WAITING_MAX: usize = 200;
/// How many proposals of one person may wait at a time.
pub const WAITING_OF_ONE: usize = 20;
/// How many proposals that no longer wait are kept.
pub const KEPT_MAX: usize = 200;
/// How long a proposal waits for a decision, in milliseconds: a day.
pub const LIFETIME: u64 = 24 * 60 * 60 * 1_000;

/// A request by one person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// Its number, from 1.
    pub number: u64,
    /// The name of the person who asks.
    pub by: String,
    /// Their role at that time.
    pub role: Role,
    /// The action, as a word of the audit log.
    pub action: String,
    /// The subject of the action.
    pub subject: String,
    /// The reason.
    pub reason: String,
    /// The body of the request, as it was sent.
    pub body: String,
    /// The first instant at which it can no longer be approved.
    pub expires_at: Timestamp,
    /// The fields that it would have changed when it was made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
}

/// An event in the life of a proposal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ApprovalFact {
    /// A person made a proposal.
    Asked(Proposal),
    /// Another person decided.
    Decided {
        /// The number of the proposal.
        number: u64,
        /// The name of the person who decided.
        by: String,
        /// Whether it is to be carried out.
        approved: bool,
        /// The reason.
        reason: String,
    },
    /// An approved request was carried out, or refused when it was tried.
    Ended {
        /// The number of the proposal.
        number: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
}

/// The decision of another person.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vote {
    /// Their name.
    pub by: String,
    /// Whether it is to be carried out.
    pub approved: bool,
    /// The reason.
    pub reason: String,
    /// When they decided.
    pub at: Timestamp,
}

/// A proposal and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// The proposal.
    pub proposal: Proposal,
    /// When it was made.
    pub asked_at: Timestamp,
    /// The decision of another person; `None` while there is none.
    pub vote: Option<Vote>,
    /// The HTTP status of the answer when it was carried out.
    pub status: Option<u16>,
}

impl Approval {
    /// Whether it waits for a decision at an instant.
    pub fn waits_at(&self, now: Timestamp) -> bool {
        self.vote.is_none() && now < self.proposal.expires_at
    }

    /// Its state at an instant, as a word.
    pub fn state(&self, now: Timestamp) -> &'static str {
        match (&self.vote, self.status) {
            (None, _) if self.waits_at(now) => "waiting",
            (None, _) => "expired",
            (Some(vote), _) if !vote.approved => "rejected",
            (Some(_), None) => "approved",
            (Some(_), Some(200..300)) => "done",
            (Some(_), Some(_)) => "failed",
        }
    }
}

/// An order about proposals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApprovalOrder {
    /// Make a proposal; the number and the end are set by the decision.
    Ask(Proposal),
    /// Decide about it.
    Decide {
        /// The number of the proposal.
        number: u64,
        /// The name of the person who decides.
        by: String,
        /// Whether it is to be carried out.
        approved: bool,
        /// The reason.
        reason: String,
    },
    /// Record how it ended.
    End {
        /// The number of the proposal.
        number: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
}

/// All waiting proposals, and the last ones that no longer wait.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Approvals {
    all: BTreeMap<u64, Approval>,
    last: Option<LastNumber>,
}

impl Approvals {
    /// All known proposals, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Approval> {
        self.all.values()
    }

    /// The proposal with a number.
    ///
    /// # Errors
    /// When there is none, or it ended long ago and is no longer kept.
    pub fn numbered(&self, number: u64) -> Result<&Approval, Rejection> {
        self.all.get(&number).ok_or(Rejection::ApprovalNotFound)
    }

    /// Decides an order.
    ///
    /// # Errors
    /// When too many proposals wait, there is no such proposal or it does not wait, or a person decides about their
    /// own.
    pub fn decide(
        &self,
        order: ApprovalOrder,
        opening: Opening,
        now: Timestamp,
    ) -> Result<ApprovalFact, Rejection> {
        match order {
            ApprovalOrder::Ask(proposal) => {
                let waiting = || self.all().filter(|it| it.waits_at(now));
                let own = waiting().filter(|it| it.proposal.by == proposal.by);
                for (count, maximum) in [
                    (own.count(), WAITING_OF_ONE),
                    (waiting().count(), WAITING_MAX),
                ] {
                    if count >= maximum {
                        return Err(Rejection::TooManyApprovals { maximum });
                    }
                }
                Ok(ApprovalFact::Asked(Proposal {
                    number: opening.next(Kind::Approval, self.last, now),
                    expires_at: now.plus_millis(LIFETIME),
                    ..proposal
                }))
            }
            ApprovalOrder::Decide {
                number,
                by,
                approved,
                reason,
            } => {
                let known = self.numbered(number)?;
                if !known.waits_at(now) {
                    return Err(Rejection::ApprovalEnded);
                }
                if known.proposal.by == by {
                    return Err(Rejection::ApprovalOwn);
                }
                Ok(ApprovalFact::Decided {
                    number,
                    by,
                    approved,
                    reason,
                })
            }
            ApprovalOrder::End { number, status } => {
                let known = self.numbered(number)?;
                let claimed = known.vote.as_ref().is_some_and(|vote| vote.approved);
                if !claimed || known.status.is_some() {
                    return Err(Rejection::ApprovalEnded);
                }
                Ok(ApprovalFact::Ended { number, status })
            }
        }
    }

    /// Applies a fact.
    pub fn apply(&mut self, fact: &ApprovalFact, at: Timestamp) {
        match fact {
            ApprovalFact::Asked(proposal) => {
                self.last = self.last.max(Some(LastNumber {
                    number: proposal.number,
                    at,
                }));
                let approval = Approval {
                    proposal: proposal.clone(),
                    asked_at: at,
                    vote: None,
                    status: None,
                };
                self.all.insert(proposal.number, approval);
                self.forget(at);
            }
            ApprovalFact::Decided {
                number,
                by,
                approved,
                reason,
            } => {
                if let Some(known) = self.all.get_mut(number) {
                    known.vote = Some(Vote {
                        by: by.clone(),
                        approved: *approved,
                        reason: reason.clone(),
                        at,
                    });
                }
            }
            ApprovalFact::Ended { number, status } => {
                if let Some(known) = self.all.get_mut(number) {
                    known.status = Some(*status);
                }
            }
        }
    }

    /// Removes the oldest proposals that no longer wait, beyond those to be kept.
    fn forget(&mut self, now: Timestamp) {
        let over = self.all.values().filter(|it| !it.waits_at(now));
        let over: Vec<_> = over.map(|it| it.proposal.number).collect();
        for number in over.into_iter().rev().skip(KEPT_MAX) {
            self.all.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_772_463_600_000);

    fn ask(by: &str) -> ApprovalOrder {
        ApprovalOrder::Ask(Proposal {
            number: 0,
            by: by.to_owned(),
            role: Role::Operator,
            action: "decideTransfer".to_owned(),
            subject: "trf_1".to_owned(),
            reason: "why".to_owned(),
            body: "{}".to_owned(),
            expires_at: NOON,
            changes: Vec::new(),
        })
    }

    fn vote(number: u64, by: &str, approved: bool) -> ApprovalOrder {
        ApprovalOrder::Decide {
            number,
            by: by.to_owned(),
            approved,
            reason: "seen".to_owned(),
        }
    }

    fn done(approvals: &mut Approvals, order: ApprovalOrder) {
        let fact = approvals.decide(order, Opening::default(), NOON).unwrap();
        approvals.apply(&fact, NOON);
    }

    #[test]
    fn another_person_decides_once_and_it_is_carried_out_once() {
        let mut approvals = Approvals::default();
        done(&mut approvals, ask("ana"));
        let end = ApprovalOrder::End {
            number: 1,
            status: 200,
        };
        let refused = |approvals: &Approvals, order| {
            approvals
                .decide(order, Opening::default(), NOON)
                .unwrap_err()
        };
        assert_eq!(
            refused(&approvals, vote(1, "ana", true)),
            Rejection::ApprovalOwn
        );
        assert_eq!(
            refused(&approvals, vote(2, "eva", true)),
            Rejection::ApprovalNotFound
        );
        assert_eq!(refused(&approvals, end.clone()), Rejection::ApprovalEnded);
        done(&mut approvals, vote(1, "eva", true));
        for again in [true, false] {
            assert_eq!(
                refused(&approvals, vote(1, "leo", again)),
                Rejection::ApprovalEnded
            );
        }
        assert_eq!(approvals.numbered(1).unwrap().state(NOON), "approved");
        done(&mut approvals, end.clone());
        assert_eq!(refused(&approvals, end), Rejection::ApprovalEnded);
        assert_eq!(approvals.numbered(1).unwrap().state(NOON), "done");
    }

    #[test]
    fn what_was_rejected_or_waited_too_long_is_never_carried_out() {
        let mut approvals = Approvals::default();
        done(&mut approvals, ask("ana"));
        done(&mut approvals, ask("ana"));
        done(&mut approvals, vote(1, "eva", false));
        let end = ApprovalOrder::End {
            number: 1,
            status: 200,
        };
        assert_eq!(
            approvals.decide(end, Opening::default(), NOON),
            Err(Rejection::ApprovalEnded)
        );
        let last = NOON.plus_millis(LIFETIME - 1);
        assert!(
            approvals
                .decide(vote(2, "eva", true), Opening::default(), last)
                .is_ok()
        );
        let late = NOON.plus_millis(LIFETIME);
        assert_eq!(
            approvals.decide(vote(2, "eva", true), Opening::default(), late),
            Err(Rejection::ApprovalEnded)
        );
        let states = [1, 2].map(|number| approvals.numbered(number).unwrap().state(late));
        assert_eq!(states, ["rejected", "expired"]);
    }

    #[test]
    fn waiting_and_decided_approvals_are_bounded() {
        let mut approvals = Approvals::default();
        for number in 1..=2 * KEPT_MAX {
            done(&mut approvals, ask("ana"));
            let number = u64::try_from(number).unwrap();
            done(&mut approvals, vote(number, "eva", false));
        }
        assert!(approvals.all().count() <= KEPT_MAX + 1);
        let full = |maximum| Err(Rejection::TooManyApprovals { maximum });
        for who in 0..WAITING_MAX / WAITING_OF_ONE {
            let who = format!("p{who}");
            for _ in 0..WAITING_OF_ONE {
                done(&mut approvals, ask(&who));
            }
            // One person's limit leaves room for the others, until the limit for all is reached.
            assert_eq!(
                approvals.decide(ask(&who), Opening::default(), NOON),
                full(WAITING_OF_ONE)
            );
        }
        assert_eq!(
            approvals.decide(ask("ana"), Opening::default(), NOON),
            full(WAITING_MAX)
        );
    }
}
