//! The state of an actor, as its supervisor, other threads and operators read it.
//!
//! **Shape.** The number of commits in flight and whether the actor may still write are one word ([`Vitals::begin`],
//! [`Vitals::retire`]). A commit is counted from its beginning to its end, and a retired actor begins none, even if an
//! alarm wakes it later. So the next actor of an account reads a disk to which the one before it adds nothing.
//!
//! **Order.** A supervisor and its accounts run on one thread, so no turn is under way when the supervisor looks. The
//! ends of commits come from the store's threads at any time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::mailbox::Waiting;

/// In the flight word: another actor may have the account by now.
const RETIRED: usize = 1 << (usize::BITS - 1);
/// In the flight word: a commit failed.
const DOUBTFUL: usize = RETIRED >> 1;
/// The part of the flight word that counts commits.
const COUNT: usize = DOUBTFUL - 1;

/// How far a commit takes the streams of its account: its last movement and its last fact of the profile; `None` if it
/// has none. For the realm itself, its own facts are its profile.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reach {
    /// The sequence of the last movement.
    pub sequence: Option<u64>,
    /// The sequence of the last fact of the profile.
    pub profile: Option<u64>,
}

/// The live state of an actor.
#[derive(Debug, Default)]
pub struct Vitals {
    /// Messages forwarded to the actor and not yet taken.
    pub queued: Waiting,
    /// Commits handed to the store and not yet durable, and whether the actor may still write.
    flight: AtomicUsize,
    /// The actor waits for the bank.
    pub busy: AtomicBool,
    /// The desk is lent: another actor may be deciding for this one.
    pub lent: AtomicBool,
    /// The movement up to which the ledger is durable.
    pub durable_sequence: AtomicU64,
    /// The fact up to which the profile is durable; 0 while none is known to be. For the realm itself, the fact of its
    /// own stream.
    pub durable_profile: AtomicU64,
    /// When the actor last took a message, in milliseconds since 1970.
    pub active_at: AtomicU64,
}

impl Vitals {
    /// How many commits were handed to the store and are not yet durable.
    pub fn in_flight(&self) -> usize {
        self.flight.load(Ordering::Acquire) & COUNT
    }

    /// Counts a commit that is about to be handed to the store. Returns `false` if the actor may not write; the actor
    /// is then in doubt.
    #[must_use]
    pub fn begin(&self) -> bool {
        let one_more = |now: usize| (now <= COUNT).then(|| now.strict_add(1));
        let begun = self
            .flight
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        if begun.is_err() {
            // The actor has decided facts that will never be written.
            self.doubt();
        }
        begun.is_ok()
    }

    /// Ends a commit that was begun but not handed to the store after all.
    pub fn give_up(&self) {
        self.doubt();
        self.flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Notes how a commit ended, and how far it reaches.
    pub fn settled(&self, ok: bool, reach: Reach) {
        let Reach { sequence, profile } = reach;
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
            self.doubt();
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
    pub fn doubt(&self) {
        self.flight.fetch_or(DOUBTFUL, Ordering::AcqRel);
    }

    /// Whether the actor is in doubt: a commit failed, or its facts could not be written.
    pub fn doubtful(&self) -> bool {
        self.flight.load(Ordering::Acquire) & DOUBTFUL != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(sequence: Option<u64>, profile: Option<u64>) -> Reach {
        Reach { sequence, profile }
    }

    #[test]
    fn whoever_is_replaced_or_in_doubt_begins_nothing() {
        let vitals = Vitals::default();
        assert!(vitals.idle() && vitals.begin() && vitals.begin());
        assert_eq!((vitals.in_flight(), vitals.idle()), (2, false));
        assert!(!vitals.retire(), "something is in flight");
        vitals.settled(true, reach(Some(7), None));
        vitals.settled(true, reach(None, Some(3)));
        let durable = [&vitals.durable_sequence, &vitals.durable_profile];
        assert_eq!(durable.map(|it| it.load(Ordering::Acquire)), [7, 3]);
        assert!(vitals.retire() && vitals.retired());
        assert!(vitals.settled_all() && !vitals.doubtful());
        assert!(!vitals.begin(), "another one may have its place");
        assert!(vitals.doubtful() && vitals.settled_all());

        let vitals = Vitals::default();
        assert!(vitals.begin() && vitals.begin());
        vitals.settled(false, reach(Some(9), Some(9)));
        let durable = [&vitals.durable_sequence, &vitals.durable_profile];
        assert_eq!(durable.map(|it| it.load(Ordering::Acquire)), [0, 0]);
        assert!(vitals.doubtful() && !vitals.begin());
        assert_eq!(vitals.in_flight(), 1);
        assert!(!vitals.retire());
        vitals.give_up();
        assert!(vitals.retire() && vitals.doubtful());
    }

    #[test]
    fn whoever_has_a_message_is_not_idle() {
        let vitals = Vitals::default();
        let waits = vitals.queued.permit();
        assert!(!vitals.idle());
        drop(waits);
        assert!(vitals.idle());
    }
}
