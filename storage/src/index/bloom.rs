//! A Bloom filter per run, so that most runs are not asked for keys that they do not have.
//!
//! **Bounds.** Ten bits a key, seven probes: about 1 % of the answers "perhaps" are wrong, no
//! answer "no" ever is. The hash is part of the format on disk and does not change.

use crate::num::{u64_of, usize_of};

const BITS_PER_KEY: u64 = 10;
const PROBES: u64 = 7;

/// Which keys a run may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bloom {
    words: Vec<u64>,
}

/// A stable 64-bit hash of a key.
pub(crate) fn hash(key: &[u8]) -> u64 {
    const K: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut h = u64_of(key.len()).wrapping_mul(K);
    let mut chunks = key.chunks_exact(8);
    for chunk in chunks.by_ref() {
        let word = chunk.first_chunk().copied().map_or(0, u64::from_le_bytes);
        h = mix(h ^ word);
    }
    let tail = chunks
        .remainder()
        .iter()
        .fold(1u64, |t, b| t << 8 | u64::from(*b));
    mix(h ^ tail)
}

fn mix(h: u64) -> u64 {
    let h = (h ^ h >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    let h = (h ^ h >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    h ^ h >> 32
}

impl Bloom {
    /// Room for so many keys.
    pub(crate) fn new(keys: u64) -> Self {
        let words = keys.saturating_mul(BITS_PER_KEY).div_ceil(64).max(1);
        Self {
            words: vec![0; usize_of(words)],
        }
    }

    /// From the words of an earlier one.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = Vec::with_capacity(bytes.len() / 8);
        for chunk in bytes.chunks(8) {
            words.push(u64::from_be_bytes(*chunk.first_chunk()?));
        }
        (!words.is_empty()).then_some(Self { words })
    }

    /// As bytes for the disk.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|w| w.to_be_bytes()).collect()
    }

    /// How many bytes it takes, in memory and on disk.
    pub(crate) fn bytes(&self) -> u64 {
        u64_of(self.words.len()) * 8
    }

    fn probe(&self, hash: u64, n: u64) -> (usize, u64) {
        let step = hash.rotate_right(17) | 1;
        let h = hash.wrapping_add(step.wrapping_mul(n));
        // the high half of a product spreads h over the words without a division
        let wide = u128::from(h) * (u128::from(u64_of(self.words.len())) << 6);
        let bit = u64::try_from(wide >> 64).unwrap_or(0);
        (usize_of(bit >> 6), 1 << (bit & 63))
    }

    /// Adds a key by its hash.
    pub(crate) fn add(&mut self, hash: u64) {
        for n in 0..PROBES {
            let (word, bit) = self.probe(hash, n);
            if let Some(w) = self.words.get_mut(word) {
                *w |= bit;
            }
        }
    }

    /// Whether the key may be there.
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        (0..PROBES).all(|n| {
            let (word, bit) = self.probe(hash, n);
            self.words.get(word).is_none_or(|w| w & bit != 0)
        })
    }
}
