//! Immutable sorted runs: how rows are packed into blocks, and how they are found again.
//!
//! **Shape.** Row: shared u8 (bytes in common with the key before), rest u16, value length u16,
//! rest, value. Length 0xFFFF is a removed key; 0xFFFE a large value, whose bytes lie in pieces:
//! first piece u32, length u32. The first row of a block shares nothing.
//!
//! **Bounds.** Keys to 256 bytes; values to 2 KiB in place, to 1 MiB in pieces.

use std::sync::Arc;

use sled::IVec;

use crate::codec::Cursor;
use crate::index::blocks::{BlockStore, Kind, OVERHEAD, block_key, unseal};
use crate::index::bloom::Bloom;
use crate::index::cache::Block;
use crate::index::trouble::Trouble;
use crate::num::{u32_of, usize_of32};

/// The length of a removed key's value.
pub(crate) const GONE: u16 = 0xFFFF;
/// The length of a value that lies in pieces.
pub(crate) const FAR: u16 = 0xFFFE;

/// What the manifest knows of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunInfo {
    pub(crate) id: u64,
    /// How many merges deep: 0 straight from memory.
    pub(crate) level: u8,
    pub(crate) rows: u64,
    /// Keys in the Bloom filter.
    pub(crate) keys: u64,
    pub(crate) blocks: u32,
    pub(crate) fence_start: u32,
    pub(crate) fence_bytes: u32,
    pub(crate) bloom_start: u32,
    pub(crate) bloom_bytes: u64,
    /// Over the checksums of all blocks in order.
    pub(crate) digest: [u8; 32],
}

/// A run that can be read.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) info: RunInfo,
    pub(crate) fences: Fences,
    pub(crate) bloom: Bloom,
}

/// The first key of each row block, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    /// As on disk: block u32, length u16, key, and so on.
    pub(crate) bytes: Vec<u8>,
    /// Block, start and length of its key in `bytes`.
    places: Vec<(u32, u32, u16)>,
}

impl Fences {
    /// Adds the next row block.
    pub(crate) fn push(&mut self, block: u32, key: &[u8]) {
        let length = u16::try_from(key.len()).unwrap_or(u16::MAX);
        self.bytes.extend_from_slice(&block.to_be_bytes());
        self.bytes.extend_from_slice(&length.to_be_bytes());
        self.places.push((block, u32_of(self.bytes.len()), length));
        self.bytes.extend_from_slice(key);
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut c = Cursor::new(bytes);
        let mut fences = Self::default();
        while !c.rest().is_empty() {
            let (block, length) = (c.u32()?, c.u16()?);
            fences.push(block, c.bytes(usize::from(length))?);
        }
        Some(fences)
    }

    fn key(&self, place: (u32, u32, u16)) -> &[u8] {
        let start = usize_of32(place.1);
        self.bytes
            .get(start..start + usize::from(place.2))
            .unwrap_or_default()
    }

    /// How many row blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// The number of the n-th row block.
    pub(crate) fn block(&self, n: usize) -> Option<u32> {
        self.places.get(n).map(|p| p.0)
    }

    /// The last row block that begins at or before `key`, counted from 0; `None` when `key` is
    /// before all of them.
    pub(crate) fn at_or_before(&self, key: &[u8]) -> Option<usize> {
        self.places
            .partition_point(|p| self.key(*p) <= key)
            .checked_sub(1)
    }
}

/// The value of a row as it lies in its block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stored<'a> {
    Gone,
    Here(&'a [u8]),
    Far { first: u32, length: u32 },
}

/// One row of a block: shared bytes, the rest of the key, the value.
fn next_row<'a>(c: &mut Cursor<'a>) -> Option<(usize, &'a [u8], Stored<'a>)> {
    let shared = usize::from(c.u8()?);
    let rest = usize::from(c.u16()?);
    let length = c.u16()?;
    let rest = c.bytes(rest)?;
    let value = match length {
        GONE => Stored::Gone,
        FAR => Stored::Far {
            first: c.u32()?,
            length: c.u32()?,
        },
        n => Stored::Here(c.bytes(usize::from(n))?),
    };
    Some((shared, rest, value))
}

