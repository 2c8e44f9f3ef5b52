//! The ends of streams as the committer knows them: it uses them to check that entries follow their streams, and that
//! rows at rest are true.
//!
//! **Bounds.** Two generations; the older one is dropped when the newer one is full.
//!
//! **Failure.** A head that cannot be looked up refuses the commit that needs it.

use foldhash::HashMap;

use crate::api::{Commit, Entry, Head, Projection, Row, StoreError, StreamId};

/// Looks up the head of a stream; the number is the sequence near which it is expected.
pub(crate) type HeadLookup<'a> = &'a dyn Fn(StreamId, u64) -> Result<Option<Head>, StoreError>;

/// Checks that entries follow their streams. Remembers heads so that the disk is seldom asked: in two generations, of
/// which the older one is dropped when the newer one is full.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    known: HashMap<StreamId, Option<Head>>,
    older: HashMap<StreamId, Option<Head>>,
    undo: Vec<(StreamId, Option<Head>)>,
}

impl Heads {
    /// Accepts a commit as a whole or not at all: its entries must follow their streams, and the entries it was decided
    /// on must exist, durable or accepted before it.
    ///
    /// # Errors
    /// As [`Self::accept`], and `OutOfSequence` for the first stream that lacks an entry on which the commit was
    /// decided.
    pub(crate) fn take(&mut self, commit: &Commit, look: HeadLookup<'_>) -> Result<(), StoreError> {
        self.accept(&commit.entries, look)?;
        let mut decided_on = commit.decided_on.iter();
        let there = decided_on.try_for_each(|(stream, seq)| {
            let last = self.last(*stream, *seq, look)?;
            let found = last.map_or(0, |head| head.seq);
            let lacks = StoreError::OutOfSequence {
                stream: *stream,
                found,
                offered: *seq,
            };
            if found < *seq { Err(lacks) } else { Ok(()) }
        });
        if there.is_err() {
            self.take_back();
        }
        there
    }

    /// The last entry of a stream, which is expected near sequence `near`.
    fn last(
        &self,
        stream: StreamId,
        near: u64,
        look: HeadLookup<'_>,
    ) -> Result<Option<Head>, StoreError> {
        match self.known.get(&stream).or_else(|| self.older.get(&stream)) {
            Some(known) => Ok(*known),
            None => look(stream, near),
        }
    }

    /// Undoes the head changes of the last commit.
    fn take_back(&mut self) {
        while let Some((stream, head)) = self.undo.pop() {
            self.known.insert(stream, head);
        }
    }

    /// Accepts the entries of a commit, all or none.
    ///
    /// # Errors
    /// `OutOfSequence`; `Invalid` when the time of an entry goes back; or the error of `look`.
    pub(crate) fn accept(
        &mut self,
        entries: &[Entry],
        look: HeadLookup<'_>,
    ) -> Result<(), StoreError> {
        self.undo.clear();
        for entry in entries {
            if let Err(e) = self.accept_one(entry, look) {
                self.take_back();
                return Err(e);
            }
        }
        assert_eq!(self.undo.len(), entries.len(), "each entry moves one head");
        Ok(())
    }

    fn accept_one(&mut self, entry: &Entry, look: HeadLookup<'_>) -> Result<(), StoreError> {
        let stream = entry.stream;
        let known = self.last(stream, entry.seq.saturating_sub(1), look)?;
        let found = known.map_or(0, |h| h.seq);
        if Some(entry.seq) != found.checked_add(1) || entry.seq == u64::MAX {
            return Err(StoreError::OutOfSequence {
                stream,
                found,
                offered: entry.seq,
            });
        }
        if let Some(head) = known
            && entry.at < head.at
        {
            return Err(StoreError::Invalid(format!(
                "the time of an entry goes back from {} to {} in stream {stream:?}",
                head.at, entry.at
            )));
        }
        self.undo.push((stream, known));
        let head = Head {
            seq: entry.seq,
            at: entry.at,
        };
        self.known.insert(stream, Some(head));
        Ok(())
    }

    /// Whether a stream has the head that a row at rest claims. If the lookup fails, the row is not trusted: it is only
    /// a hint.
    fn bear_out(&self, (stream, said): (StreamId, Head), look: HeadLookup<'_>) -> bool {
        let known = self.last(stream, said.seq, look).ok().flatten();
        known.is_some_and(|last| said.seq < last.seq || said == last)
    }

    /// Removes rows at rest that claim a head which their stream does not have.
    pub(crate) fn sift(&self, hints: &mut Vec<Row>, rows: &dyn Projection, look: HeadLookup<'_>) {
        hints.retain(|row| {
            let said = row.value.as_deref();
            let said = said.and_then(|value| rows.rests(&row.key, value));
            let right = said.is_none_or(|said| self.bear_out(said, look));
            if !right {
                tracing::error!(?said, "account snapshot is ahead of its stream");
            }
            right
        });
    }

    /// Forgets heads that were accepted and then refused; the index knows every durable one.
    pub(crate) fn forget(&mut self) {
        self.known.clear();
        self.older.clear();
    }

