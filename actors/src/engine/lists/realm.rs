//! All vouchers of a realm, in the order in which they were posted.
//!
//! **Shape.** Each voucher has one event, `voucher.created`, so a list of them is a walk over the numbers of
//! events, and its cursor is such a number.
//!
//! **Cost.** Where only dates are asked for, the vouchers near both ends of the period and those of the page
//! are read, and the others are counted by their rows. Any other filter reads all of the period.

use std::sync::Arc;

use caudal_ledger::events::EventKind;
use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::pages::{Picker, Range};
use super::{ListPage, Listing, SCAN_PAGE, TIME_SLACK, VoucherFilter, VoucherSort};
use crate::accounts::Placed;
use crate::records::projection::EventRow;
use crate::records::reads;

/// The time of an event.
fn time(store: &dyn Index, realm: RealmId, number: u64) -> Result<Option<Timestamp>, StoreError> {
    let row = reads::events::row_at(store, realm, number)?;
    row.map(|row| reads::events::time(store, &row)).transpose()
}

/// A period without what lies so near to its ends that the order of numbers does not decide about it.
fn core(filter: &VoucherFilter) -> (Option<Timestamp>, Option<Timestamp>) {
    // A range is a little more than its period, on both ends.
    let near = TIME_SLACK * 2;
    let later = |at: Timestamp| at.plus_millis(near);
    let earlier = |at: Timestamp| Timestamp::from_millis(at.millis().max(near) - near);
    (filter.from.map(later), filter.to.map(earlier))
}

/// A page of them.
pub(super) fn list(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    page: &ListPage,
) -> Result<Listing<Placed>, StoreError> {
    let last = reads::totals(store, realm)?.events;
    let time = |number| time(store, realm, number);
    let mut rest = Range::within(last, (filter.from, filter.to), time)?;
    let sure = match filter.is_range(VoucherSort::CreatedAt) {
        true => Range::within(last, core(filter), time)?,
        false => Range { first: 1, last: 0 },
    };
    let mut picker = Picker::new(*page);
    while rest.len() > 0 {
        let rows = reads::events::told_within(
            store,
            realm,
            (rest.first, rest.last),
            page.order,
            SCAN_PAGE,
        )?;
        let Some((end, _)) = rows.last() else { break };
        match page.order {
            SortOrder::Ascending => rest.first = end.strict_add(1),
            SortOrder::Descending => rest.last = end.strict_sub(1),
        }
        for (number, row) in rows {
            let is_voucher = row.kind == EventKind::VoucherCreated;
            let counts = || sure.has(number).then_some(Ok(true));
            let looked_at = || Ok(filter.lets(realm, row.account, &placed(store, &row)?.voucher));
            if is_voucher && counts().unwrap_or_else(looked_at)? {
                picker.offer(number, row);
            }
        }
    }
    let Listing { items, total, next } = picker.listing();
    let items: Result<_, StoreError> = items.iter().map(|row| placed(store, row)).collect();
    Ok(Listing {
        items: items?,
        total,
        next,
    })
}

fn placed(store: &dyn Index, row: &EventRow) -> Result<Placed, StoreError> {
    Ok(Placed {
        account: row.account,
        voucher: Arc::new(reads::events::voucher(store, row)?),
    })
}
