//! Turns entries into index rows: the engine's own and those of the projection.

use std::collections::hash_map;
use std::mem;

use foldhash::HashMap;

use crate::api::{Entry, IndexWriter, Position, Projection, Row, StoreError, StreamId};
use crate::index::SortedRows;
use crate::index::bytes::Bytes;
use crate::index::manifest::JournalMark;
use crate::index::scope::Scopes;
use crate::index::table::row_bytes;
use crate::rows::{
    STREAM_TAG, check_key, check_read, check_value, parse_head, stream_key, stream_prefix,
    stream_value,
};

/// The rows of one group, or of a part of the journal, before readers see them, and the counters that are read again
/// and again.
pub(crate) struct Overlay {
    /// The rows that the projection may read.
    rows: HashMap<Bytes, Option<Bytes>>,
    /// The kinds of rows that it does not read, and the engine's own rows.
    kinds: Scopes,
    /// The rows of these kinds in the order in which they were added: most rows are of such a kind, and a list costs less
    /// than a map. No key is here and in `rows`.
    unread: Vec<(Bytes, Option<Bytes>)>,
    /// The last sequence of each stream in the first `headed` rows of `unread`, by the part of their keys that names
    /// the stream.
    heads: HashMap<Bytes, u64>,
    headed: usize,
    /// Rough size of the rows in a table, in bytes.
    bytes: usize,
    counters: HashMap<Bytes, u64>,
    counters_max: usize,
    error: Option<StoreError>,
}

impl Overlay {
    /// An empty overlay for rows of this projection, which keeps at most this many counters.
    pub(crate) fn new(projection: &dyn Projection, counters_max: usize) -> Self {
        let kinds = [projection.unread(), &[STREAM_TAG]].concat();
        Self {
            rows: HashMap::default(),
            kinds: Scopes::of(&kinds),
            unread: Vec::new(),
            heads: HashMap::default(),
            headed: 0,
            bytes: 0,
            counters: HashMap::default(),
            counters_max,
            error: None,
        }
    }

    /// Adds the rows of one entry, which is at `position`, to those that wait for [`Self::publish`].
    ///
    /// # Errors
    /// The projection's error, or `Invalid` when it wrote a key or a value beyond its limits. The rows that it had
    /// already written stay, so nothing may be published any more.
    pub(crate) fn entry(
        &mut self,
        index: &SortedRows,
        projection: &dyn Projection,
        entry: &Entry,
        position: Position,
    ) -> Result<(), StoreError> {
        let key = stream_key(entry.stream, entry.seq);
        let value = stream_value(position, entry.at);
        self.set(&key, Some(&value));
        projection.project(
            entry,
            position,
            &mut GroupWriter {
                overlay: self,
                index,
            },
        )?;
        self.error.take().map_or(Ok(()), Err)
    }

    /// Adds the rows that a commit brings besides its entries.
    pub(crate) fn hints(&mut self, hints: &[Row]) {
        for row in hints {
            self.counters.remove(row.key.as_slice());
            self.set(&row.key, row.value.as_deref());
        }
    }

    fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        if self.kinds.names(key) {
            let (key, value) = (Bytes::new(key), value.map(Bytes::new));
            self.bytes += row_bytes(&key, value.as_ref());
            self.unread.push((key, value));
            return;
        }
        match self.rows.entry(Bytes::new(key)) {
            hash_map::Entry::Occupied(mut there) => {
                // sums are rewritten with every entry and do not fit inline: they reuse their allocation
                if let (Some(value), Some(there)) = (value, there.get_mut())
                    && there.rewrite(value)
                {
                    return;
                }
                let value = value.map(Bytes::new);
                self.bytes += value.as_ref().map_or(0, Bytes::heap);
                let old = there.insert(value);
                self.bytes -= old.as_ref().map_or(0, Bytes::heap);
            }
            hash_map::Entry::Vacant(place) => {
                let value = value.map(Bytes::new);
                self.bytes += row_bytes(place.key(), value.as_ref());
                place.insert(value);
            }
        }
    }

    /// Moves the rows to the index, where readers see them.
    pub(crate) fn publish(&mut self, index: &SortedRows) {
        index.apply(self.rows.drain().chain(self.unread.drain(..)));
        self.forget();
    }

    /// Freezes the rows as a table of their own once they fill one, bypassing the table to which groups are published;
    /// `mark` is the end of the journal part that the rows cover. For rows that only their writer reads, as when the
    /// journal is indexed again.
    ///
    /// # Errors
    /// As [`SortedRows::wait_for_place`]. The overlay is not to be used any more then.
    pub(crate) fn freeze_if_full(
        &mut self,
        index: &SortedRows,
        mark: JournalMark,
    ) -> Result<(), StoreError> {
        if index.fills_a_table(self.bytes) {
            // before there is one more table in memory
            index.wait_for_place()?;
            self.show(index);
            index.freeze(mark)?;
        }
        Ok(())
    }

    /// Moves the rows to the index as [`Self::publish`] does, where there are many and the index has no others in its
    /// table: sorting them once takes a fraction of the time of inserting each one.
    pub(crate) fn show(&mut self, index: &SortedRows) {
        let mut rows: Vec<_> = self.rows.drain().chain(self.unread.drain(..)).collect();
        rows.sort_by(|(one, _), (other, _)| one.cmp(other));
        // of rows with one key the one that was added last holds
        rows.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                mem::swap(&mut later.1, &mut earlier.1);
            }
            same
        });
        index.begin(rows.into_iter().collect(), self.bytes);
        self.forget();
    }

    /// Frees the memory that the rows of many records took: a group has few.
    pub(crate) fn shrink(&mut self) {
        self.rows.shrink_to_fit();
        self.unread.shrink_to_fit();
        self.heads.shrink_to_fit();
    }

    /// The last sequence of a stream among the rows that wait. Heads are collected once they are asked for: few facts
    /// ask.
    fn head(&mut self, stream: StreamId) -> Option<u64> {
        self.collect_heads();
        let key = stream_key(stream, 0);
        self.heads.get(stream_prefix(&key)?).copied()
    }

    fn collect_heads(&mut self) {
        for (key, value) in self.unread.iter().skip(self.headed) {
            let key = key.as_slice();
            if let (Some(of), Some(value)) = (stream_prefix(key), value)
                && let Some(head) = parse_head(key, value.as_slice())
            {
                self.heads.insert(Bytes::new(of), head.seq);
            }
        }
        self.headed = self.unread.len();
    }

    fn forget(&mut self) {
        self.bytes = 0;
        self.heads.clear();
        self.headed = 0;
        if self.counters.len() > self.counters_max {
            self.counters.clear();
        }
    }
}

struct GroupWriter<'a> {
    overlay: &'a mut Overlay,
    index: &'a SortedRows,
}

impl GroupWriter<'_> {
    fn set(&mut self, key: &[u8], value: Option<&[u8]>) {
        let checked = check_key(key).and_then(|()| value.map_or(Ok(()), check_value));
        if let Err(e) = checked {
            self.overlay.error = Some(e);
            return;
        }
        if !self.overlay.counters.is_empty() {
            self.overlay.counters.remove(key);
        }
        self.overlay.set(key, value);
    }
}

impl IndexWriter for GroupWriter<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        check_read(key, self.overlay.kinds.names(key))?;
        match self.overlay.rows.get(key) {
            Some(found) => Ok(found.as_ref().map(|v| v.as_slice().to_vec())),
            None => self.index.get(key),
        }
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.set(key, Some(value));
    }

    fn delete(&mut self, key: &[u8]) {
        self.set(key, None);
    }

    fn next(&mut self, key: &[u8]) -> Result<u64, StoreError> {
        check_key(key)?;
        let last = match self.overlay.counters.get(key) {
            Some(n) => *n,
            None => parse_counter(self.get(key)?.as_deref())?,
        };
        let next = last.checked_add(1).ok_or_else(|| {
            StoreError::Invalid("a counter of the index has reached its end".to_owned())
        })?;
        self.overlay.set(key, Some(&next.to_be_bytes()));
        match self.overlay.counters.get_mut(key) {
            Some(n) => *n = next,
            None => drop(self.overlay.counters.insert(Bytes::new(key), next)),
        }
        Ok(next)
    }

    fn head(&mut self, stream: StreamId) -> Result<u64, StoreError> {
        match self.overlay.head(stream) {
            Some(last) => Ok(last),
            None => Ok(self.index.head(stream)?.map_or(0, |head| head.seq)),
        }
    }
}

/// The value of a counter's row, 8 bytes, big-endian; 0 when there is none.
///
/// # Errors
/// `Invalid` when the row does not have 8 bytes.
pub(crate) fn parse_counter(value: Option<&[u8]>) -> Result<u64, StoreError> {
    let Some(value) = value else { return Ok(0) };
    let bytes = value
        .try_into()
        .map_err(|_| StoreError::Invalid("a row that is counted under is no counter".to_owned()))?;
    Ok(u64::from_be_bytes(bytes))
}
