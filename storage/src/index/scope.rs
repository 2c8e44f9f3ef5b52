//! The key prefixes that tell a scan which runs it need not open.
//!
//! **Shape.** Rows that are scanned together share a key prefix: rows of a stream the name of the stream, rows of the
//! layers above the first [`SCOPE`] bytes of their keys, which are a kind of row, a realm and one number, such as that
//! of an account. These prefixes are put into the Bloom filter of the run, like the keys themselves. The prefixes of
//! streams are in the filter of every run; those of the layers above only for the kinds that the run names: a bit for
//! each first byte, in a block of its own before the fences.
//!
//! **Bounds.** One filter key for each prefix in a run. The block has [`BYTES`] bytes.
//!
//! **Failure.** The run itself says which prefixes its filter has, so kinds may be added without a new version of the
//! rows: scans that a run's filter does not cover open that run until it is merged.

use crate::index::blocks::{BlockKind, BlockStore, block_key, unseal};
use crate::index::error::IndexError;
use crate::rows::{STREAM_TAG, stream_prefix};

/// The length of the prefix of a key of the layers above, in bytes.
const SCOPE: usize = 13;
/// Bytes of the block: one bit for each possible first byte of a key.
pub(crate) const BYTES: usize = 32;

/// A set of kinds of rows, by the first bytes of their keys; of a run, those whose prefixes are in its filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Scopes([u8; BYTES]);

impl Scopes {
    /// No kind at all.
    pub(crate) const NONE: Self = Self([0; BYTES]);

    /// The set of these first bytes.
    pub(crate) fn of(kinds: &[u8]) -> Self {
        let mut scopes = Self::NONE;
        for kind in kinds {
            if let Some(byte) = scopes.0.get_mut(usize::from(kind >> 3)) {
                *byte |= 1 << (kind & 7);
            }
        }
        scopes
    }

    /// Parses the payload of the block; `None` if its length is wrong.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The payload of the block; `None` when there are no kinds, because then there is no block.
    pub(crate) fn to_bytes(self) -> Option<[u8; BYTES]> {
        (self != Self::NONE).then_some(self.0)
    }

    /// Whether the kind of a key, or of a prefix, is in this set.
    pub(crate) fn names(self, key: &[u8]) -> bool {
        let Some(kind) = key.first() else {
            return false;
        };
        let byte = self.0.get(usize::from(kind >> 3));
        byte.is_some_and(|byte| byte >> (kind & 7) & 1 == 1)
    }

    /// The prefix of a key that a filter of these kinds has; `None` when it has no such prefixes.
    pub(crate) fn scope_prefix(self, key: &[u8]) -> Option<&[u8]> {
        scope_prefix(key).filter(|part| self.cover(part))
    }

    /// Whether a filter of these kinds has the prefixes of this one's kind.
    pub(crate) fn cover(self, part: &[u8]) -> bool {
        part.first() == Some(&STREAM_TAG) || self.names(part)
    }

    /// Reads the kinds that a run names, whose fences begin with the block `fences`. A broken block is read as no
    /// kinds: that only costs the saving.
    ///
    /// # Errors
    /// When the system refuses to read.
    pub(crate) fn read(store: &BlockStore, run: u64, fences: u32) -> Result<Self, IndexError> {
        let Some(block) = fences.checked_sub(1) else {
            return Ok(Self::NONE);
        };
        let value = store.get(&block_key(run, block))?;
        let found = value.as_deref().and_then(|value| {
            let (kind, _, payload) = unseal(value, run, block)?;
            // a run of no kinds has rows or a piece of a large value in this block
            (kind == BlockKind::Scopes.byte()).then(|| Self::from_bytes(payload))?
        });
        Ok(found.unwrap_or(Self::NONE))
    }
}

fn scope_prefix(key: &[u8]) -> Option<&[u8]> {
    match key.first()? {
        &STREAM_TAG => stream_prefix(key),
        _ => key.get(..SCOPE),
    }
}

/// The prefix that all keys from `from` up to `to` share, if it is one of those in filters.
pub(crate) fn common<'a>(from: &'a [u8], to: &[u8]) -> Option<&'a [u8]> {
    let part = scope_prefix(from)?;
    (to.starts_with(part) || is_prefix_successor(to, part)).then_some(part)
}

/// Whether `key` is the first key after all keys that begin with `part`.
fn is_prefix_successor(key: &[u8], part: &[u8]) -> bool {
    let mut part = part;
    while let Some((0xff, rest)) = part.split_last() {
        part = rest;
    }
    match (part.split_last(), key.split_last()) {
        (Some((before, part)), Some((last, key))) => {
            key == part && before.checked_add(1) == Some(*last)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: [u8; 15] = [0x1b, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9];

    #[test]
    fn scope_prefix_needs_a_listed_kind_and_a_long_enough_key() {
        let scopes = Scopes::of(&[0x1b, 0x02, 0xff]);
        assert_eq!(scopes.scope_prefix(&ROW), ROW.get(..SCOPE));
        assert_eq!(scopes.scope_prefix(&ROW[..SCOPE]), ROW.get(..SCOPE));
        assert_eq!(scopes.scope_prefix(&ROW[..SCOPE - 1]), None);
        assert_eq!(scopes.scope_prefix(&[0xff; 20]), Some(&[0xff; SCOPE][..]));
        assert_eq!(scopes.scope_prefix(&[0x1c; 20]), None);
        assert_eq!(scopes.scope_prefix(&[]), None);
        let stream = [STREAM_TAG; 22];
        assert_eq!(Scopes::NONE.scope_prefix(&stream), stream.get(..14));
        assert_eq!(Scopes::NONE.scope_prefix(&stream[..SCOPE]), None);
        assert_eq!(Scopes::NONE.scope_prefix(&ROW), None);
        let bytes = scopes.to_bytes().unwrap();
        // The bits are on disk, so they may never change.
        let set: Vec<_> = (0..).zip(bytes).filter(|(_, byte)| *byte > 0).collect();
        assert_eq!(set, [(0, 1 << 2), (3, 1 << 3), (31, 1 << 7)]);
        assert_eq!(Scopes::from_bytes(&bytes), Some(scopes));
        assert_eq!(Scopes::from_bytes(&bytes[1..]), None);
        assert_eq!(Scopes::NONE.to_bytes(), None);
    }

    #[test]
    fn a_scan_is_under_one_beginning_up_to_the_first_key_behind_it() {
        let part = &ROW[..SCOPE];
        let behind = |last: u8| [&part[..SCOPE - 1], &[last]].concat();
        assert_eq!(common(&ROW, &[part, &[0xff; 8]].concat()), Some(part));
        assert_eq!(common(part, &behind(8)), Some(part));
        assert_eq!(common(part, &behind(9)), None, "a key more");
        assert_eq!(common(part, &[&behind(8)[..], &[0]].concat()), None);
        assert_eq!(common(&part[..5], &behind(8)), None, "less than one");
        let full = [
            0x1b, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        ];
        assert_eq!(common(&full, &[0x1b, 0, 0, 0, 3]), Some(&full[..]));
        assert_eq!(common(&full, &[0x1b, 0, 0, 0, 3, 0]), None);
        assert_eq!(
            common(&[0xff; SCOPE], &[0xff; SCOPE + 1]),
            Some(&[0xff; SCOPE][..])
        );
        assert_eq!(common(&[0xff; SCOPE], &[]), None);
    }
}
