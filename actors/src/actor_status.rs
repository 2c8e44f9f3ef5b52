//! The state of an actor, as its supervisor, other threads and operators read it.
//!
//! **Shape.** The number of commits in flight and whether the actor may still write are one word ([`ActorStatus::begin`],
//! [`ActorStatus::retire`]). A commit is counted from its beginning to its end, and a retired actor begins none, even if an
//! alarm wakes it later. So the next actor of an account reads a disk to which the one before it adds nothing.
//!
//! **Order.** A supervisor and its accounts run on one thread, so no turn is under way when the supervisor looks. The
//! ends of commits come from the store's threads at any time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::mailbox::QueueDepth;

/// In the flight word: another actor may have the account by now.
const RETIRED: usize = 1 << (usize::BITS - 1);
/// In the flight word: a commit failed.
const POISONED: usize = RETIRED >> 1;
/// The part of the flight word that counts commits.
const COUNT: usize = POISONED - 1;

/// How far a commit takes the streams of its account: its last movement and its last fact of the profile; `None` if it
/// has none. For the realm itself, its own facts are its profile.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CommitReach {
    /// The sequence of the last movement.
    pub sequence: Option<u64>,
    /// The sequence of the last fact of the profile.
    pub profile: Option<u64>,
}

/// The live state of an actor.
#[derive(Debug, Default)]
pub struct ActorStatus {
    /// Messages forwarded to the actor and not yet taken.
    pub queued: QueueDepth,
    /// Commits handed to the store and not yet durable, and whether the actor may still write.
    flight: AtomicUsize,
    /// The actor waits for the bank.
    pub busy: AtomicBool,
    /// The account state is lent: another actor may be deciding for this one.
    pub lent: AtomicBool,
    /// The movement up to which the ledger is durable.
    pub durable_sequence: AtomicU64,
    /// The fact up to which the profile is durable; 0 while none is known to be. For the realm itself, the fact of its
    /// own stream.
    pub durable_profile: AtomicU64,
    /// When the actor last took a message, in milliseconds since 1970.
    pub active_at: AtomicU64,
}

impl ActorStatus {
    /// How many commits were handed to the store and are not yet durable.
    pub fn in_flight(&self) -> usize {
        self.flight.load(Ordering::Acquire) & COUNT
    }

    /// Counts a commit that is about to be handed to the store. Returns `false` and poisons the actor if it
    /// may not write.
    #[must_use]
    pub fn begin(&self) -> bool {
        let one_more = |now: usize| (now <= COUNT).then(|| now.strict_add(1));
        let begun = self
            .flight
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        if begun.is_err() {
            // The actor has decided facts that will never be written.
            self.poison();
        }
        begun.is_ok()
    }

    /// Ends a commit that was begun but not handed to the store after all.
    pub fn give_up(&self) {
        self.poison();
        self.flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Notes how a commit ended, and how far it reaches.
    pub fn settled(&self, ok: bool, reach: CommitReach) {
        let CommitReach { sequence, profile } = reach;
        let reached = [
            (&self.durable_sequence, sequence),
            (&self.durable_profile, profile),
        ];
        for (durable, last) in reached {
            if let Some(last) = last.filter(|_| ok) {
                durable.fetch_max(last, Ordering::AcqRel);
            }
        }
        if !ok {
            self.poison();
        }
        self.flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Forbids the actor to write, so that another one may take its place. Returns `false` while a commit is in flight.
    #[must_use]
    pub fn retire(&self) -> bool {
        let last = |now: usize| (now & COUNT == 0).then_some(now | RETIRED);
        let retired = self
            .flight
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, last);
        retired.is_ok()
    }

    /// Whether another actor may have taken its place.
    pub fn retired(&self) -> bool {
        self.flight.load(Ordering::Acquire) & RETIRED != 0
    }

    /// Whether nothing would be lost or disturbed if the actor went away now.
    pub fn idle(&self) -> bool {
        let not = |flag: &AtomicBool| !flag.load(Ordering::Acquire);
        self.queued.count() == 0 && self.settled_all() && not(&self.busy) && not(&self.lent)
    }

    /// Whether no commit is in flight.
    pub fn settled_all(&self) -> bool {
        self.in_flight() == 0
    }

    /// Makes the actor's supervisor replace it: its memory may hold facts that were never written.
    pub fn poison(&self) {
        self.flight.fetch_or(POISONED, Ordering::AcqRel);
    }

    /// Whether the actor is poisoned: a commit failed, or its facts could not be written.
    pub fn is_poisoned(&self) -> bool {
        self.flight.load(Ordering::Acquire) & POISONED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(sequence: Option<u64>, profile: Option<u64>) -> CommitReach {
        CommitReach { sequence, profile }
    }

    #[test]
    fn a_retired_or_poisoned_actor_begins_no_commit() {
        let actor_status = ActorStatus::default();
        assert!(actor_status.idle() && actor_status.begin() && actor_status.begin());
        assert_eq!((actor_status.in_flight(), actor_status.idle()), (2, false));
        assert!(!actor_status.retire(), "something is in flight");
        actor_status.settled(true, reach(Some(7), None));
        actor_status.settled(true, reach(None, Some(3)));
        let durable = [
            &actor_status.durable_sequence,
            &actor_status.durable_profile,
        ];
        assert_eq!(durable.map(|it| it.load(Ordering::Acquire)), [7, 3]);
        assert!(actor_status.retire() && actor_status.retired());
        assert!(actor_status.settled_all() && !actor_status.is_poisoned());
        assert!(!actor_status.begin(), "another one may have its place");
        assert!(actor_status.is_poisoned() && actor_status.settled_all());

        let actor_status = ActorStatus::default();
        assert!(actor_status.begin() && actor_status.begin());
        actor_status.settled(false, reach(Some(9), Some(9)));
        let durable = [
            &actor_status.durable_sequence,
            &actor_status.durable_profile,
        ];
        assert_eq!(durable.map(|it| it.load(Ordering::Acquire)), [0, 0]);
        assert!(actor_status.is_poisoned() && !actor_status.begin());
        assert_eq!(actor_status.in_flight(), 1);
        assert!(!actor_status.retire());
        actor_status.give_up();
        assert!(actor_status.retire() && actor_status.is_poisoned());
    }

    #[test]
    fn an_actor_with_a_message_is_not_idle() {
        let actor_status = ActorStatus::default();
        let waits = actor_status.queued.permit();
        assert!(!actor_status.idle());
        drop(waits);
        assert!(actor_status.idle());
    }
}
