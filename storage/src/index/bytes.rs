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

    /// Overwrites these bytes if that needs no new allocation: if they are on the heap and as many as the new ones.
    /// Otherwise changes nothing and returns false.
    pub(crate) fn rewrite(&mut self, bytes: &[u8]) -> bool {
        match &mut self.0 {
            Repr::Heap(there) if there.len() == bytes.len() => {
                there.copy_from_slice(bytes);
                true
            }
            Repr::Heap(_) | Repr::Inline(..) => false,
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
    /// The order of the slices. Rows are compared some twenty times on their way to the disk, and most of their keys are
    /// in place: these are compared as numbers. What follows a key in place is zero, so a key that is the beginning of
    /// another one is the smaller one or, if only zeros follow, the same but for its length.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let (Repr::Inline(length, here), Repr::Inline(of_other, there)) = (&self.0, &other.0)
        else {
            return self.as_slice().cmp(other.as_slice());
        };
        // The last two overlap: where they do, nothing differs any more.
        let part = |at: usize| number_at(here, at).cmp(&number_at(there, at));
        part(0)
            .then_with(|| part(16))
            .then_with(|| part(INLINE - 16))
            .then_with(|| length.cmp(of_other))
    }
}

/// Sixteen bytes as a number.
#[inline]
fn number_at(place: &[u8; INLINE], at: usize) -> u128 {
    let bytes = place.get(at..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
}

impl Hash for Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bytes that often begin alike and often have zeros at their end, on both sides of the length that fits.
    fn alike() -> impl Strategy<Value = Vec<u8>> {
        let few = prop_oneof![3 => Just(0_u8), 1 => Just(1), 1 => Just(255)];
        proptest::collection::vec(few, 0..INLINE + 3)
    }

    proptest! {
        #[test]
        fn bytes_are_ordered_and_equal_as_their_slices_are(
            common in alike(),
            first in alike(),
            second in alike(),
        ) {
            let all = [
                [common.clone(), first.clone()].concat(),
                [common.clone(), second.clone()].concat(),
                common,
                first,
                second,
            ];
            for (one, other) in all.iter().flat_map(|one| all.iter().map(move |other| (one, other))) {
                let (here, there) = (Bytes::new(one), Bytes::new(other));
                prop_assert_eq!(here.cmp(&there), one.cmp(other));
                prop_assert_eq!(here == there, one == other);
                let (here, there): (&[u8], &[u8]) = (here.borrow(), there.borrow());
                prop_assert_eq!((here, there), (one.as_slice(), other.as_slice()));
            }
        }
    }
}
