//! Packs sorted rows into the blocks of a new run.
//!
//! **Bounds.** [`STRETCH`] bytes of blocks and at most 1 MiB of pieces of large values are held in memory, besides
//! the run's fences and filter. **Order.** Blocks are written by stretches; the caller syncs.

use std::sync::Arc;

use crate::index::Tuning;
use crate::index::block::{FAR, GONE};
use crate::index::blocks::{
    BlockKind, BlockStore, Keyed, OVERHEAD, PAYLOAD_MAX, STRETCH, VALUE_MAX, block_key, seal,
};
use crate::index::bloom::{self, Bloom};
use crate::index::compression::RowCompressor;
use crate::index::error::IndexError;
use crate::index::run::{Fences, Run, RunInfo};
use crate::index::scope::Scopes;
use crate::journal::format::finished;
use crate::num::{u16_of, u32_of};

/// The largest value that is stored in its row block, in bytes.
const IN_PLACE_MAX: usize = 2048;
/// The largest block of rows that are looked up one by one, in bytes; a single row may be larger.
const SINGLE_MAX: usize = 1024;
/// Pieces of large values held back until their row block is full (1 MiB).
const PIECES_HELD_MAX: usize = 256;

/// A payload preceded by the room that [`seal`] fills.
fn with_room(payload: &[u8]) -> Vec<u8> {
    [&[0; OVERHEAD], payload].concat()
}

/// Packs sorted rows into a run and writes its blocks as they fill.
pub(crate) struct RunBuilder<'a> {
    store: &'a BlockStore,
    info: RunInfo,
    block: Vec<u8>,
    last_key: Vec<u8>,
    last_beginning: Vec<u8>,
    scopes: Scopes,
    single: Scopes,
    fences: Fences,
    filter: Bloom,
    digest: aws_lc_rs::digest::Context,
    batch: Vec<Keyed>,
    batch_bytes: usize,
    compressor: RowCompressor,
    /// Blocks of pieces that follow the row block being filled.
    pieces: Vec<Vec<u8>>,
}

