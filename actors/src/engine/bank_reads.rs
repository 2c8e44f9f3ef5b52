//! Questions to the bank that readers cause: lookups, lists of movements, statements, positions in a fund.
//!
//! **Shape.** A reading key must not be able to take the bank from the realm's own orders, nor from other realms. Each
//! realm has slots and a rate for these questions, and their answers are kept for a moment. An order never takes a
//! slot: transfers resolve their destination, and recovery asks for states, without one.
//!
//! **Bounds.** See [`BankReadLimits`]. A question that would wait longer than [`WAIT_MAX`] is refused
//! ([`Failure::BankReadsLimited`]); nobody asks the bank then. [`LOOKUPS_KEPT`] lookups are kept, and lists and
//! statements with [`MOVEMENTS_KEPT`] movements each, of all realms together; when that is full, further answers are not
//! kept.
//!
//! **Order.** A kept answer is given only while nothing has happened between the realm and its bank since the question
//! ([`RealmBank::changes`](crate::banks::RealmBank::changes)): whoever renames an account and looks it up sees the new
//! name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::BusinessDay;
use caudal_ledger::transfers::Destination;
use dashmap::DashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Core;
use crate::banks::RealmBank;
use crate::failure::Failure;
use crate::ports::{CollectorStatement, DayList, KeyHolder};

/// How many questions of one realm are at the bank at the same time, unless set.
const SLOTS: usize = 8;
/// How many questions a realm may ask in one burst, unless set: more than two for each day of the longest
/// reconciliation.
const BURST: u32 = 80;
/// How long after a burst the realm may ask one more, unless set.
const EVERY: Duration = Duration::from_millis(100);
/// How long an answer is kept, unless set.
const KEPT: Duration = Duration::from_secs(2);
/// How long a question waits for a slot and for its rate.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// How many lookups are kept, of all realms.
const LOOKUPS_KEPT: usize = 4096;
/// How many movements the kept lists have, of all realms.
const MOVEMENTS_KEPT: usize = 50_000;

/// The limits of a realm's questions to the bank that readers cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BankReadLimits {
    /// How many are at the bank at the same time.
    pub slots: usize,
    /// How many may be asked in one burst.
    pub burst: u32,
    /// How long after a burst one more may be asked.
    pub every: Duration,
    /// How long an answer is kept; zero keeps none.
    pub kept: Duration,
}

impl Default for BankReadLimits {
    fn default() -> Self {
        Self {
            slots: SLOTS,
            burst: BURST,
            every: EVERY,
            kept: KEPT,
        }
    }
}

/// The questions of all realms.
#[derive(Debug)]
pub(super) struct BankReads {
    limits: BankReadLimits,
    realms: DashMap<RealmId, Arc<RealmReads>>,
    /// Lookups, by the CBU, CVU or alias.
    pub lookups: CachedAnswers<(RealmId, String), KeyHolder>,
    /// Lists of movements, by their day.
    pub lists: CachedAnswers<(RealmId, BusinessDay), Arc<DayList>>,
    /// Statements of collector accounts, by their day.
    pub statements: CachedAnswers<(RealmId, BusinessDay), Arc<CollectorStatement>>,
}

/// The questions of one realm.
#[derive(Debug)]
struct RealmReads {
    slots: Arc<Semaphore>,
    /// When the allowance of the realm is whole again.
    whole: Mutex<Instant>,
}

impl BankReads {
    /// No questions yet.
    pub(super) fn new(limits: BankReadLimits) -> Self {
        Self {
            limits,
            realms: DashMap::new(),
            lookups: CachedAnswers::new(limits.kept, LOOKUPS_KEPT),
            lists: CachedAnswers::new(limits.kept, MOVEMENTS_KEPT),
            statements: CachedAnswers::new(limits.kept, MOVEMENTS_KEPT),
        }
    }

    /// Waits until the realm may ask the bank once more. The slot is free again when the permit is dropped.
    ///
    /// # Errors
    /// [`Failure::BankReadsLimited`] when that would take longer than [`WAIT_MAX`].
    pub(super) async fn take(&self, realm: RealmId) -> Result<OwnedSemaphorePermit, Failure> {
        let limited = || Failure::BankReadsLimited;
        let now = Instant::now();
        let until = now.checked_add(WAIT_MAX).ok_or_else(limited)?;
        let new = || Arc::new(RealmReads::new(self.limits, now));
        let own = Arc::clone(&self.realms.entry(realm).or_insert_with(new));
        let slot = timeout_at(until, Arc::clone(&own.slots).acquire_owned()).await;
        let slot = slot.map_err(|_| limited())?.map_err(|_| limited())?;
        let at = own.spend(self.limits, until).ok_or_else(limited)?;
        sleep_until(at).await;
        Ok(slot)
    }
}

impl RealmReads {
    fn new(limits: BankReadLimits, now: Instant) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(limits.slots)),
            whole: Mutex::new(now),
        }
    }

    /// Takes one question out of the allowance; returns when it may be asked, `None` when that is after `until`, and
    /// then nothing is taken.
    fn spend(&self, limits: BankReadLimits, until: Instant) -> Option<Instant> {
        let now = Instant::now();
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        let after = now.max(*whole).checked_add(limits.every)?;
        let burst = limits.every.checked_mul(limits.burst)?;
        let at = after.checked_sub(burst).map_or(now, |at| at.max(now));
        if at > until {
            return None;
        }
        *whole = after;
        Some(at)
    }
}