/// Finds a key among the rows of a block without building any of the others.
pub(crate) fn find<'a>(payload: &'a [u8], key: &[u8]) -> Option<Stored<'a>> {
    let mut c = Cursor::new(payload);
    // how many bytes of `key` the last row agreed with; that row was smaller
    let mut matched = 0;
    while !c.rest().is_empty() {
        let (shared, rest, value) = next_row(&mut c)?;
        if shared > matched {
            continue;
        }
        if shared < matched {
            return None;
        }
        let wanted = key.get(matched..)?;
        if rest == wanted {
            return Some(value);
        }
        let common = rest.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        match (rest.get(common), wanted.get(common)) {
            (None, _) => matched += common,
            (Some(a), Some(b)) if a < b => matched += common,
            _ => return None,
        }
    }
    None
}

impl Run {
    /// The checked payload of a block.
    pub(crate) fn payload(
        &self,
        store: &BlockStore,
        block: u32,
        kind: Kind,
    ) -> Result<IVec, Trouble> {
        let id = self.info.id;
        let place = || format!("run {id}, block {block}");
        let value = store.get(&block_key(id, block))?;
        let value = value.ok_or_else(|| format!("{} is missing", place()))?;
        match unseal(&value, id, block) {
            Some((k, ..)) if k == kind.byte() => Ok(value),
            Some(_) => Err(format!("{} is of another kind", place()).into()),
            None => Err(format!("{} fails its checksum", place()).into()),
        }
    }

    /// The value under `key` in this run; the inner `None` is a removed key.
    pub(crate) fn get(
        &self,
        store: &BlockStore,
        key: &[u8],
        hash: u64,
    ) -> Result<Option<Option<Vec<u8>>>, Trouble> {
        if !self.bloom.may_have(hash) {
            return Ok(None);
        }
        let Some(block) = self
            .fences
            .at_or_before(key)
            .and_then(|n| self.fences.block(n))
        else {
            return Ok(None);
        };
        let block = self.rows(store, block)?;
        let found = block.find(key);
        found.map(|stored| self.value(store, stored)).transpose()
    }

    /// A block of rows, from the cache or into it.
    pub(crate) fn rows(&self, store: &BlockStore, block: u32) -> Result<Arc<Block>, Trouble> {
        let key = (self.info.id, block);
        if let Some(found) = store.cache.get(key) {
            return Ok(found);
        }
        let read = self.rows_once(store, block)?;
        store.cache.put(key, &read);
        Ok(read)
    }

    /// A block of rows that nobody asks for again soon: past the cache.
    pub(crate) fn rows_once(&self, store: &BlockStore, block: u32) -> Result<Arc<Block>, Trouble> {
        let value = self.payload(store, block, Kind::Rows)?;
        Ok(Arc::new(Block::new(&value)))
    }

    /// The whole value of a row.
    pub(crate) fn value(
        &self,
        store: &BlockStore,
        stored: Stored<'_>,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let (first, length) = match stored {
            Stored::Gone => return Ok(None),
            Stored::Here(bytes) => return Ok(Some(bytes.to_vec())),
            Stored::Far { first, length } => (first, usize_of32(length)),
        };
        let mut whole = Vec::with_capacity(length.min(crate::api::VALUE_BYTES_MAX));
        let mut block = first;
        while whole.len() < length {
            let value = self.payload(store, block, Kind::Piece)?;
            let piece = value.get(OVERHEAD..).unwrap_or_default();
            if piece.is_empty() {
                return Err(format!("run {}, block {block} is empty", self.info.id).into());
            }
            whole.extend_from_slice(piece);
            block += 1;
        }
        Ok(Some(whole))
    }
}

