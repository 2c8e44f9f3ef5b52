//! The tables in memory: the one to which rows are published, and those that wait to become runs.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound;

use crate::api::SortOrder;
use crate::index::FoundValue;
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

/// Looks for ascending keys that newer rows do not have. A table has few rows between neighbours, and is locked meanwhile, so
/// they are looked for among the keys if they are the fewer.
pub(crate) fn get_each_in_table(table: &Table, keys: &[&[u8]], found: &mut [FoundValue]) {
    let (Some(first), Some(last)) = (keys.first(), keys.last()) else {
        return;
    };
    let own = |value: &Option<Bytes>| slice(value).map(<[u8]>::to_vec);
    let rows = || table.range::<[u8], _>((Bound::Included(*first), Bound::Included(*last)));
    if rows().take(keys.len()).count() < keys.len() {
        for (key, value) in rows() {
            let at = keys.binary_search(&key.as_slice()).ok();
            if let Some(found) = at.and_then(|at| found.get_mut(at)) {
                found.get_or_insert_with(|| own(value));
            }
        }
        return;
    }
    let missing = keys.iter().zip(found);
    for (key, found) in missing.filter(|(_, found)| found.is_none()) {
        *found = table.get(*key).map(own);
    }
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
