//! Rows that were gathered in no order while the journal is indexed again.
//!
//! **Shape.** The thread that indexes gathers rows and looks some of them up. Once they fill a table it hands them over
//! as they are, and gathers the next ones. Whoever first needs the order of a table sorts it, which is mostly the flusher;
//! until then the rows that may be looked up are found in the map in which they were gathered.
//!
//! **Bounds.** While rows are sorted they are in memory twice, and the map stays until they are written. The memory of a
//! table that was written is [kept](Spare) for the next ones: a system takes as long to hand out fresh memory as it takes
//! to sort rows in it.

use std::mem;
use std::sync::{Arc, Mutex, OnceLock};

use foldhash::HashMap;

use crate::index::arena::{RowArena, SortedArena};
use crate::index::bytes::Bytes;
use crate::index::scope::Scopes;
use crate::index::table::slice;
use crate::sync::lock;

/// Rows by their keys; `None` is a removed key.
pub(crate) type RowMap = HashMap<Bytes, Option<Bytes>>;

/// The last sequences of streams, by the part of their keys that names them.
pub(crate) type StreamHeads = HashMap<Bytes, u64>;

/// Rows as they were gathered.
#[derive(Debug)]
pub(crate) struct BulkTable {
    rows: RowMap,
    kinds: Scopes,
    unread: Mutex<RowArena>,
    streams: Option<StreamHeads>,
    sorted: OnceLock<SortedArena>,
    spare: Arc<SpareMemory>,
}

impl BulkTable {
    /// Takes over rows that may be looked up, and rows of some kinds that are not, except for the heads of streams.
    /// `streams` has the streams of all these rows, or is `None` if nobody has asked for one.
    pub(crate) fn new(
        rows: RowMap,
        (kinds, unread): (Scopes, RowArena),
        streams: Option<StreamHeads>,
        spare: &Arc<SpareMemory>,
    ) -> Self {
        Self {
            rows,
            kinds,
            unread: Mutex::new(unread),
            streams,
            sorted: OnceLock::new(),
            spare: Arc::clone(spare),
        }
    }

    /// All rows in the order of their keys; waits while another thread sorts them.
    pub(crate) fn sorted(&self) -> &SortedArena {
        self.sorted.get_or_init(|| {
            let mut arena = mem::take(&mut *lock(&self.unread));
            for (key, value) in &self.rows {
                arena.push(key.as_slice(), slice(value));
            }
            let sorted = arena.sorted(self.spare.room());
            arena.clear();
            lock(&self.spare.0).arenas.push(arena);
            sorted
        })
    }

    /// The value under a key, or `None` in it where the key was removed; `None` when the key is not here.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        if self.kinds.names(key) {
            self.sorted().get(key)
        } else {
            self.rows.get(key).map(slice)
        }
    }

    /// Whether it is known without sorting that there is no row of a stream.
    pub(crate) fn lacks(&self, stream: &[u8]) -> bool {
        let streams = self.streams.as_ref();
        streams.is_some_and(|streams| !streams.contains_key(stream))
    }
}

impl Drop for BulkTable {
    fn drop(&mut self) {
        let mut map = mem::take(&mut self.rows);
        map.clear();
        let mut streams = self.streams.take();
        streams.iter_mut().for_each(HashMap::clear);
        let mut spare = lock(&self.spare.0);
        spare.maps.push(map);
        spare.heads.extend(streams);
        spare.sorted.extend(self.sorted.take());
    }
}

/// The memory of tables that were written: at most that of as many as there were at once.
#[derive(Debug, Default)]
pub(crate) struct SpareMemory(Mutex<SpareTables>);

#[derive(Debug, Default)]
struct SpareTables {
    maps: Vec<RowMap>,
    heads: Vec<StreamHeads>,
    arenas: Vec<RowArena>,
    sorted: Vec<SortedArena>,
}

impl SpareMemory {
    /// An empty map and an empty pile, if possible with the memory of others.
    pub(crate) fn take(&self) -> (RowMap, RowArena) {
        let mut kept = lock(&self.0);
        (one_of(&mut kept.maps), one_of(&mut kept.arenas))
    }

    /// An empty map of heads, likewise.
    pub(crate) fn heads(&self) -> StreamHeads {
        one_of(&mut lock(&self.0).heads)
    }

    fn room(&self) -> SortedArena {
        one_of(&mut lock(&self.0).sorted)
    }
}

fn one_of<T: Default>(kept: &mut Vec<T>) -> T {
    if kept.is_empty() {
        T::default()
    } else {
        kept.swap_remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::arena::RowRef;

    /// Rows that may be looked up, each with its number as value, and some that may not.
    fn gathered(spare: &Arc<SpareMemory>, numbers: std::ops::Range<u8>) -> BulkTable {
        let (mut rows, mut unread) = spare.take();
        assert!(rows.is_empty() && unread.len() == 0);
        for n in numbers {
            rows.insert(Bytes::new(&[5, n]), Some(Bytes::new(&[n])));
            unread.push(&[3, n], None);
            unread.push(&[7, n], Some(&[n]));
        }
        rows.insert(Bytes::new(&[5, 99]), None);
        let streams = HashMap::from_iter([(Bytes::new(b"stream"), 1)]);
        BulkTable::new(rows, (Scopes::of(&[3, 7]), unread), Some(streams), spare)
    }

    #[test]
    fn rows_are_found_before_and_after_they_are_sorted_in_the_memory_of_others() {
        let spare = Arc::new(SpareMemory::default());
        let own = |(key, value): RowRef<'_>| (key.to_vec(), value.map(<[u8]>::to_vec));
        for numbers in [0..40, 10..20, 0..0, 5..60] {
            let rows = gathered(&spare, numbers.clone());
            let looked = || {
                assert_eq!(rows.get(&[5, 99]), Some(None));
                for n in 0..60_u8 {
                    let there = numbers.contains(&n);
                    let found = there.then_some([n]);
                    let found = found.as_ref().map(|n| Some(n.as_slice()));
                    assert_eq!(rows.get(&[5, n]), found, "{n}");
                    assert_eq!(rows.get(&[7, n]), found, "{n}");
                    assert_eq!(rows.get(&[3, n]), there.then_some(None), "{n}");
                }
            };
            assert_eq!(rows.get(&[5, 99]), Some(None));
            assert!(rows.sorted.get().is_none(), "nobody needed the order");
            looked();
            assert!(rows.sorted.get().is_some());
            looked();
            let all: Vec<_> = rows.sorted().range(&[], None).map(own).collect();
            let kinds = [(3, false), (5, true), (7, true)];
            let mut right: Vec<_> = Vec::new();
            for (kind, has) in kinds {
                right.extend(
                    numbers
                        .clone()
                        .map(|n| (vec![kind, n], has.then_some(vec![n]))),
                );
                right.extend((kind == 5).then_some((vec![5, 99], None)));
            }
            assert_eq!(all, right);
            assert!(!rows.lacks(b"stream") && rows.lacks(b"other"));
        }
        let kept = lock(&spare.0);
        let kept = [kept.maps.len(), kept.arenas.len(), kept.sorted.len()];
        assert_eq!(kept, [1; 3], "there was one table at a time");
    }
}
