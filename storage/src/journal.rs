//! The journal: an append-only, checksummed, hash-chained sequence of records in segments. It is the source of truth of
//! the store; everything else can be derived from it.
//!
//! **Shape.** `<store>/journal/0000000001.segment` and so on, each written full of zeros before
//! its first record (overwriting allocated space syncs in half the time of appending). One record
//! holds one group of commits; see [`mod@format`] for the bytes.
//!
//! **Bounds.** A segment is under 4 GiB, so a [`Position`] is segment and offset in 64 bits. A
//! record that is larger than a segment gets a segment of its own size.
//!
//! **Order.** The writer appends, syncs, and only then moves `end`; readers never read past it.
//!
//! **Failure.** Any error of a write or sync is final for this process; a read that the system refuses fails alone. An
//! unfinished record after a power cut is cut off at open; on any other damage, the open is refused.

pub(crate) mod check;
pub(crate) mod format;
pub(crate) mod prepare;
pub(crate) mod reread;
pub(crate) mod seal;
pub(crate) mod writer;

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use crate::api::{CommitNo, Entry, Position, StoreError};
use crate::context::StoreContext;
use crate::journal::check::Checked;
use crate::journal::format::{
    EntryRef, FrameError, Hash, RECORD_HEADER, Record, RecordHeader, SEGMENT_HEADER, segment_name,
    segment_path,
};
use crate::journal::seal::{SegmentError, damaged};
use crate::num::{low32, u64_of};
use crate::sync::{lock, read, write};

/// The most segments kept open for reading.
const HANDLES_MAX: usize = 128;
/// Bytes of the first read of an entry; most entries fit.
const ENTRY_READ_BYTES: usize = 1024;

/// The properties of one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentInfo {
    /// Its number, from 1 without gaps.
    pub(crate) number: u32,
    /// Its size in bytes, header and zeros included.
    pub(crate) size: u32,
    /// The number of the first commit in it; 0 while there is none.
    pub(crate) first_commit: u64,
}

/// Fills `into` from the bytes at `at` on; returns how many there were, which is fewer than asked for only at the end of
/// the file.
///
/// # Errors
/// `Refused` when the system cannot read.
pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> Result<usize, SegmentError> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..)
        && !rest.is_empty()
    {
        match file.read_at(rest, at + u64_of(done)) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(SegmentError::Refused(at, e)),
        }
    }
    Ok(done)
}

/// Segment and offset as one number.
pub(crate) fn position(segment: u32, offset: u32) -> Position {
    Position(u64::from(segment) << 32 | u64::from(offset))
}

/// The segment and offset of a position.
pub(crate) fn split(position: Position) -> (u32, u32) {
    (low32(position.0 >> 32), low32(position.0))
}

