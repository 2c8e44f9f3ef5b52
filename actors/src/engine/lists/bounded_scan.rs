//! The bounded scan: how to read a list whose filter no rows of the index answer.
//!
//! **Shape.** A list is a range of numbers: sequences of an account, ordinals or events of a realm, accounts. Dates
//! narrow the range before anything is read. The rest of a filter is checked on the row, or on the record to which the
//! row leads, so each has to be read. A page looks at no more than its bound.
//!
//! Lists of a realm have marks of their blocks ([`marks`]). If the filter has a type, a reference or a direction,
//! blocks without any are skipped, for the price of a row each ([`passed`]).
//!
//! **Bounds.** [`ROWS`] rows of the index, or reads that cost as much: vouchers that are read in sequence count as
//! [`VOUCHER`] rows each, one that is read alone as [`SINGLE`], an account's row as [`ACCOUNT`], a balance as
//! [`BALANCE`]. A range within the bound is scanned whole for every page, so its total is exact. A longer one is
//! scanned from the cursor on, until the page is full or the bound is reached. The page may then be short or even
//! empty; its cursor continues after the last row scanned, and [`Listing::looked`] tells how far that was.
//!
//! **Order.** That of the range, so a reader that follows the cursors sees each row once.
//!
//! **Failure.** A page by offset whose rows begin beyond the bound is refused ([`Failure::PageTooFar`]), and so is an
//! order by amount over more than the bound ([`Failure::TooManyToSort`]): a part of the list can answer neither.

use caudal_ledger::ids::RealmId;
use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::SCAN_PAGE;
use super::pages::{ListPage, Listing, Picker, Range, ScannedPart};
use crate::failure::Failure;
use crate::records::keys::Marked;
use crate::records::marks::{self, BLOCK, Marks};

/// The most that a page looks at, in rows of the index, unless an option sets another bound.
pub const ROWS: u64 = 120_000;
/// The price of a voucher among its neighbours in its account's stream, or of the row of a transfer among its own, in
/// rows.
pub(crate) const VOUCHER: u64 = 8;
/// The price of a voucher or a transfer that is read alone, in rows.
pub(crate) const SINGLE: u64 = 40;
/// The price of a row of the directory or of a hold, in rows.
pub(crate) const ACCOUNT: u64 = 5;
/// The price of an account's balance, read from its last movement, in rows.
pub(crate) const BALANCE: u64 = 80;

/// The rest of a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ScanBudget(u64);

impl ScanBudget {
    /// A whole bound. A bound of nothing allows one row, so that every page makes progress.
    pub(crate) fn of(bound: u64) -> Self {
        Self(bound.max(1))
    }

    /// Spends the price of something.
    pub(crate) fn spend(&mut self, rows: u64) {
        self.0 -= rows.min(self.0);
    }

    /// How many rows at this price may still be read, at least one: when the bound is spent, the reads end after that
    /// row.
    pub(crate) fn rows(self, cost: u64) -> usize {
        let rows = self.0.div_euclid(cost.max(1)).max(1);
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    /// Whether nothing more may be looked at.
    pub(crate) const fn is_spent(self) -> bool {
        self.0 == 0
    }
}

/// A page that scans for its rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedScan<'a> {
    /// The wanted page: its order, where it continues, and the most rows that it takes.
    pub page: &'a ListPage,
    /// How much it may look at, in rows.
    pub bound: u64,
    /// The price of a row, and the highest price if the record behind the row has to be read.
    pub cost: (u64, u64),
    /// How many rows the range has, where its numbers have gaps.
    pub rows: Option<u64>,
}

impl<'a> BoundedScan<'a> {
    /// A page of a range without gaps.
    pub(crate) const fn of(page: &'a ListPage, bound: u64, cost: (u64, u64)) -> Self {
        Self {
            page,
            bound,
            cost,
            rows: None,
        }
    }

    /// Whether all of a range may be scanned.
    pub(crate) fn fits(&self, range: Range) -> bool {
        let rows = self.rows.map_or(range.len(), |rows| rows.min(range.len()));
        let all = rows.checked_mul(self.cost.1);
        all.is_some_and(|all| all <= self.bound)
    }

