//! Turns entries into index rows: the engine's own and those of the projection.

use std::collections::hash_map;

use foldhash::HashMap;

use crate::api::{Entry, IndexWriter, Position, Projection, Row, StoreError, StreamId};
use crate::index::SortedRows;
use crate::index::bytes::Bytes;
use crate::index::scope::Scopes;
use crate::rows::{STREAM_TAG, check_key, check_read, check_value, stream_key, stream_value};

/// The rows of one record before readers see them, and the counters that are read again and again.
pub(crate) struct Overlay {
    /// The rows that the projection may read.
    rows: HashMap<Bytes, Option<Bytes>>,
    /// The kinds of rows that it does not read, and the engine's own rows.
    kinds: Scopes,
    /// The rows of these kinds in the order in which they were added: most rows are of such a kind, and a list costs less
    /// than a map. No key is here and in `rows`.
    unread: Vec<(Bytes, Option<Bytes>)>,
    /// The last sequence of each stream among these rows, but for the entries of `entered`.
    heads: HashMap<StreamId, u64>,
    /// The entries since the last question for a head: few facts ask.
    entered: Vec<(StreamId, u64)>,
    counters: HashMap<Bytes, u64>,
    counters_max: usize,
    error: Option<StoreError>,
}

impl Overlay {
    /// An empty overlay for rows of this projection, which keeps at most this many counters.
    pub(crate) fn new(projection: &dyn Projection, counters_max: usize) -> Self {
        Self {
            rows: HashMap::default(),
            kinds: Scopes::of(&[projection.unread(), &[STREAM_TAG]].concat()),
            unread: Vec::new(),
            heads: HashMap::default(),
            entered: Vec::new(),
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
        self.entered.push((entry.stream, entry.seq));
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
            self.unread.push((Bytes::new(key), value.map(Bytes::new)));
            return;
        }
        match self.rows.entry(Bytes::new(key)) {
            hash_map::Entry::Occupied(mut there) => {
                // sums are rewritten with every entry and do not fit inline: they reuse their allocation
                let rewritten = value
                    .zip(there.get_mut().as_mut())
                    .is_some_and(|(value, there)| there.rewrite(value));
                if !rewritten {
                    there.insert(value.map(Bytes::new));
                }
            }
            hash_map::Entry::Vacant(place) => drop(place.insert(value.map(Bytes::new))),
        }
    }

    fn head(&mut self, stream: StreamId) -> Option<u64> {
        self.heads.extend(self.entered.drain(..));
        self.heads.get(&stream).copied()
    }

    /// Moves the rows to the index, where readers see them.
    pub(crate) fn publish(&mut self, index: &SortedRows) {
        index.apply(self.rows.drain().chain(self.unread.drain(..)));
        self.heads.clear();
        self.entered.clear();
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
