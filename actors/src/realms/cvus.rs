//! The accounts of the CVUs that were asked for lately, so that the index need not be.
//!
//! **Shape.** Two generations, each a number for a number: when the newer one is full it becomes the older one, and
//! what was not asked for since it was begun is forgotten. So a realm with more accounts than are remembered never
//! forgets all of them at once.
//!
//! **Bounds.** [`BESIDE`] for each account that may be in memory, and never more than [`MOST`]; one takes about 36 bytes.

use caudal_ledger::cvu::Cvu;
use caudal_ledger::ids::AccountNo;
use foldhash::HashMap;

/// CVUs that are remembered for each account that may be in memory.
const BESIDE: usize = 8;
/// The most CVUs of one realm that are remembered.
const MOST: usize = 2_000_000;

/// The accounts of CVUs. A CVU is of one account for ever, so nothing here has to be taken out of date.
#[derive(Debug, Default)]
pub(super) struct Cvus {
    newer: HashMap<u64, u64>,
    older: HashMap<u64, u64>,
}

impl Cvus {
    /// The account of a CVU, if it is remembered, while so many accounts may be in memory.
    pub(super) fn get(&mut self, cvu: Cvu, resident: usize) -> Option<AccountNo> {
        let number = cvu.number();
        if let Some(found) = self.newer.get(&number) {
            return Some(AccountNo(*found));
        }
        let account = AccountNo(*self.older.get(&number)?);
        self.remember(cvu, account, resident);
        Some(account)
    }

    /// Remembers a CVU while so many accounts may be in memory.
    pub(super) fn remember(&mut self, cvu: Cvu, account: AccountNo, resident: usize) {
        let most = resident.min(MOST / BESIDE) * BESIDE / 2;
        if self.newer.len() > most {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(cvu.number(), account.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_asked_for_lately_are_remembered_and_no_more_than_there_is_room_for() {
        let mut cvus = Cvus::default();
        let cvu = |client| Cvu::compose(184, client).unwrap();
        for client in 0..1000 {
            cvus.remember(cvu(client), AccountNo(client + 1), 10);
            assert!(cvus.newer.len() + cvus.older.len() <= 10 * BESIDE + 2);
            cvus.get(cvu(7), 10);
            assert!(client < 7 || cvus.get(cvu(7), 10).is_some(), "{client}");
            for near in client - client.min(30)..=client {
                assert_eq!(cvus.get(cvu(near), 10), Some(AccountNo(near + 1)));
            }
        }
        assert_eq!(cvus.get(cvu(0), 10), None);
    }
}