impl Core {
    /// An answer of a realm's bank for a reader: one that was kept, or the one that `ask` gets within the realm's slots, with
    /// its size.
    ///
    /// # Errors
    /// As [`BankReads::take`] and `ask`; [`Failure::ShuttingDown`] for a retired realm.
    pub(super) async fn kept_or_asked<K: Ord, V: Clone>(
        &self,
        realm: RealmId,
        kept: &CachedAnswers<K, V>,
        key: K,
        ask: impl AsyncFnOnce(Arc<RealmBank>) -> Result<(V, usize), Failure>,
    ) -> Result<V, Failure> {
        let known = || Ok::<_, Failure>(kept.get(&key, self.realms.bank(realm)?.changes()));
        if let Some(found) = known()? {
            return Ok(found);
        }
        let _slot = self.bank_reads.take(realm).await?;
        if let Some(found) = known()? {
            return Ok(found);
        }
        let bank = self.realms.bank(realm)?;
        let changes = bank.changes();
        let (found, size) = ask(bank).await?;
        kept.put(key, changes, size, found.clone());
        Ok(found)
    }
}

/// How a lookup is kept: what is looked up, in one spelling.
pub(super) fn key_of(whom: &Destination) -> String {
    match whom {
        Destination::Key(key) => key.to_string(),
        Destination::Alias(alias) => alias.to_string().to_lowercase(),
    }
}

/// Answers of the bank that are kept for a moment.
#[derive(Debug)]
pub(super) struct CachedAnswers<K, V> {
    time: Duration,
    most: usize,
    rows: Mutex<BTreeMap<K, CachedAnswer<V>>>,
}

#[derive(Debug)]
struct CachedAnswer<V> {
    until: Instant,
    /// How often something had happened at the bank before the question.
    changes: u64,
    size: usize,
    value: V,
}

impl<K: Ord, V: Clone> CachedAnswers<K, V> {
    const fn new(time: Duration, most: usize) -> Self {
        Self {
            time,
            most,
            rows: Mutex::new(BTreeMap::new()),
        }
    }

    /// The kept answer, if nothing has happened since its question.
    fn get(&self, key: &K, changes: u64) -> Option<V> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let row = rows.get(key)?;
        let fresh = row.changes == changes && Instant::now() < row.until;
        fresh.then(|| row.value.clone())
    }

    /// Keeps an answer of this size to a question that was asked after so many changes.
    fn put(&self, key: K, changes: u64, size: usize, value: V) {
        let now = Instant::now();
        let Some(until) = now.checked_add(self.time).filter(|until| *until > now) else {
            return;
        };
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        rows.retain(|known, row| *known != key && now < row.until);
        let mut sizes = rows.values().map(|row| row.size);
        let all = sizes.try_fold(size, usize::checked_add);
        if all.is_some_and(|all| all <= self.most) {
            let row = CachedAnswer {
                until,
                changes,
                size,
                value,
            };
            rows.insert(key, row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: RealmId = RealmId(1);
    const LIMITS: BankReadLimits = BankReadLimits {
        slots: 2,
        burst: 4,
        every: Duration::from_millis(500),
        kept: Duration::from_secs(2),
    };

    #[tokio::test(start_paused = true)]
    async fn a_realm_has_its_slots_and_no_other_waits_for_it() {
        let reads = BankReads::new(LIMITS);
        let first = reads.take(ONE).await.unwrap();
        let _second = reads.take(ONE).await.unwrap();
        let refused = reads.take(ONE).await;
        assert_eq!(refused.unwrap_err(), Failure::BankReadsLimited);
        drop(reads.take(RealmId(2)).await.unwrap());
        drop(first);
        drop(reads.take(ONE).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_realm_has_its_burst_and_then_its_rate() {
        let reads = BankReads::new(LIMITS);
        let since = Instant::now();
        for _ in 0..4 {
            drop(reads.take(ONE).await.unwrap());
        }
        assert_eq!(since.elapsed(), Duration::ZERO);
        for _ in 0..4 {
            drop(reads.take(ONE).await.unwrap());
        }
        assert!(since.elapsed() >= Duration::from_secs(2));
        let slow = BankReads::new(BankReadLimits {
            every: Duration::from_secs(2),
            burst: 1,
            ..LIMITS
        });
        drop(slow.take(ONE).await.unwrap());
        let refused = slow.take(ONE).await;
        assert_eq!(refused.unwrap_err(), Failure::BankReadsLimited);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_a_moment_and_until_something_happens() {
        let kept = CachedAnswers::new(LIMITS.kept, 10);
        kept.put("a", 0, 6, 'a');
        kept.put("b", 0, 6, 'b');
        assert_eq!((kept.get(&"a", 0), kept.get(&"b", 0)), (Some('a'), None));
        assert_eq!(kept.get(&"a", 1), None);
        kept.put("a", 1, 10, 'A');
        assert_eq!(kept.get(&"a", 1), Some('A'));
        tokio::time::advance(LIMITS.kept).await;
        assert_eq!(kept.get(&"a", 1), None);
        kept.put("b", 1, 6, 'b');
        assert_eq!(kept.get(&"b", 1), Some('b'));
        let none = CachedAnswers::new(Duration::ZERO, 10);
        none.put("a", 0, 1, 'a');
        assert_eq!(none.get(&"a", 0), None);
    }
}
