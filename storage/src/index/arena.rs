//! Rows in one piece of memory: added in any order, sorted once, and read in the order of their keys.
//!
//! **Shape.** Keys and values are one behind the other, so adding a row costs a copy and no allocation. Rows are sorted
//! by the kind of their key, its first byte, and within a kind by places: the [`FIRST`] bytes that follow, which mostly
//! decide, and where the row is stored. Many kinds are added in the order of their keys and are not moved at all. Then the
//! rows are copied once in their new order, so whoever reads them all reads memory from its beginning to its end.
//! [`RowArena`] takes rows, [`SortedArena`] finds them.
//!
//! **Bounds.** While rows are sorted they are in memory twice.
//!
//! **Order.** Of rows with one key, the one that was added last holds.

use std::cmp::Ordering;
use std::slice;

use crate::fetch::fetch;
use crate::num::{u16_of, u32_of, usize_of32};

/// How many bytes of a key, after that of its kind, are compared as numbers: all of a stream's key, and most of an
/// external id.
const FIRST: usize = 24;
/// How many kinds of keys there can be.
const KINDS: usize = 256;
/// How many rows are fetched from memory at once.
const TOGETHER: usize = 32;
/// The length that stands for a removed key.
const GONE: u32 = u32::MAX;
/// Bytes before each row: the length of its key and that of its value.
const LENGTHS: usize = 6;

/// A key and its value; `None` is a removed key.
pub(crate) type RowRef<'a> = (&'a [u8], Option<&'a [u8]>);

/// Rows in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct RowArena {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

/// Where a row is stored, and what follows the kind of its key, as numbers.
#[derive(Clone, Copy, Debug, Default)]
struct ArenaPlace {
    first: [u64; FIRST / 8],
    start: usize,
}

/// Rows in the order of their keys, each key once.
#[derive(Debug, Default)]
pub(crate) struct SortedArena {
    bytes: Vec<u8>,
    places: Vec<ArenaPlace>,
    /// For each kind of key, how many keys there are up to its last one.
    ends: Vec<usize>,
}

/// The row that was appended at `start`.
#[expect(
    clippy::expect_used,
    reason = "a row that is not where it was put would be a wrong answer"
)]
fn row_at(bytes: &[u8], start: usize) -> RowRef<'_> {
    let parsed = || {
        let (lengths, rows) = bytes.get(start..)?.split_first_chunk::<LENGTHS>()?;
        let [a, b, c, d, e, f] = *lengths;
        let (key, rest) = rows.split_at_checked(u16::from_be_bytes([a, b]).into())?;
        let value = match u32::from_be_bytes([c, d, e, f]) {
            GONE => None,
            length => Some(rest.get(..usize_of32(length))?),
        };
        Some((key, value))
    };
    parsed().expect("a row begins here")
}

/// Appends a row.
fn append(bytes: &mut Vec<u8>, (key, value): RowRef<'_>) {
    let length = value.map_or(GONE, |value| u32_of(value.len()));
    bytes.extend_from_slice(&u16_of(key.len()).to_be_bytes());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(value.unwrap_or(&[]));
}

/// The kind of a key.
fn kind_of(key: &[u8]) -> usize {
    key.first().map_or(0, |kind| usize::from(*kind))
}

/// The bytes after the kind of a key as numbers; zeros follow a shorter key, so equal numbers decide nothing.
fn first_of(key: &[u8]) -> [u64; FIRST / 8] {
    let mut rest = key.iter().skip(1);
    [(); FIRST / 8].map(|()| {
        let mut number = [0; 8];
        for (to, from) in number.iter_mut().zip(rest.by_ref()) {
            *to = *from;
        }
        u64::from_be_bytes(number)
    })
}

impl RowArena {
    /// Adds a row, and returns how many bytes it will take once the rows are sorted.
    pub(crate) fn push(&mut self, key: &[u8], value: Option<&[u8]>) -> usize {
        let start = self.bytes.len();
        self.starts.push(start);
        append(&mut self.bytes, (key, value));
        self.bytes.len() - start + size_of::<ArenaPlace>()
    }