    /// The page of a range. `read` returns at most this many of its rows, in the order of the page, each with its
    /// number, and may remove from its beginning the numbers that it has skipped. `take` returns the content of a row
    /// if the row matches. `time` returns when the row of a number was written.
    pub(crate) fn over<R, T>(
        &self,
        range: Range,
        read: impl Fn(&mut Range, usize, &mut ScanBudget) -> Result<Vec<(u64, R)>, StoreError>,
        mut take: impl FnMut(u64, R, &mut ScanBudget) -> Result<Option<T>, StoreError>,
        time: impl Fn(u64) -> Result<Option<Timestamp>, StoreError>,
    ) -> Result<Listing<T>, Failure> {
        let (page, whole) = (self.page, self.fits(range));
        let mut left = ScanBudget::of(if whole { u64::MAX } else { self.bound });
        let mut rest = match page.after() {
            Some(number) if !whole => range.behind(number, page.order),
            _ => range,
        };
        let mut picker = Picker::new(*page);
        let mut looked = 0_u64;
        let mut size = if whole { SCAN_PAGE } else { page.limit };
        'reads: while rest.len() > 0 {
            let (most, before) = (left.rows(self.cost.0), rest.len());
            let rows = read(&mut rest, size.min(most).clamp(1, SCAN_PAGE), &mut left)?;
            looked += before - rest.len();
            if rows.is_empty() && !left.is_spent() {
                rest = Range::NONE;
            }
            for (number, row) in rows {
                if !whole && (left.is_spent() || picker.is_full()) {
                    break 'reads;
                }
                left.spend(self.cost.0);
                if let Some(found) = take(number, row, &mut left)? {
                    picker.offer(number, found);
                }
                rest = rest.behind(number, page.order);
                looked += 1;
            }
            if !whole && (left.is_spent() || picker.is_full()) {
                break;
            }
            size = size.max(1) * 2;
        }
        let ended = rest.len() == 0;
        if whole || (ended && page.cursor.is_none()) {
            return Ok(picker.listing());
        }
        if !ended && picker.skips() {
            return Err(Failure::PageTooFar);
        }
        let seen = rest.before(page.order).filter(|_| !ended);
        let until = seen.map(time).transpose()?.flatten();
        Ok(Listing {
            next: seen.map(Into::into),
            looked: Some(ScannedPart {
                rows: looked,
                until,
            }),
            ..picker.listing()
        })
    }

    /// Refuses an order that needs all of a range at once if that is too much.
    pub(crate) fn sorts(&self, range: Range) -> Result<(), Failure> {
        if self.fits(range) {
            Ok(())
        } else {
            Err(Failure::TooManyToSort)
        }
    }
}

impl Range {
    /// The empty range.
    pub(crate) const NONE: Self = Self::to(0);

    /// The number before the range, in an order.
    const fn before(self, order: SortOrder) -> Option<u64> {
        match order {
            SortOrder::Ascending => self.first.checked_sub(1),
            SortOrder::Descending => self.last.checked_add(1),
        }
    }

    /// The part of the range after a number.
    pub(crate) fn behind(self, number: u64, order: SortOrder) -> Self {
        let next = match order {
            SortOrder::Ascending => number.checked_add(1),
            SortOrder::Descending => number.checked_sub(1),
        };
        match (next, order) {
            (None, _) => Self::NONE,
            (Some(next), SortOrder::Ascending) => Self {
                first: next.max(self.first),
                ..self
            },
            (Some(next), SortOrder::Descending) => Self {
                last: next.min(self.last),
                ..self
            },
        }
    }
}

/// Removes from the beginning of a range, in an order, the blocks without a wanted mark, and returns the part of the
/// rest that is in one block; without wanted marks, all of it.
pub(crate) fn passed(
    store: &dyn Index,
    list: (RealmId, Marked),
    wanted: &[Marks],
    rest: &mut Range,
    order: SortOrder,
    left: &mut ScanBudget,
) -> Result<Range, StoreError> {
    if wanted.is_empty() || rest.len() == 0 {
        return Ok(*rest);
    }
    let (start, end) = match order {
        SortOrder::Ascending => (rest.first, rest.last),
        SortOrder::Descending => (rest.last, rest.first),
    };
    let start = marks::skip(store, list, wanted, (start, end, order), &mut left.0)?;
    match order {
        SortOrder::Ascending => rest.first = start,
        SortOrder::Descending => rest.last = start,
    }
    if left.is_spent() {
        return Ok(Range::NONE);
    }
    let first = start - start.rem_euclid(BLOCK);
    Ok(Range {
        first: rest.first.max(first),
        last: rest.last.min(first + BLOCK - 1),
    })
}
