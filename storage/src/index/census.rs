//! Counts the contents of the index: rows by their first byte, and the other blocks.

use std::collections::BTreeMap;

use crate::api::StoreError;
use crate::index::SortedRows;
use crate::index::block::{Block, Stored};
use crate::index::blocks::{BlockKind, block_key, unseal};
use crate::index::compression::decompress;
use crate::index::error::IndexError;
use crate::num::u64_of;
use crate::sync::read;

/// Rows of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowBytes {
    /// The number of rows, removed keys included.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Bytes that they take in blocks on disk: each block's size is divided among its rows in proportion.
    pub stored: u64,
}

/// The bytes of the runs of an index by their use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IndexBytes {
    /// Sorted runs.
    pub runs: u64,
    /// Blocks of all runs.
    pub blocks: u64,
    /// Rows by the first byte of their keys.
    pub rows: BTreeMap<u8, RowBytes>,
    /// Bytes of the blocks of rows, with their keys.
    pub row_blocks: u64,
    /// Bytes of the first keys of blocks.
    pub fences: u64,
    /// Bytes of filters.
    pub filters: u64,
    /// Bytes of large values and everything else.
    pub others: u64,
}

impl IndexBytes {
    fn add(&mut self, kind: u8, length: u64, payload: &[u8]) -> Result<(), IndexError> {
        self.blocks += 1;
        let rows = if kind == BlockKind::CompressedRows.byte() {
            decompress(payload)?
        } else if kind == BlockKind::Rows.byte() {
            payload.to_vec()
        } else {
            let sum = match kind {
                k if k == BlockKind::Fences.byte() => &mut self.fences,
                k if k == BlockKind::Filter.byte() => &mut self.filters,
                _ => &mut self.others,
            };
            *sum += length;
            return Ok(());
        };
        self.row_blocks += length;
        let block = Block::new(rows.into());
        let all = block.rows().ok_or("a block is unreadable")?;
        let mut here: BTreeMap<u8, RowBytes> = BTreeMap::new();
        for row in 0..all.len() {
            let (Some(key @ [first, ..]), Some(value)) = (all.key(row), block.value(row)) else {
                return Err("a block is unreadable".into());
            };
            let value = match value {
                Stored::Gone => 0,
                Stored::Here(bytes) => u64_of(bytes.len()),
                Stored::Far { .. } => 8,
            };
            let sum = here.entry(*first).or_default();
            sum.rows += 1;
            sum.bytes += u64_of(key.len()) + value;
        }
        let whole: u64 = here.values().map(|one| one.bytes).sum();
        for (first, one) in here {
            let sum = self.rows.entry(first).or_default();
            sum.rows += one.rows;
            sum.bytes += one.bytes;
            sum.stored += one.bytes * length / whole.max(1);
        }
        Ok(())
    }
}

impl SortedRows {
    /// Reads all runs and counts their contents. Rows in memory are not included.
    ///
    /// # Errors
    /// When a block is broken, or the system refuses to read it.
    pub(crate) fn census(&self) -> Result<IndexBytes, StoreError> {
        let runs = read(&self.state).runs.as_ref().clone();
        let mut sum = IndexBytes {
            runs: u64_of(runs.len()),
            ..IndexBytes::default()
        };
        for run in &runs {
            let id = run.info.id;
            let scanned = self
                .store
                .scan(id, 0..run.info.blocks, &mut |block, value| {
                    let found = unseal(value, id, block);
                    let (kind, _, payload) = found.ok_or("a block fails its checksum")?;
                    let length = u64_of(value.len() + block_key(id, block).len());
                    sum.add(kind, length, payload)
                });
            scanned.map_err(|e| self.broken(&e))?;
        }
        Ok(sum)
    }
}
