//! The blocks of one run in a plain file.
//!
//! **Shape.** The blocks one after another, each as [`seal`](super::seal) has made it; then a table: the length of each
//! block u16, the number of blocks u32, the digest of the run (32 bytes), and crc32c u32 of the table before it. A block
//! is found by its number alone and read with one read of its own bytes: a leaf of sled, with nine blocks, would be read
//! and unpacked as a whole.
//!
//! **Bounds.** In memory two and an eighth bytes per block. Written and read in pieces of [`PIECE`] bytes, and made
//! durable every [`SYNC`] bytes, so that no flush of a large run holds up one of the journal for long.
//!
//! **Order.** The table is written last: a file without one belongs to a run that was not finished. One thread writes;
//! others read only what was finished.
//!
//! **Failure.** Blocks carry their identity and checksum, and the table its own; whatever differs is damage. The system's
//! refusals are told apart from it (see [`IndexError`]).

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::RwLock;

use sled::IVec;

use super::{BlockVisitor, Keyed, VALUE_MAX, parse_key};
use crate::codec::Cursor;
use crate::files::Files;
use crate::index::error::IndexError;
use crate::journal::format::Hash;
use crate::num::{u16_of, u32_of, u64_of, usize_of, usize_of32};
use crate::sync::{read, write};

/// Blocks between two places that are known without a sum.
const GROUP: usize = 64;
/// About how many bytes are read or written at once.
const PIECE: usize = 256 << 10;
/// Each time the file grows by this many bytes, what was written is made durable.
const SYNC: u64 = 8 << 20;
/// Bytes of the table besides the lengths.
const TAIL: usize = 40;

/// Where the blocks lie.
#[derive(Debug, Default)]
struct BlockPlaces {
    /// The offset of every [`GROUP`]th block.
    starts: Vec<u64>,
    lengths: Vec<u16>,
    /// Where the next block goes, in bytes from the beginning.
    end: u64,
    /// The digest of the run, once it is finished.
    digest: Option<Hash>,
}

impl BlockPlaces {
    fn push(&mut self, length: u16) {
        if self.lengths.len().is_multiple_of(GROUP) {
            self.starts.push(self.end);
        }
        self.lengths.push(length);
        self.end += u64::from(length);
    }

    /// Offset and length of a block.
    fn of(&self, block: usize) -> Option<(u64, u16)> {
        let length = *self.lengths.get(block)?;
        let start = self.starts.get(block / GROUP)?;
        let before = self.lengths.get(block / GROUP * GROUP..block)?;
        let before: u64 = before.iter().map(|length| u64::from(*length)).sum();
        Some((start + before, length))
    }

    fn table(&self, digest: &Hash) -> Vec<u8> {
        let lengths = self.lengths.iter().flat_map(|length| length.to_be_bytes());
        let mut table: Vec<u8> = lengths.collect();
        table.extend_from_slice(&u32_of(self.lengths.len()).to_be_bytes());
        table.extend_from_slice(digest);
        table.extend_from_slice(&crc32c::crc32c(&table).to_be_bytes());
        table
    }

    /// Parses the table of a file with this many bytes of blocks; `None` unless every bit is right.
    fn parse(table: &[u8], blocks: u64) -> Option<Self> {
        let (told, crc) = table.split_last_chunk::<4>()?;
        if crc32c::crc32c(told) != u32::from_be_bytes(*crc) {
            return None;
        }
        let (lengths, rest) = told.split_at_checked(table.len().checked_sub(TAIL)?)?;
        let mut rest = Cursor::new(rest);
        let count = usize_of32(rest.u32()?);
        let mut places = Self::default();
        let mut lengths = Cursor::new(lengths);
        while let Some(length) = lengths.u16() {
            places.push(length);
        }
        places.digest = Some(rest.array()?);
        let fit = places.lengths.iter().all(|n| usize::from(*n) <= VALUE_MAX);
        (fit && places.lengths.len() == count && places.end == blocks).then_some(places)
    }
}

/// The file of one run.
#[derive(Debug)]
pub(super) struct RunFile {
    file: File,
    places: RwLock<BlockPlaces>,
}

impl RunFile {
    /// A run in an empty file.
    pub(super) fn new(file: File) -> Self {
        Self {
            file,
            places: RwLock::default(),
        }
    }

