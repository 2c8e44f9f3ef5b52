//! The files and the bytes of the journal: segment header, record, entry frame.
//!
//! **Shape.** All numbers are big-endian.
//! ```text
//! segment  header (4096 bytes: magic, format, number, size, store id, crc32c, zeros), records, zeros
//! record   magic u32, payload length u32, first commit u64, commits u32, entries u32,
//!          hash of the previous record [32], crc32c of the payload u32, crc32c of the above u32,
//!          mark u32, payload, mark u32
//! payload  for each commit: entries u32, then this many frames
//! frame    length u32, crc32c u32, then: realm u32, kind u8, number u64, seq u64, at u64, body
//! ```
//! The marks contain no zero byte: a record that a power cut left half written shows zeros where a mark or a whole
//! sector should be, and one that rotted later does not.
//!
//! **Bounds.** A frame can be read and verified alone, so a [`crate::Position`] costs one read.

use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{Context, SHA256};

use crate::api::{Commit, Entry, Fact, StreamId};
use crate::codec::Cursor;
use crate::num::{u32_of, u64_of, usize_of32};

/// SHA-256 of a record; the next record repeats it.
pub type Hash = [u8; 32];
/// The random identity of one store, in every segment.
pub(crate) type StoreId = [u8; 16];

/// Bytes before the first record of a segment.
pub(crate) const SEGMENT_HEADER: u32 = 4096;
/// Bytes before a record's payload.
pub(crate) const RECORD_HEADER: usize = 68;
/// Bytes after a record's payload.
pub(crate) const TRAILER: usize = 4;
/// Bytes of a frame before its body: length, crc, stream, seq, at.
pub(crate) const FRAME_OVERHEAD: usize = 8 + FRAME_FIXED;
const FRAME_FIXED: usize = 29;
const SEGMENT_MAGIC: [u8; 8] = *b"CAUDALJ1";
/// The first bytes of a record, which a scan for survivors looks for.
pub(crate) const RECORD_MAGIC: [u8; 4] = *b"CdR1";
const HEADER_MARK: [u8; 4] = [0xC3, 0x5A, 0x96, 0xE7];
const TRAILER_MARK: [u8; 4] = [0xA5, 0xD3, 0x69, 0x7E];
/// The form of everything in a store's folder: `IDENTITY` names it, and a folder of another form is refused with its
/// number. It changes with any file, record, row or run that an earlier program cannot read.
pub const DISK_FORMAT: u32 = 1;

/// The SHA-256 of all parts, one after the other.
pub(crate) fn sha256(parts: &[&[u8]]) -> Hash {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    finished(context)
}

/// The SHA-256 of everything that was added to the context.
pub(crate) fn finished(context: Context) -> Hash {
    let mut out = [0; 32];
    out.iter_mut()
        .zip(context.finish().as_ref())
        .for_each(|(o, d)| *o = *d);
    out
}

/// The hash that the first record of a store names as its predecessor.
pub(crate) fn genesis(id: &StoreId) -> Hash {
    sha256(&[b"caudal journal", id])
}

/// The path of a segment's file.
pub(crate) fn segment_path(dir: &Path, number: u32) -> PathBuf {
    dir.join(segment_name(number))
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:010}.segment")
}

/// The number in the name of a segment's file.
pub(crate) fn number_in(name: &str) -> Option<u32> {
    name.strip_suffix(".segment")?.parse().ok()
}

/// The content of a segment header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentHeader {
    /// The number of the segment, from 1.
    pub(crate) number: u32,
    /// The size of the segment in bytes, this header included.
    pub(crate) size: u32,
    /// The store to which the segment belongs.
    pub(crate) id: StoreId,
}

impl SegmentHeader {
    /// Encodes the whole first block of the segment.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(usize_of32(SEGMENT_HEADER));
        b.extend_from_slice(&SEGMENT_MAGIC);
        b.extend_from_slice(&DISK_FORMAT.to_be_bytes());
        b.extend_from_slice(&self.number.to_be_bytes());
        b.extend_from_slice(&self.size.to_be_bytes());
        b.extend_from_slice(&self.id);
        b.extend_from_slice(&crc32c::crc32c(&b).to_be_bytes());
        b.resize(usize_of32(SEGMENT_HEADER), 0);
        b
    }

    /// Parses the first block of a segment, all of its [`SEGMENT_HEADER`] bytes.
    ///
    /// # Errors
    /// A sentence for operators: cut short, not a header, of a newer format, or different from what was written.
    pub(crate) fn parse(block: &[u8]) -> Result<Self, &'static str> {
        let mut c = Cursor::new(block);
        let short = "the segment header is cut short";
        let magic: [u8; 8] = c.array().ok_or(short)?;
        if magic != SEGMENT_MAGIC {
            return Err("the segment header does not begin like one");
        }
        let format = c.u32().ok_or(short)?;
        let number = c.u32().ok_or(short)?;
        let size = c.u32().ok_or(short)?;
        let id = c.array().ok_or(short)?;
        let crc = c.u32().ok_or(short)?;
        let header = Self { number, size, id };
        let expected = header.encode();
        if format == DISK_FORMAT && expected != block {
            return Err("the segment header fails its checksum");
        }
        if format != DISK_FORMAT {
            let covered = block.get(..36).unwrap_or_default();
            return Err(if crc == crc32c::crc32c(covered) {
                "the segment was written by a newer format than this program knows"
            } else {
                "the segment header fails its checksum"
            });
        }
        Ok(header)
    }
}

