//! Four eyes: what one person asks for waits until another one decides.
//!
//! **Shape.** What is asked for is kept as it was sent, with who asked and why. Another person approves or rejects
//! it, within a time. What is approved is carried out once: the approval is durable first, and claims it.
//!
//! **Bounds.** [`WAITING_MAX`] may wait at a time, [`WAITING_OF_ONE`] of one person; of those that ended the last [`KEPT_MAX`] are kept to be shown.
//! The audit log has all of them.
//!
//! **Failure.** Where the process stops between approval and end, nobody knows whether it was carried out: it
//! stays approved without an end, and is never carried out again. Whoever wants it looks, and asks anew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Role;
use crate::rejection::Rejection;
use crate::time::Timestamp;

/// How many may wait at a time.
pub const WAITING_MAX: usize = 200;
/// How many of one person may wait at a time.
pub const WAITING_OF_ONE: usize = 20;
/// How many of those that do not wait are kept.
pub const KEPT_MAX: usize = 200;
/// How long one waits for a decision, in milliseconds: a day.
pub const LIFETIME: u64 = 24 * 60 * 60 * 1_000;

/// What one person asks for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Proposal {
    /// Its number, from 1.
    pub number: u64,
    /// Who asks.
    pub by: String,
    /// The role that they had.
    pub role: Role,
    /// What is to be done, as a word of the audit log.
    pub action: String,
    /// What it is to be done to.
    pub subject: String,
    /// Why.
    pub reason: String,
    /// The body of the request, as it was sent.
    pub body: String,
    /// The first instant at which nobody can approve it any more.
    pub expires_at: Timestamp,
}

/// What happened to what waits for a second person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ApprovalFact {
    /// Somebody asked.
    Asked(Proposal),
    /// Another person decided.
    Decided {
        /// The number of the proposal.
        number: u64,
        /// Who decided.
        by: String,
        /// Whether it is to be carried out.
        approved: bool,
        /// Why.
        reason: String,
    },
    /// What was approved was carried out, or refused when it was tried.
    Ended {
        /// The number of the proposal.
        number: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
}

/// How another person decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Vote {
    /// Who.
    pub by: String,
    /// Whether it is to be carried out.
    pub approved: bool,
    /// Why.
    pub reason: String,
    /// When.
    pub at: Timestamp,
}

/// A proposal and what became of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Approval {
    /// What was asked for.
    pub proposal: Proposal,
    /// When.
    pub asked_at: Timestamp,
    /// How another person decided; `None` while nobody has.
    pub vote: Option<Vote>,
    /// The HTTP status with which it was carried out.
    pub status: Option<u16>,
}

impl Approval {
    /// Whether it waits for a decision at an instant.
    pub fn waits_at(&self, now: Timestamp) -> bool {
        self.vote.is_none() && now < self.proposal.expires_at
    }

    /// How it stands at an instant, in a word.
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

/// What can be ordered about proposals.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ApprovalOrder {
    /// Ask for something; the number and the end are given here.
    Ask(Proposal),
    /// Decide about it.
    Decide {
        /// The number of the proposal.
        number: u64,
        /// Who decides.
        by: String,
        /// Whether it is to be carried out.
        approved: bool,
        /// Why.
        reason: String,
    },
    /// Note how it ended.
    End {
        /// The number of the proposal.
        number: u64,
        /// The HTTP status of its answer.
        status: u16,
    },
}

/// All proposals that wait, and the last ones that do not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Approvals {
    all: BTreeMap<u64, Approval>,
    last: u64,
}

impl Approvals {
    /// All that are known, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Approval> {
        self.all.values()
    }

    /// That of a number.
    ///
    /// # Errors
    /// When there is none, or it ended long ago.
    pub fn numbered(&self, number: u64) -> Result<&Approval, Rejection> {
        self.all.get(&number).ok_or(Rejection::ApprovalNotFound)
    }

    /// What follows of an order.
    ///
    /// # Errors
    /// One too many, one that is not there or does not wait, and whoever decides about their own.
    pub fn decide(&self, order: ApprovalOrder, now: Timestamp) -> Result<ApprovalFact, Rejection> {
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
                    number: self.last.strict_add(1),
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

    /// Takes in what happened.
    pub fn apply(&mut self, fact: &ApprovalFact, at: Timestamp) {
        match fact {
            ApprovalFact::Asked(proposal) => {
                self.last = self.last.max(proposal.number);
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

    /// Lets go of the oldest that do not wait, beyond those that are kept.
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
        let fact = approvals.decide(order, NOON).unwrap();
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
        let refused = |approvals: &Approvals, order| approvals.decide(order, NOON).unwrap_err();
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
        assert_eq!(approvals.decide(end, NOON), Err(Rejection::ApprovalEnded));
        let last = NOON.plus_millis(LIFETIME - 1);
        assert!(approvals.decide(vote(2, "eva", true), last).is_ok());
        let late = NOON.plus_millis(LIFETIME);
        assert_eq!(
            approvals.decide(vote(2, "eva", true), late),
            Err(Rejection::ApprovalEnded)
        );
        let states = [1, 2].map(|number| approvals.numbered(number).unwrap().state(late));
        assert_eq!(states, ["rejected", "expired"]);
    }

    #[test]
    fn so_many_wait_at_a_time_and_so_many_are_kept() {
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
            // One person leaves room for the others, as long as there is any.
            assert_eq!(approvals.decide(ask(&who), NOON), full(WAITING_OF_ONE));
        }
        assert_eq!(approvals.decide(ask("ana"), NOON), full(WAITING_MAX));
    }
}
