//! The histories of many accounts, found by their numbers.
//!
//! **Shape.** Numbers are given without gaps, so the histories of neighbours are side by side, in pages. The movements of
//! a journal concern accounts in no order, and finding the history of each one mostly waits for memory. The pages are so
//! few that their table stays in a processor's caches, and only the history itself is waited for.
//!
//! **Bounds.** About 100 bytes for an account; [`PAGE`] times as much for one without neighbours.

use caudal_ledger::history::History;
use caudal_ledger::ids::{AccountNo, RealmId};
use foldhash::HashMap;

use super::{At, Histories};

/// How many accounts a page has.
const PAGE: usize = 64;
/// The binary digits of a number that tell its place on a page.
const PLACE_BITS: u32 = PAGE.ilog2();

/// The histories of accounts whose numbers differ only in their last digits.
#[derive(Debug)]
struct HistoryPage {
    /// A bit for each place, lowest first: whether the account is known.
    known: u64,
    histories: [History; PAGE],
}

impl HistoryPage {
    fn empty() -> Box<Self> {
        Box::new(Self {
            known: 0,
            histories: std::array::from_fn(|_| History::default()),
        })
    }
}

/// Histories by account.
#[derive(Debug, Default)]
pub(super) struct HistoryPages(HashMap<(RealmId, u64), Box<HistoryPage>>);

impl HistoryPages {
    /// The history of an account; a new one if the account was not known.
    #[expect(
        clippy::indexing_slicing,
        reason = "the last digits of a number are below the length of a page"
    )]
    pub(super) fn of(&mut self, (realm, number): At) -> &mut History {
        let [.., last] = number.0.to_be_bytes();
        let place = usize::from(last) % PAGE;
        let page = self.0.entry((realm, number.0 >> PLACE_BITS));
        let page = page.or_insert_with(HistoryPage::empty);
        page.known |= 1 << place;
        &mut page.histories[place]
    }

    /// All of them, in the order of the accounts.
    pub(super) fn in_order(self) -> Histories {
        let mut pages: Vec<_> = self.0.into_iter().collect();
        pages.sort_unstable_by_key(|(at, _)| *at);
        let all = pages.into_iter().flat_map(|((realm, page), it)| {
            let HistoryPage { known, histories } = *it;
            let places = (0_u64..).zip(histories);
            let places = places.filter(move |(place, _)| known >> place & 1 == 1);
            places.map(move |(place, history)| {
                ((realm, AccountNo((page << PLACE_BITS) + place)), history)
            })
        });
        all.collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn accounts_are_found_and_listed_in_their_order_also_the_first_and_the_last_of_a_page() {
        let numbers = [u64::MAX, 0, 1, 63, 64, 127, 128, 1 << 40, u64::MAX - 63];
        let all = numbers.iter().flat_map(|number| {
            let realms = [7, 3].into_iter();
            realms.map(move |realm| (RealmId(realm), AccountNo(*number)))
        });
        let (mut found, mut right) = (HistoryPages::default(), BTreeMap::new());
        for round in 1..3 {
            for (n, at) in (round..).zip(all.clone()) {
                let history = found.of(at);
                let before = right.insert(
                    at,
                    History {
                        sequence: n,
                        ..History::default()
                    },
                );
                assert_eq!(*history, before.unwrap_or_default(), "{at:?}");
                history.sequence = n;
            }
        }
        assert_eq!(found.in_order(), right);
    }
}
