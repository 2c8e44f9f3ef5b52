//! Runs that the checkpoint attests: they are opened without reading their rows, and read again later.
//!
//! **Bounds.** Opening such a run reads its fences and filter, which it also takes in memory (one and a half to two and
//! a half bytes per row, plus the first key of each block), and the block before them; it reads no rows except those in
//! that block. One step of reading again takes [`STEP`] blocks of at most 4 KB.
//!
//! **Failure.** Each block is checked when it is read, so a run that was not read whole never gives a wrong answer: a
//! missing or broken block fails the read that needs it. The digest, checked when the run is read again, shows that the
//! whole run is intact.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::index::SortedRows;
use crate::index::blocks::{BlockKind, BlockStore, VALUE_MAX, missing};
use crate::index::bloom::Bloom;
use crate::index::error::IndexError;
use crate::index::manifest::JournalMark;
use crate::index::run::{Fences, Run, RunInfo};
use crate::index::scope::Scopes;
use crate::journal::format::Hash;
use crate::num::{u64_of, usize_of32};
use crate::sync::{lock, read};

/// Blocks per step.
const STEP: u32 = 256;

/// Runs that need not be read when the index is opened.
#[derive(Clone, Debug)]
pub(crate) struct AttestedRuns {
    /// The commit that the index reached when the checkpoint noted the runs.
    pub(crate) commit: u64,
    /// The runs, by number and digest.
    pub(crate) runs: BTreeSet<(u64, Hash)>,
}

/// The blocks that were read to open the index.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlocksRead {
    /// The numbers of the runs that were read whole.
    pub(crate) whole: BTreeSet<u64>,
    /// How many bytes of blocks were read (an upper bound).
    pub(crate) bytes: u64,
}

/// The first block that [`by_fences`] reads.
pub(crate) fn first(info: &RunInfo) -> u32 {
    info.fence_start - u32::from(info.fence_start > 0)
}

/// Opens a run by its fences and its filter, without its rows.
///
/// # Errors
/// When one of those blocks is missing or broken, or cannot be read.
pub(crate) fn by_fences(store: &BlockStore, info: &RunInfo) -> Result<Run, IndexError> {
    let (mut fences, mut bloom) = (Vec::new(), Vec::new());
    let (id, blocks) = (info.id, info.fence_start..info.blocks);
    let next = store.scan_checked(id, blocks, &mut |block, (kind, _, payload)| {
        match (kind, block < info.bloom_start) {
            (k, true) if k == BlockKind::Fences.byte() => fences.extend_from_slice(payload),
            (k, false) if k == BlockKind::Filter.byte() => bloom.extend_from_slice(payload),
            _ => return Err(format!("run {id}, block {block} is of another kind").into()),
        }
        Ok(())
    })?;
    let whole = next == info.blocks
        && fences.len() == usize_of32(info.fence_bytes)
        && u64_of(bloom.len()) == info.bloom_bytes;
    if !whole {
        return Err(format!("run {} lacks blocks at its end", info.id).into());
    }
    Ok(Run {
        info: info.clone(),
        fences: Fences::from_bytes(&fences).ok_or("a fence is unreadable")?,
        bloom: Bloom::from_bytes(&bloom).ok_or("a Bloom filter is unreadable")?,
        scopes: Scopes::read(store, info.id, info.fence_start)?,
    })
}

/// The most bytes that this many blocks can have.
pub(crate) fn bytes_of(blocks: u32) -> u64 {
    u64::from(blocks) * u64_of(VALUE_MAX)
}

/// A run that is being read again; holding it keeps it from being removed meanwhile.
pub(crate) struct RunScrub {
    run: Arc<Run>,
    next: u32,
    digest: aws_lc_rs::digest::Context,
}

impl std::fmt::Debug for RunScrub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Again")
            .field("run", &self.run.info.id)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl RunScrub {
    /// The number of the run.
    pub(crate) fn run(&self) -> u64 {
        self.run.info.id
    }

    /// Bytes read so far (an upper bound).
    pub(crate) fn bytes(&self) -> u64 {
        bytes_of(self.next)
    }
}

impl SortedRows {
    /// How far the index on disk reaches, and its runs.
    pub(crate) fn on_disk(&self) -> (JournalMark, Vec<RunInfo>) {
        let manifest = lock(&self.manifest);
        (manifest.mark, manifest.runs.clone())
    }

    /// Begins to read a run again; `None` when no run has that number any more.
    pub(crate) fn scrub(&self, id: u64) -> Option<RunScrub> {
        let runs = Arc::clone(&read(&self.state).runs);
        let run = runs.iter().find(|run| run.info.id == id)?;
        Some(RunScrub {
            run: Arc::clone(run),
            next: 0,
            digest: aws_lc_rs::digest::Context::new(&aws_lc_rs::digest::SHA256),
        })
    }

    /// Reads the next blocks of a run; returns the bytes read, and whether the run is complete.
    ///
    /// # Errors
    /// When a block is missing, broken or unreadable, or the digest of all blocks differs.
    pub(crate) fn scrub_step(&self, scrub: &mut RunScrub) -> Result<(u64, bool), IndexError> {
        let info = &scrub.run.info;
        let (from, to) = (scrub.next, info.blocks.min(scrub.next + STEP));
        let digest = &mut scrub.digest;
        let checked = self
            .store
            .scan_checked(info.id, from..to, &mut |_, (_, crc, _)| {
                digest.update(&crc.to_be_bytes());
                Ok(())
            });
        scrub.next = checked?;
        if scrub.next < to {
            return Err(missing(info.id, scrub.next));
        }
        let done = to == info.blocks;
        if done && scrub.digest.clone().finish().as_ref() != info.digest {
            return Err(format!("run {} is not what its digest says", info.id).into());
        }
        Ok((bytes_of(to - from), done))
    }
}
