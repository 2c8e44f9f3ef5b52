//! A Bloom filter per run, so that most runs are not searched for keys they do not have.
//!
//! **Shape.** Lines of 512 bits, the amount that a processor fetches from memory at once: the [`PROBES`] bits of a key
//! are in one line, so a run that does not have the key usually costs one memory access, whatever its size.
//!
//! **Bounds.** [`BITS_YOUNG`] bits per key in the many young runs: fewer than one false positive in a thousand lookups
//! of missing keys. [`BITS_DEEP`] in the few runs beyond level [`YOUNG`], which have most of the keys: about one in
//! 250. There are no false negatives. Hash and probes are part of the format on disk and do not change.

use crate::num::{u64_of, usize_of};

/// Bits per key in runs up to level [`YOUNG`].
const BITS_YOUNG: u64 = 18;
/// Bits per key in deeper runs.
const BITS_DEEP: u64 = 12;
/// The highest level of young runs.
const YOUNG: u8 = 2;
/// Bits of each key in its line.
const PROBES: usize = 7;
/// 64-bit words per line.
const WORDS: usize = 8;
/// Bits per line.
const LINE_BITS: u64 = 512;

/// One line of a filter, aligned so that one memory access fetches all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(align(64))]
struct BloomLine([u64; WORDS]);

impl BloomLine {
    /// Whether all bits of a key of this line are set.
    fn may_have(&self, hash: u64) -> bool {
        let mut probes = in_line(hash).into_iter();
        probes.all(|(word, bit)| self.0.get(word).is_none_or(|word| word & bit != 0))
    }
}

/// The set of keys that a run may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bloom(Vec<BloomLine>);

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

/// Maps a hash evenly to a number below `of`: the high half of a product, without a division.
fn below(hash: u64, of: u64) -> u64 {
    let wide = u128::from(hash) * u128::from(of);
    u64::try_from(wide >> 64).unwrap_or(0)
}

/// Word and bit of each probe of a key in its line; each probe uses nine bits of one number.
fn in_line(hash: u64) -> [(usize, u64); PROBES] {
    let mut bits = mix(hash);
    [(); PROBES].map(|()| {
        let probe = (usize_of(bits >> 6 & 7), 1 << (bits & 63));
        bits >>= 9;
        probe
    })
}

/// The line of a key.
fn line_of(lines: &[BloomLine], hash: u64) -> Option<&BloomLine> {
    lines.get(usize_of(below(hash, u64_of(lines.len()))))
}

impl Bloom {
    /// An empty filter for this many keys in a run of this level.
    pub(crate) fn new(keys: u64, level: u8) -> Self {
        let bits = match level {
            0..=YOUNG => BITS_YOUNG,
            _ => BITS_DEEP,
        };
        let lines = keys.saturating_mul(bits).div_ceil(LINE_BITS).max(1);
        Self(vec![BloomLine::default(); usize_of(lines)])
    }

    /// The bytes on disk: the words, big-endian.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let words = self.0.iter().flat_map(|line| line.0.iter());
        words.flat_map(|word| word.to_be_bytes()).collect()
    }

    /// Parses the bytes on disk; `None` when there are none, or they are cut short.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut words = Vec::with_capacity(bytes.len() / 8);
        for chunk in bytes.chunks(8) {
            words.push(u64::from_be_bytes(*chunk.first_chunk()?));
        }
        let (lines, rest) = words.as_chunks::<WORDS>();
        let whole = !lines.is_empty() && rest.is_empty();
        whole.then(|| Self(lines.iter().copied().map(BloomLine).collect()))
    }

    /// The size in bytes, in memory and on disk.
    pub(crate) fn bytes(&self) -> u64 {
        u64_of(self.0.len()) * (LINE_BITS / 8)
    }

    /// Adds a key by its hash.
    pub(crate) fn add(&mut self, hash: u64) {
        let line = below(hash, u64_of(self.0.len()));
        if let Some(BloomLine(words)) = self.0.get_mut(usize_of(line)) {
            for (word, bit) in in_line(hash) {
                if let Some(word) = words.get_mut(word) {
                    *word |= bit;
                }
            }
        }
    }

    /// Whether the key may be in the run.
    pub(crate) fn may_have(&self, hash: u64) -> bool {
        line_of(&self.0, hash).is_none_or(|line| line.may_have(hash))
    }
}

#[cfg(test)]
impl Bloom {
    /// Clears a bit of a key, which other keys may share.
    pub(crate) fn forget(&mut self, hash: u64) {
        let line = usize_of(below(hash, u64_of(self.0.len())));
        let [(word, bit), ..] = in_line(hash);
        self.0[line].0[word] &= !bit;
    }
}
