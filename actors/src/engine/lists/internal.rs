//! What is internal to a realm: its adjustments and internal transfers, in the order in which they
//! were posted.
//!
//! **Cost.** Dates, amounts and directions come from the rows of the index; a voucher is read when
//! it is shown, or when its type, its reference or a text is asked for.

use std::sync::Arc;

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::pages::{Picker, Range, sorted};
use super::{ListPage, Listing, SCAN_PAGE, VoucherFilter, VoucherSort};
use crate::accounts::Placed;
use crate::records::projection::Line;
use crate::records::{keys, reads};

/// The time of an ordinal's voucher.
fn time(store: &dyn Index, realm: RealmId, ordinal: u64) -> Result<Option<Timestamp>, StoreError> {
    let row = store.get(&keys::internal(realm, ordinal))?;
    let line = row.map(|row| Line::from_bytes(&row)).transpose()?;
    Ok(line.map(|line| line.at))
}

fn lines(
    store: &dyn Index,
    realm: RealmId,
    range: Range,
    order: SortOrder,
    limit: usize,
) -> Result<Vec<(u64, Line)>, StoreError> {
    if range.len() == 0 {
        return Ok(Vec::new());
    }
    let from = keys::internal(realm, range.first);
    let to = keys::internal(realm, range.last.saturating_add(1));
    let rows = store.scan(&from, &to, order, limit)?.into_iter();
    let line =
        |(key, row): (Vec<u8>, Vec<u8>)| Ok((keys::number_of(&key)?, Line::from_bytes(&row)?));
    rows.map(line).collect()
}

fn placed(store: &dyn Index, realm: RealmId, lines: Vec<Line>) -> Result<Vec<Placed>, StoreError> {
    let mut found = Vec::with_capacity(lines.len());
    for Line { place, .. } in lines {
        if let Some(voucher) = reads::voucher(store, realm, place)? {
            found.push(Placed {
                account: place.account,
                voucher: Arc::new(voucher),
            });
        }
    }
    Ok(found)
}

/// A page of them.
pub(super) fn list(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    sort: VoucherSort,
    page: &ListPage,
) -> Result<Listing<Placed>, StoreError> {
    let count = keys::count_in(store.get(&keys::internal_count(realm))?.as_deref())?;
    let period = (filter.from, filter.to);
    let mut rest = Range::within(count, period, |ordinal| time(store, realm, ordinal))?;
    if filter.is_everything(sort) {
        let (shown, next) = rest.page(page);
        let shown = lines(store, realm, shown, page.order, page.limit)?;
        let shown = shown.into_iter().map(|(_, line)| line).collect();
        return Ok(Listing {
            items: placed(store, realm, shown)?,
            total: count,
            next,
        });
    }
    let order = match sort {
        VoucherSort::Amount => SortOrder::Ascending,
        VoucherSort::CreatedAt => page.order,
    };
    let mut picker = Picker::new(*page);
    let mut by_amount = Vec::new();
    while rest.len() > 0 {
        let rows = lines(store, realm, rest, order, SCAN_PAGE)?;
        let Some((last, _)) = rows.last() else { break };
        match order {
            SortOrder::Ascending => rest.first = last.saturating_add(1),
            SortOrder::Descending => rest.last = last.saturating_sub(1),
        }
        for (ordinal, line) in rows {
            if !lets(store, realm, filter, &line)? {
                continue;
            }
            match sort {
                VoucherSort::CreatedAt => picker.offer(ordinal, line),
                VoucherSort::Amount => by_amount.push(((line.amount, ordinal), line)),
            }
        }
    }
    let Listing { items, total, next } = match sort {
        VoucherSort::CreatedAt => picker.listing(),
        VoucherSort::Amount => {
            let shown = |ordinal| store.get(&keys::internal(realm, ordinal));
            let row = page.after().map(shown).transpose()?.flatten();
            let line = row.map(|row| Line::from_bytes(&row)).transpose()?;
            let at = page.after().zip(line);
            let mark = at.map(|(ordinal, line)| (line.amount, ordinal));
            sorted(by_amount, mark.as_ref(), page)
        }
    };
    let items = placed(store, realm, items)?;
    Ok(Listing { items, total, next })
}

fn lets(
    store: &dyn Index,
    realm: RealmId,
    filter: &VoucherFilter,
    line: &Line,
) -> Result<bool, StoreError> {
    if !filter.lets_line(line) || filter.is_of_lines() {
        return Ok(filter.lets_line(line));
    }
    let voucher = reads::voucher(store, realm, line.place)?;
    Ok(voucher.is_some_and(|voucher| filter.lets(realm, line.place.account, &voucher)))
}
