//! Reads a full segment again, piece by piece, and checks each piece.
//!
//! **Bounds.** One step reads [`WINDOW`] bytes, or one record if that is larger.
//!
//! **Failure.** Bytes that differ from what was written are reported with their offset in the segment; nothing is
//! changed.

use std::fs::File;
use std::io;

use crate::api::CommitNo;
use crate::codec::all_zero;
use crate::context::StoreContext;
use crate::journal::format::{
    RECORD_HEADER, Record, RecordHeader, SEGMENT_HEADER, SegmentHeader, segment_name,
};
use crate::journal::read_at;
use crate::journal::seal::{Seal, SegmentError, damaged};
use crate::log::Tail;
use crate::num::{u64_of, usize_of, usize_of32};

/// Bytes of a segment that one step reads.
pub(crate) const WINDOW: usize = 1 << 20;

/// A segment that is being read again.
#[derive(Debug)]
pub(crate) struct Reread {
    seal: Seal,
    file: File,
    /// Everything before this offset is known to be intact.
    offset: u64,
    tail: Tail,
    window: Vec<u8>,
}

impl Reread {
    /// Opens a segment and reads its header.
    ///
    /// # Errors
    /// `Damaged` when it is missing or another segment, or its file's length has changed; `Refused` when the system
    /// cannot open or read it.
    pub(crate) fn open(context: &StoreContext, seal: Seal) -> Result<Self, SegmentError> {
        let opened = context
            .files
            .read(&context.journal, &segment_name(seal.number));
        let file = opened.map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => damaged(0, "the segment is missing"),
            _ => SegmentError::Refused(0, e),
        })?;
        let length = file
            .metadata()
            .map_err(|e| SegmentError::Refused(0, e))?
            .len();
        if length != u64::from(seal.size) {
            return Err(damaged(0, "the file is not as long as it was"));
        }
        let mut head = vec![0; usize_of32(SEGMENT_HEADER)];
        read_at(&file, &mut head, 0)?;
        let header = SegmentHeader::parse(&head).map_err(|why| damaged(0, why))?;
        if header.number != seal.number || header.id != context.id || header.size != seal.size {
            return Err(damaged(0, "the file is another segment under this name"));
        }
        Ok(Self {
            seal,
            file,
            offset: u64::from(SEGMENT_HEADER),
            tail: seal.before,
            window: Vec::new(),
        })
    }

    /// The seal of the segment.
    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    /// The offset up to which the segment is known to be intact.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether all of it was read.
    pub(crate) fn done(&self) -> bool {
        self.offset >= u64::from(self.seal.size)
    }

    /// Reads and checks the whole segment.
    pub(crate) fn whole(mut self) -> Result<(), SegmentError> {
        while !self.done() {
            self.step()?;
        }
        Ok(())
    }

    /// Reads and checks the next piece; returns its size in bytes.
    ///
    /// # Errors
    /// `Damaged`, with the offset, when a record there differs from what was written, does not follow the one before
    /// it, or is not the last one that the seal names, and when anything but zeros follows the last. [`Self::offset`]
    /// says up to where the segment is intact. `Refused` when the system cannot read; then the same piece may be read
    /// again.
    pub(crate) fn step(&mut self) -> Result<u64, SegmentError> {
        let mut window = std::mem::take(&mut self.window);
        let read = self.piece(&mut window);
        // one huge record must not keep its memory for ever
        window.truncate(WINDOW);
        window.shrink_to(WINDOW);
        self.window = window;
        read
    }

    fn fill(&self, window: &mut Vec<u8>, bytes: usize) -> Result<(), SegmentError> {
        window.resize(bytes, 0);
        if read_at(&self.file, window, self.offset)? < bytes {
            return Err(damaged(self.offset, "the file ends before its end"));
        }
        Ok(())
    }

    fn piece(&mut self, window: &mut Vec<u8>) -> Result<u64, SegmentError> {
        let (end, size) = (u64::from(self.seal.end), u64::from(self.seal.size));
        if self.offset >= end {
            return self.zeros(window, size);
        }
        let bytes = usize_of(end - self.offset).min(WINDOW);
        self.fill(window, bytes)?;
        // a record that is larger than the window is read whole
        if let Some(total) = RecordHeader::parse(window).map(|h| h.total())
            && total > window.len()
        {
            if u64_of(total) > end - self.offset {
                return Err(damaged(self.offset, "a record reaches beyond its segment"));
            }
            self.fill(window, total)?;
        }
        let mut at = 0;
        while let Some(rest) = window.get(at..).filter(|rest| !rest.is_empty()) {
            let Some(record) = Record::parse(rest) else {
                let cut = rest.len() < RECORD_HEADER
                    || RecordHeader::parse(rest).is_some_and(|h| h.total() > rest.len());
                if at > 0 && cut && self.offset + u64_of(rest.len()) < end {
                    break;
                }
                return Err(damaged(self.offset, "the record there is broken"));
            };
            self.accept(&record)?;
            at += record.bytes.len();
        }
        if self.offset == end && self.tail != self.seal.after {
            return Err(damaged(
                end,
                "the records end with another one than was written",
            ));
        }
        Ok(u64_of(window.len()))
    }

    fn accept(&mut self, record: &Record<'_>) -> Result<(), SegmentError> {
        if record.header.first_commit != self.tail.commit.0 + 1 {
            return Err(damaged(self.offset, "a commit there has another number"));
        }
        if record.header.previous != self.tail.hash {
            let why = "the record does not name the one before it: it was replaced";
            return Err(damaged(self.offset, why));
        }
        if !record.visit(&mut |_, _, _| true) {
            return Err(damaged(
                self.offset,
                "an entry in the record fails its checksum",
            ));
        }
        self.tail = Tail {
            commit: CommitNo(record.header.last_commit()),
            hash: record.hash(),
        };
        self.offset += u64_of(record.bytes.len());
        Ok(())
    }

    /// Checks the zeros after the records.
    fn zeros(&mut self, window: &mut Vec<u8>, size: u64) -> Result<u64, SegmentError> {
        let bytes = usize_of(size - self.offset).min(WINDOW);
        self.fill(window, bytes)?;
        if !all_zero(window)
            && let Some(first) = window.iter().position(|b| *b != 0)
        {
            let why = "bytes that are no record stand where nothing was written";
            return Err(damaged(self.offset + u64_of(first), why));
        }
        self.offset += u64_of(bytes);
        Ok(u64_of(bytes))
    }
}
