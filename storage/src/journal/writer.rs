//! Writes records into this node's journal: one write, one fdatasync, then the journal's end moves.
//!
//! **Failure.** The first failed write ends the writer; the caller poisons the store and never calls it again. A next
//! segment that does not exist yet is no such error: nothing has been written.

use std::io;
use std::sync::Arc;

use crate::api::{CommitNo, Position};
use crate::context::StoreContext;
use crate::durable::held::HeldFolder;
use crate::durable::seals::Seals;
use crate::files::Files;
use crate::folder::{Folder, Id};
use crate::journal::check::{Checked, Torn};
use crate::journal::format::{SEGMENT_HEADER, segment_name};
use crate::journal::prepare::{Preparer, Segment, exhausted, prepare, stalled};
use crate::journal::seal::Seal;
use crate::journal::{Journal, SegmentInfo, position};
use crate::log::{LogError, Sealed, Tail};
use crate::num::u32_of;

/// How full a segment is when the next one is prepared: late enough that a store with few writes does not have two of
/// them, early enough that nobody waits for the zeros.
const NEXT_AT: (u64, u64) = (3, 4);

/// The one writer of a journal.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    context: Arc<StoreContext>,
    /// Checks that the segment still has its name.
    held: Arc<HeldFolder>,
    journal: Arc<Journal>,
    preparer: Preparer,
    active: Segment,
    first_commit: u64,
    /// The end of the chain before the active segment.
    before: Tail,
    /// Where the writer reports segments that take no more records.
    seals: Arc<Seals>,
    offset: u32,
    /// Segments that were prepared before the last stop; the next one to use is at the end.
    spare: Vec<Segment>,
    /// The end of the last record.
    tail: Tail,
    /// The last record, if it was written through this handle.
    last: Option<AppendedAt>,
    /// Whether something was written since the last flush.
    dirty: bool,
}

/// Where a record went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AppendedAt {
    /// The segment that contains it.
    pub(crate) segment: SegmentInfo,
    /// Where it begins, in bytes from the beginning of the segment.
    pub(crate) offset: u32,
    /// The place after the record.
    pub(crate) end: Position,
}

impl JournalWriter {
    /// Cuts a torn tail and prepares for appending after what was checked, to segments of `segment_bytes`.
    ///
    /// # Errors
    /// When the system refuses an operation.
    pub(crate) fn open(
        context: &Arc<StoreContext>,
        segment_bytes: u32,
        checked: &Checked,
        journal: Arc<Journal>,
        held: Arc<HeldFolder>,
        seals: Arc<Seals>,
    ) -> io::Result<Self> {
        let files = &context.files;
        if let Some(torn) = checked.torn {
            cut(files, &context.journal, torn)?;
        }
        let reopen = |info: &SegmentInfo| -> io::Result<Segment> {
            let file = files.open(&context.journal, &segment_name(info.number))?;
            Ok(Segment {
                number: info.number,
                size: info.size,
                file,
            })
        };
        let mut spare = Vec::new();
        let mut active = None;
        for info in &checked.segments {
            if info.number == checked.segment {
                active = Some((reopen(info)?, info.first_commit));
            } else if info.number > checked.segment {
                spare.insert(0, reopen(info)?);
            }
        }
        let Some((active, first_commit)) = active else {
            return Err(io::Error::other("the journal's last segment is gone"));
        };
        // the active segment is always read at the start
        let read = checked.read.iter();
        let mut read = read.filter(|(seal, _)| seal.number == active.number);
        let Some(before) = read.next().map(|(seal, _)| seal.before) else {
            return Err(io::Error::other("the journal's last segment was not read"));
        };
        // The last record may have been written by a process that was killed before its flush.
        files.sync_data(&active.file)?;
        held.set_active(active.number, &active.file)?;
        let mut writer = Self {
            context: Arc::clone(context),
            held,
            journal,
            preparer: Preparer::start(context, segment_bytes)?,
            active,
            first_commit,
            before,
            seals,
            offset: checked.offset,
            spare,
            tail: Tail {
                commit: CommitNo(checked.last_commit),
                hash: checked.chain,
            },
            last: None,
            dirty: false,
        };
        // The next segment may have been in preparation when the program ended.
        writer.look_ahead();
        Ok(writer)
    }

    /// The end of the journal.
    pub(crate) fn tail(&self) -> Tail {
        self.tail
    }

