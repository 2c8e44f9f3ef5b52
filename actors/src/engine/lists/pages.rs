//! Pages: ranges of numbers, rows that come in order, rows that have to be sorted.

use std::convert::Infallible;

use caudal_ledger::time::Timestamp;
use caudal_storage::{Index, SortOrder, StoreError};

use super::{SCAN_PAGE, TIME_SLACK};
use crate::records::keys::{self, SORTED_BYTES_MAX};

/// Where a list continues: after the last row that was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListCursor {
    /// The number of that row.
    pub number: u64,
    /// For a list that is sorted by a value that may change: the value that the row had then. Without it the list
    /// continues after the row's present value.
    pub mark: Option<CursorMark>,
}

impl From<u64> for ListCursor {
    fn from(number: u64) -> Self {
        Self { number, mark: None }
    }
}

/// The value that a row had when it was shown, and the order of its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CursorMark {
    by: u8,
    length: usize,
    value: [u8; SORTED_BYTES_MAX],
}

impl CursorMark {
    /// The mark of a value; `None` for a value that is too long for any row.
    pub fn new(by: u8, bytes: &[u8]) -> Option<Self> {
        let mut value = [0; SORTED_BYTES_MAX];
        value.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let length = bytes.len();
        Some(Self { by, length, value })
    }

    /// The letter of the list's order.
    pub const fn by(&self) -> u8 {
        self.by
    }

    /// The value, as in the keys of the sorted rows.
    pub fn value(&self) -> &[u8] {
        self.value.get(..self.length).unwrap_or_default()
    }
}

/// A page: how many rows to skip and to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListPage {
    /// The direction in which the list is read.
    pub order: SortOrder,
    /// The most rows of the page.
    pub limit: usize,
    /// How many rows to skip.
    pub offset: usize,
    /// Continue after this place, instead of skipping.
    pub cursor: Option<ListCursor>,
}

impl ListPage {
    /// The number of the row after which the page begins.
    pub(in crate::engine) fn after(&self) -> Option<u64> {
        self.cursor.map(|cursor| cursor.number)
    }
}

/// How much of a list a page has scanned, if not all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScannedPart {
    /// How many rows it has scanned.
    pub rows: u64,
    /// When the last of these rows was written, if the list is in the order of time.
    pub until: Option<Timestamp>,
}

/// A page of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing<T> {
    /// The rows of the page.
    pub items: Vec<T>,
    /// How many rows match in all; with [`Self::looked`] the least number that there are.
    pub total: u64,
    /// Where the next page begins; `None` on the last.
    pub next: Option<ListCursor>,
    /// How far the page has scanned, if that was not the whole list. The page may then be short although there is a
    /// next one.
    pub looked: Option<ScannedPart>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            total: 0,
            next: None,
            looked: None,
        }
    }
}

impl<T> Listing<T> {
    /// The page of a list that was scanned as a whole, or needs no scan.
    pub(in crate::engine) fn of(items: Vec<T>, total: u64, next: Option<ListCursor>) -> Self {
        Self {
            items,
            total,
            next,
            looked: None,
        }
    }

    /// The page of a list of a few rows, which are all on its first page.
    pub(in crate::engine) fn of_few(rows: Vec<T>, page: &ListPage) -> Self {
        let total = (1..).zip(&rows).last().map_or(0, |(count, _)| count);
        let is_first = page.offset == 0 && page.cursor.is_none();
        Self {
            items: if is_first { rows } else { Vec::new() },
            total,
            ..Self::default()
        }
    }

    /// The same page with other rows.
    pub fn with<U>(self, items: impl FnOnce(Vec<T>) -> Vec<U>) -> Listing<U> {
        let Ok(page) = self.try_with(|old| Ok::<_, Infallible>(items(old)));
        page
    }

    /// The same page with rows that have to be read.
    pub(in crate::engine) fn try_with<U, E>(
        self,
        items: impl FnOnce(Vec<T>) -> Result<Vec<U>, E>,
    ) -> Result<Listing<U>, E> {
        let Self {
            items: old,
            total,
            next,
            looked,
        } = self;
        let items = items(old)?;
        Ok(Listing {
            items,
            total,
            next,
            looked,
        })
    }
}

/// A range of numbers, both ends included; empty when `first > last`.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct Range {
    /// The smallest number of the range.
    pub(in crate::engine) first: u64,
    /// The largest number of the range.
    pub(in crate::engine) last: u64,
}

impl Range {
    /// The numbers from 1 to the last one.
    pub(in crate::engine) const fn to(last: u64) -> Self {
        Self { first: 1, last }
    }

    /// The numbers of a period, and a few more on both ends, among the numbers from 1 to `count`, which are roughly in
    /// the order of their times.
    pub(in crate::engine) fn within(
        count: u64,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
        time: impl Fn(u64) -> Result<Option<Timestamp>, StoreError>,
    ) -> Result<Self, StoreError> {
        // Finds the first number whose time is not before `at`.
        let first = |at: Timestamp| {
            let (mut low, mut high) = (1_u64, count.strict_add(1));
            while low < high {
                let middle = u64::midpoint(low, high);
                if time(middle)?.is_some_and(|time| time < at) {
                    low = middle.strict_add(1);
                } else {
                    high = middle;
                }
            }
            Ok::<_, StoreError>(low)
        };
        let earlier =
            |at: Timestamp| Timestamp::from_millis(at.millis().max(TIME_SLACK) - TIME_SLACK);
        Ok(Self {
            first: from.map_or(Ok(1), |from| first(earlier(from)))?,
            last: match to {
                Some(to) => first(to.plus_millis(TIME_SLACK))?.strict_sub(1),
                None => count,
            },
        })
    }

