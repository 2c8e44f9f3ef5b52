//! Checks of the collector accounts at intervals, and what operators watch of them.
//!
//! **Shape.** A check compares an account with the sum of what the realms on it owe, and has each of these realms record
//! it when money is missing in two checks in a row, or is there again. The realm keeps the state, so a restart repeats
//! nothing.
//!
//! **Failure.** If a realm cannot record the change now, the next check asks it again.

use std::sync::Arc;
use std::time::Duration;

use caudal_ledger::coverage::CoverageFact;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::Index;
use tokio::time::Instant;

use super::read_slots::ReadCost;
use super::{Ledger, Operators, Queries};
use crate::banks::OnCollector;
use crate::failure::Failure;
use crate::realms::RecordCoverage;
use crate::records::reads;
use crate::treasury::NoBalance;

pub use crate::records::reads::coverage::WaitingTransfers;
pub use crate::treasury::checks::{CHECK_PAUSE_MAX, CollectorCheck};

/// How many transfers of a realm that wait for the bank are counted; their sum is exact however many there are.
pub const WAITING_COUNTED_MAX: usize = 10_000;

/// A collector account as operators watch it.
#[derive(Clone, Debug)]
pub struct WatchedCollector {
    /// The account, with the realms on it.
    pub on: Arc<OnCollector>,
    /// What the checks know of it; `None` if it was not checked yet.
    pub check: Option<CollectorCheck>,
    /// What the realms recorded when they found money missing; `None` while it is covered.
    pub uncovered: Option<CoverageFact>,
    /// The transfers of its realms that wait for the bank.
    pub waiting: WaitingTransfers,
}

impl WatchedCollector {
    /// Since when its bank does not answer; `None` while it does.
    pub fn unreachable_since(&self) -> Option<Timestamp> {
        self.check.as_ref()?.unreachable_since
    }

    /// Both sides while money is missing: as of the bank's last answer, or as recorded when it began.
    pub fn shortfall(&self) -> Option<CoverageFact> {
        let recorded = self.uncovered?;
        let last = self.check.as_ref().and_then(|check| check.last);
        Some(
            last.filter(|last| !last.covered)
                .map_or(recorded, |last| last),
        )
    }
}

impl Ledger<'_> {
    /// Begins to check the present collector accounts, and those that are added later; `begins` forgets what was known
    /// before. Returns those of which a check is due.
    pub fn due_checks(self, every: Duration, begins: bool) -> Vec<Arc<OnCollector>> {
        let (realms, now) = (&self.0.realms, Instant::now());
        if begins {
            realms.checks.forget();
        }
        let all = realms.collectors();
        realms.checks.keep(&all);
        let due = all
            .values()
            .filter(|on| realms.checks.is_due(&on.place, now, every));
        due.cloned().collect()
    }

    /// Checks a collector account: asks the bank, and has its realms record what is certain then. Returns it if it was
    /// news to one of them.
    ///
    /// # Errors
    /// When the ledger's side cannot be read, the bank does not answer in time, or a realm cannot record it now.
    pub async fn check_coverage(
        self,
        on: &Arc<OnCollector>,
        request_id: &str,
    ) -> Result<Option<CoverageFact>, Failure> {
        let checks = &self.0.realms.checks;
        let snapshot = Queries(self.0).checked(Arc::clone(on), request_id).await?;
        let found = match &snapshot.bank {
            Ok(_) => snapshot.fact(on),
            Err(NoBalance::Error(_)) => None,
            // Nobody asked: no realm of the account is served here, or it has just changed.
            Err(NoBalance::NotYet | NoBalance::NoBank | NoBalance::Shared) => return Ok(None),
        };
        let Some(fact) = checks.judge(&on.place, found, Instant::now()) else {
            return Ok(None);
        };
        let mut is_news = false;
        for realm in on.realms.iter().copied() {
            if !self.0.realms.is_served(realm) {
                continue;
            }
            is_news |= self
                .0
                .decide(realm, RecordCoverage(fact), request_id)
                .await?;
        }
        Ok(is_news.then_some(fact))
    }
}

impl Operators<'_> {
    /// Every collector account with what is known of it. Nothing on a node that does not own the log.
    ///
    /// # Errors
    /// When the store cannot be read, or no turn to read comes in time.
    pub async fn watched_collectors(self) -> Result<Vec<WatchedCollector>, Failure> {
        if self.0.is_at_rest() {
            return Ok(Vec::new());
        }
        // Under no realm: operators do not take turns from tenants.
        self.0
            .look(RealmId(0), ReadCost::Page, |books| {
                let all = books.realms.collectors();
                let each = all.values().map(|on| {
                    let check = books.realms.checks.of(&on.place);
                    watched(books.store.as_ref(), on, check)
                });
                each.collect()
            })
            .await
    }
}

fn watched(
    store: &dyn Index,
    on: &Arc<OnCollector>,
    check: Option<CollectorCheck>,
) -> Result<WatchedCollector, Failure> {
    let (mut uncovered, mut waiting) = (None, WaitingTransfers::default());
    for realm in on.realms.iter().copied() {
        let last = reads::coverage::last(store, realm)?;
        uncovered = uncovered.or(last.filter(|fact| !fact.covered));
        waiting = waiting.plus(reads::coverage::waiting(store, realm, WAITING_COUNTED_MAX)?);
    }
    Ok(WatchedCollector {
        on: Arc::clone(on),
        check,
        uncovered,
        waiting,
    })
}
