//! All vouchers of a realm, in the order in which they were posted.
//!
//! **Shape.** Each voucher has one event, `voucher.created`, so the list is a walk over the numbers of events, and its
//! cursor is such a number.
//!
//! **Cost.** If the filter has only dates, only the vouchers near both ends of the period and those of the page are
//! read; for the others the event rows suffice. A filter by type, reference or direction skips blocks of events without
//! any; every voucher in the remaining blocks is read.

use std::sync::Arc;

use caudal_ledger::events::EventKind;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, StoreError};

use super::bounded_scan::{BoundedScan, SINGLE, ScanBudget, passed};
use super::pages::Range;
use super::{ListPage, Listing, TIME_SLACK, VoucherFilter, VoucherSort};
use crate::accounts::AccountVoucher;
use crate::failure::Failure;
use crate::records::keys::Marked;
use crate::records::projection::EventRow;
use crate::records::reads;

/// The time of an event.
fn time(store: &dyn Index, realm: RealmId, number: u64) -> Result<Option<Timestamp>, StoreError> {
    let row = reads::events::row_at(store, realm, number)?;
    row.map(|row| reads::events::time(store, &row)).transpose()
}

/// A period without its edges, where the order of numbers does not tell whether a voucher is inside.
fn core(filter: &VoucherFilter) -> (Option<Timestamp>, Option<Timestamp>) {
    // A range reaches a little beyond its period, on both ends.
    let near = TIME_SLACK * 2;
    let later = |at: Timestamp| at.plus_millis(near);
    let earlier = |at: Timestamp| Timestamp::from_millis(at.millis().max(near) - near);
    (filter.from.map(later), filter.to.map(earlier))
}

/// A page of the realm's vouchers.
pub(super) fn list(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    (page, bound): (&ListPage, u64),
) -> Result<Listing<AccountVoucher>, Failure> {
    let totals = reads::totals(store, realm)?;
    let (last, time) = (totals.events, |number| time(store, realm, number));
    let range = Range::within(last, (filter.from, filter.to), time)?;
    let by_dates = filter.is_range(VoucherSort::CreatedAt);
    let sure = if by_dates {
        Range::within(last, core(filter), time)?
    } else {
        Range::NONE
    };
    let most = if by_dates { 1 } else { 1 + SINGLE };
    let look = BoundedScan::of(page, bound, (1, most));
    let (marked, wanted) = ((realm, Marked::Events), filter.marks());
    let read = |rest: &mut Range, size, left: &mut ScanBudget| {
        let some = passed(store, marked, &wanted, rest, page.order, left)?;
        if some.len() == 0 {
            return Ok(Vec::new());
        }
        let ends = (some.first, some.last);
        reads::events::rows_within(store, realm, ends, page.order, size)
    };
    let take = |number, row: EventRow, left: &mut ScanBudget| {
        if row.kind != EventKind::VoucherCreated {
            return Ok(None);
        }
        if sure.has(number) {
            return Ok(Some(row));
        }
        left.spend(SINGLE);
        let found = placed(store, &row)?;
        let lets = filter.lets(realm, row.account, &found.voucher);
        Ok(lets.then_some(row))
    };
    let mut listing = look.over(range, read, take, time)?;
    if *filter == VoucherFilter::default() {
        listing.total = totals.sequence;
        // All of them are known, unless the page ends among events that are no vouchers.
        let short = listing.items.len() < page.limit && listing.next.is_some();
        listing.looked = listing.looked.filter(|_| short);
    }
    Ok(listing.try_with(|rows| {
        rows.iter()
            .map(|row| placed(store, row))
            .collect::<Result<_, StoreError>>()
    })?)
}

fn placed(store: &dyn Index, row: &EventRow) -> Result<AccountVoucher, StoreError> {
    Ok(AccountVoucher {
        account: row.account,
        voucher: Arc::new(reads::events::voucher(store, row)?),
    })
}
