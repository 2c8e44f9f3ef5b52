//! Immutable sorted runs: how rows are packed into blocks, and how they are found again.
//!
//! **Shape.** Blocks of rows (see `block`), pieces of large values after the block that refers to them, the block of
//! kinds (see `scope`), the fences and the Bloom filter.
//!
//! **Bounds.** Keys up to 256 bytes; values up to 2 KiB in place, up to 1 MiB in pieces.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sled::IVec;

use crate::codec::Cursor;
use crate::index::block::{Block, Stored};
use crate::index::blocks::{BlockKind, BlockStore, OVERHEAD, block_key, missing, unseal};
use crate::index::bloom::{Bloom, hash};
use crate::index::compression::decompress;
use crate::index::error::IndexError;
use crate::index::scope::Scopes;
use crate::num::{u32_of, u64_of, usize_of32};

/// The manifest's description of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RunInfo {
    /// Its number, from 1, never reused.
    pub(crate) id: u64,
    /// How many merges deep it is: 0 for a run that was flushed from memory.
    pub(crate) level: u8,
    /// How many rows it has, removed keys included.
    pub(crate) rows: u64,
    /// The number of keys for which its Bloom filter was made.
    pub(crate) keys: u64,
    /// How many blocks it has, numbered from 0.
    pub(crate) blocks: u32,
    /// The number of the first block of its fences.
    pub(crate) fence_start: u32,
    /// The size of its fences in bytes.
    pub(crate) fence_bytes: u32,
    /// The number of the first block of its filter.
    pub(crate) bloom_start: u32,
    /// The size of its filter in bytes.
    pub(crate) bloom_bytes: u64,
    /// SHA-256 over the checksums of all blocks in order.
    pub(crate) digest: [u8; 32],
}

/// A run that can be read.
#[derive(Debug)]
pub(crate) struct Run {
    /// Its description in the manifest.
    pub(crate) info: RunInfo,
    /// The first keys of its row blocks.
    pub(crate) fences: Fences,
    /// The filter of its keys.
    pub(crate) bloom: Bloom,
    /// The kinds of rows whose prefixes the filter has.
    pub(crate) scopes: Scopes,
}

/// The first key of each row block, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    /// The fences in their disk form; for each: block u32, length u16, key.
    pub(crate) bytes: Vec<u8>,
    /// For each fence: block, and start and length of its key in `bytes`.
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

    /// Parses the disk form; `None` when it is cut short.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
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

    /// Their size in memory, in bytes.
    pub(crate) fn memory(&self) -> u64 {
        u64_of(self.bytes.len() + self.places.len() * size_of::<(u32, u32, u16)>())
    }

    /// How many row blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether lookups of all keys from `first` to `last` lead to the n-th row block.
    pub(crate) fn lead_to(&self, n: usize, first: &[u8], last: &[u8]) -> bool {
        let key = |n: usize| self.places.get(n).map(|place| self.key(*place));
        let begins = key(n).is_some_and(|begins| begins <= first);
        let next = n.checked_add(1).and_then(key);
        begins && next.is_none_or(|next| last < next)
    }

    /// The number of the n-th row block.
    pub(crate) fn block(&self, n: usize) -> Option<u32> {
        self.places.get(n).map(|p| p.0)
    }

    /// How many row blocks begin at or before `key`.
    fn up_to(&self, key: &[u8]) -> usize {
        self.places.partition_point(|p| self.key(*p) <= key)
    }

    /// How many row blocks may have keys from `first` to `last`.
    pub(crate) fn between(&self, first: &[u8], last: &[u8]) -> usize {
        self.up_to(last) + 1 - self.up_to(first).max(1)
    }

    /// The last row block that begins at or before `key`, counted from 0; `None` when `key` is
    /// before all of them.
    pub(crate) fn at_or_before(&self, key: &[u8]) -> Option<usize> {
        self.up_to(key).checked_sub(1)
    }
}

impl Run {
    /// Whether it may have a key with this prefix, whose hash is `hash`.
    pub(crate) fn may_have_under(&self, part: &[u8], hash: u64) -> bool {
        !self.scopes.cover(part) || self.bloom.may_have(hash)
    }

    /// Whether the filter leads to a row that the run has: it denies neither the key, nor the prefix by which the row is
    /// scanned.
    pub(crate) fn leads_to(&self, key: &[u8]) -> bool {
        let part = self.scopes.scope_prefix(key);
        self.bloom.may_have(hash(key)) && part.is_none_or(|part| self.bloom.may_have(hash(part)))
    }

    /// A block that passed its checks, and its kind; its payload begins after the first `OVERHEAD` bytes.
    ///
    /// # Errors
    /// As [`BlockStore::get`]; `Damaged`, naming the block, when it is missing or fails its checksum.
    fn block(&self, store: &BlockStore, block: u32) -> Result<(u8, IVec), IndexError> {
        let id = self.info.id;
        let value = store.get(&block_key(id, block))?;
        let value = value.ok_or_else(|| missing(id, block))?;
        match unseal(&value, id, block) {
            Some((kind, ..)) => Ok((kind, value)),
            None => Err(format!("run {id}, block {block} fails its checksum").into()),
        }
    }

    fn of_another_kind(&self, block: u32) -> IndexError {
        format!("run {}, block {block} is of another kind", self.info.id).into()
    }