    /// Drops the heads that were not used for longest when there are too many. Call it only between groups, when all
    /// heads are in the index.
    pub(crate) fn trim(&mut self, most: usize) {
        if self.known.len() > most / 2 {
            // The memory of the older generation is reused: growing a new map step by step would delay commits.
            std::mem::swap(&mut self.known, &mut self.older);
            self.known.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::Arc;

    use super::*;
    use crate::conformance::{Words, commit, entry, rest_row, stream, submit};
    use crate::index::bytes::Bytes;
    use crate::rows::no_entry;
    use crate::{DurableStore, Index as _, Store as _, StoreOptions};

    #[test]
    fn heads_that_are_in_use_stay_and_the_longest_untouched_are_looked_up_again() {
        let on_disk = RefCell::new(HashMap::<u64, u64>::default());
        let looked = RefCell::new(Vec::new());
        let look = |stream: StreamId, _: u64| {
            looked.borrow_mut().push(stream.number);
            let seq = on_disk.borrow().get(&stream.number).copied();
            Ok(seq.map(|seq| Head { seq, at: 0 }))
        };
        let mut heads = Heads::default();
        let mut next = |number: u64| {
            let mut entry = no_entry();
            entry.stream.number = number;
            entry.seq = on_disk.borrow().get(&number).map_or(1, |seq| seq + 1);
            heads.accept(std::slice::from_ref(&entry), &look).unwrap();
            let known = heads.known.len() + heads.older.len();
            heads.trim(8);
            on_disk.borrow_mut().insert(number, entry.seq);
            assert!(known <= 10, "{known} heads are kept");
        };
        for number in 1..100 {
            next(0);
            next(number);
        }
        next(1);
        let looked = looked.borrow();
        assert_eq!(looked.iter().filter(|it| **it == 0).count(), 1);
        assert_eq!(looked.iter().filter(|it| **it == 1).count(), 2);
        assert_eq!(looked.len(), 101);
    }

    #[test]
    fn a_commit_with_a_missing_precondition_is_refused() {
        let entry = |number: u64, seq: u64| {
            let mut entry = no_entry();
            entry.stream.number = number;
            entry.seq = seq;
            entry
        };
        let commit = |entries: &[Entry], decided_on: &Entry| Commit {
            entries: entries.to_vec(),
            decided_on: vec![(decided_on.stream, decided_on.seq)],
            ..Commit::default()
        };
        let nothing = |_: StreamId, _: u64| Ok(None);
        let mut heads = Heads::default();
        let lacks = commit(&[entry(0, 1)], &entry(1, 1));
        for _ in 0..2 {
            let refused = heads.take(&lacks, &nothing);
            assert!(
                matches!(
                    refused,
                    Err(StoreError::OutOfSequence {
                        found: 0,
                        offered: 1,
                        ..
                    })
                ),
                "{refused:?}"
            );
        }
        // in the same commit as that entry, and after it
        heads
            .take(&commit(&[entry(1, 1)], &entry(1, 1)), &nothing)
            .unwrap();
        heads.take(&lacks, &nothing).unwrap();
        let durable = |_: StreamId, _: u64| Ok(Some(Head { seq: 7, at: 0 }));
        heads
            .take(&commit(&[entry(0, 2)], &entry(2, 6)), &durable)
            .unwrap();
    }

    #[test]
    fn a_refused_commit_moves_no_head_of_the_older_generation_either() {
        let entry = |number: u64, seq: u64| {
            let mut entry = no_entry();
            entry.stream.number = number;
            entry.seq = seq;
            entry
        };
        let nothing = |_: StreamId, _: u64| Ok(None);
        let mut heads = Heads::default();
        heads.accept(&[entry(0, 1), entry(1, 1)], &nothing).unwrap();
        heads.trim(2);
        assert!(heads.known.is_empty() && heads.older.len() == 2);
        let never = |_: StreamId, _: u64| unreachable!("both are remembered");
        let refused = heads.accept(&[entry(0, 2), entry(1, 3)], &never);
        assert!(matches!(
            refused,
            Err(StoreError::OutOfSequence {
                found: 1,
                offered: 3,
                ..
            })
        ));
        let next = [entry(0, 2), entry(1, 2)];
        heads.accept(&next, &never).unwrap();
        heads.trim(0);
        assert!(heads.accept(&next, &never).is_err(), "both have moved");
    }

    /// Rows at rest are sifted before they are shown: only a bug here, or in another program, produces one that is
    /// ahead.
    #[test]
    fn a_row_at_rest_that_is_ahead_of_its_stream_makes_no_gap() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let rows = Arc::new(Words);
            DurableStore::open(dir.path(), StoreOptions::small(), rows).unwrap()
        };
        let post = |store: &DurableStore, seq| {
            submit(store, commit(vec![entry(stream(1), seq, b"")])).map(drop)
        };
        let store = open();
        (1..=3).for_each(|seq| post(&store, seq).unwrap());
        store.close().unwrap();
        drop(store);
        // now no memory holds the end of the stream, and its rows are in a run
        let store = open();
        let row = rest_row(stream(1), 9, 90);
        let value = row.value.as_deref().map(Bytes::new);
        let ahead = (Bytes::new(&row.key), value);
        store.shared.index.apply([ahead].into_iter());
        for seq in [10, 4] {
            let refused = post(&store, seq);
            assert!(refused.is_err(), "{seq}: {refused:?}");
        }
        assert!(matches!(store.ready(), Err(StoreError::Corrupt(_))));
        store.close().unwrap();
        drop(store);
        // the index was rebuilt without the row
        let store = open();
        assert!(store.stats().index_rebuilt);
        assert_eq!(store.get(&row.key).unwrap(), None);
        assert!(post(&store, 10).is_err(), "it leaves a gap");
        post(&store, 4).unwrap();
        // a row that was true at some time is accepted
        let behind = rest_row(stream(1), 4, 40);
        store.note(vec![behind.clone()]);
        post(&store, 5).unwrap();
        assert_eq!(store.get(&behind.key).unwrap(), behind.value);
    }
}
