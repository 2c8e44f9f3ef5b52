//! Compares the rows that map streams to their entries with the journal.
//!
//! **Shape.** The rows that the journal implies and the rows in the index are each summed ([`Tally`]) in their own
//! order: the journal once from its first byte, the rows once from their first key, each checked against the filter by
//! which it is found ([`SortedRows::walk`](crate::index::SortedRows::walk)). Only where the sums differ is each entry
//! looked up, to name those that are not found.
//!
//! **Bounds.** Holds one page of rows, and nothing per entry.
//!
//! **Order.** Rows of commits after the last one compared do not count, so the store may take writes meanwhile: such
//! rows point past the last compared place but not past the end of the journal, which is ahead of all visible rows.
//! Rows that point past that end, or before the first commit, do count.
//!
//! **Failure.** An index whose rows differ is treated like one whose bytes are damaged: the next open rebuilds it.
//! Until then the store takes no commits, so when only a sum disagrees, the rows are summed a second time.

use std::cell::Cell;
use std::ops::RangeInclusive;

use crate::api::{CommitNo, Differing, Position, StoreError, StreamId};
use crate::durable::Shared;
use crate::journal::{position, split};
use crate::rows::{STREAM_TAG, parse_stream_value, stream_key, stream_value};
use crate::tally::{Scale, Tally};

/// How many rows are read at a time.
const PAGE: usize = 4096;

/// The part of the store that is compared.
struct RecountPart<'a> {
    shared: &'a Shared,
    commits: (CommitNo, CommitNo),
    realm: Option<u32>,
}

/// Finds how the rows differ from the entries of these commits.
///
/// # Errors
/// When journal or index cannot be read.
pub(super) fn streams(
    shared: &Shared,
    commits: (CommitNo, CommitNo),
    realm: Option<u32>,
    step: &mut dyn FnMut() -> bool,
) -> Result<Differing, StoreError> {
    let part = RecountPart {
        shared,
        commits,
        realm,
    };
    let ended = Cell::new(false);
    let step = &mut || {
        ended.set(ended.get() || !step());
        !ended.get()
    };
    let found = part.differ(step)?;
    if ended.get() {
        // a comparison that was stopped early proves nothing
        return Ok(Differing::default());
    }
    if let Some(first) = found.named.first() {
        // the caller reports the differences; the next open rebuilds the index
        drop(shared.health.damage(first));
    }
    Ok(found)
}

/// Takes an entry: its stream, its sequence, its time and where it is stored.
type TakeEntry<'a> = &'a mut dyn FnMut(StreamId, u64, u64, Position) -> Result<(), StoreError>;

/// The sum of the rows that some entries imply, and the places of these entries.
#[derive(Debug)]
struct ExpectedRows {
    scale: Scale,
    rows: Tally,
    places: Option<RangeInclusive<u64>>,
}

impl ExpectedRows {
    /// No entries, from this commit on.
    fn from(commit: CommitNo) -> Self {
        Self {
            scale: Scale::new(),
            rows: Tally::default(),
            // nothing is before the first commit; before a later one lie rows that are outside this comparison
            places: (commit.0 <= 1).then_some(0..=0),
        }
    }

    /// Adds the next entry.
    fn add(&mut self, stream: StreamId, seq: u64, at: u64, place: Position) {
        let (key, value) = (stream_key(stream, seq), stream_value(place, at));
        self.rows.add(&self.scale, &key, &value);
        let first = self.places.as_ref().map_or(place.0, |it| *it.start());
        self.places = Some(first..=place.0);
    }
}