/// Receives a record and its position; returns whether to go on.
type RecordVisitor<'a> = &'a mut dyn FnMut(Position, &Record<'_>) -> Result<bool, StoreError>;

/// The journal for readers.
#[derive(Debug)]
pub(crate) struct Journal {
    context: Arc<StoreContext>,
    segments: RwLock<Vec<SegmentInfo>>,
    /// Where the durable records end.
    end: AtomicU64,
    handles: Mutex<HashMap<u32, Arc<File>>>,
}

impl Journal {
    /// The journal in a store's folder, as the check found it.
    pub(crate) fn new(context: &Arc<StoreContext>, checked: &Checked) -> Self {
        Self {
            context: Arc::clone(context),
            segments: RwLock::new(checked.segments.clone()),
            end: AtomicU64::new(position(checked.segment, checked.offset).0),
            handles: Mutex::new(HashMap::new()),
        }
    }

    /// How many segments with records there are.
    pub(crate) fn segments(&self) -> u32 {
        read(&self.segments).last().map_or(0, |s| s.number)
    }

    /// Bytes of all segments.
    pub(crate) fn disk_bytes(&self) -> u64 {
        let segments = read(&self.segments);
        segments.iter().map(|s| u64::from(s.size)).sum()
    }

    /// Where the durable records end.
    pub(crate) fn end(&self) -> Position {
        Position(self.end.load(Ordering::Acquire))
    }

    /// Makes everything before `end` visible to readers.
    pub(crate) fn advance(&self, segment: SegmentInfo, end: Position) {
        {
            let segments = read(&self.segments);
            let known = segments.iter().rev().find(|s| s.number == segment.number);
            if known.is_some_and(|s| s.first_commit != 0 && s.size == segment.size) {
                drop(segments);
                self.end.store(end.0, Ordering::Release);
                return;
            }
        }
        let mut segments = write(&self.segments);
        match segments.iter_mut().find(|s| s.number == segment.number) {
            Some(s) => *s = segment,
            None => segments.push(segment),
        }
        drop(segments);
        self.end.store(end.0, Ordering::Release);
    }

    fn handle(&self, segment: u32) -> Result<Arc<File>, StoreError> {
        let mut handles = lock(&self.handles);
        if let Some(file) = handles.get(&segment) {
            return Ok(Arc::clone(file));
        }
        let context = &self.context;
        let file = match context.files.read(&context.journal, &segment_name(segment)) {
            Ok(file) => Arc::new(file),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(self.wrong(segment, 0, damaged(0, "the segment is missing")));
            }
            Err(e) => return Err(self.refused("opening", position(segment, 0), &e)),
        };
        if handles.len() >= HANDLES_MAX {
            handles.clear();
        }
        handles.insert(segment, Arc::clone(&file));
        Ok(file)
    }

    /// The entry whose frame is at a position.
    ///
    /// # Errors
    /// `Invalid` when no entry can be at the position; otherwise when no intact frame begins there, or the system
    /// refuses to read.
    pub(crate) fn entry(&self, at: Position) -> Result<Entry, StoreError> {
        let (segment, offset) = split(at);
        let end = self.end();
        if segment == 0 || offset < SEGMENT_HEADER || at >= end {
            return Err(StoreError::Invalid(format!(
                "there is no entry at position {:x}",
                at.0
            )));
        }
        let file = self.handle(segment)?;
        let mut bytes = vec![0; ENTRY_READ_BYTES];
        self.fill(&file, segment, &mut bytes, offset)?;
        if let Err(FrameError::Short(need)) = EntryRef::parse(&bytes) {
            bytes.resize(need, 0);
            self.fill(&file, segment, &mut bytes, offset)?;
        }
        match EntryRef::parse(&bytes) {
            Ok((entry, _)) => Ok(entry.to_entry()),
            Err(_) => {
                let why = "the entry there fails its checksum";
                self.context.health.suspect(segment, offset, why, true);
                Err(StoreError::Corrupt(Arc::from(format!(
                    "{} at offset {offset}: {why}, or the index leads to a wrong place; the check finds out which",
                    self.path(segment).display()
                ))))
            }
        }
    }

    /// Fills `into` from a segment; bytes beyond the end of the file stay zero.
    fn fill(&self, file: &File, segment: u32, into: &mut [u8], at: u32) -> Result<(), StoreError> {
        let read = read_at(file, into, u64::from(at));
        read.map(drop).map_err(|why| self.wrong(segment, at, why))
    }

    fn wrong(&self, segment: u32, at: u32, why: SegmentError) -> StoreError {
        match why {
            SegmentError::Refused(_, e) => self.refused("reading", position(segment, at), &e),
            SegmentError::Damaged { offset, why } => self.met(segment, low32(offset), &why),
        }
    }

    /// The path of a segment's file, for messages.
    fn path(&self, segment: u32) -> PathBuf {
        segment_path(self.context.journal.path(), segment)
    }

    fn refused(&self, what: &str, at: Position, e: &io::Error) -> StoreError {
        let path = self.path(split(at).0);
        let why = format!("{what} {}: {e}", path.display());
        self.context.health.unreadable(&why, Some(at))
    }

    /// Repeats the last read that was refused, to find out whether reads work again.
    pub(crate) fn try_again(&self, at: Position) {
        let (segment, offset) = split(at);
        let mut bytes = vec![0; ENTRY_READ_BYTES];
        let read = self.handle(segment);
        // a failure is noted inside
        drop(read.and_then(|file| self.fill(&file, segment, &mut bytes, offset)));
    }

    /// The error of a read that met damage; the background check then reads the whole segment.
    fn met(&self, segment: u32, offset: u32, why: &str) -> StoreError {
        self.context.health.suspect(segment, offset, why, false);
        self.damaged(segment, offset, why)
    }

    fn damaged(&self, segment: u32, offset: u32, why: &str) -> StoreError {
        StoreError::Corrupt(Arc::from(format!(
            "{} at offset {offset}: {why}; stop the service, keep the folder, and restore from a \
             backup",
            self.path(segment).display()
        )))
    }

    /// The beginning of the segment that contains the record with `commit`.
    pub(crate) fn segment_of(&self, commit: u64) -> Position {
        let segments = read(&self.segments);
        let holds = |s: &&SegmentInfo| s.first_commit != 0 && s.first_commit <= commit.max(1);
        let number = segments.iter().rev().find(holds).map_or(1, |s| s.number);
        position(number, SEGMENT_HEADER)
    }

    /// Bytes between two positions, including the zeros at the ends of segments.
    pub(crate) fn between(&self, from: Position, to: Position) -> u64 {
        let ((first, offset), (last, end)) = (split(from), split(to));
        if first >= last {
            return u64::from(end.max(offset) - offset);
        }
        let segments = read(&self.segments);
        let size = |s: &SegmentInfo| u64::from(s.size) - u64::from(SEGMENT_HEADER.min(s.size));
        let passed = segments
            .iter()
            .filter(|s| (first..last).contains(&s.number));
        let passed: u64 = passed.map(size).sum();
        let read = offset.max(SEGMENT_HEADER) - SEGMENT_HEADER;
        passed + u64::from(end.max(SEGMENT_HEADER) - SEGMENT_HEADER) - u64::from(read)
    }

    /// Visits every durable record from `from` on, in order, with its position.
    ///
    /// # Errors
    /// When a record is missing, broken or unreadable, or the error of `visit`.
    pub(crate) fn records(
        &self,
        from: Position,
        visit: RecordVisitor<'_>,
    ) -> Result<(), StoreError> {
        self.walk(from, visit, &|segment, offset, why| {
            self.met(segment, offset, why)
        })
    }

    /// As [`Self::records`]; `wrong` makes the error for a place without a record, or with a broken one.
    fn walk(
        &self,
        from: Position,
        visit: RecordVisitor<'_>,
        wrong: &dyn Fn(u32, u32, &'static str) -> StoreError,
    ) -> Result<(), StoreError> {
        let end = self.end();
        let (mut segment, mut offset) = split(from);
        let mut bytes = Vec::new();
        while position(segment, offset) < end {
            let file = self.handle(segment)?;
            bytes.clear();
            bytes.resize(RECORD_HEADER, 0);
            self.fill(&file, segment, &mut bytes, offset)?;
            let Some(header) = RecordHeader::parse(&bytes) else {
                // the rest of a segment is zeros; the next record opens the next segment
                if segment < split(end).0 && crate::codec::all_zero(&bytes) {
                    segment += 1;
                    offset = SEGMENT_HEADER;
                    continue;
                }
                return Err(wrong(segment, offset, "there is no record"));
            };
            bytes.resize(header.total(), 0);
            self.fill(&file, segment, &mut bytes, offset)?;
            let Some(record) = Record::parse(&bytes) else {
                return Err(wrong(segment, offset, "the record there is broken"));
            };
            if !visit(position(segment, offset), &record)? {
                return Ok(());
            }
            offset = offset.saturating_add(crate::num::u32_of(header.total()));
        }
        Ok(())
    }

    /// Visits every entry from commit `from` on until `visit` returns `false`; returns the number of the last commit
    /// visited, 0 when there was none.
    ///
    /// # Errors
    /// As [`Self::records`]. Entries before the unreadable place have been visited.
    pub(crate) fn replay(
        &self,
        from: CommitNo,
        visit: &mut dyn FnMut(CommitNo, &Entry) -> bool,
    ) -> Result<CommitNo, StoreError> {
        let mut last = CommitNo(0);
        let mut entry = crate::rows::no_entry();
        self.records(self.segment_of(from.0), &mut |at, record| {
            if record.header.last_commit() < from.0 {
                return Ok(true);
            }
            let mut more = true;
            let whole = record.visit(&mut |commit, _, found| {
                if commit >= from.0 {
                    found.copy_to(&mut entry);
                    last = CommitNo(commit);
                    more = visit(last, &entry);
                }
                more
            });
            if !whole {
                let (segment, offset) = split(at);
                let why = "an entry in the record there fails its checksum";
                return Err(self.met(segment, offset, why));
            }
            if more && record.header.last_commit() >= from.0 {
                last = CommitNo(record.header.last_commit());
            }
            Ok(more)
        })?;
        Ok(last)
    }

    /// Whether the record before `at` has the hash `hash` and ends with `commit`, judging by the record after it; the
    /// caller has checked the chain and compares the last record itself.
    ///
    /// # Errors
    /// `Unreadable` when the system refuses. If no whole record is there, that is no error but false.
    pub(crate) fn follows(
        &self,
        at: Position,
        commit: u64,
        hash: &Hash,
    ) -> Result<bool, StoreError> {
        let mut good = false;
        let mut look = |_: Position, record: &Record<'_>| {
            good = record.header.first_commit == commit + 1 && record.header.previous == *hash;
            Ok(false)
        };
        // the position comes from another file, so a bad one is no sign of damage here
        let wrong = |segment, offset, why: &str| self.damaged(segment, offset, why);
        match self.walk(at, &mut look, &wrong) {
            Err(e @ StoreError::Unreadable(_)) => Err(e),
            seen => Ok(seen.is_ok() && good),
        }
    }

    /// Reads and checks the durable records of one segment; returns whether an entry begins at `offset`.
    ///
    /// # Errors
    /// The first place that is broken, or that the system refuses to read.
    pub(crate) fn read_through(&self, number: u32, offset: u32) -> Result<bool, SegmentError> {
        let (mut begins, broken) = (false, Cell::new(None));
        let wrong = |segment, at: u32, why: &'static str| {
            // what is wrong behind the segment says nothing about it
            broken.set((segment == number).then_some((at, why)));
            self.damaged(segment, at, why)
        };
        let mut look = |at: Position, record: &Record<'_>| {
            let (segment, start) = split(at);
            if segment != number {
                return Ok(false);
            }
            let whole = record.visit(&mut |_, place, _| {
                begins |= start.checked_add(place) == Some(offset);
                true
            });
            if whole {
                Ok(true)
            } else {
                Err(wrong(
                    segment,
                    start,
                    "an entry in the record fails its checksum",
                ))
            }
        };
        let walked = self.walk(position(number, SEGMENT_HEADER), &mut look, &wrong);
        match (broken.take(), walked) {
            (Some((at, why)), _) => Err(damaged(at.into(), why)),
            (None, Err(e @ StoreError::Unreadable(_))) => {
                Err(SegmentError::Refused(offset.into(), io::Error::other(e)))
            }
            (None, Ok(()) | Err(_)) => Ok(begins),
        }
    }
}