    /// How many rows were added.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The rows in the order in which they were added, without the first `n`.
    pub(crate) fn after(&self, n: usize) -> impl Iterator<Item = RowRef<'_>> {
        let starts = self.starts.iter().skip(n);
        starts.map(|start| row_at(&self.bytes, *start))
    }

    /// Forgets the rows, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
    }

    /// Frees memory beyond that of the rows.
    pub(crate) fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
        self.starts.shrink_to_fit();
    }

    /// The rows in the order of their keys, in the memory of others. Of rows with one key the last one is there.
    pub(crate) fn sorted(&self, room: SortedArena) -> SortedArena {
        let SortedArena {
            mut bytes,
            mut places,
            mut ends,
        } = room;
        bytes.clear();
        bytes.reserve(self.bytes.len());
        places.clear();
        places.resize(self.starts.len(), ArenaPlace::default());
        let mut next = self.begins();
        for start in &self.starts {
            let (key, start) = (row_at(&self.bytes, *start).0, *start);
            if let Some(at) = next.get_mut(kind_of(key))
                && let Some(place) = places.get_mut(*at)
            {
                let first = first_of(key);
                *place = ArenaPlace { first, start };
                *at += 1;
            }
        }
        // every kind has been filled up to where the next one begins
        let (mut rest, mut from) = (places.as_mut_slice(), 0);
        for to in &next {
            let (of_kind, others) = rest.split_at_mut(to - from);
            self.sort(of_kind);
            (rest, from) = (others, *to);
        }
        ends.clear();
        let (mut from, mut kept) = (0, 0);
        for to in next {
            for at in from..to {
                if (at - from).is_multiple_of(TOGETHER) {
                    let next = places.get(at..to.min(at + TOGETHER)).into_iter().flatten();
                    fetch(
                        next.filter_map(|place| {
                            self.bytes.get(place.start).copied().map(u64::from)
                        }),
                    );
                }
                let Some(place) = places.get(at).copied() else {
                    break;
                };
                let later = places.get(at + 1).filter(|_| at + 1 < to);
                if later.is_some_and(|later| self.alike(place, *later)) {
                    continue;
                }
                let start = bytes.len();
                append(&mut bytes, row_at(&self.bytes, place.start));
                if let Some(kept) = places.get_mut(kept) {
                    *kept = ArenaPlace { start, ..place };
                }
                kept += 1;
            }
            ends.push(kept);
            from = to;
        }
        places.truncate(kept);
        SortedArena {
            bytes,
            places,
            ends,
        }
    }

    /// How many rows there are of the kinds before each kind.
    fn begins(&self) -> Vec<usize> {
        let mut begins = vec![0; KINDS];
        for start in &self.starts {
            if let Some(n) = begins.get_mut(kind_of(row_at(&self.bytes, *start).0)) {
                *n += 1;
            }
        }
        let mut before = 0;
        for n in &mut begins {
            before += std::mem::replace(n, before);
        }
        begins
    }

    /// Sorts rows of one kind, those with one key in the order in which they were added.
    fn sort(&self, places: &mut [ArenaPlace]) {
        let key = |place: &ArenaPlace| row_at(&self.bytes, place.start).0;
        places.sort_unstable_by(|one, other| {
            let by_first = one.first.cmp(&other.first);
            let by_key = by_first.then_with(|| key(one).cmp(key(other)));
            by_key.then(one.start.cmp(&other.start))
        });
    }

    /// Whether two rows have one key.
    fn alike(&self, one: ArenaPlace, other: ArenaPlace) -> bool {
        let key = |place: ArenaPlace| row_at(&self.bytes, place.start).0;
        one.first == other.first && key(one) == key(other)
    }
}

