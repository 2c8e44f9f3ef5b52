//! A cache from recently used CVUs to their accounts, which saves reads of the index.
//!
//! **Shape.** Two maps from number to number. When the newer one is full it becomes the older one, and entries that
//! were not used since the older one was begun are forgotten. So a realm with more accounts than the cache holds never
//! loses all of them at once.
//!
//! **Bounds.** [`REMEMBERED`] for each account that the realm may have in memory next to the other realms, and never
//! more than [`MOST`]. When the bound shrinks, the next sweep forgets the excess.

use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use foldhash::HashMap;

use crate::residency::REMEMBERED;

/// The most CVUs of one realm that are remembered.
const MOST: usize = 2_000_000;

/// The accounts of CVUs. A CVU belongs to one account for ever, so no entry can become stale.
#[derive(Debug, Default)]
pub(super) struct Cvus {
    newer: HashMap<u64, u64>,
    older: HashMap<u64, u64>,
}

impl Cvus {
    /// The account of a CVU, if it is remembered, while the realm may have this many accounts in memory.
    pub(super) fn get(&mut self, cvu: Cvu, share: usize) -> Option<AccountNo> {
        let number = cvu.number();
        if let Some(found) = self.newer.get(&number) {
            return Some(AccountNo(*found));
        }
        let account = AccountNo(*self.older.get(&number)?);
        self.remember(cvu, account, share);
        Some(account)
    }

    /// Remembers a CVU while the realm may have this many accounts in memory.
    pub(super) fn remember(&mut self, cvu: Cvu, account: AccountNo, share: usize) {
        let most = bound(share) / 2;
        if self.newer.len() >= most {
            // The older map's allocation is filled again, so that it need not grow step by step.
            std::mem::swap(&mut self.newer, &mut self.older);
            self.newer.clear();
            if self.newer.capacity() > 4 * most {
                self.newer.shrink_to(most);
            }
        }
        self.newer.insert(cvu.number(), account.0);
    }

    /// Gives back the memory beyond the bound, while the realm may have this many accounts in memory.
    pub(super) fn trim(&mut self, share: usize) {
        let most = bound(share);
        if self.newer.len() + self.older.len() > most {
            self.older = HashMap::default();
        }
        if self.newer.len() > most {
            self.newer = HashMap::default();
        }
    }
}

/// How many CVUs are remembered while the realm may have this many accounts in memory.
fn bound(share: usize) -> usize {
    share.clamp(1, MOST / REMEMBERED) * REMEMBERED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recent_entries_are_cached_within_the_bound() {
        let mut cvus = Cvus::default();
        let cvu = |client| Cvu::compose(184, client).unwrap();
        for client in 0..1000 {
            cvus.remember(cvu(client), AccountNo(client + 1), 10);
            assert!(cvus.newer.len() + cvus.older.len() <= 10 * REMEMBERED);
            cvus.get(cvu(7), 10);
            assert!(client < 7 || cvus.get(cvu(7), 10).is_some(), "{client}");
            for near in client - client.min(30)..=client {
                assert_eq!(cvus.get(cvu(near), 10), Some(AccountNo(near + 1)));
            }
        }
        assert_eq!(cvus.get(cvu(0), 10), None);
        cvus.trim(10);
        assert!(
            cvus.get(cvu(7), 10).is_some(),
            "what is within the bound stays"
        );
    }

    #[test]
    fn residents_beyond_a_lowered_bound_are_evicted() {
        let mut cvus = Cvus::default();
        let cvu = |client| Cvu::compose(184, client).unwrap();
        for client in 0..4000 {
            cvus.remember(cvu(client), AccountNo(client + 1), 500);
        }
        assert_eq!((cvus.newer.len(), cvus.older.len()), (2000, 2000));
        cvus.trim(250);
        assert_eq!((cvus.newer.len(), cvus.older.capacity()), (2000, 0));
        cvus.remember(cvu(4000), AccountNo(4001), 10);
        cvus.remember(cvu(4001), AccountNo(4002), 10);
        assert_eq!((cvus.newer.len(), cvus.older.len()), (2, 2000));
        for client in 0..80 {
            cvus.remember(cvu(client), AccountNo(client + 1), 10);
        }
        let room = cvus.newer.capacity() + cvus.older.capacity();
        assert!(room <= 8 * 40, "{room}");
        for client in 0..4000 {
            cvus.remember(cvu(client), AccountNo(client + 1), 500);
        }
        cvus.trim(1);
        let room = cvus.newer.capacity() + cvus.older.capacity();
        assert_eq!((cvus.newer.len(), room), (0, 0));
    }
}
