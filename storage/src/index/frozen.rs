//! A table that accepts no more rows and waits to become a run.
//!
//! **Shape.** The rows of groups come as the tree to which they were published. Those of a journal that is indexed again
//! come as a sorted pile: nobody has read them in between.

use std::collections::btree_map;

use crate::index::bytes::Bytes;
use crate::index::manifest::Mark;
use crate::index::pile::{self, RowRef, Sorted};
use crate::index::table::{Table, range};

/// A table that accepts no more rows and waits to become a run.
#[derive(Debug)]
pub(crate) struct Frozen {
    /// The rows; `None` is a removed key.
    pub(crate) rows: FrozenRows,
    /// How far the journal is covered once these rows are on disk.
    pub(crate) mark: Mark,
}

/// The rows of a frozen table.
#[derive(Debug)]
pub(crate) enum FrozenRows {
    /// As groups were published.
    Table(Table),
    /// As the journal was indexed again.
    Sorted(Sorted),
}

impl FrozenRows {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Sorted(sorted) => sorted.len(),
        }
    }

    /// The value under a key, or `None` in it where the key was removed; `None` when the key is not here.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        match self {
            Self::Table(table) => table.get(key).map(slice),
            Self::Sorted(sorted) => sorted.get(key),
        }
    }

    /// All rows, smallest key first.
    pub(crate) fn all(&self) -> RowsWithin<'_> {
        match self {
            Self::Table(table) => RowsWithin::Table(table.range::<Bytes, _>(..)),
            Self::Sorted(sorted) => RowsWithin::Sorted(sorted.range(&[], None)),
        }
    }

    /// The rows with `from <= key < to`; `None` when the bounds make that empty.
    pub(crate) fn range(&self, from: &[u8], to: &[u8]) -> Option<RowsWithin<'_>> {
        match self {
            Self::Table(table) => range(table, from, to).map(RowsWithin::Table),
            Self::Sorted(sorted) => {
                (from < to).then(|| RowsWithin::Sorted(sorted.range(from, Some(to))))
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
    Sorted(pile::Rows<'a>),
}

fn slice(value: &Option<Bytes>) -> Option<&[u8]> {
    value.as_ref().map(Bytes::as_slice)
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
