//! The state of an actor, as its supervisor, other threads and operators read it.
//!
//! **Shape.** What is in flight and whether the actor may still write are one word ([`Vitals::begin`],
//! [`Vitals::retire`]): the supervisor of an account may work on another thread, and between its look at
//! the one and at the other the account could hand the store a commit. Whoever has begun a commit is counted
//! until that has ended; whoever is retired begins none any more. So the next actor of an account reads a disk
//! to which the one before it adds nothing.
//!
//! **Order.** A turn is counted before its message counts as taken, and until all is set that says that the
//! actor is not idle. So an actor that looks idle takes no turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::mailbox::{Crowd, Permit, Waiting};

/// In the word of what is in flight: another actor may have the account by now.
const RETIRED: usize = 1 << (usize::BITS - 1);
/// In the word of what is in flight: a commit failed.
const DOUBTFUL: usize = RETIRED >> 1;
/// The part of the word that counts.
const COUNT: usize = DOUBTFUL - 1;

/// How far a commit takes the streams of its account: the last movement and the last fact of the profile in it; nothing
/// where it has none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reach {
    /// The sequence of the last movement.
    pub sequence: Option<u64>,
    /// The sequence of the last fact of the profile.
    pub profile: Option<u64>,
}

/// The pulse of an actor.
#[derive(Debug, Default)]
pub struct Vitals {
    /// Messages forwarded to it and not yet taken.
    pub queued: Waiting,
    /// Turns that it takes now.
    turns: Waiting,
    /// Commits handed to the store and not yet durable, and whether it may hand it more.
    flight: AtomicUsize,
    /// It waits for the bank.
    pub busy: AtomicBool,
    /// Its desk is lent: others may be deciding for it.
    pub lent: AtomicBool,
    /// The movement up to which the ledger is durable.
    pub durable_sequence: AtomicU64,
    /// The fact up to which the profile is durable; 0 when that is not known of any.
    pub durable_profile: AtomicU64,
    /// When it last took a message, in milliseconds since 1970.
    pub active_at: AtomicU64,
}

impl Vitals {
    /// Those of one of a crowd of actors.
    pub fn among(crowd: Option<Arc<Crowd>>) -> Self {
        Self {
            queued: Waiting::among(crowd),
            ..Self::default()
        }
    }

    /// Counts a turn until what this gives is dropped.
    pub fn turn(&self) -> Permit {
        self.turns.permit()
    }

    /// Commits handed to the store and not yet durable.
    pub fn in_flight(&self) -> usize {
        self.flight.load(Ordering::Acquire) & COUNT
    }

    /// Counts a commit that is about to be handed to the store; `false` when the actor may hand it none:
    /// then it is in doubt.
    #[must_use]
    pub fn begin(&self) -> bool {
        let one_more = |now: usize| (now <= COUNT).then(|| now.strict_add(1));
        let begun = self
            .flight
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        if begun.is_err() {
            // It has decided what will never be written.
            self.doubt();
        }
        begun.is_ok()
    }

    /// Ends what was begun and not handed to the store after all.
    pub fn give_up(&self) {
        self.doubt();
        self.flight.fetch_sub(1, Ordering::AcqRel);
    }

    /// Notes how a commit ended, with how far it goes.
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

    /// Has the actor write nothing any more, so that another one may take its place; `false` while
    /// something is in flight.
    #[must_use]
    pub fn retire(&self) -> bool {
        let last = |now: usize| (now & COUNT == 0).then_some(now | RETIRED);
        let retired = self
            .flight
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, last);
        retired.is_ok()
    }

    /// Whether another actor may have its place.
    pub fn retired(&self) -> bool {
        self.flight.load(Ordering::Acquire) & RETIRED != 0
    }

    /// Whether nothing would be lost or disturbed if the actor went away now.
    pub fn idle(&self) -> bool {
        let not = |flag: &AtomicBool| !flag.load(Ordering::Acquire);
        // In this order: what a turn leaves behind is there when the turn is over.
        self.queued.count() == 0
            && self.turns.count() == 0
            && self.settled_all()
            && not(&self.busy)
            && not(&self.lent)
            // The bank's answer may have had a turn meanwhile: what it wrote is counted once that is over.
            && self.turns.count() == 0
    }

    /// Whether nothing is in flight.
    pub fn settled_all(&self) -> bool {
        self.in_flight() == 0
    }

    /// Makes the actor's supervisor replace it: what it knows may never have been written.
    pub fn doubt(&self) {
        self.flight.fetch_or(DOUBTFUL, Ordering::AcqRel);
    }

    /// Whether a commit failed.
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
    fn whoever_takes_a_turn_is_not_idle() {
        let vitals = Vitals::default();
        let waits = vitals.queued.permit();
        assert!(!vitals.idle());
        let turn = vitals.turn();
        drop(waits);
        assert!(!vitals.idle());
        drop(turn);
        assert!(vitals.idle());
    }

    #[test]
    fn no_commit_begins_once_another_actor_may_have_the_place() {
        // Both sides run as fast as they can; whichever comes first, the other knows.
        for _ in 0..2_000 {
            let vitals = Vitals::default();
            let (begun, retired) = std::thread::scope(|threads| {
                let begins = threads.spawn(|| vitals.begin());
                let retired = vitals.retire();
                (begins.join().unwrap(), retired)
            });
            assert!(begun != retired, "begun {begun}, retired {retired}");
        }
    }
}
