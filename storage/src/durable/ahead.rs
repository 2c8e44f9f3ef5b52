//! Reads the journal ahead of whoever makes rows of it.
//!
//! **Shape.** A thread of its own reads and checks records and has the projection decode what is in them
//! ([`Projection::recall`]); whoever asked takes them in their order. So a rebuild works on two cores.
//!
//! **Bounds.** At most [`PARTS`] parts wait, each of [`PART_BYTES`] of records, or of one record where that is larger.
//!
//! **Order.** That of the journal.
//!
//! **Failure.** What cannot be read is an error behind all that comes before it. Where there is no thread to be had, all of
//! it is read by whoever asked.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::api::{CommitNo, Entry, Position, Projection, StoreError};
use crate::index::manifest::Mark;
use crate::journal::format::Record;
use crate::journal::{Journal, position, split};
use crate::log::Sealed;
use crate::num::{u32_of, usize_of32};

/// How many parts wait at most.
const PARTS: usize = 4;
/// A part takes no further record when it has so many bytes of them.
const PART_BYTES: usize = 128 << 10;

/// A record that was read.
pub(crate) struct Read {
    /// Its entries, and where they lie.
    pub(crate) entries: Vec<(Position, Entry)>,
    /// The number of its first commit.
    pub(crate) first_commit: u64,
    /// How far rows reach that have it.
    pub(crate) mark: Mark,
    /// How many bytes it has.
    pub(crate) bytes: usize,
}

impl Read {
    fn of(
        at: Position,
        record: &Record<'_>,
        projection: &dyn Projection,
    ) -> Result<Self, StoreError> {
        let (segment, offset) = split(at);
        let mut entries = Vec::with_capacity(usize_of32(record.header.entries));
        let whole = record.visit(&mut |commit, place, found| {
            let mut entry = found.to_entry();
            projection.recall(CommitNo(commit), &mut entry);
            entries.push((position(segment, offset + place), entry));
            true
        });
        if !whole {
            let why = format!(
                "an entry of commit {} or behind it fails its checksum",
                record.header.first_commit
            );
            return Err(StoreError::Corrupt(why.into()));
        }
        let tail = Sealed::of(*record).tail();
        Ok(Self {
            entries,
            first_commit: record.header.first_commit,
            mark: Mark {
                commit: tail.commit.0,
                chain: tail.hash,
                end: position(segment, offset + u32_of(record.bytes.len())),
            },
            bytes: record.bytes.len(),
        })
    }
}

type Part = Result<Vec<Read>, StoreError>;

/// Gives every record of a journal from a position on to `take`, in order.
///
/// # Errors
/// When a record cannot be read, and what `take` gives: nothing further is taken then.
pub(crate) fn read(
    journal: &Journal,
    from: Position,
    projection: &dyn Projection,
    take: &mut dyn FnMut(Read) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let (sender, parts) = sync_channel::<Part>(PARTS);
    thread::scope(|scope| {
        let ahead = thread::Builder::new().name("caudal-storage-ahead".to_owned());
        let ahead = ahead.spawn_scoped(scope, || fill(journal, from, projection, sender));
        if let Err(e) = ahead {
            tracing::warn!(error = %e, "no thread reads the journal ahead");
            return journal.records(from, &mut |at, record| {
                take(Read::of(at, record, projection)?).map(|()| true)
            });
        }
        for part in parts {
            part?.into_iter().try_for_each(&mut *take)?;
        }
        Ok(())
    })
}

/// Reads until the end, or until nobody takes any more.
fn fill(journal: &Journal, from: Position, projection: &dyn Projection, sender: SyncSender<Part>) {
    let (mut part, mut bytes) = (Vec::new(), 0);
    let read = journal.records(from, &mut |at, record| {
        let next = Read::of(at, record, projection)?;
        bytes += next.bytes;
        part.push(next);
        if bytes < PART_BYTES {
            return Ok(true);
        }
        bytes = 0;
        Ok(sender.send(Ok(std::mem::take(&mut part))).is_ok())
    });
    // whoever took an error asks for no more
    let sent = sender.send(Ok(part));
    if let (Err(e), Ok(())) = (read, sent) {
        drop(sender.send(Err(e)));
    }
}
