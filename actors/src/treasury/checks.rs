//! What is known of each collector account that is checked at intervals: the bank's last answer, since when the bank is
//! not reachable, and whether money is missing.
//!
//! **Shape.** Every answer of a bank about a balance is taken in, whoever asked ([`CollectorChecks::hear`]). The checks
//! themselves ([`CollectorChecks::judge`]) decide whether money is missing and when the next check is due.
//!
//! **Bounds.** There is one entry for each collector account ([`CollectorChecks::keep`]). While the bank fails, the pause
//! before the next check doubles up to [`CHECK_PAUSE_MAX`].
//!
//! **Memory only.** After a start the first checks find the state again. That money is missing is a fact of the realm.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::time::Timestamp;
use tokio::time::Instant;

use crate::banks::Collectors;
use crate::ports::BankError;

/// The longest pause between two checks of a collector account while its bank fails, unless checks are further apart
/// anyway: ten minutes.
pub const CHECK_PAUSE_MAX: Duration = Duration::from_secs(600);

/// What is known of a collector account.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CollectorCheck {
    /// Both sides as of the bank's last answer; `None` while it has not answered.
    pub last: Option<CoverageFact>,
    /// Since when the bank does not answer; `None` while it does.
    pub unreachable_since: Option<Timestamp>,
    /// Whether the last check found money missing.
    missed: bool,
    /// When the last check was, and how many failed in a row up to it.
    checked: Option<(Instant, u32)>,
}

/// The collector accounts that are checked, by their places.
#[derive(Debug, Default)]
pub struct CollectorChecks(Mutex<HashMap<String, CollectorCheck>>);

impl CollectorChecks {
    fn all(&self) -> MutexGuard<'_, HashMap<String, CollectorCheck>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps only the entries of these accounts, and adds those that are missing.
    pub fn keep(&self, collectors: &Collectors) {
        let mut all = self.all();
        all.retain(|place, _| collectors.contains_key(place));
        for place in collectors.keys() {
            all.entry(place.clone()).or_default();
        }
    }

    /// Forgets everything: another node checked the accounts meanwhile.
    pub fn forget(&self) {
        self.all().clear();
    }

    /// What is known of an account; `None` if it is not checked.
    pub fn of(&self, place: &str) -> Option<CollectorCheck> {
        self.all().get(place).cloned()
    }

    /// Whether a check of an account is due, given the time between two checks.
    pub fn is_due(&self, place: &str, now: Instant, every: Duration) -> bool {
        let all = self.all();
        let checked = all.get(place).and_then(|check| check.checked);
        checked.is_none_or(|(at, failed)| now.duration_since(at) >= pause(every, failed))
    }

    /// Takes in an answer of the bank.
    pub fn hear(&self, place: &str, answer: Result<CoverageFact, &BankError>, now: Timestamp) {
        let mut all = self.all();
        let Some(check) = all.get_mut(place) else {
            return;
        };
        match answer {
            Ok(coverage) => {
                check.last = Some(coverage);
                check.unreachable_since = None;
                check.checked = check.checked.map(|(at, _)| (at, 0));
            }
            // A bank that refuses is there.
            Err(BankError::Refused(_)) => check.unreachable_since = None,
            Err(BankError::Failed { .. } | BankError::TimedOut) => {
                check.unreachable_since.get_or_insert(now);
            }
        }
    }

    /// Takes in what a check found at this instant; `None` if the bank did not answer. Returns what is certain then: that
    /// all of the clients' money is there, or that it was missing in two checks in a row. Money that is missing once may be
    /// on its way: a transfer that has left and is still held counts on one side only.
    pub fn judge(
        &self,
        place: &str,
        found: Option<CoverageFact>,
        now: Instant,
    ) -> Option<CoverageFact> {
        let mut all = self.all();
        let check = all.get_mut(place)?;
        let failed = check.checked.map_or(0, |(_, failed)| failed);
        let Some(coverage) = found else {
            check.checked = Some((now, failed + 1));
            return None;
        };
        check.checked = Some((now, 0));
        let missed = std::mem::replace(&mut check.missed, !coverage.covered);
        (coverage.covered || missed).then_some(coverage)
    }
}

