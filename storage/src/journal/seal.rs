//! Segments that take no more records: what is known of one, and reading it again piece by piece.
//!
//! **Shape.** A row of `CHECKPOINT`, 256 bytes, numbers big-endian:
//! ```text
//! magic "CdS1", store id [16], number u32, size u32, first commit u64,
//! before: commit u64, chain [32]; end u32; after: commit u64, chain [32],
//! file: inode u64, size u64, changed i64 + u64, modified i64 + u64; round u64, crc32c u32, zeros
//! ```
//! `before` and `after` are the ends of the chain before the segment and with it.
//!
//! **Order.** A row is written after an fsync of its segment, so a segment that is attested was on
//! disk, with the times of its file.
//!
//! **Bounds.** One step of reading takes [`WINDOW`] bytes, or one record where that is larger.
//!
//! **Failure.** A row proves nothing unless every bit of it is right and the file is the one that
//! was attested: its inode, its size and the times of its last change, which no copy has and no
//! program can set back.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::api::CommitNo;
use crate::codec::{Cursor, all_zero};
use crate::files::Files;
use crate::folder::{Folder, Stamp};
use crate::journal::format::{
    RECORD_HEADER, Record, RecordHeader, SEGMENT_HEADER, SegmentHeader, StoreId,
};
use crate::log::Tail;
use crate::num::{u64_of, usize_of, usize_of32};

/// Bytes of a row.
pub(crate) const ROW: usize = 256;
const MAGIC: [u8; 4] = *b"CdS1";
const USED: usize = 180;
/// Bytes of a segment that one step reads.
pub(crate) const WINDOW: usize = 1 << 20;

/// What is known of a segment that takes no more records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seal {
    /// The number of the segment.
    pub(crate) number: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
    /// The number of the first commit in it, 0 when there is none.
    pub(crate) first_commit: u64,
    /// The end of the chain before it.
    pub(crate) before: Tail,
    /// Where its records end, in bytes from its beginning.
    pub(crate) end: u32,
    /// The end of the chain with it.
    pub(crate) after: Tail,
}

/// A seal, the file that it is about, and the round in which it was last read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attested {
    /// What is known of the segment.
    pub(crate) seal: Seal,
    /// The file that was flushed.
    pub(crate) stamp: Stamp,
    /// The number of the round of the background check in which it was last read.
    pub(crate) round: u64,
}

fn put_tail(b: &mut Vec<u8>, tail: &Tail) {
    b.extend_from_slice(&tail.commit.0.to_be_bytes());
    b.extend_from_slice(&tail.hash);
}

fn take_tail(c: &mut Cursor<'_>) -> Option<Tail> {
    Some(Tail {
        commit: CommitNo(c.u64()?),
        hash: c.array()?,
    })
}

impl Attested {
    /// As a row of [`ROW`] bytes.
    pub(crate) fn encode(&self, id: &StoreId) -> Vec<u8> {
        let mut b = Vec::with_capacity(ROW);
        b.extend_from_slice(&MAGIC);
        b.extend_from_slice(id);
        b.extend_from_slice(&self.seal.number.to_be_bytes());
        b.extend_from_slice(&self.seal.size.to_be_bytes());
        b.extend_from_slice(&self.seal.first_commit.to_be_bytes());
        put_tail(&mut b, &self.seal.before);
        b.extend_from_slice(&self.seal.end.to_be_bytes());
        put_tail(&mut b, &self.seal.after);
        b.extend_from_slice(&self.stamp.encode());
        b.extend_from_slice(&self.round.to_be_bytes());
        let crc = crc32c::crc32c(&b);
        b.extend_from_slice(&crc.to_be_bytes());
        b.resize(ROW, 0);
        b
    }

    /// From a row of this store; `None` unless every bit is right.
    pub(crate) fn decode(row: &[u8], id: &StoreId) -> Option<Self> {
        let used = row.get(..USED - 4)?;
        let mut c = Cursor::new(row);
        if c.array()? != MAGIC || c.array()? != *id {
            return None;
        }
        let seal = Seal {
            number: c.u32()?,
            size: c.u32()?,
            first_commit: c.u64()?,
            before: take_tail(&mut c)?,
            end: c.u32()?,
            after: take_tail(&mut c)?,
        };
        let stamp = Stamp::decode(&mut c)?;
        let round = c.u64()?;
        let good = c.u32()? == crc32c::crc32c(used) && row.len() == ROW && all_zero(c.rest());
        good.then_some(Self { seal, stamp, round })
    }
}

/// What is wrong with a segment.
#[derive(Debug)]
pub(crate) enum Wrong {
    /// Its bytes are not what was written.
    Damaged {
        /// Where in the segment, in bytes from its beginning.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// The system refused to read it there.
    Refused(u64, io::Error),
}

/// A segment that is being read again.
#[derive(Debug)]
pub(crate) struct Reread {
    seal: Seal,
    file: File,
    /// How far it is known to be right.
    offset: u64,
    tail: Tail,
    window: Vec<u8>,
}

fn damaged(offset: u64, why: &str) -> Wrong {
    Wrong::Damaged {
        offset,
        why: why.to_owned(),
    }
}

impl Reread {
    /// Opens a segment, the file of this name, and reads its header.
    pub(crate) fn open(
        files: &Files,
        (folder, name): (&Folder, &str),
        id: &StoreId,
        seal: Seal,
    ) -> Result<Self, Wrong> {
        let file = match files.read(folder, name) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                return Err(damaged(0, "the segment is missing"));
            }
            Err(e) => return Err(Wrong::Refused(0, e)),
        };
        let length = file.metadata().map_err(|e| Wrong::Refused(0, e))?.len();
        if length != u64::from(seal.size) {
            return Err(damaged(0, "the file is not as long as it was"));
        }
        let mut head = vec![0; usize_of32(SEGMENT_HEADER)];
        file.read_exact_at(&mut head, 0)
            .map_err(|e| Wrong::Refused(0, e))?;
        match SegmentHeader::parse(&head) {
            Err(why) => return Err(damaged(0, why)),
            Ok(h) if h.number != seal.number || h.id != *id || h.size != seal.size => {
                return Err(damaged(0, "the file is another segment under this name"));
            }
            Ok(_) => {}
        }
        Ok(Self {
            seal,
            file,
            offset: u64::from(SEGMENT_HEADER),
            tail: seal.before,
            window: Vec::new(),
        })
    }

    /// Which segment it is.
    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    /// How far it is known to be right.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether all of it was read.
    pub(crate) fn done(&self) -> bool {
        self.offset >= u64::from(self.seal.size)
    }

    /// Reads and checks the next piece; gives its bytes.
    pub(crate) fn step(&mut self) -> Result<u64, Wrong> {
        let mut window = std::mem::take(&mut self.window);
        let read = self.piece(&mut window);
        // one huge record must not keep its memory for ever
        window.truncate(WINDOW);
        window.shrink_to(WINDOW);
        self.window = window;
        read
    }

    fn fill(&self, window: &mut Vec<u8>, bytes: usize) -> Result<(), Wrong> {
        window.resize(bytes, 0);
        let read = self.file.read_exact_at(window, self.offset);
        read.map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => damaged(self.offset, "the file ends before its end"),
            _ => Wrong::Refused(self.offset, e),
        })
    }

    fn piece(&mut self, window: &mut Vec<u8>) -> Result<u64, Wrong> {
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

    fn accept(&mut self, record: &Record<'_>) -> Result<(), Wrong> {
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

    /// Behind the records there is nothing.
    fn zeros(&mut self, window: &mut Vec<u8>, size: u64) -> Result<u64, Wrong> {
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