/// The content of a record header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RecordHeader {
    /// The size of the payload in bytes.
    pub(crate) payload: u32,
    /// The number of the first commit.
    pub(crate) first_commit: u64,
    /// How many commits it holds.
    pub(crate) commits: u32,
    /// How many entries its commits have together.
    pub(crate) entries: u32,
    /// The hash of the record before it.
    pub(crate) previous: Hash,
    /// The CRC-32C of the payload.
    pub(crate) crc: u32,
}

impl RecordHeader {
    fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&RECORD_MAGIC);
        out.extend_from_slice(&self.payload.to_be_bytes());
        out.extend_from_slice(&self.first_commit.to_be_bytes());
        out.extend_from_slice(&self.commits.to_be_bytes());
        out.extend_from_slice(&self.entries.to_be_bytes());
        out.extend_from_slice(&self.previous);
        out.extend_from_slice(&self.crc.to_be_bytes());
        let own = crc32c::crc32c(out);
        out.extend_from_slice(&own.to_be_bytes());
        out.extend_from_slice(&HEADER_MARK);
    }

    /// Parses a header; `None` unless every bit is right.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut c = Cursor::new(bytes);
        if c.array::<4>()? != RECORD_MAGIC {
            return None;
        }
        let header = Self {
            payload: c.u32()?,
            first_commit: c.u64()?,
            commits: c.u32()?,
            entries: c.u32()?,
            previous: c.array()?,
            crc: c.u32()?,
        };
        let own = c.u32()?;
        let good = c.array::<4>()? == HEADER_MARK && crc32c::crc32c(bytes.get(..60)?) == own;
        good.then_some(header)
    }

    /// Bytes of the whole record.
    pub(crate) fn total(&self) -> usize {
        usize_of32(self.payload) + RECORD_HEADER + TRAILER
    }

    /// The last commit in the record.
    pub(crate) fn last_commit(&self) -> u64 {
        self.first_commit + u64::from(self.commits) - 1
    }
}

/// A record whose checksums hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// The content of its header.
    pub(crate) header: RecordHeader,
    /// The commits and frames, in bytes.
    pub(crate) payload: &'a [u8],
    /// Header, payload and trailer.
    pub(crate) bytes: &'a [u8],
}

impl<'a> Record<'a> {
    /// Parses the record at the start of `bytes`; `None` unless it is whole and intact.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let header = RecordHeader::parse(bytes)?;
        let mut c = Cursor::new(bytes.get(..header.total())?);
        c.bytes(RECORD_HEADER)?;
        let payload = c.bytes(usize_of32(header.payload))?;
        let good =
            c.rest() == TRAILER_MARK && header.commits > 0 && crc32c::crc32c(payload) == header.crc;
        good.then_some(Self {
            header,
            payload,
            bytes: bytes.get(..header.total())?,
        })
    }

    /// The hash that the next record names.
    pub(crate) fn hash(&self) -> Hash {
        sha256(&[self.bytes])
    }

    /// Visits each entry with its commit number and the offset of its frame within the record. Returns false when
    /// `visit` does, or when the payload contradicts the header.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(u64, u32, EntryRef<'a>) -> bool) -> bool {
        let mut c = Cursor::new(self.payload);
        let mut entries = 0u32;
        for n in 0..self.header.commits {
            let Some(count) = c.u32() else { return false };
            for _ in 0..count {
                let offset = u32_of(RECORD_HEADER + self.payload.len() - c.rest().len());
                let Ok((entry, length)) = EntryRef::parse(c.rest()) else {
                    return false;
                };
                if c.bytes(length).is_none() {
                    return false;
                }
                entries += 1;
                if !visit(self.header.first_commit + u64::from(n), offset, entry) {
                    return true;
                }
            }
        }
        c.rest().is_empty() && entries == self.header.entries
    }
}

/// An entry that borrows the bytes it was read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryRef<'a> {
    /// The stream to which it belongs.
    pub(crate) stream: StreamId,
    /// Its sequence number in the stream.
    pub(crate) seq: u64,
    /// Its time, in milliseconds since 1970 UTC.
    pub(crate) at: u64,
    /// The fact as bytes.
    pub(crate) body: &'a [u8],
}

/// Why a frame could not be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameError {
    /// It needs this many bytes.
    Short(usize),
    /// It is not a frame, or its checksum fails.
    Bad,
}