impl<'a> RunBuilder<'a> {
    /// A builder for a run of at most this many keys (rows and their prefixes); `tuning` says which kinds have their
    /// prefixes in the filter, and which are stored in small blocks.
    ///
    /// # Errors
    /// When there is no memory for the compressor, or as [`BlockStore::begin`].
    pub(crate) fn new(
        store: &'a BlockStore,
        id: u64,
        level: u8,
        keys: u64,
        tuning: &Tuning,
    ) -> Result<Self, IndexError> {
        store.begin(id, keys)?;
        Ok(Self {
            store,
            info: RunInfo {
                id,
                level,
                keys,
                ..RunInfo::default()
            },
            block: vec![0; OVERHEAD],
            last_key: Vec::new(),
            last_beginning: Vec::new(),
            scopes: tuning.scopes,
            single: tuning.single,
            fences: Fences::default(),
            filter: Bloom::new(keys, level),
            digest: aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256),
            batch: Vec::new(),
            batch_bytes: 0,
            compressor: RowCompressor::new(level)?,
            pieces: Vec::new(),
        })
    }

    /// Adds the next row; keys must ascend, and `None` means a removed key.
    ///
    /// # Errors
    /// As [`BlockStore::put`]. The run cannot be finished then; the next start removes its blocks.
    pub(crate) fn add(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), IndexError> {
        let in_place = value.map_or(0, |v| if v.len() > IN_PLACE_MAX { 8 } else { v.len() });
        let single = self.single.names(key);
        let most = if single { SINGLE_MAX } else { VALUE_MAX };
        let other = single != self.single.names(&self.last_key);
        if other || self.block.len() + 5 + key.len() + in_place > most {
            self.end_block()?;
        }
        if self.block.len() == OVERHEAD {
            self.fences.push(self.info.blocks, key);
            self.last_key.clear();
        }
        let shared = self
            .last_key
            .iter()
            .zip(key)
            .take_while(|(a, b)| a == b)
            .count()
            .min(255);
        let (_, rest) = key.split_at(shared);
        self.block.push(u8::try_from(shared).unwrap_or(u8::MAX));
        self.block
            .extend_from_slice(&u16_of(rest.len()).to_be_bytes());
        self.put_value(rest, value);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        self.filter.add(bloom::hash(key));
        if let Some(part) = self.scopes.scope_prefix(key)
            && part != self.last_beginning
        {
            self.filter.add(bloom::hash(part));
            self.last_beginning.clear();
            self.last_beginning.extend_from_slice(part);
        }
        self.info.rows += 1;
        if self.pieces.len() > PIECES_HELD_MAX {
            self.end_block()?;
        }
        Ok(())
    }

    fn put_value(&mut self, rest: &[u8], value: Option<&[u8]>) {
        match value {
            None => {
                self.block.extend_from_slice(&GONE.to_be_bytes());
                self.block.extend_from_slice(rest);
            }
            Some(v) if v.len() > IN_PLACE_MAX => {
                // the row block itself comes first, then the pieces in order
                let first = self.info.blocks + 1 + u32_of(self.pieces.len());
                self.block.extend_from_slice(&FAR.to_be_bytes());
                self.block.extend_from_slice(rest);
                self.block.extend_from_slice(&first.to_be_bytes());
                self.block.extend_from_slice(&u32_of(v.len()).to_be_bytes());
                self.pieces.extend(v.chunks(PAYLOAD_MAX).map(with_room));
            }
            Some(v) => {
                self.block.extend_from_slice(&u16_of(v.len()).to_be_bytes());
                self.block.extend_from_slice(rest);
                self.block.extend_from_slice(v);
            }
        }
    }

    fn end_block(&mut self) -> Result<(), IndexError> {
        if self.block.len() == OVERHEAD {
            return Ok(());
        }
        let rows = self.block.get(OVERHEAD..).unwrap_or_default();
        match self.compressor.compress(rows)? {
            Some(frame) => self.write(with_room(&frame), BlockKind::CompressedRows)?,
            None => self.write(self.block.clone(), BlockKind::Rows)?,
        }
        self.block.truncate(OVERHEAD);
        for piece in std::mem::take(&mut self.pieces) {
            self.write(piece, BlockKind::Piece)?;
        }
        Ok(())
    }

    fn write(&mut self, mut value: Vec<u8>, kind: BlockKind) -> Result<(), IndexError> {
        let block = self.info.blocks;
        let crc = seal(&mut value, self.info.id, block, kind);
        self.digest.update(&crc.to_be_bytes());
        self.batch_bytes += value.len();
        self.batch.push((block_key(self.info.id, block), value));
        self.info.blocks += 1;
        if self.batch_bytes >= STRETCH {
            self.store.put(&mut self.batch)?;
            self.batch_bytes = 0;
        }
        Ok(())
    }

    fn write_long(&mut self, bytes: &[u8], kind: BlockKind) -> Result<u32, IndexError> {
        let start = self.info.blocks;
        for chunk in bytes.chunks(PAYLOAD_MAX) {
            self.write(with_room(chunk), kind)?;
        }
        Ok(start)
    }

    /// Writes the remaining rows, the fences and the filter; the run is then complete but not yet synced.
    pub(crate) fn finish(mut self) -> Result<Arc<Run>, IndexError> {
        self.end_block()?;
        if let Some(kinds) = self.scopes.to_bytes() {
            self.write(with_room(&kinds), BlockKind::Scopes)?;
        }
        let fences = std::mem::take(&mut self.fences);
        self.info.fence_bytes = u32_of(fences.bytes.len());
        self.info.fence_start = self.write_long(&fences.bytes, BlockKind::Fences)?;
        let bloom = std::mem::replace(&mut self.filter, Bloom::new(0, 0));
        self.info.bloom_bytes = bloom.bytes();
        self.info.bloom_start = self.write_long(&bloom.to_bytes(), BlockKind::Filter)?;
        self.store.put(&mut self.batch)?;
        self.info.digest = finished(self.digest);
        self.store.identify(self.info.id, &self.info.digest)?;
        Ok(Arc::new(Run {
            info: self.info,
            fences,
            bloom,
            scopes: self.scopes,
        }))
    }

    /// The unfinished run, for removing its blocks: it cannot be read, and its last blocks may not have been written.
    pub(crate) fn unfinished(self) -> Arc<Run> {
        Arc::new(Run {
            info: self.info,
            fences: Fences::default(),
            bloom: Bloom::new(0, 0),
            scopes: self.scopes,
        })
    }
}
