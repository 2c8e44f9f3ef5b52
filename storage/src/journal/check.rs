//! Reads the journal when the store opens, and checks that it is what was written.
//!
//! **Shape.** Segments are read one after the other, each as a whole; each record must have the right commit number and
//! the hash of its predecessor, each entry its own checksum, and everything after the last record of a segment must be
//! zeros.
//!
//! **Bounds.** A segment that the checkpoint attests is not read if it is before everything that the index lacks, its
//! file is the attested one, and it continues the chain exactly ([`Trust`]); the background check reads it later. A
//! segment that does not meet all of these is read.
//!
//! **Order.** The committer has at most one record that is not synced. So a broken record with anything written after
//! it is damage, and only the very last one may be a torn tail. A torn record still shows zeros from before it was
//! written: at its end or in a whole sector. A record without them was written completely and rotted later: that is
//! damage too, even at the tail.
//!
//! **Failure.** The check changes nothing. It reports damage with segment and offset.

use std::ffi::OsString;
use std::io;

use crate::api::CommitNo;
use crate::codec::all_zero;
use crate::durable::options::Progress;
use crate::error::OpenError;
use crate::folder::{Folder, Stamp};
use crate::journal::format::{
    Hash, RECORD_HEADER, RECORD_MAGIC, Record, RecordHeader, SEGMENT_HEADER, SegmentHeader,
    StoreId, genesis, number_in, segment_name, segment_path,
};
use crate::journal::seal::{Attested, Seal, SegmentError};
use crate::journal::{SegmentInfo, read_at};
use crate::log::Tail;
use crate::num::{u32_of, u64_of, usize_of, usize_of32};

const SECTOR: usize = 512;

/// The content of a journal that was found intact.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// All segments, in the order of their numbers.
    pub(crate) segments: Vec<SegmentInfo>,
    /// The number of the last commit; 0 when there is none.
    pub(crate) last_commit: u64,
    /// The hash that the next record must name.
    pub(crate) chain: Hash,
    /// The number of the segment where the next record goes, if it fits.
    pub(crate) segment: u32,
    /// The place of the next record in that segment, in bytes from its beginning.
    pub(crate) offset: u32,
    /// The remains of a record that was never acknowledged, to be zeroed.
    pub(crate) torn: Option<Torn>,
    /// The segments that were read, with the stamps of their files from before.
    pub(crate) read: Vec<(Seal, Stamp)>,
    /// Bytes that were read.
    pub(crate) bytes: u64,
}

/// Which segments need not be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Trust<'a> {
    /// The attested segments, by number from 1.
    pub(crate) attested: &'a [Option<Attested>],
    /// Only segments with a number below this one are trusted.
    pub(crate) before: u32,
}

impl Trust<'_> {
    /// The seal of an attested segment that may be trusted and whose file is unchanged.
    fn seal(&self, folder: &Folder, number: u32) -> Option<Seal> {
        if number >= self.before {
            return None;
        }
        let known = usize_of32(number).checked_sub(1);
        let known = self.attested.get(known?)?.as_ref()?;
        let file = folder.read(&segment_name(number)).ok()?;
        let same = Stamp::of(&file).is_ok_and(|stamp| stamp == known.stamp);
        (same && known.seal.number == number).then_some(known.seal)
    }
}

/// The remains of an unfinished record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Torn {
    /// The number of the segment.
    pub(crate) segment: u32,
    /// Where the record begins, in bytes from the beginning of the segment.
    pub(crate) offset: u32,
    /// How many bytes must be zeroed.
    pub(crate) length: u32,
}

/// The numbers of the segments in a folder, ascending.
///
/// # Errors
/// The system's error when it cannot list the folder.
pub(crate) fn segment_numbers(folder: &Folder) -> io::Result<Vec<u32>> {
    let number = |name: &OsString| number_in(name.to_str()?);
    let mut numbers: Vec<u32> = folder.names()?.iter().filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Checks every byte of the journal in `folder`, except segments that `trust` attests. `progress` is called after each
/// segment that was read.
///
/// # Errors
/// `Corrupt`, with file and offset, when a segment is missing or differs from what was written, except for an
/// unfinished record at the very end; `Io` when the system refuses to read.
pub(crate) fn check(
    folder: &Folder,
    id: &StoreId,
    trust: &Trust<'_>,
    progress: &dyn Fn(Progress),
) -> Result<Checked, OpenError> {
    let dir = folder.path();
    let numbers = segment_numbers(folder).map_err(|e| OpenError::io("listing", dir, e))?;
    if numbers.is_empty() {
        return Err(OpenError::damaged(dir, 0, "its segments are missing"));
    }
    let mut walk = Walk::new(folder, id);
    for (number, expected) in numbers.iter().zip(1u32..) {
        if *number != expected {
            let path = segment_path(dir, expected);
            return Err(OpenError::damaged(&path, 0, "the segment is missing"));
        }
        let sealed = trust.seal(folder, expected);
        if sealed.is_some_and(|seal| walk.skip(&seal)) {
            continue;
        }
        let stamp = walk.load(expected)?;
        walk.segment(expected, stamp)?;
        progress(Progress::Checking {
            segment: expected,
            of: u32_of(numbers.len()),
        });
    }
    walk.finish()
}

struct Walk<'a> {
    folder: &'a Folder,
    id: &'a StoreId,
    data: Vec<u8>,
    found: Checked,
    /// The first segment without a record after the last record found: if a broken record is there, that is damage.
    ended: Option<u32>,
}

