//! Reads the journal ahead of the thread that derives rows from it.
//!
//! **Shape.** A thread of its own reads and checks records and has the projection decode their entries
//! ([`Projection::recall`]); the caller takes the records in order. So a rebuild uses more than one core.
//!
//! **Bounds.** At most [`parts_of`] a table wait, each with [`PART_BYTES`] of records, or one record if that is larger:
//! the thread goes on while the caller waits for the flusher.
//!
//! **Order.** The order of the journal.
//!
//! **Failure.** A record that cannot be read is an error after all records before it. If no thread can be started, the
//! caller's thread reads everything.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::api::{CommitNo, Entry, Position, Projection, StoreError};
use crate::index::manifest::JournalMark;
use crate::journal::format::{Hash, Record};
use crate::journal::{Journal, position, split};
use crate::log::Tail;
use crate::num::{u32_of, usize_of32};

/// The fewest parts that may wait.
const PARTS_LEAST: usize = 4;
/// A part takes no further record once its records have this many bytes.
const PART_BYTES: usize = 128 << 10;

/// How many parts may wait next to tables of this size: a quarter of one in records.
pub(crate) fn parts_of(table_bytes: usize) -> usize {
    (table_bytes / 4 / PART_BYTES).max(PARTS_LEAST)
}

/// A record that was read.
pub(crate) struct Read {
    /// Its entries, with their positions in the journal.
    pub(crate) entries: Vec<(Position, Entry)>,
    /// The number of its first commit.
    pub(crate) first_commit: u64,
    /// How far the rows reach once they include this record.
    pub(crate) mark: JournalMark,
    /// Its size in bytes.
    pub(crate) bytes: usize,
}

impl Read {
    /// A record without its hash, which the next one names: that saves a pass over its bytes.
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
        Ok(Self {
            entries,
            first_commit: record.header.first_commit,
            mark: JournalMark {
                commit: record.header.last_commit(),
                chain: Hash::default(),
                end: position(segment, offset + u32_of(record.bytes.len())),
            },
            bytes: record.bytes.len(),
        })
    }
}

type ReadPart = Result<Vec<Read>, StoreError>;

/// What is read.
pub(crate) struct Reading<'a> {
    /// The journal.
    pub(crate) journal: &'a Journal,
    /// From this position on.
    pub(crate) from: Position,
    /// Its end.
    pub(crate) end: Tail,
    /// Decodes the entries.
    pub(crate) projection: &'a dyn Projection,
}

impl Reading<'_> {
    /// Passes every record to `take`, in order; at most this many parts wait.
    ///
    /// # Errors
    /// When a record cannot be read, or the error of `take`; no further record is taken then.
    pub(crate) fn all(
        &self,
        parts: usize,
        take: &mut dyn FnMut(Read) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (sender, parts) = sync_channel::<ReadPart>(parts);
        thread::scope(|scope| {
            let ahead = thread::Builder::new().name("caudal-storage-ahead".to_owned());
            let ahead = ahead.spawn_scoped(scope, || self.fill(sender));
            if let Err(e) = ahead {
                tracing::warn!(error = %e, "no read-ahead thread for the journal");
                return self.read(&mut |read| take(read).map(|()| true));
            }
            for part in parts {
                part?.into_iter().try_for_each(&mut *take)?;
            }
            Ok(())
        })
    }

    /// Reads until the end of the journal, or until the receiver is gone.
    fn fill(&self, sender: SyncSender<ReadPart>) {
        let (mut part, mut bytes) = (Vec::new(), 0);
        let read = self.read(&mut |next| {
            bytes += next.bytes;
            part.push(next);
            if bytes < PART_BYTES {
                return Ok(true);
            }
            bytes = 0;
            Ok(sender.send(Ok(std::mem::take(&mut part))).is_ok())
        });
        // after an error the receiver takes nothing more
        let sent = sender.send(Ok(part));
        if let (Err(e), Ok(())) = (read, sent) {
            drop(sender.send(Err(e)));
        }
    }

    /// Reads each record with its hash until `take` returns `false`: that of the last one is the end of the journal, that
    /// of each other one is named by the next.
    fn read(
        &self,
        take: &mut dyn FnMut(Read) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (mut held, mut wanted) = (None::<Read>, true);
        self.journal.records(self.from, &mut |at, record| {
            let next = Read::of(at, record, self.projection)?;
            if let Some(mut read) = held.replace(next) {
                read.mark.chain = record.header.previous;
                wanted = take(read)?;
            }
            Ok(wanted)
        })?;
        let Some(mut last) = held.filter(|_| wanted) else {
            return Ok(());
        };
        if last.mark.commit != self.end.commit.0 {
            let why = "the journal does not end where it ended when it was checked";
            return Err(StoreError::Corrupt(why.into()));
        }
        last.mark.chain = self.end.hash;
        take(last).map(|_| ())
    }
}