impl RecountPart<'_> {
    /// The rows that the entries of the part imply.
    fn right(&self, step: &mut dyn FnMut() -> bool) -> Result<ExpectedRows, StoreError> {
        let mut right = ExpectedRows::from(self.commits.0);
        self.entries(step, &mut |stream, seq, at, place| {
            right.add(stream, seq, at, place);
            Ok(())
        })?;
        Ok(right)
    }

    fn differ(&self, step: &mut dyn FnMut() -> bool) -> Result<Differing, StoreError> {
        let ExpectedRows {
            scale,
            rows: right,
            places,
        } = self.right(step)?;
        let mut found = Differing::default();
        let Some(places) = places else {
            return Ok(found);
        };
        if self.rows(&scale, &places, step)? == right {
            return Ok(found);
        }
        self.entries(step, &mut |stream, seq, at, place| {
            let row = self.shared.index.get(&stream_key(stream, seq))?;
            if row.as_deref() != Some(stream_value(place, at).as_slice()) {
                found.add(|| named(stream, seq));
            }
            Ok(())
        })?;
        if found.count == 0 && self.rows(&scale, &places, step)? != right {
            found.add(|| {
                "the index has rows of streams that lead to no entry, or that are not found by their stream".to_owned()
            });
        }
        Ok(found)
    }

    /// Visits the entries of the part in journal order.
    fn entries(
        &self,
        step: &mut dyn FnMut() -> bool,
        take: TakeEntry<'_>,
    ) -> Result<(), StoreError> {
        let (CommitNo(from), CommitNo(to)) = self.commits;
        let journal = &self.shared.journal;
        journal.records(journal.segment_of(from), &mut |at, record| {
            if record.header.last_commit() < from {
                return Ok(step());
            }
            let (segment, offset) = split(at);
            let mut failed = None;
            let whole = record.visit(&mut |commit, place, entry| {
                let wanted = self.realm.is_none_or(|realm| realm == entry.stream.realm);
                if wanted && (from..=to).contains(&commit) {
                    let place = position(segment, offset + place);
                    failed = take(entry.stream, entry.seq, entry.at, place).err();
                }
                failed.is_none()
            });
            match failed {
                Some(e) => Err(e),
                None if whole => Ok(record.header.last_commit() < to && step()),
                None => {
                    let first = record.header.first_commit;
                    let why = format!("an entry of commit {first} or behind it fails its checksum");
                    Err(StoreError::Corrupt(why.into()))
                }
            }
        })
    }

    /// Sums the rows that point to these places.
    fn rows(
        &self,
        scale: &Scale,
        places: &RangeInclusive<u64>,
        step: &mut dyn FnMut() -> bool,
    ) -> Result<Tally, StoreError> {
        let first = |realm| {
            let stream = StreamId {
                realm,
                kind: 0,
                number: 0,
            };
            stream_key(stream, 0).to_vec()
        };
        let behind = |realm: u32| realm.checked_add(1).map(first);
        let mut from = self.realm.map_or_else(|| first(0), first);
        let to = self.realm.and_then(behind);
        let to = to.unwrap_or_else(|| vec![STREAM_TAG + 1]);
        let mut tally = Tally::default();
        loop {
            let page = self.shared.index.walk(&from, &to, PAGE)?;
            // read the end after the rows, so that it is ahead of every place they point to
            let end = self.shared.journal.end().0;
            for (key, value) in &page {
                // a value that cannot be parsed counts as a surplus row
                let place = parse_stream_value(value).map(|(place, _)| place.0);
                if place.is_none_or(|place| places.contains(&place) || place >= end) {
                    tally.add(scale, key, value);
                }
            }
            match page.into_iter().next_back() {
                Some((mut last, _)) if step() => {
                    last.push(0);
                    from = last;
                }
                Some(_) | None => return Ok(tally),
            }
        }
    }
}

