//! Reconciliation over days: a page of results, and the counts and sums of all days.
//!
//! **Order.** Day by day, oldest first; within a day by instant (the bank's, or the ledger's if the bank has none),
//! then by id. A cursor is the place of the last row shown, so a walk shows nothing twice, even if the result of a
//! movement changes by the next page.
//!
//! **Bounds.** [`RANGE_DAYS_MAX`] days. A page is kept in memory, and of the rest one day at a time. For the first page
//! the bank is asked about each day of the range, because the counts cover all of it. A later page brings the counts
//! along, and asks only about its own days.

use std::collections::BTreeMap;
use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_ledger::reconciliation::{Agreement, ReconciliationTotals};
use caudal_ledger::time::{BusinessDay, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Reconciled, listed};
use crate::engine::Queries;
use crate::failure::Failure;
use crate::ports::{DayList, MovementWay};

/// How many days are compared at once.
pub const RANGE_DAYS_MAX: usize = 31;

/// The place of a row: day, instant, and an id that tells it from others of the instant.
pub type RowKey = (BusinessDay, Timestamp, String);

/// Which days are compared, and which rows are wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeQuery {
    /// The first day that is compared, included.
    pub from: BusinessDay,
    /// The last day that is compared, included.
    pub to: BusinessDay,
    /// Only rows with this result.
    pub result: Option<Agreement>,
    /// Only rows after this place.
    pub after: Option<RowKey>,
    /// How many rows; all of them when `None`.
    pub limit: Option<usize>,
    /// The counts of the first page, from which `after` continues; without them all days are compared.
    pub counted: Option<RangeTotals>,
}

/// The counts and sums of all days, as of the first page of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RangeTotals {
    /// How many rows match in all.
    pub total: usize,
    /// The counts and sums of all rows, matching or not.
    pub tally: ReconciliationTotals,
}

/// The ledger's and the bank's movements of some days side by side: one page of rows, and the figures of all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Comparison {
    /// The rows of the page, each with its day.
    pub items: Vec<(BusinessDay, Reconciled)>,
    /// The counts and sums of all days.
    pub counted: RangeTotals,
    /// Where the next page begins; `None` on the last.
    pub next: Option<RowKey>,
}

impl Comparison {
    /// Takes in a day.
    fn take(&mut self, day: BusinessDay, found: Vec<Reconciled>, wanted: &RangeQuery) {
        let mut rows = Vec::new();
        for it in found {
            let bank = it.bank.as_ref();
            let bank = bank.map(|bank| (bank.way == MovementWay::In, listed(bank)));
            let bank = bank.as_ref().map(|(incoming, it)| (*incoming, it));
            self.counted.tally.count(it.judged, bank);
            let result = it.judged.agreement;
            if wanted.result.is_none_or(|wanted| wanted == result) {
                rows.push((mark(day, &it), it));
            }
        }
        rows.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.counted.total = self.counted.total.strict_add(rows.len());
        let ahead = |mark: &RowKey| wanted.after.as_ref().is_none_or(|after| mark > after);
        for (_, it) in rows.into_iter().filter(|(mark, _)| ahead(mark)) {
            if wanted.limit.is_none_or(|limit| self.items.len() < limit) {
                self.items.push((day, it));
            } else if self.next.is_none() {
                self.next = self.last();
            }
        }
    }

    fn last(&self) -> Option<RowKey> {
        self.items.last().map(|(day, it)| mark(*day, it))
    }
}

/// The place of a row.
fn mark(day: BusinessDay, it: &Reconciled) -> RowKey {
    if let Some(bank) = &it.bank {
        return (day, bank.at, bank.bank_id.clone());
    }
    if let Some(placed) = &it.voucher {
        let id = format!("{}-{}", placed.account.0, placed.voucher.sequence);
        return (day, placed.voucher.at, id);
    }
    match &it.suspense {
        Some(parked) => (day, parked.since, parked.suspense.cash_in.coelsa_id.clone()),
        None => (day, day.start(), String::new()),
    }
}

/// The bank's lists of the days that are compared. Each day is asked for once, except today, whose list grows while the
/// ledger is read.
#[derive(Debug, Default)]
pub(super) struct Lists {
    days: BTreeMap<BusinessDay, Arc<DayList>>,
}

impl Lists {
    /// The bank's list of a day.
    pub(super) async fn of(
        &mut self,
        queries: Queries<'_>,
        (realm, day): (RealmId, BusinessDay),
        request_id: &str,
    ) -> Result<Arc<DayList>, Failure> {
        if let Some(known) = self.days.get(&day) {
            return Ok(Arc::clone(known));
        }
        let listed = queries.listed_by_bank(realm, day, request_id).await?;
        if day < queries.0.now_in(realm).business_day() {
            self.days.insert(day, Arc::clone(&listed));
        }
        Ok(listed)
    }

    /// Forgets the days before this one.
    fn forget_before(&mut self, day: BusinessDay) {
        self.days.retain(|known, _| *known >= day);
    }
}

impl Queries<'_> {
    /// Compares the bank's lists of some days with the ledger, both ways, and gives a page of the results. Days after
    /// the [`RANGE_DAYS_MAX`]th are left out.
    ///
    /// # Errors
    /// The bank's failure, or the failure to read the ledger.
    pub async fn reconcile_days(
        self,
        realm: RealmId,
        wanted: &RangeQuery,
        request_id: &str,
    ) -> Result<Comparison, Failure> {
        let (mut lists, mut compared) = (Lists::default(), Comparison::default());
        let mut day = match (&wanted.counted, &wanted.after) {
            (Some(_), Some((day, ..))) => wanted.from.max(*day),
            _ => wanted.from,
        };
        for _ in 0..RANGE_DAYS_MAX {
            let full = wanted.counted.is_some() && compared.next.is_some();
            if day > wanted.to || full {
                break;
            }
            let found = self.compare(realm, day, &mut lists, request_id).await?;
            compared.take(day, found, wanted);
            lists.forget_before(day);
            day = day.next();
        }
        compared.counted = wanted.counted.unwrap_or(compared.counted);
        Ok(compared)
    }
}
