//! The order in which blocks are written to sled, chosen so that its file contains little else.
//!
//! **Shape.** sled logs each value that it is given, rewrites a whole leaf at every tenth change of it, and splits a
//! leaf of 17 keys into 9 and 8. So blocks written in key order are written three times, and two of the copies lie
//! between live data: a segment of the log is not reused as long as half of it is live. So blocks are written in
//! stretches of [`STRETCH`] bytes, in three passes. The first writes only their keys, so that leaves are split while
//! they are empty; the second all blocks except every ninth; the third the ninth ones, which makes sled write each leaf
//! as a whole. The data of the second pass is then dead at once, segment by segment, and the next stretch is written
//! there.
//!
//! **Bounds.** One stretch in memory for each run being written. The write lock is held for [`TURN`] changes.
//!
//! **Failure.** Finding a block does not depend on this order: if sled split or merged leaves differently, the file
//! would only be larger. A crash leaves keys without blocks, of a run that nothing refers to; the next start removes
//! them.

use sled::IVec;

use super::BlockStore;
use crate::index::error::IndexError;
use crate::sync::lock;

/// Bytes of blocks that are given to sled in one go.
pub(crate) const STRETCH: usize = 2 << 20;
/// The number of keys in a leaf that was split off.
const LEAF: usize = 9;
/// How many changes are made under one lock.
const TURN: usize = 64;

/// The key and the value of a block.
pub(crate) type Keyed = ([u8; 12], Vec<u8>);

impl BlockStore {
    /// Writes these blocks of one run into sled, as [`Self::put`].
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(super) fn put_in_leaves(&self, blocks: &mut Vec<Keyed>) -> Result<(), IndexError> {
        for part in blocks.chunks(TURN) {
            let none = part.iter().map(|(key, _)| (*key, IVec::default()));
            self.give(none)?;
        }
        let mut ninths = Vec::with_capacity(blocks.len() / LEAF);
        let mut numbered = blocks.drain(..).enumerate();
        while numbered.len() > 0 {
            let part = numbered.by_ref().take(TURN);
            let part = part.map(|(n, (key, block))| {
                if n % LEAF == LEAF - 1 {
                    ninths.push((key, IVec::from(block)));
                    // One extra change of the leaf, so that the ninth block becomes its tenth change.
                    (key, IVec::from(&[0]))
                } else {
                    (key, IVec::from(block))
                }
            });
            self.give(part)?;
        }
        drop(numbered);
        let mut ninths = ninths.into_iter();
        while ninths.len() > 0 {
            self.give(ninths.by_ref().take(TURN))?;
        }
        Ok(())
    }

    fn give(&self, values: impl Iterator<Item = ([u8; 12], IVec)>) -> Result<(), IndexError> {
        let _one = lock(&self.writing);
        for (key, value) in values {
            self.main.insert(key, value)?;
        }
        Ok(())
    }
}
