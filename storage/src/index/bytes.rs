//! Short byte strings without an allocation: most keys and values of the index fit in place.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// How many bytes fit inline.
const INLINE: usize = 38;

/// A byte string, stored inline up to 38 bytes.
#[derive(Clone)]
pub(crate) struct Bytes(Repr);

#[derive(Clone)]
enum Repr {
    Inline(u8, [u8; INLINE]),
    Heap(Box<[u8]>),
}

impl Bytes {
    /// A copy of `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut place = [0; INLINE];
        match (u8::try_from(bytes.len()), place.get_mut(..bytes.len())) {
            (Ok(n), Some(into)) => {
                into.copy_from_slice(bytes);
                Self(Repr::Inline(n, place))
            }
            _ => Self(Repr::Heap(bytes.into())),
        }
    }

    /// The bytes as a slice.
    pub(crate) fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline(n, place) => place.get(..usize::from(*n)).unwrap_or_default(),
            Repr::Heap(bytes) => bytes,
        }
    }

    /// How many bytes are on the heap.
    pub(crate) fn heap(&self) -> usize {
        match &self.0 {
            Repr::Inline(..) => 0,
            Repr::Heap(bytes) => bytes.len(),
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::codec::hex(self.as_slice()))
    }
}

impl Borrow<[u8]> for Bytes {
    fn borrow(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl PartialOrd for Bytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bytes {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}
