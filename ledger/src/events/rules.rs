//! The rules by which facts are events: whole sets of rules, each in force in a realm from a
//! certain fact of its journal on.
//!
//! **Shape.** The number of an event is not stored: it is counted over the journal when facts are
//! indexed, and counted again when the index is rebuilt. So the rules of the count are part of
//! history. A realm begins under set 1; [`RealmFact::EventRules`] puts a later set into force for
//! the entries after it, and the entries before it keep their numbers.
//!
//! **Order.** A set that a journal may name is never changed and never removed. A fact that no
//! journal can contain yet may become an event under every set, because that renumbers nothing.

use super::EventKind;
use crate::facts::{AccountFact, RealmFact};
use crate::holds::Hold;
use crate::transfers::{TransferFact, TransferStatus};
use crate::vouchers::Voucher;

/// One set of rules. Under every set a voucher is one event, and so is a record of suspense or of coverage; a
/// decision on a transfer also publishes the transfer's ending ([`EventKind::of_ending`]), and the
/// outcome of money in suspense is published by [`EventKind::of_case`].
#[derive(Clone, Copy, Debug)]
pub struct EventRules {
    /// The event of a fact of an account's profile.
    pub account: fn(&AccountFact) -> Option<EventKind>,
    /// The further event of a voucher: about the hold that it opens or steps, given the hold after
    /// it.
    pub hold: fn(&Voucher, Option<&Hold>) -> Option<EventKind>,
    /// The event of a fact of a transfer, given its state before (unless the fact is the first) and
    /// after.
    pub transfer: fn(&TransferFact, Option<TransferStatus>, TransferStatus) -> Option<EventKind>,
    /// The event of a fact of the realm.
    pub realm: fn(&RealmFact) -> Option<EventKind>,
    /// Whether event ids have a tag of their record, so that no id names anything else after an
    /// older copy of the store was put back. Event ids of vouchers and holds have the voucher's tag
    /// under every set.
    pub tagged: bool,
}

/// Set 1: the events of the first version of the program.
pub const FIRST: EventRules = EventRules {
    account: EventKind::of_account,
    hold: EventKind::of_hold,
    transfer: EventKind::of_transfer,
    realm: EventKind::of_realm,
    tagged: false,
};

/// Set 2: the same events, with a tag in every id.
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

    /// Other sets, for testing the behaviour of a later program.
    pub const fn new(sets: &'static [EventRules]) -> Self {
        Self(sets)
    }

    /// The set with a number, from 1; 0, the number before any set was named, is the first set.
    /// `None` for a set of a later program.
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
