//! The contents of a store in memory, written plainly: it defines the meaning of the other engines.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::api::{
    Commit, CommitNo, Entry, EntryPlace, Head, IndexWriter, Pair, Position, Projection, Row,
    SortOrder, StoreError, StreamId,
};
use crate::durable::project::parse_counter;
use crate::num::{u64_of, usize_of};
use crate::rows::{FIRST_KEY, check_commit, check_key, check_read, check_value};

/// Everything that is durable in a real store.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryState {
    /// All entries in order, each with its commit.
    entries: Vec<(CommitNo, Entry)>,
    streams: BTreeMap<StreamId, Vec<usize>>,
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The number of the last commit; 0 when there is none.
    pub(crate) last: u64,
}

impl MemoryState {
    /// Refuses a commit that breaks a limit, does not follow its streams, or was decided on a missing entry; changes
    /// nothing.
    ///
    /// # Errors
    /// `Invalid` or `OutOfSequence`.
    pub(crate) fn check(&self, commit: &Commit) -> Result<(), StoreError> {
        check_commit(commit)?;
        let mut heads: BTreeMap<StreamId, Head> = BTreeMap::new();
        for entry in &commit.entries {
            let stream = entry.stream;
            let head = heads.get(&stream).copied().or_else(|| self.head(stream));
            let found = head.map_or(0, |h| h.seq);
            if found.checked_add(1) != Some(entry.seq) || entry.seq == u64::MAX {
                return Err(StoreError::OutOfSequence {
                    stream,
                    found,
                    offered: entry.seq,
                });
            }
            if let Some(head) = head
                && entry.at < head.at
            {
                return Err(StoreError::Invalid(format!(
                    "the time of an entry goes back from {} to {} in stream {stream:?}",
                    head.at, entry.at
                )));
            }
            heads.insert(
                stream,
                Head {
                    seq: entry.seq,
                    at: entry.at,
                },
            );
        }
        for (stream, seq) in &commit.decided_on {
            let head = heads.get(stream).copied().or_else(|| self.head(*stream));
            let found = head.map_or(0, |h| h.seq);
            if found < *seq {
                return Err(StoreError::OutOfSequence {
                    stream: *stream,
                    found,
                    offered: *seq,
                });
            }
        }
        Ok(())
    }

    /// Adds a commit that was checked.
    ///
    /// # Errors
    /// When the projection fails.
    pub(crate) fn apply(
        &mut self,
        commit: Commit,
        projection: &dyn Projection,
    ) -> Result<CommitNo, StoreError> {
        self.last += 1;
        let number = CommitNo(self.last);
        for entry in commit.entries {
            self.add(number, entry, projection)?;
        }
        self.note(commit.hints, projection);
        Ok(number)
    }

    /// Adds rows that can be lost, except rows at rest that claim a head which their stream does not have.
    pub(crate) fn note(&mut self, hints: Vec<Row>, projection: &dyn Projection) {
        for row in hints {
            let said = row.value.as_deref();
            let said = said.and_then(|value| projection.rests(&row.key, value));
            let has = |(stream, said): (StreamId, Head)| {
                let last = self.head(stream);
                last.is_some_and(|last| said.seq < last.seq || said == last)
            };
            if !said.is_none_or(has) {
                continue;
            }
            match row.value {
                Some(value) => drop(self.rows.insert(row.key, value)),
                None => drop(self.rows.remove(&row.key)),
            }
        }
    }

    fn add(
        &mut self,
        number: CommitNo,
        entry: Entry,
        projection: &dyn Projection,
    ) -> Result<(), StoreError> {
        let place = self.entries.len();
        let mut writer = StateWriter {
            rows: &mut self.rows,
            streams: &self.streams,
            entries: &self.entries,
            current: &entry,
            unread: projection.unread(),
            error: None,
        };
        projection.project(&entry, Position(u64_of(place)), &mut writer)?;
        writer.error.map_or(Ok(()), Err)?;
        self.streams.entry(entry.stream).or_default().push(place);
        self.entries.push((number, entry));
        Ok(())
    }

    /// The last entry of a stream.
    pub(crate) fn head(&self, stream: StreamId) -> Option<Head> {
        let place = *self.streams.get(&stream)?.last()?;
        self.entries.get(place).map(|(_, e)| Head {
            seq: e.seq,
            at: e.at,
        })
    }

