//! The seal of a segment that takes no more records: its place in the chain, and its row in the
//! checkpoint.
//!
//! **Shape.** A row of `CHECKPOINT`, 256 bytes, numbers big-endian:
//! ```text
//! magic "CdS1", store id [16], number u32, size u32, first commit u64,
//! before: commit u64, chain [32]; end u32; after: commit u64, chain [32],
//! file: inode u64, size u64, changed i64 + u64, modified i64 + u64; round u64, crc32c u32, zeros
//! ```
//! `before` is the end of the chain before the segment, `after` the end of the chain with it.
//!
//! **Order.** A row is written after an fsync of its segment, so an attested segment was on disk,
//! with the times of its file.
//!
//! **Failure.** A row proves nothing unless every bit of it is right and the file is still the
//! attested one: its inode, its size and the times of its last change, which no copy has and no
//! program can set back.

use std::io;

use crate::api::CommitNo;
use crate::codec::{Cursor, all_zero};
use crate::folder::Stamp;
use crate::journal::format::StoreId;
use crate::log::Tail;

/// Bytes of a row.
pub(crate) const ROW: usize = 256;
const MAGIC: [u8; 4] = *b"CdS1";
const USED: usize = 180;

/// A segment that takes no more records, and its place in the chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seal {
    /// The number of the segment.
    pub(crate) number: u32,
    /// Its size in bytes.
    pub(crate) size: u32,
    /// The number of the first commit in it; 0 when there is none.
    pub(crate) first_commit: u64,
    /// The end of the chain before the segment.
    pub(crate) before: Tail,
    /// Where the segment's records end, in bytes from its beginning.
    pub(crate) end: u32,
    /// The end of the chain with the segment.
    pub(crate) after: Tail,
}

/// A seal, the stamp of its file, and the round in which it was last read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Attested {
    /// The seal of the segment.
    pub(crate) seal: Seal,
    /// The stamp of the file that was flushed.
    pub(crate) stamp: Stamp,
    /// The number of the round of the background check in which it was last read.
    pub(crate) round: u64,
}

pub(crate) fn put_tail(b: &mut Vec<u8>, tail: &Tail) {
    b.extend_from_slice(&tail.commit.0.to_be_bytes());
    b.extend_from_slice(&tail.hash);
}

pub(crate) fn take_tail(c: &mut Cursor<'_>) -> Option<Tail> {
    Some(Tail {
        commit: CommitNo(c.u64()?),
        hash: c.array()?,
    })
}

impl Attested {
    /// Encodes a row of [`ROW`] bytes.
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

    /// Parses a row of this store; `None` unless every bit is right.
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
pub(crate) enum SegmentError {
    /// Its bytes differ from what was written.
    Damaged {
        /// The offset in the segment, in bytes from its beginning.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// The system refused to read at this offset.
    Refused(u64, io::Error),
}

/// Damage at a place.
pub(crate) fn damaged(offset: u64, why: &str) -> SegmentError {
    SegmentError::Damaged {
        offset,
        why: why.to_owned(),
    }
}