    /// Reads the table of a finished run.
    ///
    /// # Errors
    /// `Read` when the system refuses, `Damaged` when there is no table, or a broken one.
    pub(super) fn open(file: File) -> Result<Self, IndexError> {
        let unreadable = "the table of a run is unreadable";
        let size = file.metadata()?.len();
        let read = |bytes: u64| -> Result<Vec<u8>, IndexError> {
            let at = size.checked_sub(bytes).ok_or(unreadable)?;
            let mut table = vec![0; usize_of(bytes)];
            file.read_exact_at(&mut table, at)?;
            Ok(table)
        };
        let tail = read(u64_of(TAIL))?;
        let count = Cursor::new(&tail).u32().ok_or(unreadable)?;
        let bytes = u64::from(count) * 2 + u64_of(TAIL);
        let table = read(bytes)?;
        let places = BlockPlaces::parse(&table, size - bytes).ok_or(unreadable)?;
        Ok(Self {
            file,
            places: RwLock::new(places),
        })
    }

    /// Writes the next blocks of the run and empties the list. They are durable after [`Self::sync`].
    ///
    /// # Errors
    /// `Write` when the system refuses, `Damaged` when they do not follow the blocks before them.
    pub(super) fn put(&self, blocks: &mut Vec<Keyed>, files: &Files) -> Result<(), IndexError> {
        let (mut next, end) = {
            let places = read(&self.places);
            (places.lengths.len(), places.end)
        };
        let mut piece = Vec::with_capacity(PIECE + VALUE_MAX);
        let (mut lengths, mut at) = (Vec::with_capacity(blocks.len()), end);
        let mut left = blocks.drain(..).peekable();
        while let Some((key, block)) = left.next() {
            if parse_key(&key).map(|(_, block)| usize_of32(block)) != Some(next) {
                return Err("a block of a run is out of its order".into());
            }
            next += 1;
            lengths.push(u16_of(block.len()));
            piece.extend_from_slice(&block);
            if piece.len() >= PIECE || left.peek().is_none() {
                let written = files.write_at(&self.file, &piece, at);
                written.map_err(|e| IndexError::writing(&e))?;
                at += u64_of(piece.len());
                piece.clear();
            }
        }
        let mut places = write(&self.places);
        lengths.into_iter().for_each(|length| places.push(length));
        drop(places);
        if at / SYNC > end / SYNC {
            self.sync(files)
        } else {
            Ok(())
        }
    }

    /// Ends the run with its table. It is durable after [`Self::sync`].
    pub(super) fn finish(&self, digest: &Hash, files: &Files) -> Result<(), IndexError> {
        let (table, end) = {
            let mut places = write(&self.places);
            places.digest = Some(*digest);
            places.lengths.shrink_to_fit();
            (places.table(digest), places.end)
        };
        let written = files.write_at(&self.file, &table, end);
        written.map_err(|e| IndexError::writing(&e))
    }

    /// Makes everything written durable.
    ///
    /// # Errors
    /// `Write` when the system refuses. What is on disk is unknown then.
    pub(super) fn sync(&self, files: &Files) -> Result<(), IndexError> {
        let synced = files.sync_data(&self.file);
        synced.map_err(|e| IndexError::writing(&e))
    }

    /// A block; `None` when the run has fewer.
    ///
    /// # Errors
    /// `Read` when the system refuses, `Damaged` when the file is cut short. The block itself is not checked here.
    pub(super) fn get(&self, block: u32) -> Result<Option<IVec>, IndexError> {
        let Some((at, length)) = read(&self.places).of(usize_of32(block)) else {
            return Ok(None);
        };
        let mut room = [0; VALUE_MAX];
        let value = room.get_mut(..usize::from(length));
        let value = value.ok_or("a block of a run is too long")?;
        self.file.read_exact_at(value, at)?;
        Ok(Some(IVec::from(&*value)))
    }

    /// Visits these blocks in order, as far as there are so many.
    ///
    /// # Errors
    /// As [`Self::get`], and the error of `visit`, which ends the walk.
    pub(super) fn scan(
        &self,
        blocks: Range<u32>,
        visit: BlockVisitor<'_>,
    ) -> Result<(), IndexError> {
        let mut next = blocks.start;
        let mut piece = Vec::new();
        while next < blocks.end {
            let (first, last) = (usize_of32(next), usize_of32(blocks.end));
            let (at, lengths) = {
                let places = read(&self.places);
                let Some((at, _)) = places.of(first) else {
                    return Ok(());
                };
                let few = last
                    .min(first + PIECE / VALUE_MAX)
                    .min(places.lengths.len());
                (at, places.lengths.get(first..few).map(<[u16]>::to_vec))
            };
            let lengths = lengths.ok_or("a run has no such blocks")?;
            piece.resize(lengths.iter().map(|length| usize::from(*length)).sum(), 0);
            self.file.read_exact_at(&mut piece, at)?;
            let mut rest = Cursor::new(&piece);
            for length in lengths {
                let value = rest.bytes(usize::from(length));
                visit(next, value.ok_or("a block of a run is cut short")?)?;
                next += 1;
            }
        }
        Ok(())
    }