impl SortedArena {
    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The value under a key, or `None` in it where the key was removed; `None` when the key is not here.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        let at = self.before(key);
        let (found, value) = row_at(&self.bytes, self.places.get(at)?.start);
        (found == key).then_some(value)
    }

    /// The rows with `from <= key < to`; without `to`, up to the end.
    pub(crate) fn range(&self, from: &[u8], to: Option<&[u8]>) -> ArenaRows<'_> {
        let end = to.map_or(self.places.len(), |to| self.before(to));
        let places = self.places.get(self.before(from)..end);
        ArenaRows {
            bytes: &self.bytes,
            places: places.unwrap_or(&[]).iter(),
        }
    }

    /// How many keys are smaller than this one.
    fn before(&self, key: &[u8]) -> usize {
        let (kind, first) = (kind_of(key), first_of(key));
        let begin = kind.checked_sub(1).and_then(|kind| self.ends.get(kind));
        let begin = begin.map_or(0, |begin| *begin);
        let end = self.ends.get(kind);
        let of_kind = end.and_then(|end| self.places.get(begin..*end));
        let before = of_kind.unwrap_or(&[]).partition_point(|place| {
            let by_first = place.first.cmp(&first);
            let order = by_first.then_with(|| row_at(&self.bytes, place.start).0.cmp(key));
            order == Ordering::Less
        });
        begin + before
    }
}

/// Rows in the order of their keys.
#[derive(Debug)]
pub(crate) struct ArenaRows<'a> {
    bytes: &'a [u8],
    places: slice::Iter<'a, ArenaPlace>,
}

impl<'a> Iterator for ArenaRows<'a> {
    type Item = RowRef<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let place = self.places.next()?;
        Some(row_at(self.bytes, place.start))
    }
}

impl DoubleEndedIterator for ArenaRows<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let place = self.places.next_back()?;
        Some(row_at(self.bytes, place.start))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::Bound;

    use proptest::prelude::*;

    use super::*;

    /// Keys that often begin alike, end in zeros, or come twice, on both sides of the length that is compared first.
    fn keys() -> impl Strategy<Value = Vec<u8>> {
        let few = || prop_oneof![4 => Just(0_u8), 1 => Just(1), 1 => Just(255)];
        let begin = proptest::collection::vec(few(), 0..2);
        let end = proptest::collection::vec(few(), 0..5);
        let all = (begin, 0..FIRST + 2, end);
        all.prop_map(|(begin, zeros, end)| [begin, vec![0; zeros], end].concat())
    }

    proptest! {
        #[test]
        fn sorted_rows_are_those_of_a_map(
            rows in proptest::collection::vec((keys(), any::<Option<[u8; 3]>>()), 0..60),
            from in keys(),
            to in keys(),
            others in proptest::collection::vec(keys(), 0..60),
        ) {
            let mut before = RowArena::default();
            for key in &others {
                before.push(key, Some(key));
            }
            let (mut arena, mut map) = (RowArena::default(), BTreeMap::new());
            for (key, value) in &rows {
                let value = value.as_ref().map(<[u8; 3]>::as_slice);
                arena.push(key, value);
                map.insert(key.as_slice(), value);
            }
            let added = rows.iter().map(|(key, value)| (key.as_slice(), value.as_ref().map(<[u8; 3]>::as_slice)));
            prop_assert_eq!(arena.len(), rows.len());
            prop_assert_eq!(arena.after(2).collect::<Vec<_>>(), added.skip(2).collect::<Vec<_>>());
            let sorted = arena.sorted(before.sorted(SortedArena::default()));
            prop_assert_eq!(sorted.len(), map.len());
            for key in rows.iter().map(|(key, _)| key).chain([&from, &to]) {
                prop_assert_eq!(sorted.get(key), map.get(key.as_slice()).copied());
            }
            let own = |(key, value): (&&'_ [u8], &Option<&'_ [u8]>)| (key.to_vec(), value.map(<[u8]>::to_vec));
            let copied = |(key, value): RowRef<'_>| (key.to_vec(), value.map(<[u8]>::to_vec));
            let all: Vec<_> = map.iter().map(own).collect();
            prop_assert_eq!(sorted.range(&[], None).map(copied).collect::<Vec<_>>(), all);
            let within: Vec<_> = match from < to {
                true => map.range::<[u8], _>((Bound::Included(from.as_slice()), Bound::Excluded(to.as_slice()))).map(own).collect(),
                false => Vec::new(),
            };
            prop_assert_eq!(sorted.range(&from, Some(&to)).map(copied).collect::<Vec<_>>(), within.clone());
            let back: Vec<_> = sorted.range(&from, Some(&to)).rev().map(copied).collect();
            prop_assert_eq!(back, within.into_iter().rev().collect::<Vec<_>>());
        }
    }
}
