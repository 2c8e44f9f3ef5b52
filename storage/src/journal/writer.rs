//! Appends records: one write, one fdatasync, then the journal's end moves.
//!
//! **Failure.** The first error ends the writer; the caller poisons the store and never calls it
//! again.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::api::Position;
use crate::files::Files;
use crate::journal::check::{Checked, Torn, segment_path};
use crate::journal::format::{Hash, RecordBuilder, SEGMENT_HEADER, StoreId};
use crate::journal::prepare::{Preparer, Segment, prepare};
use crate::journal::{Journal, SegmentInfo, position};
use crate::num::{u32_of, u64_of};

/// The one writer of a journal.
#[derive(Debug)]
pub(crate) struct Writer {
    files: Files,
    dir: PathBuf,
    id: StoreId,
    journal: Arc<Journal>,
    preparer: Preparer,
    active: Segment,
    first_commit: u64,
    offset: u32,
    /// Segments that were prepared before the last stop; the next one is last.
    spare: Vec<Segment>,
    next_commit: u64,
    chain: Hash,
}

/// Where a record went.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Appended {
    pub(crate) segment: u32,
    pub(crate) offset: u32,
    pub(crate) first_commit: u64,
    pub(crate) bytes: u64,
    /// The place after the record.
    pub(crate) end: Position,
}

impl Writer {
    /// Cuts a torn tail and gets ready to append behind what was checked.
    pub(crate) fn open(
        files: &Files,
        dir: &Path,
        id: &StoreId,
        checked: &Checked,
        segment_bytes: u32,
        journal: Arc<Journal>,
    ) -> io::Result<Self> {
        if let Some(torn) = checked.torn {
            cut(files, dir, torn)?;
        }
        let reopen = |info: &SegmentInfo| -> io::Result<Segment> {
            let file = files.open(&segment_path(dir, info.number))?;
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
        let mut preparer = Preparer::start(files.clone(), dir.to_path_buf(), *id, segment_bytes)?;
        if spare.is_empty() {
            preparer.order(active.number + 1);
        }
        Ok(Self {
            files: files.clone(),
            dir: dir.to_path_buf(),
            id: *id,
            journal,
            preparer,
            active,
            first_commit,
            offset: checked.offset,
            spare,
            next_commit: checked.last_commit + 1,
            chain: checked.chain,
        })
    }

    /// The number that the next commit gets.
    pub(crate) fn next_commit(&self) -> u64 {
        self.next_commit
    }

    /// The hash of the last record.
    pub(crate) fn chain(&self) -> Hash {
        self.chain
    }

    /// Writes the record and makes it durable.
    pub(crate) fn append(&mut self, record: &mut RecordBuilder) -> io::Result<Appended> {
        let commits = u64::from(record.commits());
        let (bytes, hash) = record.finish(self.next_commit, self.chain);
        let length = u32_of(bytes.len());
        if length > self.active.size - self.offset {
            self.roll(length)?;
        }
        if self.first_commit == 0 {
            self.first_commit = self.next_commit;
        }
        self.files
            .write_at(&self.active.file, bytes, u64::from(self.offset))?;
        self.files.sync_data(&self.active.file)?;
        let end = position(self.active.number, self.offset + length);
        let appended = Appended {
            segment: self.active.number,
            offset: self.offset,
            first_commit: self.next_commit,
            bytes: u64_of(bytes.len()),
            end,
        };
        self.offset += length;
        self.next_commit += commits;
        self.chain = hash;
        let info = SegmentInfo {
            number: self.active.number,
            size: self.active.size,
            first_commit: self.first_commit,
        };
        self.journal.advance(info, end);
        Ok(appended)
    }

    /// Goes on in the next segment, which has room for `length` bytes.
    fn roll(&mut self, length: u32) -> io::Result<()> {
        let number = self.active.number + 1;
        let room = u64::from(SEGMENT_HEADER) + u64::from(length);
        let next = match self.spare.pop() {
            Some(spare) => Some(spare),
            None => self.preparer.take().transpose()?,
        };
        let next = match next {
            Some(next) if u64::from(next.size) >= room => next,
            _ => {
                let size = u32::try_from(room).map_err(io::Error::other)?;
                prepare(&self.files, &self.dir, &self.id, number, size)?
            }
        };
        if next.number != number {
            return Err(io::Error::other(
                "the segment that was prepared is not the next one",
            ));
        }
        self.active = next;
        self.offset = SEGMENT_HEADER;
        self.first_commit = 0;
        if self.spare.is_empty() {
            self.preparer.order(number + 1);
        }
        Ok(())
    }
}

/// Zeroes what an unfinished record left behind.
fn cut(files: &Files, dir: &Path, torn: Torn) -> io::Result<()> {
    let path = segment_path(dir, torn.segment);
    tracing::warn!(
        segment = %path.display(), offset = torn.offset, bytes = torn.length,
        "cut an unfinished record at the end of the journal; it was never acknowledged"
    );
    let file = files.open(&path)?;
    let zeros = vec![0; 1 << 20];
    let mut done = 0u32;
    while done < torn.length {
        let n = (torn.length - done).min(1 << 20);
        let part = zeros.get(..crate::num::usize_of32(n)).unwrap_or_default();
        files.write_at(&file, part, u64::from(torn.offset + done))?;
        done += n;
    }
    files.sync_all(&file)
}
