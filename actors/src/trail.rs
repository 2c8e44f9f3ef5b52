//! Which request wrote a voucher: for the courier, which delivers the voucher's events, and for operators who have the
//! id of a request.
//!
//! **Shape.** Only in memory, and only while the realm has a courier. An event that is delivered after a restart, or
//! long after it happened, has no request any more; the log at DEBUG has it, where each commit names its request and
//! its vouchers.
//!
//! **Bounds.** The newest [`NOTED_MAX`] vouchers of a realm.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use caudal_ledger::ids::AccountNo;
use caudal_storage::Entry;
use foldhash::HashMap;

use crate::records::LEDGER;

/// How many of a realm's newest vouchers have their requests remembered.
pub const NOTED_MAX: usize = 8_192;

/// The place of a voucher: its account and its sequence there.
pub type TrailPlace = (AccountNo, u64);

/// Which request wrote which voucher of a realm.
#[derive(Debug, Default)]
pub struct Trail {
    followed: AtomicBool,
    noted: Mutex<TrailEntries>,
}

#[derive(Debug, Default)]
struct TrailEntries {
    of: HashMap<TrailPlace, Arc<str>>,
    order: VecDeque<TrailPlace>,
}

impl Trail {
    /// Begins to note: there is now a reader.
    pub fn follow(&self) {
        self.followed.store(true, Ordering::Relaxed);
    }

    fn noted(&self) -> MutexGuard<'_, TrailEntries> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the request of the vouchers among some entries.
    pub fn note(&self, entries: &[Entry], request_id: &str) {
        if entries.is_empty() || !self.followed.load(Ordering::Relaxed) {
            return;
        }
        let vouchers = entries.iter().filter(|entry| entry.stream.kind == LEDGER);
        let mut noted = self.noted();
        let mut id: Option<Arc<str>> = None;
        for entry in vouchers {
            let place = (AccountNo(entry.stream.number), entry.seq);
            let id = id.get_or_insert_with(|| Arc::from(request_id));
            // A voucher that never became durable may be noted already: the last note is the true one.
            if noted.of.insert(place, Arc::clone(id)).is_none() {
                noted.order.push_back(place);
            }
            if noted.order.len() > NOTED_MAX
                && let Some(oldest) = noted.order.pop_front()
            {
                noted.of.remove(&oldest);
            }
        }
    }

    /// The request of a voucher, while it is known.
    pub fn of(&self, account: AccountNo, sequence: u64) -> Option<Arc<str>> {
        self.noted().of.get(&(account, sequence)).cloned()
    }

    /// The vouchers that a request wrote, as far as they are known, oldest first: each with its account and sequence.
    pub fn by(&self, request_id: &str) -> Vec<TrailPlace> {
        let noted = self.noted();
        let wrote = |place: &&TrailPlace| {
            let id = noted.of.get(place);
            id.is_some_and(|id| id.as_ref() == request_id)
        };
        noted.order.iter().filter(wrote).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use caudal_ledger::ids::RealmId;

    use caudal_storage::Fact;

    use super::*;

    fn entry(sequence: u64) -> Entry {
        Entry {
            stream: crate::records::account_stream(RealmId(2), AccountNo(1), LEDGER),
            seq: sequence,
            at: 0,
            body: Vec::new(),
            fact: Fact::default(),
        }
    }

    #[test]
    fn newest_requests_are_recorded_once_followed() {
        let trail = Trail::default();
        trail.note(&[entry(1)], "unheard");
        assert_eq!(trail.of(AccountNo(1), 1), None);
        trail.follow();
        let last = u64::try_from(NOTED_MAX).unwrap() + 1;
        for sequence in 1..=last {
            trail.note(&[entry(sequence)], "first");
        }
        trail.note(&[entry(last)], "again");
        assert_eq!(trail.of(AccountNo(1), 1), None);
        assert_eq!(trail.of(AccountNo(1), 2).as_deref(), Some("first"));
        assert_eq!(trail.of(AccountNo(1), last).as_deref(), Some("again"));
        assert_eq!(trail.of(AccountNo(2), last), None);
        assert_eq!(trail.by("again"), [(AccountNo(1), last)]);
        assert_eq!(trail.by("first").len(), NOTED_MAX - 1);
        assert_eq!(trail.by("unheard"), []);
    }
}
