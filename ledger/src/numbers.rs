//! Numbers that clients and operators write down: of accounts, voucher types, webhooks and requests that wait for a
//! second person. A number that was given once never names anything else, in whatever copy of the store.
//!
//! **The danger.** After an older copy of a data folder was put back, or a backup was restored to an instant, clients
//! still know the numbers that the lost history gave. If the store gave them again, a credit for one person would reach
//! another one. A folder that was copied back does not show that it is an older copy.
//!
//! **Shape.** Nothing has to be detected. A number follows the last one of its kind, and the first one after the store
//! was opened leaves a gap: as many numbers as an unknown history can have given between the last number that the store
//! knows and the opening of the store ([`Opening::next`]). Until the store is opened again the numbers are contiguous.
//! The number is part of the fact, so it is decided once.
//!
//! **Why never twice.** What a lost history gave, it gave after the last number that this copy knows, and before this
//! copy was opened. In that time it gave at most one number in each [`Kind::pace`] on average, and the gaps that it left
//! itself are parts of the same time. So all of its numbers are within the gap.
//!
//! **Bounds.** All gaps of a realm together are at most its age divided by the pace: after ten years an account number
//! has at most 12 digits, and at most [`AccountNo::MAX`](crate::ids::AccountNo::MAX) is ever given. A clock that is set
//! back before the last number leaves no gap; the service does not write while its clock is in doubt.
//!
//! **Every kind of number and id that leaves the service:**
//!
//! | what | why it is never given twice | test |
//! | --- | --- | --- |
//! | account (`walletAccountId`, `id`, `idCuenta`) | gap, one number a millisecond | `tests/numbers.rs` |
//! | record of a CVU (`cuentaCVUId`) | derived from the account's number ([`AccountNo::cvu_record`](crate::ids::AccountNo::cvu_record)) | `tests/numbers.rs` |
//! | voucher type (`legacyId`, `idTipoComprobante`) | gap, one number in 100 ms | `tests/numbers.rs` |
//! | webhook (`whk_`) | gap, one number a millisecond | `tests/numbers.rs` |
//! | request for a second person | gap, one number in 100 ms | `tests/numbers.rs` |
//! | delivery (`dlv_`) | number of the webhook, and the tag of the event | `webhooks::tests` |
//! | voucher (`cmp_`), hold (`hld_`), transfer (`trf_`) | tag of the history before it ([`Tag`](crate::ids::Tag)) | `accounts::tests::histories` |
//! | event (`evt_`) | tag of its voucher or record | `events` |
//! | suspense (`sus_`), unbooked statement (`unb_`) | tag of the rail's id, of the bank's statement | `cases::tests` |
//! | reference of a transfer or a return at the bank | digest of tenant and external id ([`OriginId`](crate::ids::OriginId)) | `ids` |
//! | client id and CVU at the bank | digest of tenant and holder ([`clients`](crate::clients)) | `clients` |
//! | enrolment | the reference that the bank knows | `remuneration` |
//! | API key, credential of a person, id of a request | drawn at random | |
//! | tenant, external id, code, alias | chosen by a client or operator | |
//! | realm | given again to the next tenant; ids that contain it have a tag, a gap or a digest of the tenant besides | |
//! | `sequence` of a movement, page, cursor | a position in a list, names nothing by itself | |

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// What a number is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// An account of a realm.
    Account,
    /// A voucher type of a realm.
    VoucherType,
    /// A webhook of a realm.
    Webhook,
    /// A request that waits for a second person.
    Approval,
}

impl Kind {
    /// The first number of the kind. Those of voucher types are far above the ids that wallet clients know as the
    /// bank's own.
    pub const fn first(self) -> u64 {
        match self {
            Self::VoucherType => 1000,
            Self::Account | Self::Webhook | Self::Approval => 1,
        }
    }

    /// The time in which a history gives at most one number on average, in milliseconds. Programs open accounts and
    /// create webhooks; voucher types and requests come from people, and people type their numbers.
    pub const fn pace(self) -> u64 {
        match self {
            Self::Account | Self::Webhook => 1,
            Self::VoucherType | Self::Approval => 100,
        }
    }
}