/// The pause before the next check after this many that failed.
fn pause(every: Duration, failed: u32) -> Duration {
    let doubled = 2_u32
        .checked_pow(failed)
        .and_then(|times| every.checked_mul(times));
    let most = CHECK_PAUSE_MAX.max(every);
    doubled.map_or(most, |pause| pause.min(most))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use caudal_ledger::money::Money;
    use caudal_ledger::treasury::Sum;

    use super::*;
    use crate::banks::OnCollector;
    use crate::ports::Collector;

    const EVERY: Duration = Duration::from_secs(60);

    fn checks() -> CollectorChecks {
        let on = OnCollector {
            place: "a".to_owned(),
            collector: Collector::default(),
            realms: BTreeSet::new(),
        };
        let checks = CollectorChecks::default();
        checks.keep(&Collectors::from([("a".to_owned(), Arc::new(on))]));
        checks
    }

    fn coverage(bank: i64) -> CoverageFact {
        let owed = 100;
        CoverageFact {
            at: Timestamp::from_millis(1),
            bank: Money::from_centavos(bank),
            owed: Sum::from_centavos(owed),
            free: Sum::from_centavos(i128::from(bank) - owed),
            ratio: None,
            covered: i128::from(bank) >= owed,
            shared: false,
        }
    }

    #[test]
    fn money_is_missing_after_two_checks_in_a_row_and_there_after_one() {
        let (checks, now) = (checks(), Instant::now());
        let judge = |bank: i64| checks.judge("a", Some(coverage(bank)), now);
        for (bank, certain) in [
            (100, true),
            (99, false),
            (100, true),
            (99, false),
            (98, true),
            (97, true),
            (100, true),
        ] {
            let right = certain.then(|| coverage(bank));
            assert_eq!(judge(bank), right, "{bank}");
        }
        // A check that the bank does not answer neither counts nor interrupts.
        assert_eq!(judge(99), None);
        assert_eq!(checks.judge("a", None, now), None);
        assert_eq!(judge(99), Some(coverage(99)));
        // An account that is not checked has no state.
        assert_eq!(checks.judge("b", Some(coverage(1)), now), None);
        assert_eq!(checks.of("b"), None);
    }

    #[test]
    fn the_pause_doubles_while_the_bank_fails_and_ends_with_any_answer() {
        let (checks, mut now) = (checks(), Instant::now());
        assert!(checks.is_due("a", now, EVERY));
        for minutes in [2, 4, 8, 10, 10] {
            checks.judge("a", None, now);
            let next = now + Duration::from_secs(60 * minutes);
            assert!(!checks.is_due("a", next - Duration::from_secs(1), EVERY));
            assert!(checks.is_due("a", next, EVERY), "{minutes}");
            now = next;
        }
        for _ in 0..100 {
            checks.judge("a", None, now);
        }
        assert!(checks.is_due("a", now + CHECK_PAUSE_MAX, EVERY));
        assert!(!checks.is_due("a", now + EVERY, EVERY));
        // A snapshot got an answer.
        checks.hear("a", Ok(coverage(1)), Timestamp::from_millis(1));
        assert!(checks.is_due("a", now + EVERY, EVERY));
    }

    #[test]
    fn a_bank_is_unreachable_since_the_first_answer_that_did_not_come() {
        let (checks, at) = (checks(), Timestamp::from_millis);
        let since = || checks.of("a").unwrap().unreachable_since;
        let failed = BankError::Failed {
            status: None,
            body: String::new(),
        };
        checks.hear("a", Err(&BankError::TimedOut), at(1));
        checks.hear("a", Err(&failed), at(2));
        assert_eq!(since(), Some(at(1)));
        checks.hear("a", Ok(coverage(7)), at(3));
        assert_eq!(since(), None);
        checks.hear("a", Err(&failed), at(4));
        assert_eq!(since(), Some(at(4)));
        // What it said last stays.
        assert_eq!(checks.of("a").unwrap().last, Some(coverage(7)));
        checks.keep(&Collectors::new());
        assert_eq!(checks.of("a"), None);
    }
}