impl<'a> Walk<'a> {
    fn new(folder: &'a Folder, id: &'a StoreId) -> Self {
        let found = Checked {
            segments: Vec::new(),
            last_commit: 0,
            chain: genesis(id),
            segment: 1,
            offset: SEGMENT_HEADER,
            torn: None,
            read: Vec::new(),
            bytes: 0,
        };
        Self {
            folder,
            id,
            data: Vec::new(),
            found,
            ended: None,
        }
    }

    /// Uses what is attested of a segment instead of reading it; false when it does not continue what was found so far.
    fn skip(&mut self, seal: &Seal) -> bool {
        let here = self.tail();
        let found = &mut self.found;
        if found.torn.is_some() || seal.before != here {
            return false;
        }
        if seal.first_commit != 0 {
            found.segment = seal.number;
            found.offset = seal.end;
            self.ended = None;
        } else if self.ended.is_none() {
            self.ended = Some(seal.number);
        }
        found.last_commit = seal.after.commit.0;
        found.chain = seal.after.hash;
        found.segments.push(SegmentInfo {
            number: seal.number,
            size: seal.size,
            first_commit: seal.first_commit,
        });
        true
    }

    /// Reads a segment and checks its header; returns the stamp of its file from before.
    fn load(&mut self, number: u32) -> Result<Stamp, OpenError> {
        let path = segment_path(self.folder.path(), number);
        let opened = self.folder.read(&segment_name(number));
        let file = opened.map_err(|e| OpenError::io("opening", &path, e))?;
        let stamp = Stamp::of(&file).map_err(|e| OpenError::io("reading", &path, e))?;
        self.found.bytes += stamp.size();
        let wrong = |why| match why {
            SegmentError::Refused(_, e) => OpenError::io("reading", &path, e),
            SegmentError::Damaged { offset, why } => OpenError::damaged(&path, offset, &why),
        };
        let damaged = |why: &str| Err(OpenError::damaged(&path, 0, why));
        let length = stamp.size();
        if length < u64::from(SEGMENT_HEADER) || length > u64::from(u32::MAX) {
            return damaged("the file has a length that no segment has; it was cut or overwritten");
        }
        self.data.resize(usize_of(length), 0);
        if read_at(&file, &mut self.data, 0).map_err(wrong)? < self.data.len() {
            return damaged("the file was cut while it was read");
        }
        let block = self
            .data
            .get(..usize_of32(SEGMENT_HEADER))
            .unwrap_or_default();
        match SegmentHeader::parse(block) {
            Err(why) => damaged(why),
            Ok(h) if h.number != number => damaged("the file is another segment under this name"),
            Ok(h) if h.id != *self.id => damaged("the segment belongs to another store"),
            Ok(h) if u64::from(h.size) != length => damaged("the file is not as long as it was"),
            Ok(_) => Ok(stamp),
        }
    }

    fn tail(&self) -> Tail {
        Tail {
            commit: CommitNo(self.found.last_commit),
            hash: self.found.chain,
        }
    }

    /// Walks over the records of the segment in `data`.
    fn segment(&mut self, number: u32, stamp: Stamp) -> Result<(), OpenError> {
        let before = self.tail();
        let size = u32_of(self.data.len());
        let start = usize_of32(SEGMENT_HEADER);
        let mut info = SegmentInfo {
            number,
            size,
            first_commit: 0,
        };
        let data = std::mem::take(&mut self.data);
        let mut offset = start;
        while let Some(record) = data.get(offset..).and_then(Record::parse) {
            self.accept(number, offset, &record)?;
            if info.first_commit == 0 {
                info.first_commit = record.header.first_commit;
            }
            offset += record.bytes.len();
        }
        let rest = data.get(offset..).unwrap_or_default();
        if !all_zero(rest) {
            self.broken_at(number, offset, rest)?;
        }
        if offset > start {
            self.found.segment = number;
            self.found.offset = u32_of(offset);
        } else if self.ended.is_none() {
            self.ended = Some(number);
        }
        self.data = data;
        self.found.segments.push(info);
        let seal = Seal {
            number,
            size,
            first_commit: info.first_commit,
            before,
            end: u32_of(offset),
            after: self.tail(),
        };
        self.found.read.push((seal, stamp));
        Ok(())
    }