/// The last number of a kind, and when it was given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct LastNumber {
    /// The number.
    pub number: u64,
    /// When it was given.
    pub at: Timestamp,
}

/// The times that decide how large a gap is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Opening {
    /// When the store was opened.
    pub opened: Timestamp,
    /// When the owner of the numbers was created: no number is older.
    pub began: Timestamp,
}

impl Opening {
    /// The next number of a kind after the last one that the store knows.
    pub fn next(self, kind: Kind, last: Option<LastNumber>, now: Timestamp) -> u64 {
        let (next, known_until) = last.map_or((kind.first(), self.began), |last| {
            (last.number.saturating_add(1), last.at)
        });
        let opened = self.opened.min(now).max(known_until);
        let unknown = opened.millis().strict_sub(known_until.millis());
        next.saturating_add(unknown.div_ceil(kind.pace()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KINDS: [Kind; 4] = [
        Kind::Account,
        Kind::VoucherType,
        Kind::Webhook,
        Kind::Approval,
    ];

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn numbers_are_contiguous_until_the_store_is_opened_again() {
        for kind in KINDS {
            let first = Opening {
                opened: at(5_000),
                began: at(5_007),
            };
            let mut last = None;
            for number in 0..3 {
                let now = at(6_000 + number);
                let given = first.next(kind, last, now);
                assert_eq!(given, kind.first() + number, "{kind:?}");
                last = Some(LastNumber {
                    number: given,
                    at: now,
                });
            }
            let again = Opening {
                opened: at(16_002),
                ..first
            };
            let gap = 10_000 / kind.pace();
            let next = again.next(kind, last, at(20_000));
            assert_eq!(next, kind.first() + 3 + gap, "{kind:?}");
            let last = Some(LastNumber {
                number: next,
                at: at(20_000),
            });
            assert_eq!(again.next(kind, last, at(90_000)), next + 1, "{kind:?}");
        }
    }

    #[test]
    fn a_clock_that_was_set_back_leaves_no_gap_and_repeats_nothing() {
        let opening = Opening {
            opened: at(1_000),
            began: at(1),
        };
        let last = LastNumber {
            number: 7,
            at: at(2_000),
        };
        assert_eq!(opening.next(Kind::Account, Some(last), at(1_500)), 8);
        let opened_ahead = Opening {
            opened: at(9_000_000),
            ..opening
        };
        assert_eq!(opened_ahead.next(Kind::Account, Some(last), at(2_003)), 11);
    }

    /// Gives numbers at these times; `None` opens the store again. Returns the numbers and the last one.
    fn history(
        kind: Kind,
        mut last: Option<LastNumber>,
        mut opening: Opening,
        from: u64,
        steps: &[(u64, bool)],
    ) -> (Vec<u64>, u64) {
        let (mut now, mut numbers) = (from, Vec::new());
        for (millis, opens) in steps {
            now += millis.max(&kind.pace());
            if *opens {
                opening.opened = at(now);
                continue;
            }
            let number = opening.next(kind, last, at(now));
            numbers.push(number);
            last = Some(LastNumber {
                number,
                at: at(now),
            });
        }
        (numbers, now)
    }

    proptest! {
        /// Whatever two copies of a store do one after the other, they never give the same number.
        #[test]
        fn two_histories_from_one_copy_share_no_number(
            kind in 0_usize..4,
            known in proptest::option::of((1_000_u64..5_000, 0_u64..10_000)),
            lost in proptest::collection::vec((0_u64..2_000, any::<bool>()), 0..40),
            after in proptest::collection::vec((0_u64..2_000, any::<bool>()), 0..40),
        ) {
            let kind = KINDS[kind];
            let last = known.map(|(number, when)| LastNumber { number, at: at(when) });
            let opening = Opening { opened: at(0), began: at(0) };
            let (lost, ended) = history(kind, last, opening, 10_000, &lost);
            let opened = Opening { opened: at(ended + 1), ..opening };
            let (after, _) = history(kind, last, opened, ended + 1, &after);
            let mut all: Vec<_> = lost.iter().chain(&after).copied().collect();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count, "{:?} and {:?}", lost, after);
        }
    }
}