    /// Writes a record after the last one. It becomes durable with [`Self::sync`] and visible to readers with
    /// [`Self::show`]. If it is the last record written, its place is returned again.
    ///
    /// # Errors
    /// `Gap` when it is not the next record, `Yet` when there is no next segment: nothing of it was written then. `Lost`
    /// when that is unknown.
    pub(crate) fn put(&mut self, record: &Sealed<'_>) -> Result<AppendedAt, LogError> {
        if let Some(last) = self.last
            && record.tail() == self.tail
        {
            return Ok(last);
        }
        if !record.follows(&self.tail) {
            return Err(LogError::Gap {
                tail: self.tail,
                offered: record.first_commit(),
            });
        }
        let bytes = record.bytes();
        let length = u32_of(bytes.len());
        if length > self.active.size - self.offset {
            self.roll(length)?;
        }
        if self.first_commit == 0 {
            self.first_commit = record.first_commit().0;
        }
        self.dirty = true;
        let files = &self.context.files;
        files.write_at(&self.active.file, bytes, u64::from(self.offset))?;
        let placed = AppendedAt {
            segment: SegmentInfo {
                number: self.active.number,
                size: self.active.size,
                first_commit: self.first_commit,
            },
            offset: self.offset,
            end: position(self.active.number, self.offset + length),
        };
        self.offset += length;
        self.look_ahead();
        self.tail = record.tail();
        self.last = Some(placed);
        Ok(placed)
    }

    /// Makes the written records durable, and checks that the segment still has its name.
    ///
    /// # Errors
    /// The system's error, or that the segment was moved, replaced or removed. It is unknown then whether the records
    /// are on disk, and nothing more may be written.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.dirty) {
            self.context.files.sync_data(&self.active.file)?;
            self.held.check_active().map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Shows readers everything up to the end of a durable record.
    pub(crate) fn show(&self, placed: &AppendedAt) {
        self.journal.advance(placed.segment, placed.end);
    }

    /// Switches to the next segment, which has room for `length` bytes.
    fn roll(&mut self, length: u32) -> Result<(), LogError> {
        self.sync()?;
        let number = self.active.number + 1;
        let room = u64::from(SEGMENT_HEADER) + u64::from(length);
        let next = match self.spare.pop() {
            Some(spare) => Some(spare),
            None => {
                self.order_next();
                self.preparer.take()?
            }
        };
        let next = match next {
            Some(next) if u64::from(next.size) >= room => next,
            small => self.larger(small, room)?,
        };
        if next.number != number {
            return Err(
                io::Error::other("the segment that was prepared is not the next one").into(),
            );
        }
        self.held.set_active(number, &next.file)?;
        self.seals.push(Seal {
            number: self.active.number,
            size: self.active.size,
            first_commit: self.first_commit,
            before: self.before,
            end: self.offset,
            after: self.tail,
        });
        self.before = self.tail;
        self.active = next;
        self.offset = SEGMENT_HEADER;
        self.first_commit = 0;
        Ok(())
    }

    /// Orders the next segment when this one is nearly full.
    fn look_ahead(&mut self) {
        if u64::from(self.offset) * NEXT_AT.1 >= u64::from(self.active.size) * NEXT_AT.0 {
            self.order_next();
        }
    }

    /// Orders the next segment, unless there is one or it was ordered.
    fn order_next(&mut self) {
        if self.spare.is_empty() {
            self.preparer.order(self.active.number + 1);
        }
    }

    /// Makes the next segment larger than the prepared one, which it removes if there is one.
    fn larger(&mut self, small: Option<Segment>, room: u64) -> Result<Segment, LogError> {
        let (context, number) = (&self.context, self.active.number + 1);
        let size = u32::try_from(room).map_err(io::Error::other)?;
        if let Some(small) = small {
            // nothing but zeros was ever written to it, and it is certainly ours
            let name = segment_name(number);
            if context.journal.id(&name)? == Some(Id::of(&small.file)?) {
                context.journal.remove(&name)?;
            }
        }
        prepare(&context.files, &context.journal, &context.id, number, size).map_err(|e| {
            if exhausted(&e) {
                self.preparer.order(number);
                LogError::Yet(stalled(&e))
            } else {
                LogError::from(e)
            }
        })
    }
}

/// Zeroes the remains of an unfinished record.
fn cut(files: &Files, folder: &Folder, torn: Torn) -> io::Result<()> {
    let name = segment_name(torn.segment);
    tracing::warn!(
        segment = %folder.path().join(&name).display(), offset = torn.offset, bytes = torn.length,
        "cut an unfinished record at the end of the journal; it was never acknowledged"
    );
    let file = files.open(folder, &name)?;
    let from = u64::from(torn.offset);
    files.write_zeros(&file, from, from + u64::from(torn.length))?;
    files.sync_all(&file)
}
