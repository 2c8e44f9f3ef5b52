//! The manifest: the runs of the index, and how far they cover the journal, as one value in sled.
//!
//! **Shape.** crc32c u32, format u32, projection u32, store id (16 bytes), commit u64, chain
//! (32 bytes),
//! position u64, next run u64, runs u32, then for each: id u64, level u8, rows u64, keys u64,
//! blocks u32, fence start u32, fence bytes u32, bloom start u32, bloom bytes u64, digest (32
//! bytes).
//!
//! **Order.** Written and synced after the blocks it names; blocks it no longer names are removed
//! after that. So an old manifest is just an older watermark, and the records after it are
//! replayed.

use crate::api::Position;
use crate::codec::Cursor;
use crate::index::blocks::VALUE_MAX;
use crate::index::run::RunInfo;
use crate::journal::format::{Hash, StoreId};
use crate::num::{u32_of, usize_of32};

const FORMAT: u32 = 1;
const FIXED: usize = 92;
const PER_RUN: usize = 81;
/// The most runs that fit into the manifest's single value.
pub(crate) const RUNS_MAX: usize = (VALUE_MAX - FIXED) / PER_RUN;

/// A place in the journal up to which something is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct JournalMark {
    /// The number of the last commit; 0 for none.
    pub(crate) commit: u64,
    /// The hash of the record with that commit.
    pub(crate) chain: Hash,
    /// The place after that record.
    pub(crate) end: Position,
}

/// The runs, newest first, and how far they cover the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The version of the projection that derived the rows.
    pub(crate) projection: u32,
    /// The store whose rows these are.
    pub(crate) id: StoreId,
    /// How far the rows cover the journal.
    pub(crate) mark: JournalMark,
    /// The number that the next run gets; numbers are never reused.
    pub(crate) next_run: u64,
    /// The runs, newest first.
    pub(crate) runs: Vec<RunInfo>,
}

impl Manifest {
    /// Encodes the value in sled.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut b = Vec::with_capacity(VALUE_MAX);
        b.extend_from_slice(&[0; 4]);
        b.extend_from_slice(&FORMAT.to_be_bytes());
        b.extend_from_slice(&self.projection.to_be_bytes());
        b.extend_from_slice(&self.id);
        b.extend_from_slice(&self.mark.commit.to_be_bytes());
        b.extend_from_slice(&self.mark.chain);
        b.extend_from_slice(&self.mark.end.0.to_be_bytes());
        b.extend_from_slice(&self.next_run.to_be_bytes());
        b.extend_from_slice(&u32_of(self.runs.len()).to_be_bytes());
        for run in &self.runs {
            b.extend_from_slice(&run.id.to_be_bytes());
            b.push(run.level);
            b.extend_from_slice(&run.rows.to_be_bytes());
            b.extend_from_slice(&run.keys.to_be_bytes());
            b.extend_from_slice(&run.blocks.to_be_bytes());
            b.extend_from_slice(&run.fence_start.to_be_bytes());
            b.extend_from_slice(&run.fence_bytes.to_be_bytes());
            b.extend_from_slice(&run.bloom_start.to_be_bytes());
            b.extend_from_slice(&run.bloom_bytes.to_be_bytes());
            b.extend_from_slice(&run.digest);
        }
        let crc = crc32c::crc32c(b.get(4..).unwrap_or_default());
        b.iter_mut()
            .zip(crc.to_be_bytes())
            .for_each(|(v, c)| *v = c);
        b
    }

    /// Parses the value in sled; `None` unless every bit is right.
    pub(crate) fn decode(value: &[u8]) -> Option<Self> {
        let mut c = Cursor::new(value);
        if c.u32()? != crc32c::crc32c(c.rest()) || c.u32()? != FORMAT {
            return None;
        }
        let mut manifest = Self {
            projection: c.u32()?,
            id: c.array()?,
            mark: JournalMark {
                commit: c.u64()?,
                chain: c.array()?,
                end: Position(c.u64()?),
            },
            next_run: c.u64()?,
            runs: Vec::new(),
        };
        let runs = usize_of32(c.u32()?);
        for _ in 0..runs.min(RUNS_MAX) {
            manifest.runs.push(RunInfo {
                id: c.u64()?,
                level: c.u8()?,
                rows: c.u64()?,
                keys: c.u64()?,
                blocks: c.u32()?,
                fence_start: c.u32()?,
                fence_bytes: c.u32()?,
                bloom_start: c.u32()?,
                bloom_bytes: c.u64()?,
                digest: c.array()?,
            });
        }
        (manifest.runs.len() == runs && c.rest().is_empty()).then_some(manifest)
    }
}