    /// The value under `key` in this run; `hash` is the key's hash for the filter. The outer `None` means that the run
    /// does not know the key, the inner one that the key was removed.
    ///
    /// # Errors
    /// As [`Self::rows_once`]. A key that the filter denies costs no read and cannot fail.
    pub(crate) fn get(
        &self,
        store: &BlockStore,
        key: &[u8],
        hash: u64,
    ) -> Result<Option<Option<Vec<u8>>>, IndexError> {
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
        if found.is_none() {
            store.vain.fetch_add(1, Ordering::Relaxed);
        }
        found.map(|stored| self.value(store, stored)).transpose()
    }

    /// A block of rows, taken from the cache or read and cached.
    ///
    /// # Errors
    /// As [`Self::rows_once`]; a block in the cache cannot fail.
    pub(crate) fn rows(&self, store: &BlockStore, block: u32) -> Result<Arc<Block>, IndexError> {
        let key = (self.info.id, block);
        if let Some(found) = store.cache.get(key) {
            return Ok(found);
        }
        let read = self.rows_once(store, block)?;
        store.cache.put(key, &read);
        Ok(read)
    }

    /// As [`Self::rows`], and unpacks the block.
    pub(crate) fn rows_to_walk(
        &self,
        store: &BlockStore,
        block: u32,
    ) -> Result<Arc<Block>, IndexError> {
        let found = self.rows(store, block)?;
        store.cache.unpack((self.info.id, block), &found);
        Ok(found)
    }

    /// Reads a block of rows without using the cache.
    ///
    /// # Errors
    /// As [`BlockStore::get`]; `Damaged`, naming the block, when it is missing, broken, or not a block of rows.
    fn rows_once(&self, store: &BlockStore, block: u32) -> Result<Arc<Block>, IndexError> {
        let (kind, value) = self.block(store, block)?;
        let payload = value.get(OVERHEAD..).unwrap_or_default();
        let rows = unpacked(kind, payload)?;
        rows.ok_or_else(|| self.of_another_kind(block))
    }

    /// Reads the blocks of rows among these blocks of the run at once, without using the cache: for long walks. Adds each
    /// with its number.
    ///
    /// # Errors
    /// As [`BlockStore::scan`]; `Damaged`, naming the block, when one is missing or broken.
    pub(crate) fn rows_ahead(
        &self,
        store: &BlockStore,
        blocks: Range<u32>,
        ahead: &mut VecDeque<(u32, Arc<Block>)>,
    ) -> Result<(), IndexError> {
        let (id, end) = (self.info.id, blocks.end);
        let next = store.scan_checked(id, blocks, &mut |block, (kind, _, payload)| {
            ahead.extend(unpacked(kind, payload)?.map(|rows| (block, rows)));
            Ok(())
        })?;
        if next == end {
            Ok(())
        } else {
            Err(missing(id, next))
        }
    }

    /// The whole value of a row, assembled when it is stored in blocks of its own; `None` for a removed key.
    ///
    /// # Errors
    /// As [`BlockStore::get`]; `Damaged` when a block of the value is missing, broken, of another kind, or empty.
    pub(crate) fn value(
        &self,
        store: &BlockStore,
        stored: Stored<'_>,
    ) -> Result<Option<Vec<u8>>, IndexError> {
        let (first, length) = match stored {
            Stored::Gone => return Ok(None),
            Stored::Here(bytes) => return Ok(Some(bytes.to_vec())),
            Stored::Far { first, length } => (first, usize_of32(length)),
        };
        let mut whole = Vec::with_capacity(length.min(crate::api::VALUE_BYTES_MAX));
        let mut block = first;
        while whole.len() < length {
            let (kind, value) = self.block(store, block)?;
            if kind != BlockKind::Piece.byte() {
                return Err(self.of_another_kind(block));
            }
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

/// A block of rows; `None` for another kind.
fn unpacked(kind: u8, payload: &[u8]) -> Result<Option<Arc<Block>>, IndexError> {
    let rows = match kind {
        k if k == BlockKind::CompressedRows.byte() => decompress(payload)?.into(),
        k if k == BlockKind::Rows.byte() => payload.into(),
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(Block::new(rows))))
}

/// Reads and checks every block of a run, and makes the run ready for reads.
///
/// # Errors
/// As [`BlockStore::scan`]; `Damaged` when a block is missing or wrong, or the digest of all blocks differs from the
/// one in the manifest.
pub(crate) fn load(store: &BlockStore, info: &RunInfo) -> Result<Run, IndexError> {
    let mut digest = aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256);
    let (mut fences, mut bloom, mut scopes) = (Vec::new(), Vec::new(), Scopes::NONE);
    let next = store.scan_checked(info.id, 0..info.blocks, &mut |_, (kind, crc, payload)| {
        digest.update(&crc.to_be_bytes());
        if kind == BlockKind::Fences.byte() {
            fences.extend_from_slice(payload);
        } else if kind == BlockKind::Filter.byte() {
            bloom.extend_from_slice(payload);
        } else if kind == BlockKind::Scopes.byte() {
            scopes = Scopes::from_bytes(payload).ok_or("the kinds of a run are unreadable")?;
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
        scopes,
    })
}