    /// Entries of a stream.
    pub(crate) fn read(
        &self,
        stream: StreamId,
        (from, to): (u64, u64),
        order: SortOrder,
        limit: usize,
    ) -> Vec<Entry> {
        let places = self.streams.get(&stream).map_or(&[][..], Vec::as_slice);
        let entries = places
            .iter()
            .filter_map(|p| self.entries.get(*p))
            .map(|(_, e)| e);
        let wanted = entries.filter(|e| (from..=to).contains(&e.seq));
        match order {
            SortOrder::Ascending => wanted.take(limit).cloned().collect(),
            SortOrder::Descending => wanted.rev().take(limit).cloned().collect(),
        }
    }

    /// The last sequence whose time is at or before `at`.
    pub(crate) fn seq_at(&self, stream: StreamId, at: u64) -> Option<u64> {
        let places = self.streams.get(&stream)?;
        let entries = places.iter().filter_map(|p| self.entries.get(*p));
        entries.rev().find(|(_, e)| e.at <= at).map(|(_, e)| e.seq)
    }

    /// The entry at a position.
    ///
    /// # Errors
    /// `Invalid` when no entry is there.
    pub(crate) fn entry(&self, position: Position) -> Result<Entry, StoreError> {
        let found = self
            .entries
            .get(usize_of(position.0))
            .map(|(_, e)| e.clone());
        found.ok_or_else(|| {
            StoreError::Invalid(format!("there is no entry at position {:x}", position.0))
        })
    }

    /// Where an entry of a stream is.
    pub(crate) fn find(&self, stream: StreamId, seq: u64) -> Option<EntryPlace> {
        let number = usize_of(seq.checked_sub(1)?);
        let place = *self.streams.get(&stream)?.get(number)?;
        let (_, entry) = self.entries.get(place)?;
        Some(EntryPlace {
            position: Position(u64_of(place)),
            at: entry.at,
        })
    }

    /// The value of a row.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.rows.get(key).cloned()
    }

    /// Rows between two keys.
    pub(crate) fn scan(&self, from: &[u8], to: &[u8], order: SortOrder, limit: usize) -> Vec<Pair> {
        let from = from.max(FIRST_KEY.as_slice());
        if from >= to {
            return Vec::new();
        }
        let rows = self
            .rows
            .range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        let own = |(k, v): (&Vec<u8>, &Vec<u8>)| (k.clone(), v.clone());
        match order {
            SortOrder::Ascending => rows.take(limit).map(own).collect(),
            SortOrder::Descending => rows.rev().take(limit).map(own).collect(),
        }
    }

    /// Every entry from a commit on.
    pub(crate) fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> CommitNo {
        for (commit, entry) in self.entries.iter().filter(|(c, _)| *c >= from) {
            if !visit(*commit, entry) {
                return *commit;
            }
        }
        if self.last >= from.0 {
            CommitNo(self.last)
        } else {
            CommitNo(0)
        }
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

struct StateWriter<'a> {
    rows: &'a mut BTreeMap<Vec<u8>, Vec<u8>>,
    streams: &'a BTreeMap<StreamId, Vec<usize>>,
    entries: &'a [(CommitNo, Entry)],
    current: &'a Entry,
    /// The kinds of rows that the projection does not read.
    unread: &'a [u8],
    error: Option<StoreError>,
}

impl IndexWriter for StateWriter<'_> {
    fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let is_unread = key.first().is_some_and(|kind| self.unread.contains(kind));
        check_read(key, is_unread)?;
        Ok(self.rows.get(key).cloned())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        match check_key(key).and_then(|()| check_value(value)) {
            Ok(()) => drop(self.rows.insert(key.to_vec(), value.to_vec())),
            Err(e) => self.error = Some(e),
        }
    }

    fn delete(&mut self, key: &[u8]) {
        match check_key(key) {
            Ok(()) => drop(self.rows.remove(key)),
            Err(e) => self.error = Some(e),
        }
    }

    fn next(&mut self, key: &[u8]) -> Result<u64, StoreError> {
        check_key(key)?;
        let last = parse_counter(self.get(key)?.as_deref())?;
        let next = last.checked_add(1).ok_or_else(|| {
            StoreError::Invalid("a counter of the index has reached its end".to_owned())
        })?;
        self.rows.insert(key.to_vec(), next.to_be_bytes().to_vec());
        Ok(next)
    }

    fn head(&mut self, stream: StreamId) -> Result<u64, StoreError> {
        if self.current.stream == stream {
            return Ok(self.current.seq);
        }
        let last = self.streams.get(&stream).and_then(|places| places.last());
        let last = last.and_then(|place| self.entries.get(*place));
        Ok(last.map_or(0, |(_, entry)| entry.seq))
    }
}
