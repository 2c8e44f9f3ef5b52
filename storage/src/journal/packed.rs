//! A compressed segment that takes no more records: the same bytes at the same offsets, in frames that are unpacked one
//! by one.
//!
//! **Shape.** `<store>/journal/0000000001.packed` in place of `0000000001.segment`; numbers big-endian:
//! ```text
//! header  (256 bytes) magic "CAUDALP1", format u32, store id [16], number u32, size u32, first commit u64,
//!         before: commit u64, chain [32]; end u32; after: commit u64, chain [32],
//!         frames u32, length of the file u32, crc32c of the table u32, crc32c of the above u32, zeros
//! table   for each frame: length u32, crc32c u32
//! frames  zstd, one behind the other
//! ```
//! Each frame holds [`FRAME`] bytes of the segment, starting at the first record; the last frame holds the rest up to
//! `end`. The segment's bytes before them (its header) and after them (zeros) are derived from this header. So
//! positions, the index and the hash chain stay those of the segment.
//!
//! **Bounds.** A file is smaller than its segment. Reading an entry unpacks one frame, rarely two.
//!
//! **Failure.** Every bit of the file is checked: a header, table or frame that differs from what was written is damage
//! with an offset in the segment, and is never served.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::codec::{Cursor, all_zero};
use crate::journal::format::{SEGMENT_HEADER, SegmentHeader, StoreId};
use crate::journal::names::find;
use crate::journal::seal::{Seal, Wrong, damaged, put_tail, take_tail};
use crate::num::{u32_of, u64_of, usize_of, usize_of32};

/// Bytes of a segment in one frame.
pub(crate) const FRAME: u32 = 32 << 10;
/// Bytes before the table.
pub(crate) const PACKED_HEADER: usize = 256;
/// Bytes of the table per frame.
const PER_FRAME: usize = 8;
const MAGIC: [u8; 8] = *b"CAUDALP1";
const FORMAT: u32 = 1;

/// How many frames a segment needs whose records end at `end`.
pub(crate) fn frames_of(end: u32) -> u32 {
    end.checked_sub(SEGMENT_HEADER)
        .map_or(0, |bytes| bytes.div_ceil(FRAME))
}

/// Where the frames begin in a file with this many of them.
pub(crate) fn body_of(frames: u32) -> u64 {
    u64_of(PACKED_HEADER) + u64::from(frames) * u64_of(PER_FRAME)
}

/// The place of one frame in its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// Its offset in the file, in bytes.
    pub(crate) at: u32,
    pub(crate) length: u32,
    /// The CRC-32C of its compressed bytes.
    pub(crate) crc: u32,
}

/// Encodes header and table of a file with these frames.
pub(crate) fn head(seal: &Seal, id: &StoreId, frames: &[Frame]) -> Vec<u8> {
    let mut table = Vec::with_capacity(frames.len() * PER_FRAME);
    for frame in frames {
        table.extend_from_slice(&frame.length.to_be_bytes());
        table.extend_from_slice(&frame.crc.to_be_bytes());
    }
    let body = body_of(u32_of(frames.len()));
    let length = body + frames.iter().map(|f| u64::from(f.length)).sum::<u64>();
    let mut b = Vec::with_capacity(PACKED_HEADER + table.len());
    b.extend_from_slice(&MAGIC);
    b.extend_from_slice(&FORMAT.to_be_bytes());
    b.extend_from_slice(id);
    b.extend_from_slice(&seal.number.to_be_bytes());
    b.extend_from_slice(&seal.size.to_be_bytes());
    b.extend_from_slice(&seal.first_commit.to_be_bytes());
    put_tail(&mut b, &seal.before);
    b.extend_from_slice(&seal.end.to_be_bytes());
    put_tail(&mut b, &seal.after);
    b.extend_from_slice(&u32_of(frames.len()).to_be_bytes());
    b.extend_from_slice(&u32_of(usize_of(length)).to_be_bytes());
    b.extend_from_slice(&crc32c::crc32c(&table).to_be_bytes());
    let crc = crc32c::crc32c(&b);
    b.extend_from_slice(&crc.to_be_bytes());
    b.resize(PACKED_HEADER, 0);
    b.extend_from_slice(&table);
    b
}

/// The content of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    seal: Seal,
    id: StoreId,
    frames: u32,
    length: u32,
    table: u32,
}

