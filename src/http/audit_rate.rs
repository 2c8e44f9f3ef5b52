//! How many looks, checks and denials of an operator have entries of their own in the audit log.
//!
//! **Shape.** A check or a denial is a commit or two, and it costs its operator nothing. So each operator has an allowance; what
//! goes beyond it is counted, and the count is stored with the operator's next entry.
//!
//! A look always has an entry: a page beyond an allowance of its own is refused. Of the same page, again in the same
//! minute, one entry is enough.
//!
//! **Bounds.** [`BURST`] entries at once and one more every [`EVERY`], for each operator; of looks [`LOOKS_BURST`] and
//! [`LOOKS_EVERY`]. There are as many counts as operators, and as many marks as looks of a minute.
//!
//! **Failure.** A count that was not stored before the process ended is lost.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use caudal_ledger::time::Timestamp;

use super::errors::ApiError;
use super::rate::{Rate, seconds};
use super::words::Refusal;

/// How many checks and denials of one operator have entries of their own in one burst.
pub const BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How long after a burst one more has an entry.
pub const EVERY: Duration = Duration::from_secs(3);

/// How many pages that show persons one operator may open in one burst.
pub const LOOKS_BURST: NonZeroU32 = NonZeroU32::new(120).unwrap();
/// How long after a burst one more may be opened.
pub const LOOKS_EVERY: Duration = Duration::from_secs(1);
const MINUTE_MILLIS: u64 = 60_000;

/// The allowances of all operators, and the counts of what has no entries.
#[derive(Debug)]
pub struct AuditRate {
    allowances: Rate<String>,
    omitted: Mutex<HashMap<String, u64>>,
    looks: Rate<String>,
    /// The minute, and the looks that have entries in it.
    seen: Mutex<(u64, HashSet<u64>)>,
    hasher: RandomState,
}

/// A look that is to have an entry.
#[derive(Debug)]
pub struct Look {
    minute: u64,
    page: u64,
}

impl AuditRate {
    /// The allowances, with this many checks and denials of each operator in one burst, and at least as many looks.
    pub fn new(burst: NonZeroU32) -> Self {
        Self {
            allowances: Rate::new(burst, EVERY),
            omitted: Mutex::default(),
            looks: Rate::new(burst.max(LOOKS_BURST), LOOKS_EVERY),
            seen: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// A look of an operator at a page, with its query, that is to have an entry; `None` when it has one of the same
    /// minute. Whoever has written the entry says so by [`Self::wrote`].
    ///
    /// # Errors
    /// 429 when the operator opens too many pages: what cannot be recorded is not shown.
    pub fn look(
        &self,
        operator: &str,
        page: &str,
        at: Timestamp,
    ) -> Result<Option<Look>, ApiError> {
        // The clock gives the minute, so that a service whose clock stands still has one.
        let minute = at.millis().div_euclid(MINUTE_MILLIS);
        let page = self.hasher.hash_one((operator, page));
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 == minute && seen.1.contains(&page) {
            return Ok(None);
        }
        drop(seen);
        match self.looks.take(&operator.to_owned()) {
            Ok(_) => Ok(Some(Look { minute, page })),
            Err(wait) => Err(ApiError::from(Refusal::LookRate {
                burst: LOOKS_BURST.get(),
                seconds: LOOKS_EVERY.as_secs(),
            })
            .later(seconds(wait))),
        }
    }

    /// Remembers for the rest of the minute that a look has its entry.
    pub fn wrote(&self, look: &Look) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.0 != look.minute {
            *seen = (look.minute, HashSet::new());
        }
        seen.1.insert(look.page);
    }

    /// Whether a login, a check or a denial of an operator has an entry of its own; if not, it is counted.
    pub fn admits(&self, operator: &str) -> bool {
        let admitted = self.allowances.take(&operator.to_owned()).is_ok();
        if !admitted {
            self.add(operator, 1);
        }
        admitted
    }

    /// Takes the count of an operator, to be stored with the entry that is about to be written.
    pub fn taken(&self, operator: &str) -> u64 {
        let mut omitted = self.omitted.lock().unwrap_or_else(PoisonError::into_inner);
        omitted.remove(operator).map_or(0, |count| count)
    }

    /// Adds to the count of an operator.
    pub fn add(&self, operator: &str, more: u64) {
        if more > 0 {
            let mut omitted = self.omitted.lock().unwrap_or_else(PoisonError::into_inner);
            *omitted.entry(operator.to_owned()).or_default() += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_without_an_entry_are_counted_until_the_next_entry() {
        let rate = AuditRate::new(BURST);
        let admitted = (0..200).filter(|_| rate.admits("ana")).count();
        assert!((20..40).contains(&admitted), "{admitted}");
        assert!(rate.admits("eva"));
        let omitted = u64::try_from(200 - admitted).unwrap();
        assert_eq!((rate.taken("ana"), rate.taken("ana")), (omitted, 0));
        assert_eq!(rate.taken("eva"), 0);
        rate.add("ana", omitted);
        assert_eq!(rate.taken("ana"), omitted);
    }

    #[test]
    fn a_page_has_one_entry_a_minute_and_too_many_pages_are_refused() {
        let rate = AuditRate::new(BURST);
        let at = |minute: u64| Timestamp::from_millis(minute * MINUTE_MILLIS);
        let look = |who: &str, page: &str, minute| rate.look(who, page, at(minute));
        let first = look("ana", "/a", 7).unwrap().unwrap();
        // Until its entry is written, it has none.
        assert!(look("ana", "/a", 7).unwrap().is_some());
        rate.wrote(&first);
        assert!(look("ana", "/a", 7).unwrap().is_none());
        for (who, page, minute) in [("ana", "/a?q=1", 7), ("eva", "/a", 7), ("ana", "/a", 8)] {
            assert!(look(who, page, minute).unwrap().is_some(), "{who} {page}");
        }
        let refused = (0..200).find_map(|nth| look("ana", &nth.to_string(), 8).err());
        let refused = refused.unwrap();
        assert_eq!(
            (refused.code(), refused.retry_after),
            ("rate_limited", Some(1))
        );
        assert!(look("eva", "/b", 8).is_ok());
    }
}
