//! Which facts are events: whole sets of rules, each in force in a realm from a fact of its journal
//! on.
//!
//! **Shape.** The number of an event is not written down: it is counted over the journal when facts
//! are indexed, and counted again when the index is rebuilt. So the rules of the count are part of
//! history. A realm begins under set 1; [`RealmFact::EventRules`] puts a later set into force for
//! the entries after it, and the entries before it keep the numbers that they have.
//!
//! **Order.** A set that a journal may name is never changed and never removed. A fact that no
//! journal can hold yet may become an event under every set: it renumbers nothing.

use super::EventKind;
use crate::facts::{AccountFact, RealmFact};
use crate::holds::Hold;
use crate::transfers::{TransferFact, TransferStatus};
use crate::vouchers::Voucher;

/// One set of rules. Under every set a voucher is one event, and so is a record of suspense; a
/// decision on a transfer publishes its ending too ([`EventKind::of_ending`]), and what becomes of
/// money in suspense is published as [`EventKind::of_case`] says.
#[derive(Clone, Copy, Debug)]
pub struct EventRules {
    /// What a fact of an account's profile publishes.
    pub account: fn(&AccountFact) -> Option<EventKind>,
    /// What a voucher publishes beside itself: of the hold that it opens or is a step of, as the
    /// hold is after it.
    pub hold: fn(&Voucher, Option<&Hold>) -> Option<EventKind>,
    /// What a fact of a transfer publishes, by its state before (unless it is the first) and after.
    pub transfer: fn(&TransferFact, Option<TransferStatus>, TransferStatus) -> Option<EventKind>,
    /// What a fact of the realm publishes.
    pub realm: fn(&RealmFact) -> Option<EventKind>,
    /// Whether ids of events have a tag of their record, so that none names anything else after an
    /// older copy of the store was put back. Those of vouchers and holds have the voucher's, under
    /// every set.
    pub tagged: bool,
}

/// Set 1: what the first version of the program counted.
pub const FIRST: EventRules = EventRules {
    account: EventKind::of_account,
    hold: EventKind::of_hold,
    transfer: EventKind::of_transfer,
    realm: EventKind::of_realm,
    tagged: false,
};

/// Set 2: the same events, and every id has a tag.
pub const TAGGED: EventRules = EventRules {
    tagged: true,
    ..FIRST
};

/// Every set that a journal may name, in the order of their numbers, from 1.
#[derive(Clone, Copy, Debug)]
pub struct RuleSets(&'static [EventRules]);

impl RuleSets {
    /// The sets of this program: appended, never edited.
    pub const ALL: Self = Self(&[FIRST, TAGGED]);

    /// Other sets, for a test of what a later program will do.
    pub const fn new(sets: &'static [EventRules]) -> Self {
        Self(sets)
    }

    /// The set of a number, from 1; 0, the number before any set was named, is the first. `None`
    /// for a set of a later program.
    pub fn of(self, number: u16) -> Option<&'static EventRules> {
        self.0.get(usize::from(number.saturating_sub(1)))
    }

    /// The number of the newest set.
    pub fn newest(self) -> u16 {
        u16::try_from(self.0.len()).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_realm_begins_under_the_first_set_and_a_later_program_is_not_guessed() {
        let three = RuleSets::new(&[FIRST, TAGGED, FIRST]);
        assert_eq!((RuleSets::ALL.newest(), three.newest()), (2, 3));
        for (number, known) in [
            (0, true),
            (1, true),
            (2, true),
            (3, false),
            (u16::MAX, false),
        ] {
            assert_eq!(RuleSets::ALL.of(number).is_some(), known, "{number}");
        }
        assert!(three.of(3).is_some() && three.of(4).is_none());
        let change = RealmFact::EventRules { number: 2 };
        assert_eq!((FIRST.realm)(&change), None);
    }
}