impl<'a> EntryRef<'a> {
    /// Parses the frame at the start of `bytes`, and returns it with its length in bytes; ignores whatever follows.
    ///
    /// # Errors
    /// [`FrameError::Short`] when more bytes are needed to decide, [`FrameError::Bad`] when no further bytes could make
    /// it a frame.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<(Self, usize), FrameError> {
        let mut c = Cursor::new(bytes);
        let length = usize_of32(c.u32().ok_or(FrameError::Short(8))?);
        let crc = c.u32().ok_or(FrameError::Short(8))?;
        if !(FRAME_FIXED..=FRAME_FIXED + crate::api::ENTRY_BYTES_MAX).contains(&length) {
            return Err(FrameError::Bad);
        }
        let inner = c.bytes(length).ok_or(FrameError::Short(length + 8))?;
        if crc32c::crc32c(inner) != crc {
            return Err(FrameError::Bad);
        }
        let entry = Self::parse_inner(inner).ok_or(FrameError::Bad)?;
        Ok((entry, length + 8))
    }

    fn parse_inner(inner: &'a [u8]) -> Option<Self> {
        let mut c = Cursor::new(inner);
        let stream = StreamId {
            realm: c.u32()?,
            kind: c.u8()?,
            number: c.u64()?,
        };
        Some(Self {
            stream,
            seq: c.u64()?,
            at: c.u64()?,
            body: c.rest(),
        })
    }

    /// An owned copy of the entry.
    pub(crate) fn to_entry(self) -> Entry {
        Entry {
            stream: self.stream,
            seq: self.seq,
            at: self.at,
            body: self.body.to_vec(),
            fact: Fact::default(),
        }
    }

    /// Copies the entry into `into`, reusing the memory of its body.
    pub(crate) fn copy_to(self, into: &mut Entry) {
        into.stream = self.stream;
        into.seq = self.seq;
        into.at = self.at;
        into.body.clear();
        into.body.extend_from_slice(self.body);
    }
}

/// The size of a commit within a record, in bytes.
pub(crate) fn commit_bytes(commit: &Commit) -> u64 {
    let bodies: u64 = commit
        .entries
        .iter()
        .map(|e| u64_of(e.body.len() + FRAME_OVERHEAD))
        .sum();
    bodies + 4
}

/// Packs the commits of one group into one record; keeps its memory between groups.
#[derive(Debug, Default)]
pub(crate) struct RecordBuilder {
    bytes: Vec<u8>,
    header: Vec<u8>,
    /// Offsets of the frames within the record, in the order of the entries.
    places: Vec<u32>,
    commits: u32,
}

impl RecordBuilder {
    /// Discards the last record.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        // one huge commit must not keep its memory for ever
        self.bytes.shrink_to(8 << 20);
        self.bytes.resize(RECORD_HEADER, 0);
        self.places.clear();
        self.commits = 0;
    }

    /// Adds one commit with all its entries.
    pub(crate) fn push(&mut self, commit: &Commit) {
        self.commits += 1;
        self.bytes
            .extend_from_slice(&u32_of(commit.entries.len()).to_be_bytes());
        for entry in &commit.entries {
            let start = self.bytes.len();
            self.places.push(u32_of(start));
            self.bytes
                .extend_from_slice(&u32_of(entry.body.len() + FRAME_FIXED).to_be_bytes());
            self.bytes.extend_from_slice(&[0; 4]);
            self.bytes
                .extend_from_slice(&entry.stream.realm.to_be_bytes());
            self.bytes.push(entry.stream.kind);
            self.bytes
                .extend_from_slice(&entry.stream.number.to_be_bytes());
            self.bytes.extend_from_slice(&entry.seq.to_be_bytes());
            self.bytes.extend_from_slice(&entry.at.to_be_bytes());
            self.bytes.extend_from_slice(&entry.body);
            let crc = crc32c::crc32c(self.bytes.get(start + 8..).unwrap_or_default());
            if let Some(place) = self.bytes.get_mut(start + 4..start + 8) {
                place.copy_from_slice(&crc.to_be_bytes());
            }
        }
    }

    /// Completes the record that follows commit `last` and the record with hash `previous`: from then on its bytes are
    /// fixed. Also returns the offsets of its frames, in the order of the entries.
    pub(crate) fn complete(&mut self, last: u64, previous: Hash) -> (Record<'_>, &[u32]) {
        let payload = self.bytes.get(RECORD_HEADER..).unwrap_or_default();
        let header = RecordHeader {
            payload: u32_of(payload.len()),
            first_commit: last + 1,
            commits: self.commits,
            entries: u32_of(self.places.len()),
            previous,
            crc: crc32c::crc32c(payload),
        };
        header.encode(&mut self.header);
        if let Some(place) = self.bytes.get_mut(..RECORD_HEADER) {
            place.copy_from_slice(&self.header);
        }
        self.bytes.extend_from_slice(&TRAILER_MARK);
        let payload = RECORD_HEADER..self.bytes.len() - TRAILER;
        #[expect(clippy::expect_used, reason = "header and trailer were written above")]
        let payload = self.bytes.get(payload).expect("a header, then a trailer");
        let record = Record {
            header,
            payload,
            bytes: &self.bytes,
        };
        (record, &self.places)
    }
}