impl Header {
    fn parse(block: &[u8]) -> Result<Self, &'static str> {
        let wrong = "the header of the compressed segment fails its checksum";
        let mut c = Cursor::new(block);
        if c.array() != Some(MAGIC) {
            return Err("the header of the compressed segment does not begin like one");
        }
        let format = c.u32().ok_or(wrong)?;
        let header = Self::rest(&mut c).ok_or(wrong)?;
        let used = block.get(..block.len() - c.rest().len());
        let crc = used.map(crc32c::crc32c);
        if c.u32() != crc || !all_zero(c.rest()) {
            return Err(wrong);
        }
        if format != FORMAT {
            return Err("the segment was compressed in a newer format than this program knows");
        }
        Ok(header)
    }

    fn rest(c: &mut Cursor<'_>) -> Option<Self> {
        let id = c.array()?;
        let seal = Seal {
            number: c.u32()?,
            size: c.u32()?,
            first_commit: c.u64()?,
            before: take_tail(c)?,
            end: c.u32()?,
            after: take_tail(c)?,
        };
        Some(Self {
            seal,
            id,
            frames: c.u32()?,
            length: c.u32()?,
            table: c.u32()?,
        })
    }
}

/// Returns a frame by its number.
pub(crate) type Unpack<'a> = &'a mut dyn FnMut(u32) -> Result<Arc<Vec<u8>>, Wrong>;

/// An open compressed segment.
#[derive(Debug)]
pub(crate) struct Packed {
    file: File,
    seal: Seal,
    id: StoreId,
    frames: Vec<Frame>,
}

impl Packed {
    /// Reads header and table of segment `number`.
    ///
    /// # Errors
    /// `Damaged` when the file's length differs from the one in its header, it is another segment, or header or table
    /// fail their checksum; `Refused` when the system cannot read them. Frames are checked when they are read.
    pub(crate) fn open(file: File, number: u32) -> Result<Self, Wrong> {
        let refused = |e| Wrong::Refused(0, e);
        let length = file.metadata().map_err(refused)?.len();
        let short = "the file is not as long as it was";
        let mut block = vec![0; PACKED_HEADER];
        if length < u64_of(PACKED_HEADER) {
            return Err(damaged(0, short));
        }
        file.read_exact_at(&mut block, 0).map_err(refused)?;
        let header = Header::parse(&block).map_err(|why| damaged(0, why))?;
        if header.seal.number != number {
            let why = "the file is another segment under this name";
            return Err(damaged(0, why));
        }
        let end = header.seal.end;
        if length != u64::from(header.length)
            || length < body_of(header.frames)
            || header.frames != frames_of(end)
            || !(SEGMENT_HEADER..=header.seal.size).contains(&end)
        {
            return Err(damaged(0, short));
        }
        let mut table = vec![0; usize_of32(header.frames) * PER_FRAME];
        file.read_exact_at(&mut table, u64_of(PACKED_HEADER))
            .map_err(refused)?;
        let wrong = || damaged(0, "the table of the compressed segment fails its checksum");
        if crc32c::crc32c(&table) != header.table {
            return Err(wrong());
        }
        let frames = places(&table, header.frames, header.length).ok_or_else(wrong)?;
        Ok(Self {
            file,
            seal: header.seal,
            id: header.id,
            frames,
        })
    }

    /// The seal of the segment.
    pub(crate) fn seal(&self) -> &Seal {
        &self.seal
    }

    /// The store to which the segment belongs.
    pub(crate) fn id(&self) -> &StoreId {
        &self.id
    }