fn named(stream: StreamId, seq: u64) -> String {
    format!(
        "realm {}: the index does not lead to entry {seq} of stream {}/{}",
        stream.realm, stream.kind, stream.number
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::conformance::{Words, commit, entry, stream, submit};
    use crate::index::bytes::Bytes;
    use crate::rows::STREAM_PREFIX;
    use crate::{CommitNo, DurableStore, Index as _, SortOrder, Store as _, StoreOptions};

    use super::*;

    /// Opens a store that merges no runs: merged runs would have other filters.
    fn open(path: &std::path::Path) -> Arc<DurableStore> {
        let options = StoreOptions {
            merge_fan_in: 1000,
            ..StoreOptions::small()
        };
        DurableStore::open(path, options, Arc::new(Words)).unwrap()
    }

    /// Three streams of two realms, some of whose rows are in runs and some in memory.
    fn store(path: &std::path::Path) -> Arc<DurableStore> {
        let store = open(path);
        for seq in 1..=300 {
            let elsewhere = StreamId {
                realm: 2,
                ..stream(1)
            };
            let streams = [stream(1), stream(2), elsewhere];
            let entries = streams.map(|it| entry(it, seq, &[b'.'; 300]));
            submit(store.as_ref(), commit(entries.to_vec())).unwrap();
        }
        store
    }

    fn found(store: &DurableStore, realm: Option<u32>) -> Vec<String> {
        let all = (CommitNo(1), CommitNo(300));
        let found = store.streams_differ(all, realm, &mut || true).unwrap();
        assert_eq!(usize::try_from(found.count).unwrap(), found.named.len());
        found.named
    }

    #[test]
    fn a_row_that_is_missing_wrong_or_too_many_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        let put = |key: &[u8], value: Option<&[u8]>| {
            let row = (Bytes::new(key), value.map(Bytes::new));
            store.shared.index.apply([row].into_iter());
        };
        let none = Vec::<String>::new();
        for realm in [None, Some(1), Some(2)] {
            assert_eq!(found(&store, realm), none);
        }
        let key = stream_key(stream(2), 7);
        let right = store.shared.index.get(&key).unwrap().unwrap();
        let (place, at) = parse_stream_value(&right).unwrap();
        let elsewhere = stream_value(Position(place.0 + 1), at);
        let later = stream_value(place, at + 1);
        for wrong in [
            None,
            Some(&elsewhere[..]),
            Some(&later),
            Some(&b"short"[..]),
        ] {
            put(&key, wrong);
            let named = ["realm 1: the index does not lead to entry 7 of stream 3/2"];
            assert_eq!(found(&store, None), named);
            assert_eq!(found(&store, Some(1)), named);
            assert_eq!(found(&store, Some(2)), none);
        }
        // A comparison that was stopped early reports nothing.
        for steps in 0..6 {
            let mut left = steps;
            let mut step = || {
                left -= 1;
                left >= 0
            };
            let all = (CommitNo(1), CommitNo(300));
            let found = store.streams_differ(all, None, &mut step).unwrap();
            assert_eq!(found, Differing::default(), "{steps} steps");
        }
        put(&key, Some(&right));
        let behind = stream_key(stream(2), 301);
        let end = store.shared.journal.end();
        let named = [
            "the index has rows of streams that lead to no entry, or that are not found by their stream",
        ];
        for nowhere in [place, Position(0), end, Position(u64::MAX)] {
            put(&behind, Some(&stream_value(nowhere, at)));
            assert_eq!(found(&store, None), named, "{nowhere:?}");
            assert_eq!(found(&store, Some(2)), none);
        }
        put(&behind, None);
        // A realm without entries has no rows.
        let other = StreamId {
            realm: 3,
            ..stream(1)
        };
        for (nowhere, wrong) in [
            (end, &named[..]),
            (Position(0), &named[..]),
            (place, &[][..]),
        ] {
            put(&stream_key(other, 1), Some(&stream_value(nowhere, at)));
            assert_eq!(found(&store, Some(3)), wrong, "{nowhere:?}");
        }
    }

    #[test]
    fn rows_after_the_requested_commits_are_ignored() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        submit(
            store.as_ref(),
            commit(vec![entry(stream(2), 301, b"later")]),
        )
        .unwrap();
        for realm in [None, Some(1)] {
            assert_eq!(found(&store, realm), Vec::<String>::new());
        }
    }

    #[test]
    fn what_a_filter_denies_is_found_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        drop(store(dir.path()));
        // all of its rows are in runs
        let opened = || {
            open(dir.path()).close().unwrap();
            let store = open(dir.path());
            assert_eq!(found(&store, None), Vec::<String>::new());
            store
        };
        for seq in [1, 7, 300] {
            let store = opened();
            store.shared.index.deny(&stream_key(stream(1), seq));
            assert!(!store.has(stream(1), seq).unwrap());
            let wrong = found(&store, None);
            let named = format!("realm 1: the index does not lead to entry {seq} of stream 3/1");
            assert!(wrong.contains(&named), "{wrong:?}");
            assert!(store.ready().is_err());
        }
        let store = opened();
        let (from, to) = (stream_key(stream(1), 0), stream_key(stream(1), 400));
        store.shared.index.deny(&from[..STREAM_PREFIX]);
        let there = store.scan(&from, &to, SortOrder::Ascending, 1000).unwrap();
        assert!(there.len() < 300 && store.has(stream(1), 7).unwrap());
        assert!(!found(&store, Some(1)).is_empty());
        assert!(store.ready().is_err());
        drop(store);
        opened();
    }

    #[test]
    fn rows_of_other_commits_than_those_that_are_asked_for_do_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let store = store(dir.path());
        for (from, to) in [(1, 299), (1, 1), (300, 300), (301, 400)] {
            let asked = (CommitNo(from), CommitNo(to));
            let found = store.streams_differ(asked, Some(2), &mut || true).unwrap();
            assert_eq!(found.named, Vec::<String>::new(), "{from} to {to}");
        }
    }
}
