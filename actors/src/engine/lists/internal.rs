//! The internal vouchers of a realm: its adjustments and internal transfers, in the order in which they were posted.
//!
//! **Cost.** Dates, amounts and directions come from the rows of the index. A voucher is read when it is shown, or when
//! the filter needs its type, its reference or its texts.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::bounded_scan::{BoundedScan, SINGLE, ScanBudget, passed};
use super::pages::{Range, sorted};
use super::{ListPage, Listing, SCAN_PAGE, VoucherFilter, VoucherSort};
use crate::accounts::AccountVoucher;
use crate::engine::vouchers::all_placed;
use crate::failure::Failure;
use crate::records::keys::Marked;
use crate::records::projection::InternalLine;
use crate::records::{keys, reads};

/// The time of the voucher with an ordinal.
fn time(store: &dyn Index, realm: RealmId, ordinal: u64) -> Result<Option<Timestamp>, StoreError> {
    let row = store.get(&keys::internal(realm, ordinal))?;
    let line = row.map(|row| InternalLine::from_bytes(&row)).transpose()?;
    Ok(line.map(|line| line.at))
}

fn lines(
    store: &dyn Index,
    realm: RealmId,
    range: Range,
    order: SortOrder,
    limit: usize,
) -> Result<Vec<(u64, InternalLine)>, StoreError> {
    if range.len() == 0 {
        return Ok(Vec::new());
    }
    let from = keys::internal(realm, range.first);
    let to = keys::internal(realm, range.last.saturating_add(1));
    let rows = store.scan(&from, &to, order, limit)?.into_iter();
    let line = |(key, row): (Vec<u8>, Vec<u8>)| {
        Ok((keys::number_of(&key)?, InternalLine::from_bytes(&row)?))
    };
    rows.map(line).collect()
}

/// A page of internal vouchers.
pub(super) fn list(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    sort: VoucherSort,
    (page, bound): (&ListPage, u64),
) -> Result<Listing<AccountVoucher>, Failure> {
    let count = keys::count_in(store.get(&keys::internal_count(realm))?.as_deref())?;
    let period = (filter.from, filter.to);
    let range = Range::within(count, period, |ordinal| time(store, realm, ordinal))?;
    if filter.is_everything(sort) {
        let (shown, next) = range.page(page);
        let shown = lines(store, realm, shown, page.order, page.limit)?;
        let places = shown.into_iter().map(|(_, line)| line.place);
        return Ok(Listing::of(all_placed(store, realm, places)?, count, next));
    }
    let most = if filter.is_of_lines() { 1 } else { 1 + SINGLE };
    let look = BoundedScan::of(page, bound, (1, most));
    let (list, wanted) = ((realm, Marked::Internal), filter.marks());
    let listing = match sort {
        VoucherSort::CreatedAt => look.over(
            range,
            |rest, size, left| {
                let some = passed(store, list, &wanted, rest, page.order, left)?;
                lines(store, realm, some, page.order, size)
            },
            |_, line, left| Ok(lets(store, realm, filter, &line, left)?.then_some(line)),
            |ordinal| time(store, realm, ordinal),
        )?,
        VoucherSort::Amount => by_amount(store, realm, filter, range, &look)?,
    };
    Ok(listing.try_with(|shown| {
        let places = shown.into_iter().map(|line| line.place);
        all_placed(store, realm, places)
    })?)
}

/// A page of a range, sorted by amount.
fn by_amount(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    range: Range,
    look: &BoundedScan<'_>,
) -> Result<Listing<InternalLine>, Failure> {
    look.sorts(range)?;
    let (mut rest, order) = (range, SortOrder::Ascending);
    let (mut found, mut left) = (Vec::new(), ScanBudget::of(look.bound));
    while rest.len() > 0 {
        let rows = lines(store, realm, rest, order, SCAN_PAGE)?;
        let Some((last, _)) = rows.last() else { break };
        rest = rest.behind(*last, order);
        for (ordinal, line) in rows {
            if lets(store, realm, filter, &line, &mut left)? {
                found.push(((line.amount, ordinal), line));
            }
        }
    }
    let shown = |ordinal| store.get(&keys::internal(realm, ordinal));
    let row = look.page.after().map(shown).transpose()?.flatten();
    let line = row.map(|row| InternalLine::from_bytes(&row)).transpose()?;
    let at = look.page.after().zip(line);
    let mark = at.map(|(ordinal, line)| (line.amount, ordinal));
    Ok(sorted(found, mark.as_ref(), look.page))
}

fn lets(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    line: &InternalLine,
    left: &mut ScanBudget,
) -> Result<bool, StoreError> {
    if !filter.lets_line(line) || filter.is_of_lines() {
        return Ok(filter.lets_line(line));
    }
    left.spend(SINGLE);
    let voucher = reads::voucher(store, realm, line.place)?;
    Ok(voucher.is_some_and(|voucher| filter.lets(realm, line.place.account, &voucher)))
}