    /// Reads, checks and unpacks a frame, counted from 0; at most [`FRAME`] bytes.
    ///
    /// # Errors
    /// `Damaged`, with the frame's offset in the segment, when there is no such frame or its bytes differ from what was
    /// written; `Refused` when the system cannot read them.
    pub(crate) fn unpack(&self, nth: u32) -> Result<Arc<Vec<u8>>, Wrong> {
        let begin = SEGMENT_HEADER + nth * FRAME;
        let offset = u64::from(begin);
        let wrong = |why| damaged(offset, why);
        let Some(frame) = self.frames.get(usize_of32(nth)) else {
            return Err(wrong("no frame of the compressed segment lies there"));
        };
        let mut bytes = vec![0; usize_of32(frame.length)];
        let read = self.file.read_exact_at(&mut bytes, u64::from(frame.at));
        read.map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => wrong("the file ends before its end"),
            _ => Wrong::Refused(offset, e),
        })?;
        if crc32c::crc32c(&bytes) != frame.crc {
            return Err(wrong("the compressed bytes there fail their checksum"));
        }
        let length = usize_of32((self.seal.end - begin).min(FRAME));
        match zstd::bulk::decompress(&bytes, length) {
            Ok(unpacked) if unpacked.len() == length => Ok(Arc::new(unpacked)),
            _ => Err(wrong("the compressed bytes there are not what was written")),
        }
    }

    /// Copies the bytes of the original segment from `at` on into `into`; returns how many, which is fewer than asked
    /// for only at the segment's end. After the records there are zeros.
    ///
    /// # Errors
    /// The error of `unpack`, and `Damaged` when a frame is shorter than it was.
    pub(crate) fn copy(
        &self,
        into: &mut [u8],
        at: u64,
        unpack: Unpack<'_>,
    ) -> Result<usize, Wrong> {
        let size = u64::from(self.seal.size);
        let whole = usize_of(size - at.min(size)).min(into.len());
        let (into, _) = into.split_at_mut(whole);
        into.fill(0);
        if at < u64::from(SEGMENT_HEADER) {
            let header = SegmentHeader {
                number: self.seal.number,
                size: self.seal.size,
                id: self.id,
            };
            let header = header.encode();
            let rest = header.iter().skip(usize_of(at));
            into.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        }
        let to = u64::from(self.seal.end).min(at + u64_of(whole));
        let mut place = at.max(u64::from(SEGMENT_HEADER));
        while place < to {
            let begin = place - u64::from(SEGMENT_HEADER);
            let (nth, inside) = (begin / u64::from(FRAME), begin % u64::from(FRAME));
            let frame = unpack(u32_of(usize_of(nth)))?;
            let here = usize_of(place - at);
            let rest = into.get_mut(here..usize_of(to - at));
            let bytes = match (rest, frame.get(usize_of(inside)..)) {
                (Some(rest), Some(from)) if !from.is_empty() => {
                    rest.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
                    from.len().min(rest.len())
                }
                _ => return Err(damaged(place, "a frame is shorter than it was")),
            };
            place += u64_of(bytes);
        }
        Ok(whole)
    }
}

/// The places of the frames in the table; `None` unless they fill the file exactly.
fn places(table: &[u8], frames: u32, length: u32) -> Option<Vec<Frame>> {
    let mut c = Cursor::new(table);
    let mut at = u32::try_from(body_of(frames)).ok()?;
    let mut places = Vec::with_capacity(usize_of32(frames));
    for _ in 0..frames {
        let (bytes, crc) = (c.u32()?, c.u32()?);
        places.push(Frame {
            at,
            length: bytes,
            crc,
        });
        at = at.checked_add(bytes)?;
    }
    (at == length).then_some(places)
}

/// An open segment file.
#[derive(Debug)]
pub(crate) enum Source {
    /// As it was written.
    Plain(File),
    /// In frames that are unpacked when they are read.
    Packed(Packed),
}

impl Source {
    /// Opens segment `number`: its uncompressed file if there is one, otherwise the compressed one.
    ///
    /// # Errors
    /// `Damaged` when there is neither, `Refused` when the system cannot open it, and as [`Packed::open`].
    pub(crate) fn open(
        number: u32,
        open: impl Fn(&str) -> io::Result<File>,
    ) -> Result<Self, Wrong> {
        match find(number, open) {
            Ok(found) => Self::of(number, found),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(damaged(0, "the segment is missing"))
            }
            Err(e) => Err(Wrong::Refused(0, e)),
        }
    }

    /// Wraps the file of segment `number` that was found; the flag says whether it is compressed.
    ///
    /// # Errors
    /// As [`Packed::open`]; the header of an uncompressed file is not checked here.
    pub(crate) fn of(number: u32, (file, packed): (File, bool)) -> Result<Self, Wrong> {
        if packed {
            Packed::open(file, number).map(Self::Packed)
        } else {
            Ok(Self::Plain(file))
        }
    }

    /// Copies the segment's bytes from `at` on into `into`; returns how many, which is fewer than asked for only at its
    /// end.
    ///
    /// # Errors
    /// `Refused` when the system cannot read, and as [`Packed::copy`].
    pub(crate) fn read(
        &self,
        into: &mut [u8],
        at: u64,
        unpack: Unpack<'_>,
    ) -> Result<usize, Wrong> {
        let file = match self {
            Self::Packed(packed) => return packed.copy(into, at, unpack),
            Self::Plain(file) => file,
        };
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..)
            && !rest.is_empty()
        {
            match file.read_at(rest, at + u64_of(done)) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Wrong::Refused(at, e)),
            }
        }
        Ok(done)
    }

    /// As [`Self::read`], without caching unpacked frames.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_once(&self, into: &mut [u8], at: u64) -> Result<usize, Wrong> {
        match self {
            Self::Plain(_) => self.read(into, at, &mut |_| Err(damaged(at, "no frames"))),
            Self::Packed(packed) => packed.copy(into, at, &mut |nth| packed.unpack(nth)),
        }
    }
}