    /// Adds one record whose own checksums hold.
    fn accept(&mut self, number: u32, at: usize, record: &Record<'_>) -> Result<(), OpenError> {
        let path = segment_path(self.folder.path(), number);
        let damaged = |why: &str| Err(OpenError::damaged(&path, u64_of(at), why));
        self.nothing_is_broken()?;
        // A segment without records may come before this one, if the record was too large for it. The commit's number
        // and the chain show that nothing is missing in between.
        self.ended = None;
        if record.header.first_commit != self.found.last_commit + 1 {
            let why = format!(
                "commit {} follows commit {}; records before this place are lost",
                record.header.first_commit, self.found.last_commit
            );
            return damaged(&why);
        }
        if record.header.previous != self.found.chain {
            return damaged("the record does not name the one before it: it was replaced");
        }
        if !record.visit(&mut |_, _, _| true) {
            return damaged("an entry in the record fails its checksum");
        }
        self.found.last_commit = record.header.last_commit();
        self.found.chain = record.hash();
        Ok(())
    }

    /// Judges bytes that are neither a record nor zeros.
    fn broken_at(&mut self, number: u32, at: usize, rest: &[u8]) -> Result<(), OpenError> {
        let path = segment_path(self.folder.path(), number);
        let damaged = |why: &str| Err(OpenError::damaged(&path, u64_of(at), why));
        self.nothing_is_broken()?;
        if self.ended.is_some() {
            return damaged("bytes that are no record stand where nothing was written");
        }
        if survivor_after(rest, self.found.last_commit) {
            return damaged("a record is broken, and there are whole records after it");
        }
        if let Err(why) = torn(rest, at) {
            return damaged(why);
        }
        let length = rest.len() - rest.iter().rev().take_while(|b| **b == 0).count();
        let torn = Torn {
            segment: number,
            offset: u32_of(at),
            length: u32_of(length),
        };
        self.found.torn = Some(torn);
        Ok(())
    }

    /// Refuses whatever comes after a broken record.
    fn nothing_is_broken(&self) -> Result<(), OpenError> {
        let Some(torn) = self.found.torn else {
            return Ok(());
        };
        let path = segment_path(self.folder.path(), torn.segment);
        let why = "a record is broken, and there is something after it";
        Err(OpenError::damaged(&path, u64::from(torn.offset), why))
    }

    fn finish(mut self) -> Result<Checked, OpenError> {
        // a torn first record of a segment is one segment after the last good one; the tail
        // stays where the last good record ended, and the next record goes wherever it fits
        if self.found.last_commit == 0 {
            self.found.segment = 1;
            self.found.offset = SEGMENT_HEADER;
        }
        if let Some(torn) = self.found.torn
            && torn.segment > self.found.segment + 1
        {
            let path = segment_path(self.folder.path(), torn.segment);
            let why = "bytes that are no record stand where nothing was written";
            return Err(OpenError::damaged(&path, u64::from(torn.offset), why));
        }
        Ok(self.found)
    }
}

/// Whether a whole record with a later commit number follows somewhere in `rest`.
fn survivor_after(rest: &[u8], last_commit: u64) -> bool {
    // if the header is intact, skip the broken record's own body: it may contain anything
    let skip = RecordHeader::parse(rest).map_or(1, |h| h.total());
    let rest = rest.get(skip..).unwrap_or_default();
    let first = RECORD_MAGIC.first().copied().unwrap_or_default();
    let mut from = 0;
    while let Some(tail) = rest.get(from..) {
        let Some(hit) = tail.iter().position(|b| *b == first) else {
            return false;
        };
        let candidate = tail.get(hit..).unwrap_or_default();
        if candidate.starts_with(&RECORD_MAGIC)
            && let Some(record) = Record::parse(candidate)
            && record.header.first_commit > last_commit + 1
        {
            return true;
        }
        from += hit + 1;
    }
    false
}

/// Whether a broken record at `at` looks like one that was never completely written; the error says why not.
fn torn(rest: &[u8], at: usize) -> Result<(), &'static str> {
    let to_sector = SECTOR - at % SECTOR;
    let Some(header) = RecordHeader::parse(rest) else {
        let head = rest
            .get(..RECORD_HEADER.min(rest.len()))
            .unwrap_or_default();
        let first_missing = rest.get(..to_sector).is_none_or(all_zero);
        let ends_early = head.last() == Some(&0) || rest.len() < RECORD_HEADER;
        let in_next = head
            .get(to_sector..)
            .is_some_and(|h| !h.is_empty() && all_zero(h));
        return if first_missing || ends_early || in_next {
            Ok(())
        } else {
            Err("the header of a record that was completely written is wrong")
        };
    };
    let Some(record) = rest.get(..header.total()) else {
        return Err("a record claims to reach beyond its segment");
    };
    if !all_zero(rest.get(header.total()..).unwrap_or_default()) {
        return Err("bytes that are no record stand after the last record");
    }
    if header.first_commit != 0 && record.last() == Some(&0) {
        return Ok(());
    }
    let sectors = record.get(to_sector..).unwrap_or_default().chunks(SECTOR);
    if sectors.into_iter().any(all_zero) {
        return Ok(());
    }
    Err("a record that was completely written is wrong")
}