    /// The digest of the finished run.
    pub(super) fn digest(&self) -> Option<Hash> {
        read(&self.places).digest
    }

    /// Bytes of the file.
    pub(super) fn bytes(&self) -> u64 {
        let places = read(&self.places);
        let table = places.digest.map_or(0, |_| places.lengths.len() * 2 + TAIL);
        places.end + u64_of(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::blocks::block_key;

    /// A finished run of these blocks, in a file without a name.
    fn made(blocks: &[Vec<u8>]) -> (File, RunFile) {
        let file = tempfile::tempfile().unwrap();
        let run = RunFile::new(file.try_clone().unwrap());
        let files = Files::default();
        let mut numbered = (0..).zip(blocks);
        loop {
            let some = numbered.by_ref().take(100);
            let mut some: Vec<Keyed> = some.map(|(n, b)| (block_key(7, n), b.clone())).collect();
            if some.is_empty() {
                break;
            }
            run.put(&mut some, &files).unwrap();
        }
        run.finish(&[3; 32], &files).unwrap();
        run.sync(&files).unwrap();
        (file, run)
    }

    #[test]
    fn blocks_are_found_by_their_numbers_before_and_after_it_is_opened_again() {
        let blocks: Vec<Vec<u8>> = (0..333usize)
            .map(|n| vec![u8::try_from(n % 251).unwrap(); n * 37 % (VALUE_MAX + 1)])
            .collect();
        let (file, run) = made(&blocks);
        let size = file.metadata().unwrap().len();
        let again = RunFile::open(file).unwrap();
        for run in [run, again] {
            assert_eq!((run.digest(), run.bytes()), (Some([3; 32]), size));
            for (n, block) in (0..).zip(&blocks) {
                assert_eq!(run.get(n).unwrap().as_deref(), Some(&block[..]), "{n}");
            }
            assert_eq!(run.get(333).unwrap(), None);
            for range in [0..333, 0..999, 100..101, 63..200, 332..333, 400..500, 5..5] {
                let mut seen = Vec::new();
                let walk = run.scan(range.clone(), &mut |n, block| {
                    assert_eq!(Some(block), blocks.get(usize_of32(n)).map(Vec::as_slice));
                    seen.push(n);
                    Ok(())
                });
                walk.unwrap();
                let there = range.start.min(333)..range.end.min(333);
                assert_eq!(seen, there.collect::<Vec<u32>>(), "{range:?}");
            }
        }
    }

    #[test]
    fn a_file_whose_table_differs_in_any_bit_or_length_is_not_opened() {
        let blocks = [vec![1; 700], vec![2; 800], vec![3; 90]];
        let (file, _) = made(&blocks);
        let size = file.metadata().unwrap().len();
        let table = size - 1590;
        let damaged = |file: &File| match RunFile::open(file.try_clone().unwrap()) {
            Err(IndexError::Damaged(why)) => assert!(why.contains("unreadable"), "{why}"),
            other => panic!("{other:?}"),
        };
        for bit in 0..table * 8 {
            let mut byte = [0];
            file.read_exact_at(&mut byte, 1590 + bit / 8).unwrap();
            let [old] = byte;
            file.write_all_at(&[old ^ 1 << (bit % 8)], 1590 + bit / 8)
                .unwrap();
            damaged(&file);
            file.write_all_at(&[old], 1590 + bit / 8).unwrap();
        }
        for length in (0..size).rev() {
            file.set_len(length).unwrap();
            damaged(&file);
        }
    }

    #[test]
    fn blocks_that_do_not_follow_are_refused() {
        let run = RunFile::new(tempfile::tempfile().unwrap());
        let put = |n| run.put(&mut vec![(block_key(7, n), vec![0; 20])], &Files::default());
        put(0).unwrap();
        put(0).unwrap_err();
        put(2).unwrap_err();
        put(1).unwrap();
    }
}
