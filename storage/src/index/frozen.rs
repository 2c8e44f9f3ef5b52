//! A table that accepts no more rows and waits to become a run.
//!
//! **Shape.** The rows of groups come as the tree to which they were published. Those of a journal that is indexed again
//! come [in no order](Gathered).

use std::collections::btree_map;

use crate::api::Head;
use crate::index::arena::{self, RowRef};
use crate::index::bulk_table::BulkTable;
use crate::index::bytes::Bytes;
use crate::index::manifest::JournalMark;
use crate::index::table::{Table, range, slice};
use crate::rows::parse_head;

/// A table that accepts no more rows and waits to become a run.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// The rows; `None` is a removed key.
    pub(crate) rows: FrozenRows,
    /// How far the journal is covered once these rows are on disk.
    pub(crate) mark: JournalMark,
}

/// The rows of a frozen table.
#[derive(Debug)]
pub(crate) enum FrozenRows {
    /// As groups were published.
    Table(Table),
    /// As the journal was indexed again.
    Bulk(Box<BulkTable>),
}

impl FrozenRows {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Bulk(rows) => rows.sorted().len(),
        }
    }

    /// The value under a key, or `None` in it where the key was removed; `None` when the key is not here.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self {
            Self::Table(table) => table.get(key).map(slice),
            Self::Bulk(rows) => rows.get(key),
        }
    }

    /// The last row of a stream, if there is one; `stream` is the part of its keys that names it.
    pub(crate) fn head(&self, stream: &[u8], from: &[u8], to: &[u8]) -> Option<Head> {
        if let Self::Bulk(rows) = self
            && rows.lacks(stream)
        {
            return None;
        }
        let (key, value) = self.range(from, to)?.next_back()?;
        parse_head(key, value?)
    }

    /// All rows, smallest key first.
    pub(crate) fn all(&self) -> RowsWithin<'_> {
        match self {
            Self::Table(table) => RowsWithin::Table(table.range::<Bytes, _>(..)),
            Self::Bulk(rows) => RowsWithin::Sorted(rows.sorted().range(&[], None)),
        }
    }

    /// The rows with `from <= key < to`; `None` when the bounds make that empty.
    pub(crate) fn range(&self, from: &[u8], to: &[u8]) -> Option<RowsWithin<'_>> {
        match self {
            Self::Table(table) => range(table, from, to).map(RowsWithin::Table),
            Self::Bulk(rows) => {
                (from < to).then(|| RowsWithin::Sorted(rows.sorted().range(from, Some(to))))
            }
        }
    }
}

/// A part of the rows of a frozen table, in the order of their keys.
#[derive(Debug)]
pub(crate) enum RowsWithin<'a> {
    /// Of a tree.
    Table(btree_map::Range<'a, Bytes, Option<Bytes>>),
    /// Of a sorted pile.
    Sorted(arena::ArenaRows<'a>),
}

fn row<'a>((key, value): (&'a Bytes, &'a Option<Bytes>)) -> RowRef<'a> {
    (key.as_slice(), slice(value))
}

impl<'a> Iterator for RowsWithin<'a> {
    type Item = RowRef<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Table(range) => range.next().map(row),
            Self::Sorted(rows) => rows.next(),
        }
    }
}

impl DoubleEndedIterator for RowsWithin<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self {
            Self::Table(range) => range.next_back().map(row),
            Self::Sorted(rows) => rows.next_back(),
        }
    }
}
