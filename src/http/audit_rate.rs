//! How many looks, checks and denials of an operator have entries of their own in the audit log.
//!
//! **Shape.** A look, a check or a denial is a commit or two, and it costs its operator nothing. So each operator has an allowance; what
//! goes beyond it is counted, and the count is stored with the operator's next entry.
//!
//! **Bounds.** [`BURST`] entries at once and one more every [`EVERY`], for each operator. There are as many counts as
//! operators.
//!
//! **Failure.** A count that was not stored before the process ended is lost.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::rate::Rate;

/// How many looks, checks and denials of one operator have entries of their own in one burst.
pub const BURST: NonZeroU32 = NonZeroU32::new(20).unwrap();
/// How long after a burst one more has an entry.
pub const EVERY: Duration = Duration::from_secs(3);

/// The allowances of all operators, and the counts of what has no entries.
#[derive(Debug)]
pub struct AuditRate {
    allowances: Rate<String>,
    omitted: Mutex<HashMap<String, u64>>,
}

impl AuditRate {
    /// The allowances, with this many entries of each operator in one burst.
    pub fn new(burst: NonZeroU32) -> Self {
        Self {
            allowances: Rate::new(burst, EVERY),
            omitted: Mutex::default(),
        }
    }

    /// Whether a look, a check or a denial of an operator has an entry of its own; if not, it is counted.
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
}