/// Reads every block of a run, checks it, and makes the run ready.
pub(crate) fn load(store: &BlockStore, info: &RunInfo) -> Result<Run, Trouble> {
    let mut digest = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    let (mut fences, mut bloom) = (Vec::new(), Vec::new());
    let mut next = 0;
    store.scan(info.id, info.blocks, &mut |block, value| {
        let place = || format!("run {}, block {block}", info.id);
        if block != next {
            return Err(format!("run {}, block {next} is missing", info.id).into());
        }
        next += 1;
        let (kind, crc, payload) = unseal(value, info.id, block)
            .ok_or_else(|| format!("{} fails its checksum", place()))?;
        digest.update(&crc.to_be_bytes());
        if kind == Kind::Fences.byte() {
            fences.extend_from_slice(payload);
        } else if kind == Kind::Bloom.byte() {
            bloom.extend_from_slice(payload);
        }
        Ok(())
    })?;
    if next != info.blocks || digest.finish().as_ref() != info.digest {
        return Err(format!("run {} is not what its digest says", info.id).into());
    }
    let fences = Fences::from_bytes(&fences).ok_or("a fence is unreadable")?;
    let bloom = Bloom::from_bytes(&bloom).ok_or("a Bloom filter is unreadable")?;
    Ok(Run {
        info: info.clone(),
        fences,
        bloom,
    })
}

/// Where the rows of one block lie, and their whole keys, for walking in both directions.
#[derive(Debug, Default)]
pub(crate) struct Unpacked {
    keys: Vec<u8>,
    rows: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    key: (u32, u32),
    value: Where,
}

#[derive(Clone, Copy, Debug)]
enum Where {
    Gone,
    Here(u32, u32),
    Far(u32, u32),
}

/// Bytes of memory that hold what both numbers say.
fn part(bytes: &[u8], (start, end): (u32, u32)) -> Option<&[u8]> {
    bytes.get(usize_of32(start)..usize_of32(end))
}

impl Unpacked {
    /// Unpacks the rows of a block; `None` when they cannot be read.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        let (mut keys, mut rows) = (Vec::<u8>::with_capacity(payload.len()), Vec::new());
        let mut c = Cursor::new(payload);
        let mut last = 0..0;
        while !c.rest().is_empty() {
            let (shared, rest, stored) = next_row(&mut c)?;
            let start = keys.len();
            if shared > last.len() {
                return None;
            }
            keys.extend_from_within(last.start..last.start + shared);
            keys.extend_from_slice(rest);
            last = start..keys.len();
            let end = payload.len() - c.rest().len();
            let value = match stored {
                Stored::Gone => Where::Gone,
                Stored::Here(bytes) => Where::Here(u32_of(end - bytes.len()), u32_of(end)),
                Stored::Far { first, length } => Where::Far(first, length),
            };
            let key = (u32_of(start), u32_of(keys.len()));
            rows.push(Place { key, value });
        }
        rows.shrink_to_fit();
        keys.shrink_to_fit();
        Some(Self { keys, rows })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The key of a row.
    pub(crate) fn key(&self, row: usize) -> Option<&[u8]> {
        part(&self.keys, self.rows.get(row)?.key)
    }

    /// The value of a row, out of the payload that was unpacked.
    pub(crate) fn value<'a>(&self, payload: &'a [u8], row: usize) -> Option<Stored<'a>> {
        Some(match self.rows.get(row)?.value {
            Where::Gone => Stored::Gone,
            Where::Here(start, end) => Stored::Here(part(payload, (start, end))?),
            Where::Far(first, length) => Stored::Far { first, length },
        })
    }

    /// The first row whose key is not below `key`.
    pub(crate) fn seek(&self, key: &[u8]) -> usize {
        self.rows
            .partition_point(|p| part(&self.keys, p.key).is_some_and(|k| k < key))
    }
}