    /// How many numbers it has.
    pub(in crate::engine) fn len(self) -> u64 {
        self.last.saturating_add(1).saturating_sub(self.first)
    }

    /// Whether a number is in it.
    pub(in crate::engine) const fn has(self, number: u64) -> bool {
        self.first <= number && number <= self.last
    }

    /// The part of the range that a page shows, and where the next page begins.
    pub(in crate::engine) fn page(self, page: &ListPage) -> (Self, Option<ListCursor>) {
        let offset = u64::try_from(page.offset).unwrap_or(u64::MAX);
        let limit = u64::try_from(page.limit).unwrap_or(u64::MAX);
        match page.order {
            SortOrder::Ascending => {
                let first = page.after().map_or_else(
                    || self.first.saturating_add(offset),
                    |cursor| cursor.saturating_add(1).max(self.first),
                );
                let last = first.saturating_add(limit).saturating_sub(1).min(self.last);
                (
                    Self { first, last },
                    (last < self.last && first <= last).then_some(last.into()),
                )
            }
            SortOrder::Descending => {
                let last = page.after().map_or_else(
                    || self.last.saturating_sub(offset),
                    |cursor| cursor.saturating_sub(1).min(self.last),
                );
                let gone = page.cursor.is_none() && offset > self.last.saturating_sub(self.first);
                let first = last.saturating_add(1).saturating_sub(limit).max(self.first);
                if gone || last < self.first {
                    return (Self::NONE, None);
                }
                let next = (first > self.first).then_some(first.into());
                (Self { first, last }, next)
            }
        }
    }
}

/// Cuts one page out of matching rows that arrive in the order of the page.
#[derive(Debug)]
pub(in crate::engine) struct Picker<T> {
    page: ListPage,
    seen: u64,
    skipped: usize,
    items: Vec<(u64, T)>,
    more: bool,
}

impl<T> Picker<T> {
    pub(in crate::engine) fn new(page: ListPage) -> Self {
        Self {
            page,
            seen: 0,
            skipped: 0,
            items: Vec::new(),
            more: false,
        }
    }

    pub(in crate::engine) fn offer(&mut self, place: u64, row: T) {
        self.seen += 1;
        let before = match (self.page.after(), self.page.order) {
            (Some(cursor), SortOrder::Ascending) => place <= cursor,
            (Some(cursor), SortOrder::Descending) => place >= cursor,
            (None, _) if self.skipped < self.page.offset => {
                self.skipped += 1;
                true
            }
            (None, _) => false,
        };
        if before {
            return;
        }
        if self.items.len() < self.page.limit {
            self.items.push((place, row));
        } else {
            self.more = true;
        }
    }

    /// Whether the page has all its rows.
    pub(in crate::engine) const fn is_full(&self) -> bool {
        self.items.len() >= self.page.limit
    }

    /// Whether rows are still to be skipped.
    pub(in crate::engine) const fn skips(&self) -> bool {
        self.page.cursor.is_none() && self.skipped < self.page.offset
    }

    pub(in crate::engine) fn listing(self) -> Listing<T> {
        let last = self.items.last().map(|(place, _)| *place);
        let next = last.filter(|_| self.more).map(ListCursor::from);
        let items = self.items.into_iter().map(|(_, row)| row).collect();
        Listing::of(items, self.seen, next)
    }
}

/// Sorts all matches by a value and their number, and cuts out the page after a mark or an offset. Value and number of
/// a row never change, so a walk shows each row once, even if rows are added in between.
pub(in crate::engine) fn sorted<T, K: Ord>(
    mut rows: Vec<((K, u64), T)>,
    mark: Option<&(K, u64)>,
    page: &ListPage,
) -> Listing<T> {
    rows.sort_by(|(a, _), (b, _)| a.cmp(b));
    if page.order == SortOrder::Descending {
        rows.reverse();
    }
    let skip = mark.map_or(page.offset, |mark| {
        rows.partition_point(|(key, _)| match page.order {
            SortOrder::Ascending => key <= mark,
            SortOrder::Descending => key >= mark,
        })
    });
    let total = u64::try_from(rows.len()).unwrap_or(u64::MAX);
    let mut rest = rows.into_iter().skip(skip);
    let (mut items, mut last) = (Vec::with_capacity(page.limit), None);
    for ((_, number), row) in rest.by_ref().take(page.limit) {
        items.push(row);
        last = Some(number);
    }
    let next = last.filter(|_| rest.next().is_some()).map(ListCursor::from);
    Listing::of(items, total, next)
}

/// Passes each row whose key has this prefix to `take`, in the order of keys, until it returns `false`.
pub(in crate::engine) fn each_row(
    store: &dyn Index,
    prefix: &[u8],
    mut take: impl FnMut(&[u8], &[u8]) -> Result<bool, StoreError>,
) -> Result<(), StoreError> {
    let (mut from, to) = (prefix.to_vec(), keys::after_prefix(prefix));
    loop {
        let rows = store.scan(&from, &to, SortOrder::Ascending, SCAN_PAGE)?;
        for (key, row) in &rows {
            if !take(key, row)? {
                return Ok(());
            }
        }
        match rows.last() {
            Some((key, _)) if rows.len() == SCAN_PAGE => from = [key.as_slice(), &[0]].concat(),
            Some(_) | None => return Ok(()),
        }
    }
}
