//! The order in which blocks are written to sled, so that its file contains little else.
//!
//! **Shape.** sled logs each value that it is given, writes a whole leaf anew for each tenth change of it, and splits
//! it into 9 and 8 keys when it has 17. Blocks that come one after the other in the order of their keys are so
//! written three times, and two of the copies lie between what stays: the log's segments are never used again as
//! long as half of one is live. So blocks come by [`STRETCH`] bytes, in three passes. The first gives their keys
//! alone, so that the leaves are split while nothing lies in them; the second all blocks but each ninth; the third
//! that one, by which sled writes the leaf as a whole. What the second pass has written is then dead at once,
//! segment by segment, and the next stretch is written there.
//!
//! **Bounds.** A stretch in memory for each run that is written. The lock on writing is held for [`TURN`] changes.
//!
//! **Failure.** Finding a block does not depend on this order: if sled split or merged leaves in another way, the file
//! would only be larger. A crash leaves keys without blocks, of a run that nothing refers to; the next start removes
//! them.

use sled::IVec;

use super::{BlockStore, One, parse_key};
use crate::index::trouble::Trouble;
use crate::sync::lock;

/// Bytes of blocks that are given to sled in one go.
pub(crate) const STRETCH: usize = 2 << 20;
/// The keys of a leaf that was split off.
const LEAF: usize = 9;
/// Changes under one lock.
const TURN: usize = 64;

/// A block by its key.
pub(crate) type Keyed = ([u8; 12], Vec<u8>);

impl BlockStore {
    /// Writes these blocks of one run, whose keys ascend, and leaves the list empty. They are durable after
    /// [`Self::sync_run`].
    ///
    /// # Errors
    /// When sled or the system refuses.
    pub(crate) fn put(&self, blocks: &mut Vec<Keyed>) -> Result<(), Trouble> {
        let run = blocks.first().and_then(|(key, _)| parse_key(key));
        let apart = run.and_then(|(run, _)| self.apart(run));
        let one = apart.as_deref().unwrap_or(&self.main);
        for part in blocks.chunks(TURN) {
            let none = part.iter().map(|(key, _)| (*key, IVec::default()));
            self.give(one, none)?;
        }
        let mut ninths = Vec::with_capacity(blocks.len() / LEAF);
        let mut numbered = blocks.drain(..).enumerate();
        while numbered.len() > 0 {
            let part = numbered.by_ref().take(TURN);
            let part = part.map(|(n, (key, block))| match n % LEAF == LEAF - 1 {
                true => {
                    ninths.push((key, IVec::from(block)));
                    // One change more of the leaf, so that the ninth block is the tenth.
                    (key, IVec::from(&[0]))
                }
                false => (key, IVec::from(block)),
            });
            self.give(one, part)?;
        }
        drop(numbered);
        let mut ninths = ninths.into_iter();
        while ninths.len() > 0 {
            self.give(one, ninths.by_ref().take(TURN))?;
        }
        Ok(())
    }

    fn give(
        &self,
        one: &One,
        values: impl Iterator<Item = ([u8; 12], IVec)>,
    ) -> Result<(), Trouble> {
        let _one = lock(&self.writing);
        for (key, value) in values {
            let given = one.db.insert(key, value);
            given.map_err(|e| Trouble::writing(&e))?;
        }
        Ok(())
    }
}
