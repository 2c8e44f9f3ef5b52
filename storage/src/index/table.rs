//! The tables in memory: the one to which rows are published, and those that wait to become runs.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound;

use crate::api::SortOrder;
use crate::index::bytes::Bytes;
use crate::index::manifest::JournalMark;

/// Rows in the order of their keys; `None` is a removed key.
pub(crate) type Table = BTreeMap<Bytes, Option<Bytes>>;

/// A table that accepts no more rows and waits to become a run.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// The rows; `None` is a removed key.
    pub(crate) rows: Table,
    /// How far the journal is covered once these rows are on disk.
    pub(crate) mark: JournalMark,
}

/// Bytes that one row takes in a table, roughly, besides the bytes of key and value that do not fit inline: nodes of
/// the tree are three fifths full.
const ROW: usize = 2 * size_of::<Bytes>() * 5 / 3;

/// Bytes that this row takes in a table, roughly.
pub(crate) fn row_bytes(key: &Bytes, value: Option<&Bytes>) -> usize {
    ROW + key.heap() + value.map_or(0, Bytes::heap)
}

/// A key and its value; `None` is a removed key.
pub(crate) type RowRef<'a> = (&'a [u8], Option<&'a [u8]>);

/// A row of a table.
pub(crate) fn row_ref<'a>((key, value): (&'a Bytes, &'a Option<Bytes>)) -> RowRef<'a> {
    (key.as_slice(), slice(value))
}

/// A value as a slice.
pub(crate) fn slice(value: &Option<Bytes>) -> Option<&[u8]> {
    value.as_ref().map(Bytes::as_slice)
}

/// A range of a table; `None` when the bounds make it empty.
pub(crate) fn range<'a>(
    table: &'a Table,
    from: &[u8],
    to: &[u8],
) -> Option<Range<'a, Bytes, Option<Bytes>>> {
    (from < to).then(|| table.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to))))
}

/// Copies of the first rows of a range of a table, in this order.
pub(crate) fn copy_rows(
    table: &Table,
    from: &[u8],
    to: &[u8],
    order: SortOrder,
    most: usize,
) -> Vec<(Bytes, Option<Bytes>)> {
    let Some(range) = range(table, from, to) else {
        return Vec::new();
    };
    let own = |(k, v): (&Bytes, &Option<Bytes>)| (k.clone(), v.clone());
    match order {
        SortOrder::Ascending => range.take(most).map(own).collect(),
        SortOrder::Descending => range.rev().take(most).map(own).collect(),
    }
}
